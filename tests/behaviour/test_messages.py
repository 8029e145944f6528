"""What cannot be meant is refused where it is written, in words that say what to write (SPEC 2.3, 4.0, FEEL 11)."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from remit import (
    Approved,
    Authority,
    BackendError,
    Component,
    ConfirmationView,
    Consumer,
    Decider,
    DefinitionError,
    Denied,
    ManualClock,
    Principal,
    Procedures,
    Refused,
    Restrict,
    Surface,
    Unavailable,
    action,
    parallel,
    reference,
)
from remit.compiler import compile_app
from remit.explain import explain
from remit.policies import (
    Deny,
    Disable,
    Policy,
    RequireConfirmation,
    ReviewContext,
    authenticated,
    only_doors,
    only_kinds,
    rate_limit,
)
from remit.store.memory import MemoryStore
from remit.testing import Overrides, assert_available, assert_hidden, assert_unavailable, semantic
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output


class Panel(Component, type="panel"):
    """A panel."""

    @action(confirmation="required")
    def press(self) -> None:
        """Press."""


class Half:
    """Half a store."""

    async def put(self, row: object) -> None:
        """Keep."""


@contextmanager
def entered() -> Iterator[None]:
    yield


class Silent(MemoryStore):
    """A store that does not say whether it is durable."""

    durable = None  # type: ignore[assignment]


async def decide(request: ConfirmationView) -> None:
    return None


async def slow() -> None:
    return None


def of_two(one: object, other: object) -> None:
    return None


WRONG: list[tuple[str, Any, str]] = [
    ("store", "memory", "'memory' is no store: it has no put()"),
    ("store", Half(), "is no store: it has no get()"),
    ("store", MemoryStore, "is no store"),
    ("store", {}, "is no store"),
    ("store", Silent(), "Silent does not say whether requests outlive the process"),
    ("keys", {"k1": "s" * 32}, "keys=…) takes keys by kid, not dict"),
    ("within", "slot", "within=…) takes a function without parameters that makes a context manager, not str"),
    ("within", entered(), "makes a context manager, not one already made"),
    ("within", nullcontext(), "makes a context manager, not one already made"),
    ("within", slow, "makes a context manager, not a function of another kind"),
    ("within", of_two, "makes a context manager, not a function of another kind"),
    ("decide", True, "decide=…) takes an async function of one request, not bool"),
    ("decide", slow, "decide=…) takes an async function of one request, not a function"),
    ("host", slow, "host=…) is asked for each call: a plain function without parameters"),
    ("host", of_two, "host=…) is asked for each call: a plain function without parameters"),
    ("principal", None, "principal=…) takes a Principal, its id, or a function that gives it, not NoneType"),
    ("principal", 7, "principal=…) takes a Principal, its id, or a function that gives it, not int"),
    ("principal", Principal, "not the class Principal"),
    ("principal", slow, "principal=…) is asked for each call: a plain function"),
    ("policies", authenticated(), "policies=…) takes several policies, not _Authenticated"),
    ("policies", "authenticated", "policies=…) takes several policies, not str"),
    ("policies", 7, "policies=…) takes several policies, not int"),
    ("procedures", [7], "procedures=…) takes a catalogue of operations, or several, not list"),
    ("procedures", Procedures, "not the class Procedures"),
    ("exposure", ["view:panel.**"], "exposure=…) takes a mapping, not list"),
    ("exposure", {"mcp": "view:panel.**"}, "patterns are a collection"),
    ("exposure", {"mcp": 7}, "patterns are a collection of texts, not int"),
    ("exposure", {"mcp": [7]}, "a pattern is text, not int"),
    ("policies", b"x", "policies=…) takes several policies, not bytes"),
    ("clock", 7, "clock=…) takes a Clock, not int"),
    ("limits", {"denials": 1}, "limits=…) takes limits, not dict"),
    ("guard", 7, "guard= is a synchronous function"),
]


@pytest.mark.requirement("4.0-arguments-are-judged")
@pytest.mark.parametrize(("name", "given", "told"), WRONG)
async def test_an_argument_of_a_surface_that_cannot_be_meant_is_refused_at_once(
    name: str, given: Any, told: str
) -> None:
    with pytest.raises(TypeError) as refused:
        Surface(authority_of(Panel), **{"principal": "operator", name: given})
    assert told in str(refused.value)


@pytest.mark.requirement("4.0-arguments-are-judged")
@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (authenticated, "the function authenticated is no Policy"),
        (Policy, "a policy class stands where an instance is needed"),
        (None, "no Policy"),
        (3, "no Policy"),
    ],
)
async def test_what_is_no_policy_is_refused_where_it_stands(policy: Any, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        Surface(authority_of(Panel), principal="operator", policies=[policy])


@pytest.mark.requirement("4.0-arguments-are-judged")
async def test_what_an_argument_may_be_is_taken() -> None:
    def current() -> Principal:
        return Principal("operator")

    given: list[dict[str, Any]] = [
        {"store": MemoryStore(), "within": entered, "decide": decide, "host": {"a": 1}},
        {"store": MemoryStore().confirmations, "within": nullcontext, "decide": decide},
        {"principal": current, "host": lambda: {"a": 1}, "policies": iter([authenticated()])},
        {"host": dir},  # one of those that show no signature
    ]
    for each in given:
        Surface(authority_of(Panel), **{"principal": "operator", **each})


MADE: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: rate_limit(5, per_s="1"), TypeError, "rate_limit(per_s=…) is a number of seconds, not str"),  # type: ignore[arg-type]
    (lambda: rate_limit(5, per_s=True), TypeError, "rate_limit(per_s=…) is a number of seconds, not bool"),
    (lambda: rate_limit(5, per_s=float("nan")), ValueError, "above 0"),
    (lambda: only_kinds("actions"), ValueError, "only_kinds: 'actions' is none of observation, action, reference"),
    (lambda: only_doors("http"), ValueError, "only_doors: 'http' is none of embedded, mcp, webmcp, page, test, other"),
    (lambda: only_doors(7), ValueError, "only_doors: 7 is none of"),  # type: ignore[arg-type]
    (lambda: Consumer("a", kind="http"), ValueError, "Consumer(kind=…): 'http' is none of embedded, mcp, webmcp"),
    (lambda: Consumer("a", kind=None), ValueError, "Consumer(kind=…): None is none of"),  # type: ignore[arg-type]
    (lambda: Consumer("a", kind="mcp", scope=7), TypeError, "patterns are a collection of texts, not int"),  # type: ignore[arg-type]
    (lambda: Consumer("a", kind="mcp", scope=[7]), TypeError, "a pattern is text, not int"),  # type: ignore[list-item]
    (lambda: Consumer("a", kind="mcp", actors="ab"), TypeError, "Consumer.actors is a tuple of ids, not str"),  # type: ignore[arg-type]
    (lambda: Consumer("a", kind="mcp", confirm=[7]), TypeError, "an entry of Consumer.confirm is text, not int"),  # type: ignore[list-item]
    (lambda: Principal("a", grants=[1]), TypeError, "an entry of Principal.grants is text, not int"),  # type: ignore[list-item]
    (lambda: Principal("a", grants=None), TypeError, "Principal.grants is a collection of names, not NoneType"),  # type: ignore[arg-type]
    (lambda: Principal("a", attributes=[1]), TypeError, "Principal.attributes is a mapping, not list"),  # type: ignore[arg-type]
    (lambda: Decider("a", [1]), TypeError, "an entry of Decider.grants is text, not int"),  # type: ignore[list-item]
    (lambda: Consumer("a", kind="mcp", grants=[1]), TypeError, "an entry of Consumer.grants is text, not int"),  # type: ignore[list-item]
    (lambda: Restrict(hide=7), TypeError, "Restrict(hide=…) takes several ids or patterns, not int"),  # type: ignore[arg-type]
    (lambda: Restrict(hide=[7]), TypeError, "a pattern is text, not int"),  # type: ignore[list-item]
    (lambda: Restrict(policies=authenticated()), TypeError, "Restrict(policies=…) takes several policies, not"),  # type: ignore[arg-type]
    (lambda: Restrict(policies=7), TypeError, "Restrict(policies=…) takes several policies, not int"),  # type: ignore[arg-type]
    (lambda: Disable(7), TypeError, "Disable(reason) says in text why, not int"),  # type: ignore[arg-type]
    (lambda: Deny(7), TypeError, "Deny(reason=…) is text, not int"),  # type: ignore[arg-type]
    (lambda: RequireConfirmation(summary=7), TypeError, "RequireConfirmation(summary=…) is text, not int"),  # type: ignore[arg-type]
    (
        lambda: RequireConfirmation(approver=""),
        TypeError,
        "RequireConfirmation(approver=…) is the name of a grant, not ''",
    ),
    (lambda: RequireConfirmation(approver=["a"]), TypeError, "is the name of a grant, not ['a']"),  # type: ignore[arg-type]
    (lambda: Approved(by="operator"), TypeError, "'operator' is no Decider"),  # type: ignore[arg-type]
    (lambda: Approved(by=OPERATOR, standing="a"), TypeError, "standing= is a collection of field names"),
    (lambda: Approved(by=OPERATOR, standing=[7]), TypeError, "an entry of standing= is text, not int"),  # type: ignore[list-item]
    (lambda: Denied(by=7), TypeError, "7 is no Decider"),  # type: ignore[arg-type]
    (lambda: ManualClock(7), TypeError, "ManualClock(start) is an aware datetime, not int"),  # type: ignore[arg-type]
    (lambda: ManualClock().advance("1"), TypeError, "takes a number of seconds, not str"),  # type: ignore[arg-type]
    (lambda: ManualClock().advance(float("nan")), ValueError, "time does not go backwards, nor to no end"),
    (lambda: Authority.load(7), TypeError, "Authority.load takes a path, or beside="),  # type: ignore[arg-type]
    (lambda: Authority.load(beside=7), TypeError, "do  Authority.load(beside=__file__)"),  # type: ignore[arg-type]
    (lambda: compile_app(7), TypeError, "takes the path of the program, not int\n  do  compile_app(__file__)"),  # type: ignore[arg-type]
    (lambda: Unavailable(None), TypeError, "Unavailable(reason) says in text why, not NoneType"),  # type: ignore[arg-type]
    (lambda: Refused(None), TypeError, "Refused(reason) says in text why, not NoneType"),  # type: ignore[arg-type]
    (lambda: Refused("no", outcome="x"), ValueError, "Refused(outcome=…): 'x' is none of"),
    (lambda: Overrides(None), TypeError, "Overrides(authority, …) needs an Authority"),  # type: ignore[arg-type]
    (lambda: semantic("x"), TypeError, "semantic takes a snapshot or several events, not str"),  # type: ignore[arg-type]
    (lambda: semantic(7), TypeError, "semantic takes a snapshot or several events, not int"),  # type: ignore[arg-type]
    (lambda: assert_available(None, "view:a.b"), TypeError, "assert_available takes what lists capabilities"),  # type: ignore[arg-type]
    (lambda: assert_unavailable(7, "view:a.b"), TypeError, "assert_unavailable takes what lists"),  # type: ignore[arg-type]
    (lambda: assert_hidden(Panel, Panel.press), TypeError, "a snapshot, not the class Panel"),  # type: ignore[arg-type]
    (lambda: Denied(by=OPERATOR, reason=7), TypeError, "deny(reason=…) is text, not int"),  # type: ignore[arg-type]
]


@pytest.mark.requirement("4.0-values-are-judged")
@pytest.mark.parametrize(("make", "kind", "told"), MADE)
def test_a_value_that_cannot_be_meant_is_refused_in_words_of_its_own(
    make: Callable[[], object], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind) as refused:
        make()
    assert told in str(refused.value)


@pytest.mark.requirement("6.6-modes-are-judged")
@pytest.mark.parametrize(
    ("places", "told"),
    [((), "parallel()"), ((0,), "parallel(0)"), ((-1,), "parallel(-1)"), ((True,), "parallel(True)")],
)
def test_a_number_of_calls_that_is_none_is_told_as_it_was_written(places: tuple[int, ...], told: str) -> None:
    with pytest.raises(DefinitionError) as refused:

        class Odd(Component, type="odd"):
            """Odd."""

            @action(concurrency=parallel(*places))
            def put(self) -> None:
                """Put."""

    assert f"concurrency={told} says no number of calls" in refused.value.rule


NOBODY: Any = "agent"
NONE: Any = []


def meta(surface: Surface, **given: Any) -> Any:
    return surface.connect(AGENT).toolset(mode="meta", **given)


TEXT: Any = "view:panel.press"
ASKED: list[tuple[Callable[[Surface], object], type[Exception], str]] = [
    (lambda surface: surface.cancel("x", NOBODY), TypeError, "'agent' is no Consumer\n  do  give who is asking"),
    (lambda surface: surface.subscribe(print, consumer=NOBODY), TypeError, "'agent' is no Consumer"),
    (lambda surface: surface.suspend(consumer=NOBODY), TypeError, "'agent' is no Consumer"),
    (lambda surface: surface.suspend(capability=NOBODY), ValueError, "the contract knows no capability 'agent'"),
    (lambda surface: surface.reinstate(capability=7), TypeError, "7 names no capability"),  # type: ignore[arg-type]
    (lambda surface: surface.subscribe(print, types=["mounted"]), ValueError, "'mounted' is none of surface-changed,"),  # type: ignore[list-item]
    (lambda surface: surface.audit(types=["mounts"]), ValueError, "audit(types=…): 'mounts' is none of invocation,"),
    (lambda surface: surface.audit(types=0), TypeError, "audit(types=…): types is a collection, not int"),  # type: ignore[arg-type]
    (lambda surface: surface.audit(invocation=0), TypeError, "audit(invocation=…) is the id of one invocation"),  # type: ignore[arg-type]
    (lambda surface: surface.subscribe(print, types=0), TypeError, "subscribe(types=…): types is a collection,"),  # type: ignore[arg-type]
    (lambda surface: surface.connect(AGENT).toolset(waits="no"), TypeError, "toolset(waits=…) takes True or"),  # type: ignore[call-overload]
    (lambda surface: meta(surface, budget=""), TypeError, "budget is a number of bytes, not str"),
    (lambda surface: meta(surface, budget=True), TypeError, "budget is a number of bytes, not bool"),
    (lambda surface: meta(surface, prefixes=0), TypeError, "prefixes is a collection of texts, not int"),
    (lambda surface: meta(surface, prefixes=[0]), TypeError, "an entry of prefixes is text, not int"),
    (lambda surface: meta(surface).call(NONE, {}), TypeError, "call(name, …) takes the name of a tool"),
    (lambda surface: surface.connect(AGENT).toolset().call(NONE, {}), TypeError, "as it was listed, not list"),
    (lambda surface: surface.audit_to(print), TypeError, "takes what has write(entry), plain or async, not builtin"),  # type: ignore[arg-type]
    (lambda surface: surface.audit_to(Half), TypeError, "plain or async, not the class Half"),  # type: ignore[arg-type]
    (lambda surface: surface.set_route(7), TypeError, "set_route(path) takes text such as"),  # type: ignore[arg-type]
    (lambda surface: surface.mounted(7), TypeError, "mounted(kind) takes a class of components, not int"),  # type: ignore[arg-type]
    (lambda surface: surface.mounted(str), TypeError, "not str\n  do  write mounted(DevicesTable)"),  # type: ignore[type-var]
    (lambda surface: surface.snapshot(AGENT, prefixes=7), TypeError, "prefixes is a collection of texts, not int"),  # type: ignore[arg-type]
    (lambda surface: surface.snapshot(AGENT, tags=[7]), TypeError, "an entry of tags is text, not int"),  # type: ignore[list-item]
    (lambda surface: surface.snapshot(AGENT, effects="read"), TypeError, "effects is a collection, not one text"),
    (lambda surface: surface.snapshot(AGENT, effects=["write"]), ValueError, "effects: 'write' is none of read, local"),
    (lambda surface: surface.snapshot(AGENT, budget=-1), ValueError, "budget is a number of bytes, not -1"),
    (lambda surface: surface.invoke(TEXT, AGENT), TypeError, "'view:panel.press' is no Invocation\n  do  write"),
    (lambda surface: surface.preflight(TEXT, AGENT), TypeError, "'view:panel.press' is no Invocation"),
    (lambda surface: surface.continue_("x", NOBODY), TypeError, "'agent' is no Consumer"),
    (lambda surface: surface.withdraw("x", NOBODY), TypeError, "'agent' is no Consumer"),
    (lambda surface: surface.decided("x", NOBODY, timeout=1), TypeError, "'agent' is no Consumer"),
    (lambda surface: surface.cancel(NONE, AGENT), TypeError, "[] is no id of a call: an id is text"),
    (lambda surface: surface.continue_(NONE, AGENT), TypeError, "[] is no id of a request"),
    (lambda surface: surface.resume(NONE), TypeError, "[] is no id of a request"),
    (lambda surface: surface.withdraw(NONE, AGENT), TypeError, "[] is no id of a request"),
    (lambda surface: surface.decided(NONE, AGENT, timeout=1), TypeError, "[] is no id of a request"),
    (lambda surface: surface.decided("x", AGENT, timeout="1"), TypeError, "timeout= is a number of seconds, not str"),  # type: ignore[arg-type]
    (lambda surface: surface.decided("x", AGENT, timeout=True), TypeError, "timeout= is a number of seconds, not bool"),
    (lambda surface: surface.decided("x", AGENT, timeout=float("nan")), ValueError, "seconds, not nan"),
    (lambda surface: surface.handoff(NONE, AGENT), TypeError, "[] is no id of a handoff"),
    (lambda surface: surface.confirmations.get(NONE), TypeError, "[] is no id of a request"),
    (lambda surface: surface.confirmations.approve(NONE, OPERATOR), TypeError, "[] is no id of a request"),
    (lambda surface: surface.confirmations.deny(NONE, OPERATOR), TypeError, "[] is no id of a request"),
    (lambda surface: surface.confirmations.wait(NONE), TypeError, "[] is no id of a request"),
    (lambda surface: surface.confirmations.revoke(NONE, OPERATOR), TypeError, "[] is no id of a standing approval"),
    (lambda surface: surface.handoffs.get(NONE), TypeError, "[] is no id of a handoff"),
    (lambda surface: surface.handoffs.complete(NONE, OPERATOR), TypeError, "[] is no id of a handoff"),
    (lambda surface: surface.handoffs.decline(NONE, OPERATOR), TypeError, "[] is no id of a handoff"),
    (lambda surface: explain(surface, NOBODY), TypeError, "'agent' is no Consumer"),
    (lambda surface: surface.dispose("gone"), ValueError, "dispose(cause=…): 'gone' is none of unmounted,"),  # type: ignore[arg-type]
    (lambda surface: surface.mount(Panel()).unmount("gone"), ValueError, "unmount(cause=…): 'gone' is none of"),  # type: ignore[arg-type]
    (lambda surface: surface.connect(AGENT).call(TEXT, progress=7), TypeError, "progress= is a plain function"),  # type: ignore[arg-type]
    (lambda surface: surface.connect(AGENT).call(TEXT, progress=slow), TypeError, "progress= is a plain function"),  # type: ignore[arg-type]
]


@pytest.mark.requirement("4.13-what-is-asked-is-judged")
@pytest.mark.parametrize(("ask", "kind", "told"), ASKED)
async def test_what_a_surface_is_asked_and_cannot_be_meant_is_refused_in_words_of_its_own(
    ask: Callable[[Surface], object], kind: type[Exception], told: str
) -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    live = surface.mount(Panel(), "live")
    with pytest.raises(kind) as refused:
        answer = ask(surface)
        if isinstance(answer, Coroutine):
            await answer
    assert told in str(refused.value)
    assert live.status == "mounted" and surface.route is None
    assert {entry.type.value for entry in surface.audit()} == {"registration"}


class Wishing(Policy, name="wishing"):
    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        return RequireConfirmation(approver="")


@pytest.mark.requirement("5.2-an-answer-that-cannot-be-meant-closes")
async def test_a_review_that_names_nobody_as_approver_closes_and_the_operator_reads_why() -> None:
    class Page(Component, type="page"):
        """A page."""

        @action(policies=(Wishing(),))
        def put(self) -> None:
            """Put."""

    surface = Surface(authority_of(Page), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Page())
    failed(await surface.connect(AGENT).call(Page.put), "NOT_AUTHORIZED")
    (entry,) = journal(surface)
    assert "is the name of a grant" in str(entry.votes[0].cause)
    assert surface.confirmations.pending() == ()


@pytest.mark.requirement("7.4-a-decider-decides")
async def test_who_decides_is_a_decider_and_nothing_else() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    confirmations = surface.confirmations
    confirmations.subscribe(lambda view: None)
    surface.mount(Panel())
    agent = surface.connect(AGENT)
    id = str(failed(await agent.call(Panel.press), "CONFIRMATION_REQUIRED").details["confirmation_id"])
    who: Any = "operator"
    for answer in (confirmations.approve(id, who), confirmations.deny(id, who), confirmations.approve(id, None)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="is no Decider\n  do  give the person"):
            await answer
    for look in (confirmations.pending, confirmations.standing, lambda one: confirmations.get(id, one)):
        with pytest.raises(TypeError, match="'operator' is no Decider"):
            look(who)
    nobody: Any = None
    for answer in (confirmations.revoke("x", who), confirmations.revoke("x", nobody), confirmations.deny(id, nobody)):
        with pytest.raises(TypeError, match="is no Decider"):
            await answer
    reason: Any = 7
    with pytest.raises(TypeError, match=r"reason=…\) is text, not int"):
        await confirmations.deny(id, OPERATOR, reason)
    assert [view.id for view in confirmations.pending()] == [id]
    await confirmations.approve(id, OPERATOR)
    assert output(await agent.call(Panel.press, confirmation=id)) is None


@pytest.mark.requirement("7.12-away-says-so")
async def test_approving_while_the_part_of_the_page_is_away_says_so() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    mount = surface.mount(Panel(), identity="one")
    failed(await surface.connect(AGENT).call(Panel.press), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    mount.unmount()
    with pytest.raises(RuntimeError, match="is away: approve when it is back, or deny"):
        await surface.confirmations.approve(view.id, OPERATOR)
    surface.mount(Panel(), identity="one")
    await surface.confirmations.approve(view.id, OPERATOR)


@pytest.mark.requirement("10.1-what-cannot-be-told-is-said")
@pytest.mark.parametrize(
    ("raised", "told", "declared"),
    [
        ({"code": "a b"}, "code= cannot be told", None),
        ({"code": ""}, "code= cannot be told", None),
        ({"code": "x" * 81}, "code= cannot be told", None),
        ({"code": "full", "data": {1}}, "data= cannot be told: it is no JSON", {"code": "full"}),
        ({"code": "full", "data": "x" * 3_000}, "data= cannot be told: it has more than 2,048 bytes", {"code": "full"}),
        ({"code": "full", "data": {"a": 1}}, None, {"code": "full", "data": {"a": 1}}),
    ],
)
async def test_what_a_backend_declares_and_cannot_be_told_is_said_to_the_operator(
    raised: dict[str, Any], told: str | None, declared: dict[str, object] | None
) -> None:
    backend = Procedures()

    @backend.operation("do", effect="server-mutation")
    async def do() -> None:
        """Do."""
        raise BackendError(409, **raised)

    class Doing(Component, type="doing"):
        """Doing."""

        do = reference("domain:do")

    surface = Surface(authority_of(Doing, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Doing())
    error = failed(await surface.connect(AGENT).call(Doing.do), "PRECONDITION_FAILED")
    assert error.details.get("declared") == declared
    if told is not None:
        with pytest.raises(TypeError, match=told) as wrong:
            BackendError(409, **raised)
        assert isinstance(wrong.value, BackendError)
        assert any(told in (entry.cause or "") for entry in journal(surface))


@pytest.mark.requirement("4.0-an-exit-ends-its-own-thread")
async def test_a_function_that_exits_ends_its_own_thread_and_not_the_loop() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    elsewhere = surface.from_thread()

    async def interrupted() -> None:
        raise KeyboardInterrupt

    left = await asyncio.to_thread(raised_by, lambda: elsewhere.run(sys.exit, 3))
    assert isinstance(left, SystemExit)
    assert left.code == 3
    assert isinstance(await asyncio.to_thread(raised_by, lambda: elsewhere.run(interrupted)), KeyboardInterrupt)
    assert await asyncio.to_thread(elsewhere.run, sys.intern, "on") == "on"


def raised_by(run: Callable[[], object]) -> BaseException | None:
    try:
        run()
    except (SystemExit, KeyboardInterrupt) as raised:
        return raised
    return None
