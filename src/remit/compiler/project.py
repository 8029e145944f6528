"""`[tool.remit]` of a project's `pyproject.toml` (SPEC 13.1)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit._base.text import first_bad_inside
from remit._contract.durable import wrongly_set
from remit._contract.files import settings_of
from remit._contract.options import DERIVED, DOORS
from remit._model.pattern import Patterns
from remit.compiler.external import Approval, read_approvals
from remit.errors import CompileError, DefinitionError, Finding

PYPROJECT: Final = "pyproject.toml"
_KEYS: Final = ("both_planes", "entries", "exposure", "external", "keys", "policies", "state", "targets")
_EXAMPLE: Final = 'entries = ["app"]'


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Where a project is and what its owner set.

    `root` holds the `pyproject.toml`; `entries` are the modules that are read first; `policies` are the names every
    surface must have; `exposure` maps a door to the patterns of what it opens; `targets` maps the name of each of
    several builds to the entries it has besides; `external` are the dependencies that may add capabilities, with what
    was approved of each. With `warns_of_planes` a name may stand on both planes, and is told of (SPEC 2.7).
    """

    root: Path
    entries: tuple[str, ...]
    policies: tuple[str, ...]
    exposure: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, tuple[str, ...]]
    external: Mapping[str, Approval]
    warns_of_planes: bool = False

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders modules are looked for in: the root itself, and its `src` when there is one."""
        source = self.root / "src"
        return (self.root, source) if source.is_dir() else (self.root,)


def find_root(start: Path) -> Path:
    """The first folder from `start` upwards whose `pyproject.toml` holds `[tool.remit]`; CompileError without one.

    CompileError, too, for a `pyproject.toml` on the way that cannot be read: it may be the project that was meant.
    """
    folder = start.absolute()
    for each in (folder, *folder.parents):
        if _table_of(each / PYPROJECT, Path(os.path.relpath(each / PYPROJECT, folder)).as_posix()) is not None:
            return each
    raise CompileError(
        [
            Finding(
                found=f"no {PYPROJECT} with [tool.remit] here or above",
                write=f"[tool.remit] with {_EXAMPLE}; or: remit init",
            )
        ]
    )


def read_project(root: Path) -> Project:
    """Read the settings of a project; an unknown key or a value of another shape is a finding (CompileError)."""
    table = _table_of(root / PYPROJECT, PYPROJECT)
    if not isinstance(table, dict):
        found = "has no [tool.remit]" if table is None else "[tool.remit] is no table"
        raise CompileError([Finding(path=PYPROJECT, found=found, write=_EXAMPLE)])
    findings = [
        Finding(path=PYPROJECT, found=f"[tool.remit] has the unknown key {key!r}", write=f"one of {', '.join(_KEYS)}")
        for key in sorted(table)
        if key not in _KEYS
    ]
    entries = _names(findings, table, "entries")
    targets = _targets(findings, table)
    if not entries and not targets and not findings:
        findings.append(Finding(path=PYPROJECT, found="[tool.remit] names no entries", write=_EXAMPLE))
    exposure = _exposure(findings, table)
    policies = _names(findings, table, "policies")
    external = read_approvals(findings, table)
    warns = _warns_of_planes(findings, table)
    findings += [
        Finding(path=PYPROJECT, found=f"{name} is the path of a file", write=f'{name} = ".remit/…"')
        for name in wrongly_set(table)
    ]
    if findings:
        raise CompileError(findings)
    return Project(
        root=root,
        entries=entries,
        policies=policies,
        exposure=exposure,
        targets=targets,
        external=external,
        warns_of_planes=warns,
    )


def _table_of(pyproject: Path, shown: str) -> object | None:
    try:
        return settings_of(pyproject, shown)
    except DefinitionError as problem:
        raise CompileError([Finding(path=shown, found=problem.rule)]) from problem


def _warns_of_planes(findings: list[Finding], table: Mapping[str, object]) -> bool:
    value = table.get("both_planes", "refuse")
    if value not in ("refuse", "warn"):
        findings.append(
            Finding(
                path=PYPROJECT,
                found="both_planes says what becomes of a name on both planes: refuse, or warn",
                write='both_planes = "warn"',
            )
        )
    return value == "warn"


def _names(findings: list[Finding], table: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if isinstance(value, list) and all(isinstance(each, str) and each for each in value):
        if (bad := first_bad_inside(value)) is not None:
            findings.append(Finding(path=PYPROJECT, found=f"{key} holds the refused character {bad}"))
        return tuple(value)
    findings.append(Finding(path=PYPROJECT, found=f"{key} is no list of names", write=f'{key} = ["…"]'))
    return ()


def _targets(findings: list[Finding], table: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    value = table.get("targets", {})
    if not isinstance(value, dict):
        findings.append(Finding(path=PYPROJECT, found="targets is no table", write="[tool.remit.targets]"))
        return {}
    return {str(name): _names(findings, value, name) for name in sorted(value)}


def _exposure(findings: list[Finding], table: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    value = table.get("exposure", {})
    if not isinstance(value, dict):
        findings.append(Finding(path=PYPROJECT, found="exposure is no table", write="[tool.remit.exposure]"))
        return {}
    exposure = {str(door): _names(findings, value, door) for door in value}
    for door, texts in exposure.items():
        if door not in (*DOORS, DERIVED):
            write = f"one of {', '.join(DOORS)}, or {DERIVED}"
            findings.append(Finding(path=PYPROJECT, found=f"there is no door {door!r}", write=write))
        try:
            Patterns(texts)
        except DefinitionError as problem:
            findings.append(
                Finding(path=PYPROJECT, found=f"{door}: {problem.subject}: {problem.rule}", write='"view:devices.**"')
            )
    return exposure
