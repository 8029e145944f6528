"""On random surfaces the outcome that `explain` tells equals what the listing shows (SPEC 4.10)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import Component, Consumer, ManualClock, Mount, Principal, Surface, Unavailable, action, observation
from remit.explain import explain
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext
from tests.behaviour.conftest import authority_of

DECISIONS: list[Decision | None] = [Expose(), Expose(), Expose(), Disable("one"), Disable("two"), Hide(), None]


class Says(Policy, name="says"):
    """Answers what it is told to; None raises."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer: Decision | None = Expose()

    def discover(self, ctx: PolicyContext) -> Decision:
        if self.answer is None:
            raise RuntimeError("broken")
        return self.answer


SURFACE, COMPONENT, OWN = Says("of-surface"), Says("of-component"), Says("of-capability")


class Table(Component, type="a.table", policies=(COMPONENT,)):
    """A table."""

    state: object = True

    @action(policies=(OWN,))
    def put(self) -> None:
        """Put."""

    @put.available
    def may_put(self) -> Any:
        """Whether it may be put."""
        if self.state is None:
            raise RuntimeError("broken")
        return self.state

    @observation(doors=("embedded", "mcp"))
    def read(self) -> int:
        """Read."""
        return 1


class Form(Component, type="a.form"):
    """A form."""

    @action(confirmation="required")
    def send(self) -> None:
        """Send."""

    @observation
    def look(self) -> int:
        """Look."""
        return 1


AUTHORITY = authority_of(Table, Form, exposure={"mcp": ["view:a.table.**"]})
PATTERNS = st.sampled_from(["view:**", "view:a.**", "view:a.table.**", "view:a.form.look"])
CONSUMERS = st.one_of(
    st.builds(
        lambda kind, scope: Consumer("agent", kind=kind, scope=scope),
        st.sampled_from(["test", "embedded"]),
        st.none() | st.lists(PATTERNS, max_size=2),
    ),
    st.builds(lambda scope: Consumer("agent", kind="mcp", scope=scope), st.lists(PATTERNS, max_size=2)),
)
MOUNTS = st.lists(
    st.tuples(
        st.sampled_from([Table, Form]),
        st.sampled_from(["one", "two"]),
        st.booleans(),
        st.sampled_from([None, "Pushed down"]),
        st.sampled_from([True, True, False, Unavailable("closed"), None]),
        st.booleans(),
    ),
    max_size=5,
)
Drawn = list[tuple[type[Component], str, bool, str | None, object, bool]]


def mounted(surface: Surface, drawn: Drawn) -> None:
    parent: Mount | None = None
    for kind, instance, enabled, pushed, state, below in drawn:
        component = kind()
        if isinstance(component, Table):
            component.state = state
        mount = surface.mount(component, instance, enabled=enabled, parent=parent if below else None)
        if pushed is not None:
            mount.update(available={"put" if kind is Table else "send": pushed})
        parent = mount if mount.status == "mounted" else None


@pytest.mark.requirement("4.10-outcome-equals-listing")
@settings(max_examples=150, deadline=None)
@given(
    drawn=MOUNTS,
    consumer=CONSUMERS,
    answers=st.tuples(*[st.sampled_from(DECISIONS)] * 3),
    narrowed=st.none() | st.dictionaries(st.sampled_from(["test", "mcp"]), st.lists(PATTERNS, max_size=2)),
    somebody=st.booleans(),
    suspended=st.sampled_from([None, None, "agent", "view:a.table.put", "view:a.form.look"]),
)
def test_the_outcome_of_explain_equals_the_listings(
    drawn: Drawn,
    consumer: Consumer,
    answers: tuple[Decision | None, ...],
    narrowed: dict[str, list[str]] | None,
    somebody: bool,
    suspended: str | None,
) -> None:
    SURFACE.answer, COMPONENT.answer, OWN.answer = answers
    surface = Surface(AUTHORITY, principal=Principal("ada"), policies=[SURFACE], exposure=narrowed, clock=ManualClock())
    if somebody:
        surface.confirmations.subscribe(lambda view: None)
    mounted(surface, drawn)
    if suspended == "agent":
        surface.suspend(consumer=consumer)
    elif suspended is not None:
        surface.suspend(capability=suspended)
    said = {(each.registration, each.capability): each for each in explain(surface, consumer)}
    listed = {
        (str(each.registration), str(each.descriptor.id)): (each.available, each.reason)
        for each in surface.connect(consumer).capabilities()
    }
    told = {key: (each.outcome == "available", each.reason) for key, each in said.items() if each.outcome != "hidden"}
    assert told == listed
    for each in said.values():
        assert (each.why is None) is (each.outcome == "available")
        assert each.availability.available or each.outcome != "available"
        votes = {vote.decision for vote in each.votes}
        assert each.outcome == "hidden" if "hide" in votes else True
