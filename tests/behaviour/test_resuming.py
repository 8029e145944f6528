"""The host goes on with an approved call that nobody came back for: `surface.resume` (SPEC 7.6)."""

import asyncio
from typing import Any

import pytest

from remit import Component, Consumer, Invocation, ManualClock, Surface, action
from remit._model.port import SurfacePort
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Table(Component, type="table"):
    """A table."""

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.gate: asyncio.Event | None = None

    @action(confirmation="required")
    async def delete(self, count: int) -> int:
        """Delete."""
        self.ran.append(count)
        if self.gate is not None:
            await self.gate.wait()
        return count


def surface_of(**more: Any) -> tuple[Surface, Table]:
    surface = Surface(authority_of(Table), principal="operator", **more)
    surface.confirmations.subscribe(lambda view: None)
    table = Table()
    surface.mount(table)
    return surface, table


async def asked(surface: Surface, consumer: Consumer = AGENT, id: str | None = None) -> str:
    outcome = await surface.connect(consumer).call(Table.delete, {"count": 7}, id=id)
    return str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"])


@pytest.mark.requirement("7.6-resume")
async def test_the_host_resumes_an_approved_call_and_the_requester_reads_the_outcome() -> None:
    surface, table = surface_of()
    id = await asked(surface, id="mine")
    await surface.confirmations.approve(id, OPERATOR)
    done = await surface.resume(id)
    assert (output(done), done.invocation_id, done.capability_id) == (7, "mine", "view:table.delete")
    agent = surface.connect(AGENT)
    assert await agent.call(Table.delete, {"count": 7}, id="mine") == done
    assert await surface.continue_(id, AGENT) == done
    assert await surface.resume(id) == done
    assert table.ran == [7]
    (entry,) = [each for each in surface.audit() if each.type == "invocation" and each.code is None]
    assert entry.consumer == AGENT.key and entry.confirmation == id


@pytest.mark.requirement("7.6-resume")
async def test_resuming_decides_nothing() -> None:
    surface, table = surface_of(clock=ManualClock())
    id = await asked(surface)
    error = failed(await surface.resume(id), "CONFIRMATION_REQUIRED")
    assert error.details["confirmation_id"] == id
    assert [view.id for view in surface.confirmations.pending()] == [id]
    await surface.confirmations.deny(id, OPERATOR)
    assert failed(await surface.resume(id), "CONFIRMATION_INVALID").details["reason"] == "denied"
    assert table.ran == []


@pytest.mark.requirement("7.6-resume")
async def test_an_unknown_id_is_resumed_like_it_is_continued() -> None:
    surface, _ = surface_of()
    other, _ = surface_of()
    foreign = await asked(other)
    for id in ("cnf_made_up", "", foreign):
        assert await surface.resume(id) == await surface.continue_(id, Consumer("nobody", kind="test"))
    assert failed(await surface.resume(foreign), "CONFIRMATION_INVALID").details == {"reason": "mismatch"}


@pytest.mark.requirement("7.6-resume")
async def test_resuming_while_the_requester_repeats_runs_once() -> None:
    surface, table = surface_of()
    id = await asked(surface)
    await surface.confirmations.approve(id, OPERATOR)
    table.gate = asyncio.Event()
    agent = surface.connect(AGENT)
    both = [
        asyncio.create_task(surface.resume(id)),
        asyncio.create_task(agent.call(Table.delete, {"count": 7}, confirmation=id)),
    ]
    await turns()
    table.gate.set()
    first, second = await asyncio.gather(*both)
    assert first == second and output(first) == 7 and table.ran == [7]


@pytest.mark.requirement("7.6-resume-is-governed")
async def test_a_resumed_call_passes_every_step_with_what_its_consumer_may_do_now() -> None:
    surface, table = surface_of()
    id = await asked(surface)
    await surface.confirmations.approve(id, OPERATOR)
    narrowed = Consumer("agent", kind="test", scope=["view:other.**"])
    failed(await surface.invoke(Invocation("view:table.delete"), narrowed), "CAPABILITY_NOT_FOUND")
    failed(await surface.resume(id), "CAPABILITY_NOT_FOUND")
    surface.snapshot(AGENT)
    surface.suspend(capability=Table.delete)
    failed(await surface.resume(id), "CAPABILITY_NOT_FOUND")
    assert table.ran == []
    surface.reinstate(capability=Table.delete)
    assert output(await surface.resume(id)) == 7


@pytest.mark.requirement("7.6-resume-is-governed")
async def test_a_call_is_not_resumed_once_its_registration_or_its_surface_has_gone() -> None:
    surface, table = surface_of()
    id = await asked(surface)
    await surface.confirmations.approve(id, OPERATOR)
    again = surface.mount(Table(), on_duplicate="replace")
    assert again.status == "mounted"
    error = failed(await surface.resume(id), "CONFIRMATION_INVALID")
    assert error.details["reason"] == "cancelled" and table.ran == []
    second = await asked(surface)
    await surface.confirmations.approve(second, OPERATOR)
    surface.dispose()
    failed(await surface.resume(second), "CONFIRMATION_INVALID")


@pytest.mark.requirement("7.6-resume")
def test_no_door_can_resume() -> None:
    assert not hasattr(SurfacePort, "resume") and not hasattr(SurfacePort, "preflight")
