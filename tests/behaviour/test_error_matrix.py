"""Every code and every closed reason of the matrix, produced by a real call (SPEC 8.1).

Whatever any test of the project is told is held against `spec/error-matrix.toml` by `tests/error_matrix.py`; this file
makes sure that there is something to hold: one way to each answer that the matrix knows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from remit import (
    AgentError,
    BackendError,
    CancelCause,
    Component,
    Consumer,
    Failed,
    Handoff,
    Invocation,
    Limits,
    ManualClock,
    Principal,
    Procedures,
    ReadContext,
    RecordSet,
    Surface,
    action,
    observation,
    reference,
)
from remit.policies import Deny, Policy, PolicyContext, RequireConfirmation, ReviewContext, rate_limit
from remit.store.memory import MemoryMeters, MemoryStore
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, turns
from tests.error_matrix import MATRIX

CLOSED = ("reason", "phase", "origin", "cause")
Case = tuple[str, str, str]
Producer = Callable[[], Awaitable[AgentError]]
PRODUCERS: dict[Case, Producer] = {}
ELSEWHERE: dict[Case, str] = {
    ("SURFACE_UNREACHABLE", "", ""): "tests/adapters/test_door.py: only a door can be without a view",
}


def wanted() -> list[Case]:
    """What the matrix says can be met today."""
    found: list[Case] = []
    for row in MATRIX.values():
        if row.later.get("code"):
            continue
        later: Any = row.later
        closed = [
            (row.code, key, value)
            for key in CLOSED
            if key in row.details
            for value in row.values(key)
            if value not in later.get(key, {})
        ]
        found += closed or [(row.code, "", "")]
    return found


def produces(code: str, key: str = "", value: str = "") -> Callable[[Producer], Producer]:
    """The function makes this answer."""

    def register(producer: Producer) -> Producer:
        PRODUCERS[code, key, value] = producer
        return producer

    return register


backend = Procedures()
STATUS: list[int] = [500]


@backend.operation("save", effect="server-mutation")
async def save() -> int:
    """Save."""
    raise BackendError(STATUS[0], "secret", code="TAKEN", approval={} if STATUS[0] == 428 else None)


@backend.operation("wipe", effect="destructive")
async def wipe() -> int:
    """Wipe."""
    return 1


class Table(Component, type="table"):
    """A table."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.result: Any = None

    @action
    def put(self, count: int = 0) -> int:
        """Put."""
        return cast(int, self.result) if count else 0

    @action
    async def wait(self) -> None:
        """Wait."""
        await self.gate.wait()

    @action
    def fail(self) -> None:
        """Fail."""
        raise RuntimeError

    @action(confirmation="required")
    def clear(self, count: int = 0) -> int:
        """Clear."""
        return count

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action(record="row")
    def mark(self, row: str) -> None:
        """Mark."""

    @mark.records
    def none(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=[])

    save = reference("domain:save")
    wipe = reference("domain:wipe")


class World:
    """A surface with one table, a clock, and somebody who could decide."""

    def __init__(
        self, *policies: Policy, channel: bool = True, principal: Any = "operator", store: Any = None, **limits: Any
    ) -> None:
        self.clock = ManualClock()
        self.surface = Surface(
            authority_of(Table, procedures=backend),
            principal=principal,
            procedures=backend,
            policies=policies,
            store=store,
            clock=self.clock,
            limits=Limits(**limits),
        )
        if channel:
            self.surface.confirmations.subscribe(lambda view: None)
        self.table = Table()
        self.mount = self.surface.mount(self.table)
        self.agent = self.surface.connect(AGENT)

    async def refused(self, capability: Any, input: dict[str, object] | None = None, **more: Any) -> AgentError:
        return failed(await self.agent.call(capability, input, **more))

    async def asked(self, count: int = 0) -> str:
        return str((await self.refused(Table.clear, {"count": count})).details["confirmation_id"])

    async def continued(self, request: str) -> AgentError:
        return failed(await self.surface.continue_(request, AGENT))


async def backend_says(status: int) -> AgentError:
    """What becomes of a status that the backend answers."""
    STATUS[0] = status
    return await World().refused(Table.save)


@produces("CAPABILITY_NOT_FOUND")
async def _() -> AgentError:
    return await World().refused("view:table.none")


@produces("CAPABILITY_NOT_AVAILABLE")
async def _() -> AgentError:
    world = World()
    world.mount.update(enabled=False, reason="Hidden tab")
    return await world.refused(Table.put)


@produces("RECORD_UNAVAILABLE")
async def _() -> AgentError:
    return await World().refused(Table.mark, {"record": "none"})


@produces("AMBIGUOUS_INSTANCE")
async def _() -> AgentError:
    world = World()
    world.surface.mount(Table(), "other")
    return await world.refused(Table.put)


@produces("COMPONENT_UNMOUNTED", "phase", "resolve")
async def _() -> AgentError:
    world = World()
    world.agent.capabilities()
    world.mount.unmount()
    return await world.refused(Table.put)


@produces("COMPONENT_UNMOUNTED", "phase", "mid-flight")
async def _() -> AgentError:
    world = World()
    running = asyncio.create_task(world.agent.call(Table.wait))
    await turns()
    world.mount.unmount()
    return failed(await running)


@produces("STALE_CAPABILITY", "reason", "registration-replaced")
async def _() -> AgentError:
    return await World().refused(Table.put, registration="reg_x")


@produces("STALE_CAPABILITY", "reason", "surface-reloaded")
async def _() -> AgentError:
    return failed(await World().surface.invoke(Invocation("view:table.put", surface_id="srf_x"), AGENT))


@produces("STALE_CAPABILITY", "reason", "surface-version-mismatch")
async def _() -> AgentError:
    return failed(await World().surface.invoke(Invocation("domain:wipe", surface_version="99"), AGENT))


@produces("INVOCATION_CONFLICT", "reason", "different-call")
async def _() -> AgentError:
    world = World()
    await world.agent.call(Table.put, {"count": 0}, id="one")
    return await world.refused(Table.put, {"count": 1}, id="one")


@produces("INVALID_INPUT")
async def _() -> AgentError:
    return await World().refused(Table.put, {"count": "x"})


@produces("NOT_AUTHENTICATED", "origin", "client")
async def _() -> AgentError:
    present: list[Principal | None] = [Principal("operator")]
    world = World(principal=lambda: present[0])
    present[0] = None
    return await world.refused(Table.put)


@produces("NOT_AUTHENTICATED", "origin", "server")
async def _() -> AgentError:
    return await backend_says(401)


@produces("NOT_AUTHORIZED", "origin", "client")
async def _() -> AgentError:
    class No(Policy, name="no"):
        async def authorize(self, ctx: PolicyContext) -> Deny:
            return Deny("Not today")

    return await World(No()).refused(Table.put)


@produces("NOT_AUTHORIZED", "origin", "server")
async def _() -> AgentError:
    return await backend_says(403)


@produces("PRECONDITION_FAILED")
async def _() -> AgentError:
    return await backend_says(409)


@produces("HANDOFF_REQUIRED")
async def handed_off() -> AgentError:
    class Desk(Component, type="desk"):
        """A desk."""

        @action(handoff=Handoff("Only you may sign", to="/sign"))
        def sign(self) -> None:
            """Sign."""

    surface = Surface(authority_of(Desk), principal="operator")
    surface.mount(Desk())
    return failed(await surface.connect(AGENT).call("view:desk.sign"))


@produces("CONFIRMATION_REQUIRED", "origin", "client")
async def _() -> AgentError:
    return await World().refused(Table.clear)


@produces("CONFIRMATION_REQUIRED", "origin", "server")
async def _() -> AgentError:
    return await backend_says(428)


@produces("CONFIRMATION_INVALID", "reason", "mismatch")
async def _() -> AgentError:
    return await World().refused(Table.clear, confirmation="cnf_x")


@produces("CONFIRMATION_INVALID", "reason", "denied")
async def _() -> AgentError:
    world = World()
    request = await world.asked()
    await world.surface.confirmations.deny(request, OPERATOR)
    return await world.refused(Table.clear, confirmation=request)


@produces("CONFIRMATION_INVALID", "reason", "expired")
async def _() -> AgentError:
    world = World()
    request = await world.asked()
    world.clock.advance(121)
    return await world.refused(Table.clear, confirmation=request)


@produces("CONFIRMATION_INVALID", "reason", "spent")
async def _() -> AgentError:
    world = World()
    request = await world.asked()
    await world.surface.confirmations.approve(request, OPERATOR)
    await world.agent.call(Table.clear, confirmation=request)
    return await world.refused(Table.clear, confirmation=request, id="another")


@produces("CONFIRMATION_INVALID", "reason", "no-decider")
async def _() -> AgentError:
    class Ask(Policy, name="ask"):
        async def review(self, ctx: ReviewContext) -> RequireConfirmation:
            return RequireConfirmation()

    return await World(Ask(), channel=False).refused(Table.put)


@produces("CONFIRMATION_INVALID", "reason", "cancelled")
@produces("CONFIRMATION_INVALID", "cause", "unmounted")
async def _() -> AgentError:
    world = World()
    request = await world.asked()
    world.mount.unmount()
    return await world.continued(request)


@produces("CONFIRMATION_INVALID", "cause", "withdrawn")
async def _() -> AgentError:
    world = World()
    request = await world.asked()
    await world.surface.withdraw(request, AGENT)
    return await world.continued(request)


async def ended_by(cause: CancelCause) -> AgentError:
    """What a requester hears whose surface ended."""
    world = World()
    request = await world.asked()
    world.surface.dispose(cause)
    return await world.continued(request)


@produces("CONFIRMATION_INVALID", "cause", "view-closed")
async def _() -> AgentError:
    return await ended_by(CancelCause.VIEW_CLOSED)


@produces("CONFIRMATION_INVALID", "cause", "view-reloaded")
async def _() -> AgentError:
    return await ended_by(CancelCause.VIEW_RELOADED)


@produces("CONFIRMATION_INVALID", "cause", "stopping")
async def _() -> AgentError:
    return await ended_by(CancelCause.STOPPING)


@produces("RATE_LIMITED", "reason", "rate")
async def _() -> AgentError:
    world = World(rate_limit(1, per_s=10))
    await world.agent.call(Table.put)
    return await world.refused(Table.put)


@produces("RATE_LIMITED", "reason", "queue-full")
async def _() -> AgentError:
    world = World(confirmations_per_consumer=1)
    await world.asked(1)
    return await world.refused(Table.clear, {"count": 2})


@produces("RATE_LIMITED", "reason", "denied-often")
async def _() -> AgentError:
    world = World(denials=1)
    await world.surface.confirmations.deny(await world.asked(1), OPERATOR)
    return await world.refused(Table.clear, {"count": 2})


@produces("RATE_LIMITED", "reason", "unanswered")
async def _() -> AgentError:
    world = World(unanswered=1)
    await world.asked(1)
    world.clock.advance(121)
    return await world.refused(Table.clear, {"count": 2})


@produces("RATE_LIMITED", "reason", "probing")
async def _() -> AgentError:
    world = World(probing=1)
    await world.refused("view:table.madeUp")
    return await world.refused("view:table.otherwise")


class Away(MemoryMeters):
    """Meters of a database that is away."""

    async def take(self, key: str, *, calls: int, per_s: float, charge: bool = True) -> float:
        raise ConnectionError("the database is away")


class WithoutMeters(MemoryStore):
    """A store whose requests are at hand, and whose meters are not."""

    @property
    def meters(self) -> MemoryMeters:
        return Away(ManualClock())


@produces("RATE_LIMITED", "reason", "store-unavailable")
async def _() -> AgentError:
    return await World(rate_limit(1, per_s=10, shared=True), store=WithoutMeters()).refused(Table.put)


@produces("TIMEOUT")
async def _() -> AgentError:
    world = World()
    running = asyncio.create_task(world.agent.call(Table.wait))
    await turns()
    world.clock.advance(11)
    return failed(await running)


@produces("CANCELLED")
async def _() -> AgentError:
    world = World()
    running = asyncio.create_task(world.agent.call(Table.wait, id="one"))
    await turns()
    assert world.surface.cancel("one", AGENT)
    return failed(await running)


@produces("EXECUTION_FAILED", "reason", "handler-error")
async def _() -> AgentError:
    return await World().refused(Table.fail)


@produces("EXECUTION_FAILED", "reason", "output-invalid")
async def _() -> AgentError:
    world = World()
    world.table.result = "text"
    return await world.refused(Table.put, {"count": 1})


@produces("EXECUTION_FAILED", "reason", "output-too-large")
async def _() -> AgentError:
    world = World(output_bytes=2)
    world.table.result = 1000
    return await world.refused(Table.put, {"count": 1})


@produces("EXECUTION_FAILED", "reason", "transport")
async def _() -> AgentError:
    return await backend_says(500)


@produces("EXECUTION_FAILED", "reason", "rejected")
async def _() -> AgentError:
    return await backend_says(418)


@pytest.mark.requirement("8.1-details-and-retry", "8.1-the-matrix")
@pytest.mark.parametrize("case", wanted(), ids="-".join)
async def test_every_answer_of_the_matrix_is_given_by_a_real_call(case: Case) -> None:
    if case in ELSEWHERE:
        assert case not in PRODUCERS
        return
    code, key, value = case
    error = await PRODUCERS[case]()
    row = MATRIX[code]
    assert error.code == code and error.message in row.sentences and error.retry in row.retry
    assert not key or error.details[key] == value
    if row.open:
        assert "reason" in error.details
    else:
        assert set(error.details) <= {*row.details, "correlation_id"}


@pytest.mark.requirement("8.1-the-matrix")
def test_no_producer_is_for_what_the_matrix_does_not_know() -> None:
    assert {*PRODUCERS, *ELSEWHERE} == set(wanted())


@pytest.mark.requirement("8.1-stored")
@pytest.mark.parametrize(
    ("status", "code", "stored"),
    [
        (401, "NOT_AUTHENTICATED", False),
        (403, "NOT_AUTHORIZED", False),
        (429, "RATE_LIMITED", False),
        (409, "PRECONDITION_FAILED", True),
        (408, "TIMEOUT", True),
        (500, "EXECUTION_FAILED", True),
        (418, "EXECUTION_FAILED", True),
    ],
)
async def test_what_a_backend_refused_for_now_is_asked_again_and_the_rest_is_kept(
    status: int, code: str, stored: bool
) -> None:
    asked: list[int] = []
    owner = Procedures()

    @owner.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save."""
        asked.append(status)
        raise BackendError(status)

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface = Surface(authority_of(Page, procedures=owner), principal="operator", procedures=owner)
    surface.mount(Page())
    agent = surface.connect(Consumer("agent", kind="embedded"))
    first, second = [await agent.call(Page.save, id="one") for _ in range(2)]
    assert isinstance(first, Failed) and isinstance(second, Failed)
    assert (first.error.code, second.error.code) == (code, code)
    assert len(asked) == (1 if stored else 2)
