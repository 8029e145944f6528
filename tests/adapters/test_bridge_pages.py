"""Pages that answer for components, over a real socket, spoken by hand: what is let in, bound, called and refused."""

import asyncio
import gzip
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from websockets.exceptions import InvalidStatus

from remit import Component, Failed, Limits, Ok, Outcome
from remit.gateway import Gateway
from remit.gateway.bridge.door import STATIC
from remit.gateway.bridge.socket import BURST
from remit.integrations.asgi import attach
from tests.adapters.asgi_site import SignIns
from tests.adapters.bridge_site import ADD, CLEAR, PRICES, READ, Cart, Own, Raw, Site, authority, serving
from tests.adapters.site import PATIENCE_S


def refused(outcome: Outcome) -> tuple[str, object]:
    """The code of a refusal, and what it says of the effect."""
    assert isinstance(outcome, Failed), outcome
    return outcome.error.code, outcome.error.details.get("outcome")


async def called(site: Site, raw: Raw) -> tuple[asyncio.Task[Outcome], int]:
    """A call that has come to the page: its answer to be, and its number."""
    call = asyncio.ensure_future(site.agent().call(ADD, {"sku": "a-1"}))
    frame = await raw.hear("call")
    return call, int(frame["call"])


@pytest.mark.requirement("14.2-one-small-module")
async def test_the_module_is_served_with_its_types_depends_on_nothing_and_is_small() -> None:
    async with serving() as site, httpx2.AsyncClient(base_url=site.address, trust_env=False) as http:
        module = await http.get("/remit/browser.js", timeout=PATIENCE_S)
        types = await http.get("/remit/browser.d.ts", timeout=PATIENCE_S)
        again = await http.get("/remit/browser.js", headers={"If-None-Match": module.headers["etag"]})
    assert module.headers["content-type"] == "text/javascript; charset=utf-8"
    assert module.content == (STATIC / "browser.js").read_bytes()
    assert types.content == (STATIC / "browser.d.ts").read_bytes()
    assert (again.status_code, again.content) == (304, b"")
    assert "import " not in module.text.replace("import.meta", "")
    assert len(gzip.compress(module.content, 9)) < 12_000


@pytest.mark.requirement("11.17-origin-and-token")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Cookie": "account=nobody"}, 401),
        ({"Cookie": ""}, 401),
    ],
)
async def test_an_upgrade_needs_the_pages_own_origin_and_a_login(headers: dict[str, str], status: int) -> None:
    async with serving() as site:
        with pytest.raises(InvalidStatus) as refusal:
            async with site.socket(**headers):
                pass
        assert refusal.value.response.status_code == status
        assert site.views() == ()


@pytest.mark.requirement("11.17-origin-and-token")
async def test_a_token_is_given_to_pages_of_this_origin_whose_person_is_signed_in() -> None:
    async with serving() as site, httpx2.AsyncClient(base_url=site.address, trust_env=False) as http:

        async def ask(account: str, **headers: str) -> httpx2.Response:
            own = {"Cookie": f"account={account}", **headers}
            return await http.get("/remit/browser/token", headers=own, timeout=PATIENCE_S)

        good = await ask("a", **{"Sec-Fetch-Site": "same-origin"})
        assert (good.status_code, set(good.json())) == (200, {"token"})
        assert good.headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in good.headers)
        for site_of in ("cross-site", "same-site", "none"):
            assert (await ask("a", **{"Sec-Fetch-Site": site_of})).status_code == 403
        assert (await ask("nobody")).status_code == 401
        assert (await http.post("/remit/browser/token")).status_code == 405


@pytest.mark.requirement("11.17-origin-and-token")
async def test_the_first_message_needs_a_token_of_this_person_and_of_this_minute() -> None:
    async with serving() as site:
        mine, other = await site.token(), await site.token("g")
        for token in (None, 7, "", "a.b.c", other, mine[:-1], f"9{mine}", "é", "x" * 10_000):
            async with site.socket() as raw:
                await raw.say(route="/cart", token=token)
                assert await raw.closed() == 4401
        site.clock.advance(61)
        async with site.socket() as raw:
            await raw.say(route="/cart", token=mine)
            assert await raw.closed() == 4401
        for first in ("", "[]", "{", '{"route": 1}', '{"route": "cart"}', '{"route": "/", "last": -1}'):
            async with site.socket() as raw:
                await raw.client.send(first)
                assert await raw.closed() == 1008
        assert site.views() == ()


@pytest.mark.requirement("14.2-the-page-answers")
async def test_a_page_binds_a_component_and_answers_its_calls() -> None:
    async with serving() as site, site.page() as raw:
        bound = await raw.bind()
        (view,) = site.views()
        assert bound["registration"].startswith("reg_") and (view.title, view.surface.route) == ("Shop", "/cart")
        call = asyncio.ensure_future(site.agent().call(ADD, {"sku": "a-1"}))
        frame = await raw.hear("call")
        assert (frame["bind"], frame["name"], frame["input"]) == (1, "addItem", {"sku": "a-1", "count": 1})
        await raw.say(answer=frame["call"], ok=3)
        outcome = await call
        assert isinstance(outcome, Ok) and (outcome.output, outcome.untrusted) == (3, True)
        assert (await raw.hear("ack"))["ack"] == frame["call"]
        await raw.say(unbind=1)
        await site.available(READ, reason=None)


@pytest.mark.requirement("14.2-the-server-decides")
async def test_input_policy_and_confirmation_are_judged_before_the_page_hears_of_anything() -> None:
    async with serving() as site, site.page() as raw:
        await raw.bind()
        agent = site.agent()
        assert refused(await agent.call(ADD, {"sku": 7}))[0] == "INVALID_INPUT"
        assert refused(await agent.call(ADD, {"sku": "a", "more": 1}))[0] == "INVALID_INPUT"
        (view,) = site.views()
        view.surface.confirmations.attach_page()
        asked = await agent.call(CLEAR)
        assert refused(asked)[0] == "CONFIRMATION_REQUIRED"
        call = asyncio.ensure_future(agent.call(READ))
        assert (await raw.hear("call"))["name"] == "read", "it is the first that the page hears of"
        await raw.say(answer=1, ok=[])
        assert isinstance(await call, Ok)


@pytest.mark.requirement("11.17-only-what-is-listed-for-its-route")
async def test_a_page_binds_only_what_is_listed_for_its_path_and_what_is_not_says_one_thing() -> None:
    async with serving() as site, site.page() as raw:
        for number, type in enumerate(("shop.prices", "shop.own", "shop.nothing", "", "x" * 5_000), 2):
            assert (await raw.bind(number, type))["refused"] == "not-listed"
        await raw.bind()
        await raw.say(route="/prices", title="Prices")
        assert "registration" in await raw.bind(9, "shop.prices")
        (view,) = site.views()
        assert view.surface.route == "/prices"
        await raw.say(route="/cart")
        assert (await raw.hear("unbound")) == {"unbound": 9, "why": "not-listed"}
        assert site.state(view, PRICES) is None and site.state(view, READ) == ""
        await raw.say(route="/about")
        assert (await raw.hear("unbound"))["unbound"] == 1


@pytest.mark.requirement("11.17-only-what-is-listed-for-its-route")
def test_what_is_not_declared_so_is_not_listed_and_the_application_does_not_start() -> None:
    class Needs(Component, type="shop.needs", page=True):
        """What is made of something."""

        def __init__(self, what: str) -> None:
            self.what = what

    def start(pages: Any) -> None:
        attach(Starlette(), Gateway(authority()), login=SignIns().principal, pages=pages)

    for pages, problem, says in (
        ({"/cart": [Own]}, ValueError, "not declared page=True"),
        ({"/cart": Cart}, TypeError, r"takes a list of classes: write \[Cart\]"),
        ({"/cart": [str]}, TypeError, "takes component classes"),
        ({"cart": [Cart]}, ValueError, "names the path of a page"),
        ([Cart], TypeError, "is a mapping"),
        ({"/cart": [Needs]}, TypeError, "made without arguments"),
    ):
        with pytest.raises(problem, match=says):
            start(pages)


@pytest.mark.requirement("11.17-lowers-never-raises")
async def test_a_page_lowers_what_may_be_used_and_raises_nothing() -> None:
    async with serving() as site, site.page() as raw:
        await raw.bind(handlers=["read"], available={"read": True, "addItem": True, "nothing": "x"})
        (view,) = site.views()
        assert site.state(view, ADD) == "The page has no handler for this", "what it says of it changes nothing"
        await raw.bind(available={"addItem": "sold out"})
        assert (site.state(view, ADD), site.state(view, READ)) == ("sold out", "")
        await raw.bind(enabled=False, reason="an overlay is open")
        assert site.state(view, READ) == "an overlay is open"
        await raw.bind()
        assert site.state(view, ADD) == ""
        view.surface.suspend(capability=ADD)
        await raw.bind(enabled=True, available={"addItem": True})
        assert site.state(view, ADD) is None


@pytest.mark.requirement("14.2-an-answer-is-a-claim")
async def test_wrong_answers_are_no_answers_and_late_ones_are_nothing() -> None:
    async with serving() as site, site.page() as raw:
        await raw.bind()
        answers: list[tuple[Mapping[str, object], tuple[str, object]]] = [
            ({"ok": "three"}, ("EXECUTION_FAILED", "done")),
            ({"ok": None}, ("EXECUTION_FAILED", "done")),
            ({"ok": {"deep": [1]}}, ("EXECUTION_FAILED", "done")),
            ({"failed": "handler"}, ("EXECUTION_FAILED", "unknown")),
            ({"failed": "too-large"}, ("EXECUTION_FAILED", "done")),
            ({"refused": "sold out"}, ("PRECONDITION_FAILED", "none")),
        ]
        for answer, expected in answers:
            call, number = await called(site, raw)
            await raw.say(answer=number, **answer)
            assert refused(await call) == expected
            site.clock.advance(10)
        call, number = await called(site, raw)
        site.clock.advance(10)
        assert refused(await call) == ("TIMEOUT", "unknown")
        assert (await raw.hear("cancel"))["cancel"] == number
        await raw.say(answer=number, ok=1)
        await raw.say(answer=number, ok=2)
        call, number = await called(site, raw)
        await raw.say(answer=number, ok=4)
        answered = await call
        assert isinstance(answered, Ok) and answered.output == 4


@pytest.mark.requirement("15.3-a-hostile-page-is-ended")
@pytest.mark.parametrize(
    ("says", "code"),
    [
        ('{"answer": 99, "ok": 1}', 1008),
        ('{"answer": true, "ok": 1}', 1008),
        ('{"answer": "1", "ok": 1}', 1008),
        ('{"answer": 1}', 1008),
        ('{"answer": 1, "refused": 7}', 1008),
        ('{"bind": 1, "type": "shop.cart", "instance": "other", "handlers": []}', 1008),
        ('{"bind": 0, "type": "shop.cart", "instance": "a", "handlers": []}', 1008),
        ('{"bind": 2, "type": "shop.cart"}', 1008),
        ('{"bind": 2, "type": "shop.cart", "instance": "a", "handlers": "all"}', 1008),
        ('{"bind": 2, "type": "shop.cart", "instance": "a", "handlers": [], "enabled": 1}', 1008),
        ('{"bind": 2, "type": "shop.cart", "instance": "a", "handlers": [], "reason": 1}', 1008),
        ('{"route": "elsewhere"}', 1008),
        ('{"call": 1}', 1008),
        ("[]", 1008),
        ("{", 1008),
        (b"{}", 1008),
        ('{"answer": 1, "ok": "' + "x" * 10_000_000 + '"}', 1009),
    ],
)
async def test_what_the_module_never_says_ends_the_page_and_its_calls(says: str | bytes, code: int) -> None:
    async with serving() as site, site.page() as raw:
        await raw.bind()
        call, _ = await called(site, raw)
        await raw.client.send(says)
        assert refused(await call)[1] == "unknown"
        assert await raw.closed() == code
        assert site.gateway._views.all() == ()


@pytest.mark.requirement("15.3-a-hostile-page-is-ended")
async def test_a_flood_ends_the_page_and_others_go_on() -> None:
    async with serving() as site, site.page() as flooding:
        await flooding.bind()
        (first,) = site.views()
        async with site.page() as other:
            await other.bind()
            (second,) = (view for view in site.views() if view is not first)
            for _ in range(BURST):  # to bind was one more
                await flooding.say(pong=1)
            assert await flooding.closed() == 1008
            call = asyncio.ensure_future(site.agent(second).call(READ))
            await other.say(answer=(await other.hear("call"))["call"], ok=["a"])
            assert isinstance(await call, Ok)


@pytest.mark.requirement("15.3-a-hostile-page-is-ended")
async def test_one_person_has_so_many_pages_and_a_page_so_many_components() -> None:
    async with serving(limits=Limits(views_per_principal=2)) as site, site.page() as first, site.page():
        async with site.socket() as third:
            await third.say(route="/cart", token=await site.token())
            assert await third.closed() == 1013
        for number in range(1, 65):
            assert "registration" in await first.bind(number, instance=f"i{number}")
        assert (await first.bind(65, instance="more"))["refused"] == "too-many"
        assert (await first.bind(66, instance="a b"))["refused"] == "too-many"
        await first.say(unbind=1)
        assert (await first.bind(67, instance="a b"))["refused"] == "no-instance-name"
        assert (await first.bind(68, instance="i2"))["refused"] == "taken"


@pytest.mark.requirement("7.12-a-bound-page-comes-back")
async def test_a_page_that_is_back_within_the_gap_goes_on_with_its_calls_and_later_it_is_another() -> None:
    async with serving(limits=Limits(gap_s=15, action_s=60)) as site:
        async with site.page(tab="t1") as raw:
            await raw.bind()
            heard, first = await called(site, raw)
            (view,) = site.views()
            agent = site.agent(view)
        await site.until(0)
        assert refused(await agent.call(READ))[0] == "CAPABILITY_NOT_AVAILABLE"
        assert site.state(view, READ) == "client-disconnected"
        site.clock.advance(14)
        async with site.page(tab="t1", page=raw.welcome["page"], last=0) as back:
            assert back.welcome["resumed"] and back.welcome["open"] == [first] and back.welcome["bound"] == [1]
            assert (await back.hear("call"))["call"] == first, "it says that it heard nothing"
            await back.say(answer=first, ok=7)
            answered = await heard
            assert isinstance(answered, Ok) and answered.output == 7
            assert site.state(view, READ) == "" and site.views() == (view,)
        await site.until(0)
        site.clock.advance(15)
        async with site.page(tab="t1", page=raw.welcome["page"], last=5) as late:
            assert not late.welcome["resumed"] and late.welcome["bound"] == []


@pytest.mark.requirement("7.12-a-bound-page-comes-back")
async def test_what_a_page_heard_before_it_was_lost_is_not_said_twice() -> None:
    async with serving(limits=Limits(action_s=60)) as site:
        async with site.page() as raw:
            await raw.bind()
            call, number = await called(site, raw)
        async with site.page(page=raw.welcome["page"], last=number) as back:
            reading = asyncio.ensure_future(site.agent().call(READ))
            assert (await back.hear("call"))["name"] == "read"
            await back.say(answer=number, ok=1)
            await back.say(answer=number + 1, ok=[])
            assert isinstance(await call, Ok) and isinstance(await reading, Ok)
        async with site.socket() as lying:
            token = await site.token()
            await lying.say(route="/cart", token=token, page=raw.welcome["page"], last=number + 2)
            assert await lying.closed() == 1008


@pytest.mark.requirement("7.12-a-bound-page-comes-back")
async def test_nobody_else_comes_back_as_this_page() -> None:
    async with serving() as site, site.page() as raw:
        await raw.bind()
        async with site.socket("g") as foreign:
            await foreign.hello(token=await site.token("g"), page=raw.welcome["page"])
            assert not foreign.welcome["resumed"] and foreign.welcome["bound"] == []
        async with site.page(page=raw.welcome["page"]) as same:
            assert same.welcome["resumed"]
            assert await raw.closed() == 4409, "a page has one socket"


@pytest.mark.requirement("14.2-lost-in-the-middle")
async def test_a_page_that_leaves_ends_its_calls_at_once_and_a_lost_one_after_its_gap() -> None:
    async with serving(limits=Limits(action_s=60, gap_s=15)) as site:
        async with site.page() as leaving:
            await leaving.bind()
            call, _ = await called(site, leaving)
            await leaving.say(left=True)
            assert refused(await call) == ("COMPONENT_UNMOUNTED", "unknown")
        await site.until(0)
        async with site.page() as lost:
            await lost.bind()
            call, _ = await called(site, lost)
        await site.until(0)
        site.clock.advance(14)
        assert not call.done()
        site.clock.advance(1)
        assert refused(await call)[1] == "unknown"
        assert site.gateway._views.all() == ()


@pytest.mark.requirement("14.2-lost-in-the-middle")
async def test_a_tab_that_is_loaded_again_closes_the_page_it_showed_and_another_tab_does_not() -> None:
    async with serving() as site, site.page(tab="t1") as first, site.page(tab="t2"):
        await first.bind()
        (view, _) = site.views()
        call = asyncio.ensure_future(site.agent(view).call(ADD, {"sku": "a"}))
        await first.hear("call")
        async with site.page(tab="t1"):
            assert refused(await call)[1] == "unknown"
            assert await first.closed() == 4409
            assert len(site.views()) == 2


@pytest.mark.requirement("11.17-origin-and-token")
@pytest.mark.parametrize("login", ["principal", "later"])
async def test_who_signs_out_has_no_page_any_more(login: str) -> None:
    async with serving(login=login, limits=Limits(ping_s=0.2)) as site, site.page() as raw:
        await raw.bind()
        agent = site.agent()
        del site.sign_ins.people["a"]
        if login == "principal":
            assert refused(await agent.call(READ))[0] == "NOT_AUTHENTICATED"
        site.clock.advance(16)
        assert await raw.closed() == 4401
        assert site.gateway._views.all() == ()


@pytest.mark.requirement("7.12-a-bound-page-comes-back")
async def test_a_page_that_says_nothing_any_more_counts_as_lost() -> None:
    async with serving(limits=Limits(ping_s=0.1)) as site, site.page() as raw:
        await raw.bind()
        (view,) = site.views()
        await site.until(0)
        assert site.state(view, READ) == "client-disconnected"


@pytest.mark.requirement("15.5-bound-pages-end-with-the-server")
async def test_sockets_end_before_the_server_does_and_nothing_is_let_in() -> None:
    async with serving() as site, site.page() as raw:
        await raw.bind()
        site.agents.stopping()
        assert await raw.closed() == 1001
        async with httpx2.AsyncClient(base_url=site.address, cookies={"account": "a"}, trust_env=False) as http:
            assert (await http.get("/remit/browser/token")).status_code == 503
        with pytest.raises(InvalidStatus) as refusal:
            async with site.socket():
                pass
        assert refusal.value.response.status_code == 503
