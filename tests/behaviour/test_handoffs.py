"""Handoffs: steps that only a person may do, opened by a call and ended by the application (SPEC 11.7)."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from remit import (
    AgentError,
    Authority,
    CancelCause,
    Component,
    Consumer,
    Decider,
    DefinitionError,
    ErrorCode,
    Event,
    Handoff,
    HandoffState,
    HandoffStatus,
    HandoffView,
    Invocation,
    Limits,
    ManualClock,
    Principal,
    Procedures,
    ReadContext,
    RecordSet,
    Surface,
    action,
    reference,
)
from remit._confirmation.refusals import HandoffEnded, NotTheDecider, UnknownHandoff, WrongData
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal

PAY = "view:orders.list.pay"
REASON = "Card details are entered by the customer"
OTHER = Consumer("other", kind="test")


class Receipt(BaseModel):
    """What the person did."""

    number: int


@dataclass(eq=False)
class Orders(Component, type="orders.list"):
    """The orders on this page."""

    ids: list[str] = field(default_factory=lambda: ["a", "b", "c", "d", "e"])
    ran: list[str] = field(default_factory=list)

    @action(effect="navigation", record="order", handoff=Handoff(REASON, to="/orders/{order}/pay"))
    def pay(self, order: str, tip: int = 0) -> Receipt:
        """Pay an order."""
        self.ran.append(order)
        return Receipt(number=0)

    @pay.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.ids)

    @action(confirmation="always", handoff=Handoff("Only you may sign", to="/sign"), sensitive=("pin",))
    def sign(self, pin: str = "") -> None:
        """Sign the contract."""
        self.ran.append("signed")


ORDERS = authority_of(Orders)


def opened(authority: Authority = ORDERS, **options: Any) -> tuple[Surface, Orders]:
    surface, orders = Surface(authority, principal="operator", **options), Orders()
    surface.mount(orders)
    return surface, orders


async def asked(surface: Surface, record: str = "a", consumer: Consumer = AGENT, **more: object) -> AgentError:
    outcome = await surface.connect(consumer).call(PAY, {"record": record, **more})
    return failed(outcome, "HANDOFF_REQUIRED")


def id_of(error: AgentError) -> str:
    return str(error.details["handoff_id"])


def state_of(surface: Surface, id: str, consumer: Consumer = AGENT) -> HandoffState:
    state = surface.connect(consumer).handoff(id)
    assert state is not None
    return state


@pytest.mark.requirement("11.7-a-call-opens-a-handoff")
async def test_a_call_opens_a_handoff_with_a_place_to_go_and_runs_nothing() -> None:
    clock = ManualClock()
    surface, orders = opened(clock=clock)
    error = await asked(surface)
    id = id_of(error)
    assert id.startswith("hnd_")
    assert error.details["reason"] == REASON
    assert error.details["url"] == f"/orders/a/pay?handoff={id}"
    [view] = surface.handoffs.pending()
    assert error.details["expires_at"] == view.expires_at.isoformat()
    assert (view.expires_at - clock.now()).total_seconds() == 1_800
    assert (view.id, view.capability, view.record, view.input) == (id, PAY, "a", {"record": "a", "tip": 0})
    assert (view.principal, view.consumer, view.status) == ("operator", "agent", HandoffStatus.PENDING)
    assert orders.ran == []


@pytest.mark.requirement("11.7-listed-never-executed")
async def test_no_approval_runs_a_handoff_and_nobody_is_asked_for_one() -> None:
    surface, orders = opened()
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    for evidence in (None, "cnf_invented"):
        failed(await agent.call("view:orders.list.sign", {}, confirmation=evidence), "HANDOFF_REQUIRED")
    assert surface.confirmations.pending() == ()
    assert orders.ran == []


@pytest.mark.requirement("11.7-listed-never-executed")
async def test_a_handoff_is_listed_as_available_although_nobody_could_confirm() -> None:
    surface, _ = opened()
    listed = {each.id: each for each in surface.connect(AGENT).capabilities()}
    assert listed["view:orders.list.sign"].available
    assert listed[PAY].descriptor.handoff == REASON
    assert listed[PAY].to_json()["handoff"] == {"reason": REASON}


@pytest.mark.requirement("11.7-shown-at-every-door")
async def test_a_tool_says_in_its_description_that_only_a_person_does_it() -> None:
    surface, _ = opened()
    *tools, last = surface.connect(AGENT).toolset().definitions()
    assert last["name"] == "surface_handoff"
    texts = sorted(str(tool["description"]) for tool in tools)
    assert texts == [
        "[view · local-state · requires confirmation · only a person does it] Sign the contract.",
        "[view · navigation · only a person does it] Pay an order.",
    ]


@pytest.mark.requirement("11.7-the-open-one-is-returned")
async def test_the_same_call_is_answered_with_the_open_handoff_and_another_with_its_own() -> None:
    surface, _ = opened()
    first = await asked(surface)
    assert (await asked(surface)).details == first.details
    assert (await asked(surface, tip=0)).details == first.details
    ids = {id_of(first), id_of(await asked(surface, "b")), id_of(await asked(surface, tip=1))}
    ids.add(id_of(await asked(surface, consumer=OTHER)))
    assert len(ids) == len(surface.handoffs.pending()) == 4


@pytest.mark.requirement("11.7-the-open-one-is-returned")
async def test_a_handoff_survives_the_mount_and_answers_the_next_one() -> None:
    surface = Surface(ORDERS, principal="operator")
    mount = surface.mount(Orders())
    first = await asked(surface)
    mount.unmount()
    assert state_of(surface, id_of(first)).status is HandoffStatus.PENDING
    surface.mount(Orders())
    assert (await asked(surface)).details == first.details


@pytest.mark.requirement("11.7-a-call-opens-a-handoff")
async def test_a_wrong_input_or_record_opens_nothing() -> None:
    surface, _ = opened()
    agent = surface.connect(AGENT)
    failed(await agent.call(PAY, {"record": "zz"}), "RECORD_UNAVAILABLE")
    failed(await agent.call(PAY, {"record": "a", "tip": "much"}), "INVALID_INPUT")
    assert surface.handoffs.pending() == ()


@pytest.mark.requirement("11.7-limits")
async def test_four_are_open_for_one_consumer_and_the_next_is_told_when_to_come_back() -> None:
    clock = ManualClock()
    surface, _ = opened(clock=clock)
    for record in "abcd":
        await asked(surface, record)
        clock.advance(60)
    error = failed(await surface.connect(AGENT).call(PAY, {"record": "e"}), "RATE_LIMITED")
    assert error.details == {"reason": "queue-full", "retry_after_ms": 1_560_000}
    await asked(surface, "a")  # the open one is no new one
    await asked(surface, "e", OTHER)
    clock.advance(1_560)
    await asked(surface, "e")


@pytest.mark.requirement("11.7-limits")
@pytest.mark.parametrize("limits", [Limits(handoffs_per_surface=2), Limits(handoffs_per_consumer=1)])
async def test_as_many_are_open_as_the_limits_say(limits: Limits) -> None:
    surface, _ = opened(limits=limits)
    await asked(surface, "a")
    await asked(surface, "b", OTHER)
    error = failed(await surface.connect(OTHER).call(PAY, {"record": "c"}), "RATE_LIMITED")
    assert error.details["reason"] == "queue-full"


@pytest.mark.requirement("11.7-limits")
async def test_how_long_a_handoff_is_open_is_a_limit() -> None:
    clock = ManualClock()
    surface, _ = opened(clock=clock, limits=Limits(handoff_s=5.0))
    id = id_of(await asked(surface))
    clock.advance(5)
    assert state_of(surface, id).status is HandoffStatus.EXPIRED
    with pytest.raises(HandoffEnded):
        await surface.handoffs.decline(id, OPERATOR)


@pytest.mark.requirement("11.7-completed")
async def test_the_application_completes_it_and_the_agent_gets_typed_data() -> None:
    surface, orders = opened()
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=AGENT)
    id = id_of(await asked(surface))
    assert state_of(surface, id).to_json()["status"] == "pending"
    await surface.handoffs.complete(id, OPERATOR, Receipt(number=17))
    state = state_of(surface, id)
    assert (state.status, state.data) == (HandoffStatus.COMPLETED, {"number": 17})
    assert state.to_json()["data"] == {"number": 17}
    told = [(event.type.value, event.data) for event in heard if event.type.value.startswith("handoff")]
    assert told == [
        ("handoff-requested", {"handoff": id, "capability": PAY}),
        ("handoff-resolved", {"handoff": id, "capability": PAY, "status": "completed"}),
    ]
    view = surface.handoffs.get(id, OPERATOR)
    assert view is not None
    assert (view.status, view.decided_by, view.data) == (HandoffStatus.COMPLETED, "operator", {"number": 17})
    assert surface.handoffs.pending() == ()
    assert orders.ran == []
    assert id_of(await asked(surface)) != id


@pytest.mark.requirement("11.7-completed")
@pytest.mark.parametrize("data", [None, Receipt.model_construct(number=None), {"number": 1}, {1, 2}, "17"])
async def test_data_that_is_not_of_the_declared_type_changes_nothing(data: object) -> None:
    surface, _ = opened()
    id = id_of(await asked(surface))
    with pytest.raises(WrongData):
        await surface.handoffs.complete(id, OPERATOR, data)
    assert state_of(surface, id).status is HandoffStatus.PENDING


@pytest.mark.requirement("11.7-completed")
async def test_data_has_at_most_the_bytes_of_an_output() -> None:
    surface, _ = opened(limits=Limits(output_bytes=20))
    id = id_of(await asked(surface))
    with pytest.raises(WrongData):
        await surface.handoffs.complete(id, OPERATOR, Receipt(number=12_345_678_901))
    await surface.handoffs.complete(id, OPERATOR, Receipt(number=1))


@pytest.mark.requirement("11.7-who-may-end-it")
async def test_only_the_principal_ends_a_handoff_and_only_once() -> None:
    surface, _ = opened()
    id = id_of(await asked(surface))
    for stranger in (Decider("other"), Decider("operator", tenant="elsewhere")):
        assert surface.handoffs.get(id, stranger) is None
        assert surface.handoffs.pending(stranger) == ()
        with pytest.raises(NotTheDecider):
            await surface.handoffs.decline(id, stranger)
    with pytest.raises(TypeError):
        await surface.handoffs.complete(id, "operator")  # type: ignore[arg-type]
    with pytest.raises(UnknownHandoff):
        await surface.handoffs.decline("hnd_invented", OPERATOR)
    await surface.handoffs.decline(id, OPERATOR)
    assert state_of(surface, id).status is HandoffStatus.DECLINED
    assert "data" not in state_of(surface, id).to_json()
    with pytest.raises(HandoffEnded):
        await surface.handoffs.complete(id, OPERATOR, Receipt(number=1))


@pytest.mark.requirement("11.7-polling")
async def test_another_consumer_and_an_invented_id_get_one_answer() -> None:
    surface, _ = opened()
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=OTHER)
    id = id_of(await asked(surface))
    for stranger in (OTHER, Consumer("agent", kind="other"), Consumer("agent", kind="test", grant="g")):
        assert surface.connect(stranger).handoff(id) is None
    assert surface.connect(AGENT).handoff("hnd_invented") is None
    assert [event for event in heard if event.type.value.startswith("handoff")] == []


@pytest.mark.requirement("11.7-polling")
async def test_what_is_out_of_reach_now_tells_nothing_of_its_handoffs() -> None:
    surface, _ = opened()
    id = id_of(await asked(surface))
    assert surface.handoff(id, Consumer("agent", kind="test", scope=["view:else.**"])) is None
    assert surface.handoff(id, Consumer("agent", kind="test", scope=["region:orders.list"])) is not None
    surface.suspend(capability=PAY)
    assert surface.handoff(id, AGENT) is None
    surface.reinstate(capability=PAY)
    surface.suspend(consumer=AGENT)
    assert surface.handoff(id, AGENT) is None
    surface.reinstate(consumer=AGENT)
    assert surface.handoff(id, AGENT) is not None


@pytest.mark.requirement("11.7-expiry-and-end")
async def test_a_handoff_expires_after_half_an_hour() -> None:
    clock = ManualClock()
    surface, _ = opened(clock=clock)
    heard: list[HandoffView] = []
    surface.handoffs.subscribe(heard.append)
    id = id_of(await asked(surface))
    clock.advance(1_799)
    assert state_of(surface, id).status is HandoffStatus.PENDING
    clock.advance(1)
    assert [(view.id, view.status.value) for view in heard] == [(id, "pending"), (id, "expired")]
    assert state_of(surface, id).status is HandoffStatus.EXPIRED
    with pytest.raises(HandoffEnded) as ended:
        await surface.handoffs.complete(id, OPERATOR, Receipt(number=1))
    assert ended.value.status is HandoffStatus.EXPIRED


@pytest.mark.requirement("11.7-expiry-and-end")
async def test_a_view_that_closes_cancels_its_handoffs_and_tells_so() -> None:
    surface, _ = opened()
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=AGENT)
    id = id_of(await asked(surface))
    surface.dispose(CancelCause.VIEW_CLOSED)
    assert heard[-1].data == {"handoff": id, "capability": PAY, "status": "cancelled"}
    with pytest.raises(HandoffEnded):
        await surface.handoffs.decline(id, OPERATOR)


@pytest.mark.requirement("11.7-url")
async def test_a_value_stands_in_the_path_as_one_encoded_segment() -> None:
    surface, orders = opened()
    orders.ids = ["a/../b?c#d", "100%", ".", "..", "é x"]
    agent = surface.connect(AGENT)
    urls = {record: str((await asked(surface, record)).details["url"]) for record in ("a/../b?c#d", "100%", "é x")}
    assert {record: url.partition("?")[0] for record, url in urls.items()} == {
        "a/../b?c#d": "/orders/a%2F..%2Fb%3Fc%23d/pay",
        "100%": "/orders/100%25/pay",
        "é x": "/orders/%C3%A9%20x/pay",
    }
    for steps in (".", ".."):
        failed(await agent.call(PAY, {"record": steps}), "RECORD_UNAVAILABLE")


@pytest.mark.requirement("11.7-url")
async def test_a_sensitive_value_is_neither_shown_nor_kept() -> None:
    surface, _ = opened()
    agent = surface.connect(AGENT)
    first = failed(await agent.call("view:orders.list.sign", {"pin": "secret-1"}), "HANDOFF_REQUIRED")
    second = failed(await agent.call("view:orders.list.sign", {"pin": "secret-2"}), "HANDOFF_REQUIRED")
    assert id_of(first) != id_of(second)
    for view in surface.handoffs.pending():
        assert (view.input, view.withheld) == ({}, ("pin",))


def declared(handoff: Any, **more: Any) -> type[Component]:
    class Declared(Component, type="declared"):
        """A component."""

        @action(handoff=handoff, **more)
        def pay(self, order: str = "") -> None:
            """Pay."""

    return Declared


@pytest.mark.requirement("11.7-declaration")
@pytest.mark.parametrize(
    "to",
    [
        "",
        "pay",
        "//evil.example/pay",
        "https://evil.example/pay",
        "/\\evil.example",
        "/a/../pay",
        "/a//pay",
        "/pay?order={order}",
        "/pay#top",
        "/x{order}",
        "/{}",
        "/{tip}/pay",
        "/%2e%2e/pay",
        "/a b",
        "/" + "a" * 200,
        17,
    ],
)
def test_a_path_that_is_none_of_the_applications_own_is_refused(to: object) -> None:
    with pytest.raises(DefinitionError):
        declared(Handoff("Why", to=to))  # type: ignore[arg-type]


@pytest.mark.requirement("11.7-declaration")
@pytest.mark.parametrize(
    "handoff", ["/pay", Handoff("", to="/pay"), Handoff("two\nlines", to="/p"), Handoff("x" * 201, to="/p")]
)
def test_a_handoff_without_a_reason_is_refused(handoff: object) -> None:
    with pytest.raises(DefinitionError):
        declared(handoff)


@pytest.mark.requirement("11.7-declaration")
@pytest.mark.parametrize(
    "more", [{"approver": "boss"}, {"spend_time": 3}, {"may_vary": ("order",)}, {"blocking": True}], ids=str
)
def test_what_only_a_run_would_use_is_refused_beside_a_handoff(more: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="never runs"):
        declared(Handoff("Why", to="/pay"), **more)


backend = Procedures()


@backend.operation("wipe", effect="destructive")
async def wipe(region: str, device: str, note: str = "") -> int:
    """Wipe a device."""
    raise AssertionError("a handoff never runs")


class Fleet(Component, type="fleet"):
    """Devices."""

    region: object = "eu/west"

    wipe = reference("domain:wipe", handoff=Handoff("Wiping is done at the console", to="/console/{region}/wipe"))

    @wipe.bind("region")
    def bound(self) -> object:
        return self.region


@pytest.mark.requirement("11.7-references")
async def test_a_reference_is_handed_off_with_what_the_view_fills_in_its_path() -> None:
    surface, fleet = Surface(authority_of(Fleet, procedures=backend), principal="operator", procedures=backend), Fleet()
    surface.mount(fleet)
    agent = surface.connect(AGENT)
    [listed] = agent.capabilities()
    assert listed.available
    error = failed(await agent.call("domain:wipe", {"device": "d1"}), "HANDOFF_REQUIRED")
    assert error.details["url"] == f"/console/eu%2Fwest/wipe?handoff={id_of(error)}"
    await surface.handoffs.complete(id_of(error), OPERATOR, 3)
    assert state_of(surface, id_of(error)).data == 3
    for no_segment in ("..", "", "x" * 201, True):
        fleet.region = no_segment
        error = failed(await agent.call("domain:wipe", {"device": "d1"}), "PRECONDITION_FAILED")
        assert error.details == {"reason": "binding-failed"}


@pytest.mark.requirement("11.7-url")
@pytest.mark.parametrize("more", [{"overridable": ("region",)}, {"sensitive": ("region",)}], ids=str)
def test_what_an_agent_may_fill_and_what_is_sensitive_stands_in_no_url(more: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match="neither the record nor a field the view fills"):

        class Leaking(Component, type="leaking"):
            """Devices."""

            wipe = reference("domain:wipe", handoff=Handoff("Why", to="/console/{region}"), **more)

            @wipe.bind("region")
            def bound(self) -> str:
                return "eu"


@pytest.mark.requirement("11.7-a-look-ahead-opens-none")
async def test_a_look_ahead_says_handoff_and_opens_none() -> None:
    surface, _ = opened()
    seen = await surface.preflight(Invocation(PAY, {"record": "a"}), AGENT)
    assert seen.error is not None
    assert seen.error.code is ErrorCode.HANDOFF_REQUIRED
    assert (seen.error.details["handoff_id"], seen.error.details["url"]) == ("", "/orders/a/pay")
    assert surface.handoffs.pending() == ()
    open_ = await asked(surface)
    again = await surface.preflight(Invocation(PAY, {"record": "a"}), AGENT)
    assert again.error is not None
    assert again.error.details == open_.details


@pytest.mark.requirement("11.7-journal")
async def test_the_journal_says_who_asked_who_ended_it_and_how() -> None:
    surface = Surface(ORDERS, principal=Principal("operator", tenant="t"))
    surface.mount(Orders())
    id = id_of(await asked(surface))
    await surface.handoffs.decline(id, Decider("operator", tenant="t"))
    entries = [entry for entry in journal(surface) if entry.type.value == "handoff"]
    assert [(entry.handoff, entry.status, entry.decider) for entry in entries] == [
        (id, "pending", None),
        (id, "declined", "operator"),
    ]
    assert {(entry.capability, entry.principal, entry.tenant, entry.consumer) for entry in entries} == {
        (PAY, "operator", "t", AGENT.key)
    }
    [call] = [entry for entry in journal(surface) if entry.type.value == "invocation"]
    assert call.code is ErrorCode.HANDOFF_REQUIRED


@dataclass(eq=False)
class Letters(Component, type="letters"):
    """Letters."""

    @action(handoff=Handoff("Only you may read", to="/letters"), untrusted=True)
    def read_out(self) -> str:
        """Read a letter out."""
        raise AssertionError("a handoff never runs")


@pytest.mark.requirement("11.7-polling")
async def test_what_a_person_brings_from_outside_is_marked_as_such() -> None:
    surface = Surface(authority_of(Letters), principal="operator")
    surface.mount(Letters())
    error = failed(await surface.connect(AGENT).call("view:letters.readOut"), "HANDOFF_REQUIRED")
    assert "untrusted" not in state_of(surface, id_of(error)).to_json()
    await surface.handoffs.complete(id_of(error), OPERATOR, "Dear all")
    form = state_of(surface, id_of(error)).to_json()
    assert (form["data"], form["untrusted"]) == ("Dear all", True)


@pytest.mark.requirement("11.7-polling")
async def test_with_nobody_signed_in_an_agent_is_told_of_no_handoff() -> None:
    signed_in = [Principal("operator")]
    surface = Surface(ORDERS, principal=lambda: signed_in[0] if signed_in else None)
    surface.mount(Orders())
    id = id_of(await asked(surface))
    agent = surface.connect(AGENT)
    assert agent.handoff(id) is not None
    signed_in.clear()
    assert agent.handoff(id) is None


@pytest.mark.requirement("4.4-an-ended-handoff-outlives-its-surface")
async def test_a_new_surface_of_the_same_person_tells_what_became_of_the_handoffs_of_the_one_before() -> None:
    clock = ManualClock()
    store = MemoryStore(clock=clock)
    surface, _ = opened(clock=clock, store=store)
    done, undone = id_of(await asked(surface, "a")), id_of(await asked(surface, "b"))
    await surface.handoffs.complete(done, Decider("operator"), Receipt(number=7))
    surface.dispose(CancelCause.VIEW_RELOADED)
    surface, _ = opened(clock=clock, store=store)
    assert (state_of(surface, done).status, state_of(surface, done).data) == (HandoffStatus.COMPLETED, {"number": 7})
    assert state_of(surface, undone).status is HandoffStatus.CANCELLED
    assert surface.connect(OTHER).handoff(done) is None
    assert Surface(ORDERS, principal="somebody", clock=clock, store=store).connect(AGENT).handoff(done) is None
    assert surface.handoffs.pending() == ()
