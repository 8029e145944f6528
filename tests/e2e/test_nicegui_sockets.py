"""Who may speak for a page: hosts, origins, sessions and sockets."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from nicegui.javascript_request import JavaScriptRequest
from playwright.sync_api import BrowserContext, expect
from websockets.exceptions import InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from remit import ConfirmationStatus
from tests.e2e.served_console import Agent, Served, approve, dialog, open_page

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def click_on_approve(agent: Agent) -> dict[str, object]:
    """The message a browser sends for a click on Approve, with every id right."""

    def look() -> dict[str, object]:
        asked = agent.view.desk._dialog
        assert asked is not None
        button = asked._approve
        (listener,) = (id for id, each in button._event_listeners.items() if each.type == "click")
        client = agent.view.client
        return {"id": button.id, "client_id": client.id, "listener_id": listener, "args": []}

    return agent.served.run(look)


def handshake(agent: Agent) -> dict[str, object]:
    """What a browser says when its socket opens: all of it stands in addresses, hence in access logs."""
    client = agent.view.client
    return {"client_id": client.id, "tab_id": client.tab_id, "document_id": "other", "next_message_id": 0}


@contextmanager
def foreign_socket(
    served: Served, query: str = "", headers: Mapping[str, str] | None = None
) -> Iterator[ClientConnection]:
    """A socket as any program can open one, without a cookie."""
    address = f"ws://127.0.0.1:{served.port}{SOCKET}{query}"
    with connect(address, proxy=None, open_timeout=30, additional_headers=dict(headers or {})) as foreign:
        assert str(foreign.recv(30)).startswith("0{")
        foreign.send("40")
        assert str(foreign.recv(30)).startswith("40")
        yield foreign


def said(foreign: ClientConnection, event: str, message: object) -> object:
    """Send an event and wait for its acknowledgement, which comes after it was handled."""
    foreign.send(f"421{json.dumps([event, message])}")
    while not (answer := str(foreign.recv(30))).startswith("431"):
        assert not answer.startswith("44")
    return json.loads(answer[3:])


def status_of(served: Served, path: str, **headers: str) -> int:
    """The status of a plain request."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.requirement("14.1-events-of-its-own-connection")
def test_a_foreign_socket_without_a_cookie_cannot_press_approve(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    confirmation = agent.asks(agent.enabled(1))
    expect(approve(page)).to_be_enabled()
    click = click_on_approve(agent)

    with foreign_socket(served) as foreign:
        assert said(foreign, "event", click) in ([], [None])
        assert said(foreign, "handshake", handshake(agent)) == [False]
        assert said(foreign, "event", click) in ([], [None])

    assert agent.request(confirmation).status is ConfirmationStatus.PENDING
    # The very same message counts when the page's own socket sends it.
    page.evaluate("click => { window.socket.emit('event', click); }", click)
    expect(dialog(page)).to_have_count(0)
    assert agent.request(confirmation).status is ConfirmationStatus.APPROVED


@pytest.mark.requirement("14.1-login-at-the-upgrade")
def test_a_socket_of_another_session_that_names_the_page_is_not_accepted(
    served: Served, people: dict[str, BrowserContext]
) -> None:
    _, agent = open_page(served, people["operator"])
    cookies = "; ".join(f"{each.get('name')}={each.get('value')}" for each in people["auditor"].cookies())
    named = f"&client_id={agent.view.client.id}"
    twice = f"{named}&client_id=other&implicit_handshake=true&tab_id={agent.view.client.tab_id}&document_id=other"

    for query in (named, twice):
        for headers in ({}, {"Cookie": cookies}):
            with pytest.raises(InvalidHandshake), foreign_socket(served, query, headers):
                pass


@pytest.mark.requirement("14.1-events-of-its-own-connection")
def test_a_forged_report_that_the_dialog_was_drawn_is_ignored(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    # The browser says that nobody sees the page, so the question cannot have been drawn.
    page.evaluate("() => Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'})")
    agent.asks(agent.enabled(1))
    dialog(page).wait_for()
    waiting = served.run(lambda: list(_answers_awaited()))
    assert waiting

    with foreign_socket(served) as foreign:
        for request_id in waiting:
            message = {"client_id": agent.view.client.id, "request_id": request_id, "result": True}
            said(foreign, "javascript_response", message)

    assert served.run(lambda: list(_answers_awaited())) == waiting
    expect(approve(page)).to_be_disabled()


@pytest.mark.requirement("15.4-hosts")
@pytest.mark.parametrize("path", ["/", "/login", "/devices", "/remit/confirmations", "/remit/mcp", "/_nicegui_ws/"])
def test_a_foreign_host_is_misdirected_everywhere(served: Served, path: str) -> None:
    assert status_of(served, path, Host="evil.example") == 421
    assert status_of(served, path, Host=f"127.0.0.1:{served.port}") != 421


@pytest.mark.requirement("14.1-host-and-origin-at-the-upgrade")
def test_a_foreign_origin_opens_no_socket(served: Served) -> None:
    with foreign_socket(served, headers={"Origin": served.base}):
        pass
    with pytest.raises(InvalidHandshake), foreign_socket(served, headers={"Origin": "http://evil.example"}):
        pass


def _answers_awaited() -> list[str]:
    return [*JavaScriptRequest._instances]
