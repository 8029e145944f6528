"""What is allowed and probably not meant, as a surface is now (SPEC 4.13)."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Final

from remit._base.limits import Limits
from remit._contract.authority import Authority
from remit._contract.moved import Move
from remit._journal.audit import AuditLog, AuditType, Durations
from remit._model.consumer import ConsumerKind
from remit._model.effects import Effect
from remit._model.finding import FindingKind, SurfaceFinding
from remit._model.pattern import Patterns

WORKERS: Final = "WEB_CONCURRENCY"
"""Where process managers and their servers say how many workers there are."""
NETWORK_DOORS: Final = tuple(kind.value for kind in ConsumerKind if not kind.in_process)
FUNCTIONS: Final = 1_000
LOOSER_ABOVE: Final = (
    "input_bytes",
    "output_bytes",
    "decide_s",
    "spend_s",
    "confirmations_per_surface",
    "confirmations_per_consumer",
    "confirmation_input_bytes",
    "denials",
    "probing",
    "network_calls",
    "network_writes",
    "unanswered",
    "standing_s",
    "standing_uses",
    "standing_per_session",
    "token_s",
    "scope_patterns",
    "known_s",
    "gap_s",
    "idle_session_s",
    "streams",
)
LOOSER_BELOW: Final = ("denial_window_s", "denial_final_s", "probing_s", "network_s", "replay_s")


class Slow:
    """Inline code that held the loop for too long: journalled each time, the longest of each function kept."""

    __slots__ = ("_audit", "_longest")

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._longest: dict[str, float] = {}

    def took(self, function: Callable[..., object], seconds: float) -> None:
        """A function was too slow."""
        name = named(function)
        self._audit.append(
            AuditType.SLOW, why=f"inline code took {_ms(seconds)}: {name}", durations=Durations(execution=seconds)
        )
        if name in self._longest or len(self._longest) < FUNCTIONS:
            self._longest[name] = max(seconds, self._longest.get(name, 0.0))

    def findings(self) -> Iterator[SurfaceFinding]:
        """One for each function, in the order in which they were first slow."""
        for name, seconds in self._longest.items():
            yield SurfaceFinding(
                kind=FindingKind.SLOW_INLINE,
                found=f"inline code took {_ms(seconds)}, and everybody waits meanwhile: {name}",
                do="make it async, give it blocking=True, or keep at hand what it computes",
            )


class WrongRecords:
    """Templates whose records cannot be read: journalled and kept once for each capability and reason (SPEC 11.6)."""

    __slots__ = ("_audit", "_found")

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit
        self._found: dict[tuple[str, str], None] = {}

    def found(self, capability: str, why: str, cause: BaseException | None) -> None:
        """No record of this capability may be reached, because of this."""
        if (capability, why) in self._found or len(self._found) >= FUNCTIONS:
            return
        self._found[capability, why] = None
        self._audit.fault(f"{capability}: {why}", TypeError(why) if cause is None else cause)

    def findings(self) -> Iterator[SurfaceFinding]:
        """One for each capability and reason, in the order in which they were found."""
        for capability, why in self._found:
            yield SurfaceFinding(
                kind=FindingKind.WRONG_RECORDS,
                found=f"{capability}: {why}, so none of its records could be reached",
                do="return RecordSet(ids=…) or RecordSet(total=…, contains=…) from .records, whatever the view shows",
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """Looks at what one surface was given.

    `has_channel` says whether anybody could decide now, `has_sink` whether an audit sink gets what the journal says,
    `in_memory` whether its store is this process's memory. `offered` names what its backend offers.
    """

    authority: Authority
    narrowed: Mapping[str, Patterns] | None
    limits: Limits
    has_channel: Callable[[], bool]
    has_sink: Callable[[], bool]
    slow: Slow
    wrong: WrongRecords
    in_memory: bool
    development_key: bool
    moves: tuple[Move, ...]
    offered: Callable[[], tuple[str, ...]]

    def now(self) -> tuple[SurfaceFinding, ...]:
        """Everything that is to be found now, door by door, then limits, slow code, records, and the backend."""
        doors = (each for door in NETWORK_DOORS for each in self._at(door))
        backend = (*map(_moved, self.moves), *self._on_both_planes())
        alone = (*self._alone(), *self._unsafe_key())
        return (*doors, *self._limits_loosened(), *alone, *self.slow.findings(), *self.wrong.findings(), *backend)

    def _at(self, door: str) -> Iterator[SurfaceFinding]:
        wanted = self.authority.exposure.doors.get(door)
        reach = self.authority.reach(door)
        own = None if self.narrowed is None else self.narrowed.get(door)
        shown = reach if self.narrowed is None else {id: reach[id] for id in reach if own is not None and id in own}
        if wanted is not None and not reach:
            yield self._exposes_nothing(door)
        elif wanted is not None:
            yield from _unmatched(door, wanted, self.authority.capability_ids, "[tool.remit.exposure]")
        if own is not None and reach:
            yield from _unmatched(door, own, frozenset(reach), "Surface(exposure=…)")
        writes = [id for id, effect in shown.items() if not effect.reads_only]
        if writes and not self.has_channel():
            yield _nobody_decides(door, writes, shown)
        if writes and not self.has_sink():
            yield _no_sink(door, writes, shown)

    def _alone(self) -> Iterator[SurfaceFinding]:
        workers = os.environ.get(WORKERS, "")
        if self.in_memory and workers.isdecimal() and int(workers) > 1:
            yield SurfaceFinding(
                kind=FindingKind.MEMORY_STORE,
                found=f"{WORKERS} is {workers}, and the store is the memory of each: no worker sees the others' limits",
                do="run one worker, or give all of them one store",
            )

    def _unsafe_key(self) -> Iterator[SurfaceFinding]:
        if self.development_key:
            yield SurfaceFinding(
                kind=FindingKind.DEVELOPMENT_KEY,
                found="confirmation requests are bound with a development key, which is no secret of a deployment",
                do="give keys= a key that the deployment keeps secret",
            )

    def _on_both_planes(self) -> Iterator[SurfaceFinding]:
        if not self.authority.warns_of_planes:
            return  # it would have been refused
        ids = self.authority.capability_ids
        for name in sorted({*self.offered(), *(id.removeprefix("domain:") for id in ids if id.startswith("domain:"))}):
            if f"view:{name}" in ids:
                yield SurfaceFinding(
                    kind=FindingKind.BOTH_PLANES,
                    found=f"view:{name} and domain:{name} are two capabilities of one name",
                    do="rename one of the two: a reader of either name may take it for the other",
                )

    def _exposes_nothing(self, door: str) -> SurfaceFinding:
        ids = self.authority.capability_ids
        tops = {id.removeprefix("view:").split(".")[0] for id in ids if id.startswith("view:")}
        patterns = [f"view:{top}.**" for top in sorted(tops)] or sorted(ids)
        listed = ", ".join(f'"{pattern}"' for pattern in patterns)
        return SurfaceFinding(
            kind=FindingKind.EXPOSES_NOTHING,
            found=f"{door}: 0 of {len(ids)} capabilities are exposed",
            do=f"add to [tool.remit.exposure]:  {door} = [{listed}]",
        )

    def _limits_loosened(self) -> Iterator[SurfaceFinding]:
        default = Limits()
        for name in (*LOOSER_ABOVE, *LOOSER_BELOW):
            now, usual = getattr(self.limits, name), getattr(default, name)
            if now == 0 or (now > usual if name in LOOSER_ABOVE else now < usual):
                yield SurfaceFinding(
                    kind=FindingKind.LOOSENED_LIMIT,
                    found=f"limits.{name} is {_count(now)}, looser than the default of {_count(usual)}",
                    do=f"take {name} out of Limits(…), unless this site needs it",
                )


def _moved(move: Move) -> SurfaceFinding:
    now = "still fits, and is served as recorded" if move.fits else "is unavailable: contract-moved"
    return SurfaceFinding(
        kind=FindingKind.BACKEND_MOVED,
        found=f"domain:{move.name} has moved away from the contract and {now}: {'; '.join(move.differences)}",
        do="remit compile; review; commit, or bring the backend back",
    )


def named(function: Callable[..., object]) -> str:
    """A function with the place where it is written, without the folders: `Devices.rename (devices.py:40)`."""
    while isinstance(function, partial) and not hasattr(function, "__qualname__"):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({PurePath(code.co_filename).name}:{code.co_firstlineno})"


def _unmatched(door: str, patterns: Patterns, ids: frozenset[str], where: str) -> Iterator[SurfaceFinding]:
    for text in patterns.texts:
        if not any(id in Patterns((text,)) for id in ids):
            yield SurfaceFinding(
                kind=FindingKind.EXPOSES_NOTHING,
                found=f'{door}: "{text}" matches no capability',
                do=f"correct it in {where}, or take it out",
            )


def _nobody_decides(door: str, writes: list[str], shown: Mapping[str, Effect]) -> SurfaceFinding:
    return SurfaceFinding(
        kind=FindingKind.NOBODY_DECIDES,
        found=f"{door}: {len(writes)} of {len(shown)} exposed capabilities change something, and nobody can decide",
        do="give Surface(decide=…), subscribe to surface.confirmations, or attach a page that shows requests",
    )


def _no_sink(door: str, writes: list[str], shown: Mapping[str, Effect]) -> SurfaceFinding:
    return SurfaceFinding(
        kind=FindingKind.NO_AUDIT_SINK,
        found=f"{door}: {len(writes)} of {len(shown)} exposed capabilities change something, and no audit sink gets it",
        do="give surface.audit_to(…) a sink before the first mount",
    )


def _count(number: float) -> str:
    return f"{number:,}".removesuffix(".0")


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1_000)} ms"
