"""The browser the end-to-end tests stand on."""

from playwright.sync_api import Browser


def test_chromium_runs_a_page_and_answers_a_click(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<button onclick='this.textContent = Number(this.textContent) + 1'>0</button>")

    page.click("button")

    assert page.text_content("button") == "1"
    page.close()
