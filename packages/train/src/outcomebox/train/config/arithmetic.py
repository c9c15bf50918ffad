"""Numbers of a configuration that have to fit each other, before anything is started.

verl asserts most of these, but in worker processes, after models were loaded, and without a word
about which setting to change. Ranks are GPUs over all nodes; a *replica* is one engine of the
rollout side; ``sp`` GPUs share one sequence in training, so there are ranks / sp data-parallel
shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from outcomebox.train.config.compose import pick
from outcomebox.train.config.places import Places

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"
NODES = "trainer.nnodes"
GPUS = "trainer.n_gpus_per_node"
SEQUENCE = f"{_ACTOR}.ulysses_sequence_parallel_size"
TENSOR = f"{_ROLLOUT}.tensor_model_parallel_size"
GROUPS = "data.train_batch_size"
MINI = f"{_ACTOR}.ppo_mini_batch_size"
SIZE = f"{_ROLLOUT}.n"
TOKENS = f"{_ACTOR}.ppo_max_token_len_per_gpu"


class Shape(NamedTuple):
    """The numbers of a run.

    Attributes:
        ranks: GPUs in all.
        shares: Data-parallel shares of a batch.
        replica: Ranks of one rollout replica.
        sequence: GPUs that share a sequence.
        conversations: Attempts of one step.
        update: Attempts of one update.
        context: Tokens of the longest conversation.
    """

    ranks: int
    shares: int
    replica: int
    sequence: int
    conversations: int
    update: int
    context: int


def check_arithmetic(resolved: Mapping[str, Any], places: Places) -> Shape:
    """See that the numbers fit each other.

    Args:
        resolved: What verl would run with.
        places: Who set what.

    Raises:
        InputError: The first pair that does not fit, with the nearest that does.
    """
    shape = _parallel(resolved, places)
    _batches(resolved, places, shape)
    _tokens(resolved, places, shape)
    return shape


def _parallel(resolved: Mapping[str, Any], places: Places) -> Shape:
    nodes, gpus = _whole(resolved, NODES, places), _whole(resolved, GPUS, places)
    ranks = nodes * gpus
    sequence = _whole(resolved, SEQUENCE, places)
    if ranks % sequence:
        raise places.wrong(
            SEQUENCE,
            f"does not divide the {ranks} ranks ({nodes} nodes x {gpus} GPUs); write one of "
            f"{_divisors(ranks)}",
            sequence,
        )
    if sequence > 1 and not pick(resolved, "actor_rollout_ref.model.use_remove_padding"):
        raise places.wrong(
            "actor_rollout_ref.model.use_remove_padding",
            f"must be true where {sequence} GPUs share a sequence ({places.name(SEQUENCE)}); "
            "set it, or let each GPU hold its own",
            False,
        )
    tensor = _whole(resolved, TENSOR, places)
    data = _whole(resolved, f"{_ROLLOUT}.data_parallel_size", places)
    pipeline = _whole(resolved, f"{_ROLLOUT}.pipeline_model_parallel_size", places)
    if pipeline > 1 and pick(resolved, f"{_ROLLOUT}.name") in {"vllm", "sglang", "trtllm"}:
        raise places.wrong(
            f"{_ROLLOUT}.pipeline_model_parallel_size",
            "is not implemented in verl for this engine; write 1",
            pipeline,
        )
    replica = tensor * data * pipeline
    # A replica lies on one node, or on whole nodes.
    if ranks % replica or (gpus % replica and replica % gpus):
        fitting = [
            n for n in range(1, ranks + 1) if not ranks % n and (not gpus % n or not n % gpus)
        ]
        raise places.wrong(
            TENSOR,
            f"makes replicas of {replica} GPUs, which {nodes} nodes x {gpus} GPUs cannot be cut "
            f"into; write one of {', '.join(map(str, fitting))}",
            tensor,
        )
    sharded = pick(resolved, f"{_ACTOR}.fsdp_config.fsdp_size")
    if isinstance(sharded, int) and sharded > 0 and ranks % sharded:
        raise places.wrong(
            f"{_ACTOR}.fsdp_config.fsdp_size",
            f"does not divide the {ranks} ranks; write -1 or one of {_divisors(ranks)}",
            sharded,
        )
    size = _whole(resolved, SIZE, places)
    context = _whole(resolved, "data.max_prompt_length", places) + _whole(
        resolved, "data.max_response_length", places
    )
    return Shape(
        ranks,
        ranks // sequence,
        replica,
        sequence,
        _whole(resolved, GROUPS, places) * size,
        _whole(resolved, MINI, places) * size,
        context,
    )


def _batches(resolved: Mapping[str, Any], places: Places, shape: Shape) -> None:
    groups, mini = _whole(resolved, GROUPS, places), _whole(resolved, MINI, places)
    size = _whole(resolved, SIZE, places)
    if groups % mini:
        raise places.wrong(
            MINI,
            f"makes updates of {mini} groups, which do not divide the {groups} of a step "
            f"({places.name(GROUPS)}); let it be one of {_divisors(groups)}",
            mini,
        )
    if shape.update % shape.shares:
        step = next(n for n in range(1, shape.shares + 1) if n * size % shape.shares == 0)
        raise places.wrong(
            GROUPS,
            f"gives {shape.update} attempts ({mini} groups x {size}) to each update, which "
            f"{shape.shares} shares ({shape.ranks} ranks / {shape.sequence} of a sequence) cannot "
            f"divide; write a multiple of {step * (groups // mini)}",
            groups,
        )
    if not pick(resolved, f"{_ACTOR}.use_dynamic_bsz"):
        _fixed(resolved, places, shape)
    elif not pick(resolved, f"{_ROLLOUT}.log_prob_use_dynamic_bsz"):
        raise places.wrong(
            f"{_ROLLOUT}.log_prob_use_dynamic_bsz",
            f"must be as {_ACTOR}.use_dynamic_bsz; leave it out",
            False,
        )


def _fixed(resolved: Mapping[str, Any], places: Places, shape: Shape) -> None:
    """Micro-batches of a fixed number of attempts."""
    if pick(resolved, f"{_ROLLOUT}.log_prob_use_dynamic_bsz"):
        raise places.wrong(
            f"{_ROLLOUT}.log_prob_use_dynamic_bsz",
            f"must be as {_ACTOR}.use_dynamic_bsz; leave it out",
            True,
        )
    if shape.conversations % shape.ranks:
        raise places.wrong(
            GROUPS,
            f"gives {shape.conversations} attempts to {shape.ranks} ranks, which do not divide "
            "them; change groups or GPUs until they do",
            pick(resolved, GROUPS),
        )
    share = shape.update // shape.shares
    key = f"{_ACTOR}.ppo_micro_batch_size_per_gpu"
    micro = _whole(resolved, key, places)
    if share % micro:
        raise places.wrong(
            key,
            f"does not divide the {share} attempts that a rank has of an update; write one of "
            f"{_divisors(share)}",
            micro,
        )
    _whole(resolved, f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu", places)


def _tokens(resolved: Mapping[str, Any], places: Places, shape: Shape) -> None:
    if pick(resolved, f"{_ACTOR}.use_dynamic_bsz"):
        for key in (
            TOKENS,
            f"{_ROLLOUT}.log_prob_max_token_len_per_gpu",
            "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu",
        ):
            room = _whole(resolved, key, places)
            if room * shape.sequence < shape.context:
                least = -(-shape.context // shape.sequence)
                raise places.wrong(
                    key,
                    f"times {shape.sequence} GPUs of a sequence does not hold the longest "
                    f"conversation ({shape.context} tokens); write at least {least}, or share "
                    "sequences among more GPUs",
                    room,
                )
    limit = pick(resolved, f"{_ROLLOUT}.max_model_len")
    if limit is not None and limit < shape.context:
        raise places.wrong(
            f"{_ROLLOUT}.max_model_len",
            f"does not hold prompt and response ({shape.context} tokens); leave it out",
            limit,
        )
    batched = _whole(resolved, f"{_ROLLOUT}.max_num_batched_tokens", places)
    if not pick(resolved, f"{_ROLLOUT}.enable_chunked_prefill") and batched < shape.context:
        raise places.wrong(
            f"{_ROLLOUT}.max_num_batched_tokens",
            f"must hold a whole conversation ({shape.context} tokens) where prefill is not "
            "chunked; raise it, or leave enable_chunked_prefill on",
            batched,
        )


def _whole(resolved: Mapping[str, Any], key: str, places: Places) -> int:
    value = pick(resolved, key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise places.wrong(key, "must be a whole number, at least 1", value)
    return value


def _divisors(number: int) -> str:
    return ", ".join(str(each) for each in range(1, number + 1) if number % each == 0)
