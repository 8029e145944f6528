"""Reads of one session that go out together, where the backend offers that (SPEC 10.7)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from remit import Component, Context, DefinitionError, Outcome, Surface, parallel, reference
from remit.procedures.orpc import ORPC, Credentials, Procedure
from tests.behaviour.conftest import AGENT, authority_of, failed, output
from tests.openapi.raw import answering
from tests.orpc.backend import Backend
from tests.unit.procedures.openapi_echo import serving

pytestmark = pytest.mark.xdist_group("orpc")


class Board(Component, type="board"):
    """A board."""

    one = reference("domain:one", concurrency=parallel(8))
    thrown = reference("domain:thrown")
    write = reference("domain:write", concurrency=parallel(8))


def catalogue_of(orpc: Backend, *, batch: Any = 3, **more: Any) -> ORPC:
    return ORPC(
        orpc.contract,
        document=orpc.document,
        base_url=more.pop("base_url", orpc.url + "/rpc"),
        dialect=orpc.dialect,
        batch=batch,
        expose={
            "one": Procedure("types.one", effect="server-query"),
            "thrown": Procedure("errors.thrown", effect="server-query"),
            "write": Procedure("devices.disable", effect="server-mutation"),
        },
        **more,
    )


@asynccontextmanager
async def surface_over(catalogue: ORPC, principal: str = "ada") -> AsyncIterator[Surface]:
    surface = Surface(authority_of(Board, procedures=catalogue), procedures=catalogue, principal=principal)
    surface.mount(Board())
    yield surface
    surface.dispose()


async def both(surface: Surface, *calls: tuple[str, Any]) -> list[Outcome]:
    agent = surface.connect(AGENT)
    return await asyncio.gather(*(agent.call(f"domain:{name}", input) for name, input in calls))


@pytest.mark.requirement("10.7-batches")
async def test_reads_at_the_same_time_are_one_request_and_each_gets_its_own_answer(orpc: Backend) -> None:
    catalogue = catalogue_of(orpc)
    before = len(orpc.seen()["requests"])
    async with catalogue, surface_over(catalogue) as surface:
        found = await both(
            surface, ("one", {"of": "number"}), ("thrown", {"what": "FORBIDDEN"}), ("one", {"of": "undefined"})
        )
        (request,) = orpc.seen()["requests"][before:]
        assert [output(found[0]), output(found[2])] == [42, None]
        failed(found[1], "NOT_AUTHORIZED")
        first, second = orpc.url + "/rpc/types/one", orpc.url + "/rpc/errors/thrown"
        if orpc.dialect == "1.x":
            assert request["headers"]["x-orpc-batch"] == "buffered"
            assert request["body"] == (
                f'[{{"body":{{"json":{{"of":"number"}}}},"url":"{first}"}},'
                f'{{"body":{{"json":{{"what":"FORBIDDEN"}}}},"url":"{second}"}},'
                f'{{"body":{{"json":{{"of":"undefined"}}}},"url":"{first}"}}]'
            )
        else:
            assert request["headers"]["orpc-batch"] == "buffered"
            assert json.loads(request["body"])[1] == {
                "id": "1",
                "kind": "request",
                "json": {
                    "method": "POST",
                    "url": "/rpc/errors/thrown",
                    "headers": {},
                    "bodyHint": "json",
                    "body": {"json": {"what": "FORBIDDEN"}},
                },
            }
        assert request["url"] == "/rpc/__batch__"


@pytest.mark.requirement("10.7-batches")
async def test_one_alone_and_what_changes_something_go_out_by_themselves_and_no_batch_is_too_large(
    orpc: Backend,
) -> None:
    catalogue = catalogue_of(orpc, batch=2)
    async with catalogue, surface_over(catalogue) as surface:
        before = len(orpc.seen()["requests"])
        output((await both(surface, ("one", {"of": "number"})))[0])
        await both(surface, ("write", {"id": "a"}), ("write", {"id": "b"}))
        assert not any("batch" in each["url"] for each in orpc.seen()["requests"][before:])
        before = len(orpc.seen()["requests"])
        found = await both(surface, *[("one", {"of": "number"})] * 5)
        assert [output(each) for each in found] == [42] * 5
        urls = sorted(each["url"] for each in orpc.seen()["requests"][before:])
        assert urls == ["/rpc/__batch__", "/rpc/__batch__", "/rpc/types/one"]


@pytest.mark.requirement("10.7-batches")
async def test_no_call_is_part_of_a_request_with_another_credential(orpc: Backend) -> None:
    def credential(ctx: Context) -> dict[str, str]:
        return {"authorization": f"Bearer {ctx.principal.id}"}

    catalogue = catalogue_of(orpc, credentials=Credentials(credential, headers=["authorization"]))
    async with catalogue, surface_over(catalogue, "ada") as ada, surface_over(catalogue, "bob") as bob:
        before = len(orpc.seen()["requests"])
        calls = [("one", {"of": "number"})] * 2
        await asyncio.gather(both(ada, *calls), both(bob, *calls))
        sent = orpc.seen()["requests"][before:]
    assert sorted(each["headers"]["authorization"] for each in sent) == ["Bearer ada", "Bearer bob"]
    assert [len(json.loads(each["body"])) for each in sent] == [2, 2]


@pytest.mark.requirement("10.7-batches")
async def test_a_backend_that_does_not_offer_batches_is_asked_one_by_one_from_then_on(orpc: Backend) -> None:
    seen: list[str] = []

    async def answer(request: Request) -> Response:
        seen.append(request.url.path)
        batched = "batch" in request.url.path
        return Response("Not found", 404) if batched else JSONResponse({"json": len(seen)})

    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=["POST"])])) as url:
        catalogue = catalogue_of(orpc, base_url=url)
        async with catalogue, surface_over(catalogue) as surface:
            for _ in range(2):
                for each in await both(surface, *[("one", {"of": "number"})] * 2):
                    output(each)
    assert seen == ["/__batch__", *["/types/one"] * 4]


@pytest.mark.requirement("10.7-batches")
async def test_what_a_batch_leaves_out_has_no_answer_and_one_too_large_is_asked_one_by_one(orpc: Backend) -> None:
    first = {"index": 0, "status": 200, "body": {"json": 1}}
    if orpc.dialect == "2.0-beta":
        first = {"id": "0", "kind": "response", "json": {"status": 200, "headers": {}, "body": {"json": 1}}}
    batches: list[Any] = [[first, "else", {"index": 9}, {"id": "x"}], {"no": "list"}, ["x" * 1_100_000]]

    async def answer(request: Request) -> Response:
        if "batch" in request.url.path:
            return JSONResponse(batches.pop(0), 207)
        return JSONResponse({"json": 2})

    with serving(Starlette(routes=[Route("/{rest:path}", answer, methods=["POST"])])) as url:
        catalogue = catalogue_of(orpc, base_url=url)
        async with catalogue, surface_over(catalogue) as surface:
            calls = [("one", {"of": "number"})] * 2
            one, other = await both(surface, *calls)
            assert output(one) == 1
            assert failed(other).details["reason"] == "transport"
            assert [failed(each).details["reason"] for each in await both(surface, *calls)] == ["output-invalid"] * 2
            assert [output(each) for each in await both(surface, *calls)] == [2, 2]


@pytest.mark.requirement("10.7-batches", "10.4-cancel-signal")
async def test_a_batch_is_left_when_nobody_waits_for_it_any_more(orpc: Backend) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        begun.set()
        await reader.read()
        closed.set()

    async with (
        answering(hang) as url,
        catalogue_of(orpc, base_url=url) as catalogue,
        surface_over(catalogue) as surface,
    ):
        agent = surface.connect(AGENT)
        calls = [asyncio.ensure_future(agent.call("domain:one", {"of": "number"}, id=id)) for id in ("1", "2")]
        await begun.wait()
        surface.cancel("1", AGENT)
        failed(await calls[0], "CANCELLED")
        assert not closed.is_set()
        surface.cancel("2", AGENT)
        failed(await calls[1], "CANCELLED")
        await closed.wait()


@pytest.mark.requirement("10.7-batches")
def test_a_batch_that_cannot_be_meant_is_refused(orpc: Backend) -> None:
    for batch, more in ((1, {}), (True, {}), (5, {"form": "openapi"})):
        with pytest.raises(DefinitionError, match="batch="):
            catalogue_of(orpc, batch=batch, **more)
