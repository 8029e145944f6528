"""What users expect of surfaces, listings and names. `spec/expectations.toml` names these tests."""

import types as python_types
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Event,
    EventType,
    Principal,
    Procedures,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import authenticated, require_grant
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns

COPILOT = Consumer("copilot", kind="embedded")


class Panel(Component, type="panel"):
    """A panel."""

    def __init__(self) -> None:
        self.selected: list[int] = [1]
        self.free = True

    @observation
    def read(self) -> list[int]:
        """Read."""
        return self.selected

    @action
    def put(self) -> str:
        """Put."""
        return "put"

    @put.available
    def _(self) -> Literal[True] | Unavailable:
        return True if self.free else Unavailable("Occupied")


def test_a_surface_takes_nothing_but_a_verified_authority() -> None:
    class Looks:
        hash = "sha256:0"
        pending = False
        policies = ()

        def seal(self, cls: type) -> None: ...

    wrongs: list[Any] = [None, {}, Looks(), Panel, "remit.contract.json"]
    for wrong in wrongs:
        with pytest.raises(TypeError, match="Authority"):
            Surface(wrong, principal="operator")


@pytest.mark.parametrize("more", [{"audit": "full"}, {"idempotent": True}, {"timeout": 3}, {"reversible": False}])
def test_audit_level_idempotency_and_deadline_are_held_to_the_contract(more: dict[str, Any]) -> None:
    def table(**options: Any) -> type[Component]:
        class Table(Component, type="table"):
            """A table."""

            @action(**options)
            def put(self) -> None:
                """Put."""

        return Table

    surface = Surface(authority_of(table()), principal="operator")
    surface.mount(table()())
    (field,) = more
    with pytest.raises(DefinitionError, match=f"{field} differs") as refused:
        surface.mount(table(**more)())
    assert refused.value.code == "CONTRACT_MISMATCH"


async def test_availability_is_judged_again_at_the_call() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    panel = Panel()
    surface.mount(panel)
    agent = surface.connect(AGENT)
    assert all(listed.available for listed in agent.capabilities())
    panel.free = False
    assert failed(await agent.call(Panel.put), "CAPABILITY_NOT_AVAILABLE").details == {"reason": "Occupied"}
    panel.free = True
    assert output(await agent.call(Panel.put)) == "put"


def test_an_instance_that_is_not_named_is_called_default() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    assert [component.instance for component in surface.snapshot(AGENT).components] == ["default"]


segments = st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True)
names = st.from_regex(r"[a-z][A-Za-z0-9]{0,9}", fullmatch=True)


@settings(max_examples=40)
@given(st.lists(segments, min_size=1, max_size=4).map(".".join), names)
async def test_any_type_and_name_of_the_grammar_make_an_id_that_reaches_it(type_: str, name: str) -> None:
    @observation(name=name)
    def read(self: object) -> str:
        """Read."""
        return "reached"

    made = python_types.new_class(
        "Made", (Component,), {"type": type_, "description": "Made."}, lambda body: body.update(read=read)
    )
    surface = Surface(authority_of(made), principal="operator")
    surface.mount(made())
    (listed,) = surface.connect(AGENT).capabilities()
    assert listed.id == f"view:{type_}.{name}"
    assert output(await surface.connect(AGENT).call(f"view:{type_}.{name}")) == "reached"
    failed(await surface.connect(AGENT).call(f"view:{type_}.{name}\n"), "CAPABILITY_NOT_FOUND")


def test_a_mount_that_has_ended_takes_everything_and_does_nothing() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel())
    mount.unmount()
    surface.mount(Panel())
    version = surface.snapshot(AGENT).surface_version
    mount.update(enabled=False, reason="Gone", available={"put": "Gone"})
    mount.invalidate()
    mount.unmount()
    snapshot = surface.snapshot(AGENT)
    assert snapshot.surface_version == version
    assert all(listed.available for listed in snapshot.capabilities())


async def test_the_end_of_a_surface_tells_the_end_of_each_component() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    ended: list[Event] = []
    surface.subscribe(ended.append, types={EventType.UNREGISTERED})
    mounts = [surface.mount(Panel(), instance) for instance in ("a", "b")]
    surface.dispose()
    assert {event.data["registration"] for event in ended} == {mount.registration_id for mount in mounts}
    assert len(ended) == 2


def test_what_is_internal_never_shows() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    heard: list[Event] = []
    surface.subscribe(heard.append)
    surface.mount(Panel(), internal={"secret": "4711"})
    agent = surface.connect(COPILOT)
    shown = [surface.snapshot(AGENT).to_json(), agent.toolset().definitions(), agent.toolset().states(), heard]
    assert "4711" not in repr(shown)


async def test_a_note_that_raises_drops_the_note_alone() -> None:
    class Board(Component, type="board"):
        """A board."""

        broken = False

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @read.note
        def _(self) -> str:
            if self.broken:
                raise RuntimeError("4711")
            return "One row"

    surface = Surface(authority_of(Board), principal="operator")
    board = Board()
    surface.mount(board)
    agent = surface.connect(COPILOT)
    tools = agent.toolset()
    assert agent.capabilities()[0].note == "One row"
    assert tools.states()["view_board__read"]["note"] == "One row"
    board.broken = True
    (listed,) = agent.capabilities()
    assert (listed.note, listed.available) == (None, True)
    assert "note" not in tools.states()["view_board__read"]
    assert output(await agent.call(Board.read)) == 1


def test_whoever_lists_is_named() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    unnamed: Any = surface.snapshot
    with pytest.raises(TypeError):
        unnamed()
    with pytest.raises((TypeError, AttributeError)):
        unnamed(None)


async def test_two_hundred_changes_of_state_move_no_definition_and_the_handler_reads_the_last() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    panel = Panel()
    surface.mount(panel)
    agent = surface.connect(COPILOT)
    before = (agent.toolset().definitions(), surface.snapshot(COPILOT).surface_version)
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=COPILOT)
    await turns()
    heard.clear()
    for number in range(200):
        panel.selected = [number, number + 1]
        panel.free = bool(number % 2)
    await turns()
    assert output(await agent.call(Panel.read)) == [199, 200]
    assert (agent.toolset().definitions(), surface.snapshot(COPILOT).surface_version) == before
    assert [event for event in heard if event.type is EventType.SURFACE_CHANGED] == []


async def test_a_hundred_mounts_of_one_turn_are_one_notice_with_the_right_list() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=AGENT, types={EventType.SURFACE_CHANGED})
    mounts = [surface.mount(Panel(), f"row-{number}") for number in range(100)]
    for mount in mounts:
        mount.update(available={"put": "Not now"})
    await turns()
    assert len(heard) == 1
    listed = surface.connect(AGENT).capabilities()
    assert len(listed) == 200 and sum(not each.available for each in listed) == 100


async def test_several_instances_are_told_in_order_of_their_names() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    for instance in ("main", "comparison", "Zoom"):
        surface.mount(Panel(), instance)
    error = failed(await surface.connect(AGENT).call(Panel.read), "AMBIGUOUS_INSTANCE")
    assert error.details == {"instances": ["Zoom", "comparison", "main"]} and error.retry == "with-changes"


def test_a_reference_with_all_fields_bound_has_an_empty_closed_schema() -> None:
    backend = Procedures()

    @backend.operation("save", effect="server-mutation")
    async def save(ids: list[str], why: str) -> int:
        """Save."""
        return 1

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

        @save.bind("ids")
        def ids(self) -> list[str]:
            return []

        @save.bind("why")
        def why(self) -> str:
            return ""

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Page())
    (listed,) = surface.connect(AGENT).capabilities()
    assert listed.descriptor.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert listed.descriptor.bound == ("ids", "why")


async def test_a_toolset_follows_what_the_host_says() -> None:
    class Vault(Component, type="vault", policies=(authenticated(), require_grant("keys"))):
        """A vault."""

        @observation
        def look(self) -> int:
            """Look."""
            return 1

    grants = {"keys"}
    surface = Surface(authority_of(Vault), principal=lambda: Principal("operator", grants=grants))
    surface.mount(Vault())
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=COPILOT, types={EventType.SURFACE_CHANGED})
    tools = surface.connect(COPILOT).toolset()
    assert [definition["name"] for definition in tools.definitions()] == ["view_vault__look"]
    await turns()
    heard.clear()
    grants.clear()
    surface.policies_changed()
    await turns()
    assert tools.definitions() == [] and tools.states() == {}
    assert len(heard) == 1
    failed((await tools.call("view_vault__look")).outcome, "CAPABILITY_NOT_FOUND")
    grants.add("keys")
    assert len(tools.definitions()) == 1


async def test_long_and_similar_ids_have_names_of_their_own_that_reach_them() -> None:
    long = ".".join(["a-segment-of-twenty"] * 4)
    backend = Procedures()

    @backend.operation("foo.list", effect="server-mutation")
    async def dotted() -> str:
        """Dotted."""
        return "dotted"

    @backend.operation("foo/list", effect="server-mutation")
    async def slashed() -> str:
        """Slashed."""
        return "slashed"

    class Deep(Component, type=long):
        """Deep."""

        @observation(name="readEverythingOfA")
        def one(self) -> str:
            """One."""
            return "one"

        @action(name="readEverythingOfB")
        def two(self) -> str:
            """Two."""
            return "two"

        dotted = reference("domain:foo.list")
        slashed = reference("domain:foo/list")

    ids = {
        "one": f"view:{long}.readEverythingOfA",
        "two": f"view:{long}.readEverythingOfB",
        "dotted": "domain:foo.list",
        "slashed": "domain:foo/list",
    }
    assert len(ids["one"]) > 90
    surface = Surface(authority_of(Deep, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Deep())
    tools = surface.connect(COPILOT).toolset()
    listed = [str(definition["name"]) for definition in tools.definitions()]
    assert len(set(listed)) == 4 and all(len(name) <= 64 for name in listed)
    assert all(
        character.isascii() and (character.isalnum() or character in "_-") for name in listed for character in name
    )
    assert [str(definition["name"]) for definition in tools.definitions()] == listed
    answers = {}
    for name in listed:
        outcome = (await tools.call(name)).outcome
        answers[output(outcome)] = outcome.capability_id
    assert answers == ids
    assert {entry.capability for entry in journal(surface)} == {ids["two"], ids["dotted"], ids["slashed"]}
