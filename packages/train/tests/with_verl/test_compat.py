"""The changes to verl on the smallest objects: the fault without them, none with them."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from measured_compat import measured
from two_ranks import on_two_ranks

VERL = version("verl")
CLOSE = 1e-5


@pytest.fixture(scope="module")
def seen() -> Any:
    return on_two_ranks(measured)


def test_says_what_it_did(seen: Any) -> None:
    told = {name: state for name, state, _ in seen["applied"]}
    assert told == {
        "gradient-sync": "patched" if VERL == "0.9.0" else "not needed",
        "fused-head": "patched",
        "text-only-ulysses": "patched",
    }
    for _, state, line in seen["applied"]:
        assert state in line


def test_without_the_change_a_dense_fused_head_cannot_be_trained(seen: Any) -> None:
    assert "mixed torch.Tensor and DTensor" in seen["plain"]["head"]["qwen3"]["raised"]


def test_without_the_change_the_gradient_of_qwen_3_5s_head_is_wrong_silently(seen: Any) -> None:
    found = seen["plain"]["head"]["qwen3_5"]
    wrong = {name for name, off in found["off"].items() if off > CLOSE}
    assert wrong == {"lm_head.weight"}
    assert found["off"]["lm_head.weight"] > 0.1 * found["size"]["lm_head.weight"]


@pytest.mark.parametrize("family", ["qwen3", "qwen3_5"])
def test_with_it_every_gradient_is_that_of_one_process(seen: Any, family: str) -> None:
    found = seen["changed"]["head"][family]
    assert "lm_head.weight" in found["off"]
    assert max(found["off"].values()) < CLOSE
    assert found["size"]["lm_head.weight"] > 0.01


@pytest.mark.parametrize("state", ["plain", "changed"])
def test_a_tied_head_is_right_with_and_without(seen: Any, state: str) -> None:
    found = seen[state]["tied"]
    assert max(found["off"].values()) < CLOSE


def test_the_kernel_gets_the_gathered_weight_in_the_compute_type(seen: Any) -> None:
    for family in ("qwen3", "qwen3_5"):
        assert seen["changed"]["kernel"][family] == {"sharded": False, "dtype": "torch.bfloat16"}


def test_without_it_the_kernel_gets_the_shards_as_they_lie(seen: Any) -> None:
    plain = seen["plain"]["kernel"]
    assert plain["qwen3"]["sharded"]
    assert "raised" in plain["qwen3"]
    # Gathered by hand: in the type, and on the device, of the shards.
    assert plain["qwen3_5"] == {"sharded": False, "dtype": "torch.float32"}


def test_only_the_head_leaves_the_units_and_only_where_it_is_fused(seen: Any) -> None:
    plain, changed = seen["plain"], seen["changed"]
    assert changed["unfused"] == plain["unfused"]
    assert "lm_head" in plain["unfused"]
    assert [one for one in plain["fused"] if one != "lm_head"] == changed["fused"]
    assert "lm_head" in plain["fused"]


def test_gradients_are_reduced_after_each_micro_batch(seen: Any) -> None:
    plain, changed = seen["plain"]["sync"], seen["changed"]["sync"]
    # 0.9.1 has it right by its own configuration.
    assert plain["reduced"] == ([False, True] if VERL == "0.9.0" else [True, True])
    assert changed["reduced"] == [True, True]
    # The mean over the ranks of what each adds up: ((1 + 2) + (2 + 3)) / 2.
    assert plain["gradient"] == changed["gradient"] == [4.0] * 4


def test_without_the_change_text_through_a_multimodal_class_keeps_its_whole_length(
    seen: Any,
) -> None:
    found = seen["plain"]["ulysses"]["multimodal class"]
    assert len(found["input"]) == 12
    assert len(found["labels"]) == 6


def test_with_it_text_is_prepared_as_for_a_model_of_text(seen: Any) -> None:
    changed = seen["changed"]["ulysses"]
    assert changed["multimodal class"] == changed["text model"]
    assert changed["text model"] == seen["plain"]["ulysses"]["text model"]
    assert changed["multimodal class"]["input"] == [1, 2, 3, 4, 5, 6]
    assert changed["multimodal class"]["labels"] == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("kind", ["cuts itself", "with an image"])
def test_what_verl_does_right_stays(seen: Any, kind: str) -> None:
    assert seen["changed"]["ulysses"][kind] == seen["plain"]["ulysses"][kind]
    assert len(seen["changed"]["ulysses"][kind]["input"]) == 12
    assert seen["changed"]["ulysses"][kind]["same module"]


def test_the_family_that_verl_teaches_to_cut_is_recognised(seen: Any) -> None:
    assert seen["cutting"] == {
        "qwen3 before": False,
        "qwen3": False,
        "qwen3_5 before": False,
        "qwen3_5": True,
    }
