"""Every example passes what the page protocol asks of any site, and none of its data changes (SPEC 11.1)."""

import copy
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import BrowserContext

from remit.cli import main
from remit.testing.conformance.running import Cases
from tests.e2e.order_desk import serving
from tests.e2e.served_console import Served

FOLDER = Path(__file__).parents[2] / "spec" / "page-protocol"


def passes(base: str, token: str) -> None:
    """Run `remit conformance URL --token T`."""
    given = ["conformance", f"{base}/remit/page", "--token", token, "--cases", str(FOLDER)]
    result = CliRunner().invoke(main, given)
    cases = [case for case in Cases(FOLDER).cases if case.given is None]
    assert (result.exit_code, result.output) == (0, f"{len(cases)} passed, 0 failed\n"), result.output


@pytest.mark.requirement("11.1-conformance-of-a-live-site")
def test_the_order_desk_passes_with_a_page_open_and_with_none() -> None:
    with serving() as desk:
        before = copy.deepcopy(desk.handles.shop.orders)
        token = desk.token()
        passes(desk.base, token)
        person = desk.person("mara")
        with person.page():
            assert len(desk.opened()) == 1
            passes(desk.base, token)
        person.close()
        assert desk.handles.shop.orders == before


@pytest.mark.requirement("11.1-conformance-of-a-live-site")
def test_the_device_console_passes_with_a_page_open(served: Served, operator: BrowserContext) -> None:
    page = operator.new_page()
    page.goto(f"{served.base}/devices")
    page.get_by_text("Devices").first.wait_for()
    before = served.effects()
    principal = served.handles.person("operator").principal()
    token = served.run(
        lambda: served.handles.gateway.delegate(principal, actor="agent", scope=["view:**", "domain:**"], kind="page")
    )
    passes(served.base, token)
    assert served.effects() == before
