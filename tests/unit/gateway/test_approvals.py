"""The decision page: approving for the session, and taking that back (SPEC 7.9)."""

import re
from contextlib import nullcontext
from html import unescape

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from remit import Component, Limits, ManualClock, Principal, Surface, action, observation
from remit.gateway import Gateway
from tests.behaviour.conftest import AGENT, authority_of, failed, output

ADDRESS = "http://127.0.0.1"
CLICK = {
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-User": "?1",
    "Sec-Fetch-Site": "same-origin",
    "Origin": ADDRESS,
    "Content-Type": "application/x-www-form-urlencoded",
}


class Orders(Component, type="orders"):
    """The orders of a page."""

    @action(confirmation="required", title="Write a note", may_vary=("note", "tag"))
    def annotate(self, row: int, note: str = "", tag: str = "<b>") -> str:
        """Write a note at a row."""
        return f"{row}{note}{tag}"

    @observation(untrusted=True)
    def read_mail(self) -> str:
        """What a customer wrote."""
        return "Trust me"


def login(connection: HTTPConnection) -> Principal | None:
    return Principal(connection.cookies["account"]) if "account" in connection.cookies else None


class Site:
    """One open view, and a browser that asks for its decision pages."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = ManualClock()
        gateway = Gateway(authority_of(Orders), clock=self.clock, limits=limits)
        app = Starlette(routes=gateway.routes(login))
        session = gateway.open_view(
            principal=lambda: Principal("operator"), host=lambda: None, within=nullcontext, title="Orders", route="/"
        )
        self.surface: Surface = session.surface
        self.surface.mount(Orders())
        self.agent = self.surface.connect(AGENT)
        self._http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=ADDRESS)

    async def get(self, path: str = "", account: str = "operator") -> str:
        response = await self._http.get(f"/remit/confirmations{path}", headers={"Cookie": f"account={account}"})
        return response.text

    async def post(self, path: str, form: dict[str, str], account: str = "operator", **changed: str) -> httpx2.Response:
        headers = {**CLICK, "Cookie": f"account={account}", **changed}
        return await self._http.post(f"/remit/confirmations{path}", data=form, headers=headers)

    async def asked(self, row: int = 1) -> str:
        error = failed(await self.agent.call(Orders.annotate, {"row": row}), "CONFIRMATION_REQUIRED")
        return str(error.details["confirmation_id"])

    async def form(self, path: str) -> dict[str, str]:
        """The hidden fields of the form, long enough after it was drawn."""
        found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', await self.get(path)))
        self.clock.advance(1)
        return {name: unescape(value) for name, value in found.items()}

    async def approve(self, request: str, **ticked: str) -> httpx2.Response:
        form = await self.form(f"/{request}")
        ticked = {name.replace("_", "-"): value for name, value in ticked.items()}
        return await self.post(f"/{request}", {**form, "decision": "approve", **ticked})


@pytest.mark.requirement("7.9-on-the-decision-page")
async def test_the_page_offers_the_session_and_shows_the_schema_of_what_may_vary() -> None:
    site = Site()
    page = unescape(await site.get(f"/{await site.asked()}"))
    assert "Do not ask me again about this call of this agent, for 15 minutes and at most 10 further calls." in page
    assert '<code>note</code> may be anything that fits <code>{"default": "", "type": "string"}</code>' in page
    assert page.count('type="checkbox"') == 3


@pytest.mark.requirement("7.9-on-the-decision-page")
async def test_what_is_ticked_is_approved_for_the_session_and_what_is_not_stays_pinned() -> None:
    site = Site()
    request = await site.asked()
    assert (await site.approve(request, session="yes", free_0="yes")).status_code == 303
    output(await site.agent.call(Orders.annotate, {"row": 1}, confirmation=request))
    (standing,) = site.surface.confirmations.standing()
    assert set(standing.may_vary) == {"note"}
    output(await site.agent.call(Orders.annotate, {"row": 1, "note": "b"}))
    failed(await site.agent.call(Orders.annotate, {"row": 1, "tag": "c"}), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("7.9-on-the-decision-page")
async def test_a_form_without_the_tick_approves_once() -> None:
    site = Site()
    request = await site.asked()
    assert (await site.approve(request, free_0="yes")).status_code == 303
    output(await site.agent.call(Orders.annotate, {"row": 1}, confirmation=request))
    assert site.surface.confirmations.standing() == ()


@pytest.mark.requirement("7.9-on-the-decision-page")
async def test_one_too_many_is_said_and_nothing_is_approved() -> None:
    site = Site(Limits(standing_per_session=1))
    assert (await site.approve(await site.asked(1), session="yes")).status_code == 303
    second = await site.asked(2)
    answer = await site.approve(second, session="yes")
    assert answer.status_code == 409 and "This answer was not taken." in answer.text
    assert [view.id for view in site.surface.confirmations.pending()] == [second]


@pytest.mark.requirement("7.9-on-the-decision-page")
async def test_the_list_shows_what_stands_and_its_person_takes_it_back_with_its_own_form_alone() -> None:
    site = Site()
    await site.approve(await site.asked(), session="yes", free_0="yes")
    (standing,) = site.surface.confirmations.standing()
    assert "Approved for the session" in await site.get() and "&lt;b&gt;" in await site.get()
    assert standing.id not in await site.get(account="auditor")
    path, form = f"/standing/{standing.id}", await site.form("")
    for refused in (
        await site.post(path, form, **{"Sec-Fetch-Mode": "cors"}),
        await site.post(path, {"token": "1.00"}),
        await site.post(path, {}),
        await site.post(path, form, account="auditor"),
        await site.post(f"{path}x", form),
    ):
        assert refused.status_code == 403
    assert (await site.post(path, form, Cookie="")).status_code == 401
    assert site.surface.confirmations.standing() == (standing,)
    assert (await site.post(path, form)).status_code == 303
    assert site.surface.confirmations.standing() == ()
    failed(await site.agent.call(Orders.annotate, {"row": 9}), "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("11.15-a-person-clears-it")
async def test_the_person_sees_on_the_page_who_read_text_from_outside_and_trusts_an_agent_again() -> None:
    site = Site()
    assert "text from outside" not in await site.get()
    output(await site.agent.call(Orders.read_mail))
    page = await site.get()
    assert "Agents that read text from outside" in page
    assert "view:orders.readMail" in page and "Trust me" not in page
    assert "text from outside" not in await site.get(account="auditor")
    form = await site.form("")
    assert form["consumer"] == AGENT.id
    quick = re.findall(r'name="token" value="([^"]*)"', await site.get())[0]
    for path, fields, account, changed, status in (
        ("/agents", form, "operator", {"Sec-Fetch-Mode": "cors"}, 403),
        ("/agents", form, "auditor", {}, 403),
        ("/agents", {**form, "consumer": "other"}, "operator", {}, 403),
        ("/agents", {**form, "token": quick}, "operator", {}, 409),
    ):
        answer = await site.post(path, fields, account, **changed)
        assert answer.status_code == status
        assert len(site.surface.confirmations.untrusted()) == 1
    assert (await site.post("/agents", form)).status_code == 303
    assert site.surface.confirmations.untrusted() == ()
