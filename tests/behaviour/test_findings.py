"""What is allowed and probably not meant: `surface.findings` (SPEC 4.13, 6.7)."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pytest

from remit import (
    AuditEntry,
    Component,
    Limits,
    ManualClock,
    Procedures,
    Surface,
    SurfaceFinding,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import AGENT, authority_of, output, turns

CLOCK = ManualClock()
backend = Procedures()


@backend.operation("plant.water", effect="server-mutation")
async def water(bed: str) -> str:
    """Water a bed."""
    return bed


class Plant(Component, type="plant.bed"):
    """A bed."""

    def __init__(self) -> None:
        self.slow = 0.0

    @observation
    def look(self) -> int:
        """Look."""
        CLOCK.advance(self.slow)
        return 1

    @action
    async def dig(self) -> None:
        """Dig."""
        await asyncio.sleep(0)
        CLOCK.advance(self.slow)

    @action
    def rake(self) -> None:
        """Rake."""

    @rake.available
    def _(self) -> Literal[True] | Unavailable:
        CLOCK.advance(self.slow)
        return True

    water = reference("domain:plant.water")

    @water.bind("bed")
    def _(self) -> str:
        CLOCK.advance(self.slow)
        return "north"


class Page(Component, type="page"):
    """A page."""

    @action(doors=["webmcp"])
    def turn(self) -> None:
        """Turn."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1


class Kept:
    """An audit sink."""

    def write(self, entry: AuditEntry) -> None:
        """Keep nothing."""


def surface_of(opened: Mapping[str, Iterable[str]] | None = None, *, decided: bool = True, **more: Any) -> Surface:
    authority = authority_of(Plant, procedures=backend, exposure=opened)
    surface = Surface(authority, principal="operator", procedures=backend, clock=CLOCK, **more)
    surface.audit_to(Kept())
    if decided:
        surface.confirmations.subscribe(lambda view: None)
    return surface


def told(surface: Surface) -> list[tuple[str, str, str]]:
    return [(each.kind.value, each.found, each.do) for each in surface.findings()]


@pytest.mark.requirement("4.13-findings-exposure", "4.13-findings-nobody-decides", "4.13-findings-limits")
def test_a_surface_with_nothing_unusual_has_no_findings() -> None:
    assert surface_of(decided=False).findings() == (), "no network door is open"
    assert surface_of({"mcp": ["view:plant.**", "domain:plant.water"]}).findings() == ()


@pytest.mark.requirement("2.7-told-by-a-surface")
async def test_where_the_site_only_warns_one_name_on_both_planes_is_a_finding_and_both_are_called() -> None:
    class Bed(Component, type="bed"):
        """A bed."""

        water = reference("domain:bed.water")

        @observation
        def water_it(self) -> str:
            """Look at the water."""
            return "wet"

        @action(name="water")
        def pour(self) -> str:
            """Pour it in the view."""
            return "poured"

        @observation(name="weed")
        def weeds(self) -> int:
            """Count them."""
            return 3

    beds = Procedures()

    @beds.operation("bed.water", effect="server-query")
    async def level() -> str:
        """The level."""
        return "level"

    @beds.operation("bed.weed", effect="server-query")
    async def weed() -> int:
        """Nobody refers to it."""
        return 1

    @beds.operation("bed.rake", effect="server-query")
    async def rake() -> int:
        """No capability of the view has this name."""
        return 2

    authority = authority_of(Bed, procedures=beds, warns_of_planes=True)
    surface = Surface(authority, principal="operator", procedures=beds)
    assert told(surface) == [
        (
            "both-planes",
            f"view:bed.{name} and domain:bed.{name} are two capabilities of one name",
            "rename one of the two: a reader of either name may take it for the other",
        )
        for name in ("water", "weed")
    ]
    with surface.mount(Bed()):
        agent = surface.connect(AGENT)
        assert output(await agent.call("view:bed.water")) == "poured"
        assert output(await agent.call("domain:bed.water")) == "level"
        assert output(await agent.call("view:bed.weed")) == 3
    alone = Surface(authority, principal="operator")
    assert [each.found.split()[0] for each in alone.findings()] == ["view:bed.water"], "what the contract itself has"


@pytest.mark.requirement("4.13-findings-exposure")
def test_a_door_that_exposes_nothing_says_what_to_write() -> None:
    wanted = (
        "exposes-nothing",
        "mcp: 0 of 4 capabilities are exposed",
        'add to [tool.remit.exposure]:  mcp = ["view:plant.**"]',
    )
    assert told(surface_of({"mcp": ["view:plants.**"]})) == [wanted]
    assert told(surface_of({"mcp": []})) == [wanted]
    (finding,) = surface_of({"mcp": []}).findings()
    assert isinstance(finding, SurfaceFinding)
    assert str(finding) == f"finding  {wanted[1]}\n  do  {wanted[2]}"


@pytest.mark.requirement("4.13-findings-exposure")
def test_a_pattern_that_matches_nothing_is_named_where_it_stands() -> None:
    assert told(surface_of({"mcp": ["view:plant.bed.look", "view:plant.bed.lok"]})) == [
        (
            "exposes-nothing",
            'mcp: "view:plant.bed.lok" matches no capability',
            "correct it in [tool.remit.exposure], or take it out",
        )
    ]
    narrowed = surface_of({"mcp": ["view:plant.**"]}, exposure={"mcp": ["view:plant.bed.look", "domain:plant.water"]})
    assert told(narrowed) == [
        (
            "exposes-nothing",
            'mcp: "domain:plant.water" matches no capability',
            "correct it in Surface(exposure=…), or take it out",
        )
    ]


@pytest.mark.requirement("4.13-findings-nobody-decides")
def test_a_door_where_something_can_be_changed_and_nobody_decides_is_named() -> None:
    exposure = {"mcp": ["view:plant.**"], "webmcp": ["view:plant.bed.look"]}
    surface = surface_of(exposure, decided=False)
    assert told(surface) == [
        (
            "nobody-decides",
            "mcp: 2 of 3 exposed capabilities change something, and nobody can decide",
            "give Surface(decide=…), subscribe to surface.confirmations, or attach a page that shows requests",
        )
    ]
    detach = surface.confirmations.attach_page()
    assert surface.findings() == ()
    detach()
    assert len(surface.findings()) == 1
    assert surface_of(exposure, decided=False, exposure={"mcp": ["view:plant.bed.look"]}).findings() == ()
    assert surface_of(exposure, decided=False, exposure={"webmcp": ["view:plant.**"]}).findings() == ()


@pytest.mark.requirement("4.13-findings-nobody-decides")
def test_a_door_that_only_a_declaration_opens_counts() -> None:
    surface = Surface(authority_of(Page), principal="operator")
    surface.audit_to(Kept())
    assert [each.found for each in surface.findings()] == [
        "webmcp: 1 of 1 exposed capabilities change something, and nobody can decide"
    ]


@pytest.mark.requirement("4.13-findings-no-sink")
def test_a_door_where_something_can_be_changed_and_no_sink_hears_of_it_is_named() -> None:
    def of(opened: Mapping[str, Iterable[str]]) -> Surface:
        surface = Surface(authority_of(Plant, procedures=backend, exposure=opened), principal="o", procedures=backend)
        surface.confirmations.subscribe(lambda view: None)
        return surface

    surface = of({"mcp": ["view:plant.**"], "webmcp": ["view:plant.bed.look"]})
    wanted = (
        "no-audit-sink",
        "mcp: 2 of 3 exposed capabilities change something, and no audit sink gets it",
        "give surface.audit_to(…) a sink before the first mount",
    )
    assert told(surface) == [wanted]
    end = surface.audit_to(Kept())
    assert told(surface) == []
    end()
    assert told(surface) == [wanted]
    assert told(of({"mcp": ["view:plant.bed.look"]})) == []


@pytest.mark.requirement("4.13-findings-limits")
def test_each_loosened_safety_limit_is_named_and_no_tightened_one() -> None:
    loosened = Limits(denials=30, decide_s=600, denial_final_s=1, input_bytes=70_000, gap_s=60, replay_s=1, streams=17)
    assert told(surface_of(limits=loosened)) == [
        ("loosened-limit", f"limits.{name} is {now}, looser than the default of {usual}", do(name))
        for name, now, usual in (
            ("input_bytes", "70,000", "65,536"),
            ("decide_s", "600", "120"),
            ("denials", "30", "3"),
            ("gap_s", "60", "15"),
            ("streams", "17", "16"),
            ("denial_final_s", "1", "600"),
            ("replay_s", "1", "600"),
        )
    ]
    assert (
        surface_of(limits=Limits(denials=1, decide_s=5, denial_final_s=9_000, input_bytes=9, action_s=90)).findings()
        == ()
    )


def do(name: str) -> str:
    return f"take {name} out of Limits(…), unless this site needs it"


@pytest.mark.requirement("6.7-inline-code-is-measured", "4.13-findings-slow-code")
async def test_synchronous_code_over_50_ms_is_journalled_and_found_with_its_longest_time() -> None:
    surface = surface_of()
    plant = Plant()
    surface.mount(plant)
    agent = surface.connect(AGENT)
    for slow in (0.049, 0.06, 0.09, 0.07):
        plant.slow = slow
        output(await agent.call(Plant.look))
    entries = [entry for entry in surface.audit() if entry.type == "slow"]
    assert [entry.execution_ms for entry in entries] == [60, 90, 70]
    assert str(entries[0].why).startswith("inline code took 60 ms: Plant.look (test_findings.py:")
    (finding,) = surface.findings()
    assert finding.kind == "slow-inline"
    assert finding.found.startswith(
        "inline code took 90 ms, and everybody waits meanwhile: Plant.look (test_findings.py:"
    )
    assert finding.do == "make it async, give it blocking=True, or keep at hand what it computes"


@pytest.mark.requirement("6.7-inline-code-is-measured")
async def test_predicates_and_bindings_are_measured_and_async_code_is_not() -> None:
    surface = surface_of()
    plant = Plant()
    surface.mount(plant)
    agent = surface.connect(AGENT)
    plant.slow = 0.2
    output(await agent.call(Plant.dig))
    await turns()
    slow = [str(entry.why).split(": ")[1].split(" (")[0] for entry in surface.audit() if entry.type == "slow"]
    assert set(slow) <= {"Plant._"}, "predicates, asked for the version: no handler"
    plant.slow = 0.0
    before = len(surface.findings())
    plant.slow = 0.2
    output(await agent.call(Plant.water))
    assert len(surface.findings()) == before + 1
    assert {finding.kind for finding in surface.findings()} == {"slow-inline"}


@pytest.mark.requirement("4.13-findings-memory-store")
def test_a_store_in_memory_is_found_where_there_are_several_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = authority_of(Plant, procedures=backend)

    def kinds(store: Any = None) -> list[str]:
        surface = Surface(authority, principal="operator", procedures=backend, store=store)
        return [finding.kind.value for finding in surface.findings()]

    class Elsewhere:
        """A store that several workers may share."""

        def __init__(self) -> None:
            kept = MemoryStore()
            self.confirmations, self.meters, self.suspensions = kept.confirmations, kept.meters, kept.suspensions

    for workers, found in (("4", ["memory-store"]), ("1", []), ("", []), ("many", [])):
        monkeypatch.setenv("WEB_CONCURRENCY", workers)
        assert kinds() == found
        assert kinds(Elsewhere()) == []
    monkeypatch.delenv("WEB_CONCURRENCY")
    assert kinds() == []
