"""A grant that was taken back, as the surfaces over one store see it (SPEC 11.11)."""

import asyncio
from datetime import timedelta

import pytest

from remit import Component, Consumer, ManualClock, Principal, Surface, action, observation
from remit.explain import explain
from remit.gateway import Gateway
from remit.store.memory import MemoryStore
from remit.store.protocol import RevocationRow
from tests.behaviour.conftest import authority_of, failed, output, turns

WHY = {"by": "admin", "why": "it is over"}


class Gate(Component, type="gate"):
    """A gate."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.passed = 0

    @action
    async def walk(self) -> int:
        """Pass through."""
        await self.open.wait()
        self.passed += 1
        return self.passed

    @observation
    def read(self) -> int:
        """Read."""
        return self.passed


AUTHORITY = authority_of(Gate)


def vouched(clock: ManualClock, grant: str = "dlg_1", parents: tuple[str, ...] = ()) -> Consumer:
    until = clock.now() + timedelta(minutes=15)
    return Consumer("agent", kind="test", scope=["view:**"], grant=grant, parents=parents, until=until)


def opened(store: MemoryStore, clock: ManualClock, principal: Principal | None = None) -> tuple[Surface, Gate]:
    surface = Surface(AUTHORITY, principal=principal or Principal("operator"), store=store, clock=clock)
    gate = Gate()
    surface.mount(gate)
    return surface, gate


@pytest.mark.requirement("11.11-revoking-stops-what-waits")
async def test_a_call_that_waits_is_answered_at_once_and_never_runs() -> None:
    clock, store = ManualClock(), MemoryStore()
    gateway = Gateway(AUTHORITY, store=store, clock=clock)
    surface, gate = opened(store, clock)
    agent, other = vouched(clock), vouched(clock, "dlg_2")
    running = asyncio.create_task(surface.connect(agent).call(Gate.walk))
    await turns()
    waiting = [asyncio.create_task(surface.connect(each).call(Gate.walk)) for each in (agent, other)]
    await turns()
    assert gateway.revoke("dlg_1", **WHY) is True
    failed(await waiting[0], "NOT_AUTHENTICATED")
    assert not running.done()
    assert not waiting[1].done()
    gate.open.set()
    assert (output(await running), output(await waiting[1])) == (1, 2)
    assert [entry.why for entry in surface.audit() if entry.code == "NOT_AUTHENTICATED"] == ["its grant is revoked"]
    assert [entry.why for entry in surface.audit(types=["revocation"])] == ["dlg_1: it is over"]


@pytest.mark.requirement("11.11-revoking-a-token-revokes-its-descendants")
async def test_a_consumer_sees_and_calls_nothing_once_a_grant_of_its_lineage_is_revoked() -> None:
    clock, store = ManualClock(), MemoryStore()
    surface, _ = opened(store, clock)
    child, stranger = vouched(clock, "dlg_2", ("dlg_0", "dlg_1")), vouched(clock, "dlg_3", ("dlg_0",))
    assert output(await surface.connect(child).call(Gate.read)) == 0
    Gateway(AUTHORITY, store=store, clock=clock).revoke("dlg_1", **WHY)
    assert surface.snapshot(child).components == ()
    failed(await surface.connect(child).call(Gate.read), "NOT_AUTHENTICATED")
    assert {each.why for each in explain(surface, child)} == {"its grant is revoked"}
    assert output(await surface.connect(stranger).call(Gate.read)) == 0


@pytest.mark.requirement("11.11-revocations-are-in-the-store")
async def test_a_view_and_a_gateway_opened_later_over_the_store_know_it_too() -> None:
    clock, store = ManualClock(), MemoryStore()
    first = Gateway(AUTHORITY, store=store, clock=clock)
    first.revoke("dlg_1", **WHY)
    surface, _ = opened(store, clock)
    failed(await surface.connect(vouched(clock)).call(Gate.read), "NOT_AUTHENTICATED")
    assert Gateway(AUTHORITY, store=store, clock=clock).revoke("dlg_1", **WHY) is False


@pytest.mark.requirement("11.11-revocations-are-journalled")
async def test_only_views_of_whose_grant_it_was_journal_it() -> None:
    clock, store = ManualClock(), MemoryStore()
    gateway = Gateway(AUTHORITY, store=store, clock=clock)
    people = [Principal("operator", tenant=tenant) for tenant in ("acme", "globex", None)]
    mine, theirs, nobodys = (opened(store, clock, person)[0] for person in people)
    token = gateway.delegate(people[0], actor="agent", scope=["view:**"])
    assert gateway.revoke(token, by="admin", why="it is over") is True
    (entry,) = mine.audit(types=["revocation"])
    assert (entry.decider, entry.tenant, entry.principal) == ("admin", "acme", "operator")
    assert theirs.audit(types=["revocation"]) == nobodys.audit(types=["revocation"]) == ()
    assert token not in repr(mine.audit())


@pytest.mark.requirement("11.11-revocations-are-in-the-store")
def test_what_has_ended_by_itself_makes_room_for_other_revocations_and_nothing_else_does() -> None:
    clock = ManualClock()
    held = MemoryStore(clock=clock).revocations
    now = clock.now()
    rows = [
        RevocationRow(id=f"dlg_{number}", at=now.isoformat(), by="admin", why="over", until=until.isoformat())
        for number in range(10_000)
        for until in [now + timedelta(seconds=60 if number else 30)]
    ]
    for row in rows:
        held.add(row)
    more = [RevocationRow(id=id, at=now.isoformat(), by="admin", why="over") for id in ("dlg_a", "dlg_b")]
    with pytest.raises(OverflowError, match="10000 revocations"):
        held.add(more[0])
    clock.advance(30)
    assert held.add(more[0]) is True
    assert (held.holds("dlg_0"), held.holds("dlg_1"), held.holds("dlg_a")) == (False, True, True)
    with pytest.raises(OverflowError):
        held.add(more[1])
