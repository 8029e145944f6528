"""An application of the same process as a backend: what counts as its answer, and what goes on after it (SPEC 10.1)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import BackgroundTasks, FastAPI

from remit import Component, reference
from remit.procedures.http.address import Origin
from remit.procedures.http.connections import Full
from remit.procedures.http.in_process import InProcess
from remit.procedures.openapi import OpenAPI, Operation
from tests.behaviour.conftest import AGENT, failed, output
from tests.openapi.test_openapi_calls import surface_over
from tests.openapi.test_openapi_odd_backends import in_process

HERE = Origin(scheme="http", host="localhost", port=80)


class Jobs(Component, type="jobs"):
    """Jobs."""

    write = reference("domain:write")


class Service:
    """A job that begins after its answer."""

    def __init__(self) -> None:
        self.go, self.begun, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.became = ""
        self.app = FastAPI()
        self.app.post("/job")(self.job)

    async def job(self, after: BackgroundTasks) -> int:
        """Start a job."""
        after.add_task(self.work)
        return 1

    async def work(self) -> None:
        self.begun.set()
        try:
            await self.go.wait()
            self.became = "done"
        except asyncio.CancelledError:
            self.became = "cancelled"
            raise
        finally:
            self.ended.set()


def catalogue_over(service: Service, **more: Any) -> OpenAPI:
    return OpenAPI(service.app, expose={"write": Operation("POST /job", effect="server-mutation")}, **more)


@pytest.mark.requirement("10.1-an-answer-ends-with-its-last-message")
async def test_a_task_in_the_background_goes_on_after_the_answer_to_its_call() -> None:
    service = Service()
    async with surface_over(catalogue_over(service), kind=Jobs) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == 1
        await service.begun.wait()
        assert not service.ended.is_set()
        service.go.set()
        await service.ended.wait()
        assert service.became == "done"


@pytest.mark.requirement("10.1-an-answer-ends-with-its-last-message")
async def test_a_task_in_the_background_ends_with_the_catalogue() -> None:
    service = Service()
    async with surface_over(catalogue_over(service), kind=Jobs) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == 1
        await service.begun.wait()
    assert service.became == "cancelled"


@pytest.mark.requirement("10.1-an-answer-ends-with-its-last-message")
async def test_a_stream_without_an_end_is_too_large_and_its_application_is_told_to_stop() -> None:
    ended = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        try:
            await send({"type": "http.response.start", "status": 200})
            while True:
                await send({"type": "http.response.body", "body": bytes(1_000), "more_body": True})
        finally:
            ended.set()

    async with surface_over(in_process(app)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:read", {}), "EXECUTION_FAILED")
        assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "none")
        await ended.wait()


@pytest.mark.requirement("10.1-an-answer-ends-with-its-last-message")
async def test_calls_of_an_application_are_bounded_with_those_that_have_answered_and_still_work() -> None:
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        assert (await receive(), await anext_disconnect(send, receive)) == (
            {"type": "http.request", "body": b"a", "more_body": False},
            {"type": "http.disconnect"},
        )
        await go.wait()

    async def anext_disconnect(send: Callable[[Any], Any], receive: Any) -> Any:
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})
        return await receive()

    backend = InProcess(app, most=1)
    async with backend.exchange(HERE, "POST", b"/", [], b"a") as reply:
        assert (reply.status, [chunk async for chunk in reply.chunks]) == (204, [])
    with pytest.raises(Full, match="1 calls of the application still run"):
        async with backend.exchange(HERE, "POST", b"/", [], b"a"):
            raise AssertionError("it was called")
    await backend.close()
    async with backend.exchange(HERE, "POST", b"/", [], b"a") as reply:
        assert reply.status == 204
    await backend.close()


@pytest.mark.requirement("10.1-an-answer-ends-with-its-last-message")
async def test_a_body_before_its_head_is_no_answer() -> None:
    async def app(scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        await send({"type": "http.response.body", "body": b"x"})

    async with InProcess(app).exchange(HERE, "GET", b"/", [], None) as reply:
        assert (reply.status, [chunk async for chunk in reply.chunks]) == (500, [])
