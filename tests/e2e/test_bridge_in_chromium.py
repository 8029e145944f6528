"""Pages that answer for components, in a real browser with the module as it is served (SPEC 14.2, 7.12)."""

import asyncio
import importlib.util
import sys
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page

from remit import Consumer, Failed, Limits, Ok, Outcome
from remit._session.session import Session
from tests.adapters.bridge_site import ADD, CLEAR, GO, PRICES, READ, Site, serving
from tests.adapters.site import PATIENCE_S

pytestmark = pytest.mark.browser

T = TypeVar("T")
SHOP_ADD = "view:shop.cart.add"
STILL = Limits(observation_s=600, action_s=600)
"""Deadlines that only the test's own clock comes to."""


class Network:
    """What stands between browser and server, and can be cut: no byte passes, and nobody is told."""

    def __init__(self) -> None:
        self.target = 0
        self.cut = asyncio.Event()
        self.whole = asyncio.Event()
        self.whole.set()
        self._streams: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def start(self, target: int) -> int:
        """Begin to pass on; returns the port."""
        self.target = target
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def lose(self) -> None:
        """Cut every connection that there is, and let none come up until `come_back`."""
        self.whole.clear()
        for writer in tuple(self._streams):
            writer.transport.abort()

    async def come_back(self) -> None:
        """Let connections through again."""
        self.whole.set()

    async def end(self) -> None:
        """Stop."""
        self.whole.set()
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._streams):
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.whole.is_set():
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        both = {writer, far_writer}
        self._streams |= both
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        except OSError:
            pass
        finally:
            self._streams -= both
            for each in both:
                each.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65_536):
        writer.write(part)
        await writer.drain()
    writer.close()


class Elsewhere:
    """The application in a thread of its own; the browser's driver keeps the test's thread."""

    def __init__(self, limits: Limits | None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._serving = serving(limits=limits)
        self._thread.start()
        self.site: Site = self.run(self._serving.__aenter__())
        self.network = Network()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run in the application's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def begin(self, capability: str, input: dict[str, object] | None = None) -> "Call":
        """Let an agent call, and do not wait for it."""
        agent = self.run(self._agent())
        return Call(asyncio.run_coroutine_threadsafe(agent.call(capability, input or {}), self._loop))

    def call(self, capability: str, input: dict[str, object] | None = None) -> Outcome:
        """Let an agent call, and wait for its answer."""
        return self.begin(capability, input).outcome()

    def ready(self, capability: str = READ, reason: str | None = "") -> None:
        """Wait until a capability of the only view is listed so."""
        self.run(self.site.available(capability, reason=reason))

    def state(self, view: Session, capability: str) -> str | None:
        """What a listing of this view says now."""

        async def look() -> str | None:
            return self.site.state(view, capability)

        return self.run(look())

    def behind_a_network(self) -> str:
        """An address of the application behind a network that can be lost."""
        port = self.run(self.network.start(int(self.site.address.rpartition(":")[2])))
        return f"http://127.0.0.1:{port}"

    def advance(self, seconds: float) -> None:
        """Let time pass."""

        async def pass_() -> None:
            self.site.clock.advance(seconds)

        self.run(pass_())

    def end(self) -> None:
        """Stop the application and its thread."""
        self.run(self.network.end())
        self.run(self._serving.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _agent(self) -> Any:
        (view,) = await self.site.until(1)
        return self.site.agent(view)


class Call:
    """A call under way."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def outcome(self) -> Outcome:
        """How it ended, as soon as it has."""
        found: Outcome = self._future.result(PATIENCE_S)
        return found


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    running = Elsewhere(STILL)
    yield running
    running.end()


@pytest.fixture
def context(browser: Browser, elsewhere: Elsewhere) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.add_cookies([{"name": "account", "value": "a", "url": elsewhere.site.address}])
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, elsewhere: Elsewhere) -> Page:
    page = context.new_page()
    page.goto(f"{elsewhere.site.address}/cart")
    elsewhere.ready()
    return page


def given(outcome: Outcome) -> object:
    """What a call gave."""
    assert isinstance(outcome, Ok), outcome
    return outcome.output


def refused(outcome: Outcome) -> tuple[str, object]:
    """The code of a refusal, and what it says of the effect."""
    assert isinstance(outcome, Failed), outcome
    return outcome.error.code, outcome.error.details.get("outcome")


def hang(page: Page, name: str = "addItem") -> None:
    """Let a handler of the page start and not end."""
    page.evaluate(
        """(name) => {
            globalThis.started = new Promise((go) => {
              handlers[name] = (input, call) => new Promise((answer) => {
                Object.assign(globalThis, { call, answer });
                go();
              });
            });
        }""",
        name,
    )


@pytest.mark.requirement("14.2-the-page-answers")
def test_a_page_mounts_acts_observes_and_unmounts(elsewhere: Elsewhere, page: Page) -> None:
    assert given(elsewhere.call(ADD, {"sku": "a-1", "count": 2})) == 2
    assert given(elsewhere.call(READ)) == ["a-1", "a-1"]
    assert page.evaluate("[ran, cart.status, remit.state]") == [[["a-1", 2]], "bound", "open"]
    assert refused(elsewhere.call(ADD, {"sku": 1}))[0] == "INVALID_INPUT"
    assert page.evaluate("ran.length") == 1, "what is not valid never comes to the page"
    page.evaluate("cart.update({ available: { addItem: 'sold out' } })")
    elsewhere.ready(ADD, "sold out")
    page.evaluate("cart.update({ available: { addItem: true } })")
    elsewhere.ready(ADD)
    page.evaluate("cart.unbind()")
    elsewhere.ready(READ, None)
    page.evaluate("globalThis.cart = remit.bind('shop.cart', { read: () => ['anew'] })")
    elsewhere.ready()
    assert given(elsewhere.call(READ)) == ["anew"]
    assert refused(elsewhere.call(ADD, {"sku": "a"}))[0] == "CAPABILITY_NOT_AVAILABLE"


@pytest.mark.requirement("14.2-the-page-answers")
def test_handlers_are_those_that_stand_there_when_the_call_comes(elsewhere: Elsewhere, page: Page) -> None:
    page.evaluate("cart.handlers = { read: async () => ['later'] }")
    assert given(elsewhere.call(READ)) == ["later"]
    page.evaluate("""cart.handlers = new (class { #own = ["own"]; read() { return this.#own; } })()""")
    assert given(elsewhere.call(READ)) == ["own"]


@pytest.mark.requirement("14.2-an-answer-is-a-claim")
def test_what_a_handler_raises_or_gives_wrongly_is_no_answer(elsewhere: Elsewhere, page: Page) -> None:
    page.evaluate("() => { handlers.addItem = () => { throw new Refused('sold out'); }; }")
    assert refused(elsewhere.call(ADD, {"sku": "a"})) == ("PRECONDITION_FAILED", "none")
    for body, outcome in (
        ("() => { throw new Error('secret'); }", "unknown"),
        ("() => 'three'", "done"),
        ("() => undefined", "done"),
        ("() => 10n", "unknown"),
        ("() => 'x'.repeat(10_000_000)", "done"),
    ):
        page.evaluate(f"() => {{ handlers.addItem = {body}; }}")
        assert refused(elsewhere.call(ADD, {"sku": "a"})) == ("EXECUTION_FAILED", outcome)
    page.evaluate("() => { handlers.addItem = () => 1; }")
    assert given(elsewhere.call(ADD, {"sku": "a"})) == 1, "an honest page goes on after all of it"


@pytest.mark.requirement("14.2-the-server-decides")
def test_a_person_decides_before_the_page_runs_anything(elsewhere: Elsewhere, page: Page) -> None:
    assert given(elsewhere.call(ADD, {"sku": "a"})) == 1
    asked = elsewhere.call(CLEAR)
    assert refused(asked)[0] == "CONFIRMATION_REQUIRED"
    assert given(elsewhere.call(READ)) == ["a"]


@pytest.mark.requirement("11.17-only-what-is-listed-for-its-route")
def test_a_page_that_moves_on_without_loading_is_followed(elsewhere: Elsewhere, page: Page) -> None:
    page.evaluate("globalThis.prices = remit.bind('shop.prices', { read: () => [1] })")
    page.wait_for_function("prices.status === 'refused' && prices.reason === 'not-listed'")
    assert given(elsewhere.call(GO, {"to": "/prices"})) is None
    elsewhere.ready(PRICES)
    (view,) = elsewhere.site.views()
    assert view.surface.route == "/prices"
    assert given(elsewhere.call(PRICES)) == [1]
    page.evaluate("history.back()")
    elsewhere.ready(PRICES, None)
    page.evaluate("history.pushState(null, '', '/about')")
    elsewhere.ready(READ, None)


@pytest.mark.requirement("7.12-a-bound-page-loaded-again", "14.2-lost-in-the-middle")
def test_a_reload_in_the_middle_of_a_call_ends_it_and_the_new_page_is_a_new_registration(
    elsewhere: Elsewhere, page: Page
) -> None:
    (before,) = elsewhere.site.views()
    hang(page)
    call = elsewhere.begin(ADD, {"sku": "a"})
    page.evaluate("started")
    page.reload()
    assert refused(call.outcome()) == ("COMPONENT_UNMOUNTED", "unknown")
    page.wait_for_function("globalThis.cart?.status === 'bound'")
    elsewhere.ready()
    (after,) = elsewhere.site.views()
    assert after.id != before.id and elsewhere.site.gateway._views.all() == (after,)
    assert given(elsewhere.call(ADD, {"sku": "b"})) == 1


@pytest.mark.requirement("14.2-lost-in-the-middle")
def test_a_page_that_is_closed_in_the_middle_of_a_call_ends_it(elsewhere: Elsewhere, page: Page) -> None:
    hang(page)
    call = elsewhere.begin(ADD, {"sku": "a"})
    page.evaluate("started")
    page.close()
    assert refused(call.outcome()) == ("COMPONENT_UNMOUNTED", "unknown")
    elsewhere.run(elsewhere.site.until(0))
    elsewhere.advance(15)
    assert elsewhere.site.gateway._views.all() == ()


@pytest.mark.requirement("7.12-a-bound-page-comes-back")
def test_a_network_that_is_lost_for_five_seconds_in_the_middle_of_a_call_loses_no_call(
    elsewhere: Elsewhere, context: BrowserContext
) -> None:
    address = elsewhere.behind_a_network()
    page = context.new_page()
    page.goto(f"{address}/cart")
    elsewhere.ready()
    (view,) = elsewhere.site.views()
    hang(page)
    call = elsewhere.begin(ADD, {"sku": "a"})
    page.evaluate("started")
    elsewhere.run(elsewhere.network.lose())
    elsewhere.run(elsewhere.site.until(0))
    page.wait_for_function("remit.state === 'away'")
    page.evaluate("answer(41)")
    elsewhere.advance(5)
    assert elsewhere.state(view, READ) == "client-disconnected"
    elsewhere.run(elsewhere.network.come_back())
    assert given(call.outcome()) == 41
    elsewhere.ready()
    assert elsewhere.site.views() == (view,), "it is the same view, with the same registration"


@pytest.mark.requirement("7.12-a-bound-page-comes-back")
def test_what_the_page_changed_while_it_was_away_counts_when_it_is_back(
    elsewhere: Elsewhere, context: BrowserContext
) -> None:
    address = elsewhere.behind_a_network()
    page = context.new_page()
    page.goto(f"{address}/cart")
    elsewhere.ready()
    elsewhere.run(elsewhere.network.lose())
    page.wait_for_function("remit.state === 'away'")
    page.evaluate("cart.unbind(); globalThis.cart = remit.bind('shop.cart', { read: () => ['back'] })")
    elsewhere.run(elsewhere.network.come_back())
    page.wait_for_function("remit.state === 'open' && cart.status === 'bound'")
    elsewhere.ready()
    assert given(elsewhere.call(READ)) == ["back"]
    elsewhere.run(elsewhere.network.lose())
    elsewhere.run(elsewhere.site.until(0))
    elsewhere.advance(15)
    elsewhere.run(elsewhere.network.come_back())
    elsewhere.ready()
    assert given(elsewhere.call(READ)) == ["back"], "after its gap it is another view, and binds anew"


@pytest.mark.requirement("14.2-the-page-answers")
def test_a_call_that_nobody_waits_for_is_stopped_in_the_page(elsewhere: Elsewhere, page: Page) -> None:
    hang(page)
    call = elsewhere.begin(ADD, {"sku": "a"})
    page.evaluate("started")
    elsewhere.advance(600)
    assert refused(call.outcome()) == ("TIMEOUT", "unknown")
    page.wait_for_function("call.signal.aborted")
    page.evaluate("answer(1)")
    page.evaluate("() => { handlers.addItem = () => 2; }")
    assert given(elsewhere.call(ADD, {"sku": "a"})) == 2


@pytest.mark.requirement("14.2-two-tabs")
def test_two_tabs_are_two_views_and_each_answers_for_itself(
    elsewhere: Elsewhere, context: BrowserContext, page: Page
) -> None:
    (first,) = elsewhere.site.views()
    other = context.new_page()
    other.goto(f"{elsewhere.site.address}/cart")
    elsewhere.run(elsewhere.site.until(2))
    (second,) = (view for view in elsewhere.site.views() if view is not first)
    elsewhere.run(elsewhere.site.available(READ, view=second))
    page.evaluate("items.push('one')")
    other.evaluate("items.push('two')")

    async def read(view: Any) -> Outcome:
        return await elsewhere.site.agent(view).call(READ)

    assert given(elsewhere.run(read(first))) == ["one"]
    assert given(elsewhere.run(read(second))) == ["two"]
    other.bring_to_front()
    assert given(elsewhere.run(read(first))) == ["one"], "a tab that nobody looks at answers as well"
    other.close()
    elsewhere.run(elsewhere.site.until(1))
    assert given(elsewhere.call(READ)) == ["one"]


@pytest.mark.requirement("11.17-origin-and-token")
def test_with_nobody_signed_in_the_page_says_so_and_stays_a_page(elsewhere: Elsewhere, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{elsewhere.site.address}/cart")
    page.wait_for_function("globalThis.remit?.state === 'ended'")
    assert page.evaluate("[remit.reason, cart.status, cart.reason]") == ["signed-out", "unbound", "signed-out"]
    context.close()


@pytest.mark.requirement("15.3-a-hostile-page-is-ended")
def test_a_script_of_the_page_that_forges_answers_loses_its_page(elsewhere: Elsewhere, page: Page) -> None:
    hang(page)
    call = elsewhere.begin(ADD, {"sku": "a"})
    page.evaluate("started")
    page.evaluate(
        """async () => {
            const { token } = await (await fetch("/remit/browser/token")).json();
            const socket = new WebSocket("/remit/browser/socket");
            await new Promise((go) => { socket.onopen = go; });
            socket.send(JSON.stringify({ token, route: "/cart" }));
            const closed = new Promise((go) => { socket.onclose = (event) => go(event.code); });
            socket.send(JSON.stringify({ answer: 1, ok: 666 }));
            globalThis.code = await closed;
        }"""
    )
    assert page.evaluate("code") == 1008, "the number of a call counts in its own page alone"
    page.evaluate("answer(5)")
    assert given(call.outcome()) == 5


@pytest.mark.requirement("14.2-the-page-answers")
def test_the_page_of_the_guide_answers(browser: Browser) -> None:
    spec = importlib.util.spec_from_file_location("docs_src_browser", Path("docs_src/browser/app.py").resolve())
    assert spec is not None and spec.loader is not None
    guide = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = guide
    spec.loader.exec_module(guide)
    server = uvicorn.Server(uvicorn.Config(guide.app, port=0, log_level="error", lifespan="on"))
    serving_loop = asyncio.new_event_loop()
    listens = threading.Event()
    startup = server.startup

    async def started(sockets: Any = None) -> None:
        await startup(sockets=sockets)
        listens.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=lambda: serving_loop.run_until_complete(server._serve()))
    thread.start()
    try:
        assert listens.wait(PATIENCE_S)
        context = browser.new_context()
        page = context.new_page()
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        page.goto(f"{address}/sign-in?password={guide.PASSWORD}")

        async def shop() -> tuple[object, ...]:
            changed = asyncio.Event()
            end = guide.gateway._views.on_change((None, "ada"), changed.set)
            async with asyncio.timeout(PATIENCE_S):
                while not (found := [each for each in guide.gateway._views.all() if each.connected]):
                    changed.clear()
                    await changed.wait()
                end()
                surface = found[0].surface
                agent = surface.connect(Consumer("agent", kind="mcp", scope=["view:**"]))
                end = surface.subscribe(lambda _: changed.set())
                while not (told := {each.id: each for each in agent.capabilities()}) or not told[SHOP_ADD].available:
                    changed.clear()
                    await changed.wait()
                end()
                outcomes = [await agent.call(SHOP_ADD, {"sku": sku}) for sku in ("a-1", "b-1")]
                return (*outcomes, await agent.call("view:shop.cart.read"))

        added, unknown, read = asyncio.run_coroutine_threadsafe(shop(), serving_loop).result(PATIENCE_S)
        assert isinstance(added, Ok) and added.output == 1
        assert isinstance(unknown, Failed) and unknown.error.details["reason"] == "the shop has no such article"
        assert isinstance(read, Ok) and read.output == ["a-1"]
        assert page.locator("li").all_inner_texts() == ["a-1"]
        context.close()
    finally:
        guide.agents.stopping()
        server.should_exit = True
        thread.join()
        serving_loop.close()
