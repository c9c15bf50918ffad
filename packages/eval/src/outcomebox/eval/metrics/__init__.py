"""The figures of an evaluation and their uncertainty, by pure functions over counts and arrays.

Nothing here reads or writes a file, but for :func:`prices.load_prices`. What is not defined is None
(NaN inside arrays), never 0.
"""
