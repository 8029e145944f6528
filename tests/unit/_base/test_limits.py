from dataclasses import fields
from typing import Any

import pytest

from remit._base.limits import Limits

NAMES = [field.name for field in fields(Limits)]


def test_the_defaults_are_those_of_the_specification() -> None:
    limits = Limits()
    assert (limits.component_description, limits.capability_description, limits.title) == (500, 300, 80)
    assert (limits.input_bytes, limits.output_bytes, limits.schema_bytes, limits.depth) == (65_536, 32_768, 16_384, 8)
    assert (limits.observation_s, limits.action_s, limits.procedure_s, limits.admission_s) == (5, 10, 30, 5)
    assert (limits.replay_entries, limits.replay_s, limits.tombstones, limits.tombstone_s) == (200, 600, 100, 300)
    assert (limits.decide_s, limits.spend_s, limits.confirmation_input_bytes) == (120, 120, 8_192)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_a_bad_value_names_its_field(name: str, value: Any) -> None:
    if name in {"hold_s", "network_calls", "network_writes", "repairs"} and value == 0 and not isinstance(value, bool):
        assert getattr(Limits(**{name: 0}), name) == 0  # that switches it off
        return
    with pytest.raises(ValueError, match=rf"limits\.{name} must be"):
        Limits(**{name: value})


def test_counts_are_integers_and_seconds_may_be_either() -> None:
    with pytest.raises(ValueError, match=r"limits\.tombstones must be an integer"):
        Limits(tombstones=1.5)  # type: ignore[arg-type]
    assert Limits(action_s=3).action_s == 3
    assert Limits(action_s=0.05).action_s == 0.05


def test_every_limit_is_explained() -> None:
    assert Limits.__doc__ is not None
    assert [name for name in NAMES if f"`{name}`" not in Limits.__doc__] == []
