"""A surface that has ended, or a part of it that has gone, holds nothing of what ran or waited there."""

import asyncio

import pytest

from remit import Component, Surface, action
from tests.behaviour.conftest import AGENT, authority_of, failed, turns
from tests.properties.held import over_capacity, running


class Desk(Component, type="desk"):
    """A desk."""

    @action
    async def wait(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()


@pytest.mark.requirement("15.3-nothing-is-left")
@pytest.mark.parametrize("end", ["unmount", "dispose"])
async def test_calls_that_ran_and_waited_leave_nothing_behind(end: str) -> None:
    surface = Surface(authority_of(Desk), principal="operator")
    mount = surface.mount(Desk())
    agent = surface.connect(AGENT)
    calls = [asyncio.create_task(agent.call(Desk.wait)) for _ in range(3)]
    await turns()
    assert running(surface) != []
    if end == "unmount":
        mount.unmount()
    else:
        surface.dispose()
    for call in calls:
        failed(await call)
    await turns()
    assert running(surface) == []
    assert over_capacity(surface) == []
