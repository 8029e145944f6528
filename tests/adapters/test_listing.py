"""One tool that cannot be listed costs no other its place."""

import logging
from dataclasses import replace

import pytest

from remit import Consumer, Procedures, Surface
from remit._toolset.direct import Tool, Toolset
from remit.adapters.mcp.listing import _checked
from tests.adapters.site import OPERATOR, READ, Backend, Table, authority_of


@pytest.fixture
def tool() -> Tool:
    procedures: Procedures = Backend().procedures()
    surface = Surface(authority_of(procedures), principal=OPERATOR, procedures=procedures)
    surface.mount(Table())
    listing = Toolset(surface, Consumer("agent", kind="mcp", scope=["view:**"]), waits=False).listing()
    return next(tool for tool in listing.tools if tool.name == READ)


@pytest.mark.requirement("12.5-one-bad-tool-costs-no-other")
def test_a_definition_of_the_contract_is_listed(tool: Tool) -> None:
    wire = _checked(tool)
    assert wire is not None
    assert wire["name"] == READ


@pytest.mark.requirement("12.5-one-bad-tool-costs-no-other")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"$ref": "#/$defs/A"},
        {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}},
    ],
    ids=["no object", "a bare reference", "a header"],
)
def test_what_is_no_mcp_tool_is_left_out_and_reported(
    tool: Tool, schema: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    broken = replace(tool, definition=replace(tool.definition, input_schema=schema))
    with caplog.at_level(logging.ERROR):
        assert _checked(broken) is None
    assert "view:devices.table.readState is not listed" in caplog.text
