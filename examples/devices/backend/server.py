"""Start and stop the backend as a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.settings import BackendSettings, format_settings

_IMPORT_ROOT = Path(__file__).parent.parent


class BackendNotStarted(Exception):
    """The backend's process ended, or said nothing, before it was ready. Its own words are on standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningBackend:
    """A backend that answers at `base_url`, in the process `pid`."""

    base_url: str
    pid: int


@asynccontextmanager
async def running_backend(settings: BackendSettings, *, start_timeout: float = 20.0) -> AsyncIterator[RunningBackend]:
    """Serve the database on a free loopback port inside the block.

    It answers when the block begins and its process has ended when the block is left. Should this process die first,
    the backend ends by itself. `BackendNotStarted` when it is not ready within `start_timeout` seconds.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "backend",
        cwd=_IMPORT_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        # Ctrl-C in a terminal reaches the whole group, and the backend must outlive those who still use it.
        start_new_session=True,
    )
    try:
        port = await _port(process, settings, start_timeout)
        yield RunningBackend(base_url=f"http://127.0.0.1:{port}", pid=process.pid)
    finally:
        await _stop(process)


async def _port(process: asyncio.subprocess.Process, settings: BackendSettings, start_timeout: float) -> int:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(format_settings(settings))
    try:
        async with asyncio.timeout(start_timeout):
            line = await process.stdout.readline()
    except TimeoutError:
        raise BackendNotStarted(f"not ready after {start_timeout:g} s") from None
    if not line:
        raise BackendNotStarted(f"the process ended with status {await process.wait()}")
    port: int = json.loads(line)["port"]
    return port


async def _stop(process: asyncio.subprocess.Process, patience: float = 5.0) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(patience):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
