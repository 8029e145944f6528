"""Mounting, updating, replacing and unmounting (SPEC 4.0 to 4.4, 4.11, 4.13)."""

import asyncio
import gc
import threading
import weakref
from typing import Any, cast

import pytest

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Event,
    EventType,
    Invocation,
    ManualClock,
    Ok,
    Principal,
    Surface,
    action,
    observation,
)
from remit.policies import require_grant
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns


class Panel(Component, type="panel"):
    """A panel."""

    def __init__(self, value: int = 1) -> None:
        self.value = value
        self.gate: asyncio.Event | None = None

    @observation
    def read(self) -> int:
        """Read."""
        return self.value

    @action
    async def wait(self) -> int:
        """Wait."""
        self.gate = asyncio.Event()
        await self.gate.wait()
        return self.value

    @action(confirmation="required")
    def clear(self) -> None:
        """Clear."""
        self.value = 0


@pytest.mark.requirement("4.1-mount-is-a-context-manager")
async def test_a_mount_is_callable_inside_the_block_and_gone_after_it() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    agent = surface.connect(AGENT)
    with surface.mount(Panel()) as mount:
        assert (mount.status, mount.registration_id is None) == ("mounted", False)
        assert output(await agent.call(Panel.read)) == 1
    assert (mount.status, mount.registration_id is None) == ("unmounted", False)
    assert not isinstance(await agent.call(Panel.read), Ok)
    with pytest.raises(KeyError), surface.mount(Panel()) as second:
        raise KeyError
    assert second.status == "unmounted"


@pytest.mark.requirement("4.1-unmounting-twice")
async def test_unmounting_twice_is_a_no_op() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    heard: list[EventType] = []
    surface.subscribe(lambda event: heard.append(event.type), types={EventType.UNREGISTERED})
    mount = surface.mount(Panel())
    mount.unmount()
    mount.unmount()
    mount.update(enabled=False)
    mount.invalidate()
    assert heard == [EventType.UNREGISTERED]


@pytest.mark.requirement("4.1-parents")
async def test_a_disabled_or_unmounted_parent_disables_or_unmounts_its_children() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    agent = surface.connect(AGENT)
    parent = surface.mount(Panel(), "parent")
    child = surface.mount(Panel(), "child", parent=parent)
    grandchild = surface.mount(Panel(), "grandchild", parent=child)
    parent.update(enabled=False, reason="This tab is hidden")
    for instance in ("parent", "child", "grandchild"):
        error = failed(await agent.call(Panel.read, instance=instance), "CAPABILITY_NOT_AVAILABLE")
        assert error.details["reason"] == "This tab is hidden"
    late = surface.mount(Panel(), "late", parent=child)
    failed(await agent.call(Panel.read, instance="late"), "CAPABILITY_NOT_AVAILABLE")
    child.update(enabled=False)
    parent.update(enabled=True)
    output(await agent.call(Panel.read, instance="parent"))
    failed(await agent.call(Panel.read, instance="grandchild"), "CAPABILITY_NOT_AVAILABLE")
    child.update(enabled=True)
    output(await agent.call(Panel.read, instance="grandchild"))
    parent.unmount()
    assert {m.status for m in (parent, child, grandchild, late)} == {"unmounted"}
    assert surface.connect(AGENT).capabilities() == ()
    assert surface.mount(Panel(), "orphan", parent=parent).status == "rejected"


@pytest.mark.requirement("4.1-enabled-at-mount")
async def test_a_component_may_be_mounted_disabled() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel(), enabled=False)
    failed(await surface.connect(AGENT).call(Panel.read), "CAPABILITY_NOT_AVAILABLE")
    mount.update(enabled=True)
    output(await surface.connect(AGENT).call(Panel.read))


@pytest.mark.requirement("4.1-a-push-only-lowers")
async def test_a_push_lowers_one_capability_with_its_reason_and_never_raises_one() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    agent = surface.connect(AGENT)
    mount = surface.mount(Panel())
    mount.update(available={"read": "Loading"})
    assert failed(await agent.call(Panel.read), "CAPABILITY_NOT_AVAILABLE").details == {"reason": "Loading"}
    mount.update(available={"view:panel.read": True})
    output(await agent.call(Panel.read))
    mount.update(enabled=False, available={"read": True})
    failed(await agent.call(Panel.read), "CAPABILITY_NOT_AVAILABLE")
    mount.update(enabled=True, available={"clear": True})
    failed(await agent.call(Panel.clear), "CAPABILITY_NOT_AVAILABLE")


@pytest.mark.requirement("4.1-unknown-push-name")
def test_pushing_an_unknown_name_is_a_definition_error_and_changes_nothing() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel())
    before = surface.snapshot(AGENT).to_json()["components"]
    with pytest.raises(DefinitionError):
        mount.update(enabled=False, available={"read": "no", "raed": "no"})
    assert surface.snapshot(AGENT).to_json()["components"] == before


@pytest.mark.requirement("4.2-second-mount-is-rejected")
async def test_a_second_live_mount_of_one_name_is_rejected_and_never_touches_the_live_one() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    rejected: list[Event] = []
    surface.subscribe(rejected.append, types={EventType.REJECTED})
    live = surface.mount(Panel(1), "a")
    dead = surface.mount(Panel(2), "a")
    assert (dead.status, dead.registration_id) == ("rejected", None)
    (event,) = rejected
    assert event.data["registration"] == live.registration_id
    assert "panel/a" in str(event.data["reason"]) and str(live.registration_id) in str(event.data["reason"])
    dead.update(enabled=False)
    dead.invalidate()
    dead.unmount()
    with dead:
        pass
    assert live.status == "mounted"
    assert output(await surface.connect(AGENT).call(Panel.read)) == 1


@pytest.mark.requirement("4.2-replace")
async def test_a_replacing_mount_ends_the_first_and_what_belonged_to_it() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    first = surface.mount(Panel(1))
    child = surface.mount(Panel(5), "child", parent=first)
    asked = failed(await agent.call(Panel.clear, instance="default"), "CONFIRMATION_REQUIRED")
    heard: list[EventType] = []
    surface.subscribe(lambda event: heard.append(event.type))
    second = surface.mount(Panel(2), on_duplicate="replace")
    assert (first.status, child.status, second.status) == ("unmounted", "unmounted", "mounted")
    assert first.registration_id != second.registration_id
    ended = surface.confirmations.get(str(asked.details["confirmation_id"]))
    assert ended is not None and (ended.status, ended.cause) == ("cancelled", "unmounted")
    first.unmount()
    assert output(await agent.call(Panel.read)) == 2
    assert heard.index(EventType.UNREGISTERED) < heard.index(EventType.REGISTERED)


@pytest.mark.requirement("4.3-handlers-read-live-state")
async def test_structure_is_frozen_per_registration_and_handlers_read_live_state() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    panel = Panel(1)
    mount = surface.mount(panel)
    before = surface.snapshot(AGENT)
    panel.value = 7
    assert output(await surface.connect(AGENT).call(Panel.read)) == 7
    assert surface.snapshot(AGENT).capabilities()[0].descriptor is before.capabilities()[0].descriptor
    assert mount.registration_id == before.components[0].registration


@pytest.mark.requirement("4.4-nothing-executable-outlives-the-mount")
async def test_unmount_drops_the_component() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    panel = Panel()
    gone = weakref.ref(panel)
    mount = surface.mount(panel)
    surface.snapshot(AGENT)
    await surface.connect(AGENT).call(Panel.read)
    mount.unmount()
    del panel
    gc.collect()
    assert gone() is None


@pytest.mark.requirement("4.4-unmount-aborts-running-work")
async def test_unmount_aborts_running_work_that_is_no_navigation() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel())
    other = surface.mount(Panel(9), "other")
    running = asyncio.create_task(surface.connect(AGENT).call(Panel.wait, instance="default"))
    queued = asyncio.create_task(surface.connect(AGENT).call(Panel.wait, instance="default"))
    spared = asyncio.create_task(surface.connect(AGENT).call(Panel.wait, instance="other"))
    await turns()
    mount.unmount()
    error = failed(await running, "COMPONENT_UNMOUNTED")
    assert error.details == {"phase": "mid-flight", "outcome": "unknown"}
    error = failed(await queued, "COMPONENT_UNMOUNTED")
    assert error.details == {"phase": "mid-flight", "outcome": "none"}
    await turns()
    assert not spared.done() and other.status == "mounted"
    surface.dispose()
    await spared


@pytest.mark.requirement("4.4-unmount-cancels-requests")
async def test_unmount_cancels_the_requests_of_that_registration_only() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    mount = surface.mount(Panel())
    surface.mount(Panel(), "other")
    one = str(failed(await agent.call(Panel.clear, instance="default")).details["confirmation_id"])
    other = str(failed(await agent.call(Panel.clear, instance="other")).details["confirmation_id"])
    await surface.confirmations.approve(one, OPERATOR)
    mount.unmount()
    statuses = [view.status for view in (surface.confirmations.get(one), surface.confirmations.get(other)) if view]
    assert statuses == ["cancelled", "pending"]


@pytest.mark.requirement("4.4-tombstones", "6.5-unmounted-is-told-to-those-who-were-shown-it")
async def test_a_tombstone_tells_those_who_were_shown_it_for_five_minutes() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Panel), principal="operator", clock=clock)
    agent = surface.connect(AGENT)
    mount = surface.mount(Panel())
    agent.capabilities()
    mount.unmount()
    clock.advance(299)
    error = failed(await agent.call(Panel.read), "COMPONENT_UNMOUNTED")
    assert error.details == {"phase": "resolve"}
    clock.advance(2)
    failed(await agent.call(Panel.read), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("6.5-hidden-was-never-shown", "4.7-hidden-equals-made-up")
async def test_a_hidden_capability_of_a_shown_component_that_has_gone_is_as_unknown_as_ever() -> None:
    class Mixed(Component, type="mixed"):
        """A part of it is not for everybody."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @observation(policies=[require_grant("keys")])
        def secret(self) -> int:
            """Only with keys."""
            return 1

    surface = Surface(authority_of(Mixed), principal="operator")
    agent = surface.connect(AGENT)
    mount = surface.mount(Mixed())
    assert [listed.id for listed in agent.capabilities()] == ["view:mixed.read"]
    mount.unmount()
    failed(await agent.call("view:mixed.read"), "COMPONENT_UNMOUNTED")
    hidden = failed(await agent.call("view:mixed.secret", registration=mount.registration_id), "CAPABILITY_NOT_FOUND")
    assert hidden == failed(await agent.call("view:mixed.madeUp", registration=mount.registration_id))


@pytest.mark.requirement("4.4-100-tombstones")
async def test_100_tombstones_are_kept() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    agent = surface.connect(AGENT)
    first = surface.mount(Panel(), "first")
    agent.capabilities()
    first.unmount()
    for number in range(99):
        with surface.mount(Panel(), f"n{number}"):
            pass
    failed(await agent.call(Panel.read, instance="first"), "COMPONENT_UNMOUNTED")
    with surface.mount(Panel(), "one-more"):
        pass
    failed(await agent.call(Panel.read, instance="first"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("4.11-dispose")
async def test_dispose_ends_everything_and_later_calls_are_cancelled() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    mount = surface.mount(Panel())
    asked = str(failed(await agent.call(Panel.clear)).details["confirmation_id"])
    running = asyncio.create_task(agent.call(Panel.wait))
    queued = asyncio.create_task(agent.call(Panel.wait))
    await turns()
    heard: list[EventType] = []
    surface.subscribe(lambda event: heard.append(event.type))
    surface.dispose()
    assert failed(await running, "CANCELLED").details == {"outcome": "unknown"}
    assert failed(await queued, "CANCELLED").details == {"outcome": "none"}
    ended = surface.confirmations.get(asked)
    assert ended is not None and (ended.status, ended.cause) == ("cancelled", "view-closed")
    assert {EventType.UNREGISTERED, EventType.INVOCATION_SETTLED, EventType.CONFIRMATION_RESOLVED} <= set(heard)
    count = len(heard)
    assert mount.status == "unmounted"
    assert surface.mount(Panel()).status == "rejected"
    snapshot = surface.snapshot(AGENT)
    assert (snapshot.components, snapshot.references) == ((), ())
    failed(await agent.call(Panel.read), "CANCELLED")
    failed(await agent.call("view:panel.madeUp"), "CANCELLED")
    surface.dispose()
    await turns()
    assert len(heard) == count


@pytest.mark.requirement("4.13-subscribe-by-type")
async def test_a_subscriber_hears_the_types_it_names_until_it_ends_it() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    heard: list[EventType] = []
    end = surface.subscribe(
        lambda event: heard.append(event.type), types={EventType.REGISTERED, EventType.ROUTE_CHANGED}
    )
    mount = surface.mount(Panel())
    surface.set_route("/devices")
    surface.set_route("/devices")
    mount.unmount()
    assert heard == [EventType.REGISTERED, EventType.ROUTE_CHANGED]
    assert surface.snapshot(AGENT).route == "/devices"
    surface.set_route(None)
    assert (surface.snapshot(AGENT).route, heard[2:]) == (None, [EventType.ROUTE_CHANGED])
    end()
    surface.mount(Panel())
    assert len(heard) == 3


@pytest.mark.requirement("4.13-subscribe-by-type")
def test_a_type_that_there_is_not_makes_no_deaf_listener() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    heard: list[Event] = []
    with pytest.raises(TypeError, match="types is a collection"):
        surface.subscribe(heard.append, types=cast(Any, "registered"))
    with pytest.raises(ValueError, match="nope"):
        surface.subscribe(heard.append, types=cast(Any, {"nope"}))
    surface.subscribe(heard.append, types=cast(Any, {"registered"}))
    surface.mount(Panel())
    assert [event.type for event in heard] == [EventType.REGISTERED]


@pytest.mark.requirement("5.1-consumer-kinds")
async def test_who_is_asking_is_a_consumer_and_nothing_else() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    wrong = cast(Any, "copilot")
    for use in (
        lambda: surface.connect(wrong),
        lambda: surface.snapshot(wrong),
    ):
        with pytest.raises(TypeError, match="'copilot' is no Consumer"):
            use()
    for asking in (
        surface.invoke(Invocation("view:panel.read"), wrong),
        surface.preflight(Invocation("view:panel.read"), wrong),
    ):
        with pytest.raises(TypeError, match="'copilot' is no Consumer"):
            await asking
    surface.dispose()


@pytest.mark.requirement("4.13-mounted-and-route")
def test_mounted_gives_the_live_instances_and_the_route_stands_in_the_snapshot() -> None:
    class Other(Component, type="other"):
        """Other."""

    surface = Surface(authority_of(Panel, Other), principal="operator")
    first, second = Panel(1), Panel(2)
    surface.mount(first, "b")
    mount = surface.mount(second, "a")
    surface.mount(Other())
    assert surface.mounted(Panel) == (second, first)
    mount.unmount()
    assert surface.mounted(Panel) == (first,)
    assert surface.snapshot(AGENT).route is None
    surface.set_route("/reports")
    assert surface.snapshot(AGENT).route == "/reports"


@pytest.mark.requirement("4.0-one-thread-one-loop")
def test_a_surface_belongs_to_one_thread_and_one_loop_and_misuse_raises_at_once() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    agent = surface.connect(AGENT)
    raised: list[BaseException] = []

    def elsewhere() -> None:
        for use in (
            lambda: surface.mount(Panel(), "x"),
            lambda: surface.snapshot(AGENT),
            lambda: surface.set_route("/"),
        ):
            try:
                use()
            except RuntimeError as error:
                raised.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(raised) == 3
    output(asyncio.run(agent.call(Panel.read)))
    with pytest.raises(RuntimeError, match="one event loop"):
        asyncio.run(agent.call(Panel.read))


@pytest.mark.requirement("4.0-principal-per-call")
async def test_principal_and_host_may_be_callables_asked_per_call() -> None:
    from_host: list[object] = []

    class Watch(Component, type="watch"):
        """Watch."""

        @observation
        def grants(self, who: Principal) -> list[str]:
            """Grants."""
            return sorted(who.grants)

    grants = {"a"}
    hosts = iter(range(100))

    def host() -> int:
        from_host.append(next(hosts))
        return cast(int, from_host[-1])

    surface = Surface(authority_of(Watch), principal=lambda: Principal("operator", grants=grants), host=host)
    surface.mount(Watch())
    assert output(await surface.connect(AGENT).call(Watch.grants)) == ["a"]
    grants.add("b")
    assert output(await surface.connect(AGENT).call(Watch.grants)) == ["a", "b"]
    assert len(from_host) >= 2


@pytest.mark.requirement("4.0-another-principal-ends-the-surface")
@pytest.mark.parametrize("then", [None, Principal("other"), Principal("operator", tenant="else")])
async def test_another_principal_ends_the_surface_and_nothing_held_passes_on(then: Principal | None) -> None:
    now: list[Principal | None] = [Principal("operator")]
    surface = Surface(authority_of(Panel), principal=lambda: now[0])
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    panel = Panel()
    mount = surface.mount(panel)
    asked = str(failed(await agent.call(Panel.clear)).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    running = asyncio.create_task(agent.call(Panel.wait))
    await turns()
    now[0] = then
    failed(await agent.call(Panel.clear, confirmation=asked), "NOT_AUTHENTICATED")
    failed(await running, "CANCELLED")
    assert mount.status == "unmounted" and panel.value == 1
    ended = surface.confirmations.get(asked)
    assert ended is not None and ended.status == "cancelled"
    now[0] = Principal("operator")
    failed(await agent.call(Panel.read), "CANCELLED")


@pytest.mark.requirement("4.0-another-principal-ends-the-surface")
async def test_a_principal_that_goes_while_a_call_waits_stops_that_call() -> None:
    now: list[Principal | None] = [Principal("operator")]
    surface = Surface(authority_of(Panel), principal=lambda: now[0])
    agent = surface.connect(AGENT)
    panel = Panel()
    surface.mount(panel)
    running = asyncio.create_task(agent.call(Panel.wait))
    await turns()
    queued = asyncio.create_task(agent.call(Panel.wait))
    await turns()
    now[0] = None
    assert panel.gate is not None
    panel.gate.set()
    output(await running)
    failed(await queued, "NOT_AUTHENTICATED")


@pytest.mark.requirement("4.0-host-that-raises")
async def test_a_principal_or_host_that_raises_closes_and_tells_the_agent_nothing() -> None:
    bad: list[bool] = [False]

    def principal() -> Principal:
        if bad[0]:
            raise RuntimeError("secret-4711")
        return Principal("operator")

    def host() -> object:
        raise RuntimeError("secret-4711")

    surface = Surface(authority_of(Panel), principal=principal)
    surface.mount(Panel())
    bad[0] = True
    assert surface.snapshot(AGENT).components == ()
    error = failed(await surface.connect(AGENT).call(Panel.read), "NOT_AUTHENTICATED")
    assert "secret" not in str(error)
    bad[0] = False
    output(await surface.connect(AGENT).call(Panel.read))

    surface = Surface(authority_of(Panel), principal="operator", host=host)
    surface.mount(Panel())
    assert surface.snapshot(AGENT).components == ()
    error = failed(await surface.connect(AGENT).call(Panel.read), "EXECUTION_FAILED")
    assert "secret" not in str(error)
    assert any("secret-4711" in (entry.cause or "") for entry in surface.audit())
    with pytest.raises(PermissionError):
        Surface(authority_of(Panel), principal=cast(Any, host))
    with pytest.raises(PermissionError):
        Surface(authority_of(Panel), principal=lambda: None)
    with pytest.raises(TypeError, match="principal\\(\\) returned str"):
        Surface(authority_of(Panel), principal=cast(Any, lambda: "operator"))


@pytest.mark.requirement("4.1-the-version-moves-on-a-difference")
async def test_an_update_that_changes_nothing_moves_no_version_and_is_no_event() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    mount = surface.mount(Panel(), enabled=False)
    mount.update(available={"read": "Not yet"})
    await turns()
    version = surface.snapshot(AGENT).surface_version
    heard: list[Event] = []
    surface.subscribe(heard.append)
    mount.update(enabled=False)
    mount.update(enabled=False, reason="Another reason is state")
    mount.update(available={"read": "Still not"})
    mount.update(available={"wait": True})
    mount.update()
    await turns()
    assert surface.snapshot(AGENT).surface_version == version
    assert heard == []
    mount.update(enabled=True)
    assert surface.snapshot(AGENT).surface_version != version


@pytest.mark.requirement("5.6-a-person-s-time-is-not-the-call-s")
async def test_an_approval_that_takes_longer_than_the_deadline_lets_the_call_run() -> None:
    clock = ManualClock()
    surface = Surface(authority_of(Panel), principal="operator", clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    panel = Panel()
    surface.mount(panel)
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset()
    tools.definitions()
    waiting = asyncio.ensure_future(tools.call("view_panel__clear", {}))
    await turns()
    clock.advance(60)
    await turns()
    assert not waiting.done(), "an action has ten seconds, a person two minutes"
    (request,) = surface.confirmations.pending()
    await surface.confirmations.approve(request.id, OPERATOR)
    await asyncio.wait_for(waiting, 10)
    assert panel.value == 0


@pytest.mark.requirement("4.1-parents")
def test_what_is_mounted_below_a_rejected_mount_is_rejected_too() -> None:
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel())
    rejected = surface.mount(Panel())
    below = surface.mount(Panel(), "below", parent=rejected)
    assert (rejected.status, below.status, below.registration_id) == ("rejected", "rejected", None)
    assert len(surface.mounted(Panel)) == 1
