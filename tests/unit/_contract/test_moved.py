"""What of an operation has moved since it was recorded, in words, and whether calls still fit (SPEC 10.2)."""

from typing import Any

import pytest

from remit import Procedures
from remit._contract.moved import Move, moves_of
from remit._contract.operation import OperationRecord, record_of


def backend(output: Any = int, **options: Any) -> Procedures:
    offered = Procedures()

    async def save(value: int) -> output:  # pyright: ignore[reportInvalidTypeForm]
        """Save."""
        return value

    offered.operation("save", effect="server-mutation", **options)(save)
    return offered


def recorded(offered: Procedures) -> dict[str, OperationRecord]:
    operation = offered.get("save")
    assert operation is not None
    return {"save": record_of(operation)}


@pytest.mark.requirement("10.2-contract-moved")
@pytest.mark.parametrize(
    ("before", "after", "fits", "told"),
    [
        ({}, {"confirmation": "always"}, False, "confirmation: (by effect) → always"),
        ({"confirmation": "always"}, {}, True, "confirmation: always → (by effect)"),
        ({"idempotent": True}, {}, False, "idempotent: True → False"),
        ({}, {"idempotent": True}, True, "idempotent: False → True"),
        ({"output": None}, {}, True, "output: no schema → a schema"),
        ({}, {"output": None}, False, "output: a schema → no schema"),
    ],
    ids=["asks more", "asks less", "less repeatable", "more repeatable", "output told", "output untold"],
)
def test_a_difference_is_told_and_judged(before: Any, after: Any, fits: bool, told: str) -> None:
    [move] = moves_of(recorded(backend(**before)), backend(**after))
    assert move == Move(name="save", fits=fits, differences=(told,))


def test_what_is_the_same_has_not_moved_and_what_is_gone_has() -> None:
    assert moves_of(recorded(backend()), backend()) == ()
    [gone] = moves_of(recorded(backend()), None)
    assert (gone.fits, gone.differences) == (False, ("the backend no longer offers it",))
