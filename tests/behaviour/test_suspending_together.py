"""The kill switch in the store: every surface over it sees a suspension at the next call (SPEC 4.13)."""

import contextlib
import threading

import pytest

from remit import Component, Consumer, Event, EventType, Principal, Surface, observation
from remit.gateway import Gateway
from remit.store.memory import MemoryStore
from tests.behaviour.conftest import AGENT, authority_of, failed, output, turns


class Pump(Component, type="pump"):
    """A pump."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @observation
    def look(self) -> int:
        """Look."""
        return 2


AUTHORITY = authority_of(Pump)
ALL = ["view:pump.look", "view:pump.read"]


def opened(store: MemoryStore | None, tenant: str | None = None, id: str = "operator") -> Surface:
    surface = Surface(AUTHORITY, principal=Principal(id, tenant=tenant), store=store)
    surface.mount(Pump())
    return surface


def listed(surface: Surface) -> list[str]:
    return sorted(each.id for each in surface.connect(AGENT).capabilities())


@pytest.mark.requirement("4.13-suspensions-are-in-the-store")
async def test_every_surface_over_the_store_sees_it_at_the_next_call_and_listing() -> None:
    store = MemoryStore()
    one, two, alone = opened(store), opened(store, id="somebody"), opened(None)
    assert [listed(surface) for surface in (one, two, alone)] == [ALL, ALL, ALL]
    version = two.snapshot(AGENT).surface_version
    heard: list[Event] = []
    two.subscribe(heard.append, types=[EventType.SURFACE_CHANGED], consumer=AGENT)
    await turns()
    heard.clear()
    one.suspend(capability=Pump.read)
    failed(await two.connect(AGENT).call(Pump.read), "CAPABILITY_NOT_FOUND")
    assert [listed(surface) for surface in (one, two, alone)] == [ALL[:1], ALL[:1], ALL]
    assert two.snapshot(AGENT).surface_version != version
    await turns()
    assert len(heard) == 1
    two.reinstate(capability=Pump.read)
    assert output(await one.connect(AGENT).call(Pump.read)) == 1
    one.suspend(consumer=AGENT)
    failed(await two.connect(AGENT).call(Pump.read), "NOT_AUTHORIZED")
    assert listed(two) == []


@pytest.mark.requirement("4.13-suspensions-are-in-the-store")
async def test_a_surface_that_is_opened_later_is_suspended_too_and_one_that_ended_takes_nothing_with_it() -> None:
    store = MemoryStore()
    one = opened(store)
    one.suspend(consumer=AGENT)
    one.dispose()
    failed(await opened(store).connect(AGENT).call(Pump.read), "NOT_AUTHORIZED")


@pytest.mark.requirement("4.13-suspensions-are-in-the-store")
async def test_a_suspension_is_its_tenant_s_own() -> None:
    store = MemoryStore()
    acme, globex, none = (opened(store, tenant) for tenant in ("acme", "globex", None))
    acme.suspend(consumer=AGENT)
    acme.suspend(capability=Pump.look)
    failed(await acme.connect(AGENT).call(Pump.read), "NOT_AUTHORIZED")
    assert [listed(globex), listed(none)] == [ALL, ALL]
    globex.reinstate(consumer=AGENT)
    failed(await acme.connect(AGENT).call(Pump.read), "NOT_AUTHORIZED")


@pytest.mark.requirement("4.13-suspensions-are-in-the-store")
async def test_a_surface_of_another_thread_s_store_follows() -> None:
    store = MemoryStore()
    here = opened(store)
    assert listed(here) == ALL
    thread = threading.Thread(target=lambda: opened(store).suspend(capability=Pump.read))
    thread.start()
    thread.join(20)
    assert listed(here) == ALL[:1]
    failed(await here.connect(AGENT).call(Pump.read), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("4.13-gateway-wide")
async def test_a_gateway_suspends_for_every_view_and_tenant_and_a_surface_cannot_take_that_back() -> None:
    gateway = Gateway(AUTHORITY)

    def view(tenant: str | None) -> Surface:
        session = gateway.open_view(
            principal=lambda: Principal("ada", tenant=tenant),
            host=lambda: None,
            within=contextlib.nullcontext,
            title="Pumps",
            route="/",
        )
        session.surface.mount(Pump())
        return session.surface

    views = [view("acme"), view(None)]
    gateway.suspend(capability="view:pump.read")
    views.append(view("globex"))
    assert [listed(each) for each in views] == [ALL[:1]] * 3
    views[0].reinstate(capability=Pump.read)
    assert listed(views[0]) == ALL[:1]
    gateway.suspend(consumer=AGENT)
    failed(await views[2].connect(AGENT).call(Pump.look), "NOT_AUTHORIZED")
    assert output(await views[2].connect(Consumer("other", kind="test")).call(Pump.look)) == 2
    gateway.reinstate(consumer=AGENT)
    gateway.reinstate(capability="view:pump.read")
    assert [listed(each) for each in views] == [ALL] * 3
    with pytest.raises(ValueError, match="no capability"):
        gateway.suspend(capability="view:pump.madeUp")


@pytest.mark.requirement("4.13-gateway-wide")
async def test_the_views_of_a_gateway_share_what_one_of_them_suspends() -> None:
    gateway = Gateway(AUTHORITY)
    surfaces = [
        gateway.open_view(
            principal=lambda: Principal("ada"),
            host=lambda: None,
            within=contextlib.nullcontext,
            title="Pumps",
            route="/",
        ).surface
        for _ in range(2)
    ]
    for surface in surfaces:
        surface.mount(Pump())
    surfaces[0].suspend(consumer=AGENT)
    failed(await surfaces[1].connect(AGENT).call(Pump.read), "NOT_AUTHORIZED")
