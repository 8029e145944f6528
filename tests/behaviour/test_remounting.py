"""A pending request goes on when the same part of the view is mounted again: `mount(identity=…)` (SPEC 7.12)."""

import asyncio
from typing import Any

import pytest

from remit import (
    Approved,
    CancelCause,
    Component,
    ConfirmationView,
    Consumer,
    Invocation,
    ManualClock,
    Mount,
    Procedures,
    Surface,
    action,
    reference,
)
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns

backend = Procedures()


@backend.operation("orders.close", effect="destructive")
async def close_orders(ids: list[str], why: str = "") -> int:
    """Close orders."""
    return len(ids)


class Orders(Component, type="orders"):
    """The orders of a page."""

    def __init__(self, *ids: str, breaks: bool = False) -> None:
        self.ids = list(ids)
        self.breaks = breaks
        self.ran: list[int] = []

    close = reference("domain:orders.close")

    @close.bind("ids")
    def _(self) -> list[str]:
        if self.breaks:
            raise RuntimeError("not there yet")
        return self.ids

    @action(confirmation="required", sensitive=("pin",))
    def unlock(self, row: int, pin: str = "") -> int:
        """Unlock a row."""
        self.ran.append(row)
        return row


class Site:
    """A surface with one component, and the request of an agent for it."""

    def __init__(self, identity: object = None, **more: Any) -> None:
        self.clock = ManualClock()
        self.kept = MemoryStore()
        given: dict[str, Any] = {"procedures": backend, "clock": self.clock, "store": self.kept, **more}
        self.surface = Surface(authority_of(Orders, procedures=backend), principal="operator", **given)
        self.views: list[ConfirmationView] = []
        self.surface.confirmations.subscribe(self.views.append)
        self.agent = self.surface.connect(AGENT)
        self.first = self.surface.mount(Orders("o1", "o2"), identity=identity)
        self.surface.snapshot(AGENT)

    async def asked(self, **more: Any) -> ConfirmationView:
        outcome = await self.agent.call(Orders.close, {"why": "old"}, **more)
        return self.view(str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"]))

    def view(self, id: str) -> ConfirmationView:
        view = self.surface.confirmations.get(id)
        assert view is not None
        return view

    def again(self, *ids: str, instance: str = "default", identity: object = None, breaks: bool = False) -> Mount:
        """Unmount and mount, as a part of a page that is drawn anew."""
        self.first.unmount()
        return self.surface.mount(Orders(*ids, breaks=breaks), instance, identity=identity)


@pytest.mark.requirement("7.12-a-pending-request-moves")
async def test_a_pending_request_moves_to_the_same_part_mounted_again_and_its_digest_is_renewed() -> None:
    site = Site({"filter": "open"})
    before = await site.asked()
    second = site.again("o1", "o2", identity={"filter": "open"})
    after = site.view(before.id)
    assert (after.status, after.id, after.decide_by) == ("pending", before.id, before.decide_by)
    assert (before.registration, after.registration) == (site.first.registration_id, second.registration_id)
    assert after.input == before.input and after.digest != before.digest
    with pytest.raises(ValueError, match="digest"):
        await site.surface.confirmations.approve(before.id, OPERATOR, digest=before.digest)
    await site.surface.confirmations.approve(after.id, OPERATOR, digest=after.digest)
    assert output(await site.agent.call(Orders.close, {"why": "old"}, confirmation=after.id)) == 2


@pytest.mark.requirement("7.12-a-pending-request-moves")
async def test_replacing_moves_it_too_and_so_do_several_mounts_in_a_row() -> None:
    site = Site("a")
    view = await site.asked()
    mounts = [site.surface.mount(Orders("o1", "o2"), on_duplicate="replace", identity="a") for _ in range(3)]
    assert site.view(view.id).registration == mounts[-1].registration_id
    same = await site.asked()
    assert same.id == view.id and site.surface.confirmations.pending() == (same,)


@pytest.mark.requirement("7.12-a-pending-request-moves")
async def test_everybody_who_shows_it_is_told_and_the_store_knows_the_new_form() -> None:
    site = Site("a")
    view = await site.asked()
    second = site.again("o1", "o2", identity="a")
    await turns()
    assert site.views[-1].digest == site.view(view.id).digest and site.views[-1].status == "pending"
    row = await site.kept.get(view.id)
    assert row is not None and row.registration == second.registration_id and row.status == "pending"
    assert row.digest == site.views[-1].digest and str(second.registration_id) in row.form
    whys = [entry.why for entry in site.surface.audit() if entry.confirmation == view.id]
    assert f"moved from {view.registration}, which was mounted again" in whys


@pytest.mark.requirement("7.12-an-old-registration-for-that-request-alone")
async def test_a_retry_that_names_the_old_registration_is_accepted_for_that_request_alone() -> None:
    site = Site("a")
    old = site.first.registration_id
    view = await site.asked(registration=old)
    site.again("o1", "o2", identity="a")
    await site.surface.confirmations.approve(view.id, OPERATOR)
    plain = await site.agent.call(Orders.close, {"why": "old"}, registration=old)
    failed(plain, "STALE_CAPABILITY")
    other = await site.agent.call(Orders.close, {"why": "old"}, registration=old, confirmation="cnf_made_up")
    failed(other, "STALE_CAPABILITY")
    stranger = site.surface.connect(Consumer("stranger", kind="test"))
    foreign = await stranger.call(Orders.close, {"why": "old"}, registration=old, confirmation=view.id)
    failed(foreign, "STALE_CAPABILITY")
    changed = await site.agent.call(Orders.close, {"why": "new"}, registration=old, confirmation=view.id)
    assert failed(changed, "CONFIRMATION_INVALID").details["reason"] == "mismatch"
    assert output(await site.agent.call(Orders.close, {"why": "old"}, registration=old, confirmation=view.id)) == 2


@pytest.mark.requirement("7.12-an-old-registration-for-that-request-alone")
async def test_a_moved_request_is_continued_and_resumed_on_the_new_mount() -> None:
    for resumes in (False, True):
        site = Site("a")
        view = await site.asked(registration=site.first.registration_id)
        site.again("o1", "o2", identity="a")
        await site.surface.confirmations.approve(view.id, OPERATOR)
        again = site.surface.resume(view.id) if resumes else site.surface.continue_(view.id, AGENT)
        assert output(await again) == 2


@pytest.mark.requirement("7.12-nothing-else-moves")
@pytest.mark.parametrize("differs", ["no identity", "identity", "instance", "values", "binding raises", "type"])
async def test_nothing_moves_unless_everything_is_equal(differs: str) -> None:
    site = Site(None if differs == "no identity" else "a")
    view = await site.asked()
    match differs:
        case "no identity":
            site.again("o1", "o2")
        case "identity":
            site.again("o1", "o2", identity="b")
        case "instance":
            site.again("o1", "o2", instance="other", identity="a")
        case "values":
            site.again("o1", "o3", identity="a")
        case "binding raises":
            site.again("o1", "o2", identity="a", breaks=True)
        case _:
            site.first.unmount()
    site.clock.advance(15)
    after = site.view(view.id)
    assert (after.status, after.cause, after.digest) == ("cancelled", CancelCause.UNMOUNTED, view.digest)
    retry = await site.agent.call(Orders.close, {"why": "old"}, confirmation=view.id)
    assert failed(retry).code in {"CONFIRMATION_INVALID", "COMPONENT_UNMOUNTED", "PRECONDITION_FAILED"}


@pytest.mark.requirement("7.12-nothing-else-moves")
async def test_an_approved_unspent_request_never_moves() -> None:
    site = Site("a")
    view = await site.asked()
    await site.surface.confirmations.approve(view.id, OPERATOR)
    site.again("o1", "o2", identity="a")
    after = site.view(view.id)
    assert (after.status, after.cause) == ("cancelled", CancelCause.UNMOUNTED)
    retry = await site.agent.call(Orders.close, {"why": "old"}, confirmation=view.id)
    assert failed(retry, "CONFIRMATION_INVALID").details["reason"] == "cancelled"


@pytest.mark.requirement("7.12-nothing-else-moves")
async def test_a_request_with_a_sensitive_value_does_not_move_because_nothing_kept_its_input() -> None:
    site = Site("a")
    error = failed(await site.agent.call(Orders.unlock, {"row": 1, "pin": "4711"}), "CONFIRMATION_REQUIRED")
    site.again("o1", "o2", identity="a")
    assert site.view(str(error.details["confirmation_id"])).status == "cancelled"


@pytest.mark.requirement("7.12-nothing-else-moves")
async def test_the_end_of_the_surface_cancels_at_once_whatever_waits() -> None:
    site = Site("a")
    view = await site.asked()
    site.first.unmount()
    site.surface.dispose(CancelCause.VIEW_RELOADED)
    assert site.view(view.id).status == "cancelled"
    other = Site("a")
    second = await other.asked()
    other.surface.dispose(CancelCause.VIEW_RELOADED)
    after = other.view(second.id)
    assert (after.status, after.cause) == ("cancelled", CancelCause.VIEW_RELOADED)


@pytest.mark.requirement("7.12-between-two-mounts")
async def test_between_two_mounts_it_waits_15_s_can_be_denied_and_not_approved() -> None:
    site = Site("a")
    view = await site.asked()
    site.first.unmount()
    site.clock.advance(14)
    assert site.view(view.id).status == "pending"
    with pytest.raises(RuntimeError, match="is away"):
        await site.surface.confirmations.approve(view.id, OPERATOR)
    failed(await site.agent.call(Orders.close, {"why": "old"}, confirmation=view.id), "COMPONENT_UNMOUNTED")
    site.clock.advance(1)
    assert site.view(view.id).status == "cancelled"
    other = Site("a")
    denied = await other.asked()
    other.first.unmount()
    await other.surface.confirmations.deny(denied.id, OPERATOR)
    other.surface.mount(Orders("o1", "o2"), identity="a")
    after = other.view(denied.id)
    assert (after.status, after.registration) == ("denied", denied.registration), "what was answered does not move"


@pytest.mark.requirement("7.12-between-two-mounts")
async def test_its_time_goes_on_and_whoever_waits_goes_on_waiting() -> None:
    site = Site("a")
    view = await site.asked()
    waiting = asyncio.create_task(site.surface.confirmations.wait(view.id))
    await turns()
    site.clock.advance(100)
    site.again("o1", "o2", identity="a")
    await turns()
    assert not waiting.done()
    site.clock.advance(20)
    assert await waiting == "expired"


@pytest.mark.requirement("7.12-between-two-mounts")
async def test_an_inline_decide_is_asked_about_what_the_request_has_become() -> None:
    shown: list[str] = []
    let_go: list[str] = []
    answers = asyncio.Event()

    async def decide(request: ConfirmationView) -> Approved:
        shown.append(request.registration)
        try:
            await answers.wait()
        except asyncio.CancelledError:
            let_go.append(request.registration)
            raise
        return Approved(by=OPERATOR)

    site = Site("a", decide=decide)
    view = await site.asked()
    await turns()
    second = site.again("o1", "o2", identity="a")
    await turns()
    answers.set()
    await turns()
    assert shown == [site.first.registration_id, second.registration_id]
    assert let_go == [site.first.registration_id]
    assert site.view(view.id).status == "approved"


@pytest.mark.requirement("7.12-identity-is-json")
async def test_an_identity_is_any_json_value_compared_by_what_it_says() -> None:
    site = Site({"b": [1, 2], "a": None})
    view = await site.asked()
    site.again("o1", "o2", identity={"a": None, "b": [1.0, 2]})
    assert site.view(view.id).status == "pending"
    with pytest.raises(TypeError, match="JSON"):
        site.surface.mount(Orders(), "other", identity={1, 2})
    seen = (await site.surface.preflight(Invocation("domain:orders.close"), AGENT)).registration
    assert seen == site.view(view.id).registration


@pytest.mark.requirement("7.12-a-pending-request-moves")
async def test_a_request_whose_input_is_all_the_agents_own_moves_too_where_only_a_page_shows_it() -> None:
    class Shelf(Component, type="shelf"):
        """A shelf."""

        @action(confirmation="required")
        def clear(self, row: int) -> int:
            """Clear a row."""
            return row

    surface = Surface(authority_of(Shelf), principal="operator")
    surface.confirmations.attach_page()
    first = surface.mount(Shelf(), identity="a")
    agent = surface.connect(AGENT)
    failed(await agent.call(Shelf.clear, {"row": 1}), "CONFIRMATION_REQUIRED")
    (before,) = surface.confirmations.pending()
    first.unmount()
    second = surface.mount(Shelf(), identity="a")
    (after,) = surface.confirmations.pending()
    assert (after.id, after.registration) == (before.id, second.registration_id)
    await surface.confirmations.approve(after.id, OPERATOR, digest=after.digest)
    assert output(await agent.call(Shelf.clear, {"row": 1}, confirmation=after.id)) == 1
