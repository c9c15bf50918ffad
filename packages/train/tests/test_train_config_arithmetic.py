"""Numbers that have to fit each other, against verl's own arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from outcomebox.sandbox import InputError
from outcomebox.train.config.arithmetic import Shape, check_arithmetic
from outcomebox.train.config.overrides import Override
from outcomebox.train.config.places import Places

OWN = (
    Override("actor_rollout_ref.rollout.tensor_model_parallel_size", 1, "parallel.tensor"),
    Override("actor_rollout_ref.actor.ulysses_sequence_parallel_size", 1, "parallel.sequence"),
    Override("data.train_batch_size", 1, "groups.per_step"),
    Override("actor_rollout_ref.actor.ppo_mini_batch_size", 1, "optim.updates_per_step"),
)
PLACES = Places("run.yaml", OWN, ("actor_rollout_ref.actor.fsdp_config",), "0.9.1")


def resolved(
    *,
    nodes: int = 1,
    gpus: int = 8,
    sequence: int = 1,
    tensor: int = 1,
    groups: int = 16,
    mini: int | None = None,
    size: int = 8,
    prompt: int = 1000,
    response: int = 3000,
    tokens: int = 4000,
    dynamic: bool = True,
    micro: int | None = None,
    packed: bool = True,
    **rollout: Any,
) -> dict[str, Any]:
    """What verl would run with, as far as its arithmetic goes."""
    return {
        "trainer": {"nnodes": nodes, "n_gpus_per_node": gpus},
        "data": {
            "train_batch_size": groups,
            "max_prompt_length": prompt,
            "max_response_length": response,
        },
        "actor_rollout_ref": {
            "model": {"use_remove_padding": packed},
            "actor": {
                "ulysses_sequence_parallel_size": sequence,
                "ppo_mini_batch_size": groups if mini is None else mini,
                "use_dynamic_bsz": dynamic,
                "ppo_max_token_len_per_gpu": tokens,
                "ppo_micro_batch_size_per_gpu": micro,
                "fsdp_config": {"fsdp_size": rollout.pop("sharded", -1)},
            },
            "ref": {"log_prob_max_token_len_per_gpu": tokens},
            "rollout": {
                "name": "vllm",
                "n": size,
                "tensor_model_parallel_size": tensor,
                "data_parallel_size": 1,
                "pipeline_model_parallel_size": 1,
                "max_model_len": prompt + response,
                "max_num_batched_tokens": 8192,
                "enable_chunked_prefill": True,
                "log_prob_use_dynamic_bsz": dynamic,
                "log_prob_max_token_len_per_gpu": tokens,
                "log_prob_micro_batch_size_per_gpu": micro,
                **rollout,
            },
        },
    }


def verl_would_take(plain: dict[str, Any]) -> None:
    """What verl asserts in its own processes, restated from its source (0.9.0 and 0.9.1).

    ``validate_config``, ``ActorConfig.validate``, ``engine_workers`` (mini-batches, rollout mesh),
    ``replica`` (nodes of a replica), ``rearrange_micro_batches`` and ``prepare_micro_batches``.
    """
    model = plain["actor_rollout_ref"]
    actor, rollout = model["actor"], model["rollout"]
    ranks = plain["trainer"]["nnodes"] * plain["trainer"]["n_gpus_per_node"]
    gpus = plain["trainer"]["n_gpus_per_node"]
    sequence = actor["ulysses_sequence_parallel_size"]
    assert ranks % sequence == 0
    shares = ranks // sequence
    groups, mini = plain["data"]["train_batch_size"], actor["ppo_mini_batch_size"]
    assert groups >= mini
    assert groups * rollout["n"] % (mini * rollout["n"]) == 0, "a batch would be padded"
    assert mini * rollout["n"] % shares == 0
    replica = rollout["tensor_model_parallel_size"] * rollout["data_parallel_size"]
    assert ranks % replica == 0
    assert replica % min(replica, gpus) == 0, "a replica takes whole nodes"
    assert gpus % min(replica, gpus) == 0
    longest = plain["data"]["max_prompt_length"] + plain["data"]["max_response_length"]
    if actor["use_dynamic_bsz"]:
        assert actor["ppo_max_token_len_per_gpu"] * sequence >= longest
        assert rollout["log_prob_max_token_len_per_gpu"] * sequence >= longest
    else:
        assert groups * rollout["n"] % ranks == 0
        assert mini * rollout["n"] // shares % actor["ppo_micro_batch_size_per_gpu"] == 0
        assert groups * rollout["n"] // shares % rollout["log_prob_micro_batch_size_per_gpu"] == 0
    if sequence > 1:
        assert model["model"]["use_remove_padding"]
    assert rollout["max_model_len"] >= longest


_SIZES = st.integers(1, 12)


@given(
    nodes=st.integers(1, 4),
    gpus=st.sampled_from([1, 2, 3, 4, 6, 8]),
    sequence=st.sampled_from([1, 2, 3, 4, 8]),
    tensor=st.sampled_from([1, 2, 3, 4, 8, 16]),
    groups=st.integers(1, 48),
    mini=st.integers(1, 48),
    size=st.integers(2, 16),
    tokens=st.integers(1, 6000),
    dynamic=st.booleans(),
    micro=_SIZES,
    packed=st.booleans(),
)
@settings(max_examples=1500, deadline=None)
def test_what_is_accepted_verl_takes(**numbers: Any) -> None:
    plain = resolved(**numbers)
    refused: InputError | None = None
    try:
        shape = check_arithmetic(plain, PLACES)
    except InputError as error:
        refused = error
    if refused is not None:
        assert "\n" not in str(refused)
        assert "; " in str(refused), "it has to say how to mend it"
        return
    verl_would_take(plain)
    assert shape.shares * shape.sequence == shape.ranks


@given(
    nodes=st.integers(1, 3),
    gpus=st.sampled_from([1, 2, 4, 8]),
    power=st.integers(0, 3),
    tensor=st.integers(0, 3),
    groups=st.integers(1, 6),
    size=st.integers(2, 9),
)
@settings(deadline=None)
def test_what_verl_takes_is_accepted(
    nodes: int, gpus: int, power: int, tensor: int, groups: int, size: int
) -> None:
    sequence, replica, ranks = 2**power, 2**tensor, nodes * gpus
    assume(ranks % sequence == 0 and gpus % replica == 0)
    plain = resolved(
        nodes=nodes,
        gpus=gpus,
        sequence=sequence,
        tensor=replica,
        groups=groups * ranks,
        size=size,
        tokens=-(-4000 // sequence),
    )
    verl_would_take(plain)
    assert check_arithmetic(plain, PLACES) == Shape(
        ranks,
        ranks // sequence,
        replica,
        sequence,
        groups * ranks * size,
        groups * ranks * size,
        4000,
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"sequence": 3}, "run.yaml: parallel.sequence: does not divide the 8 ranks"),
    ({"tensor": 16}, "run.yaml: parallel.tensor: makes replicas of 16 GPUs"),
    ({"tensor": 3, "gpus": 8, "nodes": 3}, "write one of 1, 2, 4, 8, 24"),
    ({"mini": 5}, "run.yaml: optim.updates_per_step: makes updates of 5 groups"),
    ({"groups": 3, "size": 2}, "run.yaml: groups.per_step: gives 6 attempts (3 groups x 2)"),
    ({"tokens": 3999}, "ppo_max_token_len_per_gpu: times 1 GPUs of a sequence does not hold"),
    (
        {"sequence": 2, "tokens": 2000, "packed": False},
        "must be true where 2 GPUs share a sequence",
    ),
    ({"sharded": 3}, "command line, after --: actor_rollout_ref.actor.fsdp_config.fsdp_size"),
    ({"dynamic": False, "micro": 3}, "does not divide the 16 attempts that a rank has"),
    ({"dynamic": False, "micro": None}, "must be a whole number, at least 1"),
    ({"dynamic": False, "micro": 1, "log_prob_use_dynamic_bsz": True}, "must be as actor_rollout"),
    ({"log_prob_use_dynamic_bsz": False}, "must be as actor_rollout_ref.actor.use_dynamic_bsz"),
    ({"max_model_len": 3999}, "does not hold prompt and response (4000 tokens)"),
    ({"pipeline_model_parallel_size": 2}, "is not implemented in verl for this engine; write 1"),
    ({"enable_chunked_prefill": False, "response": 9000, "tokens": 10_000}, "where prefill is not"),
    ({"n": True}, "must be a whole number, at least 1 (found True)"),
]


@pytest.mark.parametrize(("change", "told"), WRONG)
def test_what_does_not_fit_is_told_with_what_does(change: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        check_arithmetic(resolved(**change), PLACES)
    assert told in str(caught.value)


def test_the_mend_mends() -> None:
    """The multiple that a message names is one that passes."""
    with pytest.raises(InputError, match="write a multiple of 4"):
        check_arithmetic(resolved(groups=3, size=2), PLACES)
    assert check_arithmetic(resolved(groups=4, size=2), PLACES).conversations == 8
