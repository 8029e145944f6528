"""`explain`: the developer's view of who sees what, and why (SPEC 4.10)."""

from typing import Any, Literal, cast

import pytest

import remit
from remit import Component, Consumer, ManualClock, Surface, Unavailable, action, observation
from remit.explain import Explained, explain
from remit.policies import (
    Decision,
    Disable,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    rate_limit,
    require_confirmation,
    require_grant,
)
from tests.behaviour.conftest import AGENT, authority_of


class Says(Policy, name="says"):
    """Answers what it is told to."""

    def __init__(self, name: str, answer: Decision | Exception) -> None:
        self.name = name
        self.answer = answer

    def discover(self, ctx: PolicyContext) -> Decision:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


COMPONENT, OWN = Says("component-says", Expose()), Says("own-says", Expose())


class Desk(Component, type="desk", policies=(COMPONENT,)):
    """A desk."""

    def __init__(self) -> None:
        self.open: object = True

    @action(policies=(OWN, require_confirmation()))
    def put(self) -> None:
        """Put."""

    @put.available
    def is_open(self) -> Literal[True] | Unavailable:
        """Whether it is open."""
        if isinstance(self.open, Exception):
            raise self.open
        return cast("Literal[True] | Unavailable", self.open)

    @observation(doors=("embedded",))
    def read(self) -> int:
        """Read."""
        return 1


@pytest.fixture(autouse=True)
def everybody_exposes() -> None:
    COMPONENT.answer = OWN.answer = Expose()


def opened(*policies: Policy) -> tuple[Surface, Desk]:
    surface = Surface(authority_of(Desk), principal="ada", policies=policies, clock=ManualClock())
    surface.confirmations.subscribe(lambda view: None)
    desk = Desk()
    surface.mount(desk)
    return surface, desk


def one(surface: Surface, capability: str = "view:desk.put", consumer: Consumer = AGENT) -> Explained:
    (said,) = explain(surface, consumer).of(capability)
    listed = {str(each.descriptor.id): each for each in surface.connect(consumer).capabilities()}
    assert (said.outcome != "hidden") is (capability in listed)
    if capability in listed:
        assert (said.outcome == "available", said.reason) == (listed[capability].available, listed[capability].reason)
    return said


@pytest.mark.requirement("4.10-hidden-ones-too")
def test_what_is_hidden_is_listed_with_the_policy_that_hid_it() -> None:
    surface, _ = opened(require_grant("admin"))
    said = one(surface)
    assert (said.outcome, said.why) == ("hidden", "hidden by the policy require-grant:admin, of the surface")
    assert said.votes[0].policy == "require-grant:admin" and said.votes[0].decision == "hide"


@pytest.mark.requirement("4.10-hidden-ones-too")
def test_a_door_a_scope_and_a_narrowing_are_named_as_what_hides() -> None:
    surface, _ = opened()
    assert one(surface, "view:desk.read").why == "not exposed at this door"
    scoped = Consumer("agent", kind="test", scope=["view:other.**"])
    assert one(surface, consumer=scoped).why == "outside the consumer's scope"
    assert one(surface, consumer=Consumer("agent", kind="mcp", scope=["view:**"])).outcome == "hidden"
    votes = one(surface, consumer=scoped).votes
    assert [vote.decision for vote in votes] == ["expose", "expose", None], "policies are asked all the same"


@pytest.mark.requirement("4.10-votes-with-level")
def test_every_policy_votes_with_its_level_and_its_methods_outermost_first() -> None:
    surface, _ = opened(Says("surface-says", Expose()), rate_limit(9, per_s=9))
    COMPONENT.answer, OWN.answer = Disable("first"), Disable("second")
    said = one(surface)
    assert [(vote.level, vote.policy, vote.decision, vote.reason, vote.methods) for vote in said.votes] == [
        ("surface", "surface-says", "expose", None, ("discover",)),
        ("surface", "rate-limit:9/9s", None, None, ("authorize",)),
        ("component", "component-says", "disable", "first", ("discover",)),
        ("capability", "own-says", "disable", "second", ("discover",)),
        ("capability", "require-confirmation", None, None, ("review",)),
    ]
    assert (said.outcome, said.reason) == ("unavailable", "first")
    assert said.why == "disabled by the policy component-says, of the component: first"


@pytest.mark.requirement("4.10-votes-with-level")
def test_a_policy_that_raises_is_marked_with_what_it_raised() -> None:
    surface, _ = opened()
    OWN.answer = RuntimeError("broken-4711")
    said = one(surface)
    assert said.outcome == "hidden" and said.why == "hidden by the policy own-says, of the capability: raised"
    assert said.votes[1].decision == "hide" and "broken-4711" in (said.votes[1].cause or "")


@pytest.mark.requirement("4.10-availability-apart")
def test_state_and_policy_are_told_apart() -> None:
    surface, desk = opened()
    desk.open = Unavailable("Closed")
    said = one(surface)
    assert (said.outcome, said.reason, said.availability.reason) == ("unavailable", "Closed", "Closed")
    assert {vote.decision for vote in said.votes} == {"expose", None}
    COMPONENT.answer = Hide()
    said = one(surface)
    assert said.outcome == "hidden" and (said.availability.available, said.availability.reason) == (False, "Closed")
    desk.open = ValueError("broken-4712")
    COMPONENT.answer = Expose()
    said = one(surface)
    assert (said.reason, said.why) == ("when-error", "the predicate raised")
    assert "broken-4712" in (said.availability.cause or "")
    desk.open = True
    assert one(surface).availability.available and one(surface).why is None
    COMPONENT.answer = Disable("Not by policy")
    said = one(surface)
    assert said.outcome == "unavailable" and said.availability.available


@pytest.mark.requirement("4.10-outcome-equals-listing")
def test_a_principal_who_cannot_be_asked_sees_nothing_and_explain_says_so() -> None:
    raising: list[bool] = []

    def host() -> str:
        if raising:
            raise RuntimeError("no host")
        return "host"

    surface = Surface(authority_of(Desk), principal="ada", host=host, clock=ManualClock())
    surface.mount(Desk())
    assert {each.outcome for each in explain(surface, AGENT)} == {"available", "hidden"}
    raising.append(True)
    assert surface.connect(AGENT).capabilities() == ()
    assert {each.outcome for each in explain(surface, AGENT)} == {"hidden"}


@pytest.mark.requirement("4.10-for-developers")
def test_explain_is_not_in_the_front_door_and_refuses_what_is_no_live_surface() -> None:
    assert "explain" not in remit.__all__ and "Explanation" not in remit.__all__
    surface, _ = opened()
    text = str(explain(surface, AGENT))
    assert text.splitlines()[0] == "view:desk.put (default)  available"
    assert "view:desk.read (default)  hidden  not exposed at this door" in text
    surface.dispose()
    with pytest.raises(RuntimeError, match="has ended"):
        explain(surface, AGENT)
    with pytest.raises(TypeError, match="needs a Surface"):
        explain(cast(Any, "surface"), AGENT)
