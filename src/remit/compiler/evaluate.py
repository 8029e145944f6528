"""The import pass: a child process imports the entries and derives what they declare (SPEC 13.3)."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from remit._contract.authority import COMPILING
from remit._contract.operation import record_from_json
from remit.compiler.backends import met_from_json
from remit.compiler.declared import DeclaredCapability, DeclaredComponent
from remit.compiler.external import Foreign
from remit.compiler.extract import Extraction
from remit.compiler.graph import Graph
from remit.compiler.live import Evaluated
from remit.compiler.project import Project
from remit.errors import Finding

TIME_LIMIT_S: Final = 60.0
# Starting the child counts too, and a busy machine is slow at it.
_GRACE_S: Final = 30.0
_TAIL: Final = 400
# Where Python and shared libraries are found, and how text is written; nothing a program could take for a secret.
_PASSED_ON: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV", "TZ")


def evaluate(
    project: Project, graph: Graph, extraction: Extraction, *, limit_s: float = TIME_LIMIT_S, trying: bool = False
) -> Evaluated:
    """Import the entries in a child and return what they declare; what went wrong is in its findings.

    The child has an allow-listed environment, an empty home, a temporary working directory, a fixed hash seed and,
    where the system allows it, no network. Its output is captured; past `limit_s` seconds it is ended. With `trying` it
    tries a reference to each operation that a backend offers.
    """
    with tempfile.TemporaryDirectory(prefix="remit-compile-") as name:
        folder = Path(name)
        answer, request = folder / "answer.json", folder / "request.json"
        home = folder / "home"
        home.mkdir()
        form = {
            "answer": str(answer),
            "roots": [str(root) for root in project.roots],
            "entries": list(project.entries),
            "homes": [source.name for source in extraction.homes],
            "outside": [str(file) for module, file in graph.files.items() if module in graph.foreign],
            "files": {str(file): graph.modules[module].path for module, file in graph.files.items()},
            "limit": limit_s,
            "trying": trying,
        }
        request.write_text(json.dumps(form), encoding="utf-8")
        code, output = _run(request, home, limit_s + _GRACE_S)
        if not answer.is_file():
            tail = " ".join(output.split())[-_TAIL:]
            return Evaluated(
                findings=[Finding(found=f"the import pass ended without an answer (exit code {code}) {tail}".rstrip())]
            )
        return _read(json.loads(answer.read_bytes()))


def _run(request: Path, home: Path, limit_s: float) -> tuple[int | None, str]:
    with (home.parent / "output").open("w+b") as output:
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", "-m", "remit.compiler.child", str(request)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=_environment(os.environ, home),
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = None
        _end_group(process.pid)
        output.seek(0)
        return code, output.read().decode("utf-8", "replace")


def _end_group(leader: int) -> None:
    """End what the imported program started and left behind; the child led a group of its own."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _environment(given: Mapping[str, str], home: Path) -> dict[str, str]:
    passed = {name: given[name] for name in _PASSED_ON if name in given}
    return {
        **passed,
        COMPILING: "1",
        "HOME": str(home),
        "USERPROFILE": str(home),
        "TMPDIR": str(home),
        "TEMP": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _read(form: Mapping[str, Any]) -> Evaluated:
    return Evaluated(
        components=[_component(each) for each in form["components"]],
        component_blocks=list(form["component_blocks"]),
        capability_blocks=list(form["capability_blocks"]),
        operations={each["name"]: record_from_json(each) for each in form["operations"]},
        backends=[met_from_json(each) for each in form["backends"]],
        external=[
            Foreign(**{**each, "components": tuple(each["components"]), "extends": tuple(each["extends"])})
            for each in form["external"]
        ],
        findings=[Finding(**each) for each in form["findings"]],
    )


def _component(form: Mapping[str, Any]) -> DeclaredComponent:
    capabilities = {
        attribute: DeclaredCapability(**{**each, "parameters": tuple(each["parameters"])})
        for attribute, each in form["capabilities"].items()
    }
    return DeclaredComponent(**{**form, "capabilities": capabilities})
