"""What a confirmation request is, who is asked, and how often (SPEC 7.1 to 7.3, 7.5, 7.8)."""

import asyncio
from typing import Any, cast

import pytest

from remit import (
    Approved,
    CancelCause,
    Component,
    ConfirmationView,
    Consumer,
    Decider,
    Denied,
    Invocation,
    Limits,
    ManualClock,
    Ok,
    Procedures,
    Surface,
    action,
    reference,
)
from remit._model.shown_input import fields_of
from remit.policies import Policy, RequireConfirmation, ReviewContext, require_confirmation
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Table(Component, type="table"):
    """A table."""

    def __init__(self) -> None:
        self.ran: list[int] = []

    @action(confirmation="required", title="Delete rows")
    def delete(self, count: int, why: str = "") -> int:
        """Delete some rows."""
        self.ran.append(count)
        return count

    @delete.summary
    def _(self) -> str:
        return f"{len(self.ran)} were deleted before"

    @action(confirmation="required")
    def clear(self) -> None:
        """Clear."""
        self.ran.append(-1)


def surface_of(clock: ManualClock | None = None, **more: Any) -> tuple[Surface, Table]:
    """A surface with a channel and one table."""
    surface = Surface(authority_of(Table), principal="operator", clock=clock, **more)
    surface.confirmations.subscribe(lambda view: None)
    table = Table()
    surface.mount(table)
    return surface, table


async def ask(surface: Surface, count: int = 1, consumer: Consumer = AGENT, **more: Any) -> str:
    """Call, and return the id of the request that was made or found."""
    outcome = await surface.connect(consumer).call(Table.delete, {"count": count}, **more)
    return str(failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"])


def status(surface: Surface, id: str) -> str:
    view = surface.confirmations.get(id)
    assert view is not None
    return view.status.value


@pytest.mark.requirement("7.2-what-a-request-carries")
async def test_a_request_carries_the_exact_effective_input_and_who_asks() -> None:
    surface, _ = surface_of(ManualClock())
    id = await ask(surface, 3)
    (view,) = surface.confirmations.pending()
    assert (view.id, view.capability, view.effect, view.status) == (id, "view:table.delete", "local-state", "pending")
    assert dict(view.input) == {"count": 3, "why": ""}
    assert (view.title, view.description, view.summary) == (
        "Delete rows",
        "Delete some rows.",
        "0 were deleted before",
    )
    assert (view.consumer, view.consumer_kind, view.principal) == ("agent", "test", "operator")
    assert view.required == ("count",)
    assert (view.decide_by - view.created_at).total_seconds() == 120


@pytest.mark.requirement("7.2-required-and-changed-fields-first")
async def test_required_fields_are_shown_first_then_what_is_not_at_its_default() -> None:
    class Form(Component, type="form"):
        """A form."""

        @action(confirmation="required")
        def send(self, zone: str, area: str = "all", mode: str = "dry", when: str = "now") -> None:
            """Send."""

    surface = Surface(authority_of(Form), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Form())
    failed(await surface.connect(AGENT).call(Form.send, {"mode": "wet", "zone": "z", "when": "now"}))
    (view,) = surface.confirmations.pending()
    assert (view.required, view.changed) == (("zone",), ("mode", "zone"))
    assert [field.path for field in fields_of(view)] == ["zone", "mode", "area", "when"]


@pytest.mark.requirement("7.2-the-agents-copy")
async def test_the_agents_copy_holds_the_description_and_nothing_of_the_view() -> None:
    surface, table = surface_of(ManualClock(), policies=[require_confirmation(summary="secret-4711 of a policy")])
    table.ran.append(4711)
    error = failed(await surface.connect(AGENT).call(Table.delete, {"count": 3}), "CONFIRMATION_REQUIRED")
    assert error.details == {
        "confirmation_id": surface.confirmations.pending()[0].id,
        "summary": "Delete some rows.",
        "expires_at": "2026-01-01T12:02:00+00:00",
        "effect": "local-state",
        "origin": "client",
    }
    assert error.retry == "with-confirmation"


@pytest.mark.requirement("7.1-bound-to-everything")
async def test_an_approval_covers_the_exact_call_and_no_other() -> None:
    surface, table = surface_of()
    id = await ask(surface, 1)
    await surface.confirmations.approve(id, OPERATOR)
    agent = surface.connect(AGENT)
    for other in (
        agent.call(Table.delete, {"count": 2}, confirmation=id),
        agent.call(Table.delete, {"count": 1, "why": "x"}, confirmation=id),
        agent.call(Table.clear, confirmation=id),
        surface.connect(Consumer("other", kind="test")).call(Table.delete, {"count": 1}, confirmation=id),
    ):
        assert failed(await other, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    assert table.ran == [] and status(surface, id) == "approved"
    assert output(await agent.call(Table.delete, {"count": 1, "why": ""}, confirmation=id)) == 1
    assert table.ran == [1]


@pytest.mark.requirement("7.1-bound-to-the-registration")
async def test_an_approval_does_not_cover_another_registration_or_surface() -> None:
    authority = authority_of(Table)
    one, other = (Surface(authority, principal="operator") for _ in range(2))
    for surface in (one, other):
        surface.confirmations.subscribe(lambda view: None)
        surface.mount(Table(), "a")
        surface.mount(Table(), "b")
    id = await ask(one, 1, instance="a")
    await one.confirmations.approve(id, OPERATOR)
    for surface, instance in ((one, "b"), (other, "a")):
        outcome = await surface.connect(AGENT).call(Table.delete, {"count": 1}, instance=instance, confirmation=id)
        assert failed(outcome, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    output(await one.connect(AGENT).call(Table.delete, {"count": 1}, instance="a", confirmation=id))


@pytest.mark.requirement("7.1-bound-to-bound-values")
async def test_an_approval_does_not_cover_other_values_of_the_view() -> None:
    backend = Procedures()
    disabled: list[list[str]] = []

    @backend.operation("devices.disable", effect="destructive")
    async def disable(ids: list[str]) -> int:
        """Disable."""
        disabled.append(ids)
        return len(ids)

    class Devices(Component, type="devices"):
        """Devices."""

        def __init__(self) -> None:
            self.selected = ["d1"]

        disable = reference("domain:devices.disable")

        @disable.bind("ids")
        def _(self) -> list[str]:
            return self.selected

    surface = Surface(authority_of(Devices, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    devices = Devices()
    surface.mount(devices)
    agent = surface.connect(AGENT)
    id = str(failed(await agent.call("domain:devices.disable")).details["confirmation_id"])
    assert dict(surface.confirmations.pending()[0].input) == {"ids": ["d1"]}
    await surface.confirmations.approve(id, OPERATOR)
    devices.selected = ["d1", "d2"]
    outcome = await agent.call("domain:devices.disable", confirmation=id)
    assert failed(outcome, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    assert disabled == []
    devices.selected = ["d1"]
    output(await agent.call("domain:devices.disable", confirmation=id))
    assert disabled == [["d1"]]


@pytest.mark.requirement("7.3-the-same-request")
async def test_the_same_request_while_pending_returns_the_same_record() -> None:
    surface, _ = surface_of()
    shown: list[ConfirmationView] = []
    surface.confirmations.subscribe(shown.append)
    ids = {await ask(surface, 1) for _ in range(3)}
    concurrently = await asyncio.gather(*(ask(surface, 1, id=f"i{n}") for n in range(5)))
    assert {*ids, *concurrently} == {shown[0].id} and len(shown) == 1
    assert await ask(surface, 2) not in ids
    assert await ask(surface, 1, Consumer("other", kind="test")) not in ids


@pytest.mark.requirement("7.3-approved-while-nobody-waited")
async def test_an_approval_given_while_nobody_waited_is_spent_by_the_next_identical_call_without_evidence() -> None:
    surface, table = surface_of()
    id = await ask(surface, 1)
    await surface.confirmations.approve(id, OPERATOR)
    stranger = surface.connect(Consumer("other", kind="test"))
    failed(await stranger.call(Table.delete, {"count": 1}), "CONFIRMATION_REQUIRED")
    assert output(await surface.connect(AGENT).call(Table.delete, {"count": 1})) == 1
    assert status(surface, id) == "spent"
    assert await ask(surface, 1) != id
    assert table.ran == [1]


@pytest.mark.requirement("7.3-limits-of-pending")
async def test_at_most_8_per_consumer_and_32_per_surface_may_be_pending() -> None:
    surface, _ = surface_of()
    for who in "abcd":
        consumer = Consumer(who, kind="test")
        for count in range(8):
            await ask(surface, count, consumer)
        if who == "a":
            outcome = await surface.connect(consumer).call(Table.delete, {"count": 99})
            assert failed(outcome, "RATE_LIMITED").details["reason"] == "queue-full"
            await ask(surface, 0, consumer)
    assert len(surface.confirmations.pending()) == 32
    outcome = await surface.connect(Consumer("e", kind="test")).call(Table.delete, {"count": 1})
    assert failed(outcome, "RATE_LIMITED").details["reason"] == "queue-full"
    assert len(surface.confirmations.pending()) == 32
    await surface.confirmations.deny(surface.confirmations.pending()[0].id, OPERATOR)
    await ask(surface, 1, Consumer("e", kind="test"))


@pytest.mark.requirement("7.3-denied-often")
async def test_after_3_denials_of_one_capability_in_10_minutes_a_person_must_lift_it() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    for count in range(3):
        await surface.confirmations.deny(await ask(surface, count), OPERATOR)
    error = failed(await surface.connect(AGENT).call(Table.delete, {"count": 9}), "RATE_LIMITED")
    assert error.details["reason"] == "denied-often"
    failed(await surface.connect(AGENT).call(Table.clear), "CONFIRMATION_REQUIRED")
    await ask(surface, 9, Consumer("other", kind="test"))
    clock.advance(3_600)
    error = failed(await surface.connect(AGENT).call(Table.delete, {"count": 9}), "RATE_LIMITED")
    assert error.details["reason"] == "denied-often"
    surface.confirmations.lift("view:table.delete", "agent")
    await ask(surface, 9)


@pytest.mark.requirement("7.3-denied-often")
async def test_denials_further_apart_than_10_minutes_do_not_add_up() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    for count in range(6):
        await surface.confirmations.deny(await ask(surface, count), OPERATOR)
        clock.advance(301)
    await ask(surface, 9)


@pytest.mark.requirement("7.3-unanswered")
async def test_after_3_requests_in_a_row_without_an_answer_a_person_must_act() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    for count in range(3):
        await ask(surface, count)
        clock.advance(121)
    error = failed(await surface.connect(AGENT).call(Table.clear), "RATE_LIMITED")
    assert error.details["reason"] == "unanswered"
    other = await ask(surface, 1, Consumer("other", kind="test"))
    await surface.confirmations.approve(other, OPERATOR)
    await ask(surface, 9)


@pytest.mark.requirement("7.3-unanswered")
async def test_an_answer_between_breaks_the_row() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    for round_ in range(3):
        for count in range(2):
            await ask(surface, 10 * round_ + count)
            clock.advance(121)
        await surface.confirmations.approve(await ask(surface, 10 * round_ + 5), OPERATOR)


@pytest.mark.requirement("7.5-a-denial-is-final")
async def test_a_denial_is_final_for_the_identical_request_for_10_minutes() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    id = await ask(surface, 1)
    await surface.confirmations.deny(id, OPERATOR, "secret-4711")
    agent = surface.connect(AGENT)
    for confirmation in (None, id):
        error = failed(await agent.call(Table.delete, {"count": 1}, confirmation=confirmation), "CONFIRMATION_INVALID")
        assert error.details == {"reason": "denied"} and error.retry == "no"
    await ask(surface, 2)
    clock.advance(599)
    failed(await agent.call(Table.delete, {"count": 1}), "CONFIRMATION_INVALID")
    clock.advance(2)
    assert await ask(surface, 1) != id
    assert any("secret-4711" in (entry.why or "") for entry in surface.audit())


@pytest.mark.requirement("7.2-too-large-to-confirm")
async def test_an_input_over_8192_bytes_cannot_be_confirmed_and_nothing_is_created() -> None:
    surface, _ = surface_of()
    agent = surface.connect(AGENT)
    overhead = len('{"count":1,"why":""}')
    error = failed(await agent.call(Table.delete, {"count": 1, "why": "x" * (8_193 - overhead)}), "INVALID_INPUT")
    assert "8192" in str(error.details["issues"])
    assert surface.confirmations.pending() == ()
    fits = await agent.call(Table.delete, {"count": 1, "why": "x" * (8_192 - overhead)})
    failed(fits, "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("7.2-times")
async def test_120_s_to_decide_then_an_own_window_of_120_s_to_spend() -> None:
    clock = ManualClock()
    surface, table = surface_of(clock)
    expired = await ask(surface, 1)
    clock.advance(119)
    assert status(surface, expired) == "pending"
    clock.advance(1)
    assert status(surface, expired) == "expired"
    with pytest.raises(RuntimeError):
        await surface.confirmations.approve(expired, OPERATOR)
    id = await ask(surface, 2)
    clock.advance(100)
    await surface.confirmations.approve(id, OPERATOR)
    clock.advance(119)
    assert status(surface, id) == "approved"
    clock.advance(1)
    outcome = await surface.connect(AGENT).call(Table.delete, {"count": 2}, confirmation=id)
    assert failed(outcome, "CONFIRMATION_INVALID").details == {"reason": "expired"}
    assert table.ran == []


@pytest.mark.requirement("7.2-times-are-settable")
async def test_both_times_are_settable_and_a_capability_may_set_its_own_spend_time() -> None:
    class Own(Component, type="own"):
        """Own."""

        @action(confirmation="required", spend_time=5)
        def go(self) -> None:
            """Go."""

        @action(confirmation="required", spend_time=90)
        def stay(self) -> None:
            """Stay."""

    clock = ManualClock()
    limits = Limits(decide_s=30, spend_s=60)
    surface = Surface(authority_of(Table, Own), principal="operator", clock=clock, limits=limits)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    surface.mount(Own())
    late = await ask(surface, 1)
    clock.advance(30)
    assert status(surface, late) == "expired"
    id = await ask(surface, 2)
    own = str(failed(await surface.connect(AGENT).call(Own.go)).details["confirmation_id"])
    longer = str(failed(await surface.connect(AGENT).call(Own.stay)).details["confirmation_id"])
    for each in (id, own, longer):
        await surface.confirmations.approve(each, OPERATOR)
    clock.advance(5)
    assert (status(surface, id), status(surface, own)) == ("approved", "expired")
    clock.advance(55)
    assert (status(surface, id), status(surface, longer)) == ("expired", "approved")
    clock.advance(30)
    assert status(surface, longer) == "expired"


@pytest.mark.requirement("7.8-nobody-can-confirm")
async def test_without_a_channel_a_declared_confirmation_is_unavailable_nobody_can_confirm() -> None:
    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert {(listed.available, listed.reason) for listed in agent.capabilities()} == {(False, "nobody can confirm")}
    error = failed(await agent.call(Table.clear), "CAPABILITY_NOT_AVAILABLE")
    assert error.details == {"reason": "nobody can confirm"}
    end = surface.confirmations.subscribe(lambda view: None)
    assert all(listed.available for listed in agent.capabilities())
    failed(await agent.call(Table.clear), "CONFIRMATION_REQUIRED")
    end()
    failed(await agent.call(Table.clear), "CAPABILITY_NOT_AVAILABLE")
    detach = surface.confirmations.attach_page()
    failed(await agent.call(Table.clear), "CONFIRMATION_REQUIRED")
    detach()
    failed(await agent.call(Table.clear), "CAPABILITY_NOT_AVAILABLE")


@pytest.mark.requirement("7.8-escalated-with-nobody")
async def test_what_review_escalates_with_nobody_to_ask_is_no_decider() -> None:
    class Plain(Component, type="plain"):
        """Plain."""

        @action
        def put(self) -> None:
            """Put."""
            raise AssertionError("nobody approved this")

    class Ask(Policy, name="ask"):
        async def review(self, ctx: ReviewContext) -> RequireConfirmation:
            return RequireConfirmation()

    surface = Surface(authority_of(Plain), principal="operator", policies=[Ask()])
    surface.mount(Plain())
    agent = surface.connect(AGENT)
    error = failed(await agent.call(Plain.put), "CONFIRMATION_INVALID")
    assert error.details == {"reason": "no-decider"} and error.retry == "no"
    leaves = surface.confirmations.subscribe(lambda view: None)
    failed(await agent.call(Plain.put), "CONFIRMATION_REQUIRED")
    leaves()
    assert failed(await agent.call(Plain.put), "CONFIRMATION_INVALID").details == {"reason": "no-decider"}


@pytest.mark.requirement("7.8-escalated-with-nobody")
async def test_an_approval_counts_although_nobody_could_be_asked_any_more() -> None:
    class Plain(Component, type="plain"):
        """Plain."""

        @action
        def put(self) -> int:
            """Put."""
            return 1

    surface = Surface(authority_of(Plain), principal="operator", policies=[require_confirmation()])
    surface.mount(Plain())
    agent = surface.connect(AGENT)
    leaves = surface.confirmations.subscribe(lambda view: None)
    asked = str(failed(await agent.call(Plain.put), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    leaves()
    assert output(await agent.call(Plain.put, confirmation=asked)) == 1


@pytest.mark.requirement("7.2-what-a-request-carries")
@pytest.mark.parametrize("answer", [None, RuntimeError("secret-4711")])
async def test_a_summary_that_says_nothing_or_raises_is_none(answer: RuntimeError | None) -> None:
    class Plain(Component, type="plain"):
        """Plain."""

        @action(confirmation="required")
        def put(self) -> None:
            """Put."""

        @put.summary
        def _(self) -> str:
            if answer is not None:
                raise answer
            return cast(str, None)

    surface = Surface(authority_of(Plain), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Plain())
    failed(await surface.connect(AGENT).call(Plain.put), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    assert view.summary is None


@pytest.mark.requirement("7.8-absence-is-never-approval")
async def test_a_decide_that_answers_nothing_or_raises_leaves_the_request_pending() -> None:
    answers: list[Any] = [None, "yes", True, RuntimeError("secret-4711"), Approved(by=Decider("somebody else"))]

    async def decide(view: ConfirmationView) -> Any:
        answer = answers[len(asked)]
        asked.append(view.id)
        if isinstance(answer, Exception):
            raise answer
        return answer

    asked: list[str] = []
    surface = Surface(authority_of(Table), principal="operator", decide=decide)
    table = Table()
    surface.mount(table)
    for number in range(len(answers)):
        id = await ask(surface, number)
        await turns()
        assert status(surface, id) == "pending"
        failed(await surface.connect(AGENT).call(Table.delete, {"count": number}), "CONFIRMATION_REQUIRED")
    assert table.ran == [] and len(asked) == len(answers)
    assert any("secret-4711" in (entry.cause or "") for entry in surface.audit())


@pytest.mark.requirement("7.4-inline-decide")
async def test_an_inline_decide_approves_or_denies_the_exact_request() -> None:
    async def decide(view: ConfirmationView) -> Approved | Denied:
        return Approved(by=OPERATOR) if view.input["count"] == 1 else Denied(by=OPERATOR, reason="Too many")

    surface = Surface(authority_of(Table), principal="operator", decide=decide)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    id = await ask(surface, 1)
    assert await surface.decided(id, AGENT, timeout=5) == "approved"
    assert output(await agent.call(Table.delete, {"count": 1}, confirmation=id)) == 1
    id = await ask(surface, 2)
    assert await surface.confirmations.wait(id) == "denied"
    failed(await agent.call(Table.delete, {"count": 2}, confirmation=id), "CONFIRMATION_INVALID")


@pytest.mark.requirement("7.5-withdraw")
async def test_the_requester_may_withdraw_its_pending_request_which_is_no_denial() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    for _ in range(5):
        id = await ask(surface, 1)
        assert await surface.withdraw(id, Consumer("other", kind="test")) is False
        assert status(surface, id) == "pending"
        assert await surface.withdraw(id, AGENT) is True
        assert await surface.withdraw(id, AGENT) is False
        error = failed(
            await surface.connect(AGENT).call(Table.delete, {"count": 1}, confirmation=id), "CONFIRMATION_INVALID"
        )
        assert error.details == {"reason": "cancelled", "cause": "withdrawn"}
    id = await ask(surface, 1)
    await surface.confirmations.approve(id, OPERATOR)
    assert await surface.withdraw(id, AGENT) is False
    assert await surface.withdraw("cnf_made_up", AGENT) is False


@pytest.mark.requirement("7.5-only-an-end-ends-it")
async def test_a_cancelled_or_timed_out_wait_never_ends_the_request() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    id = await ask(surface, 1)
    waiting = asyncio.create_task(surface.decided(id, AGENT, timeout=20))
    abandoned = asyncio.create_task(surface.decided(id, AGENT, timeout=20))
    await turns()
    abandoned.cancel()
    clock.advance(20)
    assert await waiting == "pending"
    assert status(surface, id) == "pending"
    later = asyncio.create_task(surface.decided(id, AGENT, timeout=20))
    await turns()
    await surface.confirmations.approve(id, OPERATOR)
    assert await later == "approved"
    assert await surface.decided(id, Consumer("other", kind="test"), timeout=0) is None
    assert await surface.decided("cnf_made_up", AGENT, timeout=0) is None


@pytest.mark.requirement("8.1-cancel-causes")
@pytest.mark.parametrize("cause", list(CancelCause))
async def test_a_cancelled_request_says_its_cause(cause: CancelCause) -> None:
    surface = Surface(authority_of(Table), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    mount = surface.mount(Table())
    id = await ask(surface, 1)
    if cause is CancelCause.WITHDRAWN:
        await surface.withdraw(id, AGENT)
    else:
        mount.unmount(cause)
        surface.mount(Table())
    outcome = await surface.connect(AGENT).call(Table.delete, {"count": 1}, confirmation=id)
    assert failed(outcome, "CONFIRMATION_INVALID").details == {"reason": "cancelled", "cause": cause.value}
    view = surface.confirmations.get(id)
    assert view is not None and view.cause is cause
    assert failed(await surface.continue_(id, AGENT), "CONFIRMATION_INVALID").details["reason"] == "cancelled"
    assert isinstance(await surface.invoke(Invocation("view:table.madeUp", confirmation=id), AGENT), Ok) is False
