"""What `remit doctor` looks at. A check says that all is well, or what is not, why that matters, and what to do."""

import ast
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from remit._contract.authority import COMPILING
from remit._contract.development import HANDED, PRODUCTION, is_production
from remit._contract.durable import durable_of
from remit._contract.files import contract_at
from remit._contract.manifest import FILE_NAME, Manifest
from remit._contract.options import DERIVED
from remit._model.consumer import IN_PROCESS_DOORS
from remit._model.pattern import Patterns
from remit._session.keys_file import NEW, read_keys
from remit.cli.diagnosis import Diagnosis, well
from remit.cli.report import counts
from remit.compiler import Compiled, Drift, Project, drift
from remit.compiler.drift import opened
from remit.compiler.graph import External, Graph
from remit.errors import DefinitionError, Finding

_STRIPPED: Final = 2
_GIT_S: Final = 30
_GATEWAY: Final = "remit.gateway.Gateway"
_EXPOSURE: Final = "pyproject.toml [tool.remit.exposure]"
_NEEDED: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "remit.gateway": (("mcp", "starlette", "uvicorn", "jwt", "jinja2"), "mcp"),
    "remit.integrations.asgi": (("starlette", "uvicorn"), "gateway"),
    "remit.integrations.nicegui": (("nicegui",), "nicegui"),
}
_PIPELINES: Final = (".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", "azure-pipelines.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call in the sources of a project: where it stands, and the keywords it was given."""

    place: str
    keywords: frozenset[str]


def environment() -> Iterator[Diagnosis]:
    """The interpreter and the variables that mean something."""
    try:
        own = version("remit")
    except PackageNotFoundError:
        own = "from its source"
    if sys.flags.optimize >= _STRIPPED:
        yield Diagnosis(
            check="python",
            ok=False,
            what="Python runs with -OO",
            why="it drops docstrings, which are what agents read",
            do="run without -OO and PYTHONOPTIMIZE",
        )
    else:
        yield well("python", f"Python {'.'.join(map(str, sys.version_info[:3]))}, remit {own}")
    odd = list(_odd_variables())
    yield from odd
    if not odd:
        yield well("variables", "REMIT_ENV=production" if is_production() else "REMIT_ENV is not production")


def _odd_variables() -> Iterator[Diagnosis]:
    said = os.environ.get("REMIT_ENV", "")
    if said.strip().lower().startswith("prod") and not is_production():
        yield Diagnosis(
            check="variables",
            ok=False,
            what=f"REMIT_ENV is {said[:40]!r}",
            why="only the word production counts, so nothing is refused here",
            do=f"REMIT_ENV={PRODUCTION}",
        )
    for name, why in (
        (COMPILING, "every authority stays pending: no surface can be made"),
        (HANDED, "a program takes its contract from a remit dev, or does not start"),
    ):
        if os.environ.get(name):
            yield Diagnosis(check="variables", ok=False, what=f"{name} is set", why=why, do=f"unset {name}")


def packages(graph: Graph) -> Iterator[Diagnosis]:
    """The extras that the sources need."""
    imported = {name for source in graph.modules.values() for name in source.imports}
    for module, (needed, extra) in _NEEDED.items():
        if module not in imported:
            continue
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            yield Diagnosis(
                check="packages",
                ok=False,
                what=f"{module} is imported, and {', '.join(missing)} is not installed",
                why=f"this environment lacks the extra {extra}",
                do=f'pip install "remit[{extra}]"',
            )
        else:
            yield well("packages", f"{module} has what it needs")


def unsettled(findings: tuple[Finding, ...], check: str) -> Iterator[Diagnosis]:
    """What the compiler found: nothing can be served of it."""
    for each in findings:
        where = each.path if each.line is None else f"{each.path}:{each.line}"
        do = None if each.write is None else f"write  {each.write}"
        yield Diagnosis(check=check, ok=False, where=where, what=each.found, do=do)


def contract(root: Path, compiled: Compiled) -> Iterator[Diagnosis]:
    """Is the reviewed file there, whole, that of the source, and committed?"""
    try:
        recorded = contract_at(root / FILE_NAME)
    except DefinitionError as problem:
        yield Diagnosis(check="contract", ok=False, where=FILE_NAME, what=problem.rule, do=problem.do)
        return
    if recorded is None:
        yield Diagnosis(
            check="contract",
            ok=False,
            what=f"there is no {FILE_NAME}",
            why="a program loads it, and a reviewer reads it",
            do="remit compile; review; commit     (while writing: remit dev -- COMMAND)",
        )
        return
    if recorded.hash == compiled.manifest.hash:
        yield well("contract", f"{FILE_NAME} equals the source: {counts(compiled.manifest)}")
    else:
        found = drift(recorded, compiled.manifest, compiled.places)
        told = ", ".join(f"{found.count(each)} {each}" for each in Drift if found.count(each))
        yield Diagnosis(
            check="contract",
            ok=False,
            where=FILE_NAME,
            what=f"does not equal the source: {told}",
            why="what differs from it is not mounted",
            do="remit check; remit compile; review; commit",
        )
    if _untracked(root):
        yield Diagnosis(
            check="contract",
            ok=False,
            where=FILE_NAME,
            what="is not committed",
            why="no reviewer sees it, and nothing is deployed with it",
            do=f"git add {FILE_NAME}",
        )


def _untracked(root: Path) -> bool:
    try:
        ran = subprocess.run(
            ("git", "-C", str(root), "ls-files", "--", FILE_NAME), capture_output=True, check=False, timeout=_GIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0 and not ran.stdout


def doors(project: Project, manifest: Manifest, *, served: bool) -> Iterator[Diagnosis]:
    """What the site opens: patterns that open nothing, and a door that nothing passes."""
    derived = [str(each["id"]) for each in manifest.capabilities.values() if each.get("source") == DERIVED]
    yield from _matching_nothing(DERIVED, project.exposure.get(DERIVED, ()), derived)
    named = {*project.exposure} - {*IN_PROCESS_DOORS, DERIVED}
    # A site that names one door has decided about the others; one that serves, and names none, has most likely not.
    network = sorted(named or ({"mcp"} if served else ()))
    total = len(manifest.capabilities)
    for door in network:
        yield from _matching_nothing(door, project.exposure.get(door, ()), [id for _, id in manifest.capabilities])
        passing = sum(door in opened(manifest, block) for block in manifest.capabilities.values())
        what = f"{door}: {passing} of {total} {'capability is' if total == 1 else 'capabilities are'} exposed"
        if passing or not total:
            yield well("doors", what)
        else:
            yield Diagnosis(
                check="doors",
                ok=False,
                what=what,
                why="nothing reaches a network door unless it is listed",
                do=f'add to [tool.remit.exposure]:  {door} = ["{_suggested(manifest)}"]',
            )


def _matching_nothing(door: str, texts: Iterable[str], ids: Collection[str]) -> Iterator[Diagnosis]:
    for text in texts:
        if not any(id in Patterns([text]) for id in ids):
            yield Diagnosis(
                check="doors",
                ok=False,
                where=_EXPOSURE,
                what=f"{door}: {text} matches nothing",
                why="it opens what will once have that name, unread",
                do="remove it, or correct it",
            )


def _suggested(manifest: Manifest) -> str:
    first = sorted(manifest.components)[0].split(".")
    return f"view:{first[0]}.**" if len(first) > 1 else f"view:{first[0]}.*"


def gateways(graph: Graph) -> list[Called]:
    """Every place where the sources make a gateway."""
    return [
        Called(place=f"{source.path}:{node.lineno}", keywords=frozenset(each.arg for each in node.keywords if each.arg))
        for source in graph.modules.values()
        for node, scope in source.nodes
        if isinstance(node, ast.Call)
        and isinstance(target := graph.resolve(scope, node.func), External)
        and target.name == _GATEWAY
    ]


def keys(made: list[Called], root: Path) -> Iterator[Diagnosis]:
    """What a gateway needs in production; elsewhere a key of its own process is what it should have."""
    kept = durable_of(root)
    for each in made:
        if "keys" not in each.keywords and "store" not in each.keywords and kept is not None:
            yield _keys_file(kept.keys, each.place)
        elif "keys" in each.keywords or not is_production():
            yield well("keys", f"{each.place}  {'keys= is given' if 'keys' in each.keywords else 'a key per process'}")
        else:
            yield Diagnosis(
                check="keys",
                ok=False,
                where=each.place,
                what="Gateway(…) has no keys=",
                why="tokens end with the process, and another worker refuses them",
                do='Gateway(…, keys=Keys("k1", {"k1": …}))',
            )
        if is_production() and "allowed_hosts" not in each.keywords:
            yield Diagnosis(
                check="hosts",
                ok=False,
                where=each.place,
                what="Gateway(…) has no allowed_hosts=",
                why="it answers to localhost only, and refuses the site's own name",
                do='Gateway(…, allowed_hosts=["app.example"])',
            )


def _keys_file(file: Path, place: str) -> Diagnosis:
    """The file that such a gateway reads when it starts."""
    try:
        found = read_keys(file)
    except (OSError, ValueError) as problem:
        what, _, do = str(problem).partition("\n  do  ")
        return Diagnosis(check="keys", ok=False, where=place, what=what, why="the program will not start", do=do)
    if is_production() and (found is None or found.development):
        what = f"there is no {file.name}" if found is None else f"{file.name} was made for development"
        return Diagnosis(check="keys", ok=False, where=place, what=what, why="the program will not start", do=NEW)
    return well("keys", f"{place}  {file.name if found else f'a development key in {file.name}, made at start'}")


def pipeline(root: Path) -> Iterator[Diagnosis]:
    """Does what runs on a pull request hold the contract against the source?"""
    files = [file for pattern in _PIPELINES for file in sorted(root.glob(pattern))]
    if not files:
        return
    if any("remit check" in file.read_text(encoding="utf-8", errors="replace") for file in files):
        yield well("pipeline", "runs remit check")
    else:
        yield Diagnosis(
            check="pipeline",
            ok=False,
            where=files[0].relative_to(root).as_posix(),
            what="does not run remit check",
            why="a pull request could widen the contract unseen",
            do='add  - run: remit check --base "origin/<its base branch>"',
        )
