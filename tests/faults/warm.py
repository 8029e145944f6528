"""A process that has imported what every run of tests imports and forks one for each run.

What is under test, and the tests themselves, are imported in the fork alone; so the runs may be over different sources.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType

import httpx2
import hypothesis
import jsonschema_rs
import jwt
import mcp.server.auth.middleware.bearer_auth
import orjson
import playwright.sync_api
import pydantic.json_schema
import pydantic.type_adapter
import pytest
import starlette.applications
import uvicorn

WARM = (
    httpx2,
    hypothesis,
    jsonschema_rs,
    jwt,
    mcp.server.auth.middleware.bearer_auth,
    orjson,
    playwright.sync_api,
    pydantic.json_schema,
    pydantic.type_adapter,
    starlette.applications,
    uvicorn,
)
"""Imported for their own sake: most of the time in which a run comes up."""

KNOWN = "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"

PYTEST = "pytest:main"


class Warm:
    """Runs pytest, or another entry, in forks of one warm process, which ends with this context."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-m", "tests.faults.warm"]
        self._process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Warm":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], *, entry: str = PYTEST
    ) -> tuple[int, str]:
        """The status of the entry over the sources in `folder`, and what it said."""
        said = folder / "said.txt"
        order = {
            "entry": entry,
            "arguments": [*arguments, "-W", KNOWN] if entry == PYTEST else [*arguments],
            "sources": str(folder / "src"),
            "said": str(said),
            "env": {**env},
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        return status, said.read_text(encoding="utf-8", errors="replace")


def _forked(entry: str, arguments: list[str], sources: str, said: str, env: dict[str, str]) -> int:
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.path.insert(0, sources)
    os.environ.update(env, PYTHONPATH=sources)
    try:
        return int(resolve_name(entry)(arguments))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001 - the edge of the fork: nothing above it may go on in two processes
        traceback.print_exc()
        return int(pytest.ExitCode.INTERNAL_ERROR)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def main() -> None:
    """Fork once for each line that comes in; answer with the status."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_forked(**json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
