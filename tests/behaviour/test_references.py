"""References: operations of a backend, made available in a view (SPEC 10)."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, cast

import pytest

from remit import (
    BackendError,
    Component,
    Consumer,
    Context,
    DefinitionError,
    FindingKind,
    ManualClock,
    Principal,
    Procedures,
    Surface,
    reference,
)
from remit.errors import Issue
from remit.gateway import Gateway
from remit.procedures.catalogue import BackendOperation, Catalogue
from remit.procedures.joined import JoinedCatalogue
from remit.testing import Harness
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns


def surface_of(kind: type[Component], backend: Procedures, **more: Any) -> Surface:
    """A surface over this backend, with somebody to confirm."""
    surface = Surface(authority_of(kind, procedures=backend), principal="operator", procedures=backend, **more)
    surface.confirmations.subscribe(lambda view: None)
    return surface


@pytest.mark.requirement("10.1-an-operation-is-listed-by-a-catalogue")
def test_a_reference_names_an_operation_that_a_catalogue_lists() -> None:
    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    with pytest.raises(DefinitionError) as refused:
        authority_of(Page, procedures=Procedures())
    assert "no catalogue lists this operation" in str(refused.value)
    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save it all."""
        return 1

    assert asyncio.run(save()) == 1
    surface = surface_of(Page, backend)
    surface.mount(Page())
    (listed,) = surface.connect(AGENT).capabilities()
    assert (listed.id, listed.descriptor.description) == ("domain:save", "Save it all.")
    for wrong in ("save", "bad\nname"):
        with pytest.raises(DefinitionError):
            backend.operation(wrong, effect="server-mutation")(save)
    with pytest.raises(DefinitionError):
        backend.operation("plain", effect="server-mutation")(cast(Any, lambda: 1))


@pytest.mark.requirement("10.2-opt-in-and-ceiling")
async def test_the_catalogue_is_the_ceiling_of_what_a_reference_may_lower() -> None:
    backend = Procedures()

    @backend.operation("save", effect="server-mutation", confirmation="required")
    async def save() -> int:
        """Save."""
        return 1

    @backend.operation("unlisted", effect="server-mutation")
    async def unlisted() -> int:
        """Unlisted."""
        raise AssertionError("nobody referenced this")

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    with pytest.raises(DefinitionError):

        class Low(Component, type="low"):
            """Low."""

            save = reference("domain:save", confirmation="optional", reason="We know better")

        authority_of(Low, procedures=backend)
    surface = surface_of(Page, backend)
    surface.mount(Page())
    failed(await surface.connect(AGENT).call("domain:save"), "CONFIRMATION_REQUIRED")
    failed(await surface.connect(AGENT).call("domain:unlisted"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("10.2-contract-moved")
async def test_a_backend_that_moved_makes_the_reference_unavailable() -> None:
    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    def backend_of(effect: Any, hint: Any) -> Procedures:
        backend = Procedures()

        @backend.operation("save", effect=effect)
        async def save(value: hint) -> int:  # pyright: ignore[reportInvalidTypeForm]
            """Save."""
            return 1

        return backend

    recorded = backend_of("server-mutation", int)
    authority = authority_of(Page, procedures=recorded)
    for live in (backend_of("server-mutation", str), backend_of("server-query", int), Procedures(), None):
        surface = Surface(authority, principal="operator", procedures=live)
        surface.mount(Page())
        (listed,) = surface.connect(AGENT).capabilities()
        assert (listed.available, listed.reason) == (False, "contract-moved")
        error = failed(await surface.connect(AGENT).call("domain:save", {"value": 1}), "CAPABILITY_NOT_AVAILABLE")
        assert error.details == {"reason": "contract-moved"}
    same = Surface(authority, principal="operator", procedures=backend_of("server-mutation", int))
    same.mount(Page())
    assert output(await same.connect(AGENT).call("domain:save", {"value": 1})) == 1


@pytest.mark.requirement("10.3-bound-paths-are-locked")
async def test_bound_paths_leave_the_agents_schema_are_locked_and_read_at_call_time() -> None:
    backend = Procedures()

    @backend.operation("disable", effect="server-mutation")
    async def disable(ids: list[str], why: str = "none") -> list[str]:
        """Disable."""
        return [*ids, why]

    class Devices(Component, type="devices"):
        """Devices."""

        def __init__(self) -> None:
            self.selected = ["d1"]

        disable = reference("domain:disable")

        @disable.bind("ids")
        def selection(self) -> list[str]:
            return self.selected

    surface = surface_of(Devices, backend)
    devices = Devices()
    surface.mount(devices)
    agent = surface.connect(AGENT)
    schema: Any = agent.capabilities()[0].descriptor.input_schema
    assert list(schema["properties"]) == ["why"]
    assert output(await agent.call("domain:disable")) == ["d1", "none"]
    devices.selected = ["d2", "d3"]
    assert output(await agent.call("domain:disable", {"why": "lost"})) == ["d2", "d3", "lost"]
    for sent in (["d1"], ["d2", "d3"], None):
        error = failed(await agent.call("domain:disable", {"ids": sent}), "INVALID_INPUT")
        assert error.details["locked_fields"] == ["ids"]
        assert error.details["issues"] == [{"path": "ids", "message": "this field is set by the view"}]
    assert devices.selection() == ["d2", "d3"]


@pytest.mark.requirement("10.3-binding-failed")
@pytest.mark.parametrize("value", [RuntimeError("secret-4711"), object(), ("d1",), 5, ["d1", 5], float("nan"), None])
async def test_a_binding_that_raises_or_does_not_fit_fails_before_any_request(value: Any) -> None:
    backend = Procedures()

    @backend.operation("disable", effect="server-mutation")
    async def disable(ids: list[str]) -> int:
        """Disable."""
        raise AssertionError("no request was to be made")

    class Devices(Component, type="devices"):
        """Devices."""

        disable = reference("domain:disable")

        @disable.bind("ids")
        def _(self) -> Any:
            if isinstance(value, Exception):
                raise value
            return value

    surface = surface_of(Devices, backend)
    surface.mount(Devices())
    error = failed(await surface.connect(AGENT).call("domain:disable"), "PRECONDITION_FAILED")
    assert error.details == {"reason": "binding-failed"} and error.retry == "after-refresh"
    assert "ids" in (journal(surface)[-1].why or "")


@pytest.mark.requirement("10.3-bindings-are-static")
def test_a_binding_names_a_field_the_operation_takes_once() -> None:
    backend = Procedures()

    @backend.operation("disable", effect="server-mutation")
    async def disable(ids: list[str]) -> int:
        """Disable."""
        return 1

    def wrong_field() -> None:
        class Devices(Component, type="devices"):
            """Devices."""

            disable = reference("domain:disable")

            @disable.bind("id")
            def _(self) -> list[str]:
                return []

        authority_of(Devices, procedures=backend)

    def twice() -> None:
        class Devices(Component, type="devices"):
            """Devices."""

            disable = reference("domain:disable")

            @disable.bind("ids")
            def one(self) -> list[str]:
                return []

            @disable.bind("ids")
            def two(self) -> list[str]:
                return []

    for declare in (wrong_field, twice):
        with pytest.raises(DefinitionError) as refused:
            declare()
        assert refused.value.code == "INVALID_DEFINITION"


@pytest.mark.requirement("10.4-exactly-the-confirmed-input")
async def test_the_executor_gets_exactly_the_confirmed_input_even_if_the_view_moves_meanwhile() -> None:
    backend = Procedures()
    ran: list[list[str]] = []

    @backend.operation("disable", effect="destructive")
    async def disable(ids: list[str]) -> int:
        """Disable."""
        ran.append(ids)
        return len(ids)

    class Devices(Component, type="devices"):
        """Devices."""

        def __init__(self) -> None:
            self.selected = ["d1"]

        disable = reference("domain:disable")

        @disable.bind("ids")
        def _(self) -> list[str]:
            return self.selected

    surface = surface_of(Devices, backend)
    devices = Devices()
    surface.mount(devices)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call("domain:disable")).details["confirmation_id"])
    (view,) = surface.confirmations.pending()
    devices.selected.append("d2")
    assert dict(view.input) == {"ids": ["d1"]}
    await surface.confirmations.approve(asked, OPERATOR)
    failed(await agent.call("domain:disable", confirmation=asked), "CONFIRMATION_INVALID")
    failed(await surface.continue_(asked, AGENT), "CONFIRMATION_INVALID")
    assert ran == []
    devices.selected.pop()
    output(await surface.continue_(asked, AGENT))
    assert ran == [["d1"]]


@pytest.mark.requirement("10.4-idempotency-key")
async def test_the_idempotency_key_is_equal_for_repeats_and_tells_nothing_of_the_agents_id() -> None:
    backend = Procedures()
    keys: list[str] = []

    @backend.operation("save", effect="server-query")
    async def save(call: Context) -> int:
        """Save."""
        keys.append(call.idempotency_key)
        return 1

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface, second = surface_of(Page, backend), surface_of(Page, backend)
    surface.mount(Page())
    second.mount(Page())
    agent = surface.connect(AGENT)
    for call in (
        agent.call("domain:save", id="agents-own"),
        agent.call("domain:save", id="agents-own"),
        agent.call("domain:save", id="another"),
        surface.connect(Consumer("other", kind="test")).call("domain:save", id="agents-own"),
        second.connect(AGENT).call("domain:save", id="agents-own"),
    ):
        output(await call)
    assert keys[0] == keys[1] and len(set(keys)) == 4
    assert all(len(key) == 64 and "agents-own" not in key for key in keys)


@pytest.mark.requirement("10.1-principal-and-context")
async def test_a_function_gets_the_principal_and_the_context_by_annotation() -> None:
    backend = Procedures()
    seen: list[Any] = []

    @backend.operation("save", effect="server-mutation")
    async def save(caller: Principal, call: Context, text: str) -> str:
        """Save."""
        seen.append((caller.id, call.host, call.cancelled.is_set(), call.capability))
        return text

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface = surface_of(Page, backend, host={"flag": 1})
    surface.mount(Page())
    schema: Any = surface.connect(AGENT).capabilities()[0].descriptor.input_schema
    assert list(schema["properties"]) == ["text"]
    assert output(await surface.connect(AGENT).call("domain:save", {"text": "x"})) == "x"
    assert seen == [("operator", {"flag": 1}, False, "domain:save")]


@pytest.mark.requirement("10.4-cancel-signal")
async def test_a_deadline_sets_the_cancel_signal_of_the_function() -> None:
    backend = Procedures()
    signals: list[bool] = []

    @backend.operation("save", effect="server-mutation")
    async def save(call: Context) -> int:
        """Save."""
        try:
            await asyncio.Event().wait()
        finally:
            signals.append(call.cancelled.is_set())
        return 1

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    clock = ManualClock()
    surface = surface_of(Page, backend, clock=clock)
    surface.mount(Page())
    running = asyncio.create_task(surface.connect(AGENT).call("domain:save"))
    await turns()
    clock.advance(30)
    failed(await running, "TIMEOUT")
    await turns()
    assert signals == [True]


ISSUE = [Issue(path="name", message="is taken")]
TABLE: list[tuple[BackendError, str, dict[str, Any]]] = [
    (BackendError(401), "NOT_AUTHENTICATED", {"origin": "server"}),
    (BackendError(403), "NOT_AUTHORIZED", {"origin": "server"}),
    *((BackendError(status), "PRECONDITION_FAILED", {"outcome": "none"}) for status in (404, 409, 410, 412)),
    (BackendError(400, issues=ISSUE), "INVALID_INPUT", {"issues": [{"path": "name", "message": "is taken"}]}),
    (BackendError(422, issues=ISSUE), "INVALID_INPUT", {"issues": [{"path": "name", "message": "is taken"}]}),
    (BackendError(400), "EXECUTION_FAILED", {"reason": "rejected", "outcome": "none"}),
    (BackendError(422), "EXECUTION_FAILED", {"reason": "rejected", "outcome": "none"}),
    (BackendError(418), "EXECUTION_FAILED", {"reason": "rejected", "outcome": "none"}),
    (BackendError(429, retry_after=2.5), "RATE_LIMITED", {"reason": "rate", "retry_after_ms": 2_500}),
    *((BackendError(status), "TIMEOUT", {"outcome": "unknown", "timeout_ms": 30_000}) for status in (408, 504)),
    *(
        (BackendError(status), "EXECUTION_FAILED", {"reason": "transport", "outcome": "unknown"})
        for status in (500, 502, 503, 307)
    ),
    (
        BackendError(409, code="DISABLED", data={"since": 1}),
        "PRECONDITION_FAILED",
        {"declared": {"code": "DISABLED", "data": {"since": 1}}},
    ),
    (BackendError(400, code="ODD"), "EXECUTION_FAILED", {"declared": {"code": "ODD", "data": None}}),
]


@pytest.mark.requirement("10.5-backend-answers")
@pytest.mark.parametrize(("error", "code", "details"), TABLE, ids=[f"{e.status}-{c}" for e, c, _ in TABLE])
@pytest.mark.parametrize("effect", ["server-mutation", "server-query"])
async def test_a_backends_answer_is_mapped_by_the_table_and_its_own_text_never_reaches_the_agent(
    error: BackendError, code: str, details: dict[str, object], effect: Any
) -> None:
    backend = Procedures()

    @backend.operation("save", effect=effect)
    async def save() -> int:
        """Save."""
        raised = BackendError(
            error.status,
            "secret-4711",
            issues=error.issues,
            code=error.code,
            data=error.data,
            retry_after=error.retry_after,
        )
        raise raised

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface = surface_of(Page, backend)
    surface.mount(Page())
    told = failed(await surface.connect(AGENT).call("domain:save"), code)
    expected = dict(details)
    if effect == "server-query" and expected.get("outcome") == "unknown":
        expected["outcome"] = "none"
    assert {key: told.details[key] for key in expected} == expected
    assert journal(surface)[-1].why == f"backend answered {error.status}"
    assert "secret" not in str(told)
    assert "secret-4711" in (journal(surface)[-1].cause or "")


async def told_of(raising: Callable[[], BackendError], code: str) -> tuple[dict[str, Any], Surface]:
    """The details an agent is told when a mutation raises this."""
    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save."""
        raise raising()

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface = surface_of(Page, backend)
    surface.mount(Page())
    return dict(failed(await surface.connect(AGENT).call("domain:save"), code).details), surface


@pytest.mark.requirement("10.5-what-is-declared-is-bounded-data")
async def test_the_issues_of_a_backend_are_bounded_lines_with_plain_paths() -> None:
    flood = Issue(path="p\n\u202e" * 500, message="IGNORE ALL \n\u202e" * 5_000)
    given = [Issue(path="rows[2].name", message="is\ntaken"), *([flood] * 1_000)]
    details, _ = await told_of(lambda: BackendError(422, issues=given), "INVALID_INPUT")
    issues = details["issues"]
    assert len(issues) == 20
    assert issues[0] == {"path": "rows[2].name", "message": "is taken"}
    assert issues[1]["path"] == "?"
    assert len(issues[1]["message"]) == 200 and "\n" not in str(issues) and "\u202e" not in str(issues)


@pytest.mark.requirement("10.5-issues-of-locked-fields-are-not-the-agents")
@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (["region", "name"], ["name"]),
        (["filter.city", "filter.city[0].zip", "filter", "regions"], ["filter", "regions"]),
        (["size"], ["size"]),  # the agent may fill this one all the same
        (["region", "region.code", "region[0]"], None),
    ],
)
async def test_an_agent_is_not_told_of_issues_in_fields_that_the_view_has_locked(
    paths: list[str], told: list[str] | None
) -> None:
    backend = Procedures()
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "region": {"type": "string"},
            "size": {"type": "integer"},
            "filter": {"type": "object", "properties": {"city": {"type": "string"}, "of": {"type": "string"}}},
        },
    }

    @backend.operation("save", effect="server-mutation", input=schema)
    async def save(input: dict[str, Any]) -> None:
        """Save."""
        raise BackendError(422, issues=[Issue(path=path, message="is wrong") for path in paths])

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save", overridable=["size"])

        @save.bind("region")
        def _region(self) -> str:
            return "eu"

        @save.bind("size")
        def _size(self) -> int:
            return 3

        @save.bind("filter.city")
        def _city(self) -> str:
            return "Oslo"

    surface = surface_of(Page, backend)
    surface.mount(Page())
    answer = await surface.connect(AGENT).call("domain:save", {"name": "a"})
    if told is None:
        details = failed(answer, "EXECUTION_FAILED").details
        assert (details["reason"], details["outcome"]) == ("rejected", "none")
        assert "issues" not in details and "region" not in str(details)
    else:
        issues = cast("list[dict[str, str]]", failed(answer, "INVALID_INPUT").details["issues"])
        assert [each["path"] for each in issues] == told
    assert journal(surface)[-1].why == "backend answered 422"


@pytest.mark.requirement("10.5-what-is-declared-is-bounded-data")
@pytest.mark.parametrize(
    ("code", "data", "declared"),
    [
        ("TAKEN", {"by": [1, 2.0]}, {"code": "TAKEN", "data": {"by": [1, 2]}}),
        ("TAKEN", {"y": "y" * 5_000}, {"code": "TAKEN"}),
        ("TAKEN", {"n": float("nan")}, {"code": "TAKEN"}),
        ("TAKEN", object(), {"code": "TAKEN"}),
        ("c\n\u202e" * 3_000, {"a": 1}, None),
        ("x" * 81, None, None),
        ("two words", None, None),
        ("", None, None),
    ],
)
async def test_a_declared_error_is_a_plain_code_with_small_json(code: str, data: object, declared: object) -> None:
    details, surface = await told_of(lambda: BackendError(409, code=code, data=data), "PRECONDITION_FAILED")
    assert details["outcome"] == "none"
    assert details.get("declared") == declared
    whole = isinstance(declared, dict) and "data" in declared
    assert ("cannot be told" in (journal(surface)[-1].why or "")) is not whole


@pytest.mark.requirement("10.5-what-is-declared-is-bounded-data")
async def test_data_that_was_put_in_later_and_is_no_json_is_left_out() -> None:
    def later() -> BackendError:
        error = BackendError(409, code="DISABLED")
        error.data = object()
        return error

    def misnamed() -> BackendError:
        error = BackendError(409, code="DISABLED")
        error.code = "two words"
        return error

    def demanding() -> BackendError:
        error = BackendError(403, approval={})
        error.approval = {"where": object()}
        return error

    told, surface = await told_of(later, "PRECONDITION_FAILED")
    assert told["declared"] == {"code": "DISABLED"}
    assert "cannot be told" in (journal(surface)[-1].why or "")
    told, surface = await told_of(misnamed, "PRECONDITION_FAILED")
    assert "declared" not in told and "cannot be told" in (journal(surface)[-1].why or "")
    told, surface = await told_of(demanding, "CONFIRMATION_REQUIRED")
    assert told["server_approval"] == {}
    assert "that cannot be told" in (journal(surface)[-1].why or "")


@pytest.mark.requirement("10.1-a-backend-error-wrongly-raised-keeps-its-status")
@pytest.mark.parametrize(
    ("status", "wrong", "code", "details"),
    [
        (409, {"code": 5}, "PRECONDITION_FAILED", {"outcome": "none"}),
        (422, {"issues": [("n", "bad")]}, "EXECUTION_FAILED", {"reason": "rejected", "outcome": "none"}),
        (429, {"retry_after": float("inf")}, "RATE_LIMITED", {"retry_after_ms": 1_000}),
        (429, {"retry_after": float("nan")}, "RATE_LIMITED", {"retry_after_ms": 1_000}),
    ],
)
async def test_a_slip_in_raising_keeps_the_refusal_and_tells_the_operator(
    status: int, wrong: dict[str, Any], code: str, details: dict[str, object]
) -> None:
    told, surface = await told_of(lambda: BackendError(status, **wrong), code)
    assert {key: told[key] for key in details} == details
    assert f"BackendError({status}): " in (journal(surface)[-1].cause or "")


@pytest.mark.requirement("10.5-what-is-declared-is-bounded-data")
async def test_the_longest_wait_is_still_a_json_number() -> None:
    told, _ = await told_of(lambda: BackendError(429, retry_after=1e306), "RATE_LIMITED")
    assert 2**52 < told["retry_after_ms"] < 2**53


@pytest.mark.requirement("10.1-anything-else-is-transport")
@pytest.mark.parametrize(("effect", "happened"), [("server-mutation", "unknown"), ("server-query", "none")])
async def test_anything_else_a_function_raises_is_transport_with_an_unknown_outcome_for_writes(
    effect: Any, happened: str
) -> None:
    backend = Procedures()

    @backend.operation("save", effect=effect)
    async def save() -> int:
        """Save."""
        raise ConnectionError("secret-4711")

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface = surface_of(Page, backend)
    surface.mount(Page())
    error = failed(await surface.connect(AGENT).call("domain:save"), "EXECUTION_FAILED")
    assert (error.details["reason"], error.details["outcome"]) == ("transport", happened)
    assert "secret" not in str(error) and "secret-4711" in (journal(surface)[-1].cause or "")


@pytest.mark.requirement("10.1-validated-again")
async def test_a_functions_own_output_type_is_held_and_a_write_that_breaks_it_is_done() -> None:
    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save."""
        return cast(int, "secret-4711")

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    surface = surface_of(Page, backend)
    surface.mount(Page())
    error = failed(await surface.connect(AGENT).call("domain:save"), "EXECUTION_FAILED")
    assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "done")


def two_backends() -> tuple[Procedures, Procedures]:
    """Two catalogues that list different names."""
    first, second = Procedures(), Procedures()

    @first.operation("save", effect="server-mutation")
    async def save() -> str:
        """Save."""
        return "first"

    @second.operation("count", effect="server-query")
    async def count() -> str:
        """Count."""
        return "second"

    return first, second


class Both(Component, type="both"):
    """Operations of two catalogues."""

    save = reference("domain:save")
    count = reference("domain:count")


@pytest.mark.requirement("10.1-several-catalogues")
async def test_a_surface_a_gateway_and_the_testing_kit_take_several_catalogues() -> None:
    backends = two_backends()
    authority = authority_of(Both, procedures=JoinedCatalogue(backends))
    surface = Surface(authority, principal="operator", procedures=backends)
    surface.mount(Both())
    view = Gateway(authority, procedures=list(backends)).open_view(
        principal=lambda: Principal("operator"), host=lambda: None, within=nullcontext, title="Both", route="/"
    )
    view.surface.mount(Both())
    for agent in (surface.connect(AGENT), view.surface.connect(AGENT)):
        assert [output(await agent.call(each)) for each in ("domain:save", "domain:count")] == ["first", "second"]
    with Harness(authority, principal="operator", procedures=backends) as harness, harness.mount(Both()):
        harness.override("domain:count", lambda: "overridden")
        assert output(await harness.call(Both.save)) == "first"
        assert output(await harness.call(Both.count)) == "overridden"
    assert [(each.request, each.name) for each in JoinedCatalogue(backends).offers()] == [
        ("save", "save"),
        ("count", "count"),
    ]
    assert [each for each in surface.findings() if each.kind is FindingKind.BACKEND_MOVED] == []


@pytest.mark.requirement("10.1-several-catalogues")
def test_a_name_that_two_catalogues_list_is_an_error_that_names_both() -> None:
    first, second = two_backends()
    authority = authority_of(Both, procedures=JoinedCatalogue([first, second]))

    @second.operation("save", effect="server-mutation")
    async def save() -> str:
        """Save."""
        return "second"

    for serve in (
        lambda: Surface(authority, principal="operator", procedures=[first, second]),
        lambda: Gateway(authority, procedures=[first, second]),
        lambda: Harness(authority, principal="operator", procedures=[first, second]),
    ):
        with pytest.raises(DefinitionError) as refused:
            serve()
        assert refused.value.subject == "domain:save"
        assert "procedures[0] (Procedures) and procedures[1] (Procedures)" in str(refused.value)


@pytest.mark.requirement("10.1-several-catalogues", "10.2-strict-backend")
def test_of_several_catalogues_only_what_a_strict_one_knows_stops_the_start() -> None:
    class Strict(Procedures):
        """Stops the start when it has moved."""

        @property
        def strict_backend(self) -> bool:
            return True

    def shop(of: type[Procedures], name: str, kind: type) -> Procedures:
        backend = of()

        @backend.operation(name, effect="server-query")
        async def given() -> object:
            """Give one."""
            return None

        given.__annotations__["return"] = kind
        return backend

    authority = authority_of(
        Both, procedures=JoinedCatalogue([shop(Strict, "save", int), shop(Procedures, "count", int)])
    )
    loose = [shop(Strict, "save", int), shop(Procedures, "count", str)]
    surface = Surface(authority, principal="operator", procedures=loose)
    surface.mount(Both())
    assert {each.id: each.available for each in surface.connect(AGENT).capabilities()} == {
        "domain:count": False,
        "domain:save": True,
    }
    for moved in ([shop(Strict, "save", str), loose[1]], [shop(Strict, "save", int)]):
        with pytest.raises(DefinitionError, match="moved away"):
            Surface(authority, principal="operator", procedures=moved)


@pytest.mark.requirement("10.10-one-id-for-all-references")
async def test_references_to_one_procedure_share_its_id_and_are_told_apart_by_type_and_instance() -> None:
    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save(what: str) -> str:
        """Save."""
        return what

    class One(Component, type="one"):
        """One."""

        save = reference("domain:save")

        @save.bind("what")
        def _(self) -> str:
            return "one"

    class Two(Component, type="two"):
        """Two."""

        save = reference("domain:save")

        @save.bind("what")
        def _(self) -> str:
            return "two"

    surface = Surface(authority_of(One, Two, procedures=backend), principal="operator", procedures=backend)
    first = surface.mount(One(), "a")
    agent = surface.connect(AGENT)
    assert output(await agent.call("domain:save")) == "one"
    surface.mount(Two(), "a")
    error = failed(await agent.call("domain:save"), "AMBIGUOUS_INSTANCE")
    assert error.details == {"instances": ["one/a", "two/a"]}
    assert output(await agent.call("domain:save", instance="two/a")) == "two"
    assert output(await agent.call("domain:save", registration=first.registration_id)) == "one"
    failed(await agent.call("domain:save", instance="a"), "AMBIGUOUS_INSTANCE")
    failed(await agent.call("domain:save", instance="two/b"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("10.9-the-backends-refusal-wins")
async def test_the_backends_refusal_wins_over_a_local_approval() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe(caller: Principal) -> int:
        """Wipe."""
        raise BackendError(403)

    class Page(Component, type="page"):
        """A page."""

        wipe = reference("domain:wipe")

    surface = surface_of(Page, backend)
    surface.mount(Page())
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call("domain:wipe")).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    error = failed(await agent.call("domain:wipe", confirmation=asked), "NOT_AUTHORIZED")
    assert error.details == {"origin": "server"}


@pytest.mark.requirement("10.1-an-operation-is-listed-by-a-catalogue")
async def test_an_operation_that_the_backend_has_withdrawn_meanwhile_fails_and_nothing_was_done() -> None:
    class Shop(Catalogue):
        """What a backend offers at the moment."""

        def __init__(self, offered: Procedures) -> None:
            self.offered: Procedures | None = offered

        def get(self, name: str) -> BackendOperation | None:
            return None if self.offered is None else self.offered.get(name)

        def names(self) -> tuple[str, ...]:
            return () if self.offered is None else self.offered.names()

    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save."""
        return 1

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

    shop = Shop(backend)
    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=shop)
    surface.mount(Page())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Page.save)) == 1
    shop.offered = None
    error = failed(await agent.call(Page.save), "EXECUTION_FAILED")
    assert error.details == {"reason": "transport", "outcome": "none"}
    assert journal(surface)[-1].why == "the backend no longer offers the operation"


@pytest.mark.requirement("10.3-binding-failed")
async def test_a_binding_that_gives_no_json_fails_for_a_field_that_may_be_left_out_too() -> None:
    backend = Procedures()

    @backend.operation("find", effect="server-query")
    async def find(page: int = 1) -> int:
        """Find."""
        raise AssertionError("no request was to be made")

    class Devices(Component, type="devices"):
        """Devices."""

        find = reference("domain:find")

        @find.bind("page")
        def _(self) -> Any:
            return object()

    surface = surface_of(Devices, backend)
    surface.mount(Devices())
    error = failed(await surface.connect(AGENT).call("domain:find"), "PRECONDITION_FAILED")
    assert error.details == {"reason": "binding-failed"}
