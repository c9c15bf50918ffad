"""The rollout backend ``transformers``: a model of that library, sampled one id after the other.

It is slow and plain, and exact: one request does not change another's ids or log-probabilities,
and a request with a seed has one answer.
"""
