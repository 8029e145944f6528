"""Server-rendered pages as a home: a view is open while its page holds its socket, and everything else is refused."""

import logging
from typing import Annotated, Any

import httpx2
import pytest
from fastapi import Depends, FastAPI
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from remit import Decider, Failed, Limits, Ok, Principal
from remit.gateway import Gateway
from remit.integrations.asgi import Agents, View, attach
from tests.adapters.asgi_site import (
    ADA,
    CANCEL,
    FIND,
    NOTE,
    PAY,
    READ,
    OrderList,
    Tab,
    authority_of,
    backend,
    built,
    detail,
    serving,
)


async def note(page: Tab, text: str = "rush") -> Any:
    """What an agent gets that writes a note in this page."""
    return await page.site.agent(page.view).call(NOTE, {"record": "o-1", "text": text})


@pytest.mark.requirement("14.1-a-rendered-page-opens-at-its-first-connect")
async def test_building_a_page_opens_nothing_and_its_script_opens_the_view() -> None:
    async with serving() as site, site.browser() as http:
        page = Tab(site, http, await built(http))
        assert site.opened() == []
        refused = await note(page)
        assert isinstance(refused, Failed) and refused.error.details["reason"] == "client-disconnected"
        assert await page.connect() == 200
        (view,) = site.opened()
        assert (view["title"], view["route"]) == ("Orders", "/orders")
        assert isinstance(await note(page), Ok)
        await page.leave()
        await site.left()
        assert isinstance(await note(page), Failed)


@pytest.mark.requirement("7.12-a-rendered-page-comes-back")
async def test_a_page_that_is_back_within_the_gap_is_the_same_view_and_later_it_is_none() -> None:
    async with serving(limits=Limits(gap_s=15)) as site, site.page() as page:
        (before,) = page.view.surface.snapshot(site.agent(page.view).consumer).components
        asked = await site.agent(page.view).call(CANCEL, {"order": "o-1"})
        assert isinstance(asked, Failed)
        await page.leave()
        await site.left()
        site.clock.advance(14)
        assert await page.connect() == 200
        (after,) = page.view.surface.snapshot(site.agent(page.view).consumer).components
        assert after.registration == before.registration and isinstance(await note(page), Ok)
        assert [each.id for each in page.view.surface.confirmations.pending()] == [detail(asked, "confirmation_id")]
        site.clock.advance(100)  # the gap is over, so nothing ends it any more
        assert isinstance(await note(page), Ok)
        await page.leave()
        await site.left()
        site.clock.advance(15)
        assert page.view.surface.confirmations.pending() == ()
        assert await page.connect() == 4410


@pytest.mark.requirement("7.12-a-rendered-page-loaded-again")
async def test_a_tab_that_shows_another_page_closes_the_one_it_showed_at_once() -> None:
    async with serving() as site, site.page(tab="t1") as first, site.page(tab="t2") as beside:
        asked = await site.agent(first.view).call(CANCEL, {"order": "o-1"})
        assert isinstance(asked, Failed)
        async with site.page(tab="t1") as second:
            assert len(site.opened()) == 2
            gone = await site.agent(first.view).call(CANCEL, {"order": "o-1"})
            assert isinstance(gone, Failed) and gone.error.code == "CANCELLED"
            request = first.view.surface.confirmations.get(detail(asked, "confirmation_id"))
            assert request is not None and request.cause == "view-reloaded"
            assert isinstance(await note(second), Ok) and isinstance(await note(beside), Ok)


@pytest.mark.requirement("7.12-a-rendered-page-loaded-again")
async def test_somebody_else_with_the_same_name_of_a_tab_closes_nothing() -> None:
    async with serving() as site, site.page(tab="t1"), site.page("g", tab="t1"):
        assert len(site.opened()) == 2


@pytest.mark.requirement("15.3-rendered-pages-are-bounded")
async def test_a_page_that_never_connects_is_dropped_after_its_time() -> None:
    async with serving(limits=Limits(view_wait_s=60)) as site, site.browser() as http:
        early = Tab(site, http, await built(http))
        site.clock.advance(59)
        late = Tab(site, http, await built(http))
        site.clock.advance(1)
        assert (await early.connect(), await late.connect()) == (4410, 200)
        await late.leave()


@pytest.mark.requirement("15.3-rendered-pages-are-bounded")
async def test_one_person_has_so_many_pages_and_the_oldest_unseen_one_goes_first() -> None:
    async with serving(limits=Limits(views_per_principal=2)) as site, site.page() as seen, site.browser() as http:
        first, second = await built(http), await built(http)
        assert await Tab(site, http, first).connect() == 4410
        other = Tab(site, http, second)
        assert await other.connect() == 200
        assert await built(http) == "", "all are looked at: the page is there, and has no view"
        with pytest.raises(PermissionError):
            _ = site.views[-1].surface
        assert not site.views[-1].exists and site.views[-1].handoffs() == () and seen.view.exists
        async with site.page("g"):
            assert len(site.opened()) == 3, "others are not concerned"
        assert isinstance(await note(seen), Ok)
        await other.leave()


@pytest.mark.requirement("14.1-a-rendered-page-is-its-persons")
async def test_what_is_not_the_page_of_this_person_is_one_answer() -> None:
    async with serving(limits=Limits(admission_s=0.2)) as site, site.browser() as ada, site.browser("g") as grace:
        page, thiefs = Tab(site, ada, await built(ada)), Tab(site, grace, "")
        thiefs.id = page.id
        unknown = Tab(site, ada, "pag_" + "x" * 22)
        answers = [await thiefs.connect(), await unknown.connect()]
        answers += [await page.connect(first) for first in ("{", "[]", " " * 1025 + "{}", b"{}", b"")]
        assert answers == [4410] * 7 and site.opened() == []
        async with site.browser("nobody") as nobody:
            assert await Tab(site, nobody, page.id).connect() == 403
        assert await page.connect() == 200
        await page.leave()


@pytest.mark.requirement("14.1-a-rendered-page-is-its-persons")
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Origin": "http://elsewhere.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "elsewhere.example"}, 421),
    ],
)
async def test_only_a_script_of_this_very_origin_opens_a_view(change: dict[str, str], status: int) -> None:
    async with serving() as site, site.browser() as http:
        page = Tab(site, http, await built(http))
        assert await page.connect(**change) == status
        assert site.opened() == []


@pytest.mark.requirement("14.1-a-rendered-page-is-its-persons")
async def test_signing_out_counts_at_the_next_call_and_ends_the_socket() -> None:
    async with serving(limits=Limits(ping_s=0.01)) as site, site.page() as page:
        site.sign_ins.people.clear()
        refused = await note(page)
        assert isinstance(refused, Failed) and refused.error.code == "NOT_AUTHENTICATED"
        assert [await page.hears(), await page.hears()] == [("waiting", {"count": 0}), ("end", 4410)]
        assert site.opened() == [] and await page.connect() == 403


@pytest.mark.requirement("14.1-a-rendered-page-is-its-persons")
async def test_an_async_login_is_asked_again_while_the_page_is_open() -> None:
    async with serving(limits=Limits(ping_s=0.01), login="later") as site, site.page() as page:
        assert await page.hears() == ("waiting", {"count": 0})
        site.sign_ins.people["a"] = Principal("mallory")
        assert isinstance(await note(page), Ok), "it cannot be asked within a call"
        assert await page.hears() == ("changed", {"type": "orders.list"})
        site.clock.advance(15)
        assert await page.hears() == ("end", 4410)
        assert isinstance(await note(page), Failed)


@pytest.mark.requirement("14.1-nobody-signed-in")
async def test_a_page_of_nobody_has_no_view() -> None:
    async with serving() as site, site.browser("nobody") as http:
        assert await built(http) == ""
        nobodys = site.views[-1]
        assert (nobodys.exists, nobodys.head(), nobodys.handoffs()) == (False, "", ()) and site.agents.views(ADA) == ()


@pytest.mark.requirement("14.1-a-rendered-page-is-told-what-changed")
async def test_a_page_is_told_which_of_its_parts_a_call_may_have_changed() -> None:
    async with serving() as site, site.page() as page:
        agent = site.agent(page.view)
        assert await page.hears() == ("waiting", {"count": 0})
        assert isinstance(await agent.call(READ), Ok) and isinstance(await agent.call(FIND, {"text": "x"}), Ok)
        assert isinstance(await agent.call(NOTE, {"record": "o-9", "text": "x"}), Failed), "it never ran"
        assert isinstance(await agent.call(NOTE, {"record": "o-1", "text": "x"}), Ok)
        assert await page.hears() == ("changed", {"type": "orders.list"})
        assert isinstance(await agent.call(PAY, {"record": "o-1"}), Failed)
        assert await page.hears() == ("handoffs", {})


@pytest.mark.requirement("14.1-a-rendered-page-is-told-what-changed")
async def test_many_calls_are_told_as_one_and_what_happened_in_a_gap_afterwards() -> None:
    async with serving(limits=Limits(network_writes=0, network_calls=0)) as site, site.page() as page:
        assert await page.hears() == ("waiting", {"count": 0})
        for number in range(50):  # the socket gets no turn in between
            assert isinstance(await note(page, str(number)), Ok)
        assert await page.hears() == ("changed", {"type": "orders.list"})
        held = await site.agent(page.view).call(PAY, {"record": "o-1"})
        assert isinstance(held, Failed) and await page.hears() == ("handoffs", {})
        await page.leave()
        await site.left()
        (open_,) = page.view.surface.handoffs.pending()
        await page.view.surface.handoffs.decline(open_.id, Decider("ada"))
        assert await page.connect() == 200
        assert sorted([(await page.hears())[0], (await page.hears())[0]]) == ["handoffs", "waiting"]


@pytest.mark.requirement("7.3-every-open-rendered-page-is-told-how-many-wait")
async def test_every_open_page_of_the_decider_is_told_how_many_requests_wait() -> None:
    async with (
        serving(limits=Limits(ping_s=0.05)) as site,
        site.page() as one,
        site.page() as two,
        site.page("g") as grace,
    ):
        for page in (one, two, grace):
            assert await page.hears() == ("waiting", {"count": 0})
        asked = await site.agent(one.view).call(CANCEL, {"order": "o-1"})
        assert isinstance(asked, Failed)
        assert await one.hears() == await two.hears() == ("waiting", {"count": 1})
        link = await one.http.get("/remit/confirmations")
        assert link.status_code == 200 and detail(asked, "confirmation_id") in link.text
        await one.view.surface.confirmations.deny(detail(asked, "confirmation_id"), Decider("ada"))
        assert await one.hears() == await two.hears() == ("waiting", {"count": 0})
        site.sign_ins.people.pop("g")  # what grace hears next is the end, and nothing of ada's
        assert await grace.hears() == ("end", 4410)


@pytest.mark.requirement("14.1-handoffs-of-a-rendered-page")
async def test_another_page_of_the_application_completes_a_handoff() -> None:
    async with serving() as site, site.page() as page:
        agent = site.agent(page.view)
        asked = await agent.call(PAY, {"record": "o-1"})
        assert isinstance(asked, Failed) and detail(asked, "url").startswith("/orders/o-1/pay?handoff=")
        id = detail(asked, "handoff_id")
        assert [step.id for step in page.view.handoffs()] == [id]
        assert [view.surface.handoffs.get(id, Decider("ada")) for view in site.agents.views(Principal("grace"))] == []
        (view,) = site.agents.views(ADA)
        await view.surface.handoffs.complete(id, Decider("ada"))
        state = agent.handoff(id)
        assert state is not None and state.status == "completed" and page.view.handoffs() == ()


@pytest.mark.requirement("14.1-no-client-ids-outside")
async def test_the_id_of_a_page_stands_in_the_page_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving() as site, site.browser() as http:
        told: list[str] = []

        async def noted(request: httpx2.Request) -> None:
            told.append(str(request.url))

        http.event_hooks["request"].append(noted)
        page = Tab(site, http, await built(http))
        await page.connect()
        outcome = await note(page)
        told += [repr(outcome), repr(site.gateway.describe()), repr(page.view.surface.audit())]
        told += [repr(await page.hears()), repr(await page.hears())]
        told += [str((await http.get("/remit/view.js")).text)]
        await page.leave()
    assert page.id.startswith("pag_") and len(page.id) > 24
    # What the browser sends is its own affair: the page names itself in the first message of its socket.
    told += [each.getMessage() for each in caplog.records if each.name != "websockets.client"]
    assert [text for text in told if page.id in text] == []


@pytest.mark.requirement("14.1-parts-of-a-rendered-page")
async def test_a_part_of_a_page_finds_its_view_and_is_told_when_that_has_gone() -> None:
    async with serving() as site, site.page() as page, site.browser("g") as grace:
        assert isinstance(await note(page), Ok)
        part = await page.http.get("/rows", headers={"Remit-View": page.id})
        assert (part.status_code, part.json()) == (200, {"o-1": "rush", "o-2": ""})
        assert (await grace.get("/rows", headers={"Remit-View": page.id})).status_code == 409
        assert (await page.http.get("/rows")).status_code == 409
        await page.leave()
        await site.left()
        site.clock.advance(15)
        gone = await page.http.get("/rows", headers={"Remit-View": page.id})
        assert gone.status_code == 409 and "not open any more" in gone.text


@pytest.mark.requirement("14.1-a-rendered-page-opens-at-its-first-connect")
async def test_it_works_inside_middleware_that_wraps_every_answer() -> None:
    async def wrapped(request: Request, go_on: RequestResponseEndpoint) -> Response:
        response = await go_on(request)
        response.headers["X-Wrapped"] = "yes"
        return response

    def change(app: Starlette) -> None:
        app.add_middleware(BaseHTTPMiddleware, dispatch=wrapped)

    async with serving(change=change) as site, site.page() as page:
        assert isinstance(await note(page), Ok)
        await page.leave()
        await site.left()


@pytest.mark.requirement("14.1-a-rendered-page-opens-at-its-first-connect")
async def test_open_pages_do_not_hold_the_server_back() -> None:
    async with serving() as site, site.page() as page:
        site.agents.stopping()
        assert [await page.hears(), await page.hears()] == [("waiting", {"count": 0}), ("end", 1012)]
        assert await page.connect() == 403


@pytest.mark.requirement("14.1-a-rendered-page-is-its-persons")
async def test_a_browser_that_goes_before_it_names_its_page_is_told_nothing() -> None:
    procedures, app = backend(), Starlette()
    attach(app, Gateway(authority_of(procedures), procedures=procedures), login=lambda request: ADA)
    said: list[Any] = [{"type": "websocket.disconnect", "code": 1006}, {"type": "websocket.connect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return said.pop()

    async def send(message: Any) -> None:
        sent.append(message["type"])

    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    scope = {"type": "websocket", "path": "/remit/view", "query_string": b"", "headers": headers, "scheme": "ws"}
    await app(scope, receive, send)
    assert sent == ["websocket.accept"] and said == []


@pytest.mark.requirement("14.1-attach-is-judged")
def test_attach_says_what_it_takes() -> None:
    procedures = backend()
    gateway = Gateway(authority_of(procedures), procedures=procedures)
    some: Any
    for some, told in ((object(), "takes a Starlette or FastAPI application"), (Starlette, "takes a Starlette")):
        with pytest.raises(TypeError, match=told):
            attach(some, gateway, login=lambda request: None)
    some = object()
    with pytest.raises(TypeError, match="takes a Gateway"):
        attach(Starlette(), some, login=lambda request: None)
    some = Principal("ada")
    with pytest.raises(TypeError, match="function of a request"):
        attach(Starlette(), gateway, login=some)


@pytest.mark.requirement("14.1-attach-is-judged")
async def test_a_login_that_says_no_principal_is_the_authors_fault() -> None:
    procedures = backend()
    some: Any = "ada"
    agents: Agents = attach(
        Starlette(), Gateway(authority_of(procedures), procedures=procedures), login=lambda request: some
    )
    with pytest.raises(TypeError, match="a Principal, or None; not str"):
        await agents.open_view(Request({"type": "http", "headers": [], "path": "/", "query_string": b""}))


@pytest.mark.requirement("14.1-parts-of-a-rendered-page")
async def test_views_are_dependencies_of_fastapi_in_plain_functions_too() -> None:
    procedures, app = backend(), FastAPI()
    agents = attach(app, Gateway(authority_of(procedures), procedures=procedures), login=lambda request: ADA)

    @app.get("/orders")
    def orders(view: Annotated[View, Depends(agents.open_view)]) -> HTMLResponse:
        view.mount(OrderList())  # in a thread of the server's pool
        return HTMLResponse(view.head())

    @app.get("/rows")
    def rows(view: Annotated[View, Depends(agents.current_view)]) -> list[str]:
        return list(view.mounted(OrderList).notes)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http:
        part = await http.get("/rows", headers={"Remit-View": await built(http)})
        assert (part.status_code, part.json()) == (200, ["o-1", "o-2"])
