"""A backend that wants an approval of its own: told as the backend's, and nobody here waits for it (SPEC 7.11)."""

import json
from typing import Any

import pytest

from remit import Consumer, Surface
from tests.adapters.site import ERAS, OPERATOR, SECRET, Asked, Backend, Table, authority_of, error_of, serving

RENAME = "domain_devices__rename"
ARGUMENTS = {"device_id": "d1", "name": "new"}
TOLD = {
    "server_approval": {"id": "PA-17"},
    "summary": "Rename one device.",
    "effect": "server-mutation",
    "origin": "server",
}


def judge(error: dict[str, Any]) -> None:
    """What an agent reads is the backend's demand and where it is met; nothing else of the backend."""
    assert (error["code"], error["retry"], error["details"]) == ("CONFIRMATION_REQUIRED", "after-approval", TOLD)
    assert "backend" in error["message"] and "confirmation id" not in error["message"]
    assert SECRET not in str(error)


@pytest.mark.requirement("7.11-over-doors")
@pytest.mark.parametrize("mode", ERAS)
async def test_over_mcp_nobody_is_asked_and_nothing_is_there_to_continue(mode: str) -> None:
    async with serving() as site:
        site.backend.wanted = {"id": "PA-17"}
        surface, _ = site.open_table()
        asked = Asked()
        async with site.client(mode, asked=asked) as client:
            await client.list_tools()
            judge(error_of(await client.call_tool(RENAME, ARGUMENTS)))
            assert "surface_continue" not in {tool.name for tool in (await client.list_tools()).tools}
            site.backend.wanted = None
            assert not (await client.call_tool(RENAME, ARGUMENTS)).is_error
        assert (asked.urls, surface.confirmations.pending(), site.backend.renamed) == ([], (), [("d1", "new")])


@pytest.mark.requirement("7.11-over-doors")
async def test_a_toolset_that_waits_for_people_does_not_wait_for_a_backends_approval() -> None:
    backend = Backend(wanted={"id": "PA-17"})
    procedures = backend.procedures()
    surface = Surface(authority_of(procedures), principal=OPERATOR, procedures=procedures)
    surface.confirmations.attach_page()
    surface.mount(Table())
    tools = surface.connect(Consumer("copilot", kind="embedded")).toolset()
    tools.definitions()
    result = await tools.call(RENAME, ARGUMENTS)
    assert result.confirmation_id is None
    judge(json.loads(result.text)["error"])
