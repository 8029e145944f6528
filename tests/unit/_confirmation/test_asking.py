"""Asking a person: one record an identical request, what refuses a new one, who hears of it (SPEC 7.1 to 7.3)."""

import json
from typing import Any

import pytest

from remit._base.limits import Limits
from remit._confirmation.moving import Place
from remit._model.consumer import Consumer, Principal
from remit._model.effects import Effect
from remit._model.event import EventType
from remit._model.request import Invocation
from remit._model.request_view import CancelCause, ConfirmationStatus
from remit.errors import ErrorCode, RetryAdvice
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationRow
from tests.behaviour.conftest import Timers
from tests.unit._confirmation.asking import ADA_HERSELF, BOT, OTHER, Desk, asking, describe, refused


async def test_a_decider_is_shown_the_exact_input_and_who_asks() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking(summary="2 devices in Milan", approvers=("fleet-operator",)))
    (view,) = desk.host.pending()
    assert view.id == record.id and view.id.startswith("cnf_")
    assert dict(view.input) == {"ids": ["a"], "reason": "old"}
    assert (view.capability, view.effect, view.title) == (
        "domain:devices.disable",
        Effect.DESTRUCTIVE,
        "Disable devices",
    )
    assert (view.bound, view.required, view.summary) == (("ids",), ("reason",), "2 devices in Milan")
    assert (view.consumer, view.consumer_kind, view.principal, view.tenant) == ("bot", "mcp", "ada", "acme")
    assert (view.status, view.approvers) == (ConfirmationStatus.PENDING, ("fleet-operator",))
    assert (view.decide_by - view.created_at).total_seconds() == 120
    assert desk.seen == [view]


async def test_what_one_viewer_does_to_the_shown_input_reaches_nobody() -> None:
    desk = Desk()
    await desk.broker.ask(asking())
    ids = desk.host.pending()[0].input["ids"]
    assert isinstance(ids, list)
    ids.append("b")
    with pytest.raises(TypeError):
        desk.host.pending()[0].input["ids"] = []  # type: ignore[index]
    assert desk.host.pending()[0].input["ids"] == ["a"]


async def test_the_agent_is_told_the_id_the_time_and_nothing_of_the_view() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking(summary="secret of the view"))
    error = record.asked()
    assert error.code is ErrorCode.CONFIRMATION_REQUIRED
    assert error.details == {
        "confirmation_id": record.id,
        "summary": "Disable the selected devices.",
        "expires_at": "2026-01-01T12:02:00+00:00",
        "effect": "destructive",
        "origin": "client",
    }


async def test_the_identical_request_while_pending_is_the_same_record() -> None:
    desk = Desk()
    first = await desk.broker.ask(asking())
    again = await desk.broker.ask(asking(invocation=Invocation("domain:devices.disable", id="inv_2")))
    assert again is first
    assert desk.statuses() == ["pending"]


async def test_an_approved_unspent_request_is_found_by_the_next_identical_call() -> None:
    desk = Desk()
    record = await desk.approved()
    assert await desk.broker.ask(asking()) is record
    assert record.status is ConfirmationStatus.APPROVED


@pytest.mark.parametrize(
    "changes",
    [
        {"input": {"ids": ["b"], "reason": "old"}},
        {"surface_id": "srf_2"},
        {"registration": "reg_2"},
        {"descriptor": describe("enable")},
        {"descriptor": describe(effect=Effect.SERVER_MUTATION)},
        {"contract_hash": "sha256:2"},
        {"consumer": OTHER},
        {"consumer": Consumer("bot", kind="embedded")},
        {"consumer": Consumer("bot", kind="mcp", grant="g")},
        {"principal": Principal("ada")},
        {"principal": Principal("bob", tenant="acme")},
    ],
)
async def test_a_call_that_differs_in_anything_bound_is_another_request(changes: dict[str, Any]) -> None:
    desk = Desk()
    record = await desk.approved()
    different = asking(changes.pop("input", None), **changes)
    error = await refused(desk.broker.check(record.id, different))
    assert (error.code, error.details["reason"]) == (ErrorCode.CONFIRMATION_INVALID, "mismatch")
    assert await desk.broker.ask(different) is not record


async def test_an_input_too_large_to_be_shown_creates_nothing() -> None:
    desk = Desk()
    error = await refused(desk.broker.ask(asking({"text": "x" * 8_192})))
    assert error.code is ErrorCode.INVALID_INPUT
    assert error.details["issues"] == [{"path": "", "message": "at most 8192 bytes can be confirmed by a person"}]
    assert desk.host.pending() == () and await desk.store.list() == []


async def test_a_ninth_request_of_one_consumer_and_a_third_of_a_small_surface_are_refused() -> None:
    desk = Desk()
    for number in range(8):
        await desk.broker.ask(asking({"n": number}))
        desk.clock.advance(2)
    desk.clock.advance(4)
    error = await refused(desk.broker.ask(asking({"n": 8})))
    assert (error.code, error.retry) == (ErrorCode.RATE_LIMITED, RetryAdvice.AFTER_DELAY)
    assert error.details == {"reason": "queue-full", "retry_after_ms": 100_000}
    await desk.broker.ask(asking({"n": 8}, consumer=OTHER))
    assert len(await desk.store.list()) == 9

    small = Desk(limits=Limits(confirmations_per_surface=2))
    for number, consumer in enumerate((BOT, OTHER)):
        await small.broker.ask(asking({"n": number}, consumer=consumer))
    third = Consumer("third", kind="mcp")
    assert (await refused(small.broker.ask(asking(consumer=third)))).details["reason"] == "queue-full"


async def test_a_denial_is_final_for_the_identical_request_for_ten_minutes() -> None:
    desk = Desk()
    record = await desk.broker.ask(asking())
    await desk.host.deny(record.id, ADA_HERSELF, "not now")
    for _ in range(2):
        error = await refused(desk.broker.ask(asking()))
        assert (error.code, error.details["reason"], error.retry) == (
            ErrorCode.CONFIRMATION_INVALID,
            "denied",
            RetryAdvice.NO,
        )
        assert "not now" not in str(error)
        desk.clock.advance(299)
    await desk.broker.ask(asking({"ids": ["b"]}))
    desk.clock.advance(3)
    assert (await desk.broker.ask(asking())).id != record.id


async def deny(desk: Desk, number: int, **changes: Any) -> None:
    record = await desk.broker.ask(asking({"n": number}, **changes))
    await desk.host.deny(record.id, ADA_HERSELF)


async def test_three_denials_in_ten_minutes_stop_the_asking_until_a_person_lifts_it() -> None:
    desk = Desk()
    desk.clock.advance(1_000)
    for number in range(3):
        await deny(desk, number)
        desk.clock.advance(300 if number < 2 else 0)  # the third exactly ten minutes after the first
    for _ in range(2):
        error = await refused(desk.broker.ask(asking({"n": 9})))
        assert (error.code, error.details["reason"]) == (ErrorCode.RATE_LIMITED, "denied-often")
        desk.clock.advance(3600)
    await desk.broker.ask(asking({"n": 9}, consumer=OTHER))
    await desk.broker.ask(asking({"n": 9}, descriptor=describe("enable")))
    desk.host.lift("domain:devices.enable", "bot")
    desk.host.lift("domain:devices.disable", OTHER.key)
    await refused(desk.broker.ask(asking({"n": 9})))
    desk.host.lift("domain:devices.disable", BOT.key)
    assert (await desk.broker.ask(asking({"n": 9}))).open


async def test_denials_that_lie_further_apart_stop_nothing() -> None:
    desk = Desk()
    for number in range(6):
        await deny(desk, number)
        desk.clock.advance(301)
    assert (await desk.broker.ask(asking({"n": 9}))).open


async def unanswered(desk: Desk, number: int) -> None:
    await desk.broker.ask(asking({"n": number}))
    desk.clock.advance(121)


async def test_three_unanswered_requests_in_a_row_stop_the_asking_until_a_person_acts() -> None:
    desk = Desk()
    for number in range(3):
        await unanswered(desk, number)
    error = await refused(desk.broker.ask(asking()))
    assert (error.code, error.details["reason"]) == (ErrorCode.RATE_LIMITED, "unanswered")
    await desk.approved(asking(consumer=OTHER))
    assert (await desk.broker.ask(asking())).open


async def test_lifting_lets_an_unanswered_consumer_ask_again() -> None:
    desk = Desk()
    for number in range(3):
        await unanswered(desk, number)
    desk.host.lift(consumer="other")
    await refused(desk.broker.ask(asking()))
    desk.host.lift()
    assert (await desk.broker.ask(asking())).open


async def test_an_answer_in_between_breaks_the_row_and_a_withdrawal_does_not_count() -> None:
    desk = Desk()
    await unanswered(desk, 0)
    await unanswered(desk, 1)
    withdrawn = await desk.broker.ask(asking({"n": 2}))
    assert await desk.broker.withdraw(withdrawn.id, BOT.key)
    await desk.approved(asking({"n": 3}))
    await unanswered(desk, 4)
    assert (await desk.broker.ask(asking({"n": 5}))).open


async def test_without_anybody_to_ask_a_request_is_refused_and_absence_is_no_approval() -> None:
    desk = Desk(subscribed=False)
    error = await refused(desk.broker.ask(asking()))
    assert (error.code, error.details["reason"]) == (ErrorCode.CONFIRMATION_INVALID, "no-decider")
    channels = [desk.broker.has_channel]
    detach = desk.host.attach_page()
    channels.append(desk.broker.has_channel)
    assert (await desk.broker.ask(asking())).open
    detach()
    detach()
    channels.append(desk.broker.has_channel)
    end = desk.host.subscribe(desk.seen.append)
    channels.append(desk.broker.has_channel)
    end()
    channels.append(desk.broker.has_channel)
    assert channels == [False, True, False, True, False]


async def test_every_change_is_an_event_of_the_consumer_and_an_entry_of_the_journal() -> None:
    desk = Desk()
    record = await desk.approved()
    await desk.broker.spend(record)
    told = [(event.type, event.data["status"], event.consumer) for event in desk.events]
    assert told == [
        (EventType.CONFIRMATION_REQUESTED, "pending", BOT.key),
        (EventType.CONFIRMATION_RESOLVED, "approved", BOT.key),
        (EventType.CONFIRMATION_RESOLVED, "spent", BOT.key),
    ]
    assert desk.statuses() == ["pending", "approved", "spent"]
    entries = desk.audit.entries()
    assert [(entry.status, entry.decider) for entry in entries] == [
        ("pending", None),
        ("approved", "ada"),
        ("spent", "ada"),
    ]
    assert {entry.confirmation for entry in entries} == {record.id}
    assert "'ids'" not in str([event.data for event in desk.events])


class Down(MemoryStore):
    """A store that takes nothing while it is down."""

    down = True

    async def put(self, row: ConfirmationRow) -> None:
        if self.down:
            raise ConnectionError("store down")
        await super().put(row)


async def test_a_store_that_is_down_creates_nothing_and_the_next_try_asks_anew() -> None:
    store = Down()
    desk = Desk(store=store)
    with pytest.raises(ConnectionError):
        await desk.broker.ask(asking())
    assert desk.host.pending() == () and desk.events == [] and desk.seen == []
    store.down = False
    assert (await desk.broker.ask(asking())).open
    assert desk.statuses() == ["pending"]


async def test_who_is_refused_for_a_full_desk_waits_at_least_a_moment() -> None:
    desk = Desk(limits=Limits(confirmations_per_surface=1))
    await desk.broker.ask(asking())
    desk.clock.advance(119.9999)
    error = await refused(desk.broker.ask(asking({"n": 1})))
    assert error.details == {"reason": "queue-full", "retry_after_ms": 1}


async def test_how_long_a_restrained_consumer_waits_is_told_by_what_restrains_it() -> None:
    desk = Desk()
    for number in range(3):
        record = await desk.broker.ask(asking({"n": number}))
        await desk.host.deny(record.id, ADA_HERSELF)
    denied = await refused(desk.broker.ask(asking({"n": 9})))
    assert denied.details == {"reason": "denied-often", "retry_after_ms": 600_000}
    for number in range(3):
        await desk.broker.ask(asking({"n": number}, consumer=OTHER))
        desk.clock.advance(120)
    unanswered = await refused(desk.broker.ask(asking({"n": 9}, consumer=OTHER)))
    assert unanswered.details == {"reason": "unanswered", "retry_after_ms": 120_000}


async def test_a_page_that_leaves_twice_takes_no_other_page_along() -> None:
    desk = Desk(subscribed=False)
    leave, _ = desk.host.attach_page(), desk.host.attach_page()
    leave()
    leave()
    assert desk.broker.has_channel


async def test_what_an_approval_is_bound_to_has_its_name_in_the_form_that_is_kept() -> None:
    record = await Desk().broker.ask(asking())
    assert json.loads(record.form) == {
        "surface": "srf_1",
        "registration": "reg_1",
        "capability": "domain:devices.disable",
        "contract": "sha256:1",
        "consumer": list(json.loads(json.dumps(BOT.key))),
        "principal": ["acme", "ada"],
        "input": {"ids": ["a"], "reason": "old"},
        "effect": "destructive",
    }


async def test_nothing_is_held_of_requests_that_have_ended_but_the_latest_records() -> None:
    clock = Timers()
    desk = Desk(clock=clock)
    asked = [await desk.broker.ask(asking({"n": number})) for number in range(3)]
    await desk.host.deny(asked[0].id, ADA_HERSELF)
    await desk.broker.withdraw(asked[1].id, BOT.key)
    place = Place("devices.table", "default", b"1")
    desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED, place)
    assert (len(desk.broker._desk._open), len(desk.broker.moving._left), clock.waiting) == (1, 1, 2)
    clock.advance(Limits().gap_s)
    assert (len(desk.broker._desk._open), len(desk.broker.moving._left), clock.waiting) == (0, 0, 0)
    assert asked[2].cause is CancelCause.UNMOUNTED and not asked[2].homeless
    await desk.broker.ask(asking({"n": 4}))
    desk.broker.end_registration("reg_1", CancelCause.UNMOUNTED)
    assert clock.waiting == 0
