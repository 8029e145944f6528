"""The list of tools: ready wire dicts, checked one by one, so that one bad tool never costs the others (SPEC 12.5)."""

import logging
from collections.abc import Mapping
from typing import Final

import mcp_types as types
from pydantic import ValidationError

from remit._base.bounded import Bounded
from remit._base.clock import Clock
from remit._model.outcome import untrusted_to_json
from remit._session.session import Session
from remit._toolset.definitions import Definition
from remit._toolset.direct import Listing, Tool, addressed
from remit._toolset.handing import DEFINITION as HANDOFF_TOOL
from remit._toolset.handing import HANDOFF, hands
from remit.adapters.mcp.callers import Caller
from remit.adapters.mcp.meta import AVAILABILITY, INSTANCE, META, REGISTRATION, SURFACE, UNTRUSTED, VERSION

VIEWS: Final = "surface_views"
USE: Final = "surface_use"
CONTINUE: Final = "surface_continue"
_HEADER_KEY: Final = "x-mcp-header"
_KEPT: Final = 4_000

logger = logging.getLogger(__name__)

Wire = dict[str, object]


class ToolLists:
    """Makes listings; what is fixed about a tool is checked and made once."""

    def __init__(self, clock: Clock) -> None:
        self._checked: Bounded[tuple[str, Definition], Wire | None] = Bounded(_KEPT, None, clock)

    def of(self, caller: Caller, *, by_url: bool) -> list[Wire]:
        """The tools this consumer may call now; `by_url` says that its client can show a link to its person."""
        chosen = caller.chosen()
        tools: list[Wire] = []
        if isinstance(chosen, Session):
            listing = caller.toolset(chosen).listing()
            tools += [wire for tool in listing.tools if (wire := self._entry(tool, listing)) is not None]
            if any(hands(tool.listed) for tool in listing.tools):
                tools.append(HANDOFF_TOOL.to_json(HANDOFF))
            if not by_url or caller.needs_continue():
                tools.append(_continue_tool())
        if caller.reach.may_choose():
            tools += [_views_tool(), _use_tool()]
        caller.notices.listed()
        return tools

    def _entry(self, tool: Tool, listing: Listing) -> Wire | None:
        key = (tool.name, tool.definition)
        if key not in self._checked:
            self._checked.put(key, _checked(tool))
        fixed = self._checked.get(key)
        if fixed is None:
            return None
        meta: dict[str, object] = {
            REGISTRATION: tool.listed.registration,
            SURFACE: listing.surface_id,
            VERSION: listing.surface_version,
            INSTANCE: addressed(tool.listed),
            AVAILABILITY: tool.state(),
        }
        descriptor = tool.listed.descriptor
        if descriptor.untrusted:
            meta[UNTRUSTED] = untrusted_to_json(descriptor.untrusted)
        if descriptor.meta is not None:
            meta[META] = descriptor.meta
        return {**fixed, "_meta": meta}


def _checked(tool: Tool) -> Wire | None:
    wire = tool.definition.to_json(tool.name)
    fault = _fault(wire)
    if fault is None:
        return wire
    logger.error("%s is not listed: %s", tool.listed.id, fault)
    return None


def _fault(wire: Wire) -> str | None:
    """Why clients could not take this tool, which would cost them the whole list; None when they can."""
    for key in ("inputSchema", "outputSchema"):
        schema = wire.get(key)
        if schema is not None and not (isinstance(schema, Mapping) and schema.get("type") == "object"):
            return f"the root of its {key} is no object"
    if _mentions(wire, _HEADER_KEY):
        return f"its schema carries {_HEADER_KEY}, which this door does not check"
    try:
        types.Tool.model_validate(wire)
    except ValidationError:
        return "its definition is no MCP tool"
    return None


def _mentions(value: object, key: str) -> bool:
    if isinstance(value, Mapping):
        return key in value or any(_mentions(inner, key) for inner in value.values())
    return isinstance(value, list) and any(_mentions(inner, key) for inner in value)


def _views_tool() -> Wire:
    return _fixed(VIEWS, "List the open views of the person, and which of them is in use.", {}, read_only=True)


def _use_tool() -> Wire:
    view = {"type": "string", "description": "A `view` of surface_views."}
    return _fixed(USE, "Choose the open view that the other tools work in.", {"view": view}, read_only=False)


def _continue_tool() -> Wire:
    text = (
        "Run the exact call of a confirmation request once a person has approved it. It waits a while for the person "
        "and decides nothing itself."
    )
    identifier = {"type": "string", "description": "The confirmation_id of a CONFIRMATION_REQUIRED answer."}
    wire = _fixed(CONTINUE, text, {"confirmation_id": identifier}, read_only=False)
    # What it runs is whatever was asked for, so it is announced as the gravest of it.
    wire["annotations"] = {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }
    return wire


def _fixed(name: str, text: str, properties: Mapping[str, object], *, read_only: bool) -> Wire:
    return {
        "name": name,
        "description": text,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        "annotations": {
            "readOnlyHint": read_only,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
