"""What differs between a backend and what was recorded of it, and whether it still fits (SPEC 10.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from remit import Context, DefinitionError
from remit._base.boundary import Json
from remit._contract.moved import moves_of, refuse_moved
from remit._contract.operation import OperationRecord, record_of
from remit._model.effects import Confirmation, Effect
from remit.procedures.catalogue import Catalogue

NUMBER: dict[str, Json] = {"type": "integer"}
INPUT: dict[str, Json] = {
    "type": "object",
    "properties": {"n": NUMBER, "m": NUMBER},
    "required": ["n"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An operation as its backend offers it; its hash is that of what it is."""

    name: str = "n.add"
    effect: Effect = Effect.SERVER_MUTATION
    confirmation: Confirmation | None = None
    idempotent: bool = False
    description: str = "Add."
    tags: tuple[str, ...] = ()
    input_schema: Any = None
    output_schema: Any = None

    @property
    def hash(self) -> str:
        """Equal for equal operations."""
        return repr(self)

    async def run(self, input: Mapping[str, Json], canonical: bytes, context: Context) -> Json:
        """Nothing runs here."""
        raise AssertionError


class One(Catalogue):
    """A catalogue of one operation."""

    def __init__(self, live: Live | None) -> None:
        self._live = live

    def get(self, name: str) -> Live | None:
        """The operation."""
        return self._live

    def names(self) -> tuple[str, ...]:
        """Its name."""
        return () if self._live is None else (self._live.name,)


BASE = Live(input_schema=INPUT, output_schema=NUMBER)
MUTE = replace(BASE, output_schema=None)


def recorded(live: Live = BASE) -> dict[str, OperationRecord]:
    return {live.name: record_of(live)}


@pytest.mark.requirement("10.2-a-compatible-move-warns")
@pytest.mark.parametrize(
    ("before", "after", "fits", "says"),
    [
        (BASE, replace(BASE, effect=Effect.DESTRUCTIVE), False, "effect: server-mutation → destructive"),
        (BASE, replace(BASE, confirmation=Confirmation.REQUIRED), False, "confirmation: (by effect) → required"),
        (replace(BASE, confirmation=Confirmation.REQUIRED), BASE, True, "confirmation: required → (by effect)"),
        (BASE, replace(BASE, idempotent=True), True, "idempotent: False → True"),
        (replace(BASE, idempotent=True), BASE, False, "idempotent: True → False"),
        (BASE, MUTE, False, "output: a schema → no schema"),
        (MUTE, BASE, True, "output: no schema → a schema"),
        (
            replace(BASE, output_schema=None),
            replace(BASE, output_schema=None, idempotent=True),
            True,
            "idempotent: False → True",
        ),
        (BASE, replace(BASE, output_schema={"type": "string"}), False, "output (root): integer → text"),
        (BASE, replace(BASE, input_schema={**INPUT, "required": []}), True, "input n: required → optional"),
        (BASE, replace(BASE, input_schema={**INPUT, "required": ["m", "n"]}), False, "input m: optional → required"),
    ],
)
def test_each_difference_is_a_line_and_says_whether_the_contract_still_holds(
    before: Live, after: Live, fits: bool, says: str
) -> None:
    (move,) = moves_of(recorded(before), One(after))
    assert (move.name, move.fits, move.differences) == ("n.add", fits, (says,))
    if fits:
        refuse_moved([move])
    else:
        with pytest.raises(DefinitionError, match=r"domain:n\.add") as refused:
            refuse_moved([move])
        assert says in str(refused.value)


@pytest.mark.requirement("10.2-a-compatible-move-warns")
def test_what_is_offered_as_recorded_has_not_moved_and_what_is_not_offered_has() -> None:
    assert moves_of(recorded(), One(BASE)) == ()
    for live in (None, One(None)):
        (move,) = moves_of(recorded(), live)
        assert (move.fits, move.differences) == (False, ("the backend no longer offers it",))
