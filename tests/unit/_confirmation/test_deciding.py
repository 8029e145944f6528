"""Who may answer, when, and how an inline `decide` answers (SPEC 7.4)."""

import asyncio
import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from remit._confirmation.refusals import NotPending, NotTheDecider, UnknownRequest, WrongDigest
from remit._confirmation.request import Approved, DecideFn, Denied
from remit._model.consumer import Decider
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit.errors import ErrorCode, Happened
from tests.behaviour.conftest import Timers
from tests.unit._confirmation.asking import ADA_HERSELF, BOT, LEAD, Counting, Desk, asking, refused

PENDING, APPROVED, DENIED = ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED, ConfirmationStatus.DENIED


@pytest.mark.parametrize(
    ("approvers", "decider", "may"),
    [
        ((), ADA_HERSELF, True),
        ((), Decider("bob", tenant="acme"), False),
        ((), Decider("ada"), False),
        ((), Decider("ada", tenant="other"), False),
        ((), LEAD, False),
        (("fleet-operator",), LEAD, True),
        (("fleet-operator",), ADA_HERSELF, False),
        (("fleet-operator",), Decider("ada", {"fleet-operator"}, tenant="acme"), True),
        (("fleet-operator",), Decider("lead", {"fleet-operator"}, tenant="other"), False),
        (("fleet-operator",), Decider("lead", {"other"}, tenant="acme"), False),
        (("fleet-operator", "security"), LEAD, False),
        (("fleet-operator", "security"), Decider("eve", {"security", "fleet-operator"}, tenant="acme"), True),
    ],
)
async def test_who_may_decide_and_sees_the_request(approvers: tuple[str, ...], decider: Decider, may: bool) -> None:
    desk = Desk()
    record = await desk.broker.ask(asking(approvers=approvers))
    assert (len(desk.host.pending(decider)) == 1) is may
    assert (desk.host.get(record.id, decider) is not None) is may
    if may:
        await desk.host.approve(record.id, decider)
        assert record.status is APPROVED
        return
    with pytest.raises(NotTheDecider):
        await desk.host.approve(record.id, decider)
    with pytest.raises(PermissionError):
        await desk.host.deny(record.id, decider)
    assert record.status is PENDING
    assert desk.statuses() == ["pending"]


async def test_an_approval_names_what_was_shown() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    (view,) = desk.host.pending()
    with pytest.raises(WrongDigest):
        await desk.host.approve(record.id, ADA_HERSELF, digest="0" * 64)
    assert record.status is PENDING
    await desk.host.approve(record.id, ADA_HERSELF, digest=view.digest)
    seen = desk.host.get(record.id)
    assert seen is not None and (seen.status, seen.decided_by) == (APPROVED, "ada")


async def test_the_store_is_told_until_when_an_approval_may_be_spent_and_why_one_was_refused() -> None:
    desk = Desk()
    asked, denied = await desk.broker.ask(asking()), await desk.broker.ask(asking({"n": 1}))
    desk.clock.advance(10)
    await desk.host.approve(asked.id, ADA_HERSELF)
    await desk.host.deny(denied.id, ADA_HERSELF, "not\nnow")
    approval, refusal = await desk.store.get(asked.id), await desk.store.get(denied.id)
    assert approval is not None and refusal is not None
    assert (approval.spend_by, approval.reason) == ("2026-01-01T12:02:10+00:00", None)
    assert (refusal.spend_by, refusal.reason) == (None, "not now")
    assert asked.asked().details["expires_at"] == approval.spend_by


async def test_of_what_has_ended_the_store_is_asked_no_more() -> None:
    store = Counting()
    desk = Desk(store=store)
    record = await desk.approved()
    other = await desk.broker.ask(asking({"n": 1}))
    await desk.broker.withdraw(other.id, BOT.key)
    await desk.broker.spend(record)
    for happened in (Happened.DONE, Happened.DONE, Happened.NONE):
        await desk.broker.settled(record, happened)
    asked = ["pending-approved", "pending-cancelled", "approved-spent", "spent-spent"]
    assert store.asked == asked
    with pytest.raises(NotPending):
        await desk.host.approve(other.id, ADA_HERSELF)
    for ended in (record, other):
        await refused(desk.broker.spend(ended))
    assert store.asked == asked


async def test_waiting_for_a_moment_is_waiting_and_leaves_no_timer() -> None:
    clock = Timers()
    desk = Desk(clock=clock)
    record = await desk.broker.ask(asking())
    waiting = asyncio.ensure_future(desk.broker.decided(record.id, BOT.key, 0.5))
    await asyncio.sleep(0)
    assert not waiting.done() and clock.waiting == 2
    await desk.host.deny(record.id, ADA_HERSELF)
    assert await waiting is ConfirmationStatus.DENIED
    assert clock.waiting == 0


async def test_an_answer_after_the_end_changes_nothing_and_says_what_became_of_the_request() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    await desk.host.deny(record.id, ADA_HERSELF)
    with pytest.raises(NotPending) as caught:
        await desk.host.approve(record.id, ADA_HERSELF)
    assert caught.value.status is DENIED
    assert record.status is DENIED


async def test_of_many_answers_at_once_one_counts() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    approvals = [desk.host.approve(record.id, ADA_HERSELF) for _ in range(20)]
    denials = [desk.host.deny(record.id, ADA_HERSELF) for _ in range(20)]
    answers = await asyncio.gather(*approvals, *denials, return_exceptions=True)
    assert answers.count(None) == 1
    assert all(isinstance(answer, NotPending) for answer in answers if answer is not None)
    assert desk.statuses() == ["pending", record.status.value]


async def test_an_unknown_id_is_a_lookup_error_for_the_host() -> None:
    desk = Desk()
    for answer in (
        desk.host.approve("cnf_x", ADA_HERSELF),
        desk.host.deny("cnf_x", ADA_HERSELF),
        desk.host.wait("cnf_x"),
    ):
        with pytest.raises(UnknownRequest):
            await answer
    assert desk.host.get("cnf_x") is None


async def test_grants_are_checked_again_when_the_approval_is_spent() -> None:
    now: dict[str, Decider | None] = {"lead": LEAD}
    desk = Desk(options={"decider_now": lambda decider: now[decider.id]})
    ask = asking(approvers=("fleet-operator",))
    record = await desk.approved(ask, LEAD)
    for revoked in (None, Decider("lead", tenant="acme"), Decider("x", {"fleet-operator"}, tenant="acme")):
        now["lead"] = revoked
        error = await refused(desk.broker.spend(record))
        assert (error.code, error.details["reason"]) == (ErrorCode.CONFIRMATION_INVALID, "no-decider")
        assert record.status is APPROVED
    now["lead"] = LEAD
    await desk.broker.spend(record)
    assert record.status is ConfirmationStatus.SPENT


async def test_a_raising_subscriber_is_journalled_and_silences_nobody() -> None:
    desk = Desk(subscribed=False)

    def raises(view: ConfirmationView) -> None:
        raise ValueError("dialog")

    desk.host.subscribe(raises)
    desk.host.subscribe(desk.seen.append)
    await desk.approved()
    assert desk.statuses() == ["pending", "approved"]
    faults = [entry.cause for entry in desk.audit.entries() if entry.cause]
    assert len(faults) == 2 and "ValueError: dialog" in (faults[0] or "")


async def test_waiting_wakes_on_the_decision() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    waiting = asyncio.ensure_future(desk.host.wait(record.id))
    await asyncio.sleep(0)
    assert not waiting.done()
    await desk.host.approve(record.id, ADA_HERSELF)
    assert await waiting is APPROVED
    assert await desk.host.wait(record.id) is APPROVED


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def inline(decide: DecideFn, **options: object) -> Desk:
    return Desk(subscribed=False, options={"decide": decide, **options})


async def test_an_inline_decide_answers_in_its_own_task_inside_the_given_context() -> None:
    inside: contextvars.ContextVar[bool] = contextvars.ContextVar("inside", default=False)
    tasks: list[object] = []

    @contextmanager
    def enter() -> Iterator[None]:
        token = inside.set(True)
        tasks.append(asyncio.current_task())
        yield
        inside.reset(token)

    async def decide(view: ConfirmationView) -> Approved | Denied | None:
        assert inside.get()
        tasks.append(asyncio.current_task())
        return Approved(by=ADA_HERSELF)

    desk = inline(decide, enter=enter)
    assert desk.broker.has_channel
    record = await desk.broker.ask(asking())
    assert await desk.broker.decided(record.id, BOT.key, 10) is APPROVED
    assert tasks[0] is tasks[1] is not asyncio.current_task()
    assert not inside.get()


async def test_an_inline_denial_is_a_denial() -> None:
    async def decide(view: ConfirmationView) -> Denied:
        return Denied(by=ADA_HERSELF, reason="no")

    desk = inline(decide)
    record = await desk.broker.ask(asking())
    assert await desk.broker.decided(record.id, BOT.key, 10) is DENIED
    assert desk.audit.entries()[-1].why == "no"


async def test_an_inline_decide_that_raises_or_answers_nonsense_leaves_the_request_pending() -> None:
    async def raises(view: ConfirmationView) -> None:
        raise ValueError("dialog broke")

    async def nonsense(view: ConfirmationView) -> None:
        return True  # type: ignore[return-value]

    async def stranger(view: ConfirmationView) -> Approved:
        return Approved(by=Decider("eve", tenant="acme"))

    async def silent(view: ConfirmationView) -> None:
        return None

    for decide, cause in (
        (raises, "dialog broke"),
        (nonsense, "TypeError"),
        (stranger, "NotTheDecider"),
        (silent, None),
    ):
        desk = inline(decide)
        record = await desk.broker.ask(asking())
        await turns()
        assert record.status is PENDING
        faults = [entry.cause for entry in desk.audit.entries() if entry.cause]
        assert (cause in faults[0]) if cause is not None else not faults
        await desk.host.approve(record.id, ADA_HERSELF)
        assert record.status is APPROVED


async def test_a_hanging_inline_decide_blocks_nothing_and_is_cancelled_when_the_request_ends() -> None:
    ended: list[str] = []

    async def decide(view: ConfirmationView) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(view.id)
            raise

    desk = inline(decide)
    by_person = await desk.broker.ask(asking())
    by_time = await desk.broker.ask(asking({"n": 1}))
    by_unmount = await desk.broker.ask(asking({"n": 2}, registration="reg_2"))
    await turns()
    await desk.host.approve(by_person.id, ADA_HERSELF)
    desk.broker.end_registration("reg_2", CancelCause.UNMOUNTED)
    desk.clock.advance(120)
    await turns()
    assert sorted(ended) == sorted([by_person.id, by_unmount.id, by_time.id])
