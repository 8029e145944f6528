"""The guard lets named hosts and their pages in, and nobody else."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remit import Authority
from remit._contract.manifest import assemble
from remit.gateway import Gateway, Keys
from remit.gateway.guard import LOOPBACK, AllowedHosts, Guard


class Behind:
    """An application that notes that it was reached."""

    def __init__(self) -> None:
        self.reached = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached += 1


def guarded(app: ASGIApp) -> ASGIApp:
    return Guard(app, AllowedHosts(LOOPBACK))


def for_development(app: ASGIApp) -> ASGIApp:
    return Guard(app, AllowedHosts(LOOPBACK), local_only=True)


def run(
    kind: str, headers: list[tuple[str, str]], guard: Callable[[ASGIApp], ASGIApp] = guarded, **extra: object
) -> tuple[int, list[Message]]:
    """How often the application was reached, and what was sent instead."""
    behind, sent = Behind(), []
    raw = [(name.encode(), value.encode()) for name, value in headers]
    scope = {"type": kind, "method": "GET", "path": "/", "headers": raw, **extra}

    async def receive() -> Message:
        return {"type": f"{kind}.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def serve() -> None:
        await guard(behind)(scope, receive, send)

    asyncio.run(serve())
    return behind.reached, sent


@pytest.mark.requirement("15.4-loopback-by-default")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:1"])
def test_this_machine_is_let_in_on_any_port(host: str) -> None:
    assert run("http", [("host", host), ("origin", f"http://{host}")]) == (1, [])
    assert run("websocket", [("host", host)]) == (1, [])


@pytest.mark.requirement("15.4-hosts", "15.4-loopback-by-default")
@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:localhost", "", "[::2]"]
)
def test_another_host_is_421_and_named(host: str) -> None:
    reached, sent = run("http", [("host", host)])
    assert (reached, sent[0]["status"]) == (0, 421)
    assert host in sent[1]["body"].decode()


@pytest.mark.requirement("15.4-hosts")
def test_no_host_and_two_hosts_are_421() -> None:
    for headers in ([], [("host", "localhost"), ("host", "evil.example")]):
        reached, sent = run("http", headers)
        assert (reached, sent[0]["status"]) == (0, 421)


@pytest.mark.requirement("15.4-origins")
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "ftp://localhost", "http://localhost@evil.example", "http://[", "localhost"],
)
def test_another_origin_is_403(origin: str) -> None:
    reached, sent = run("http", [("host", "localhost"), ("origin", origin)])
    assert (reached, sent[0]["status"]) == (0, 403)


@pytest.mark.requirement("15.4-a-refusal-names-the-value")
def test_a_refused_value_is_shown_as_one_line_of_text() -> None:
    _, sent = run("http", [("host", "localhost"), ("origin", "http://evil.example/" + "x" * 500)])
    assert len(sent[1]["body"]) < 140
    assert dict(sent[0]["headers"])[b"content-type"].startswith(b"text/plain")


@pytest.mark.requirement("14.1-host-and-origin-at-the-upgrade")
def test_a_foreign_socket_is_refused_before_it_opens() -> None:
    headers = [("host", "localhost"), ("origin", "http://evil.example")]
    assert run("websocket", headers) == (0, [{"type": "websocket.close", "code": 1008}])
    reached, sent = run("websocket", headers, extensions={"websocket.http.response": {}})
    assert (reached, sent[0]["status"]) == (0, 403)


def test_a_lifespan_passes() -> None:
    assert run("lifespan", []) == (1, [])


@pytest.mark.requirement("15.4-an-allow-list-names-hosts")
def test_a_port_can_be_named_and_one_text_is_no_collection() -> None:
    hosts = AllowedHosts(["app.example:8443", "other.example"])
    assert hosts.allows("app.example:8443")
    assert not hosts.allows("app.example")
    assert not hosts.allows("app.example:1")
    assert hosts.allows("other.example:1")
    with pytest.raises(TypeError, match="collection"):
        AllowedHosts("app.example")


HERE, THERE = ("127.0.0.1", 51000), ("192.0.2.7", 51000)
MACHINE = ("192.0.2.1", 8080)


@pytest.mark.requirement("13.7-dev-on-loopback")
@pytest.mark.parametrize("client", [HERE, ("::1", 1), ("::ffff:127.0.0.1", 1), ("127.8.9.1", 1)])
def test_a_development_contract_answers_this_machine(client: tuple[str, int]) -> None:
    for server in (("127.0.0.1", 8080), ("::1", 8080), None):
        reached, _ = run("http", [("host", "localhost")], for_development, client=client, server=server)
        assert reached == 1


@pytest.mark.requirement("13.7-dev-on-loopback")
@pytest.mark.parametrize(
    ("client", "server"),
    [(THERE, MACHINE), (THERE, None), (HERE, MACHINE), (None, None), (("::ffff:192.0.2.7", 1), None), (("", 0), None)],
)
def test_a_development_contract_answers_nobody_off_loopback(
    client: tuple[str, int] | None, server: tuple[str, int] | None
) -> None:
    headers = [("host", "localhost"), ("x-forwarded-for", "127.0.0.1"), ("forwarded", "for=127.0.0.1")]
    reached, sent = run("http", headers, for_development, client=client, server=server)
    assert (reached, sent[0]["status"]) == (0, 403)
    assert sent[1]["body"] == b"What is for development is served on loopback only"
    assert run("websocket", headers, for_development, client=client, server=server)[0] == 0
    assert run("http", headers, client=client, server=server)[0] == 1


@pytest.mark.requirement("13.7-dev-on-loopback")
def test_the_hosts_of_a_site_count_for_nothing_with_a_development_contract() -> None:
    manifest = assemble([], [], {}, exposure={}, policies=())
    statuses: list[int] = []
    for development in (False, True):
        gateway = Gateway(Authority(manifest, development=development), allowed_hosts=["app.example"])
        for host in ("app.example", "localhost"):
            _, sent = run("http", [("host", host)], gateway.guard, client=HERE)
            statuses.append(sent[0]["status"] if sent else 200)
    assert statuses == [200, 421, 421, 200]


@pytest.mark.requirement("7.1-a-development-key-on-loopback")
def test_the_hosts_of_a_site_count_for_nothing_with_a_development_key(tmp_path: Path) -> None:
    authority = Authority(assemble([], [], {}, exposure={}, policies=()))
    statuses: list[int] = []
    for keys in (Keys("k1", {"k1": "s" * 32}), Keys.of_development(tmp_path / "key")):
        gateway = Gateway(authority, keys=keys, allowed_hosts=["app.example"])
        for host in ("app.example", "localhost"):
            _, sent = run("http", [("host", host)], gateway.guard, client=HERE)
            statuses.append(sent[0]["status"] if sent else 200)
    assert statuses == [200, 421, 421, 200]
