"""The whole check: the console in a process of its own, an MCP client at its door, a person with a real browser."""

from __future__ import annotations

import argparse
import statistics
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from demo.capabilities import FILTER, READ
from demo.chromium import Clicker, ShownPage, browser, signed_in
from demo.console_process import running_console
from demo.mcp_agent import McpAgent, connected_agent
from demo.records import Records
from demo.stage import Page, Stage, expect
from demo.story import CITY, STEPS
from demo.telling import Seen, Step, tell, up_to

_MEASURED: Final = 60
_WARMING: Final = 10
_MODERN: Final = "2026-07-28"


async def run(options: argparse.Namespace) -> bool:
    """Run the steps up to `options.until`; return whether all were ok."""
    measured: list[float] = []
    every = (*STEPS, _speed(measured))
    steps = up_to(every, options.until)
    async with AsyncExitStack() as opened:
        console = await opened.enter_async_context(running_console())
        chromium = await opened.enter_async_context(browser())
        agent = await opened.enter_async_context(connected_agent(console.door, console.tokens["operator"]))
        stranger = await opened.enter_async_context(connected_agent(console.door, console.tokens["auditor"]))
        tab = await signed_in(chromium, console.url, "operator", console.passwords["operator"])

        async def open_as_auditor() -> Page:
            own = await signed_in(chromium, console.url, "auditor", console.passwords["auditor"])
            return ShownPage(own)

        stage = Stage(
            agent=agent,
            stranger=stranger,
            person=Clicker(tab),
            page=ShownPage(tab),
            records=Records(Path(console.database)),
            no_view="SURFACE_UNREACHABLE{no view is open}",
            open_as_auditor=open_as_auditor,
        )
        if not await tell(steps, stage):
            return False
        speed = f", call p50 {measured[0]:.1f} ms" if measured else ""
        print(f"demo: {len(steps)}/{len(every)} steps ok{speed}", flush=True)
    return True


def _speed(measured: list[float]) -> Step[Stage, float]:
    """How long a read takes the client, half of the time: the table as the story filters it."""

    async def do(stage: Stage) -> float:
        agent = stage.agent
        assert isinstance(agent, McpAgent)
        expect("protocol", _MODERN, agent.protocol)
        filters = {"city": CITY, "status": "offline"}
        while (await agent.call(FILTER, filters)).code == "STALE_CAPABILITY":
            pass  # once: the page was left meanwhile, and the answer has shown the new one
        await agent.timed(READ, _WARMING)
        return statistics.median(await agent.timed(READ, _MEASURED))

    async def verify(stage: Stage, milliseconds: float) -> Seen:
        wanted = stage.records.offline_in(CITY)
        expect("rows on the page:", wanted, await stage.page.rows(wanted))
        measured.append(milliseconds)
        return Seen(what=f"{_MEASURED} reads, one by one", where=f"{stage.page.name}: {len(wanted)} rows, still there")

    return Step(name="speed", do=do, verify=verify)
