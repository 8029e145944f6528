"""Components without a view (SPEC 10.8)."""

from dataclasses import dataclass
from typing import cast

import pytest

from remit import Component, DefinitionError, Procedures, Surface, action, observation, reference
from remit._contract.manifest import parse
from remit.compiler import drift
from remit.explain import explain
from tests.behaviour.conftest import AGENT, authority_of, contract_of, output

backend = Procedures()


@backend.operation("jobs.retry", effect="server-mutation")
async def retry(queue: str, job: str) -> str:
    """Run a job again."""
    return f"{queue}: {job}"


class Jobs(Component, type="jobs", headless=True):
    """Jobs of one queue."""

    def __init__(self, queue: str) -> None:
        self.queue = queue

    again = reference("domain:jobs.retry")

    @again.bind("queue")
    def here(self) -> str:
        return self.queue


@pytest.mark.requirement("10.8-headless")
async def test_references_work_with_no_view_and_are_mounted_like_any_other() -> None:
    surface = Surface(authority_of(Jobs, procedures=backend), principal="operator", procedures=backend)
    agent = surface.connect(AGENT)
    with surface.mount(Jobs("nightly"), "nightly"):
        assert [each.id for each in agent.capabilities()] == ["domain:jobs.retry"]
        assert output(await agent.call(Jobs.again, {"job": "j1"})) == "nightly: j1"
        (told,) = explain(surface, AGENT)
        assert told.headless
        assert str(told) == "domain:jobs.retry (jobs/nightly)  available"
    assert list(agent.capabilities()) == []


@pytest.mark.requirement("10.8-headless")
def test_it_is_part_of_the_row_and_to_become_it_is_wider() -> None:
    class Viewed(Component, type="jobs"):
        """Jobs of one queue."""

        again = reference("domain:jobs.retry")

        @again.bind("queue")
        def here(self) -> str:
            return "q"

    before, after = (parse(contract_of(each, procedures=backend)) for each in (Viewed, Jobs))
    assert "headless" not in before.components["jobs"] and after.components["jobs"]["headless"] is True
    assert [(each.field, set(each.classes)) for each in drift(before, after, {}).changes] == [
        ("headless", {"widening"})
    ]
    assert [set(each.classes) for each in drift(after, before, {}).changes] == [{"narrowing"}]
    with pytest.raises(DefinitionError) as refused:
        authority_of(Viewed, procedures=backend).seal(Jobs)
    assert (refused.value.code, refused.value.rule) == (
        "CONTRACT_MISMATCH",
        "headless differs from remit.contract.json",
    )


@pytest.mark.requirement("10.8-headless")
def test_a_slotted_dataclass_without_a_view_stays_without_one() -> None:
    @dataclass(slots=True)
    class Queue(Component, type="queue", headless=True):
        """A queue."""

        name: str

        again = reference("domain:jobs.retry")

    assert parse(contract_of(Queue, procedures=backend)).components["queue"]["headless"] is True


@pytest.mark.requirement("10.8-what-headless-may-not-hold")
def test_the_projects_own_tools_need_a_view() -> None:
    class Tools(Component, type="tools", headless=True):
        """Tools."""

        @action
        def clear(self) -> None:
            """Clear."""

    class Reads(Component, type="reads", headless=True):
        """Reads."""

        @observation
        def state(self) -> int:
            """State."""
            return 1

    for cls, kind in ((Tools, "action"), (Reads, "observation")):
        with pytest.raises(DefinitionError) as refused:
            authority_of(cls)
        assert refused.value.code == "INVALID_DEFINITION"
        assert f"is headless: it holds references, and this is an {kind}" in refused.value.rule
        assert refused.value.do == "declare it in a component of a view, or let the backend list it"


@pytest.mark.requirement("10.8-what-headless-may-not-hold")
def test_nothing_without_a_view_navigates_and_an_abstract_class_is_not_headless() -> None:
    with pytest.raises(DefinitionError, match="navigates, and its component is headless"):

        class Tools(Component, type="tools", headless=True):
            """Tools."""

            @action(effect="navigation")
            def go(self) -> None:
                """Go."""

    with pytest.raises(DefinitionError, match="abstract"):

        class Abstract(Component, headless=True):
            """Abstract."""

    with pytest.raises(DefinitionError, match="headless= is True or False"):

        class Odd(Component, type="odd", headless=cast(bool, 1)):
            """Odd."""
