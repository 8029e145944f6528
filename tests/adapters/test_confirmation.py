"""A dangerous call over MCP: a person is asked, exactly that call runs once, and no client decides anything."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import mcp_types as types
import pytest

from remit import ConfirmationView, Decider, EventType, Limits, ManualClock, Surface
from tests.adapters.site import (
    DISABLE,
    ERAS,
    OPERATOR,
    PATIENCE_S,
    READ,
    Asked,
    Site,
    Table,
    beside,
    data_of,
    error_of,
    serving,
)

LIMITS = Limits(hold_s=0.4, ping_s=0.1)
PERSON = Decider("operator")
ODD = "d\u202e1\n"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(LIMITS) as running:
        yield running


def opened(site: Site) -> tuple[Surface, Table]:
    """A view with one device selected."""
    surface, table = site.open_table()
    table.selected = ["d1"]
    return surface, table


def refused_once(surface: Surface) -> asyncio.Event:
    """Set when the next call on this surface has settled; a call that waits for a person has settled as refused."""
    settled = asyncio.Event()
    surface.subscribe(lambda event: settled.set(), types={EventType.INVOCATION_SETTLED})
    return settled


class Person:
    """Answers each request as soon as it is shown, or after a while."""

    def __init__(self, surface: Surface, answer: str, after: float = 0.0) -> None:
        self.surface = surface
        self.answer = answer
        self.after = after
        self.shown: list[str] = []
        self.deciding: list[asyncio.Task[None]] = []
        surface.confirmations.subscribe(self.show)

    def show(self, view: ConfirmationView) -> None:
        if view.id not in self.shown:
            self.shown.append(view.id)
            self.deciding.append(asyncio.create_task(self.decide(view)))

    async def decide(self, view: ConfirmationView) -> None:
        # The person's thinking time is real time here: it is what the holds and pings are about.
        await asyncio.sleep(self.after)
        if self.answer == "approve":
            await self.surface.confirmations.approve(view.id, PERSON, digest=view.digest)
        else:
            await self.surface.confirmations.deny(view.id, PERSON)


@pytest.mark.requirement("12.5-asked-by-url")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("after", [0.0, 0.3])
async def test_an_approved_call_runs_once_and_its_person_is_asked_once(site: Site, mode: str, after: float) -> None:
    surface, _ = opened(site)
    person, asked = Person(surface, "approve", after), Asked()
    async with site.client(mode, asked=asked) as client:
        await client.list_tools()
        assert data_of(await client.call_tool(DISABLE)) == 1
    assert site.backend.disabled == [["d1"]]
    assert asked.urls == [f"{site.address}/remit/confirmations/{person.shown[0]}"]


@pytest.mark.requirement("12.5-nobody-is-asked-twice")
async def test_the_modern_era_waits_over_several_holds_without_asking_again(site: Site) -> None:
    surface, _ = opened(site)
    person, asked = Person(surface, "approve", 1.0), Asked()
    async with site.client("auto", asked=asked) as client:
        await client.list_tools()
        assert data_of(await client.call_tool(DISABLE)) == 1
    assert (len(asked.urls), len(person.shown), site.backend.disabled) == (1, 1, [["d1"]])


@pytest.mark.requirement("12.5-surface-continue-is-listed-when-needed", "12.5-the-last-round-answers-plainly")
async def test_after_the_last_round_the_answer_is_plain_and_continues_later() -> None:
    async with serving(Limits(hold_s=0.05, hold_rounds=3)) as site:
        surface, _ = opened(site)
        asked = Asked()
        surface.confirmations.attach_page()
        async with site.client("auto", asked=asked) as client:
            assert "surface_continue" not in {tool.name for tool in (await client.list_tools()).tools}
            error = error_of(await client.call_tool(DISABLE))
            assert (error["code"], len(asked.urls)) == ("CONFIRMATION_REQUIRED", 1)
            request = error["details"]["confirmation_id"]
            assert error["details"]["url"].endswith(request)
            assert "surface_continue" in {tool.name for tool in (await client.list_tools()).tools}
            await surface.confirmations.approve(request, PERSON)
            assert data_of(await client.call_tool("surface_continue", {"confirmation_id": request})) == 1
            assert "surface_continue" not in {tool.name for tool in (await client.list_tools()).tools}
        assert site.backend.disabled == [["d1"]]


@pytest.mark.requirement("12.5-the-last-round-answers-plainly")
async def test_the_handshake_era_answers_plainly_after_one_hold(site: Site) -> None:
    surface, _ = opened(site)
    async with site.client("legacy", asked=Asked()) as client:
        await client.list_tools()
        error = error_of(await client.call_tool(DISABLE))
        assert error["code"] == "CONFIRMATION_REQUIRED"
        # The same call again is the same request: the approval given meanwhile is spent by it.
        await surface.confirmations.approve(error["details"]["confirmation_id"], PERSON)
        assert data_of(await client.call_tool(DISABLE)) == 1


@pytest.mark.requirement("7.5-what-evidence-answers")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_denied_call_says_so_and_runs_nothing(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    Person(surface, "deny")
    async with site.client(mode, asked=Asked()) as client:
        await client.list_tools()
        error = error_of(await client.call_tool(DISABLE))
    assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "denied")
    assert site.backend.disabled == []


@pytest.mark.requirement("7.5-withdraw", "12.5-decline-withdraws")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_declines_takes_its_request_back(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    async with site.client(mode, asked=Asked("decline")) as client:
        await client.list_tools()
        error = error_of(await client.call_tool(DISABLE))
    assert (error["code"], error["details"]["reason"]) == ("CONFIRMATION_INVALID", "cancelled")
    assert error["details"]["cause"] == "withdrawn"
    assert surface.confirmations.pending() == ()


@pytest.mark.requirement("12.5-cancel-leaves-it-pending")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_cancels_leaves_its_request_pending(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    async with site.client(mode, asked=Asked("cancel")) as client:
        await client.list_tools()
        error = error_of(await client.call_tool(DISABLE))
    (pending,) = surface.confirmations.pending()
    assert (error["code"], error["details"]["confirmation_id"]) == ("CONFIRMATION_REQUIRED", pending.id)


@pytest.mark.requirement("12.5-accept-means-nothing")
@pytest.mark.parametrize("mode", ERAS)
async def test_an_accepted_link_approves_nothing(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    async with site.client(mode, asked=Asked("accept")) as client:
        await client.list_tools()
        waiting = asyncio.create_task(client.call_tool(DISABLE))
        requested = asyncio.Event()
        surface.confirmations.subscribe(lambda view: requested.set())
        await requested.wait()
        assert site.backend.disabled == []
        (pending,) = surface.confirmations.pending()
        await surface.confirmations.deny(pending.id, PERSON)
        assert error_of(await waiting)["code"] == "CONFIRMATION_INVALID"


@pytest.mark.requirement(
    "7.7-surface-continue", "12.5-else-code-link-and-id-in-text", "12.5-surface-continue-is-listed-when-needed"
)
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_cannot_be_asked_gets_code_link_and_id_in_text(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    async with site.client(mode) as client:
        assert "surface_continue" in {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool(DISABLE)
        error = error_of(result)
        request = error["details"]["confirmation_id"]
        assert error["details"]["url"] == f"{site.address}/remit/confirmations/{request}"
        assert result.meta is not None
        assert result.meta["remit/confirmation"] == request
        deciding = asyncio.create_task(surface.confirmations.approve(request, PERSON))
        assert data_of(await client.call_tool("surface_continue", {"confirmation_id": request})) == 1
        await deciding
        assert data_of(await client.call_tool("surface_continue", {"confirmation_id": request})) == 1
    assert site.backend.disabled == [["d1"]]


@pytest.mark.requirement("7.7-evidence-beside-the-arguments")
@pytest.mark.parametrize("mode", ERAS)
async def test_evidence_in_meta_is_held_while_the_request_is_pending(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    async with site.client(mode) as client:
        await client.list_tools()
        request = error_of(await client.call_tool(DISABLE))["details"]["confirmation_id"]
        settled = refused_once(surface)
        held = asyncio.create_task(client.call_tool(DISABLE, meta=beside(confirmation=request)))
        await settled.wait()
        assert not held.done()
        await surface.confirmations.approve(request, PERSON)
        assert data_of(await held) == 1
        # A repeat without an invocation id of its own runs under the request's, so it is told what happened then.
        assert data_of(await client.call_tool(DISABLE, meta=beside(confirmation=request))) == 1
    assert site.backend.disabled == [["d1"]]


@pytest.mark.requirement("7.6-one-approval-one-run")
@pytest.mark.parametrize("mode", ERAS)
async def test_many_calls_with_one_approval_run_it_once(site: Site, mode: str) -> None:
    surface, _ = opened(site)
    async with site.client(mode) as client:
        await client.list_tools()
        request = error_of(await client.call_tool(DISABLE))["details"]["confirmation_id"]
        await surface.confirmations.approve(request, PERSON)
        calls = [
            client.call_tool(DISABLE, meta=beside(confirmation=request, invocation=f"call-{number}"))
            for number in range(10)
        ]
        results = await asyncio.gather(*calls)
    assert sum(not result.is_error for result in results) == 1
    assert site.backend.disabled == [["d1"]]


@pytest.mark.requirement("7.5-only-an-end-ends-it")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_gives_up_ends_no_request_and_its_approval_is_spent_by_the_next_call(
    site: Site, mode: str
) -> None:
    surface, _ = opened(site)
    async with site.client(mode, asked=Asked()) as client:
        await client.list_tools()
        requested = asyncio.Event()
        surface.confirmations.subscribe(lambda view: requested.set())
        given_up = asyncio.create_task(client.call_tool(DISABLE))
        await requested.wait()
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        # By the time this is answered, the server has heard that the other call was given up.
        await client.call_tool(READ)
        (pending,) = surface.confirmations.pending()
        await surface.confirmations.approve(pending.id, PERSON)
        assert data_of(await client.call_tool(DISABLE)) == 1
    assert site.backend.disabled == [["d1"]]


@pytest.mark.requirement("12.5-held-retries-are-kept-alive")
@pytest.mark.parametrize("mode", ERAS)
async def test_a_held_call_of_a_plain_http_client_lives_by_pings(mode: str) -> None:
    async with serving(Limits(hold_s=20.0, ping_s=0.1)) as site:
        surface, _ = opened(site)
        Person(surface, "approve", 2.5)
        # The person thinks longer than the client reads: as with the HTTP library's five seconds and a hold of twenty.
        async with site.client(mode, asked=Asked(), read_timeout=2.0) as client:
            await client.list_tools()
            assert data_of(await client.call_tool(DISABLE)) == 1


@pytest.mark.requirement("15.5-held-retries-are-answered-first")
@pytest.mark.parametrize("mode", ERAS)
async def test_stopping_answers_what_is_held_and_ends(mode: str) -> None:
    async with serving(Limits(hold_s=20.0)) as site:
        surface, _ = opened(site)
        async with site.client(mode) as client:
            await client.list_tools()
            request = error_of(await client.call_tool(DISABLE))["details"]["confirmation_id"]
            settled = refused_once(surface)
            held = asyncio.create_task(client.call_tool("surface_continue", {"confirmation_id": request}))
            await settled.wait()
            site.gateway.stopping()
            error = error_of(await held)
            assert (error["code"], error["details"]["confirmation_id"]) == ("CONFIRMATION_REQUIRED", request)


@pytest.mark.requirement("7.5-a-request-ends-with-its-view")
async def test_a_request_ends_with_its_view_and_says_why(site: Site) -> None:
    surface, _ = opened(site)
    view = site.gateway.describe()["views"][0]["view"]  # type: ignore[index]
    async with site.client("auto") as client:
        await client.list_tools()
        request = error_of(await client.call_tool(DISABLE))["details"]["confirmation_id"]
        settled = refused_once(surface)
        held = asyncio.create_task(client.call_tool("surface_continue", {"confirmation_id": request}))
        await settled.wait()
        site.gateway.close_view(view)
        error = error_of(await held)
    assert error["code"] == "CONFIRMATION_INVALID"
    assert error["details"] == {"reason": "cancelled", "cause": "view-closed"}
    assert site.backend.disabled == []


@pytest.mark.requirement("7.5-a-request-ends-with-its-view")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("cause", ["view-closed", "view-reloaded"])
async def test_a_held_retry_with_evidence_hears_how_its_view_went(mode: str, cause: str) -> None:
    async with serving(Limits(hold_s=20.0)) as site:
        view = site.open(tab="tab-1")
        view.surface.mount(Table(selected=["d1"]))
        async with site.client(mode) as client:
            await client.list_tools()
            request = error_of(await client.call_tool(DISABLE))["details"]["confirmation_id"]
            settled = refused_once(view.surface)
            held = asyncio.create_task(client.call_tool(DISABLE, meta=beside(confirmation=request)))
            await settled.wait()
            if cause == "view-reloaded":
                site.open(tab="tab-1").surface.mount(Table(selected=["d1"]))
            else:
                site.gateway.close_view(view.id)
            error = error_of(await held)
        assert (error["code"], error["details"]) == ("CONFIRMATION_INVALID", {"reason": "cancelled", "cause": cause})
        assert site.backend.disabled == []


@pytest.mark.requirement("7.5-a-request-ends-with-its-view")
async def test_a_call_of_the_handshake_era_whose_person_was_asked_hears_how_its_view_went() -> None:
    async with serving(Limits(hold_s=20.0)) as site:
        view = site.open()
        view.surface.mount(Table(selected=["d1"]))

        class Closing(Asked):
            async def __call__(self, context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
                site.gateway.close_view(view.id)
                return await super().__call__(context, params)

        async with site.client("legacy", asked=Closing()) as client:
            await client.list_tools()
            error = error_of(await client.call_tool(DISABLE))
        assert (error["code"], error["details"]["cause"]) == ("CONFIRMATION_INVALID", "view-closed")


class TestDecisionPage:
    """The person's own page: exact, unframeable, decided by its own form only."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    async def site(self, clock: ManualClock) -> AsyncIterator[Site]:
        async with serving(LIMITS, clock=clock) as site:
            yield site

    @pytest.fixture
    def token(self, site: Site) -> str:
        return site.token()

    @pytest.fixture
    async def request_id(self, site: Site, token: str) -> str:
        _, table = opened(site)
        table.selected = ["d1", ODD]
        async with site.client("auto", token=token) as client:
            await client.list_tools()
            return str(error_of(await client.call_tool(DISABLE))["details"]["confirmation_id"])

    @pytest.mark.requirement(
        "7.2-refused-characters-are-escapes",
        "7.4-a-decider-sees-only-its-own",
        "7.12-a-decision-page-opens-no-view",
        "15.4-pages-cannot-be-framed",
        "15.4-security-headers",
    )
    async def test_it_shows_the_exact_input_to_its_decider_and_to_nobody_else(
        self, site: Site, request_id: str
    ) -> None:
        path = f"{site.address}/remit/confirmations/{request_id}"
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as http:
            shown = await http.get(path, headers={"Cookie": "account=operator"})
            foreign = await http.get(path, headers={"Cookie": "account=auditor"})
            unknown = await http.get(path + "x", headers={"Cookie": "account=operator"})
            stranger = await http.get(path)
            listed = await http.get(f"{site.address}/remit/confirmations", headers={"Cookie": "account=operator"})
        assert shown.status_code == 200
        assert "<code>device_ids[0]</code>" in shown.text
        assert "d\\u202e1\\n" in shown.text
        assert ODD[1] not in shown.text
        assert (foreign.status_code, stranger.status_code, unknown.status_code) == (404, 401, 404)
        assert foreign.text == unknown.text
        assert request_id in listed.text
        assert "frame-ancestors 'none'" in shown.headers["Content-Security-Policy"]
        assert shown.headers["X-Frame-Options"] == "DENY"
        assert shown.headers["X-Content-Type-Options"] == "nosniff"
        assert shown.headers["Cache-Control"] == "no-store"
        assert "<script" not in shown.text
        assert len(site.gateway.describe()["views"]) == 1  # type: ignore[arg-type]

    @pytest.mark.requirement("7.2-approve-works-when-all-was-shown", "7.4-the-pages-own-form-decides")
    async def test_its_form_approves_exactly_this_once(
        self, site: Site, request_id: str, token: str, clock: ManualClock
    ) -> None:
        async with Browser(site) as browser:
            form = await browser.form(request_id)
            quick = await browser.decide(request_id, form)
            assert (quick.status_code, "quicker than anybody reads" in quick.text) == (409, True)
            # The approve control works half a second after it was drawn; that half second is what is tested.
            clock.advance(0.55)
            decided = await browser.decide(request_id, form)
            assert (decided.status_code, decided.headers["Location"].rpartition("/")[2]) == (303, request_id)
            assert "Approved." in (await browser.get(request_id)).text
        async with site.client("auto", token=token) as client:
            assert data_of(await client.call_tool("surface_continue", {"confirmation_id": request_id})) == 2
        assert site.backend.disabled == [["d1", ODD]]

    @pytest.mark.requirement("7.4-the-pages-own-form-decides", "7.4-a-forged-form-decides-nothing")
    async def test_it_approves_no_other_digest_than_it_showed(
        self, site: Site, request_id: str, clock: ManualClock
    ) -> None:
        async with Browser(site) as browser:
            form = await browser.form(request_id)
            # As above: only then would the approve control have worked.
            clock.advance(0.55)
            other = form["digest"][::-1]
            assert other != form["digest"]
            refused = await browser.decide(request_id, {**form, "digest": other})
            assert (refused.status_code, "is not the one that was shown" in refused.text) == (409, True)
            assert "<form" in (await browser.get(request_id)).text
            assert (await browser.decide(request_id, form)).status_code == 303

    @pytest.mark.requirement("7.4-the-pages-own-form-decides")
    async def test_it_denies_at_once(self, site: Site, request_id: str) -> None:
        async with Browser(site) as browser:
            form = {**await browser.form(request_id), "decision": "deny"}
            assert (await browser.decide(request_id, form)).status_code == 303
            page = (await browser.get(request_id)).text
            assert "Denied." in page
            assert "<form" not in page

    @pytest.mark.requirement("7.4-only-top-level-navigation-decides")
    @pytest.mark.parametrize(
        "changed",
        [
            {"Sec-Fetch-Mode": "cors"},
            {"Sec-Fetch-User": ""},
            {"Sec-Fetch-Site": "cross-site"},
            {"Origin": ""},
            {"Origin": "http://127.0.0.1:1"},
            {"Content-Type": "application/json"},
        ],
    )
    async def test_what_is_not_the_navigation_of_its_own_form_decides_nothing(
        self, site: Site, request_id: str, changed: dict[str, str]
    ) -> None:
        async with Browser(site) as browser:
            form = {**await browser.form(request_id), "decision": "deny"}
            assert (await browser.decide(request_id, form, **changed)).status_code == 403
            assert "<form" in (await browser.get(request_id)).text

    @pytest.mark.requirement("7.4-a-forged-form-decides-nothing", "15.4-csrf-on-every-decision")
    @pytest.mark.parametrize("field", ["token", "digest", "decision"])
    async def test_a_form_with_a_forged_or_missing_field_decides_nothing(
        self, site: Site, request_id: str, field: str
    ) -> None:
        async with Browser(site) as browser:
            form = {**await browser.form(request_id), "decision": "deny"}
            for forged in ({**form, field: "1.00"}, {key: value for key, value in form.items() if key != field}):
                assert (await browser.decide(request_id, forged)).status_code == 409
            assert "<form" in (await browser.get(request_id)).text

    @pytest.mark.requirement("7.4-a-decider-sees-only-its-own", "15.4-body-limits")
    async def test_another_persons_token_and_a_large_form_decide_nothing(self, site: Site, request_id: str) -> None:
        async with Browser(site) as browser:
            form = {**await browser.form(request_id), "decision": "deny"}
            assert (await browser.decide(request_id, form, Cookie="account=auditor")).status_code == 404
            assert (await browser.decide(request_id, {**form, "more": "x" * 9_000})).status_code == 413

    @pytest.mark.requirement("7.4-a-delegation-token-decides-nothing")
    async def test_the_token_of_an_agent_neither_shows_nor_decides(
        self, site: Site, request_id: str, token: str
    ) -> None:
        path = f"{site.address}/remit/confirmations/{request_id}"
        async with Browser(site) as browser, httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as agent:
            form = {**await browser.form(request_id), "decision": "deny"}
            assert (await agent.get(path)).status_code == 401
            navigation = {"Origin": site.address, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-User": "?1"}
            answer = await agent.post(path, data=form, headers={**navigation, "Sec-Fetch-Site": "same-origin"})
            assert answer.status_code == 401
            assert "<form" in (await browser.get(request_id)).text


class Browser:
    """What a browser sends with the navigation of a form, without being one."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._http = httpx2.AsyncClient(headers={"Cookie": f"account={OPERATOR.id}"})

    async def __aenter__(self) -> "Browser":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.aclose()

    async def get(self, request_id: str) -> httpx2.Response:
        return await self._http.get(f"{self._site.address}/remit/confirmations/{request_id}")

    async def form(self, request_id: str) -> dict[str, str]:
        page = (await self.get(request_id)).text
        fields = {name: page.split(f'name="{name}" value="')[1].split('"')[0] for name in ("digest", "token")}
        return {**fields, "decision": "approve"}

    async def decide(self, request_id: str, form: dict[str, str], **changed: str) -> httpx2.Response:
        headers = {
            "Origin": self._site.address,
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-User": "?1",
            "Sec-Fetch-Site": "same-origin",
        }
        headers.update({name.replace("_", "-"): value for name, value in changed.items()})
        kept = {name: value for name, value in headers.items() if value}
        return await self._http.post(f"{self._site.address}/remit/confirmations/{request_id}", data=form, headers=kept)
