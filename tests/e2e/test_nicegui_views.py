"""Pages and views: what NiceGUI's own lifecycle makes of what agents reach."""

import asyncio

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from remit import ConfirmationStatus, Failed, Ok
from remit._model.request_view import CancelCause
from tests.e2e.served_console import READ, Served, dialog, open_page

VERSIONS = "view:devices.firmware.readVersions"
NAVIGATE = "view:app.navigation.goTo"


@pytest.mark.requirement("11.12-open-means-connected")
def test_building_a_page_opens_no_view_before_its_browser_connects(served: Served, operator: BrowserContext) -> None:
    assert operator.request.get(f"{served.base}/devices").ok
    assert len(served.views()) == 1 and served.opened() == []

    open_page(served, operator)

    assert len(served.opened()) == 1


@pytest.mark.requirement("14.1-nobody-signed-in")
def test_nobody_signed_in_is_sent_to_the_sign_in_page(served: Served, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{served.base}/reports")
    page.get_by_label("Account").fill("operator")
    page.get_by_label("Password").fill("guess")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("alert")).to_contain_text("belong to nobody")
    assert served.views() == []
    page.close()


@pytest.mark.requirement("4.12-a-hidden-tab")
def test_the_hidden_tab_is_unavailable_until_the_person_opens_it(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    assert agent.reason(VERSIONS) == "The tab “firmware” is not open"
    assert agent.reason(READ) is None

    page.get_by_role("tab", name="Firmware").click()
    page.wait_for_selector(".firmware td")

    assert agent.reason(VERSIONS) is None
    assert agent.reason(READ) == "The tab “list” is not open"
    refused = agent.call(READ)
    assert isinstance(refused, Failed) and refused.error.code == "CAPABILITY_NOT_AVAILABLE"


@pytest.mark.requirement("4.12-a-closed-dialog")
def test_the_details_can_be_read_while_the_person_has_them_open(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    details = "view:devices.drawer.readDetails"
    assert agent.reason(details) == "Its dialog is closed"

    page.locator("td.device-name button").first.click()
    page.wait_for_selector(".drawer dl")

    read = agent.call(details)
    assert isinstance(read, Ok) and isinstance(read.output, dict)
    assert read.output["id"] == page.locator(".drawer dd").first.inner_text()


@pytest.mark.requirement("4.12-a-disconnected-client", "7.12-a-gap-is-no-end")
def test_a_lost_socket_hides_the_view_and_its_return_brings_it_back(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    (view,) = served.opened()
    registration = agent.listed()[READ].registration

    page.evaluate("window.socket.io.engine.close()")
    expect(page.locator("#popup")).to_have_attribute("aria-hidden", "false")
    assert served.opened() == []
    assert agent.reason(READ) == "client-disconnected"

    # The browser comes back by itself, after a second or two.
    expect(page.locator("#popup")).to_have_attribute("aria-hidden", "true")
    assert served.opened() == [view]
    assert agent.reason(READ) is None and agent.listed()[READ].registration == registration


@pytest.mark.requirement("7.12-a-reload-ends-the-old-view")
def test_a_reload_closes_the_old_view_and_ends_its_request_at_once(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    (old,) = served.opened()
    confirmation = agent.asks(agent.enabled(1))
    dialog(page).wait_for()
    ended = asyncio.run_coroutine_threadsafe(agent.view.surface.confirmations.wait(confirmation), served.loop)

    page.reload()
    page.wait_for_selector("td.device-id")

    # Below the 10 s that NiceGUI keeps the old client for.
    assert ended.result(8) is ConfirmationStatus.CANCELLED
    assert agent.request(confirmation).cause is CancelCause.VIEW_RELOADED
    (new,) = served.opened()
    assert new != old
    expect(dialog(page)).to_have_count(0)


@pytest.mark.requirement("6.8-a-listing-after-the-answer-is-right", "14.1-navigation-keeps-the-view")
def test_navigation_keeps_the_view_and_replaces_its_parts(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    opened, old = served.opened(), agent.listed()[READ].registration

    assert isinstance(agent.call(NAVIGATE, {"page": "reports"}), Ok)
    # Right after the answer, whatever the browser has drawn: the listing is that of the new part.
    assert "view:reports.summary.readSummary" in agent.listed() and READ not in agent.listed()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reports")
    gone = agent.call(READ, registration=old)
    assert isinstance(gone, Failed) and gone.error.code == "COMPONENT_UNMOUNTED"

    page.go_back()
    page.wait_for_selector("td.device-id")
    assert served.opened() == opened
    assert agent.listed()[READ].registration != old


@pytest.mark.requirement("11.12-until-the-disconnect")
def test_closing_the_page_takes_its_view_away(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    page.close()
    served.forget(agent.view)

    assert served.opened() == [] and served.views() == []
    ended = agent.call(READ)
    assert isinstance(ended, Failed) and ended.error.code == "CANCELLED"


@pytest.mark.requirement("14.1-signing-out")
def test_signing_out_ends_what_agents_reach_in_every_page(served: Served, browser: Browser) -> None:
    context = browser.new_context()
    auditor = served.handles.person("auditor")
    context.request.post(
        f"{served.base}/login", form={"name": "auditor", "password": auditor.password}, max_redirects=0
    )
    page, agent = open_page(served, context)
    assert isinstance(agent.call(READ), Ok)

    context.request.post(f"{served.base}/logout", max_redirects=0)

    refused = agent.call(READ)
    assert isinstance(refused, Failed) and refused.error.code == "NOT_AUTHENTICATED"
    page.reload()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    context.close()


def test_what_an_agent_does_is_shown_in_the_page(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    agent.call("view:devices.filters.setFilters", {"city": "Milan", "status": "offline"})

    log = page.get_by_role("log")
    expect(log).to_contain_text("Set filters")
    expect(log).to_contain_text("devices.filters · agent: done")
    expect(page.locator("td.device-city").first).to_have_text("Milan")
    expect(page.get_by_label("City")).to_have_value("Milan")
