"""Policies: their answers, their order, what raising means (SPEC 5)."""

import asyncio
from typing import Any, cast

import pytest

from remit import (
    Component,
    Consumer,
    Decider,
    DefinitionError,
    ErrorCode,
    ManualClock,
    Ok,
    Principal,
    Surface,
    action,
    observation,
)
from remit.policies import (
    Decision,
    Deny,
    Disable,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    RequireConfirmation,
    ReviewContext,
    authenticated,
    require_confirmation,
    require_grant,
)
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, contract_of, failed, journal, output, turns


class Panel(Component, type="panel"):
    """A panel."""

    def __init__(self) -> None:
        self.ran: list[int] = []

    @observation
    def read(self) -> int:
        """Read."""
        return len(self.ran)

    @action
    def put(self, count: int = 1) -> int:
        """Put."""
        self.ran.append(count)
        return count


@pytest.mark.requirement("5.2-a-typo-opens-nothing")
@pytest.mark.parametrize("method", ["discovr", "authorise", "reviews", "check", "arround"])
def test_a_public_method_that_is_none_of_the_four_is_a_definition_error(method: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        type("Typo", (Policy,), {method: lambda self, ctx: None}, name="typo")
    assert refused.value.code == "INVALID_DEFINITION" and method in str(refused.value)
    type("Fine", (Policy,), {f"_{method}": lambda self, ctx: None}, name="fine")


@pytest.mark.requirement("5.2-a-policy-has-a-name")
def test_a_policy_needs_a_stable_name_and_the_right_kind_of_methods() -> None:
    async def coroutine(self: object, ctx: object) -> None: ...

    for body, name in (
        ({}, None),
        ({}, "Bad Name"),
        ({"discover": coroutine}, "x"),
        ({"authorize": lambda self, ctx: None}, "x"),
        ({"review": lambda self: None}, "x"),
    ):
        with pytest.raises(DefinitionError):
            type("P", (Policy,), body, **({} if name is None else {"name": name}))


@pytest.mark.requirement("5.2-deny")
async def test_a_deny_has_one_of_three_codes_and_its_reason_is_shown_as_capped_data() -> None:
    answer: list[Deny] = []

    class Gate(Policy, name="gate"):
        async def authorize(self, ctx: PolicyContext) -> Deny:
            return answer[0]

    surface = Surface(authority_of(Panel), principal="operator", policies=[Gate()])
    panel = Panel()
    surface.mount(panel)

    async def refused(deny: Deny) -> tuple[str, str, dict[str, object]]:
        answer[:] = [deny]
        error = failed(await surface.connect(AGENT).call(Panel.put))
        return error.code, error.message, dict(error.details)

    plain = await refused(Deny())
    assert plain == (
        "NOT_AUTHORIZED",
        "This is not permitted. Stop: do not look for another way.",
        {"origin": "client"},
    )
    code, message, details = await refused(Deny("Only\nthe lead\u202e " + "x" * 300))
    assert (code, message) == plain[:2]
    assert str(details["reason"]).startswith("Only the lead xxx") and len(str(details["reason"])) == 200
    assert (await refused(Deny(code=ErrorCode.NOT_AUTHENTICATED)))[0] == "NOT_AUTHENTICATED"
    code, _, details = await refused(Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=1500))
    assert (code, details) == ("RATE_LIMITED", {"reason": "rate", "retry_after_ms": 1500})
    _, _, details = await refused(Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=0))
    assert details["retry_after_ms"] == 1_000, "an agent that may come at once would only be refused again"
    assert panel.ran == []
    for wrong in ({"code": ErrorCode.TIMEOUT}, {"code": ErrorCode.RATE_LIMITED}, {"retry_after_ms": 5}):
        with pytest.raises(ValueError):
            Deny(**cast(Any, wrong))


@pytest.mark.requirement("5.2-raising-closes")
async def test_a_raising_policy_closes_and_its_cause_goes_to_the_operator_only() -> None:
    class Discover(Policy, name="p-discover"):
        def discover(self, ctx: PolicyContext) -> Decision:
            raise RuntimeError("secret-4711")

    class Authorize(Policy, name="p-authorize"):
        async def authorize(self, ctx: PolicyContext) -> None:
            raise RuntimeError("secret-4711")

    class Review(Policy, name="p-review"):
        async def review(self, ctx: ReviewContext) -> None:
            raise RuntimeError("secret-4711")

    class Around(Policy, name="p-around"):
        async def around(self, ctx: PolicyContext, call_next: Any) -> object:
            raise RuntimeError("secret-4711")

    for policy, code in (
        (Discover(), "CAPABILITY_NOT_FOUND"),
        (Authorize(), "NOT_AUTHORIZED"),
        (Review(), "NOT_AUTHORIZED"),
        (Around(), "EXECUTION_FAILED"),
    ):
        surface = Surface(authority_of(Panel), principal="operator", policies=[policy])
        panel = Panel()
        surface.mount(panel)
        error = failed(await surface.connect(AGENT).call(Panel.put), code)
        assert "secret" not in str(error) and panel.ran == []
        (entry,) = journal(surface)
        assert "secret-4711" in (entry.cause or "") + "".join(vote.cause or "" for vote in entry.votes)


@pytest.mark.requirement("5.2-no-answer-closes")
async def test_a_policy_that_answers_something_else_closes() -> None:
    class Discover(Policy, name="p-discover"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return cast(Decision, True)

    class Authorize(Policy, name="p-authorize"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            return cast(Deny, True)

    class Review(Policy, name="p-review"):
        async def review(self, ctx: ReviewContext) -> Deny | None:
            return cast(Deny, False)

    codes = []
    for policy in (Discover(), Authorize(), Review()):
        surface = Surface(authority_of(Panel), principal="operator", policies=[policy])
        surface.mount(Panel())
        codes.append(failed(await surface.connect(AGENT).call(Panel.put)).code.value)
    assert codes == ["CAPABILITY_NOT_FOUND", "NOT_AUTHORIZED", "NOT_AUTHORIZED"]


@pytest.mark.requirement("5.2-around")
async def test_around_must_return_what_call_next_gave_once() -> None:
    behave: list[str] = []
    order: list[str] = []

    class Around(Policy, name="around"):
        async def around(self, ctx: PolicyContext, call_next: Any) -> object:
            order.append("before")
            match behave[0]:
                case "well":
                    given = await call_next()
                    order.append("after")
                    return given
                case "never":
                    return 5
                case "forged":
                    await call_next()
                    return 5
                case "twice":
                    await call_next()
                    return await call_next()
                case _:
                    try:
                        await call_next()
                    finally:
                        raise RuntimeError("secret-4711")

    surface = Surface(authority_of(Panel), principal="operator", policies=[Around()])
    panel = Panel()
    surface.mount(panel)
    agent = surface.connect(AGENT)
    behave[:] = ["well"]
    assert output(await agent.call(Panel.put)) == 1
    assert order == ["before", "after"]
    happened = {}
    for manner in ("never", "forged", "twice", "raising"):
        behave[:] = [manner]
        count = len(panel.ran)
        error = failed(await agent.call(Panel.put), "EXECUTION_FAILED")
        assert "secret" not in str(error)
        assert str(error.details["correlation_id"]).startswith("err_")
        happened[manner] = (error.details["outcome"], len(panel.ran) - count)
    assert happened == {"never": ("none", 0), "forged": ("done", 1), "twice": ("done", 1), "raising": ("done", 1)}


@pytest.mark.requirement("5.3-order-and-strictest")
async def test_levels_run_surface_component_capability_and_the_strictest_wins_with_its_first_reason() -> None:
    order: list[str] = []

    class Level(Policy, name="level"):
        def __init__(self, name: str, answer: Decision) -> None:
            self.name = name
            self._answer = answer

        def discover(self, ctx: PolicyContext) -> Decision:
            order.append(self.name)
            return self._answer

    answers: list[Level] = [
        Level("surface", Expose()),
        Level("component", Disable("first")),
        Level("own", Disable("second")),
    ]

    class Table(Component, type="table", policies=(answers[1],)):
        """A table."""

        @observation(policies=(answers[2],))
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator", policies=[answers[0]])
    surface.mount(Table())
    assert failed(await surface.connect(AGENT).call(Table.read)).details == {"reason": "first"}
    assert order[:3] == ["surface", "component", "own"]
    answers[2]._answer = Hide()
    failed(await surface.connect(AGENT).call(Table.read), "CAPABILITY_NOT_FOUND")
    answers[2]._answer = answers[1]._answer = Expose()
    assert output(await surface.connect(AGENT).call(Table.read)) == 1


@pytest.mark.requirement("5.3-input-cannot-be-changed")
async def test_policies_cannot_change_the_input() -> None:
    class Meddle(Policy, name="meddle"):
        async def review(self, ctx: ReviewContext) -> None:
            cast(Any, ctx.input["values"]).append(99)
            with pytest.raises(TypeError):
                cast(Any, ctx.input)["extra"] = 1

    seen: list[object] = []

    class Watch(Policy, name="watch"):
        async def review(self, ctx: ReviewContext) -> None:
            seen.append(ctx.input["values"])

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, values: list[int]) -> list[int]:
            """Put."""
            return values

    surface = Surface(authority_of(Table), principal="operator", policies=[Meddle(), Watch()])
    surface.mount(Table())
    assert output(await surface.connect(AGENT).call(Table.put, {"values": [1]})) == [1]
    assert seen == [[1]]


@pytest.mark.requirement("5.2-authorize-sees-no-input")
async def test_no_input_is_in_sight_of_authorize_and_discover() -> None:
    seen: list[object] = []

    class Watch(Policy, name="watch"):
        def discover(self, ctx: PolicyContext) -> Decision:
            seen.append(hasattr(ctx, "input"))
            return Expose()

        async def authorize(self, ctx: PolicyContext) -> None:
            seen.append(hasattr(ctx, "input"))

        async def review(self, ctx: ReviewContext) -> None:
            seen.append(dict(ctx.input))

    surface = Surface(authority_of(Panel), principal="operator", policies=[Watch()])
    surface.mount(Panel())
    await surface.connect(AGENT).call(Panel.put, {"count": 3})
    assert {"count": 3} in seen and True not in seen


@pytest.mark.requirement("5.2-review-deny")
async def test_review_decides_with_the_input_in_sight() -> None:
    class Big(Policy, name="big"):
        async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
            count = cast(int, ctx.input["count"])
            return Deny("Too many") if count > 100 else RequireConfirmation(summary="Many") if count > 10 else None

    surface = Surface(authority_of(Panel), principal="operator", policies=[Big()])
    surface.confirmations.subscribe(lambda view: None)
    panel = Panel()
    surface.mount(panel)
    agent = surface.connect(AGENT)
    assert output(await agent.call(Panel.put, {"count": 10})) == 10
    failed(await agent.call(Panel.put, {"count": 11}), "CONFIRMATION_REQUIRED")
    assert surface.confirmations.pending()[0].summary == "Many"
    assert failed(await agent.call(Panel.put, {"count": 101}), "NOT_AUTHORIZED").details["reason"] == "Too many"
    assert panel.ran == [10]


@pytest.mark.requirement("5.2-review-deny-is-not-authorized")
@pytest.mark.parametrize(
    ("deny", "why"),
    [
        (Deny("Too many"), None),
        (Deny("Too many", code=ErrorCode.NOT_AUTHENTICATED), "the policy answered NOT_AUTHENTICATED"),
        (Deny("Too many", code=ErrorCode.RATE_LIMITED, retry_after_ms=9), "the policy answered RATE_LIMITED"),
    ],
)
async def test_whatever_code_a_review_denies_with_the_agent_is_not_authorized(deny: Deny, why: str | None) -> None:
    class Big(Policy, name="big"):
        async def review(self, ctx: ReviewContext) -> Deny:
            return deny

    surface = Surface(authority_of(Panel), principal="operator", policies=[Big()])
    surface.mount(Panel())
    error = failed(await surface.connect(AGENT).call(Panel.put), "NOT_AUTHORIZED")
    assert (error.retry, dict(error.details)) == ("no", {"origin": "client", "reason": "Too many"})
    (entry,) = [each for each in surface.audit() if each.code is ErrorCode.NOT_AUTHORIZED]
    assert entry.why == why


@pytest.mark.requirement("5.3-strictest-review")
async def test_a_deny_beats_a_confirmation_and_every_named_approver_is_needed() -> None:
    answers: list[Deny | RequireConfirmation | None] = [None, None]

    class First(Policy, name="first"):
        async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
            return answers[0]

    class Second(Policy, name="second"):
        async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
            return answers[1]

    surface = Surface(authority_of(Panel), principal="operator", policies=[First(), Second()])
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Panel())
    agent = surface.connect(AGENT)
    answers[:] = [RequireConfirmation(), Deny("no")]
    failed(await agent.call(Panel.put), "NOT_AUTHORIZED")
    assert surface.confirmations.pending() == ()
    answers[:] = [RequireConfirmation(summary="one", approver="a"), RequireConfirmation(summary="two", approver="b")]
    failed(await agent.call(Panel.put), "CONFIRMATION_REQUIRED")
    (request,) = surface.confirmations.pending()
    assert request.summary == "one"
    for grants in ((), ("a",), ("b",)):
        with pytest.raises(PermissionError):
            await surface.confirmations.approve(request.id, Decider("lead", grants))
    await surface.confirmations.approve(request.id, Decider("lead", ("a", "b")))


@pytest.mark.requirement("5.4-discover-again")
async def test_at_invocation_every_policys_discover_runs_again() -> None:
    open_: list[bool] = [True]

    class Hours(Policy, name="hours"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Expose() if open_[0] else Hide()

        async def authorize(self, ctx: PolicyContext) -> None:
            return None

    surface = Surface(authority_of(Panel), principal="operator", policies=[Hours()])
    surface.mount(Panel())
    agent = surface.connect(AGENT)
    assert len(agent.capabilities()) == 2
    open_[0] = False
    failed(await agent.call(Panel.put), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("5.5-authenticated-and-grants")
async def test_require_grant_hides_from_principals_without_it_whatever_the_consumer_holds() -> None:
    grants: set[str] = set()
    surface = Surface(
        authority_of(Panel),
        principal=lambda: Principal("operator", grants=grants),
        policies=[authenticated(), require_grant("fleet")],
    )
    surface.mount(Panel())
    granted = surface.connect(Consumer("agent", kind="test", grants={"fleet"}))
    failed(await granted.call(Panel.read), "CAPABILITY_NOT_FOUND")
    grants.add("fleet")
    assert output(await granted.call(Panel.read)) == 0
    assert (authenticated().name, require_grant("fleet").name) == ("authenticated", "require-grant:fleet")


@pytest.mark.requirement("5.5-require-confirmation")
async def test_require_confirmation_asks_when_its_condition_holds_and_closes_when_it_raises() -> None:
    def when(ctx: ReviewContext) -> bool:
        return 10 // cast(int, ctx.input["count"]) < 5

    policy = require_confirmation(when=when, summary="Look twice")
    surface = Surface(authority_of(Panel), principal="operator", policies=[policy])
    surface.confirmations.subscribe(lambda view: None)
    panel = Panel()
    surface.mount(panel)
    agent = surface.connect(AGENT)
    assert output(await agent.call(Panel.put, {"count": 1})) == 1
    failed(await agent.call(Panel.put, {"count": 9}), "CONFIRMATION_REQUIRED")
    failed(await agent.call(Panel.put, {"count": 0}), "NOT_AUTHORIZED")
    assert surface.confirmations.pending()[0].summary == "Look twice" and panel.ran == [1]


@pytest.mark.requirement("5.5-clock-and-counter")
async def test_the_clock_and_bounded_counters_are_public_and_the_gate_does_not_charge_twice() -> None:
    class Meter(Policy, name="meter"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            used = ctx.counter(("meter", ctx.clock.local_hour())).add()
            return None if used <= 2 else Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=1)

    clock = ManualClock()
    surface = Surface(authority_of(Panel), principal="operator", policies=[Meter()], clock=clock)
    surface.mount(Panel())
    agent = surface.connect(AGENT)
    codes = [isinstance(await agent.call(Panel.put), Ok) for _ in range(3)]
    assert codes == [True, True, False]
    clock.advance(3_600)
    assert isinstance(await agent.call(Panel.put), Ok)


@pytest.mark.requirement("5.8-tenants-have-counters-of-their-own")
async def test_two_tenants_do_not_share_a_counter() -> None:
    used: list[int] = []

    class Meter(Policy, name="meter"):
        async def authorize(self, ctx: PolicyContext) -> None:
            used.append(ctx.counter("meter").add())

    policy = Meter()
    for tenant in ("a", "b", None):
        surface = Surface(authority_of(Panel), principal=Principal("operator", tenant=tenant), policies=[policy])
        surface.mount(Panel())
        await surface.connect(AGENT).call(Panel.put)
    assert used[0] == used[2] == 1


@pytest.mark.requirement("5.1-confirm-only-raises")
@pytest.mark.parametrize(
    ("confirm", "asked"),
    [
        ((), False),
        (("local-state",), True),
        (("view:panel.put",), True),
        (("view:**",), True),
        (("navigation",), False),
        (("view:other.**",), False),
    ],
)
async def test_confirm_names_effects_or_patterns_that_always_need_a_person(
    confirm: tuple[str, ...], asked: bool
) -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Panel())
    outcome = await surface.connect(Consumer("agent", kind="test", confirm=confirm)).call(Panel.put)
    assert isinstance(outcome, Ok) is not asked


@pytest.mark.requirement("5.1-confirm-only-raises")
async def test_confirm_cannot_lower_what_is_declared() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def clear(self) -> None:
            """Clear."""

    surface = Surface(authority_of(Table), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    failed(await surface.connect(Consumer("a", kind="test", confirm=())).call(Table.clear), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("5.1-consumer-kinds")
def test_a_consumer_has_one_of_the_six_kinds() -> None:
    assert [Consumer("a", kind=k).kind for k in ("embedded", "mcp", "webmcp", "page", "test", "other")]
    for wrong in ("cli", "", "MCP"):
        with pytest.raises(ValueError):
            Consumer("a", kind=wrong)
    with pytest.raises(TypeError):
        Consumer("", kind="test")
    with pytest.raises(TypeError):
        Consumer("a", kind="test", scope="view:**")


@pytest.mark.requirement("3.9-policies-of-the-contract")
def test_a_policy_that_the_contract_names_for_every_surface_must_be_present() -> None:
    authority = authority_of(Panel, policies=["authenticated"])
    with pytest.raises(DefinitionError) as refused:
        Surface(authority, principal="operator")
    assert refused.value.code == "CONTRACT_MISMATCH" and "authenticated" in str(refused.value)
    Surface(authority, principal="operator", policies=[authenticated()])


@pytest.mark.requirement("3.9-policies-are-part-of-the-contract")
def test_a_recorded_policy_with_another_class_or_other_methods_refuses_the_mount() -> None:
    class Strict(Policy, name="strict"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Hide()

    class Loose(Policy, name="strict"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Expose()

    def with_other_methods() -> Policy:
        class Strict(Policy, name="strict"):
            async def authorize(self, ctx: PolicyContext) -> None:
                return None

        Strict.__qualname__ = type(strict).__qualname__
        return Strict()

    strict = Strict()

    def table(*policies: Policy) -> type[Component]:
        class Table(Component, type="table", policies=policies):
            """A table."""

        return Table

    authority = authority_of(table(strict))
    for changed in (table(Loose()), table(with_other_methods()), table()):
        with pytest.raises(DefinitionError) as refused:
            Surface(authority, principal="operator").mount(changed())
        assert refused.value.code == "CONTRACT_MISMATCH" and "policies" in str(refused.value)
    assert contract_of(table(Strict())) != contract_of(table(Loose()))


@pytest.mark.requirement("6.3-revoked-while-waiting", "6.14-the-gate-looks-again")
async def test_a_permission_revoked_while_a_call_waits_stops_it() -> None:
    grants = {"fleet"}
    gate = asyncio.Event()

    class Slow(Component, type="slow", policies=(require_grant("fleet"),)):
        """Slow."""

        def __init__(self) -> None:
            self.ran = 0

        @action
        async def go(self) -> None:
            """Go."""
            self.ran += 1
            await gate.wait()

    surface = Surface(authority_of(Slow), principal=lambda: Principal("operator", grants=grants))
    slow = Slow()
    surface.mount(slow)
    first = asyncio.create_task(surface.connect(AGENT).call(Slow.go))
    await turns()
    second = asyncio.create_task(surface.connect(AGENT).call(Slow.go))
    await turns()
    grants.clear()
    gate.set()
    output(await first)
    failed(await second, "CAPABILITY_NOT_FOUND")
    assert slow.ran == 1


@pytest.mark.requirement("6.3-revoked-while-waiting")
async def test_a_grant_revoked_while_the_person_thinks_stops_the_call_and_keeps_the_evidence() -> None:
    allowed: list[bool] = [True]

    class May(Policy, name="may"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            return None if allowed[0] else Deny()

    surface = Surface(authority_of(Panel), principal="operator", policies=[May(), require_confirmation()])
    surface.confirmations.subscribe(lambda view: None)
    panel = Panel()
    surface.mount(panel)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Panel.put)).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    allowed[0] = False
    failed(await agent.call(Panel.put, confirmation=asked), "NOT_AUTHORIZED")
    view = surface.confirmations.get(asked)
    assert view is not None and view.status == "approved" and panel.ran == []
    allowed[0] = True
    output(await agent.call(Panel.put, confirmation=asked))


@pytest.mark.requirement("8.2-author-facing")
def test_what_only_has_the_name_of_a_policy_is_refused_when_it_would_have_to_decide() -> None:
    class Looks:
        """Looks like a policy to whoever reads declarations."""

        name = "looks"

    class Table(Component, type="table", policies=(cast(Any, Looks()),)):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    with pytest.raises(DefinitionError, match="is not a Policy"):
        surface.mount(Table())
    assert surface.snapshot(AGENT).components == ()
