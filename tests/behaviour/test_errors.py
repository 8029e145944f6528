"""What an agent is told when a call does not succeed, and what it is never told (SPEC 8)."""

import asyncio
import json
from datetime import date
from typing import Any, Literal, cast

import pytest
from pydantic import BaseModel, field_serializer

from remit import (
    BackendError,
    Component,
    Context,
    Failed,
    Happened,
    Invocation,
    Ok,
    Principal,
    Procedures,
    Refused,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import Decision, Expose, Policy, PolicyContext, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns

SECRET = "secret-4711"


class Boom(RuntimeError):
    """Says its secret however it is shown."""

    def __init__(self) -> None:
        super().__init__(SECRET)
        self.add_note(SECRET)

    def __repr__(self) -> str:
        return SECRET


PLACES = (
    "handler",
    "async handler",
    "observation",
    "precondition",
    "async precondition",
    "predicate",
    "binding",
    "operation",
    "operation: BackendError",
    "note",
    "summary",
    "discover",
    "authorize",
    "review",
    "around",
    "principal",
    "host",
    "decide",
    "serializer",
    "output object",
    "within",
)


class Sly(BaseModel):
    """An output that raises while it is written out."""

    value: int

    @field_serializer("value")
    def _write(self, value: int) -> int:
        if value == 4711:
            raise Boom
        return value


def world(place: str) -> Surface:  # noqa: C901 - one small function a place that may raise
    """A surface on which exactly one place raises once it is armed."""
    armed: list[bool] = []

    def at(name: str) -> None:
        if armed and name == place:
            raise Boom

    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save(ids: list[str]) -> int:
        """Save."""
        at("operation")
        if place == "operation: BackendError":
            raise BackendError(500, SECRET)
        return 1

    class Table(Component, type="table"):
        """A table."""

        save = reference("domain:save")

        @save.bind("ids")
        def _(self) -> list[str]:
            at("binding")
            return []

        @observation
        def look(self) -> int:
            """Look."""
            at("observation")
            return 1

        @look.note
        def _(self) -> str:
            at("note")
            return "note"

        @action
        def put(self) -> Any:
            """Put."""
            at("handler")
            return object() if place == "output object" else None

        @put.available
        def _(self) -> Literal[True] | Unavailable:
            at("predicate")
            return True

        @put.precondition
        def _(self) -> None:
            at("precondition")

        @action
        async def slow(self) -> None:
            """Slow."""
            at("async handler")

        @slow.precondition
        async def _(self) -> None:
            at("async precondition")

        @action
        def write(self) -> Sly:
            """Write."""
            return Sly(value=4711 if place == "serializer" else 1)

        @action(confirmation="required")
        def ask(self) -> None:
            """Ask."""

        @ask.summary
        def _(self) -> str:
            at("summary")
            return "summary"

    class Everywhere(Policy, name="everywhere"):
        def discover(self, ctx: PolicyContext) -> Decision:
            at("discover")
            return Expose()

        async def authorize(self, ctx: PolicyContext) -> None:
            at("authorize")

        async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
            at("review")
            return None

        async def around(self, ctx: PolicyContext, call_next: Any) -> object:
            at("around")
            return await call_next()

    def principal() -> Principal:
        at("principal")
        return Principal("operator")

    def host() -> object:
        at("host")
        return None

    async def decide(view: object) -> None:
        at("decide")

    class Enter:
        def __enter__(self) -> None:
            at("within")

        def __exit__(self, *raised: object) -> None: ...

    surface = Surface(
        authority_of(Table, procedures=backend),
        principal=principal,
        host=host,
        procedures=backend,
        policies=[Everywhere()],
        decide=cast(Any, decide),
        within=cast(Any, Enter),
    )
    surface.mount(Table())
    armed.append(True)
    return surface


@pytest.mark.requirement("8.2-no-exception-text")
@pytest.mark.parametrize("place", PLACES)
async def test_no_text_of_an_exception_ever_reaches_the_agent_wherever_it_is_raised(place: str) -> None:
    surface = world(place)
    heard: list[Any] = []
    surface.subscribe(lambda event: heard.append(event.data), consumer=AGENT)
    told: list[object] = []
    troubled = 0
    for id in ("look", "put", "slow", "write", "ask", "domain:save"):
        capability = id if ":" in id else f"view:table.{id}"
        outcome = await surface.invoke(Invocation(capability), AGENT)
        told.append(outcome)
        await turns(3)
        if isinstance(outcome, Failed) and outcome.error.code != "CONFIRMATION_REQUIRED":
            troubled += 1
            if outcome.error.code == "EXECUTION_FAILED":
                assert outcome.error.message == "The call failed. The operator has the details."
    told.append(json.dumps(surface.snapshot(AGENT).to_json()))
    assert SECRET not in repr(told) and "Boom" not in repr(told) and "Traceback" not in repr(told)
    assert SECRET not in repr([dict(data) for data in heard])
    quiet = place in ("note", "summary", "decide")
    assert (troubled == 0) is quiet
    if place not in ("note", "summary", "operation: BackendError", "output object"):
        assert SECRET in repr(journal(surface))


@pytest.mark.requirement("8.2-unknown-exception")
async def test_an_unknown_exception_is_a_fixed_sentence_with_a_correlation_id_the_operator_finds() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> None:
            """Put."""
            raise Boom

        @observation
        def read(self) -> int:
            """Read."""
            raise Boom

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    for capability, happened in ((Table.put, "unknown"), (Table.read, "none")):
        error = failed(await surface.connect(AGENT).call(capability), "EXECUTION_FAILED")
        assert {k: v for k, v in error.details.items() if k != "correlation_id"} == {
            "reason": "handler-error",
            "outcome": happened,
        }
        correlation = str(error.details["correlation_id"])
        assert correlation.startswith("err_")
        (entry,) = [entry for entry in journal(surface) if correlation in (entry.why or "")]
        assert SECRET in (entry.cause or "") and "test_errors.py" in (entry.cause or "")


@pytest.mark.requirement("8.1-details-and-retry")
async def test_the_codes_of_one_surface_carry_the_retry_and_the_details_of_the_table() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, count: int) -> Refused | None:
            """Put."""
            return Refused("no", extra=1) if count == 2 else None

        @put.precondition
        def _(self, count: int) -> Refused | None:
            return Refused("odd", count=count) if count == 1 else None

    surface = Surface(authority_of(Table), principal="operator")
    mount = surface.mount(Table(), "a")
    agent = surface.connect(AGENT)
    agent.capabilities()

    async def told(capability: str = "view:table.put", **fields: Any) -> tuple[str, str, dict[str, object]]:
        error = failed(await surface.invoke(Invocation(capability, **{"input": {"count": 0}, **fields}), AGENT))
        return error.code.value, error.retry.value, dict(error.details)

    assert await told("view:table.none") == ("CAPABILITY_NOT_FOUND", "after-refresh", {})
    assert await told(registration="reg_x") == (
        "STALE_CAPABILITY",
        "after-refresh",
        {"reason": "registration-replaced"},
    )
    assert await told(input={"count": "x"}) == (
        "INVALID_INPUT",
        "with-changes",
        {"issues": [{"path": "count", "message": "must be an integer"}]},
    )
    assert await told(input={"count": 1}) == (
        "PRECONDITION_FAILED",
        "with-changes",
        {"reason": "odd", "count": 1},
    )
    assert await told(input={"count": 2}) == (
        "PRECONDITION_FAILED",
        "with-changes",
        {"reason": "no", "extra": 1, "outcome": "none"},
    )
    assert isinstance(await surface.invoke(Invocation("view:table.put", {"count": 0}, id="i"), AGENT), Ok)
    assert await told(id="i", input={"count": 3}) == (
        "INVOCATION_CONFLICT",
        "with-changes",
        {"reason": "different-call"},
    )
    mount.update(enabled=False, reason="Hidden tab")
    assert await told() == ("CAPABILITY_NOT_AVAILABLE", "after-refresh", {"reason": "Hidden tab"})
    other = surface.mount(Table(), "b")
    assert await told() == ("AMBIGUOUS_INSTANCE", "with-changes", {"instances": ["a", "b"]})
    other.unmount()
    mount.unmount()
    assert await told() == ("COMPONENT_UNMOUNTED", "after-refresh", {"phase": "resolve"})


@pytest.mark.requirement("8.3-issues-never-hold-the-value")
async def test_issues_name_field_rule_and_allowed_values_never_what_was_sent() -> None:
    class Filter(BaseModel):
        city: Literal["Milan", "Rome"]
        tags: list[int]

    class Table(Component, type="table"):
        """A table."""

        @action
        def apply(self, filter: Filter, count: int = 1) -> None:
            """Apply."""

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    wrongs: list[Any] = [
        {"filter": {"city": SECRET, "tags": [SECRET]}, "count": SECRET},
        {"filter": SECRET},
        {"filter": {"city": "Milan", "tags": [1, 1.5]}, SECRET + "/<script>": 1},
    ]
    for wrong in wrongs:
        error = failed(await agent.call(Table.apply, wrong), "INVALID_INPUT")
        issues = cast("list[dict[str, str]]", error.details["issues"])
        assert issues and all(set(issue) == {"path", "message"} for issue in issues)
        assert all(SECRET not in issue["message"] for issue in issues)
        assert "<script>" not in str(issues)
    first = failed(await agent.call(Table.apply, wrongs[0]))
    messages = {issue["path"]: issue["message"] for issue in cast(Any, first.details["issues"])}
    assert '"Milan"' in messages["filter.city"] and '"Rome"' in messages["filter.city"]
    assert messages["filter.tags[0]"] == messages["count"] == "must be an integer"


@pytest.mark.requirement("8.3-what-is-no-json-is-named")
@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"count": float("nan")}, "count"),
        ({"ids": [1, 2**60]}, "ids[1]"),
        ({"ids": [1, 1e18]}, "ids[1]"),
        ({"name": "a\ud800"}, "name"),
        ({"name": {"a b": b"x"}}, "name.?"),
    ],
)
async def test_an_issue_names_the_field_that_holds_what_is_no_json(wrong: dict[str, object], path: str) -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, count: float = 0, name: str = "", ids: list[int] | None = None) -> None:
            """Put."""

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put, wrong), "INVALID_INPUT")
    (issue,) = cast("list[dict[str, str]]", error.details["issues"])
    assert issue["path"] == path


@pytest.mark.requirement("6.12-unknown-keys")
async def test_an_unknown_key_is_refused_with_the_nearest_known_one_and_at_most_20_issues_are_told() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, count: int = 0, *, device_ids: list[str]) -> None:
            """Put."""

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    error = failed(await agent.call(Table.put, {"device_ids": [], "devise_ids": []}), "INVALID_INPUT")
    assert "devise_ids; did you mean device_ids?" in str(error.details["issues"])
    many = failed(await agent.call(Table.put, {"device_ids": list(range(100))}), "INVALID_INPUT")
    assert len(cast(Any, many.details["issues"])) == 20
    odd = failed(await agent.call(Table.put, {"device_ids": [], "x" * 500: 1, "a b": 1}), "INVALID_INPUT")
    paths = [issue["path"] for issue in cast(Any, odd.details["issues"])]
    assert sorted(len(path) for path in paths) == [1, 64] and "?" in paths


@pytest.mark.requirement("8.4-acted-and-failed")
@pytest.mark.parametrize("happened", ["none", "done", "unknown"])
@pytest.mark.parametrize("raised", [True, False])
async def test_a_handler_that_refuses_says_what_happened(happened: str, raised: bool) -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> Refused:
            """Put."""
            refused = Refused("The rest did not fit", outcome=happened, left=2)
            if raised:
                raise refused
            return refused

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put), "PRECONDITION_FAILED")
    assert error.details == {"reason": "The rest did not fit", "left": 2, "outcome": happened}
    assert journal(surface)[-1].outcome == Happened(happened)


@pytest.mark.requirement("8.4-output-that-breaks-its-schema")
async def test_an_output_that_breaks_its_schema_or_is_too_large_after_a_write_is_done() -> None:
    class Row(BaseModel):
        id: int

    class Table(Component, type="table"):
        """A table."""

        def __init__(self) -> None:
            self.value: Any = None

        @action
        def put(self) -> Row:
            """Put."""
            return cast(Row, self.value)

        @action
        def free(self):  # type: ignore[no-untyped-def]
            """Free."""
            return self.value

        @action
        def nothing(self) -> None:
            """Nothing."""
            return cast(None, self.value)

        @observation
        def read(self) -> Row:
            """Read."""
            return cast(Row, self.value)

    surface = Surface(authority_of(Table), principal="operator")
    table = Table()
    surface.mount(table)
    agent = surface.connect(AGENT)

    async def told(name: str, value: object) -> tuple[object, object]:
        table.value = value
        error = failed(await agent.call(f"view:table.{name}"), "EXECUTION_FAILED")
        assert SECRET not in str(error)
        return error.details["reason"], error.details["outcome"]

    for wrong in ({"id": SECRET}, {"id": 1, "more": SECRET}, SECRET, None, Row.model_construct(id=cast(Any, SECRET))):
        assert await told("put", wrong) == ("output-invalid", "done")
        assert await told("read", wrong) == ("output-invalid", "none")
    odd: tuple[object, ...] = (object(), {1, 2}, float("nan"), {"a": b"x"})
    for free in odd:
        assert await told("free", free) == ("output-invalid", "done")
    assert await told("nothing", 5) == ("output-invalid", "done")
    assert await told("free", "x" * 32_767) == ("output-too-large", "done")
    table.value = "x" * 32_766
    assert output(await agent.call("view:table.free")) == "x" * 32_766
    table.value = Row(id=1)
    assert output(await agent.call(Table.put)) == output(await agent.call(Table.read)) == {"id": 1}


@pytest.mark.requirement("8.5-a-serializer-that-raises-after-a-write")
async def test_an_output_that_cannot_be_written_out_after_a_write_is_done_too() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> Sly:
            """Put."""
            return Sly(value=4711)

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put), "EXECUTION_FAILED")
    assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "done")


@pytest.mark.requirement("8.6-stop")
async def test_not_found_and_not_authorized_tell_the_caller_to_stop() -> None:
    class May(Policy, name="may"):
        async def authorize(self, ctx: PolicyContext) -> Any:
            raise RuntimeError

    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator", policies=[May()])
    surface.mount(Table())
    for capability, code in (("view:table.none", "CAPABILITY_NOT_FOUND"), ("view:table.read", "NOT_AUTHORIZED")):
        message = failed(await surface.connect(AGENT).call(capability), code).message
        assert "Stop: do not look for another way" in message


@pytest.mark.requirement("3.1-precondition-details")
async def test_details_of_an_author_that_are_no_json_are_left_out_and_cannot_replace_the_reason() -> None:
    class Table(Component, type="table"):
        """A table."""

        def __init__(self) -> None:
            self.details: dict[str, Any] = {}

        @action
        def put(self) -> None:
            """Put."""
            raise AssertionError("refused before")

        @put.precondition
        def _(self) -> Refused:
            return Refused("why", **self.details)

    surface = Surface(authority_of(Table), principal="operator")
    table = Table()
    surface.mount(table)
    for details, shown in (
        ({"ids": ["a"]}, {"ids": ["a"], "reason": "why"}),
        ({"object": object()}, {"reason": "why"}),
        ({"text": "x" * 5_000}, {"reason": "why"}),
    ):
        table.details = details
        assert failed(await surface.connect(AGENT).call(Table.put), "PRECONDITION_FAILED").details == shown
    table.details = {}


@pytest.mark.requirement("8.2-author-facing")
async def test_a_precondition_that_answers_something_else_fails_closed() -> None:
    ran: list[int] = []

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> None:
            """Put."""
            ran.append(1)

        @put.precondition
        def _(self) -> Any:
            return False

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put), "EXECUTION_FAILED")
    assert error.details["outcome"] == "none" and ran == []
    assert "returned bool, not None or Refused" in (journal(surface)[-1].cause or "")


@pytest.mark.requirement("3.1-precondition-details")
@pytest.mark.parametrize("raises", [False, True])
async def test_a_precondition_says_no_whether_it_returns_or_raises_it(raises: bool) -> None:
    ran: list[int] = []

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self) -> None:
            """Put."""
            ran.append(1)

        @put.precondition
        async def _(self) -> Refused | None:
            no = Refused("not now", free=0)
            if raises:
                raise no
            return no

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put), "PRECONDITION_FAILED")
    assert (error.details["reason"], error.details["free"], ran) == ("not now", 0, [])


@pytest.mark.requirement("8.2-author-facing")
async def test_a_precondition_gets_the_values_that_the_handler_gets() -> None:
    class Diary(Component, type="diary"):
        """A diary."""

        @action
        def open(self, day: date) -> int:
            """Open a day."""
            return day.year

        @open.precondition
        def _(self, day: date) -> Refused | None:
            return Refused("long ago") if day.year < 2_000 else None

    surface = Surface(authority_of(Diary), principal="operator")
    surface.mount(Diary())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Diary.open, {"day": "2026-01-01"})) == 2_026
    failed(await agent.call(Diary.open, {"day": "1999-01-01"}), "PRECONDITION_FAILED")


@pytest.mark.requirement("8.1-timeout-and-cancelled")
async def test_the_answer_to_a_call_that_a_handler_cancels_by_itself_is_unknown() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        async def put(self, context: Context) -> None:
            """Put."""
            raise asyncio.CancelledError

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.put), "CANCELLED")
    assert (error.details, error.retry) == ({"outcome": "unknown"}, "no")
