"""The demonstration's command line."""

from __future__ import annotations

import argparse
import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, cast

from demo.state_file import STATE_FILE
from demo.telling import CannotRun

# What a form does not need is not imported: the check in process runs without browser, NiceGUI and MCP client.
_FORMS: Final = {
    "serve": "demo.serve",
    "agent": "demo.visit",
    "in-process": "demo.in_process",
    "chromium": "demo.full_check",
}


class Form(Protocol):
    """A module that is one form of the demonstration."""

    async def run(self, options: argparse.Namespace) -> bool:
        """Run it; False when something was not as it must be."""
        ...


def main(arguments: Sequence[str]) -> int:
    """Run the form that is asked for; 0, or 1 when a step was red. What cannot be run ends as wrong options do."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.check:
        form = "in-process" if options.in_process else "chromium"
    else:
        form = "agent" if options.agent else "serve"
    module = cast("Form", importlib.import_module(_FORMS[form]))
    try:
        return 0 if asyncio.run(module.run(options)) else 1
    except KeyboardInterrupt:
        return 0
    except CannotRun as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="A device console that an agent may work, within its remit; served until Ctrl-C.",
        allow_abbrev=False,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--agent", action="store_true", help="let a scripted agent work the console that is being served")
    what.add_argument("--check", action="store_true", help="do it all without a person, and check every step")
    parser.add_argument("--in-process", action="store_true", help="with --check: no browser, no network door")
    parser.add_argument("--until", metavar="STEP", help="with --check: stop after this step")
    parser.add_argument("--state", type=Path, default=STATE_FILE, help="where the console says that it is served")
    parser.add_argument("--port", type=int, default=8080, help="where to serve the console (default: %(default)s)")
    return parser
