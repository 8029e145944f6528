"""Approving for the session: what a standing approval covers, and what ends it (SPEC 7.9)."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from remit import (
    Approved,
    Component,
    ConfirmationView,
    Consumer,
    Context,
    Decider,
    DefinitionError,
    Invocation,
    Limits,
    ManualClock,
    Ok,
    Principal,
    Procedures,
    StandingApproval,
    Surface,
    action,
    reference,
)
from remit.policies import Policy, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns

LEAD = Decider("lead", {"fleet"})
backend = Procedures()


@backend.operation("orders.note", effect="server-mutation", confirmation="required")
async def add_note(order: str, note: str, caller: Principal) -> str:
    """Add a note to an order."""
    return f"{order}: {note}"


class Orders(Component, type="orders"):
    """The orders of a page."""

    def __init__(self) -> None:
        self.order = "o1"
        self.ran: list[tuple[object, ...]] = []
        self.evidence: list[str | None] = []
        self.gate: asyncio.Event | None = None

    @action(confirmation="required", may_vary=("note",))
    def annotate(self, context: Context, row: int, note: str = "", loud: bool = False) -> int:
        """Write a note at a row."""
        self.ran.append((row, note, loud))
        self.evidence.append(context.evidence)
        return row

    @action(confirmation="required", approver="fleet")
    async def move(self, to: int) -> int:
        """Move to a place."""
        if self.gate is not None:
            await self.gate.wait()
        self.ran.append((to,))
        return to

    @action(confirmation="always")
    def wipe(self) -> None:
        """Wipe."""

    @action(confirmation="optional")
    def tidy(self) -> None:
        """Tidy."""

    note = reference("domain:orders.note", may_vary=("note",))

    @note.bind("order")
    def _(self) -> str:
        return self.order


class Wary(Policy, name="wary"):
    """Asks whatever is asked."""

    async def review(self, ctx: ReviewContext) -> RequireConfirmation:
        return RequireConfirmation()


def surface_of(clock: ManualClock | None = None, **more: Any) -> tuple[Surface, Orders]:
    given: dict[str, Any] = {"principal": "operator", "procedures": backend, **more}
    surface = Surface(authority_of(Orders, procedures=backend), clock=clock or ManualClock(), **given)
    surface.confirmations.subscribe(lambda view: None)
    orders = Orders()
    surface.mount(orders)
    return surface, orders


async def asked(surface: Surface, capability: Any, input: Mapping[str, object] | None = None) -> ConfirmationView:
    """The view of the request that a call of the agent makes."""
    error = failed(await surface.connect(AGENT).call(capability, input), "CONFIRMATION_REQUIRED")
    view = surface.confirmations.get(str(error.details["confirmation_id"]))
    assert view is not None
    return view


async def given(
    surface: Surface,
    capability: Any,
    input: Mapping[str, object] | None = None,
    free: Collection[str] = (),
    by: Decider = OPERATOR,
) -> StandingApproval:
    """A standing approval, given on a call that has run."""
    view = await asked(surface, capability, input)
    await surface.confirmations.approve(view.id, by, digest=view.digest, standing=free)
    output(await surface.connect(AGENT).call(capability, input, confirmation=view.id))
    return surface.confirmations.standing()[-1]


def journal(surface: Surface) -> list[tuple[str | None, str | None]]:
    return [(entry.status, entry.why) for entry in surface.audit() if entry.type == "standing"]


@pytest.mark.requirement("7.9-for-the-session")
async def test_a_person_approves_for_the_session_and_is_not_asked_again() -> None:
    surface, orders = surface_of()
    agent = surface.connect(AGENT)
    standing = await given(surface, Orders.annotate, {"row": 1, "note": "a"}, ["note"])
    assert output(await agent.call(Orders.annotate, {"row": 1, "note": "b"})) == 1
    assert output(await agent.call(Orders.annotate, {"row": 1})) == 1
    assert orders.ran == [(1, "a", False), (1, "b", False), (1, "", False)]
    assert orders.evidence == [standing.confirmation, standing.id, standing.id]
    assert surface.confirmations.pending() == ()


@pytest.mark.requirement("7.9-for-the-session")
async def test_approving_once_is_approving_once() -> None:
    surface, _ = surface_of()
    view = await asked(surface, Orders.annotate, {"row": 1})
    await surface.confirmations.approve(view.id, OPERATOR)
    output(await surface.connect(AGENT).call(Orders.annotate, {"row": 1}, confirmation=view.id))
    assert surface.confirmations.standing() == ()
    await asked(surface, Orders.annotate, {"row": 1})


@pytest.mark.requirement("7.9-for-the-session")
async def test_an_inline_decide_may_approve_for_the_session() -> None:
    async def decide(request: ConfirmationView) -> Approved:
        return Approved(by=OPERATOR, standing=["note"])

    surface, orders = surface_of(decide=decide)
    await asked(surface, Orders.annotate, {"row": 1})
    await turns()
    agent = surface.connect(AGENT)
    for note in ("", "b"):
        output(await agent.call(Orders.annotate, {"row": 1, "note": note}))
    (standing,) = surface.confirmations.standing()
    assert standing.uses_left == 9 and len(orders.ran) == 2


@pytest.mark.requirement("7.9-pinned")
async def test_it_pins_every_value_that_the_person_did_not_free() -> None:
    surface, _ = surface_of()
    await given(surface, Orders.annotate, {"row": 1, "note": "a"}, ["note"])
    for other in ({"row": 2}, {"row": 1, "loud": True}, {"row": 2, "note": "a"}):
        await asked(surface, Orders.annotate, other)
    await given(surface, Orders.annotate, {"row": 5, "note": "a"})
    await asked(surface, Orders.annotate, {"row": 5, "note": "b"})
    output(await surface.connect(AGENT).call(Orders.annotate, {"row": 5, "note": "a"}))


@pytest.mark.requirement("7.9-pinned")
async def test_it_pins_the_consumer_and_the_capability() -> None:
    surface, _ = surface_of()
    await given(surface, Orders.annotate, {"row": 1})
    await given(surface, Orders.move, {"to": 1}, by=LEAD)
    other = surface.connect(Consumer("other", kind="test"))
    failed(await other.call(Orders.annotate, {"row": 1}), "CONFIRMATION_REQUIRED")
    failed(await other.call(Orders.move, {"to": 1}), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("7.9-pinned")
async def test_it_pins_the_instance_and_the_surface() -> None:
    surface, _ = surface_of()
    second, third = Orders(), Orders()
    surface.mount(second, "two")
    elsewhere, _ = surface_of()
    call = {"row": 1}
    for instance in ("default", "two"):
        outcome = await surface.connect(AGENT).call(Orders.annotate, call, instance=instance)
        failed(outcome, "CONFIRMATION_REQUIRED")
    (first, _) = surface.confirmations.pending()
    await surface.confirmations.approve(first.id, OPERATOR, standing=())
    agent = surface.connect(AGENT)
    for _ in range(2):
        output(await agent.call(Orders.annotate, call, instance="default"))
    failed(await agent.call(Orders.annotate, call, instance="two"), "CONFIRMATION_REQUIRED")
    await asked(elsewhere, Orders.annotate, call)
    assert second.ran == third.ran == []


@pytest.mark.requirement("7.9-pins-bound-values")
async def test_it_pins_what_the_view_filled_to_the_value_of_that_call() -> None:
    surface, orders = surface_of()
    agent = surface.connect(AGENT)
    await given(surface, Orders.note, {"note": "a"}, ["note"])
    assert output(await agent.call(Orders.note, {"note": "b"})) == "o1: b"
    orders.order = "o2"
    view = await asked(surface, Orders.note, {"note": "b"})
    assert dict(view.input) == {"order": "o2", "note": "b"}
    orders.order = "o1"
    assert output(await agent.call(Orders.note, {"note": "c"})) == "o1: c"


@pytest.mark.requirement("7.9-what-may-vary")
async def test_the_person_frees_only_what_the_author_marked_and_is_shown_its_schema() -> None:
    surface, _ = surface_of()
    view = await asked(surface, Orders.annotate, {"row": 1, "note": "a"})
    assert view.standing is not None
    assert view.standing.may_vary == {"note": {"type": "string", "default": ""}}
    assert (view.standing.seconds, view.standing.uses) == (900, 10)
    for free in (["row"], ["note", "loud"], ["no such field"]):
        with pytest.raises(ValueError, match="may vary"):
            await surface.confirmations.approve(view.id, OPERATOR, standing=free)
    with pytest.raises(TypeError, match="collection"):
        await surface.confirmations.approve(view.id, OPERATOR, standing="note")
    assert surface.confirmations.standing() == () and surface.confirmations.pending() == (view,)
    unmarked = await asked(surface, Orders.move, {"to": 1})
    assert unmarked.standing is not None and unmarked.standing.may_vary == {}


@pytest.mark.requirement("7.9-what-may-vary")
async def test_a_freed_field_stays_within_its_schema() -> None:
    surface, _ = surface_of()
    await given(surface, Orders.annotate, {"row": 1, "note": "a"}, ["note"])
    failed(await surface.connect(AGENT).call(Orders.annotate, {"row": 1, "note": 7}), "INVALID_INPUT")
    too_long = await surface.connect(AGENT).call(Orders.annotate, {"row": 1, "note": "x" * 9_000})
    failed(too_long, "INVALID_INPUT")
    assert surface.confirmations.standing()[0].uses_left == 10


@pytest.mark.requirement("7.9-marks-are-declared")
def test_what_may_vary_is_declared_and_in_the_contract() -> None:
    authority = authority_of(Orders, procedures=backend)
    with pytest.raises(DefinitionError, match="may_vary differs"):

        class Changed(Component, type="orders"):
            """The orders of a page."""

            @action(confirmation="required", may_vary=("note", "loud"))
            def annotate(self, context: Context, row: int, note: str = "", loud: bool = False) -> int:
                """Write a note at a row."""
                return row

        Surface(authority, principal="operator", procedures=backend).mount(Changed())


@pytest.mark.requirement("7.9-marks-are-declared")
def test_marking_what_is_no_field_or_never_stands_is_refused() -> None:
    class Unknown(Component, type="orders"):
        """The orders of a page."""

        @action(confirmation="required", may_vary=("text",))
        def annotate(self, note: str) -> None:
            """Write a note."""

    class Afresh(Component, type="orders"):
        """The orders of a page."""

        @action(confirmation="always", may_vary=("note",))
        def annotate(self, note: str) -> None:
            """Write a note."""

    class Bound(Component, type="orders"):
        """The orders of a page."""

        note = reference("domain:orders.note", may_vary=("order",))

        @note.bind("order")
        def _(self) -> str:
            return "o1"

    class Overridable(Component, type="orders"):
        """The orders of a page."""

        note = reference("domain:orders.note", overridable=("order",), may_vary=("order",))

        @note.bind("order")
        def _(self) -> str:
            return "o1"

    for wrong, match in (
        (Unknown, "'text'"),
        (Afresh, "'always'"),
        (Bound, "'order'"),
        (Overridable, "'order', which an agent does not send, or the view fills"),
    ):
        with pytest.raises(DefinitionError, match=match):
            authority_of(wrong, procedures=backend)


@pytest.mark.requirement("7.9-only-required")
async def test_what_is_always_asked_or_asked_by_a_policy_or_a_consumer_is_asked_afresh() -> None:
    surface, _ = surface_of()
    plain = await asked(surface, Orders.wipe)
    wary, _ = surface_of(policies=[Wary()])
    careful = Consumer("careful", kind="test", confirm=["view:orders.**"])
    requests = [(surface, plain), (wary, await asked(wary, Orders.annotate, {"row": 1}))]
    for capability in (Orders.annotate, Orders.tidy):
        input = {"row": 1} if capability is Orders.annotate else {}
        error = failed(await surface.connect(careful).call(capability, input), "CONFIRMATION_REQUIRED")
        view = surface.confirmations.get(str(error.details["confirmation_id"]))
        assert view is not None
        requests.append((surface, view))
    for where, view in requests:
        assert view.standing is None
        with pytest.raises(ValueError, match="afresh"):
            await where.confirmations.approve(view.id, OPERATOR, standing=())
        assert where.confirmations.standing() == ()


@pytest.mark.requirement("7.9-what-may-vary")
async def test_one_text_is_no_collection_of_fields_that_are_left_free() -> None:
    surface, _ = surface_of()
    view = await asked(surface, Orders.annotate, {"row": 1})
    with pytest.raises(TypeError, match="is a collection of field names"):
        await surface.confirmations.approve(view.id, OPERATOR, digest=view.digest, standing="note")
    (still,) = surface.confirmations.pending()
    assert still.id == view.id and surface.confirmations.standing() == ()


@pytest.mark.requirement("7.9-only-required")
async def test_what_a_consumer_asks_about_elsewhere_changes_nothing_here() -> None:
    surface, _ = surface_of()
    careful = Consumer("careful", kind="test", confirm=["view:orders.wipe"])
    failed(await surface.connect(careful).call(Orders.annotate, {"row": 1}), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    assert view.standing is not None


@pytest.mark.requirement("7.9-only-required")
async def test_a_policy_that_asks_later_is_not_answered_by_what_stands() -> None:
    asks = False

    class Sometimes(Policy, name="sometimes"):
        async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
            return RequireConfirmation() if asks else None

    surface, _ = surface_of(policies=[Sometimes()])
    await given(surface, Orders.annotate, {"row": 1})
    output(await surface.connect(AGENT).call(Orders.annotate, {"row": 1}))
    asks = True
    await asked(surface, Orders.annotate, {"row": 1})


@pytest.mark.requirement("7.9-bounded")
async def test_it_holds_for_15_minutes_and_10_calls_after_the_one_it_was_given_on() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock)
    agent = surface.connect(AGENT)
    await given(surface, Orders.annotate, {"row": 1})
    for left in range(9, -1, -1):
        output(await agent.call(Orders.annotate, {"row": 1}))
        assert [each.uses_left for each in surface.confirmations.standing()] == ([left] if left else [])
    await asked(surface, Orders.annotate, {"row": 1})
    await given(surface, Orders.annotate, {"row": 2})
    clock.advance(899)
    output(await agent.call(Orders.annotate, {"row": 2}))
    clock.advance(1)
    await asked(surface, Orders.annotate, {"row": 2})
    assert surface.confirmations.standing() == ()


@pytest.mark.requirement("7.9-bounded")
async def test_a_session_holds_32_and_a_further_one_changes_nothing() -> None:
    surface, _ = surface_of(limits=Limits(standing_s=5_000))
    for row in range(32):
        await given(surface, Orders.annotate, {"row": row})
    view = await asked(surface, Orders.annotate, {"row": 32})
    with pytest.raises(RuntimeError, match="32"):
        await surface.confirmations.approve(view.id, OPERATOR, standing=())
    assert surface.confirmations.pending() == (view,)
    await surface.confirmations.revoke(surface.confirmations.standing()[0].id, OPERATOR)
    await surface.confirmations.approve(view.id, OPERATOR, standing=())
    assert len(surface.confirmations.standing()) == 32


@pytest.mark.requirement("7.9-bounded")
async def test_its_limits_are_settable() -> None:
    clock = ManualClock()
    surface, _ = surface_of(clock, limits=Limits(standing_s=5, standing_uses=1, standing_per_session=1))
    standing = await given(surface, Orders.annotate, {"row": 1})
    assert (standing.until - standing.given_at).total_seconds() == 5 and standing.uses_left == 1
    output(await surface.connect(AGENT).call(Orders.annotate, {"row": 1}))
    await given(surface, Orders.annotate, {"row": 1})
    clock.advance(5)
    await asked(surface, Orders.annotate, {"row": 1})


@pytest.mark.requirement("7.9-listed-and-revocable")
async def test_it_is_listed_with_what_it_covers_and_whoever_may_decide_revokes_it() -> None:
    surface, _ = surface_of()
    standing = await given(surface, Orders.annotate, {"row": 1, "note": "a"}, ["note"])
    assert surface.confirmations.standing(OPERATOR) == (standing,)
    assert dict(standing.input) == {"row": 1, "loud": False} and set(standing.may_vary) == {"note"}
    assert (standing.capability, standing.consumer) == ("view:orders.annotate", "agent")
    assert standing.title == standing.capability, "what has no title is called by its id"
    assert (standing.decided_by, standing.principal, standing.instance) == ("operator", "operator", "default")
    stranger = Decider("stranger")
    assert surface.confirmations.standing(stranger) == ()
    with pytest.raises(PermissionError):
        await surface.confirmations.revoke(standing.id, stranger)
    await surface.confirmations.revoke(standing.id, OPERATOR)
    assert surface.confirmations.standing() == ()
    assert journal(surface)[-1] == ("ended", "revoked")
    with pytest.raises(LookupError):
        await surface.confirmations.revoke(standing.id, OPERATOR)
    await asked(surface, Orders.annotate, {"row": 1, "note": "a"})


@pytest.mark.requirement("7.9-listed-and-revocable")
async def test_the_principal_revokes_what_an_approver_gave() -> None:
    surface, _ = surface_of()
    standing = await given(surface, Orders.move, {"to": 1}, by=LEAD)
    assert surface.confirmations.standing(OPERATOR) == (standing,)
    await surface.confirmations.revoke(standing.id, OPERATOR)
    await asked(surface, Orders.move, {"to": 1})


@pytest.mark.requirement("7.9-journalled")
async def test_giving_each_use_and_the_end_are_journalled_with_who_and_why() -> None:
    surface, _ = surface_of(limits=Limits(standing_uses=2))
    standing = await given(surface, Orders.annotate, {"row": 1, "note": "a"}, ["note"])
    agent = surface.connect(AGENT)
    for id in ("one", "two"):
        output(await agent.call(Orders.annotate, {"row": 1, "note": id}, id=id))
    assert journal(surface) == [
        ("given", f"with {standing.confirmation}, note free"),
        ("used", "1 left"),
        ("used", "0 left"),
        ("ended", "used-up"),
    ]
    entries = [entry for entry in surface.audit() if entry.type == "standing"]
    assert {entry.confirmation for entry in entries} == {standing.id}
    assert {(entry.decider, entry.consumer) for entry in entries} == {("operator", AGENT.key)}
    assert [entry.invocation for entry in entries] == [None, "one", "two", None]
    calls = [entry for entry in surface.audit() if entry.type == "invocation" and entry.code is None]
    assert [(entry.decider, entry.confirmation) for entry in calls[1:]] == [("operator", standing.id)] * 2


@pytest.mark.requirement("7.9-ends")
async def test_a_denial_of_the_capability_ends_it() -> None:
    surface, _ = surface_of()
    await given(surface, Orders.annotate, {"row": 1})
    await given(surface, Orders.move, {"to": 1}, by=LEAD)
    view = await asked(surface, Orders.annotate, {"row": 2})
    await surface.confirmations.deny(view.id, OPERATOR)
    assert [each.capability for each in surface.confirmations.standing()] == ["view:orders.move"]
    assert journal(surface)[-1] == ("ended", "denied")
    await asked(surface, Orders.annotate, {"row": 1})


@pytest.mark.requirement("7.9-ends")
async def test_a_change_of_scope_ends_it_even_when_the_old_scope_comes_back() -> None:
    surface, _ = surface_of()
    await given(surface, Orders.annotate, {"row": 1})
    narrowed = Consumer("agent", kind="test", scope=["view:other.**"])
    failed(await surface.invoke(Invocation("view:orders.tidy"), narrowed), "CAPABILITY_NOT_FOUND")
    assert journal(surface)[-1] == ("ended", "scope-changed")
    await asked(surface, Orders.annotate, {"row": 1})


@pytest.mark.requirement("7.9-ends")
@pytest.mark.parametrize("how", ["unmount", "replace", "dispose"])
async def test_an_unmount_ends_it(how: str) -> None:
    surface, _ = surface_of()
    await given(surface, Orders.annotate, {"row": 1})
    if how == "dispose":
        surface.dispose()
    elif how == "replace":
        surface.mount(Orders(), on_duplicate="replace")
        await asked(surface, Orders.annotate, {"row": 1})
    else:
        mount = surface.mount(Orders(), on_duplicate="replace")
        mount.unmount()
        surface.mount(Orders())
        await asked(surface, Orders.annotate, {"row": 1})
    assert surface.confirmations.standing() == () and journal(surface)[-1] == ("ended", "unmounted")


@pytest.mark.requirement("7.9-grants-are-checked-at-each-use")
async def test_it_counts_for_nothing_while_its_decider_may_not_decide() -> None:
    grants = {"fleet"}
    surface, _ = surface_of(principal=lambda: Principal("operator", grants=grants))
    await given(surface, Orders.move, {"to": 1}, by=Decider("operator", {"fleet"}))
    agent = surface.connect(AGENT)
    output(await agent.call(Orders.move, {"to": 1}))
    grants.clear()
    await asked(surface, Orders.move, {"to": 1})
    grants.add("fleet")
    output(await agent.call(Orders.move, {"to": 1}))


@pytest.mark.requirement("7.9-grants-are-checked-at-each-use")
@pytest.mark.parametrize("then", ["signed out", "another person", "cannot be asked"])
async def test_one_of_a_principal_who_goes_while_the_precondition_looks_answers_nothing(then: str) -> None:
    class Gate(Component, type="gate"):
        """A gate."""

        @action(confirmation="required")
        def lift(self) -> None:
            """Lift it."""
            ran.append(now[0])

        @lift.precondition
        def _(self) -> None:
            now[0] = after[0]

    ran: list[str] = []
    now, after = ["here"], ["here"]
    people = {"here": Principal("operator"), "signed out": None, "another person": Principal("other")}
    surface = Surface(authority_of(Gate), principal=lambda: people[now[0]])
    surface.confirmations.attach_page()
    surface.mount(Gate())
    await given(surface, Gate.lift, {})
    agent = surface.connect(AGENT)
    output(await agent.call(Gate.lift))
    after[0] = then
    failed(await agent.call(Gate.lift), "CONFIRMATION_REQUIRED")
    assert ran == ["here", "here"]


@pytest.mark.requirement("7.9-checked-at-the-gate")
async def test_one_that_was_revoked_while_the_call_waited_runs_nothing_and_a_person_is_asked() -> None:
    surface, orders = surface_of()
    standing = await given(surface, Orders.move, {"to": 1}, by=LEAD)
    orders.gate = asyncio.Event()
    agent = surface.connect(AGENT)
    calls = [asyncio.create_task(agent.call(Orders.move, {"to": 1})) for _ in range(2)]
    await turns()
    await surface.confirmations.revoke(standing.id, LEAD)
    orders.gate.set()
    first, second = await asyncio.gather(*calls)
    assert output(first) == 1
    error = failed(second, "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    assert error.details["confirmation_id"] == view.id and orders.ran == [(1,), (1,)]
    started = [entry for entry in surface.audit() if entry.type == "invocation" and entry.code is None]
    assert len(started) == 2


@pytest.mark.requirement("7.9-used-up-atomically")
async def test_of_500_concurrent_calls_with_10_uses_left_10_run() -> None:
    surface, orders = surface_of(limits=Limits(waiting_per_consumer=600))
    await given(surface, Orders.move, {"to": 1}, by=LEAD)
    orders.ran.clear()
    agent = surface.connect(AGENT)
    outcomes = await asyncio.gather(*(agent.call(Orders.move, {"to": 1}) for _ in range(500)))
    ran = [outcome for outcome in outcomes if isinstance(outcome, Ok)]
    assert len(ran) == len(orders.ran) == 10
    asked_about = {
        failed(outcome, "CONFIRMATION_REQUIRED").details["confirmation_id"]
        for outcome in outcomes
        if outcome not in ran
    }
    assert asked_about == {view.id for view in surface.confirmations.pending()} and len(asked_about) == 1


@pytest.mark.requirement("7.9-used-up-atomically")
async def test_500_calls_of_lanes_that_do_not_queue_together_use_10_up() -> None:
    surface, orders = surface_of(limits=Limits(waiting_per_consumer=600))
    await given(surface, Orders.annotate, {"row": 1, "note": ""}, ["note"])
    orders.ran.clear()
    agent = surface.connect(AGENT)
    calls = (agent.call(Orders.annotate, {"row": 1, "note": str(number)}) for number in range(500))
    outcomes = await asyncio.gather(*calls)
    assert sum(isinstance(outcome, Ok) for outcome in outcomes) == len(orders.ran) == 10


@pytest.mark.requirement("7.9-an-unspent-approval-goes-first")
async def test_the_approval_of_this_very_call_is_spent_before_a_use_is() -> None:
    surface, _ = surface_of()
    view = await asked(surface, Orders.annotate, {"row": 1})
    await surface.confirmations.approve(view.id, OPERATOR, standing=())
    output(await surface.connect(AGENT).call(Orders.annotate, {"row": 1}))
    spent = surface.confirmations.get(view.id)
    assert spent is not None and spent.status == "spent"
    assert surface.confirmations.standing()[0].uses_left == 10


@pytest.mark.requirement("7.9-preflight")
async def test_a_preflight_says_that_nobody_would_be_asked_and_uses_nothing_up() -> None:
    surface, _ = surface_of()
    before = await surface.preflight(Invocation("view:orders.annotate", {"row": 1}), AGENT)
    assert before.question is not None and before.standing is None
    standing = await given(surface, Orders.annotate, {"row": 1, "note": "a"}, ["note"])
    entries = len(surface.audit())
    covered = await surface.preflight(Invocation("view:orders.annotate", {"row": 1, "note": "b"}), AGENT)
    assert covered.question is None and covered.standing == standing.id
    other = await surface.preflight(Invocation("view:orders.annotate", {"row": 2}), AGENT)
    assert other.question is not None and other.standing is None
    narrowed = Consumer("agent", kind="test", scope=["view:orders.**"])
    elsewhere = await surface.preflight(Invocation("view:orders.annotate", {"row": 1}), narrowed)
    assert elsewhere.question is not None and elsewhere.standing is None
    asks = Consumer("agent", kind="test", confirm=["view:orders.annotate"])
    afresh = await surface.preflight(Invocation("view:orders.annotate", {"row": 1}), asks)
    assert surface.confirmations.standing() == (standing,) and len(surface.audit()) == entries
    assert afresh.standing is None and afresh.question is not None
