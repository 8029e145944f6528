"""The guard of a surface, and what `mount` takes at all (SPEC 4.5, 4.1)."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest

from remit import (
    Accept,
    Candidate,
    Component,
    DefinitionError,
    Event,
    EventType,
    Limits,
    Ok,
    Principal,
    Procedures,
    Reject,
    Restrict,
    Surface,
    action,
    observation,
    reference,
)
from remit.explain import explain
from remit.gateway import Gateway
from remit.policies import Decision, Disable, Policy, PolicyContext, read_only, require_grant
from tests.behaviour.conftest import AGENT, authority_of, failed, output

backend = Procedures()


@backend.operation("doors.unlock", effect="server-mutation")
async def unlock(door: str) -> str:
    """Unlock a door."""
    return door


class Gate(Component, type="site.gate"):
    """A gate."""

    def __init__(self) -> None:
        self.open = False

    @observation
    def read(self) -> bool:
        """Read."""
        return self.open

    @action(effect="navigation")
    def swing(self) -> bool:
        """Swing."""
        self.open = not self.open
        return self.open

    unlock = reference("domain:doors.unlock")


AUTHORITY = authority_of(Gate, procedures=backend)
ALL = {"view:site.gate.read", "view:site.gate.swing", "domain:doors.unlock"}


def guarded(guard: Callable[[Candidate], Any], *policies: Policy) -> tuple[Surface, list[Event]]:
    surface = Surface(AUTHORITY, principal="operator", procedures=backend, guard=guard, policies=policies)
    heard: list[Event] = []
    surface.subscribe(heard.append, types=[EventType.REGISTERED, EventType.REJECTED])
    return surface, heard


def listed(surface: Surface) -> set[str]:
    return {str(each.id) for each in surface.connect(AGENT).capabilities()}


@pytest.mark.requirement("4.5-the-candidate")
def test_a_guard_sees_origin_type_instance_capability_ids_and_effects() -> None:
    seen: list[Candidate] = []

    def guard(candidate: Candidate) -> Accept:
        seen.append(candidate)
        return Accept()

    surface, _ = guarded(guard)
    surface.mount(Gate(), "north", origin="acme-gates")
    surface.mount(Gate())
    assert (seen[0].origin, seen[0].type, seen[0].instance) == ("acme-gates", "site.gate", "north")
    assert set(seen[0].capabilities) == ALL
    assert {id: effect.value for id, effect in seen[0].effects.items()} == {
        "view:site.gate.read": "read",
        "view:site.gate.swing": "navigation",
        "domain:doors.unlock": "server-mutation",
    }
    assert (seen[1].origin, seen[1].instance) == ("first-party", "default"), "an origin that is not said is first-party"
    assert listed(surface) == ALL


@pytest.mark.requirement("4.5-the-candidate")
def test_a_guard_cannot_change_what_it_judges() -> None:
    def guard(candidate: Candidate) -> Accept:
        with pytest.raises(dataclasses.FrozenInstanceError):
            candidate.type = "else"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(TypeError):
            cast("Any", candidate.effects)["view:site.gate.swing"] = "read"
        with pytest.raises(AttributeError):
            cast("Any", candidate.capabilities).append("view:site.gate.else")
        object.__setattr__(candidate, "type", "else")
        object.__setattr__(candidate, "capabilities", ())
        return Accept()

    surface, _ = guarded(guard)
    surface.mount(Gate())
    snapshot = surface.snapshot(AGENT)
    assert [(part.type, part.description) for part in snapshot.components] == [("site.gate", "A gate.")]
    assert listed(surface) == ALL, "it was given a copy"


@pytest.mark.requirement("4.5-reject")
async def test_what_a_guard_rejects_is_a_dead_mount_with_an_event_that_says_why() -> None:
    surface, heard = guarded(lambda candidate: Reject("only acme may mount gates"))
    mount = surface.mount(Gate(), origin="elsewhere")
    assert (mount.status, mount.registration_id) == ("rejected", None)
    assert [event.type for event in heard] == [EventType.REJECTED]
    assert dict(heard[0].data) == {
        "type": "site.gate",
        "instance": "default",
        "origin": "elsewhere",
        "reason": "only acme may mount gates",
    }
    (entry,) = surface.audit(types=["registration"])
    assert (entry.status, entry.component, entry.instance, entry.registration) == (
        "rejected",
        "site.gate",
        "default",
        None,
    )
    assert entry.why == "the guard rejected a component of elsewhere: only acme may mount gates"
    assert surface.snapshot(AGENT).surface_version == "0"
    made_up = failed(await surface.connect(AGENT).call("view:site.gate.madeUp"))
    assert failed(await surface.connect(AGENT).call(Gate.read)) == made_up


@pytest.mark.requirement("4.5-reject")
def test_a_rejected_replacement_leaves_the_live_mount_as_it_is() -> None:
    surface, _ = guarded(lambda candidate: Accept() if candidate.origin == "first-party" else Reject("not ours"))
    gate = Gate()
    live = surface.mount(gate)
    assert surface.mount(Gate(), origin="other", on_duplicate="replace").status == "rejected"
    assert surface.mounted(Gate) == (gate,)
    assert surface.mount(Gate(), on_duplicate="replace").status == "mounted"
    assert live.status == "unmounted"


def raising(candidate: Candidate) -> Accept:
    raise OSError("the list of approved components is gone")


async def later(candidate: Candidate) -> Accept:
    return Accept()


@pytest.mark.parametrize(
    "guard",
    [
        raising,
        lambda candidate: None,
        lambda candidate: True,
        lambda candidate: Restrict(),
        lambda candidate: Restrict(hide=["view:*bad"]),
        lambda candidate: Restrict(policies=[cast("Any", object())]),
        lambda candidate: Reject(""),
        lambda candidate: later(candidate),  # noqa: PLW0108 - a coroutine function itself is refused earlier
    ],
    ids=["raises", "none", "true", "nothing", "malformed-pattern", "no-policy", "no-reason", "coroutine"],
)
@pytest.mark.requirement("4.5-raising-rejects")
def test_a_guard_that_raises_or_gives_no_answer_keeps_the_component_out_and_the_operator_reads_why(
    guard: Callable[[Candidate], Any],
) -> None:
    surface, heard = guarded(guard)
    assert surface.mount(Gate()).status == "rejected"
    assert [event.data["reason"] for event in heard] == ["the guard could not decide"]
    fault = next(entry for entry in surface.audit() if entry.cause is not None)
    assert fault.why is not None and "site.gate/default" in fault.why
    assert listed(surface) == set()


@pytest.mark.requirement("4.5-restrict-hides")
async def test_what_a_guard_hides_is_as_unknown_as_a_made_up_id_at_every_look() -> None:
    surface, _ = guarded(lambda candidate: Restrict(hide=["domain:**", "view:site.gate.swing"]))
    gate = Gate()
    surface.mount(gate)
    agent = surface.connect(AGENT)
    assert listed(surface) == {"view:site.gate.read"}
    unknown = failed(await agent.call("view:site.gate.madeUp"), "CAPABILITY_NOT_FOUND")
    assert failed(await agent.call(Gate.swing)) == unknown == failed(await agent.call("domain:doors.unlock"))
    assert output(await agent.call(Gate.read)) is False
    told = explain(surface, AGENT).of("view:site.gate.swing")[0]
    assert (told.outcome, told.why) == ("hidden", "hidden by the policy guard, of the surface")


class Closed(Policy, name="closed"):
    """Lists everything as closed."""

    def discover(self, ctx: PolicyContext) -> Decision:
        """Disable."""
        return Disable("Closed today")


@pytest.mark.requirement("4.5-restrict-adds-policies")
async def test_policies_of_a_guard_stand_over_this_mount_and_no_other() -> None:
    surface, _ = guarded(
        lambda candidate: Restrict(policies=[Closed()]) if candidate.instance == "north" else Accept(),
    )
    surface.mount(Gate(), "north")
    surface.mount(Gate(), "south")
    agent = surface.connect(AGENT)
    error = failed(await agent.call(Gate.read, instance="north"), "CAPABILITY_NOT_AVAILABLE")
    assert error.details == {"reason": "Closed today"}
    assert output(await agent.call(Gate.read, instance="south")) is False
    votes = explain(surface, AGENT).of("view:site.gate.read")[0].votes
    assert [(vote.policy, vote.level, vote.decision) for vote in votes] == [("closed", "surface", "disable")]


@pytest.mark.requirement("4.5-restrict-adds-policies")
async def test_policies_of_a_guard_stand_before_those_of_the_component_and_the_capability() -> None:
    class Lodge(Component, type="site.lodge", policies=[read_only()]):
        """A lodge."""

        @observation(policies=[require_grant("warden")])
        def read(self) -> bool:
            """Read."""
            return True

    surface = Surface(authority_of(Lodge), principal="operator", guard=lambda _: Restrict(policies=[Closed()]))
    surface.mount(Lodge())
    votes = explain(surface, AGENT).of("view:site.lodge.read")[0].votes
    assert [(vote.policy, vote.level) for vote in votes] == [
        ("closed", "surface"),
        ("read-only", "component"),
        ("require-grant:warden", "capability"),
    ]


@pytest.mark.requirement("4.5-restrict-only-narrows")
def test_a_guard_cannot_open_what_the_surface_s_policies_close() -> None:
    class Opens(Policy, name="opens"):
        def discover(self, ctx: PolicyContext) -> Decision:
            from_guard.append(1)
            return cast("Decision", "open")

    from_guard: list[int] = []
    surface, _ = guarded(lambda candidate: Restrict(policies=[require_grant("none")]), read_only())
    surface.mount(Gate())
    assert listed(surface) == set()
    surface, _ = guarded(lambda candidate: Restrict(policies=[Opens()]), read_only())
    surface.mount(Gate())
    assert listed(surface) == set() and from_guard, "an answer that is none hides"


def test_a_guard_that_unmounts_the_parent_it_was_asked_below_leaves_no_orphan() -> None:
    def guard(candidate: Candidate) -> Accept:
        if candidate.instance == "child":
            parent.unmount()
        return Accept()

    surface, _ = guarded(guard)
    parent = surface.mount(Gate(), "parent")
    assert surface.mount(Gate(), "child", parent=parent).status == "rejected"
    assert surface.mounted(Gate) == ()


@pytest.mark.requirement("4.5-raising-rejects")
def test_a_guard_is_a_synchronous_function() -> None:
    for wrong in (later, "accept", Accept()):
        with pytest.raises(TypeError, match="guard= is a synchronous function"):
            Surface(AUTHORITY, principal="operator", procedures=backend, guard=cast("Any", wrong))


@pytest.mark.requirement("4.5-gateway")
async def test_a_gateway_asks_its_guard_about_every_mount_of_every_view() -> None:
    asked: list[str] = []

    def guard(candidate: Candidate) -> Accept | Reject:
        asked.append(candidate.instance)
        return Reject("no") if candidate.instance == "bad" else Accept()

    gateway = Gateway(AUTHORITY, procedures=backend, guard=guard)
    mounted: list[int] = []
    for name in ("good", "bad"):
        session = gateway.open_view(
            principal=lambda: Principal("operator"),
            host=lambda: None,
            within=contextlib.nullcontext,
            title="Site",
            route="/",
        )
        session.surface.mount(Gate(), name)
        mounted.append(len(session.surface.mounted(Gate)))
    assert (asked, mounted) == (["good", "bad"], [1, 0])


@pytest.mark.parametrize(
    ("arguments", "raised", "says"),
    [
        ({"priority": "high"}, TypeError, "priority"),
        ({"priority": True}, TypeError, "priority"),
        ({"priority": 1.5}, TypeError, "priority"),
        ({"enabled": "no"}, TypeError, "enabled"),
        ({"instance": 7}, TypeError, "instance"),
        ({"instance": ""}, DefinitionError, "instance"),
        ({"instance": "a/b"}, DefinitionError, "instance"),
        ({"instance": "x" * 129}, DefinitionError, "instance"),
        ({"on_duplicate": "replcae"}, DefinitionError, "on_duplicate"),
        ({"origin": None}, TypeError, "origin"),
        ({"origin": ""}, DefinitionError, "origin"),
        ({"origin": "two\nlines"}, DefinitionError, "origin"),
        ({"parent": "panel"}, TypeError, "parent"),
    ],
)
@pytest.mark.requirement("4.1-mount-arguments")
def test_a_mount_argument_that_makes_no_sense_is_refused_by_name_and_nothing_is_mounted(
    arguments: dict[str, Any], raised: type[Exception], says: str
) -> None:
    surface = Surface(AUTHORITY, principal="operator", procedures=backend)
    live = surface.mount(Gate())
    with pytest.raises(raised, match=says):
        surface.mount(Gate(), **{"instance": "second", **arguments})
    assert len(surface.mounted(Gate)) == 1
    assert live.status == "mounted"


@pytest.mark.requirement("4.1-mount-arguments")
def test_a_parent_is_a_mount_of_the_same_surface() -> None:
    one = Surface(AUTHORITY, principal="operator", procedures=backend)
    other = Surface(AUTHORITY, principal="operator", procedures=backend)
    with pytest.raises(ValueError, match="another surface"):
        one.mount(Gate(), parent=other.mount(Gate()))
    assert one.mounted(Gate) == ()


@pytest.mark.requirement("4.1-mount-arguments")
async def test_deadlines_limits_and_priorities_that_make_no_sense_are_refused_where_they_are_written() -> None:
    with pytest.raises(DefinitionError, match="timeout"):

        class Late(Component, type="late"):
            """Late."""

            @action(timeout=-5)
            def run(self) -> None:
                """Run."""

    with pytest.raises(ValueError, match="action_s"):
        Limits(action_s=-5)
    with pytest.raises(TypeError, match="limits"):
        Surface(AUTHORITY, principal="operator", procedures=backend, limits=cast("Any", {"action_s": 1}))
    surface = Surface(AUTHORITY, principal="operator", procedures=backend)
    surface.mount(Gate())
    with pytest.raises(ValueError, match="timeout"):
        await surface.connect(AGENT).call(Gate.read, timeout=-5)
    assert isinstance(await surface.connect(AGENT).call(Gate.read), Ok)
