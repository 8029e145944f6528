"""`scripts/demo --agent`: the scripted agent works the page that a person has open, and waits for the person's answer.

It has no eyes on that page. What the database can tell is checked there; the rest is for the person to see.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2

from demo import state_file
from demo.capabilities import DISABLE, FILTER, MADE_UP, NAVIGATE, READ, RENAME, SELECT, ids_of
from demo.console_process import Console
from demo.mcp_agent import McpAgent, connected_agent
from demo.records import Happened, Records
from demo.stage import Answer, Memory, Tool, expect
from demo.telling import CannotRun, Seen, Step, Steps, tell, up_to

_CITY: Final = "Milan"
_ROWS: Final = 3
_GLANCE_S: Final = 1.0
_OPEN_S: Final = 600.0
_DECIDE_S: Final = 150.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What the visiting agent has: its connection, the console's address, and the fleet's database."""

    agent: McpAgent
    url: str
    records: Records
    memory: Memory = field(default_factory=Memory)

    def effects(self) -> list[Happened]:
        """What has happened since the visit began."""
        return self.records.effects(self.memory.effects)


async def run(options: argparse.Namespace) -> bool:
    """Visit the console that is being served; `CannotRun` when none is."""
    steps = up_to(STEPS, options.until)
    console = state_file.announced(options.state)
    if console is None or not await _answers(console):
        raise CannotRun("no console is being served; start scripts/demo in another terminal first")
    async with connected_agent(console.door, console.tokens["operator"]) as agent:
        records = Records(Path(console.database))
        visit = Visit(agent=agent, url=console.url, records=records)
        return await tell(steps, visit)


async def _answers(console: Console) -> bool:
    async with httpx2.AsyncClient(trust_env=False) as http:
        try:
            await http.get(f"{console.url}/login")
        except httpx2.TransportError:
            return False
    return True


async def _again_if_stale(visit: Visit, tool: str, arguments: Mapping[str, object]) -> Answer:
    """Call, and once more when the page was opened anew since: the first answer has shown what is there now."""
    answer = await visit.agent.call(tool, arguments)
    return await visit.agent.call(tool, arguments) if answer.code == "STALE_CAPABILITY" else answer


async def _discover(visit: Visit) -> Mapping[str, Tool]:
    tools = await visit.agent.tools()
    if NAVIGATE not in tools:
        print(f"waiting for a page: sign in as operator at {visit.url}", flush=True)
    while NAVIGATE not in tools:
        await asyncio.sleep(_GLANCE_S)
        tools = await visit.agent.tools()
    if SELECT not in tools:
        await _again_if_stale(visit, NAVIGATE, {"page": "devices"})
        tools = await visit.agent.tools()
    visit.memory.effects = len(visit.records.effects())
    return tools


async def _discovered(visit: Visit, tools: Mapping[str, Tool]) -> Seen:
    expect("missing tools", [], sorted({FILTER, READ, SELECT, DISABLE} - tools.keys()))
    visit.memory.tools = tools
    return Seen(what=f"{len(tools)} tools", where="your page: Devices", checked=False)


async def _filter(visit: Visit) -> Answer:
    return await _again_if_stale(visit, FILTER, {"city": _CITY, "status": "offline"})


async def _filtered(visit: Visit, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    stored = len(visit.records.offline_in(_CITY))
    matching = answer.data.get("matching") if isinstance(answer.data, dict) else None
    expect("devices that match:", stored, matching)
    return Seen(what=f"offline devices in {_CITY}", where=f"database: {stored}")


async def _read(visit: Visit) -> Answer:
    return await visit.agent.call(READ)


async def _was_read(visit: Visit, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    found = sorted(ids_of(answer.data))
    expect("ids in the database:", found, visit.records.offline_in(_CITY))
    visit.memory.found = sorted(ids_of(answer.data, enabled=True))
    if not visit.memory.found:
        raise CannotRun(f"all offline devices in {_CITY} are disabled already; start scripts/demo anew")
    return Seen(
        what=f"{len(found)} rows read, {len(visit.memory.found)} of them enabled", where="database: the same ids"
    )


async def _select(visit: Visit) -> Answer:
    visit.memory.selected = visit.memory.found[:_ROWS]
    return await visit.agent.call(SELECT, {"ids": visit.memory.selected})


async def _selected(visit: Visit, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    count = len(visit.memory.selected)
    return Seen(what=f"{count} rows selected", where=f"your page: {count} checked boxes", checked=False)


async def _disable(visit: Visit) -> Answer:
    asked = await visit.agent.ask(DISABLE)
    if isinstance(asked, Answer):
        return asked
    visit.memory.confirmation = asked.confirmation
    print("waiting for you: approve or deny it in the page", flush=True)
    return await asked.answer()


async def _decided(visit: Visit, answer: Answer) -> Seen:
    if answer.verdict != "ok":
        expect("effects:", [], visit.effects())
        expect("answer", "CONFIRMATION_INVALID{denied}", answer.verdict)
        return Seen(what="you denied it", where="effects: none")
    wanted = [Happened(principal="operator", operation="devices.disable", device_ids=visit.memory.selected)]
    expect("effects:", wanted, visit.effects())
    return Seen(what="you approved it, and it ran once", where="effects: 1, operator, these ids")


async def _verified(visit: Visit, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    stored = sorted(set(visit.records.disabled()) & set(visit.records.offline_in(_CITY)))
    expect("disabled, as read:", stored, sorted(ids_of(answer.data, enabled=False)))
    return Seen(what=f"{len(stored)} rows read as disabled", where="database: the same ids")


async def _replay(visit: Visit) -> Answer:
    return await visit.agent.call(DISABLE, confirmation=visit.memory.confirmation or "cnf_none", invocation="replayed")


async def _replayed(visit: Visit, answer: Answer) -> Seen:
    ran = len(visit.effects())
    expect("answer", "CONFIRMATION_INVALID", answer.code)
    expect("effects of the visit, at most:", True, ran <= 1)
    return Seen(what="the answer cannot be used again", where=f"effects: still {ran}")


async def _navigate(visit: Visit) -> Answer:
    return await _again_if_stale(visit, NAVIGATE, {"page": "reports"})


async def _navigated(visit: Visit, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    return Seen(what="the agent goes to Reports", where="your page: Reports", checked=False)


async def _use_the_old(visit: Visit) -> Answer:
    old = visit.memory.tools[DISABLE].registration
    return await visit.agent.call(DISABLE, registration=old)


async def _is_stale(visit: Visit, answer: Answer) -> Seen:
    expect("answer", "COMPONENT_UNMOUNTED{resolve}", answer.verdict)
    return Seen(what="what was learned on Devices is gone", where=f"effects: still {len(visit.effects())}")


async def _call_hidden(visit: Visit) -> tuple[Answer, Answer]:
    return await visit.agent.call(RENAME), await visit.agent.call(MADE_UP)


async def _not_there(visit: Visit, answers: tuple[Answer, Answer]) -> Seen:
    hidden, made_up = answers
    expect("hidden", "CAPABILITY_NOT_FOUND", hidden.verdict)
    expect("hidden, as a made-up name:", made_up.raw, hidden.raw)
    return Seen(what="renaming, there for people, does not exist", where=f"effects: still {len(visit.effects())}")


STEPS: Final[Steps[Visit]] = (
    Step(name="discover", do=_discover, verify=_discovered, seconds=_OPEN_S),
    Step(name="filter", do=_filter, verify=_filtered),
    Step(name="read", do=_read, verify=_was_read),
    Step(name="select", do=_select, verify=_selected),
    Step(name="disable", do=_disable, verify=_decided, seconds=_DECIDE_S),
    Step(name="verify", do=_read, verify=_verified),
    Step(name="replay", do=_replay, verify=_replayed),
    Step(name="navigate", do=_navigate, verify=_navigated),
    Step(name="stale", do=_use_the_old, verify=_is_stale),
    Step(name="hidden", do=_call_hidden, verify=_not_there),
)
