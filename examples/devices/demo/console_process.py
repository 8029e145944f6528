"""Starts the console as a process of its own, and is that process.

What the parent must know, passwords and tokens among it, travels through pipes: arguments and the environment may be
read by others on the machine. The child ends when its standard input does, so it never outlives its parent.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ACTOR: Final = "scripted-agent"
_ROOT: Final = Path(__file__).resolve().parent.parent
_START_S: Final = 60.0
_STOP_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """A console that answers: its page, its door, its database file, and by account a password and an agent's token."""

    url: str
    door: str
    database: str
    passwords: Mapping[str, str]
    tokens: Mapping[str, str]

    def to_line(self) -> str:
        """Write it as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str | bytes) -> Console:
        """Read what `to_line` wrote."""
        return cls(**json.loads(line))


class ConsoleNotStarted(Exception):
    """The console ended, or said nothing, before it was ready; its own words are on standard error."""


@asynccontextmanager
async def running_console() -> AsyncIterator[Console]:
    """Run the console on a free port, with data of its own, inside the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "demo.served",
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        try:
            async with asyncio.timeout(_START_S):
                line = await process.stdout.readline()
        except TimeoutError:
            raise ConsoleNotStarted(f"it was not ready after {_START_S:g} s") from None
        if not line:
            raise ConsoleNotStarted(f"it ended with status {await process.wait()}")
        yield Console.from_line(line)
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
