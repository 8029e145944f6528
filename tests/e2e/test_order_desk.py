"""The order desk without a browser: what its agents see and may do, and what its pages let through."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from shop.agent import CANCEL, FIND, LABEL, NOTE, NOTIFY, PAY, PICK, READ, SHIP, Agent

from remit import Failed, Ok
from remit.client import AsyncClient, Capability
from tests.e2e.order_desk import PATIENCE_S, Desk, OrderDesk, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "orders"
SHOWN, OFF_SCREEN, SOUTH, INVENTED = "o-1001", "o-1059", "o-1005", "o-9999"


@pytest.fixture
def desk() -> Iterator[OrderDesk]:
    with serving() as served:
        yield served


@pytest.fixture
def mara(desk: OrderDesk) -> Iterator[Desk]:
    """Mara of the north desk, signed in."""
    person = desk.person("mara")
    yield person
    person.close()


async def seen(client: AsyncClient) -> dict[str, Capability]:
    """What an agent sees, by its plain id."""
    return await Agent(client, print).look()


async def refused(client: AsyncClient, capability: str, **given: str) -> object:
    """What a call is refused with, but for the call's own id."""
    outcome = await client.call((await seen(client))[capability].id, given)
    assert isinstance(outcome, Failed), outcome
    return outcome.error


@pytest.mark.requirement("14.1-the-order-desk")
async def test_of_sixty_orders_an_agent_reaches_forty_eight_twelve_of_them_off_screen(
    desk: OrderDesk, mara: Desk
) -> None:
    with mara.page() as markup:
        assert markup.count("<tr id=") == 36 and len(desk.handles.shop.orders) == 60
        async with desk.client() as client, httpx2.AsyncClient(timeout=PATIENCE_S, trust_env=False) as http:
            by_id = await seen(client)
            assert set(by_id) == {READ, FIND, NOTE, PICK, LABEL, SHIP, PAY, CANCEL, NOTIFY}
            answer = await http.post(
                f"{desk.base}/remit/page/describe", json={}, headers={"Authorization": f"Bearer {desk.token()}"}
            )
            described = {each["id"]: each for each in answer.json()["capabilities"]}
            assert described[f"{NOTE}@order"]["record"] == {"param": "record", "total": 48, "offscreen": 12}
            read = await client.call(by_id[READ].id)
            assert isinstance(read, Ok) and isinstance(read.output, list) and len(read.output) == 36
            for record in (SHOWN, OFF_SCREEN):
                assert isinstance(await client.call(by_id[NOTE].id, {"record": record, "note": "rush"}), Ok)
                assert desk.handles.shop.orders[record].note == "rush"
            foreign = await refused(client, NOTE, record=SOUTH, note="rush")
            assert foreign == await refused(client, NOTE, record=INVENTED, note="rush")
            assert getattr(foreign, "code", None) == "RECORD_UNAVAILABLE"
            assert desk.handles.shop.orders[SOUTH].note == ""
    with mara.page("/orders?page=2") as markup:
        assert markup.count("<tr id=") == 12 and OFF_SCREEN in markup


@pytest.mark.requirement("14.1-the-order-desk")
async def test_what_an_agent_changed_is_in_the_part_that_the_page_loads_again_and_escaped(
    desk: OrderDesk, mara: Desk
) -> None:
    with mara.page() as markup:
        async with desk.client() as client:
            text = """<script>alert(1)</script>"><img src=x onerror=alert(1)>"""
            assert isinstance(await client.call((await seen(client))[NOTE].id, {"record": SHOWN, "note": text}), Ok)
        part = mara.part("/orders/rows", markup)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in part
    assert "<script" not in part and "<img" not in part


@pytest.mark.requirement("14.1-the-order-desk")
async def test_an_order_is_picked_then_labelled_and_its_customer_written_to_when_the_person_says_so(
    desk: OrderDesk, mara: Desk
) -> None:
    with mara.page() as markup:
        async with desk.client() as client:
            early = await refused(client, LABEL, record=SHOWN)
            assert getattr(early, "code", None) == "PRECONDITION_FAILED"
            by_id = await seen(client)
            assert isinstance(await client.call(by_id[PICK].id, {"record": SHOWN}), Ok)
            labelled = await client.call(by_id[LABEL].id, {"record": SHOWN})
            assert isinstance(labelled, Ok) and labelled.output == {"number": "L-1001"}
            assert "picked, label L-1001" in mara.part("/orders/rows", markup)
            given = {"order": SHOWN, "text": "It is on its way"}
            asked = await client.call(by_id[NOTIFY].id, given)
            assert isinstance(asked, Failed) and asked.error.code == "CONFIRMATION_REQUIRED"
            request = str(asked.error.details["confirmation_id"])
            (view,) = desk.opened()
            desk.run(view.surface.confirmations.approve(request, desk.handles.person("mara").decider()))
            by_id = await seen(client)
            assert isinstance(await client.call(by_id[NOTIFY].id, given, confirmation=request), Ok)
            assert desk.handles.shop.told == [(SHOWN, "It is on its way")]


@pytest.mark.requirement("14.1-the-order-desk")
async def test_shipping_is_one_call_and_three_steps_and_the_person_decides_on_it_and_on_the_letter(
    desk: OrderDesk, mara: Desk
) -> None:
    decider, asked = desk.handles.person("mara").decider(), list[str]()
    with mara.page() as markup:
        async with desk.client() as client:
            ship = (await seen(client))[SHIP]
            assert (ship.approval, ship.flow_steps) == ("always", 3)
            outcome = await client.call(ship.id, {"record": SHOWN}, invocation="ship-1")
            (view,) = desk.opened()
            while isinstance(outcome, Failed) and outcome.error.code == "CONFIRMATION_REQUIRED":
                asked.append(str(outcome.error.details["confirmation_id"]))
                shown = view.surface.confirmations.get(asked[-1])
                assert shown is not None and desk.handles.shop.told == []
                assert ("picked" in mara.part("/orders/rows", markup)) == (len(asked) == 2)
                desk.run(view.surface.confirmations.approve(asked[-1], decider, digest=shown.digest))
                outcome = await client.call(ship.id, {"record": SHOWN}, invocation="ship-1", confirmation=asked[-1])
            assert isinstance(outcome, Ok) and outcome.output == {"number": "L-1001"}
            assert outcome.steps is not None and (outcome.steps.done, outcome.steps.of) == (3, 3)
    assert len(set(asked)) == 2
    assert desk.handles.shop.told == [(SHOWN, "Your order o-1001 is on its way as L-1001")]


@pytest.mark.requirement("14.1-the-order-desk")
async def test_cancelling_is_decided_by_the_person_and_judged_again_by_the_backend(desk: OrderDesk, mara: Desk) -> None:
    with mara.page():
        async with desk.client() as client:
            agent = Agent(client, print)
            request = await agent.ask_to_cancel(SHOWN)
            assert desk.handles.shop.orders[SHOWN].status == "open"
            early = await agent.cancel(SHOWN, request)
            assert isinstance(early, Failed) and early.error.code == "CONFIRMATION_REQUIRED"
            (view,) = desk.opened()
            for order, then in ((SHOWN, "cancelled"), (SOUTH, "open")):
                request = await agent.ask_to_cancel(order)
                decider = desk.handles.person("mara").decider()
                desk.run(view.surface.confirmations.approve(request, decider))
                outcome = await agent.cancel(order, request)
                assert isinstance(outcome, Ok) == (then == "cancelled")
                assert desk.handles.shop.orders[order].status == then


@pytest.mark.requirement("14.1-the-order-desk", "14.1-handoffs-of-a-rendered-page")
async def test_a_payment_is_the_persons_and_the_agent_gets_its_number(desk: OrderDesk, mara: Desk) -> None:
    with mara.page() as markup:
        async with desk.client() as client:
            agent = Agent(client, print)
            url, handoff = await agent.ask_to_pay(OFF_SCREEN)
            assert f'href="{url}" target="_blank"' in mara.part("/orders/steps", markup)
            stranger = desk.person("sven")
            assert stranger.get(url).status_code == 404
            stranger.close()
            page = mara.get(url)
            assert page.status_code == 200 and "Card number" in page.text
            assert mara.post(url.partition("?")[0], handoff=handoff, card="4111", decision="pay").status_code == 200
            order = desk.handles.shop.orders[OFF_SCREEN]
            assert await agent.follow(handoff, seconds=PATIENCE_S) == f"completed {order.receipt}"
            assert order.status == "paid" and order.receipt.startswith("r-")
            assert OFF_SCREEN not in mara.part("/orders/steps", markup)
            _, second = await agent.ask_to_pay(SHOWN)
            mara.post(f"/orders/{SHOWN}/pay", handoff=second, decision="decline")
            assert await agent.follow(second, seconds=PATIENCE_S) == "declined"
            assert desk.handles.shop.orders[SHOWN].status == "open"


@pytest.mark.requirement("14.1-the-order-desk")
def test_every_form_needs_the_token_of_its_session(desk: OrderDesk, mara: Desk) -> None:
    mara.get("/orders")
    for path in ("/sign-in", "/sign-out", f"/orders/{SHOWN}/note", f"/orders/{SHOWN}/pay"):
        for fields in ({"note": "x"}, {"note": "x", "csrf": "guessed"}):
            refused = mara.http.post(path, data=fields, headers={"Origin": desk.base})
            assert refused.status_code == 403, path
    foreign = mara.http.post(
        f"/orders/{SHOWN}/note", data={"note": "x"}, headers={"Origin": "http://elsewhere.example"}
    )
    assert foreign.status_code == 403 and desk.handles.shop.orders[SHOWN].note == ""
    assert mara.post(f"/orders/{SHOWN}/note", note="by hand").status_code == 303
    assert desk.handles.shop.orders[SHOWN].note == "by hand"
    assert mara.post(f"/orders/{SOUTH}/note", note="by hand").status_code == 404


@pytest.mark.requirement("14.1-the-order-desk")
async def test_another_person_has_views_and_agents_of_their_own(desk: OrderDesk, mara: Desk) -> None:
    sven = desk.person("sven")
    with mara.page(), sven.page():
        async with desk.client("sven") as client:
            by_id = await seen(client)
            assert isinstance(await client.call(by_id[NOTE].id, {"record": SOUTH, "note": "ours"}), Ok)
            assert isinstance(await client.call(by_id[NOTE].id, {"record": SHOWN, "note": "ours"}), Failed)
        assert len(desk.opened("mara")) == len(desk.opened("sven")) == 1
        sven.post("/sign-out")
        async with desk.client("sven") as client:
            gone = await client.describe()
            assert isinstance(gone, Failed) or gone.capabilities == ()
    sven.close()


@pytest.mark.requirement("14.1-the-order-desk")
async def test_over_mcp_a_record_is_a_required_property_and_a_payment_is_handed_over(
    desk: OrderDesk, mara: Desk
) -> None:
    headers = {"Authorization": f"Bearer {desk.token(kind='mcp')}"}
    with mara.page():
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
            Client(streamable_http_client(f"{desk.base}/remit/mcp", http_client=http)) as client,
        ):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            note = tools["view_orders__list__updateNote"]
            assert sorted(note.input_schema["required"]) == ["note", "record"]
            done = await client.call_tool(note.name, {"record": OFF_SCREEN, "note": "over mcp"})
            assert not done.is_error and desk.handles.shop.orders[OFF_SCREEN].note == "over mcp"
            other = await client.call_tool(note.name, {"record": SOUTH, "note": "over mcp"})
            assert other.is_error and json.loads(other.content[0].text)["error"]["code"] == "RECORD_UNAVAILABLE"  # type: ignore[union-attr]
            asked = await client.call_tool("view_orders__list__pay", {"record": SHOWN})
            assert asked.is_error and json.loads(asked.content[0].text)["error"]["code"] == "HANDOFF_REQUIRED"  # type: ignore[union-attr]


@pytest.mark.requirement("14.1-the-order-desk")
def test_its_contract_equals_its_source() -> None:
    command = [sys.executable, "-c", "from remit.cli import main; main()", "check", "--project", str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requirement("14.1-the-order-desk", "14.1-a-rendered-page-opens-at-its-first-connect")
def test_as_processes_it_works_with_its_agent_and_ends_while_pages_are_open(free_port: int) -> None:
    command = [sys.executable, "-m", "shop", "--port", str(free_port)]
    with subprocess.Popen(command, cwd=EXAMPLE, stdout=subprocess.PIPE, text=True) as served:
        try:
            lines = [line.split() for line in islice(_lines(served), 4)]
            person = Desk(lines[0][1].removesuffix("/orders"))
            person.sign_in(*lines[1][2:4])
            with person.page() as markup:
                environment = os.environ | {"REMIT_TOKEN": lines[3][-1].partition("=")[2]}
                command = [sys.executable, *lines[3][2:5]]
                with subprocess.Popen(
                    command, cwd=EXAMPLE, stdout=subprocess.PIPE, text=True, env=environment
                ) as agent:
                    said = [
                        next(line for line in _lines(agent) if line.startswith(label)) for label in ("noted", "asks")
                    ]
                    assert said[0].startswith(f"noted     {OFF_SCREEN}")
                    (url,) = re.findall(r'href="([^"]+)" target', person.part("/orders/steps", markup))
                    person.get(url)
                    person.post(url.partition("?")[0], handoff=url.partition("handoff=")[2], decision="pay")
                    assert next(_lines(agent)).startswith("learns    the step is completed r-")
                    assert agent.wait(PATIENCE_S) == 0
                served.send_signal(signal.SIGTERM)
                served.wait(PATIENCE_S)
            person.close()
        finally:
            served.kill()


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return iter(process.stdout.readline, "")


@pytest.mark.requirement("14.1-nobody-signed-in", "15.3-rendered-pages-are-bounded")
def test_the_page_after_as_many_as_one_person_may_have_is_an_ordinary_page(desk: OrderDesk, mara: Desk) -> None:
    most = desk.handles.gateway.limits.views_per_principal
    with ExitStack() as pages:
        for _ in range(most):
            pages.enter_context(mara.page())
        page = mara.get("/orders")
        assert (page.status_code, page.text.count("<tr id=")) == (200, 36)
        assert "remit-view" not in page.text and len(desk.opened()) == most
