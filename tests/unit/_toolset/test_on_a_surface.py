"""The toolset of a real surface: what an embedded copilot gets from `connection.toolset()`."""

import asyncio
import json

import pytest

from remit import Consumer, Decider, EventType, Failed, Ok, Progress, Surface
from tests.adapters.site import DISABLE, OPERATOR, READ, RENAME, SELECT, Backend, Table, authority_of

COPILOT = Consumer("copilot", kind="embedded")


def surface_of(backend: Backend) -> Surface:
    procedures = backend.procedures()
    return Surface(authority_of(procedures), principal=OPERATOR, procedures=procedures)


@pytest.mark.requirement("7.7-embedded-waits")
async def test_it_waits_for_the_person_and_answers_once() -> None:
    backend = Backend()
    surface = surface_of(backend)
    surface.mount(Table(selected=["d1"]))
    asked = asyncio.Event()
    surface.subscribe(lambda event: asked.set(), types={EventType.CONFIRMATION_REQUESTED})
    surface.confirmations.attach_page()
    tools = surface.connect(COPILOT).toolset()
    assert DISABLE in {definition["name"] for definition in tools.definitions()}
    calling = asyncio.create_task(tools.call(DISABLE, {}, call_id="call_1"))
    await asked.wait()
    assert backend.disabled == []
    (request,) = surface.confirmations.pending()
    await surface.confirmations.approve(request.id, Decider("operator"))
    result = await calling
    assert json.loads(result.text) == {"source": "domain:devices.disable", "data": 1}
    assert (result.call_id, result.structured) == ("call_1", {"result": 1})
    assert backend.disabled == [["d1"]]


@pytest.mark.requirement("7.7-a-denial-is-the-answer")
async def test_it_says_no_when_the_person_does() -> None:
    backend = Backend()
    surface = surface_of(backend)
    surface.mount(Table(selected=["d1"]))
    tools = surface.connect(COPILOT).toolset()
    surface.confirmations.subscribe(
        lambda view: denying.append(asyncio.create_task(surface.confirmations.deny(view.id, Decider("operator"))))
    )
    denying: list[asyncio.Task[None]] = []
    tools.definitions()
    result = await tools.call(DISABLE)
    assert json.loads(result.text)["error"]["details"]["reason"] == "denied"
    assert backend.disabled == []
    await asyncio.gather(*denying, return_exceptions=True)


@pytest.mark.requirement("7.5-a-request-ends-with-its-view")
async def test_it_says_how_the_request_ended_when_the_view_closes() -> None:
    backend = Backend()
    surface = surface_of(backend)
    surface.mount(Table(selected=["d1"]))
    asked = asyncio.Event()
    surface.subscribe(lambda event: asked.set(), types={EventType.CONFIRMATION_REQUESTED})
    surface.confirmations.attach_page()
    tools = surface.connect(COPILOT).toolset()
    tools.definitions()
    calling = asyncio.create_task(tools.call(DISABLE, {}, call_id="call_1"))
    await asked.wait()
    surface.dispose()
    result = await calling
    error = json.loads(result.text)["error"]
    assert (error["code"], error["details"]) == (
        "CONFIRMATION_INVALID",
        {"reason": "cancelled", "cause": "view-closed"},
    )
    assert (result.name, result.call_id, backend.disabled) == (DISABLE, "call_1", [])


@pytest.mark.requirement("6.5-registration-replaced")
async def test_names_of_an_earlier_mount_are_stale_until_the_new_one_was_read() -> None:
    surface = surface_of(Backend())
    mount = surface.mount(Table())
    tools = surface.connect(COPILOT).toolset()
    tools.definitions()
    mount.unmount()
    gone = await tools.call(SELECT, {"ids": ["d1"]})
    assert json.loads(gone.text)["error"]["code"] == "COMPONENT_UNMOUNTED"
    table = Table()
    surface.mount(table)
    tools.definitions()
    stale = await tools.call(SELECT, {"ids": ["d1"]})
    assert json.loads(stale.text)["error"]["code"] == "STALE_CAPABILITY"
    assert table.selected == []
    mount = surface.mount(Table(), on_duplicate="replace")
    await tools.call(READ)
    assert not (await tools.call(SELECT, {"ids": ["d1"]})).is_error


@pytest.mark.requirement("12.2-availability-leaves-definitions-equal")
async def test_definitions_do_not_move_when_availability_does() -> None:
    surface = surface_of(Backend())
    mount = surface.mount(Table())
    tools = surface.connect(COPILOT).toolset()
    before = json.dumps(tools.definitions())
    mount.update(available={"select_rows": "still loading"})
    assert json.dumps(tools.definitions()) == before
    assert tools.states()[SELECT] == {"available": False, "reason": "still loading"}


@pytest.mark.requirement("12.1-code-pins-nothing")
async def test_code_names_what_is_live() -> None:
    surface = surface_of(Backend())
    earlier = surface.mount(Table())
    connection = surface.connect(COPILOT)
    connection.capabilities()
    earlier.unmount()
    table = Table()
    surface.mount(table)
    named = await connection.call(Table.select_rows, {"ids": ["d1"]}, registration=earlier.registration_id)
    assert isinstance(named, Failed)
    assert named.error.code == "STALE_CAPABILITY"
    assert table.selected == []
    assert isinstance(await connection.call(Table.select_rows, {"ids": ["d1"]}), Ok)
    assert table.selected == ["d1"]


@pytest.mark.requirement("6.10-progress")
async def test_a_tool_that_runs_tells_its_progress_after_a_person_was_waited_for_too() -> None:
    backend = Backend(reports=[(1, 2, "half")])
    surface = surface_of(backend)
    surface.mount(Table(selected=["d1"]))
    surface.confirmations.attach_page()
    heard: list[Progress] = []
    tools = surface.connect(COPILOT).toolset()
    tools.definitions()
    await tools.call(RENAME, {"device_id": "d1", "name": "new"}, "call_1", progress=heard.append)
    assert heard == [Progress(invocation="call_1", done=1, total=2, text="half")]
    asked = asyncio.Event()
    surface.subscribe(lambda event: asked.set(), types={EventType.CONFIRMATION_REQUESTED})
    calling = asyncio.create_task(tools.call(DISABLE, {}, "call_2", progress=heard.append))
    await asked.wait()
    await surface.confirmations.approve(surface.confirmations.pending()[0].id, Decider("operator"))
    assert isinstance((await calling).outcome, Ok)
    assert [(report.invocation, report.text) for report in heard[1:]] == [("call_2", "disabled")]
