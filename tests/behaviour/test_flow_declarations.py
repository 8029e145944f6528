"""What a flow may declare, what it is at least, and who sees it (SPEC 11.8, 3.3)."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Handoff,
    Limits,
    Procedures,
    Steps,
    StepsDone,
    Surface,
    action,
    flow,
    observation,
    reference,
)
from remit.errors import DefinitionCode
from remit.explain import explain
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, authority_of, contract_of, failed, output

backend = Procedures()


@backend.operation("log.query", effect="server-query")
async def query() -> int:
    """Ask."""
    return 1


@backend.operation("log.write", effect="server-mutation")
async def write() -> None:
    """Write."""


@backend.operation("log.mail", effect="external-side-effect")
async def mail() -> None:
    """Mail."""


@backend.operation("log.drop", effect="destructive")
async def drop() -> None:
    """Drop."""


def declared(steps: Any, **options: Any) -> type[Component]:
    """A component with one capability of each effect, and a flow of these steps."""

    class Log(Component, type="log"):
        """A log."""

        @observation
        def read(self) -> int:
            """Read."""
            return 0

        @action(idempotent=True)
        def note(self) -> None:
            """Note."""

        @action(reversible=False, confirmation="required", audit="full")
        def clear(self) -> None:
            """Clear."""

        @action(effect="navigation")
        def go(self) -> None:
            """Go."""

        @action(handoff=Handoff("Only you", to="/sign"))
        def sign(self) -> None:
            """Sign."""

        query = reference("domain:log.query")
        write = reference("domain:log.write")
        mail = reference("domain:log.mail", approver="post")
        drop = reference("domain:log.drop", approver="boss")

        @flow(steps=["view:log.read"])
        async def inner(self, steps: Steps) -> None:
            """Inner."""
            await steps.run()

        @flow(steps=steps, **options)
        async def run(self, steps: Steps) -> None:
            """Run them all."""
            for _ in range(steps.of):
                await steps.run()

    return Log


def wrong(make: Callable[[], object]) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        make()
    return caught.value


@pytest.mark.requirement("11.8-declared-with-literal-steps")
@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ((), "is empty"),
        ([], "is empty"),
        ("view:log.read", "a list of ids, not str"),
        ({"view:log.read"}, "a list of ids, not set"),
        (7, "a list of ids, not int"),
        ([7], "the id of a capability as text, not int"),
        (["view:log.none"], "has the step 'view:log.none', which its component does not declare"),
        (["view:other.read"], "has the step 'view:other.read', which its component does not declare"),
        (["domain:log.none"], "has the step 'domain:log.none', which its component does not declare"),
        (["read"], "has the step 'read', which its component does not declare"),
    ],
)
def test_steps_are_a_list_of_ids_of_the_component(steps: Any, rule: str) -> None:
    problem = wrong(lambda: declared(steps))
    assert rule in problem.rule
    assert problem.code is DefinitionCode.INVALID_DEFINITION
    assert problem.subject == "log.run"
    assert problem.place is not None and problem.place.startswith("test_flow_declarations.py:")
    assert problem.do


@pytest.mark.requirement("11.8-declared-with-literal-steps")
def test_twenty_steps_are_the_most() -> None:
    assert declared(["view:log.read"] * Limits().flow_steps)
    problem = wrong(lambda: declared(["view:log.read"] * 21))
    assert (problem.code, problem.rule) == (DefinitionCode.LIMIT_EXCEEDED, "steps= has 21 steps; at most 20")


@pytest.mark.requirement("11.8-no-flows-inside-flows")
@pytest.mark.parametrize("step", ["view:log.inner", "view:log.run"])
def test_no_step_of_a_flow_is_a_flow(step: str) -> None:
    problem = wrong(lambda: declared(["view:log.read", step]))
    assert problem.rule == f"has the step {step}, which is a flow, and there are no flows inside flows"
    assert problem.do == f"write the steps of {step} in its place"


@pytest.mark.requirement("11.8-declared-with-literal-steps")
def test_a_flow_is_async_and_takes_steps_once_and_nothing_else_takes_them() -> None:
    def plain() -> type:
        class Plain(Component, type="plain"):
            """Plain."""

            @action
            def one(self) -> None:
                """One."""

            @flow(steps=["view:plain.one"])
            def run(self, steps: Steps) -> None:
                """Run."""

        return Plain

    assert wrong(plain).rule == "is a flow, and its method is not async"

    class Without(Component, type="without"):
        """Without."""

        @action
        def one(self) -> None:
            """One."""

        @flow(steps=["view:without.one"])
        async def run(self) -> None:
            """Run."""

    assert wrong(lambda: authority_of(Without)).rule == "is a flow and has no parameter annotated `Steps`"

    class Twice(Component, type="twice"):
        """Twice."""

        @action
        def one(self) -> None:
            """One."""

        @flow(steps=["view:twice.one"])
        async def run(self, steps: Steps, more: Steps) -> None:
            """Run."""

    assert wrong(lambda: authority_of(Twice)).rule == "has two parameters `Steps`"

    class Greedy(Component, type="greedy"):
        """Greedy."""

        @action
        async def one(self, steps: Steps) -> None:
            """One."""

    assert wrong(lambda: authority_of(Greedy)).rule == "takes `steps: Steps`, and is no flow"


@pytest.mark.requirement("11.8-worst-of-its-steps")
@pytest.mark.parametrize("effect", ["server-mutation", "destructive", "server-query"])
def test_a_flow_has_no_server_effect_of_its_own(effect: str) -> None:
    problem = wrong(lambda: declared(["view:log.read"], effect=effect))
    assert problem.code is DefinitionCode.PLANE_VIOLATION


STRICTEST: Iterable[tuple[list[str], tuple[str, str, bool, str]]] = (
    (["view:log.read"], ("local-state", "never", True, "metadata")),
    (["domain:log.query"], ("local-state", "never", True, "metadata")),
    (["view:log.note", "view:log.go"], ("navigation", "never", True, "metadata")),
    (["view:log.clear", "view:log.read"], ("local-state", "required", False, "full")),
    (["view:log.go", "domain:log.write"], ("server-mutation", "optional", False, "metadata")),
    (["domain:log.write", "view:log.clear"], ("server-mutation", "required", False, "full")),
    (["domain:log.mail", "view:log.note"], ("external-side-effect", "always", False, "full")),
    (["domain:log.drop", "domain:log.mail"], ("destructive", "always", False, "full")),
)


@pytest.mark.requirement("11.8-worst-of-its-steps")
@pytest.mark.parametrize(("steps", "expected"), STRICTEST)
def test_effect_confirmation_and_audit_are_those_of_the_strictest_step(
    steps: list[str], expected: tuple[str, str, bool, str]
) -> None:
    authority = authority_of(declared(steps), procedures=backend)
    [plan] = [plan for plan in authority.seal(declared(steps)).plans if plan.id == "view:log.run"]
    descriptor = plan.descriptor
    told = (descriptor.effect.value, descriptor.confirmation.value, descriptor.reversible, plan.audit.value)
    assert told == expected
    assert not descriptor.idempotent


@pytest.mark.requirement("11.8-worst-of-its-steps")
def test_what_is_written_at_a_flow_may_raise_and_never_lower() -> None:
    def rule(steps: list[str], **options: Any) -> str:
        return wrong(lambda: authority_of(declared(steps, **options), procedures=backend)).rule

    note, clear, drop = "view:log.note", "view:log.clear", "domain:log.drop"
    assert rule([clear], confirmation="never") == "confirmation='never' is below 'required' of its step view:log.clear"
    assert rule([drop], confirmation="required").endswith("is below 'always' of its step domain:log.drop")
    assert rule([note, clear], idempotent=True) == "idempotent=True, and its step view:log.clear is not"
    assert rule([note, clear], reversible=True) == "reversible=True, and its step view:log.clear is not"
    for options in ({"confirmation": "always"}, {"idempotent": True}, {"reversible": False}, {"effect": "navigation"}):
        authority_of(declared([note], **options), procedures=backend)


@pytest.mark.requirement("11.8-in-the-contract")
def test_the_contract_says_that_it_is_composite_and_of_which_steps() -> None:
    steps = ["view:log.note", "domain:log.write", "view:log.note"]
    text = contract_of(declared(steps), procedures=backend).decode()
    listed = ",\n        ".join(f'"{step}"' for step in steps)
    assert '"composite": true' in text
    assert f'"steps": [\n        {listed}\n      ]' in text
    other = authority_of(declared(steps[::-1][1:]), procedures=backend)
    problem = wrong(lambda: Surface(other, principal="operator", procedures=backend).mount(declared(steps)()))
    assert problem.code is DefinitionCode.CONTRACT_MISMATCH


class Only(Policy, name="only"):
    """Decides by id."""

    def __init__(self, decisions: dict[str, Decision]) -> None:
        self.decisions = decisions

    def discover(self, ctx: PolicyContext) -> Decision:
        return self.decisions.get("" if ctx.capability is None else ctx.capability.id, Expose())


def seen(consumer: Consumer = AGENT, *policies: Policy, **options: Any) -> dict[str, bool]:
    log = declared(["view:log.note", "domain:log.write"])
    exposure = {"page": ["view:**", "domain:**"]}
    authority = authority_of(log, procedures=backend, exposure=options.pop("exposure", exposure))
    surface = Surface(authority, principal="operator", procedures=backend, policies=policies, **options)
    surface.mount(log())
    listed = {each.id: each.available for each in surface.connect(consumer).capabilities()}
    for told in explain(surface, consumer):
        assert (told.outcome != "hidden") == (told.capability in listed)
    return listed


@pytest.mark.requirement("11.8-hidden-with-a-step")
async def test_a_flow_is_hidden_where_any_of_its_steps_is() -> None:
    run, note = "view:log.run", "view:log.note"
    assert seen()[run]
    assert run not in seen(AGENT, Only({note: Hide()}))
    assert not seen(AGENT, Only({run: Disable("not now")}))[run]
    assert run not in seen(AGENT, Only({note: Hide(), run: Disable("not now")}))
    page = Consumer("page", kind="page", scope=("view:**", "domain:**"))
    assert seen(page)[run]
    assert run not in seen(Consumer("page", kind="page", scope=("view:**",)))
    assert run not in seen(page, exposure={"page": ["view:**"]})


@pytest.mark.requirement("11.8-hidden-with-a-step")
async def test_a_flow_with_a_hidden_step_answers_like_an_id_that_was_never_there() -> None:
    log = declared(["view:log.note", "domain:log.write"])
    surface = Surface(authority_of(log, procedures=backend), principal="operator", procedures=backend)
    surface.mount(log())
    agent = surface.connect(AGENT)
    assert agent.capabilities()
    before = surface.snapshot(AGENT).surface_version
    surface.suspend(capability="view:log.note")
    assert "view:log.run" not in {each.id for each in agent.capabilities()}
    assert surface.snapshot(AGENT).surface_version != before
    hidden, unknown = [failed(await agent.call(id)) for id in ("view:log.run", "view:log.none")]
    assert hidden == unknown
    surface.reinstate(capability="view:log.note")
    assert (await agent.call("view:log.run")).steps == StepsDone(2, 2)


@pytest.mark.requirement("11.8-hidden-with-a-step")
async def test_a_disabled_step_does_not_hide_the_flow() -> None:
    assert seen(AGENT, Only({"view:log.note": Disable("not now")}))["view:log.run"]


@pytest.mark.requirement("11.8-shown-at-every-door")
def test_every_listing_says_of_how_many_steps_it_consists() -> None:
    log = declared(["view:log.note", "domain:log.query"])
    surface = Surface(authority_of(log, procedures=backend), principal="operator", procedures=backend)
    surface.mount(log())
    [listed] = [each for each in surface.connect(AGENT).capabilities() if each.id == "view:log.run"]
    form = listed.to_json()
    assert (form["composite"], form["flowSteps"]) == (True, 2)
    tools = {tool["name"]: tool for tool in surface.connect(AGENT).toolset().definitions()}
    assert tools["view_log__run"]["description"] == "[view · local-state · 2 steps] Run them all."
    annotations: Any = tools["view_log__run"]["annotations"]
    assert (annotations["readOnlyHint"], annotations["openWorldHint"]) == (False, True)
    assert "1 step]" in str(tools["view_log__inner"]["description"])


class Looked(Policy, name="looked"):
    """Has looked, and asks for nobody."""

    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        return None


@pytest.mark.requirement("11.8-worst-of-its-steps")
async def test_a_step_that_was_lowered_is_looked_at_by_its_own_policy_and_the_flow_asks() -> None:
    class Lowered(Component, type="lowered"):
        """A lowered step."""

        drop = reference("domain:log.drop", confirmation="optional", reason="a policy looks", policies=(Looked(),))

        @flow(steps=["domain:log.drop"])
        async def run(self, steps: Steps) -> None:
            """Run."""
            await steps.run()

    surface = Surface(authority_of(Lowered, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Lowered())
    failed(await surface.connect(AGENT).call("view:lowered.run"), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("11.8-hidden-with-a-step")
async def test_a_flow_is_unavailable_where_a_step_is_of_a_backend_that_moved() -> None:
    class Writer(Component, type="writer"):
        """Writes."""

        write = reference("domain:log.write")

        @flow(steps=["domain:log.write"])
        async def run(self, steps: Steps) -> str:
            """Run."""
            await steps.run()
            return "done"

    moved = Procedures()

    @moved.operation("log.write", effect="server-mutation")
    async def write_more(text: str) -> None:
        """Write."""

    surface = Surface(authority_of(Writer, procedures=backend), principal="operator", procedures=moved)
    surface.mount(Writer())
    [listed] = [each for each in surface.connect(AGENT).capabilities() if each.id == "view:writer.run"]
    assert (listed.available, listed.reason) == (False, "contract-moved")
    surface = Surface(authority_of(Writer, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Writer())
    assert output(await surface.connect(AGENT).call("view:writer.run")) == "done"
