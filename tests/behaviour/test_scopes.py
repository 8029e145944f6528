"""What one session may reach of what the site opens: scopes, regions, and scopes that change (SPEC 11.2)."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import pytest

from remit import Component, Consumer, Event, EventType, ManualClock, Procedures, Surface, action, reference
from remit.explain import explain
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output, turns

backend = Procedures()


@backend.operation("orders.notify", effect="server-query")
async def notify() -> str:
    """Notify the customer."""
    return "notified"


class Page(Component, type="orders.page"):
    """The page of orders."""

    @action
    def print(self) -> str:
        """Print the page."""
        return "page"


class Orders(Component, type="orders.list"):
    """The orders on a page."""

    notify = reference("domain:orders.notify")

    @action
    def sort(self) -> str:
        """Sort the orders."""
        return "sorted"

    @action(confirmation="required")
    def clear(self) -> str:
        """Clear the list."""
        return "cleared"


AUTHORITY = authority_of(Page, Orders, procedures=backend)
SORT, PRINT, NOTIFY, CLEAR = (
    "view:orders.list.sort",
    "view:orders.page.print",
    "domain:orders.notify",
    "view:orders.list.clear",
)


def opened(clock: ManualClock | None = None) -> Surface:
    """A page with a list in it, and a list that stands alone."""
    surface = Surface(AUTHORITY, principal="operator", procedures=backend, clock=clock)
    surface.confirmations.subscribe(lambda view: None)
    page = surface.mount(Page())
    surface.mount(Orders(), "inside", parent=page)
    surface.mount(Orders(), "alone")
    return surface


def seen(surface: Surface, scope: Iterable[str] | None) -> set[str]:
    """What a consumer of this scope is told of, each with its instance."""
    consumer = Consumer("agent", kind="test", scope=scope)
    return {f"{each.id} {each.instance}" for each in surface.snapshot(consumer).capabilities()}


INSIDE = {f"{id} inside" for id in (SORT, CLEAR, NOTIFY)}
ALONE = {f"{id} alone" for id in (SORT, CLEAR, NOTIFY)}
OWN = {f"{PRINT} default"}


@pytest.mark.requirement("11.2-regions")
@pytest.mark.parametrize(
    ("scope", "wanted"),
    [
        (["region:orders.page/**"], INSIDE),
        (["region:orders.page"], OWN),
        (["region:orders.list"], ALONE),
        (["region:*/orders.list"], INSIDE),
        (["region:orders.page", "region:orders.page/**"], OWN | INSIDE),
        (["region:orders.page/orders.list"], INSIDE),
        (["region:**"], OWN | INSIDE | ALONE),
        (["region:orders"], set()),
        (["region:orders.page/orders"], set()),
        (["region:orders.page", SORT], OWN | {f"{SORT} inside", f"{SORT} alone"}),
        (["view:orders.list.*"], {f"{id} {at}" for id in (SORT, CLEAR) for at in ("inside", "alone")}),
        (["domain:**"], {f"{NOTIFY} inside", f"{NOTIFY} alone"}),
        ([], set()),
        (None, OWN | INSIDE | ALONE),
    ],
)
async def test_a_scope_names_ids_or_the_region_in_which_something_is_mounted(
    scope: list[str] | None, wanted: set[str]
) -> None:
    surface = opened()
    assert seen(surface, scope) == wanted
    agent = surface.connect(Consumer("agent", kind="test", scope=scope))
    for id, instance in ((SORT, "inside"), (SORT, "alone"), (PRINT, "default"), (NOTIFY, "orders.list/inside")):
        outcome = await agent.call(id, instance=instance)
        if f"{id} {instance.rpartition('/')[2]}" in wanted:
            output(outcome)
        else:
            failed(outcome, "CAPABILITY_NOT_FOUND")
    told = {
        f"{each.capability} {each.instance}" for each in explain(surface, agent.consumer) if each.outcome != "hidden"
    }
    assert told == wanted


@pytest.mark.requirement("11.2-regions")
async def test_a_call_that_names_no_instance_means_the_one_in_its_region() -> None:
    surface = opened()
    agent = surface.connect(Consumer("agent", kind="test", scope=["region:orders.page/**"]))
    assert output(await agent.call(SORT)) == "sorted"
    failed(await surface.connect(AGENT).call(SORT), "AMBIGUOUS_INSTANCE")
    hidden = next(each.registration for each in surface.snapshot(AGENT).capabilities() if each.instance == "alone")
    failed(await agent.call(SORT, registration=hidden), "STALE_CAPABILITY")
    why = [each.why for each in explain(surface, agent.consumer).of(PRINT)]
    assert why == ["outside the consumer's scope"]


@pytest.mark.requirement("11.2-regions")
async def test_what_has_gone_from_a_region_is_told_to_who_was_shown_it_there() -> None:
    surface = Surface(AUTHORITY, principal="operator", procedures=backend)
    page = surface.mount(Page())
    inside = surface.mount(Orders(), "inside", parent=page)
    agent = surface.connect(Consumer("agent", kind="test", scope=["region:orders.page/**"]))
    agent.capabilities()
    inside.unmount()
    failed(await agent.call(SORT), "COMPONENT_UNMOUNTED")
    narrowed = surface.connect(Consumer("agent", kind="test", scope=["region:orders.list"]))
    failed(await narrowed.call(SORT), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("11.2-regions")
async def test_a_listing_says_in_which_components_something_is_mounted() -> None:
    listed = {f"{each.id} {each.instance}": each for each in opened().snapshot(AGENT).capabilities()}
    assert listed[f"{SORT} inside"].scope_path == ("orders.page",)
    assert listed[f"{SORT} alone"].scope_path == ()
    assert listed[f"{NOTIFY} inside"].to_json()["scopePath"] == ["orders.page"]
    assert "scopePath" not in listed[f"{PRINT} default"].to_json()
    assert str(listed[f"{NOTIFY} inside"].page_id) == "domain:orders.notify#orders.list/inside"
    assert str(listed[f"{SORT} alone"].page_id) == "view:orders.list.sort#alone"


@pytest.mark.requirement("11.2-scope-changes")
async def test_a_scope_that_was_narrowed_counts_at_the_next_call_and_the_old_list_opens_nothing() -> None:
    surface = opened()
    wide = surface.connect(Consumer("agent", kind="test", scope=["view:orders.**"]))
    before = surface.snapshot(wide.consumer).surface_version
    listed = next(each for each in wide.capabilities() if each.instance == "alone" and each.id == SORT)
    output(await wide.call(SORT, registration=listed.registration))
    narrow = surface.connect(Consumer("agent", kind="test", scope=["view:orders.page.*"]))
    failed(await narrow.call(SORT, registration=listed.registration), "CAPABILITY_NOT_FOUND")
    assert surface.snapshot(narrow.consumer).surface_version != before


@pytest.mark.requirement("11.2-scope-changes")
async def test_a_scope_that_is_narrowed_while_a_call_waits_stops_it_at_the_gate() -> None:
    class Busy(Component, type="busy"):
        """Something that takes a while."""

        def __init__(self) -> None:
            self.go_on = asyncio.Event()
            self.ran = 0

        @action
        async def work(self) -> None:
            """Work."""
            self.ran += 1
            await self.go_on.wait()

        @action
        def look(self) -> None:
            """Look."""

    surface, busy = Surface(authority_of(Busy), principal="operator"), Busy()
    surface.mount(busy)
    heard: list[Event] = []
    wide = surface.connect(Consumer("agent", kind="test", scope=["view:busy.*"]))
    surface.subscribe(heard.append, types={EventType.SCOPE_CHANGED}, consumer=wide.consumer)
    running = asyncio.create_task(wide.call("view:busy.work"))
    waiting = asyncio.create_task(wide.call("view:busy.work"))
    await turns()
    narrow = surface.connect(Consumer("agent", kind="test", scope=["view:busy.look"]))
    narrow.capabilities()
    busy.go_on.set()
    output(await running)
    failed(await waiting, "CAPABILITY_NOT_FOUND")
    assert busy.ran == 1
    assert len(heard) == 1
    assert [each.why for each in journal(surface) if each.code] == ["outside the consumer's scope"]


@pytest.mark.requirement("11.2-scope-changes")
async def test_a_scope_that_is_narrowed_while_a_person_decides_stops_the_call_and_spends_nothing() -> None:
    surface = opened()
    wide = surface.connect(Consumer("agent", kind="test", scope=["region:orders.page/**"]))
    asked = failed(await wide.call(CLEAR), "CONFIRMATION_REQUIRED")
    id = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(id, OPERATOR)
    narrow = surface.connect(Consumer("agent", kind="test", scope=["region:orders.page"]))
    failed(await narrow.call(CLEAR, confirmation=id), "CAPABILITY_NOT_FOUND")
    output(await wide.call(CLEAR, confirmation=id))


@pytest.mark.requirement("11.2-scope-ends")
async def test_from_its_end_on_a_consumer_sees_nothing_and_calls_nothing() -> None:
    clock = ManualClock()
    surface = opened(clock)
    agent = surface.connect(Consumer("agent", kind="test", until=clock.now() + timedelta(seconds=30)))
    heard: list[Event] = []
    surface.subscribe(heard.append, types={EventType.ROUTE_CHANGED}, consumer=agent.consumer)
    assert agent.capabilities()
    output(await agent.call(PRINT))
    surface.set_route("/orders")
    clock.advance(30)
    surface.set_route("/secret")
    assert [each.data["route"] for each in heard] == ["/orders"]
    assert agent.capabilities() == ()
    for id in (PRINT, "view:made.up"):
        failed(await agent.call(id), "NOT_AUTHENTICATED")
    assert {each.outcome for each in explain(surface, agent.consumer)} == {"hidden"}
    assert journal(surface)[-1].why == "the consumer's time is over"


@pytest.mark.requirement("11.2-scope-ends")
async def test_a_call_that_waits_beyond_the_end_of_its_consumer_is_refused_at_the_gate() -> None:
    class Busy(Component, type="busy"):
        """Something that takes a while."""

        def __init__(self) -> None:
            self.go_on = asyncio.Event()
            self.ran = 0

        @action
        async def work(self) -> None:
            """Work."""
            self.ran += 1
            await self.go_on.wait()

    clock, busy = ManualClock(), Busy()
    surface = Surface(authority_of(Busy), principal="operator", clock=clock)
    surface.mount(busy)
    agent = surface.connect(Consumer("agent", kind="test", until=clock.now() + timedelta(seconds=1)))
    running = asyncio.create_task(agent.call("view:busy.work"))
    waiting = asyncio.create_task(agent.call("view:busy.work"))
    await turns()
    clock.advance(1)
    busy.go_on.set()
    output(await running)
    failed(await waiting, "NOT_AUTHENTICATED")
    assert busy.ran == 1
