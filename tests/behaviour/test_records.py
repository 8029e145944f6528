"""Folded row actions: one capability for all rows of a kind, and which rows a session may reach (SPEC 11.6)."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, NewType

import pytest
from pydantic import Field

from remit import (
    Authority,
    Component,
    Consumer,
    Context,
    DefinitionError,
    ErrorCode,
    FindingKind,
    Invocation,
    Limits,
    ManualClock,
    ReadContext,
    RecordSet,
    Refused,
    Surface,
    action,
)
from remit._model.listing import Listed
from remit._model.record import RecordCounts, RecordId
from remit.explain import explain
from remit.policies import Policy, PolicyContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns

NOTE = "view:orders.list.updateNote"


class Orders(Component, type="orders.list"):
    """The orders on this page."""

    def __init__(self, notes: dict[str, str], *, below: tuple[str, ...] = ()) -> None:
        self.notes = notes
        self.below = below
        self.asked: list[ReadContext] = []

    @action(record="order")
    def update_note(self, order: str, note: Annotated[str, Field(max_length=20)] = "none") -> str:
        """Update the note on an order."""
        self.notes[order] = note
        return f"{order}: {note}"

    @update_note.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        self.asked.append(ctx)
        mine = [id for id in self.notes if ctx.consumer.id == "agent" or not id.startswith("x")]
        return RecordSet(ids=mine, offscreen=self.below)


ORDERS = authority_of(Orders)
RowId = NewType("RowId", int)


def opened(authority: Authority, **options: Any) -> Surface:
    return Surface(authority, principal="operator", **options)


def listed(surface: Surface, consumer: Consumer = AGENT) -> Listed:
    [only] = surface.snapshot(consumer).capabilities()
    return only


@pytest.mark.requirement("11.6-templates")
async def test_one_capability_stands_for_all_rows_and_the_call_names_one() -> None:
    surface, orders = opened(ORDERS), Orders({"a": "", "b": ""})
    surface.mount(orders)
    agent = surface.connect(AGENT)
    assert output(await agent.call(NOTE, {"record": "b", "note": "rush"})) == "b: rush"
    assert output(await agent.call(Orders.update_note, {"record": "a"})) == "a: none"
    assert orders.notes == {"a": "none", "b": "rush"}
    assert orders.update_note("c", "by hand") == "c: by hand"


@pytest.mark.requirement("11.6-templates")
async def test_every_door_but_the_page_shows_the_record_as_a_required_property() -> None:
    surface = opened(ORDERS)
    surface.mount(Orders({"a": ""}))
    entry = listed(surface)
    assert entry.descriptor.record == "order"
    schema = entry.descriptor.input_schema
    assert schema["properties"] == {
        "record": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The id of one order."},
        "note": {"type": "string", "maxLength": 20, "default": "none"},
    }
    assert schema["required"] == ["record"]
    [tool] = surface.connect(AGENT).toolset().definitions()
    assert tool["inputSchema"] == schema
    own = entry.descriptor.own_schema
    assert (list(own["properties"]), "required" in own) == (["note"], False)  # type: ignore[call-overload]


@pytest.mark.requirement("11.6-templates")
async def test_the_record_is_text_or_a_number_by_the_annotation_of_its_parameter() -> None:
    seen: list[object] = []

    class Both(Component, type="both"):
        """Rows of two kinds of ids."""

        @action(record="row")
        def any_row(self, row: str | int) -> None:
            """Take any row."""
            seen.append(row)

        @action(record="row")
        def numbered(self, row: Annotated[RowId, "named"]) -> None:
            """Take a numbered row."""
            seen.append(row)

        @any_row.records
        def all(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=[17, "17", "x"])

        @numbered.records
        def numbers(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=[17])

    surface = opened(authority_of(Both))
    surface.mount(Both())
    agent = surface.connect(AGENT)
    for record in (17, "17", 17.0):
        output(await agent.call("view:both.anyRow", {"record": record}))
    output(await agent.call("view:both.numbered", {"record": 17}))
    assert [(type(each), each) for each in seen] == [(int, 17), (str, "17"), (int, 17), (int, 17)]
    failed(await agent.call("view:both.numbered", {"record": "17"}), "RECORD_UNAVAILABLE")
    schemas = {each.id: each.descriptor.input_schema["properties"] for each in agent.capabilities()}
    assert schemas["view:both.anyRow"]["record"]["type"] == ["string", "integer"]  # type: ignore[index]
    assert schemas["view:both.numbered"] == {"record": {"type": "integer", "description": "The id of one row."}}


@pytest.mark.requirement("11.6-counts")
async def test_a_listing_counts_what_this_session_may_reach_and_what_of_it_is_off_screen() -> None:
    surface = opened(ORDERS)
    orders = Orders({f"{n}": "" for n in range(48)} | {"x1": "", "x2": ""}, below=("1", "2", "x1", "gone"))
    surface.mount(orders)
    assert listed(surface).records == RecordCounts(total=50, offscreen=3)
    other = Consumer("other", kind="test")
    assert listed(surface, other).to_json()["record"] == {"param": "record", "total": 48, "offscreen": 2}
    version = surface.snapshot(AGENT).surface_version
    orders.notes.clear()
    assert listed(surface).records == RecordCounts(total=0)
    assert not listed(surface).offscreen
    assert surface.snapshot(AGENT).surface_version == version
    orders.notes = {f"{n}": "" for n in range(1_001)}
    assert listed(surface).to_json()["record"] == {"param": "record", "total": 1_000, "offscreen": 2, "more": True}


@pytest.mark.requirement("11.6-counts")
async def test_what_is_off_screen_can_be_acted_on_by_its_id() -> None:
    surface, orders = opened(ORDERS), Orders({"a": "", "b": ""}, below=("b",))
    surface.mount(orders)
    assert listed(surface).offscreen
    output(await surface.connect(AGENT).call(NOTE, {"record": "b", "note": "far down"}))
    assert orders.notes["b"] == "far down"


@pytest.mark.requirement("11.6-read-context")
async def test_records_are_asked_at_every_call_with_who_looks() -> None:
    surface, orders = Surface(ORDERS, principal="operator", host={"shop": "north"}), Orders({"a": ""})
    surface.mount(orders)
    output(await surface.connect(AGENT).call(NOTE, {"record": "a"}))
    [ctx] = orders.asked
    assert ctx.principal is not None
    assert (ctx.principal.id, ctx.consumer, ctx.host, ctx.door) == ("operator", AGENT, {"shop": "north"}, "test")
    assert ctx.capability is not None
    assert (ctx.capability.id, ctx.instance) == (NOTE, "default")
    assert not hasattr(ctx, "input")
    assert issubclass(PolicyContext, ReadContext)


WRONG: list[dict[str, object]] = [
    {}, {"note": "x"}, {"record": None}, {"record": ""}, {"record": ["a"]}, {"record": {"id": "a"}}, {"record": True},
    {"record": 1}, {"record": "made up"}, {"record": "x1"}, {"record": "A"}, {"record": "a "}, {"record": "a" * 201},
    {"record": "x1", "note": 4}, {"record": "made up", "odd": 1},
]  # fmt: skip


@pytest.mark.requirement("11.6-unavailable")
async def test_every_record_that_may_not_be_reached_gets_one_answer() -> None:
    surface, orders = opened(ORDERS), Orders({"a": "", "x1": ""})
    surface.mount(orders)
    other = surface.connect(Consumer("other", kind="test"))
    answers = [failed(await other.call(NOTE, input), "RECORD_UNAVAILABLE") for input in WRONG]
    assert len({(answer.code, answer.message, answer.retry, str(dict(answer.details))) for answer in answers}) == 1
    assert dict(answers[0].details) == {}
    assert orders.notes == {"a": "", "x1": ""}
    assert len(orders.asked) == len(WRONG)  # and each took the way to the author's own answer


@pytest.mark.requirement("11.6-unavailable")
async def test_the_rest_is_judged_when_the_record_is_one_and_never_with_it() -> None:
    surface = opened(ORDERS)
    surface.mount(Orders({"17": ""}))
    agent = surface.connect(AGENT)
    error = failed(await agent.call(NOTE, {"record": "17", "note": 4, "odd": 1}), "INVALID_INPUT")
    assert [issue["path"] for issue in error.details["issues"]] == ["note", "odd"]  # type: ignore[attr-defined]
    failed(await agent.call(NOTE, {"record": 17}), "RECORD_UNAVAILABLE")  # text is never read out of a record


@pytest.mark.requirement("11.6-unavailable")
async def test_a_hidden_template_answers_like_an_invented_one_whatever_the_record() -> None:
    surface = opened(ORDERS)
    surface.mount(Orders({"a": ""}))
    nobody = surface.connect(Consumer("agent", kind="test", scope=["view:other.**"]))
    for input in ({"record": "a"}, {"record": "made up"}, {}):
        failed(await nobody.call(NOTE, input), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("11.6-limit-of-an-id")
async def test_the_length_of_an_id_is_a_limit() -> None:
    surface = opened(ORDERS, limits=Limits(record_id=3))
    surface.mount(Orders({"abc": "", "abcd": ""}))
    agent = surface.connect(AGENT)
    output(await agent.call(NOTE, {"record": "abc"}))
    failed(await agent.call(NOTE, {"record": "abcd"}), "RECORD_UNAVAILABLE")


@pytest.mark.requirement("11.6-many")
async def test_where_there_are_too_many_to_list_a_function_says_which() -> None:
    asked: list[RecordId] = []

    class Archive(Component, type="archive"):
        """A million rows."""

        @action(record="row")
        def restore(self, row: int) -> int:
            """Restore a row."""
            return row

        @restore.records
        def reachable(self, ctx: ReadContext) -> RecordSet:
            def contains(id: RecordId) -> bool:
                asked.append(id)
                return isinstance(id, int) and id < 1_000_000

            return RecordSet(total=1_000_000, offscreen=999_950, contains=contains)

    surface = opened(authority_of(Archive))
    surface.mount(Archive())
    assert listed(surface).records == RecordCounts(total=1_000, offscreen=1_000, more=True)
    agent = surface.connect(AGENT)
    assert output(await agent.call("view:archive.restore", {"record": 999_999})) == 999_999
    for record in (1_000_000, "999999", True, None):
        failed(await agent.call("view:archive.restore", {"record": record}), "RECORD_UNAVAILABLE")
    assert asked == [999_999, 1_000_000]  # it is asked of what can be an id only


def boom(*_: object) -> Any:
    raise RuntimeError("no such table")


@pytest.mark.requirement("11.6-fails-closed")
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (boom, ".records raised"),
        (lambda: RecordSet(ids="abc"), ".records raised"),
        (lambda: None, ".records returned NoneType, not a RecordSet"),
        (lambda: ["a"], ".records returned list, not a RecordSet"),
        (lambda: RecordSet(ids=[1, "a"]), ".records has ids that are not str, as `row` is"),
        (lambda: RecordSet(total=1, contains=boom), "contains= raised"),
        (lambda: RecordSet(total=1, contains=lambda id: "yes"), "contains= returned str, not True or False"),  # type: ignore[arg-type,return-value]
    ],
)
async def test_what_raises_or_answers_anything_else_reaches_no_record_and_is_a_finding(
    answer: Callable[[], Any], why: str
) -> None:
    class Rows(Component, type="rows"):
        """Rows."""

        @action(record="row")
        def mark(self, row: str) -> None:
            """Mark a row."""

        @mark.records
        def reachable(self, ctx: ReadContext) -> RecordSet:
            return answer()  # type: ignore[no-any-return]

    surface = opened(authority_of(Rows))
    surface.mount(Rows())
    error = failed(await surface.connect(AGENT).call("view:rows.mark", {"record": "a"}), "RECORD_UNAVAILABLE")
    assert dict(error.details) == {}
    settled = [each for each in journal(surface) if each.code == "RECORD_UNAVAILABLE"]
    assert [each.why for each in settled] == [f"{why}, so no record may be reached"]
    if not why.startswith("contains"):
        assert listed(surface).records == RecordCounts(total=0)
    await surface.connect(AGENT).call("view:rows.mark", {"record": "b"})
    [finding] = [each for each in surface.findings() if each.kind is FindingKind.WRONG_RECORDS]
    assert finding.found == f"view:rows.mark: {why}, so none of its records could be reached"


@pytest.mark.requirement("11.6-probing")
async def test_after_twenty_different_records_in_a_minute_there_is_no_answer_for_a_minute() -> None:
    clock = ManualClock()
    surface = opened(ORDERS, clock=clock)
    surface.mount(Orders({"a": ""}))
    agent, other = surface.connect(AGENT), surface.connect(Consumer("other", kind="test"))
    for n in range(20):
        failed(await agent.call(NOTE, {"record": f"p{n // 2 * 2}"}), "RECORD_UNAVAILABLE")
    for n in range(10):
        failed(await agent.call(NOTE, {"record": f"p{n * 2 + 1}"}), "RECORD_UNAVAILABLE")
    error = failed(await agent.call(NOTE, {"record": "p99"}), "RATE_LIMITED")
    assert dict(error.details) == {"reason": "probing", "retry_after_ms": 60_000}
    failed(await agent.call(NOTE, {}), "RATE_LIMITED")
    output(await agent.call(NOTE, {"record": "a"}))  # what may be reached is not limited by it
    failed(await other.call(NOTE, {"record": "p99"}), "RECORD_UNAVAILABLE")
    failed(await agent.call("view:orders.list.madeUp"), "CAPABILITY_NOT_FOUND")
    looked = await surface.preflight(Invocation(NOTE, {"record": "p99"}), AGENT)
    assert looked.error is not None
    assert looked.error.code == ErrorCode.RATE_LIMITED
    clock.advance(60)
    failed(await agent.call(NOTE, {"record": "p99"}), "RECORD_UNAVAILABLE")


@pytest.mark.requirement("11.6-probing")
async def test_records_that_are_a_minute_old_do_not_count_and_a_look_ahead_counts_nothing() -> None:
    clock = ManualClock()
    surface = opened(ORDERS, clock=clock)
    surface.mount(Orders({"a": ""}))
    agent = surface.connect(AGENT)
    for n in range(19):
        failed(await agent.call(NOTE, {"record": f"p{n}"}), "RECORD_UNAVAILABLE")
    for n in range(40):
        looked = await surface.preflight(Invocation(NOTE, {"record": f"q{n}"}), AGENT)
        assert looked.error is not None
        assert looked.error.code == ErrorCode.RECORD_UNAVAILABLE
    clock.advance(60)
    for n in range(19):
        failed(await agent.call(NOTE, {"record": f"r{n}"}), "RECORD_UNAVAILABLE")
    failed(await agent.call(NOTE, {"record": "r18"}), "RECORD_UNAVAILABLE")


class Cards(Component, type="cards"):
    """Cards with something to decide."""

    def __init__(self) -> None:
        self.ids = ["a", "b"]
        self.closed: list[tuple[str, str]] = []

    @action(record="card", confirmation="required", may_vary=("why",))
    def close(self, card: str, why: str, context: Context) -> None:
        """Close a card."""
        self.closed.append((card, why))

    @close.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.ids)

    @close.precondition
    def not_twice(self, card: str, **rest: object) -> Refused | None:
        return Refused("closed already") if any(card == id for id, _ in self.closed) else None


CARDS = authority_of(Cards)
CLOSE = "view:cards.close"


@pytest.mark.requirement("11.6-bound-to-a-request")
async def test_a_person_decides_on_the_record_and_the_approval_holds_for_no_other() -> None:
    surface, cards = opened(CARDS), Cards()
    surface.mount(cards)
    agent = surface.connect(AGENT)
    surface.confirmations.subscribe(lambda view: None)
    asked = failed(await agent.call(CLOSE, {"record": "a", "why": "done"}), "CONFIRMATION_REQUIRED")
    id = str(asked.details["confirmation_id"])
    [view] = surface.confirmations.pending()
    assert (view.record, dict(view.input), view.required) == ("a", {"record": "a", "why": "done"}, ("record", "why"))
    await surface.confirmations.approve(id, OPERATOR)
    error = failed(await agent.call(CLOSE, {"record": "b", "why": "done"}, confirmation=id), "CONFIRMATION_INVALID")
    assert error.details["reason"] == "mismatch"
    output(await agent.call(CLOSE, {"record": "a", "why": "done"}, confirmation=id))
    assert cards.closed == [("a", "done")]
    failed(await agent.call(CLOSE, {"record": "a", "why": "again"}), "PRECONDITION_FAILED")


@pytest.mark.requirement("11.6-bound-to-a-request")
async def test_a_standing_approval_covers_one_record() -> None:
    surface, cards = opened(CARDS), Cards()
    surface.mount(cards)
    agent = surface.connect(AGENT)
    surface.confirmations.subscribe(lambda view: None)
    asked = failed(await agent.call(CLOSE, {"record": "a", "why": "x"}), "CONFIRMATION_REQUIRED")
    await surface.confirmations.approve(str(asked.details["confirmation_id"]), OPERATOR, standing=["why"])
    output(await agent.call(CLOSE, {"record": "a", "why": "x"}))
    cards.closed.clear()
    output(await agent.call(CLOSE, {"record": "a", "why": "other words"}))
    failed(await agent.call(CLOSE, {"record": "b", "why": "x"}), "CONFIRMATION_REQUIRED")
    [standing] = surface.confirmations.standing()
    assert (standing.record, dict(standing.input), list(standing.may_vary)) == ("a", {"record": "a"}, ["why"])


@pytest.mark.requirement("11.6-at-the-gate")
async def test_a_record_that_went_while_a_person_decided_is_refused_and_nothing_is_spent() -> None:
    surface, cards = opened(CARDS), Cards()
    surface.mount(cards)
    agent = surface.connect(AGENT)
    surface.confirmations.subscribe(lambda view: None)
    asked = failed(await agent.call(CLOSE, {"record": "a", "why": "x"}), "CONFIRMATION_REQUIRED")
    id = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(id, OPERATOR)
    cards.ids.remove("a")
    failed(await agent.call(CLOSE, {"record": "a", "why": "x"}, confirmation=id), "RECORD_UNAVAILABLE")
    cards.ids.append("a")
    output(await agent.call(CLOSE, {"record": "a", "why": "x"}, confirmation=id))  # nothing was spent
    assert cards.closed == [("a", "x")]


@pytest.mark.requirement("11.6-at-the-gate")
async def test_a_record_that_goes_while_the_call_waits_for_its_turn_is_refused_and_nothing_runs() -> None:
    class Queue(Component, type="queue"):
        """Rows whose work takes a while."""

        def __init__(self) -> None:
            self.ids = ["a", "b"]
            self.ran: list[str] = []
            self.go_on = asyncio.Event()

        @action(record="row")
        async def work(self, row: str) -> None:
            """Work on a row."""
            self.ran.append(row)
            await self.go_on.wait()

        @work.records
        def reachable(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=self.ids)

    surface, queue = opened(authority_of(Queue)), Queue()
    surface.mount(queue)
    agent = surface.connect(AGENT)
    first = asyncio.create_task(agent.call("view:queue.work", {"record": "a"}))
    second = asyncio.create_task(agent.call("view:queue.work", {"record": "b"}))
    await turns()
    queue.ids.remove("b")
    queue.go_on.set()
    output(await first)
    failed(await second, "RECORD_UNAVAILABLE")
    assert queue.ran == ["a"]


@pytest.mark.requirement("11.6-one-call")
async def test_another_record_is_another_call_under_the_same_invocation_id() -> None:
    surface, orders = opened(ORDERS), Orders({"a": "", "b": ""})
    surface.mount(orders)
    agent = surface.connect(AGENT)
    output(await agent.call(NOTE, {"record": "a", "note": "x"}, id="one"))
    failed(await agent.call(NOTE, {"record": "b", "note": "x"}, id="one"), "INVOCATION_CONFLICT")
    orders.notes["a"] = "changed by hand"
    assert output(await agent.call(NOTE, {"record": "a", "note": "x"}, id="one")) == "a: x"
    assert orders.notes == {"a": "changed by hand", "b": ""}


@pytest.mark.requirement("11.6-one-call")
async def test_policies_and_a_look_ahead_see_the_record_in_the_effective_input() -> None:
    seen: list[dict[str, object]] = []

    class Watching(Policy, name="watching"):
        async def review(self, ctx: Any) -> None:
            seen.append(dict(ctx.input))

    surface = opened(ORDERS, policies=[Watching()])
    surface.mount(Orders({"a": ""}))
    output(await surface.connect(AGENT).call(NOTE, {"record": "a"}))
    looked = await surface.preflight(Invocation(NOTE, {"record": "a"}), AGENT)
    assert [*seen, looked.input] == [{"record": "a", "note": "none"}] * 3


@pytest.mark.requirement("11.6-explained")
async def test_a_developer_is_told_how_many_records_there_are_and_why_there_are_none() -> None:
    surface, orders = opened(ORDERS), Orders({"a": "", "b": ""}, below=("b",))
    surface.mount(orders)
    [told] = explain(surface, AGENT)
    assert told.records == RecordCounts(total=2, offscreen=1)
    assert str(told) == f"{NOTE} (default)  available  2 records, 1 off screen"


def declared(body: Callable[[], object]) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        body()
    return caught.value


@pytest.mark.requirement("11.6-declarations")
def test_a_record_and_who_may_be_reached_belong_together() -> None:
    def no_records() -> None:
        class A(Component, type="a"):
            """A."""

            @action(record="row")
            def mark(self, row: str) -> None:
                """Mark."""

    def no_record() -> None:
        class A(Component, type="a"):
            """A."""

            @action
            def mark(self, row: str) -> None:
                """Mark."""

            @mark.records
            def reachable(self, ctx: ReadContext) -> RecordSet:
                return RecordSet(ids=[])

    assert declared(no_records).rule == "acts on one row and has no .records, so that nobody could reach any"
    assert declared(no_record).rule == "has .records and no record="


@pytest.mark.requirement("11.6-declarations")
def test_a_record_is_one_of_the_parameters_and_has_no_default() -> None:
    def another_name() -> None:
        class A(Component, type="a"):
            """A."""

            @action(record="line")
            def mark(self, row: str) -> None:
                """Mark."""

    def no_name() -> None:
        class A(Component, type="a"):
            """A."""

            @action(record="Row")
            def mark(self, Row: str) -> None:  # noqa: N803
                """Mark."""

    def a_default() -> None:
        class A(Component, type="a"):
            """A."""

            @action(record="row")
            def mark(self, row: str = "a") -> None:
                """Mark."""

    assert [declared(each).rule for each in (another_name, no_name, a_default)] == [
        "record='line' is none of its parameters: row",
        "record='Row' is no name of a parameter in [a-z0-9_], a letter first",
        "the record 'row' has a default, and each call names a row",
    ]


@pytest.mark.requirement("11.6-declarations")
def test_records_are_told_by_a_plain_function_of_the_instance_and_who_looks() -> None:
    def async_records() -> None:
        class A(Component, type="a"):
            """A."""

            @action(record="row")
            def mark(self, row: str) -> None:
                """Mark."""

            @mark.records  # type: ignore[type-var]
            async def reachable(self, ctx: ReadContext) -> RecordSet:
                return RecordSet(ids=[])

    def no_context() -> None:
        class A(Component, type="a"):
            """A."""

            @action(record="row")
            def mark(self, row: str) -> None:
                """Mark."""

            @mark.records  # type: ignore[type-var]
            def reachable(self) -> RecordSet:
                return RecordSet(ids=[])

    rule = "the function for .records is plain and takes the instance and who looks"
    assert [declared(each).rule for each in (async_records, no_context)] == [rule, rule]


@pytest.mark.requirement("11.6-declarations")
def test_a_field_named_record_beside_the_record_is_refused() -> None:
    class Disc(Component, type="disc"):
        """Discs."""

        @action(record="disc")
        def play(self, disc: str, record: str) -> None:
            """Play."""

        @play.records
        def all(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=[])

    error = declared(lambda: authority_of(Disc))
    assert error.rule == "has a field 'record' of its own beside record='disc', which takes that name in a call"
    assert error.place is not None


@pytest.mark.requirement("11.6-declarations")
async def test_a_parameter_that_is_called_record_may_be_the_record() -> None:
    class Disc(Component, type="disc"):
        """Discs."""

        @action(record="record")
        def play(self, record: str) -> str:
            """Play."""
            return record

        @play.records
        def all(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=["a"])

    surface = opened(authority_of(Disc))
    surface.mount(Disc())
    assert output(await surface.connect(AGENT).call("view:disc.play", {"record": "a"})) == "a"


@pytest.mark.requirement("11.6-declarations")
@pytest.mark.parametrize("hint", [float, list[str], str | None, bool, object])
def test_a_record_is_annotated_as_text_or_a_number(hint: Any) -> None:
    class Rows(Component, type="rows"):
        """Rows."""

        @action(record="row")
        def mark(self, row: hint) -> None:  # pyright: ignore[reportInvalidTypeForm]
            """Mark."""

        @mark.records
        def all(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=[])

    assert declared(lambda: authority_of(Rows)).rule == "the record 'row' is not annotated `str`, `int` or `str | int`"


@pytest.mark.requirement("11.6-declarations")
async def test_a_written_schema_describes_the_rest_and_may_not_hold_a_record() -> None:
    def component(schema: dict[str, object]) -> type[Component]:
        class Rows(Component, type="rows"):
            """Rows."""

            @action(record="row", input=schema)
            def mark(self, row: str, values: dict[str, object]) -> str:
                """Mark."""
                return f"{row} {values}"

            @mark.records
            def all(self, ctx: ReadContext) -> RecordSet:
                return RecordSet(ids=["a"])

        return Rows

    rows = component({"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]})
    surface = opened(authority_of(rows))
    surface.mount(rows())
    told = output(await surface.connect(AGENT).call("view:rows.mark", {"record": "a", "colour": "red"}))
    assert told == "a {'colour': 'red'}"
    assert listed(surface).descriptor.input_schema["required"] == ["record", "colour"]
    odd = component({"type": "object", "properties": {"record": {"type": "string"}}})
    assert declared(lambda: authority_of(odd)).rule.startswith("has a field 'record' of its own")


@pytest.mark.requirement("11.6-declarations")
def test_the_record_may_neither_vary_nor_be_withheld() -> None:
    class Rows(Component, type="rows"):
        """Rows."""

        @action(record="row", confirmation="required", may_vary=("record",))
        def mark(self, row: str) -> None:
            """Mark."""

        @mark.records
        def all(self, ctx: ReadContext) -> RecordSet:
            return RecordSet(ids=[])

    assert "may_vary= names 'record'" in declared(lambda: authority_of(Rows)).rule


class Shipments(Component, type="shipments.list"):
    """The shipments on this page."""

    @action(record="shipment")
    def send(self, shipment: str) -> None:
        """Send a shipment."""

    @send.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=["a"])


@pytest.mark.requirement("6.12-unknown-keys")
async def test_an_unknown_key_beside_the_record_is_answered_with_every_key_that_may_be_sent() -> None:
    surface = opened(authority_of(Orders, Shipments))
    surface.mount(Orders({"a": ""}))
    surface.mount(Shipments())
    agent = surface.connect(AGENT)
    for capability, wrong, told in (
        (Orders.update_note, "row", "unknown key row; allowed: record, note"),
        (Orders.update_note, "nota", "unknown key nota; did you mean note?"),
        (Shipments.send, "row", "unknown key row; allowed: record"),
        (Shipments.send, "recrod", "unknown key recrod; did you mean record?"),
    ):
        refused = failed(await agent.call(capability, {"record": "a", wrong: "b"}), "INVALID_INPUT")
        assert refused.details["issues"] == [{"path": wrong, "message": told}]
