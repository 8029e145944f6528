"""What tests of behaviour share: a contract for the classes that stand in a test, and readers of outcomes.

The public compiler takes declarations from a module, never from a function (SPEC 13.2); a test declares on its own
screen. So this one file puts the contract together as the compiler does and reads it back as `Authority.load` does.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from remit import AgentError, Authority, Component, Consumer, Decider, Failed, ManualClock, Ok, Outcome, Surface
from remit._base.clock import TimerHandle
from remit._contract.manifest import assemble, parse
from remit._contract.operation import record_of
from remit._contract.row import rows_of
from remit._journal.audit import AuditEntry, AuditType
from remit.procedures.catalogue import Catalogue

AGENT = Consumer("agent", kind="test")
OPERATOR = Decider("operator")


def contract_of(
    *classes: type[Component],
    procedures: Catalogue | None = None,
    exposure: Mapping[str, Iterable[str]] | None = None,
    policies: Iterable[str] = (),
    warns_of_planes: bool = False,
) -> bytes:
    """The contract of these classes, as the compiler would write it."""
    listed = () if procedures is None else procedures.names()
    live = [] if procedures is None else [procedures.get(name) for name in listed]
    operations = {operation.name: record_of(operation) for operation in live if operation is not None}
    rows = [rows_of(each, operations) for each in classes]
    return assemble(
        [each.block for each in rows],
        [row.block for each in rows for row in each.capabilities],
        operations,
        exposure=exposure or {},
        policies=policies,
        warns_of_planes=warns_of_planes,
    ).to_bytes()


def authority_of(
    *classes: type[Component],
    procedures: Catalogue | None = None,
    exposure: Mapping[str, Iterable[str]] | None = None,
    policies: Iterable[str] = (),
    warns_of_planes: bool = False,
) -> Authority:
    """The verified authority of these classes."""
    contract = contract_of(
        *classes, procedures=procedures, exposure=exposure, policies=policies, warns_of_planes=warns_of_planes
    )
    return Authority(parse(contract))


def failed(outcome: Outcome, code: str | None = None) -> AgentError:
    """The error of a refused call, of this code if one is named."""
    assert isinstance(outcome, Failed), f"expected a refusal, got {outcome}"
    assert code is None or outcome.error.code == code, f"expected {code}, got {outcome.error}"
    return outcome.error


def output(outcome: Outcome) -> object:
    """The output of a call that succeeded."""
    assert isinstance(outcome, Ok), f"expected success, got {outcome.error}"
    return outcome.output


def journal(surface: Surface) -> tuple[AuditEntry, ...]:
    """What the journal says of calls, requests and faults: not what a test's own mounts and looks leave there.

    Nor what it says of slow code: on a busy machine all code is.
    """
    return surface.audit(types=set(AuditType) - {AuditType.REGISTRATION, AuditType.LISTING, AuditType.SLOW})


async def turns(count: int = 20) -> None:
    """Let everything that can run, run."""
    for _ in range(count):
        await asyncio.sleep(0)


class Timers(ManualClock):
    """A clock that knows how many timers wait."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: set[object] = set()

    def call_later(self, delay: float, callback: Callable[[], None]) -> TimerHandle:
        key = object()
        self._waiting.add(key)

        def due() -> None:
            self._waiting.discard(key)
            callback()

        return _Watched(super().call_later(delay, due), lambda: self._waiting.discard(key))

    @property
    def waiting(self) -> int:
        return len(self._waiting)


@dataclass
class _Watched:
    timer: TimerHandle
    forget: Callable[[], None]

    def cancel(self) -> None:
        self.forget()
        self.timer.cancel()
