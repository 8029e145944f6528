"""Dependencies that declare capabilities: read only when approved, by name and digest (SPEC 13.5)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit._base.boundary import Json
from remit._contract.distribution import Distribution, installed, normal_name
from remit._contract.external import ExternalRecord, digest_of
from remit.errors import CompileError, Finding

_PYPROJECT: Final = "pyproject.toml"
TABLE: Final = "[tool.remit.external]"
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_EXAMPLE: Final = 'some-plugin = "sha256:…", as the compiler prints it'


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What an owner approved of one distribution; without `files` the digest is over its rows alone."""

    digest: str
    files: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One distribution as the import pass met it.

    `components` are the types it declares, `extends` those that build upon its classes; `files` is the digest of its
    files, None where they are not fixed.
    """

    name: str
    version: str
    components: tuple[str, ...]
    extends: tuple[str, ...]
    files: str | None


def read_approvals(findings: list[Finding], table: Mapping[str, object]) -> dict[str, Approval]:
    """The approvals of `[tool.remit.external]`; one that cannot be read is a finding."""
    value = table.get("external", {})
    if not isinstance(value, dict):
        findings.append(Finding(path=_PYPROJECT, found="external is no table", write=f"{TABLE}  {_EXAMPLE}"))
        return {}
    found: dict[str, Approval] = {}
    for written, told in value.items():
        name, approval = normal_name(str(written)), _approval(told)
        if approval is None or not _NAME.fullmatch(str(written)):
            findings.append(
                Finding(path=_PYPROJECT, found=f"{TABLE} {written!r} is no approval", write=f"{TABLE}  {_EXAMPLE}")
            )
        elif name in found:
            findings.append(Finding(path=_PYPROJECT, found=f"{TABLE} approves {name} twice", write="one of the two"))
        else:
            found[name] = approval
    return found


def _approval(told: object) -> Approval | None:
    match told:
        case str(digest):
            files = True
        case {"digest": str(digest), **nothing} if not nothing:
            files = True
        case {"digest": str(digest), "files": bool(files), **nothing} if not nothing:
            pass
        case _:
            return None
    return Approval(digest=digest, files=files) if _DIGEST.fullmatch(digest) else None


class Outside:
    """Where the static pass finds the modules of approved distributions, and what their files are called."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        every = [installed(name) for name in sorted(names)]
        self._distributions = [each for each in every if each is not None]

    def locate(self, module: str) -> tuple[Path, bool] | None:
        """The file of a module, and whether it is a package."""
        relative = module.replace(".", "/")
        for each in self._distributions:
            for start in ("", "src/") if each.editable else ("",):
                for path, package in ((f"{start}{relative}/__init__.py", True), (f"{start}{relative}.py", False)):
                    if path in each.files or (each.editable and (each.folder / path).is_file()):
                        return each.folder / path, package
        return None

    def shown(self, file: Path) -> str | None:
        """`some-plugin:some_plugin/table.py`; None for a file that belongs to none of them."""
        return next((shown(each, path) for each in self._distributions if (path := each.path_of(file))), None)


def shown(distribution: Distribution, path: str) -> str:
    """How a file of a distribution is called in findings and places: no path of this machine is in it."""
    return f"{distribution.name}:{path}"


def judge(
    foreigns: Iterable[Foreign],
    approvals: Mapping[str, Approval],
    *,
    components: Iterable[Mapping[str, Json]],
    capabilities: Iterable[Mapping[str, Json]],
) -> list[ExternalRecord]:
    """What the contract records of each distribution that adds something; CompileError unless all are approved.

    What was never approved and what changed since are different findings: one has the line to add, the other both
    digests.
    """
    components, capabilities = list(components), list(capabilities)
    findings: list[Finding] = []
    records: list[ExternalRecord] = []
    for each in foreigns:
        approval = approvals.get(each.name)
        # What is never fixed cannot be approved with its files; so the line to add leaves them out.
        files = each.files if approval is None or approval.files else None
        digest = digest_of(each.name, each.components, files, components=components, capabilities=capabilities)
        finding = _finding(each, approval, digest)
        if finding is not None or approval is None:
            findings += [] if finding is None else [finding]
            continue
        records.append(
            ExternalRecord(
                name=each.name,
                version=each.version if files is not None else None,
                components=each.components,
                extends=each.extends,
                files=files,
                digest=digest,
                approved=approval.digest,
            )
        )
    if findings:
        raise CompileError(findings)
    return records


def _finding(each: Foreign, approval: Approval | None, digest: str) -> Finding | None:
    if approval is None:
        adds = ", ".join(each.components) or f"what {', '.join(each.extends)} inherits"
        return Finding(
            path=_PYPROJECT,
            found=f"the dependency {each.name} {each.version} adds {adds}, and is not approved",
            write=f"{TABLE}  {_line(each.name, digest, each.files is not None)}",
        )
    if approval.files and each.files is None:
        return Finding(
            path=_PYPROJECT,
            found=f"the files of the dependency {each.name} are not fixed: it is installed from an editable source",
            write=f"{TABLE}  {_line(each.name, digest, False)}   (its rows alone), or install it",
        )
    if approval.digest != digest:
        return Finding(
            path=_PYPROJECT,
            found=f"the dependency {each.name} {each.version} changed: approved {approval.digest}, computed {digest}",
            write=f"after a review  {TABLE}  {_line(each.name, digest, approval.files)}",
        )
    return None


def _line(name: str, digest: str, files: bool) -> str:
    return f'{name} = "{digest}"' if files else f'{name} = {{ digest = "{digest}", files = false }}'
