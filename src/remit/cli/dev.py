"""`remit dev`: run a program with a contract of the source as it is now (SPEC 13.7)."""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import click

from remit._contract.development import HANDED, is_production
from remit._contract.files import contract_at
from remit._contract.manifest import FILE_NAME
from remit.cli.development.child import Child
from remit.cli.development.handing import handing_out
from remit.cli.development.kept import Kept
from remit.cli.development.lines import Lines
from remit.cli.development.watching import look
from remit.cli.project import COULD_NOT_RUN, could_not_run, project_option
from remit.compiler import Drifted, drift, find_root
from remit.errors import CompileError, DefinitionError, Finding

_LOOK_S: Final = 0.25
# A large tree is looked at less often: at most a tenth of the time goes into looking.
_SHARE: Final = 10
_DOOR: Final = "/remit/mcp"


@click.command(context_settings={"allow_interspersed_args": False})
@project_option
@click.option("--restart", is_flag=True, help="Start COMMAND anew when a module changes; for one that does not itself.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def dev(start: Path, restart: bool, command: tuple[str, ...]) -> None:
    """Run COMMAND with a development contract, compiled at its start and whenever it loads one again.

    Write `remit dev -- python app.py`. Each change of the source is told with its class. The contract lives in memory:
    remit.contract.json is neither read for the program nor written. Refused with REMIT_ENV=production; a gateway that
    was handed one answers this machine only. The exit code is that of COMMAND, or 2 when it could not be run.
    """
    _refuse()
    try:
        root = find_root(start)
        lines = Lines()
        kept = Kept(root, lambda told: _tell(lines, told))
    except CompileError as problem:
        could_not_run(problem.findings)
    lines.contract(kept.compiled.manifest)
    _tell_since_committed(lines, root, kept)
    with tempfile.TemporaryDirectory(prefix="remit-dev-") as folder:
        address = Path(folder) / "contract"
        child = Child(command, {**os.environ, HANDED: str(address)})
        watch = threading.Thread(target=_watch, args=(root, kept, child if restart else None), daemon=True)
        with handing_out(address, root, lambda: kept.current().to_bytes(), lambda url: _serving(lines, url)):
            watch.start()
            try:
                code = child.run()
            except OSError as problem:
                could_not_run([Finding(found=f"{command[0]} cannot be started: {problem.strerror}")])
    sys.exit(code)


def _refuse() -> None:
    if is_production():
        click.echo(
            "remit dev is refused with REMIT_ENV=production\n"
            "  why  a development contract is reviewed by nobody        do  remit compile; review; commit; start the "
            "program itself",
            err=True,
        )
        sys.exit(COULD_NOT_RUN)
    if os.name != "posix":
        could_not_run([Finding(found="remit dev needs process groups and local sockets, as Linux and macOS have them")])


def _tell(lines: Lines, told: Drifted | CompileError) -> None:
    if isinstance(told, CompileError):
        lines.findings(told)
    else:
        lines.changes(told)


def _tell_since_committed(lines: Lines, root: Path, kept: Kept) -> None:
    """What the next `remit compile` would change, where there is a contract to change."""
    try:
        recorded = contract_at(root / FILE_NAME)
    except DefinitionError as problem:
        lines.say("committed", f"{problem.subject} {problem.rule}")
        return
    if recorded is not None:
        lines.changes(drift(recorded, kept.compiled.manifest, kept.compiled.places))


def _serving(lines: Lines, url: str) -> None:
    lines.say("agents", f"{url}{_DOOR}      the MCP door; a client brings a token of `gateway.delegate(…)`")


def _watch(root: Path, kept: Kept, child: Child | None) -> None:
    """Tell of changes when they are saved; a restarted child asks for its contract by itself."""
    code = kept.seen.code
    while True:
        begun = time.monotonic()
        seen = look(root)
        time.sleep(max(_LOOK_S, _SHARE * (time.monotonic() - begun)))
        # Half of a change is no change: an editor may be writing several files.
        if (seen == kept.seen and seen.code == code) or look(root) != seen:
            continue
        kept.current()
        if child is not None and not kept.fails and seen.code != code:
            child.restart()
        code = seen.code if not kept.fails else code
