"""Keys that are replaced while a gateway serves: nobody notices, until the key that signed their token is dropped."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from websockets.exceptions import ConnectionClosed

from remit import AuditType, Decider, Surface
from remit.gateway import Keys
from tests.adapters.page_client import READ, calling, error_of, output_of, plain_socket, token_for
from tests.adapters.site import OPERATOR, Site, Table, serving
from tests.adapters.test_revoking import HOLD, NOTE, Slow

ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 3))


@dataclass
class Scene:
    """A site whose keys the test holds, and its view."""

    site: Site
    keys: Keys
    surface: Surface
    slow: Slow


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    keys = Keys("k1", {"k1": ONE})
    async with serving(more=(Slow,), keys=keys) as site:
        surface, slow = site.open().surface, Slow()
        surface.mount(Table())
        surface.mount(slow)
        yield Scene(site, keys, surface, slow)


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
async def test_who_has_a_token_of_the_key_before_goes_on_and_so_does_a_request_that_waits(scene: Scene) -> None:
    token = token_for(scene.site)
    async with calling(scene.site, token) as client, client.events() as events:
        asked = error_of(await client.act(NOTE, {"note": "first"}))
        scene.keys.rotate("k2", TWO)
        async with calling(scene.site) as newcomer:
            output_of(await newcomer.invoke(READ))
        (view,) = scene.surface.confirmations.pending()
        await scene.surface.confirmations.approve(view.id, Decider("operator"), digest=view.digest)
        output_of(await client.act(NOTE, {"note": "first"}, confirmation=asked["details"]["confirmation_id"]))
        await events.until("confirmation-resolved")
    assert scene.slow.notes == ["first"]


@pytest.mark.requirement("11.11-keys-rotate-while-they-serve")
async def test_who_has_a_token_of_a_dropped_key_is_cut_off_at_every_door(scene: Scene) -> None:
    site = scene.site
    token, tool = token_for(site), site.token()
    async with calling(site, token) as client, client.events() as events, plain_socket(site, token) as socket:
        async with site.client("auto", token=tool) as mcp, mcp.listen(tools_list_changed=True) as stream:
            running = asyncio.create_task(client.act(HOLD))
            await scene.slow.begun.wait()
            scene.keys.rotate("k2", TWO)
            kept = token_for(site)
            async with calling(site, kept) as other:
                registration = (await other.listed())[HOLD]["registration"]
            scene.keys.rotate("k3", THREE)
            assert [event async for event in stream] == []
            with pytest.raises(StopAsyncIteration):
                while True:
                    await events.next()
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert (await client.http.post("/describe", json={})).status_code == 401
            assert (await site.post(Authorization=f"Bearer {tool}")).status_code == 401
            scene.slow.gate.set()
            assert output_of(await running) == 1, "code that runs comes to its end"
    async with calling(site, kept) as other:
        assert output_of(await other.invoke(HOLD, registration=registration)) == 2
    ended = scene.surface.audit(types=[AuditType.REVOCATION])
    assert {entry.principal for entry in ended} == {OPERATOR.id} and len(ended) == 2
    assert all((entry.why or "").endswith(": the key k1 that signed it was dropped") for entry in ended)
