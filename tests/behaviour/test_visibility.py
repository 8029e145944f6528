"""Hidden, unavailable, available; what a listing holds (SPEC 4.6 to 4.9)."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any, Literal, cast

import pytest

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Event,
    Failed,
    Invocation,
    ManualClock,
    Ok,
    Principal,
    Procedures,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.errors import DefinitionCode
from remit.policies import Decision, Disable, Expose, Hide, Policy, PolicyContext, require_grant
from tests.behaviour.conftest import AGENT, authority_of, failed, journal, output, turns


class Panel(Component, type="panel"):
    """A panel."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @action
    def put(self, count: int) -> None:
        """Put."""


class Vault(Component, type="vault", policies=(require_grant("keys"),)):
    """A vault."""

    @action
    def open(self, door: int) -> None:
        """Open."""

    @observation
    def look(self) -> int:
        """Look."""
        return 1


class HideVault(Policy, name="hide-vault"):
    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if ctx.capability is not None and ctx.capability.component == "vault" else Expose()


class RaiseOnVault(Policy, name="raise-on-vault"):
    def discover(self, ctx: PolicyContext) -> Decision:
        if ctx.capability is not None and ctx.capability.component == "vault":
            raise RuntimeError("secret-4711")
        return Expose()


ALL = {door: ["view:**"] for door in ("mcp", "webmcp", "page", "test", "embedded")}
HIDDEN: dict[str, Callable[[], tuple[Surface, Consumer]]] = {
    "by a grant": lambda: (Surface(authority_of(Panel, Vault), principal="operator"), AGENT),
    "by a policy": lambda: (
        Surface(authority_of(Panel, Vault), principal=Principal("operator", grants={"keys"}), policies=[HideVault()]),
        AGENT,
    ),
    "by a raising policy": lambda: (
        Surface(
            authority_of(Panel, Vault), principal=Principal("operator", grants={"keys"}), policies=[RaiseOnVault()]
        ),
        AGENT,
    ),
    "by scope": lambda: (
        Surface(authority_of(Panel, Vault), principal=Principal("operator", grants={"keys"})),
        Consumer("agent", kind="test", scope=["view:panel.**"]),
    ),
    "by the site's exposure": lambda: (
        Surface(
            authority_of(Panel, Vault, exposure={"mcp": ["view:panel.**"]}),
            principal=Principal("operator", grants={"keys"}),
        ),
        Consumer("agent", kind="mcp", scope=["view:**"]),
    ),
    "by the surface's exposure": lambda: (
        Surface(
            authority_of(Panel, Vault, exposure=ALL),
            principal=Principal("operator", grants={"keys"}),
            exposure={"mcp": ["view:panel.**"]},
        ),
        Consumer("agent", kind="mcp", scope=["view:**"]),
    ),
}
MADE_UP = "view:vault.openn"


def requests(id: str, registration: str, surface: Surface) -> list[Invocation]:
    """Every way to ask for an id."""
    old = "reg_" + "x" * 22
    return [
        Invocation(id),
        Invocation(id, {"door": 1}),
        Invocation(id, {"door": "bad", "unknown": None}),
        Invocation(id, {"door": 1}, registration=old),
        Invocation(id, {"door": 1}, registration=registration),
        Invocation(id, instance="default"),
        Invocation(id, instance="vault/default"),
        Invocation(id, instance="nowhere"),
        Invocation(id, surface_id="srf_other"),
        Invocation(id, surface_id=surface.surface_id, surface_version="99"),
        Invocation(id, confirmation="cnf_made_up"),
        Invocation(id, {"door": 1}, instance="default", registration=registration, surface_version="1"),
        Invocation(id, cast(Any, ["no object"])),
        Invocation(id, {"text": "x" * 70_000}),
        Invocation(id, correlation_id="c-1"),
    ]


def shown(outcome: object, id: str) -> str:
    """Everything an agent could compare, but for the ids it sent or that are new each time."""
    assert isinstance(outcome, Failed)
    error = outcome.error
    form = [
        error.code,
        error.message,
        error.retry,
        dict(error.details),
        outcome.surface_version,
        outcome.surface_changed,
    ]
    assert outcome.capability_id == id
    return json.dumps(form, sort_keys=True)


@pytest.mark.requirement("4.7-hidden-equals-made-up", "6.3-hidden-answers-like-a-made-up-id")
@pytest.mark.parametrize("how", HIDDEN)
async def test_a_hidden_capability_answers_byte_for_byte_like_a_made_up_id(how: str) -> None:
    surface, consumer = HIDDEN[how]()
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Panel())
    registration = str(surface.mount(Vault()).registration_id)
    surface.snapshot(consumer)
    real, made_up = requests("view:vault.open", registration, surface), requests(MADE_UP, registration, surface)
    for asked, invented in zip(real, made_up, strict=True):
        hidden = shown(await surface.invoke(asked, consumer), "view:vault.open")
        assert hidden == shown(await surface.invoke(invented, consumer), MADE_UP)
        assert "vault" not in hidden
    for spelling in (
        "view:vault.Open",
        "VIEW:vault.open",
        "view:vault.open ",
        "view:vault.open\x00",
        "domain:vault.open",
    ):
        assert shown(await surface.invoke(Invocation(spelling), consumer), spelling) == shown(
            await surface.invoke(Invocation(MADE_UP), consumer), MADE_UP
        )


@pytest.mark.requirement("4.7-hidden-is-absent")
@pytest.mark.parametrize("how", HIDDEN)
async def test_a_hidden_capability_is_absent_from_listings_events_counts_and_versions(how: str) -> None:
    surface, consumer = HIDDEN[how]()
    surface.mount(Panel())
    await turns()
    before = {**surface.snapshot(consumer).to_json(), "capturedAt": ""}
    heard: list[Event] = []
    surface.subscribe(heard.append, consumer=consumer)
    mount = surface.mount(Vault(), priority=99)
    mount.update(enabled=False, reason="vault is locked")
    await turns()
    assert {**surface.snapshot(consumer).to_json(), "capturedAt": ""} == before
    mount.unmount()
    await turns()
    assert heard == []
    assert {**surface.snapshot(consumer).to_json(), "capturedAt": ""} == before
    failed(await surface.invoke(Invocation("view:vault.open"), consumer), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("4.7-hidden-instance")
async def test_a_hidden_instance_answers_like_one_that_never_was() -> None:
    class HideOne(Policy, name="hide-one"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Hide() if ctx.instance == "secret" else Expose()

    surface = Surface(authority_of(Panel), principal="operator", policies=[HideOne()])
    surface.mount(Panel(), "open")
    secret = str(surface.mount(Panel(), "secret").registration_id)
    id = "view:panel.read"
    assert output(await surface.connect(AGENT).call(id)) == 1
    for real, invented in (
        (Invocation(id, registration=secret), Invocation(id, registration="reg_" + "y" * 22)),
        (Invocation(id, instance="secret"), Invocation(id, instance="secrets")),
        (Invocation(id, instance="panel/secret"), Invocation(id, instance="panel/secrets")),
        (
            Invocation(id, registration=secret, instance="secret"),
            Invocation(id, registration="reg_" + "y" * 22, instance="secrets"),
        ),
        (
            Invocation(id, registration=secret, instance="open"),
            Invocation(id, registration="reg_" + "y" * 22, instance="open"),
        ),
    ):
        assert shown(await surface.invoke(real, AGENT), id) == shown(await surface.invoke(invented, AGENT), id)
    surface.mount(Panel(), "second")
    ambiguous = failed(await surface.connect(AGENT).call(id), "AMBIGUOUS_INSTANCE")
    assert ambiguous.details == {"instances": ["open", "second"]}


@pytest.mark.requirement("4.7-meters-are-equal")
@pytest.mark.parametrize("id", [MADE_UP, "view:vault.open", "no id at all"])
@pytest.mark.parametrize("reach", ["policy", "scope"])
async def test_for_a_made_up_id_the_surfaces_policies_run_over_an_empty_target_so_meters_are_equal(
    id: str, reach: str
) -> None:
    class Meter(Policy, name="meter"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Expose() if ctx.counter("meter").add() else Hide()

    reads: list[int] = []

    class Read(Policy, name="read-meter"):
        def discover(self, ctx: PolicyContext) -> Decision:
            reads.append(ctx.counter("meter").value)
            return Expose()

    surface = Surface(authority_of(Panel, Vault), principal="operator", policies=[Meter(), Read()])
    surface.mount(Panel())
    surface.mount(Vault())
    scope = ["view:panel.**"] if reach == "scope" else None
    consumer = Consumer("agent", kind="test", scope=scope)
    await surface.invoke(Invocation("view:panel.read"), consumer)
    before = reads[-1]
    for _ in range(3):
        failed(await surface.invoke(Invocation(id), consumer), "CAPABILITY_NOT_FOUND")
    assert reads[-1] == before + 3


@pytest.mark.requirement("4.7-a-meter-counts-a-call-once")
@pytest.mark.parametrize("reach", ["policy", "scope", "some", "visible"])
@pytest.mark.parametrize("named", [False, True])
async def test_many_instances_cost_a_meter_no_more_than_a_made_up_id(reach: str, named: bool) -> None:
    class Meter(Policy, name="meter"):
        count = 0

        def discover(self, ctx: PolicyContext) -> Decision:
            Meter.count = ctx.counter("meter").add()
            hides = ctx.capability is None or reach == "policy" or (reach == "some" and ctx.instance != "i2")
            return Hide() if hides else Expose()

        async def authorize(self, ctx: PolicyContext) -> None:
            await asyncio.sleep(0)

    surface = Surface(authority_of(Panel), principal="operator", policies=[Meter()])
    last = [surface.mount(Panel(), f"i{number}") for number in range(5)][-1]
    agent = surface.connect(Consumer("agent", kind="test", scope=["view:other.**"] if reach == "scope" else None))
    await agent.call(MADE_UP)
    before = Meter.count
    await agent.call(MADE_UP)
    assert Meter.count == before + 1
    await agent.call(Panel.read, registration=last.registration_id if named else None)
    assert Meter.count == before + 2, "once when it is looked for, and not again at the gate"


@pytest.mark.requirement("10.10-an-address-is-an-instance-for-references")
async def test_type_and_instance_name_a_reference_and_nothing_else() -> None:
    backend = Procedures()

    @backend.operation("doors.lock", effect="server-mutation")
    async def lock() -> str:
        """Lock."""
        return "locked"

    class Hall(Component, type="hall"):
        """A hall."""

        lock = reference("domain:doors.lock")

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Hall, procedures=backend), principal="operator", procedures=backend)
    agent = surface.connect(AGENT)
    mount = surface.mount(Hall(), "north")
    agent.capabilities()
    assert output(await agent.call(Hall.lock, instance="hall/north")) == "locked"
    assert output(await agent.call(Hall.lock, instance="north")) == "locked"
    assert output(await agent.call(Hall.read, instance="north")) == 1
    failed(await agent.call(Hall.read, instance="hall/north"), "CAPABILITY_NOT_FOUND")
    mount.unmount()
    failed(await agent.call(Hall.lock, instance="hall/north"), "COMPONENT_UNMOUNTED")
    failed(await agent.call(Hall.read, instance="north"), "COMPONENT_UNMOUNTED")
    failed(await agent.call(Hall.read, instance="hall/north"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("4.7-made-up-ids-have-no-capability")
async def test_a_policy_sees_no_capability_for_a_made_up_id() -> None:
    seen: list[object] = []

    class Watch(Policy, name="watch"):
        def discover(self, ctx: PolicyContext) -> Decision:
            seen.append((ctx.capability, ctx.instance, ctx.door))
            return Expose()

    surface = Surface(authority_of(Panel), principal="operator", policies=[Watch()])
    await surface.connect(AGENT).call("view:panel.madeUp")
    assert seen == [(None, None, "test")]


@pytest.mark.requirement("4.6-available")
async def test_available_is_live_enabled_not_pushed_predicate_true_and_no_policy_objection() -> None:
    class Gate(Component, type="gate"):
        """A gate."""

        def __init__(self) -> None:
            self.free = True

        @action
        def go(self) -> str:
            """Go."""
            return "gone"

        @go.available
        def _(self) -> Literal[True] | Unavailable:
            return True if self.free else Unavailable("Occupied")

    closed: list[bool] = []

    class Closing(Policy, name="closing"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Disable("Closed for today") if closed else Expose()

    surface = Surface(authority_of(Gate), principal="operator", policies=[Closing()])
    gate = Gate()
    mount = surface.mount(gate)
    agent = surface.connect(AGENT)

    async def reason() -> object:
        (listed,) = agent.capabilities()
        outcome = await agent.call(Gate.go)
        if isinstance(outcome, Ok):
            assert (listed.available, listed.reason) == (True, None)
            return outcome.output
        error = failed(outcome, "CAPABILITY_NOT_AVAILABLE")
        assert (listed.available, {"reason": listed.reason}) == (False, error.details)
        return listed.reason

    assert await reason() == "gone"
    mount.update(enabled=False, reason="Hidden tab")
    assert await reason() == "Hidden tab"
    mount.update(enabled=True, available={"go": "Loading"})
    assert await reason() == "Loading"
    mount.update(available={"go": True})
    gate.free = False
    assert await reason() == "Occupied"
    gate.free = True
    closed.append(True)
    assert await reason() == "Closed for today"
    closed.clear()
    assert await reason() == "gone"
    mount.update(available={"go": " "})  # a reason that says nothing is replaced
    assert await reason() == "Not available now"


@pytest.mark.requirement("4.6-raising-predicate")
async def test_a_raising_predicate_is_unavailable_with_when_error_and_journalled() -> None:
    class Gate(Component, type="gate"):
        """A gate."""

        @action
        def go(self) -> None:
            """Go."""

        @go.available
        def _(self) -> Literal[True]:
            raise RuntimeError("secret-4711")

    surface = Surface(authority_of(Gate), principal="operator")
    surface.mount(Gate())
    assert surface.connect(AGENT).capabilities()[0].reason == "when-error"
    error = failed(await surface.connect(AGENT).call(Gate.go), "CAPABILITY_NOT_AVAILABLE")
    assert error.details == {"reason": "when-error"}
    (entry,) = journal(surface)
    assert entry.code == "CAPABILITY_NOT_AVAILABLE" and "secret-4711" in (entry.cause or "")


@pytest.mark.requirement("4.8-scope-none-and-empty")
async def test_no_scope_is_unrestricted_in_process_only_and_an_empty_scope_is_nothing() -> None:
    surface = Surface(authority_of(Panel, exposure=ALL), principal="operator")
    surface.mount(Panel())
    seen = {
        (kind, scope is None): len(surface.connect(Consumer("c", kind=kind, scope=scope)).capabilities())
        for kind in ("embedded", "test", "mcp", "page")
        for scope in (None, ())
    }
    assert seen == {
        ("embedded", True): 2,
        ("test", True): 2,
        ("mcp", True): 0,
        ("page", True): 0,
        ("embedded", False): 0,
        ("test", False): 0,
        ("mcp", False): 0,
        ("page", False): 0,
    }
    unscoped = Consumer("c", kind="mcp")
    failed(await surface.invoke(Invocation("view:panel.read"), unscoped), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("4.8-exposure-only-narrows")
def test_a_surfaces_own_exposure_can_only_narrow_what_the_contract_opens() -> None:
    authority = authority_of(Panel, Vault, exposure={"mcp": ["view:panel.**"]})
    wide = {"mcp": ["view:**"], "page": ["view:**"]}
    surface = Surface(authority, principal=Principal("operator", grants={"keys"}), exposure=wide)
    surface.mount(Panel())
    surface.mount(Vault())

    def seen(kind: str) -> set[str]:
        return {c.id for c in surface.connect(Consumer("c", kind=kind, scope=["view:**"])).capabilities()}

    assert seen("mcp") == {"view:panel.read", "view:panel.put"}
    assert seen("page") == set()
    closed = Surface(authority, principal="operator", exposure={})
    closed.mount(Panel())
    assert closed.connect(Consumer("c", kind="mcp", scope=["view:**"])).capabilities() == ()
    assert len(closed.connect(AGENT).capabilities()) == 2


@pytest.mark.requirement("4.8-exposure-names-doors")
@pytest.mark.parametrize("door", ["embeded", "MCP", "other", ""])
def test_an_exposure_of_a_door_that_does_not_exist_is_refused(door: str) -> None:
    with pytest.raises(DefinitionError, match=f"there is no door '{door}'") as caught:
        Surface(authority_of(Panel), principal="operator", exposure={"mcp": ["view:**"], door: ()})
    assert caught.value.code is DefinitionCode.INVALID_DEFINITION
    assert "embedded, mcp, webmcp, page, test" in str(caught.value)


@pytest.mark.requirement("4.8-patterns")
@pytest.mark.parametrize(
    ("pattern", "seen"),
    [
        ("view:**", {"read", "put"}),
        ("view:panel.**", {"read", "put"}),
        ("view:panel.*", {"read", "put"}),
        ("view:*.read", {"read"}),
        ("view:panel.read", {"read"}),
        ("view:pan.**", set()),
        ("view:*", set()),
        ("domain:**", set()),
        ("view:panel.rea", set()),
    ],
)
def test_a_pattern_names_whole_segments(pattern: str, seen: set[str]) -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    found = surface.connect(Consumer("c", kind="test", scope=[pattern])).capabilities()
    assert {listed.id.rpartition(".")[2] for listed in found} == seen


@pytest.mark.requirement("4.8-listing-equals-calling")
@pytest.mark.parametrize("how", HIDDEN)
async def test_what_is_listed_can_be_called_and_what_is_not_cannot(how: str) -> None:
    surface, consumer = HIDDEN[how]()
    surface.mount(Panel())
    surface.mount(Vault())
    listed = {c.id for c in surface.snapshot(consumer).capabilities()}
    called = set()
    for id in ("view:panel.read", "view:panel.put", "view:vault.open", "view:vault.look"):
        outcome = await surface.invoke(Invocation(id, {} if "l" in id[11:] or "read" in id else {"count": 1}), consumer)
        if isinstance(outcome, Ok) or outcome.error.code != "CAPABILITY_NOT_FOUND":
            called.add(id)
    assert listed == called == {"view:panel.read", "view:panel.put"}


@pytest.mark.requirement("4.9-order")
def test_components_are_ordered_by_priority_descending_then_type_then_instance() -> None:
    class Another(Component, type="another"):
        """Another."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Panel, Another), principal="operator")
    for component, instance, priority in (
        (Panel(), "b", 0),
        (Panel(), "a", 0),
        (Another(), "z", 0),
        (Panel(), "low", -1),
        (Panel(), "high", 5),
    ):
        surface.mount(component, instance, priority=priority)
    found = [(c.type, c.instance) for c in surface.snapshot(AGENT).components]
    assert found == [("panel", "high"), ("another", "z"), ("panel", "a"), ("panel", "b"), ("panel", "low")]


@pytest.mark.requirement("4.9-references-at-top-level")
def test_references_stand_at_top_level_with_bound_paths_and_never_their_values() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="server-mutation")
    async def wipe(ids: list[str], reason: str) -> int:
        """Wipe."""
        return 1

    class Table(Component, type="table"):
        """A table."""

        wipe = reference("domain:wipe")

        @wipe.bind("ids")
        def _(self) -> list[str]:
            raise AssertionError("a listing evaluates no binding")

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table, procedures=backend), principal="operator", procedures=backend)
    mount = surface.mount(Table())
    form = cast(Any, surface.snapshot(AGENT).to_json())
    (entry,) = form["references"]
    assert entry["bound"] == [{"path": "ids", "locked": True}]
    assert (entry["component"], entry["registration"]) == ("table", mount.registration_id)
    assert list(entry["inputSchema"]["properties"]) == ["reason"]
    assert [c["id"] for c in form["components"][0]["capabilities"]] == ["view:table.read"]


@pytest.mark.requirement("4.9-pure-and-equal")
def test_a_snapshot_runs_no_handler_and_is_equal_but_for_the_time_when_nothing_changed() -> None:
    class Never(Component, type="never"):
        """Never."""

        @observation
        def read(self) -> int:
            """Read."""
            raise AssertionError("a listing runs no handler")

    clock = ManualClock()
    surface = Surface(authority_of(Never, Panel), principal="operator", clock=clock)
    surface.mount(Never(), internal={"secret": "4711"}, origin="first-party")
    surface.mount(Panel())
    first = json.dumps(surface.snapshot(AGENT).to_json())
    clock.advance(60)
    second = json.dumps(surface.snapshot(AGENT).to_json())
    assert first != second
    assert first.replace("12:00:00", "12:01:00") == second
    assert "4711" not in first and "internal" not in first and surface.surface_id in first


@pytest.mark.requirement("4.9-immutable")
def test_a_snapshot_is_immutable_and_what_is_made_of_it_is_a_fresh_copy() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    snapshot = surface.snapshot(AGENT)
    with pytest.raises(FrozenInstanceError):
        snapshot.route = "/x"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        snapshot.components[0].capabilities[0].available = False  # type: ignore[misc]
    form = cast(Any, snapshot.to_json())
    form["components"][0]["capabilities"][0]["id"] = "forged"
    form["components"].clear()
    assert snapshot.capabilities()[0].id == "view:panel.read"
    before = snapshot.capabilities()
    surface.mount(Panel(), "other")
    assert snapshot.capabilities() == before
