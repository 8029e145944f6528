"""The compiler's child process: imports the entries of one project and says what they declare (SPEC 13.3).

Run as `python -m remit.compiler.child REQUEST`; the answer goes to the file the request names.
"""

import ctypes
import importlib
import json
import os
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from remit.compiler.foreign import meet
from remit.compiler.live import Evaluated, Reach, evaluate_loaded, of_exception, resolved
from remit.compiler.writes import write_only_below
from remit.errors import Finding

_NEW_USER: Final = 0x10000000
_NEW_NET: Final = 0x40000000
_FRAMES: Final = 20_000
LATE: Final = 3
_GUARD: Final = 'the call that does not return under `if __name__ in {"__main__", "__mp_main__"}:`'


def main(request_file: str) -> None:
    """Answer one request; ends the process whatever threads the imported program left running."""
    request: dict[str, Any] = json.loads(Path(request_file).read_bytes())
    reach = Reach(
        files={Path(file): path for file, path in request["files"].items()},
        roots=tuple(Path(root) for root in request["roots"]),
        strict=True,
    )
    answer = Path(request["answer"])
    sys.argv[:] = ["remit-compile"]
    sys.path[:0] = request["roots"]
    # A chain of imports costs about eight frames a module.
    sys.setrecursionlimit(_FRAMES)
    _leave_network()
    write_only_below(str(answer.parent))
    watchdog = threading.Timer(request["limit"], _late, (answer, reach, threading.get_ident()))
    watchdog.daemon = True
    watchdog.start()
    failed = _import_all([*request["entries"], *request["homes"]], reach)
    evaluated = (
        Evaluated(findings=[failed]) if failed is not None else _evaluate(reach, request["outside"], request["trying"])
    )
    watchdog.cancel()
    _answer(answer, evaluated)
    sys.stdout.flush()
    os._exit(0)


def _evaluate(reach: Reach, outside: list[str], trying: bool) -> Evaluated:
    met = meet(reach, frozenset(Path(file) for file in outside))
    evaluated = evaluate_loaded(met.reach, trying=trying)
    evaluated.external = met.foreigns
    evaluated.findings = [*met.findings, *evaluated.findings]
    return evaluated


def _import_all(names: list[str], reach: Reach) -> Finding | None:
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as problem:  # noqa: BLE001 - the imported program may raise anything, SystemExit included
            return of_exception(problem, reach, name)
    return None


def _leave_network() -> None:
    """Give up the network where the system lets us; a program that cannot be imported without it says so itself."""
    if not sys.platform.startswith("linux"):
        return
    try:
        library = ctypes.CDLL(None)
        if library.unshare(_NEW_NET) != 0:
            library.unshare(_NEW_NET | _NEW_USER)
    except (OSError, AttributeError):
        return


def _late(answer: Path, reach: Reach, main_thread: int) -> None:
    frame = sys._current_frames().get(main_thread)
    finding = Finding(found="the import was still running at the time limit", write=_GUARD)
    while frame is not None:
        path = reach.files.get(resolved(frame.f_code.co_filename))
        if path is not None:
            finding = Finding(path=path, line=frame.f_lineno, found=finding.found, write=finding.write)
            break
        frame = frame.f_back
    _answer(answer, Evaluated(findings=[finding]))
    os._exit(LATE)


def _answer(file: Path, evaluated: Evaluated) -> None:
    form = {
        "components": [asdict(each) for each in evaluated.components],
        "component_blocks": evaluated.component_blocks,
        "capability_blocks": evaluated.capability_blocks,
        "operations": [each.to_json() for _, each in sorted(evaluated.operations.items())],
        "backends": [asdict(each) for each in evaluated.backends],
        "external": [asdict(each) for each in evaluated.external],
        "findings": [asdict(each) for each in evaluated.findings],
    }
    # Written beside and renamed: the parent never reads half an answer.
    half = file.with_suffix(".half")
    half.write_text(json.dumps(form, default=repr), encoding="utf-8")
    half.replace(file)


if __name__ == "__main__":
    main(sys.argv[1])
