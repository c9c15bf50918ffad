"""Plugs: training and serving read with this package's code.

`for_verl` registers tool parsers with verl, `for_vllm` tool and reasoning parsers with vLLM.
Neither imports torch, verl or vLLM: their classes are looked up when they ask for ours.
"""
