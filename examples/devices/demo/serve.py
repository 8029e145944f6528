"""`scripts/demo`: serves the console until Ctrl-C and says how to sign in and how to connect an agent."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from demo import state_file
from demo.console_process import ACTOR, Console
from demo.serving import Served, serve

_NAME: Final = "fleet-console"
_CLIENT: Final = "my-agent"


async def run(options: argparse.Namespace) -> bool:
    """Serve it; always True."""
    announced: list[Console] = []

    def ready(served: Served) -> None:
        console = _console(served)
        state_file.announce(console, options.state)
        announced.append(console)
        print("\n".join(_lines(served)), flush=True)

    try:
        with tempfile.TemporaryDirectory() as folder:
            await serve(Path(folder), options.port, ready, asyncio.Event())
    finally:
        for console in announced:
            state_file.withdraw(console, options.state)
    return True


def _console(served: Served) -> Console:
    return Console(
        url=served.url,
        door=served.door,
        database=str(served.handles.database),
        passwords={},
        tokens={"operator": served.token("operator", ACTOR)},
    )


def _lines(served: Served) -> Iterable[str]:
    yield f"console    {served.url}/devices"
    for person in served.handles.people:
        yield f"sign in    {person.name:<9} {person.password}    {person.role}"
    yield f"waiting    {served.url}/remit/confirmations    what agents have asked, for whoever may decide"
    yield ""
    yield "For an agent's client, for 8 hours; it reaches what the operator has open, and asks before it disables:"
    yield json.dumps(_client(served), indent=2)
    yield ""
    yield "A scripted agent, from another terminal, once the operator has signed in:  scripts/demo --agent"
    yield "Ctrl-C ends it, and all that was changed is forgotten."


def _client(served: Served) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {served.token('operator', _CLIENT)}"}
    return {"mcpServers": {_NAME: {"type": "http", "url": served.door, "headers": headers}}}
