"""What is no JSON fails over the wire too, and the wire stays strict JSON (SPEC 3.6, 12.5)."""

import json
import math
from typing import Any, cast

import pytest

from remit import Component, action, observation
from tests.adapters.site import ERAS, error_of, serving


class Panel(Component, type="more.panel"):
    """A panel that shows what it is told to."""

    def __init__(self, value: object) -> None:
        self.value: Any = value

    @observation
    def listed(self) -> list[Any]:
        """Free items."""
        return cast("list[Any]", self.value)

    @action
    def undeclared(self):  # type: ignore[no-untyped-def]
        """Declares nothing."""
        return self.value


@pytest.mark.requirement("3.6-what-is-no-json-over-mcp")
@pytest.mark.parametrize("mode", ERAS)
async def test_over_mcp_what_is_no_json_is_a_tool_error_in_strict_json(mode: str) -> None:
    async with serving(more=(Panel,)) as site:
        panel = Panel(None)
        site.open().surface.mount(panel)
        async with site.client(mode) as client:
            await client.list_tools()
            for value in ([math.nan], [{"max": math.inf}], [{1}], [b"secret"], [object()]):
                panel.value = value
                for tool in ("view_more__panel__listed", "view_more__panel__undeclared"):
                    result = await client.call_tool(tool, {})
                    error = error_of(result)
                    assert (error["code"], error["details"]["reason"]) == ("EXECUTION_FAILED", "output-invalid")
                    said = result.model_dump_json()
                    json.loads(said, parse_constant=pytest.fail)
                    assert "secret" not in said and " at 0x" not in said
            panel.value = [{"mean": 1.5}]
            assert not (await client.call_tool("view_more__panel__listed", {})).is_error
