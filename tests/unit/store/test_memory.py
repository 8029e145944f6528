import asyncio

import pytest

from remit._base.clock import ManualClock
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationRow, ConfirmationStore, Store


def row(id: str, *, status: str = "pending", surface: str = "srf_1", at: int = 0) -> ConfirmationRow:
    return ConfirmationRow(
        id=id,
        surface_id=surface,
        registration="reg_1",
        capability="view:a.b",
        tenant=None,
        principal="ada",
        consumer='["test",null,["bot"],null]',
        kid="k1",
        digest="d",
        form="{}",
        approvers=(),
        created_at=f"2026-01-01T12:00:{at:02}+00:00",
        decide_by="2026-01-01T12:02:00+00:00",
        status=status,
    )


async def test_it_fits_both_protocols() -> None:
    store: Store = MemoryStore()
    confirmations: ConfirmationStore = store.confirmations
    await confirmations.put(row("a"))
    assert await store.confirmations.get("a") == row("a")


async def test_a_transition_happens_only_from_the_status_it_names() -> None:
    store = MemoryStore()
    await store.put(row("a"))
    assert not await store.transition("a", "approved", "spent")
    assert not await store.transition("b", "pending", "approved")
    assert await store.transition("a", "pending", "approved", decided_by="ada")
    assert not await store.transition("a", "pending", "denied")
    kept = await store.get("a")
    assert kept is not None and (kept.status, kept.decided_by, kept.outcome) == ("approved", "ada", None)


async def test_of_five_hundred_transitions_at_once_exactly_one_wins() -> None:
    store = MemoryStore()
    await store.put(row("a", status="approved"))
    won = await asyncio.gather(*(store.transition("a", "approved", "spent") for _ in range(500)))
    assert sum(won) == 1


async def test_an_id_is_taken_once() -> None:
    store = MemoryStore()
    await store.put(row("a"))
    with pytest.raises(ValueError, match="already"):
        await store.put(row("a"))


async def test_the_list_is_restricted_and_in_order_of_asking() -> None:
    store = MemoryStore()
    for new in (row("b", at=2), row("a", at=1), row("c", status="denied"), row("d", surface="srf_2")):
        await store.put(new)
    assert [one.id for one in await store.list(surface_id="srf_1", statuses={"pending"})] == ["a", "b"]
    assert {one.id for one in await store.list()} == {"a", "b", "c", "d"}
    assert await store.list(statuses=()) == []


async def test_a_full_store_forgets_ended_requests_and_never_open_ones() -> None:
    store = MemoryStore(clock=ManualClock(), capacity=2)
    await store.put(row("open"))
    await store.put(row("ended", status="spent"))
    await store.put(row("more", status="approved"))
    assert await store.get("ended") is None
    assert await store.get("open") is not None
    with pytest.raises(OverflowError):
        await store.put(row("too many"))
