"""A backend that has moved since the contract was compiled: what differs, and whether it still fits (SPEC 10.2)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from remit._base.boundary import Json
from remit._contract.operation import OperationRecord
from remit._schema.compare import Containment, covers
from remit._schema.difference import differences
from remit.errors import DefinitionCode, DefinitionError
from remit.procedures.catalogue import BackendOperation, Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One operation that is no longer as it was recorded, for operators.

    With `fits` all that the contract admits is still taken, and all that the backend gives still admitted: it is served
    as recorded. Else, and where a call would send another request, it is unavailable. `differences` say what changed,
    one line each.
    """

    name: str
    fits: bool
    differences: tuple[str, ...]


def moves_of(recorded: Mapping[str, OperationRecord], live: Catalogue | None) -> tuple[Move, ...]:
    """Every operation of a contract that its backend no longer offers as recorded, by name."""
    found: list[Move] = []
    for name in sorted(recorded):
        operation = None if live is None else live.get(name)
        if operation is None:
            reason = "" if live is None else live.refused().get(name, "")
            gone = f"the backend no longer offers it{': ' if reason else ''}{reason}"
            found.append(Move(name=name, fits=False, differences=(gone,)))
        elif operation.hash != recorded[name].hash:
            found.append(_move(recorded[name], operation))
    return tuple(found)


def refuse_moved(moves: Iterable[Move], live: Catalogue | None) -> None:
    """Raise DefinitionError(CONTRACT_MISMATCH) when one no longer fits of which its catalogue is strict (SPEC 10.2)."""
    for move in moves:
        if not move.fits and live is not None and live.strict_about(move.name):
            raise DefinitionError(
                DefinitionCode.CONTRACT_MISMATCH,
                f"domain:{move.name}",
                f"the backend has moved away from the contract: {'; '.join(move.differences)}",
                do="remit compile; review; commit, or bring the backend back",
            )


def _move(record: OperationRecord, live: BackendOperation) -> Move:
    return Move(name=record.name, fits=_fits(record, live), differences=tuple(_differences(record, live)))


def _fits(record: OperationRecord, live: BackendOperation) -> bool:
    demanded = -1 if live.confirmation is None else live.confirmation.rank
    recorded = -1 if record.confirmation is None else record.confirmation.rank
    return (
        live.request == record.request
        and live.effect is record.effect
        and demanded <= recorded
        and live.idempotent >= record.idempotent
        and covers(live.input_schema, record.input_schema) is Containment.YES
        and _still_admitted(record.output_schema, live.output_schema)
    )


def _still_admitted(recorded: Mapping[str, Json] | None, live: Mapping[str, Json] | None) -> bool:
    if recorded is None:
        return True
    return live is not None and covers(recorded, live) is Containment.YES


def _differences(record: OperationRecord, live: BackendOperation) -> Iterator[str]:
    if live.request != record.request:
        yield f"request: {record.request or '(none)'} → {live.request or '(none)'}"
    if live.effect is not record.effect:
        yield f"effect: {record.effect.value} → {live.effect.value}"
    if live.confirmation is not record.confirmation:
        yield f"confirmation: {_level(record)} → {_level(live)}"
    if live.idempotent != record.idempotent:
        yield f"idempotent: {record.idempotent} → {live.idempotent}"
    yield from _schemas("input", record.input_schema, live.input_schema)
    yield from _schemas("output", record.output_schema, live.output_schema)


def _level(of: OperationRecord | BackendOperation) -> str:
    return "(by effect)" if of.confirmation is None else of.confirmation.value


def _schemas(side: str, before: Mapping[str, Json] | None, after: Mapping[str, Json] | None) -> Iterator[str]:
    if before is None or after is None:
        if before is not after:
            yield f"{side}: {'no schema' if before is None else 'a schema'} → {'no' if after is None else 'a'} schema"
        return
    for each in differences(before, after):
        yield f"{side} {each.path or '(root)'}: {each.before} → {each.after}"
