"""The approval dialog: who is asked where, what is shown, and which click counts."""

import json

import pytest
from playwright.sync_api import BrowserContext, expect

from remit import ConfirmationStatus, Failed, Ok
from tests.e2e.served_console import DISABLE, SELECT, Served, agent_in, approve, dialog, open_page

FIELDS = ".remit-fields td code"


@pytest.mark.requirement("7.4-the-dialog-of-a-home-decides")
def test_an_approved_request_runs_exactly_once(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    before = served.effects()
    ids = agent.enabled(2)
    confirmation = agent.asks(ids)
    question = page.get_by_role("dialog", name="Disable devices")
    question.wait_for()

    assert question.locator(FIELDS).all_inner_texts() == [json.dumps(each) for each in ids]
    assert question.locator(".remit-fields th").all_inner_texts() == ["device_ids[0]", "device_ids[1]"]
    expect(approve(page)).to_be_enabled()
    approve(page).press("Enter")
    question.wait_for(state="detached")
    assert served.effects() == before

    first = agent.call(DISABLE, confirmation=confirmation)
    again = agent.call(DISABLE, confirmation=confirmation, id="once-more")

    assert isinstance(first, Ok)
    assert isinstance(again, Failed) and again.error.details["reason"] == "spent"
    assert served.effects() == [*before, ("devices.disable", ids)]
    expect(page.locator("td.device-state", has_text="disabled").first).to_be_visible()


@pytest.mark.requirement("7.4-the-dialog-of-a-home-decides")
def test_a_denied_request_does_not_run(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    before = served.effects()
    confirmation = agent.asks(agent.enabled(1))

    dialog(page).get_by_role("button", name="Deny").click()
    dialog(page).wait_for(state="detached")

    refused = agent.call(DISABLE, confirmation=confirmation)
    assert isinstance(refused, Failed) and refused.error.details["reason"] == "denied"
    assert served.effects() == before


@pytest.mark.requirement("7.4-a-decider-sees-only-its-own", "14.1-several-clients")
def test_each_page_shows_its_own_request_and_counts_all_of_its_person(
    served: Served, people: dict[str, BrowserContext]
) -> None:
    first, agent = open_page(served, people["operator"])
    second, other = open_page(served, people["operator"])
    auditor, _ = open_page(served, people["auditor"])
    assert len(served.opened()) == 3
    ids = agent.enabled(2)
    agent.asks(ids[:1])
    other.asks(ids[1:])

    for page, own in ((first, ids[0]), (second, ids[1])):
        page.bring_to_front()
        expect(dialog(page).locator(FIELDS)).to_have_text([json.dumps(own)])
        expect(page.locator(".remit-waiting a")).to_have_text("2 requests wait for your decision")
        expect(page.locator(".remit-waiting a")).to_have_attribute("href", "/remit/confirmations")
    expect(auditor.locator(".remit-waiting a")).to_be_hidden()
    expect(dialog(auditor)).to_have_count(0)

    dialog(second).get_by_role("button", name="Deny").click()
    expect(first.locator(".remit-waiting a")).to_have_text("1 request waits for your decision")
    expect(dialog(first)).to_have_count(1)


@pytest.mark.requirement("14.1-one-question-at-a-time")
def test_one_question_is_asked_at_a_time(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    second = agent_in(served, agent.view, "second agent")
    agent.asks(agent.enabled(1))
    second.asks(agent.enabled(1))

    expect(dialog(page)).to_have_count(1)
    expect(dialog(page)).to_contain_text("agent (mcp)")
    dialog(page).get_by_role("button", name="Later").click()

    expect(dialog(page)).to_contain_text("second agent (mcp)")
    expect(page.locator(".remit-waiting a")).to_have_text("2 requests wait for your decision")


@pytest.mark.requirement("7.2-approve-works-when-all-was-shown")
def test_approve_works_only_after_everything_was_on_the_screen(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    confirmation = agent.asks(agent.enabled(40))
    fields = dialog(page).locator(".remit-fields")
    fields.wait_for()

    # The last value alone is not everything.
    fields.evaluate("fields => fields.scrollTo(0, fields.scrollHeight)")
    fields.evaluate("() => new Promise(done => setTimeout(done, 900))")
    expect(approve(page)).to_be_disabled()
    expect(dialog(page)).to_contain_text("Approve works once everything above has been on the screen.")

    height = int(fields.evaluate("fields => fields.scrollHeight"))
    for top in range(0, height, 100):
        fields.evaluate(
            "(fields, top) => { fields.scrollTo(0, top); return new Promise(done => requestAnimationFrame(() => "
            "requestAnimationFrame(done))); }",
            top,
        )
    expect(approve(page)).to_be_enabled()
    assert agent.request(confirmation).status is ConfirmationStatus.PENDING


@pytest.mark.requirement("7.2-shown-whole-field-by-field", "7.2-refused-characters-are-escapes")
def test_refused_characters_are_shown_as_escapes_and_nothing_is_cut(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    copilot = agent_in(served, agent.view, "copilot", kind="test", scope=None, confirm=["server-mutation"])
    name = "<b>Lobby</b>\u202ecba" + "x" * 180
    page.locator("td.device-name button").first.click()
    page.wait_for_selector(".drawer dl")
    copilot.asks_with("domain:devices.rename", {"name": name})

    rows = dialog(page).locator(".remit-fields tr")
    expect(rows).to_have_count(2)
    shown = dict(zip(rows.locator("th").all_inner_texts(), rows.locator(FIELDS[14:]).all_inner_texts(), strict=True))
    assert shown == {"device_id": '"d-0001"', "name": json.dumps(name)}
    expect(rows.filter(has_text="device_id")).to_contain_text("this page, fixed")
    expect(rows.filter(has_text="Lobby")).to_contain_text("the agent")


@pytest.mark.requirement("7.12-an-ended-dialog-closes-or-says-so")
def test_a_withdrawn_request_closes_its_dialog_and_says_so(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    confirmation = agent.asks(agent.enabled(1))
    dialog(page).wait_for()

    assert served.run(agent.view.surface.withdraw(confirmation, agent.connection.consumer))

    expect(dialog(page)).to_have_count(0)
    expect(page.get_by_text("the agent took it back. It does not happen.")).to_be_visible()


@pytest.mark.requirement("7.12-an-ended-dialog-closes-or-says-so")
def test_leaving_the_part_of_the_page_ends_its_question(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    agent.asks(agent.enabled(1))
    dialog(page).wait_for()

    agent.call("view:app.navigation.goTo", {"page": "reports"})

    expect(dialog(page)).to_have_count(0)
    expect(page.get_by_text("the part of the page it belonged to has been closed")).to_be_visible()


@pytest.mark.requirement("7.4-a-decider-is-signed-in-when-deciding")
def test_whoever_signed_out_meanwhile_approves_nothing(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    confirmation = agent.asks(agent.enabled(1))
    expect(approve(page)).to_be_enabled()
    # Signed out elsewhere: the page still stands there with its dialog.
    person = served.handles.person("operator")
    (login,) = (login for login, who in served.handles.sign_ins._signed_in.items() if who is person)
    served.handles.sign_ins.sign_out(login)
    try:
        approve(page).click()
        expect(dialog(page).get_by_role("alert")).to_contain_text("This answer was not taken")
        assert agent.request(confirmation).status is ConfirmationStatus.PENDING
    finally:
        served.handles.sign_ins._signed_in[login] = person


@pytest.mark.requirement("7.1-bound-to-bound-values")
def test_a_selection_made_after_asking_is_not_what_was_approved(served: Served, operator: BrowserContext) -> None:
    page, agent = open_page(served, operator)
    before = served.effects()
    ids = agent.enabled(3)
    confirmation = agent.asks(ids[:1])
    expect(approve(page)).to_be_enabled()
    agent.call(SELECT, {"ids": ids})
    expect(dialog(page).locator(FIELDS)).to_have_text([json.dumps(ids[0])])
    approve(page).click()
    dialog(page).wait_for(state="detached")

    refused = agent.call(DISABLE, confirmation=confirmation)

    assert isinstance(refused, Failed) and refused.error.details["reason"] == "mismatch"
    assert served.effects() == before
