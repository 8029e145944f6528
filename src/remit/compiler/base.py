"""The contract of another revision, read from git; no old code is imported (SPEC 13.3)."""

import subprocess
from pathlib import Path
from typing import Final

from remit._contract.manifest import FILE_NAME, Manifest, parse
from remit.errors import CompileError, DefinitionError, Finding

_TIME_LIMIT_S: Final = 30


def manifest_at(root: Path, revision: str, *, or_file: bool = False) -> Manifest | None:
    """The contract as committed at a revision of the repository that holds `root`; None where it was not there yet.

    CompileError when there is no git, no repository or no such revision, and when what stands there is no contract.
    `or_file` says that the name might have been one of a file, too, and is none.
    """
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit.returncode != 0:
        inside = _git(root, "rev-parse", "--is-inside-work-tree").returncode == 0
        raise _unknown(revision, or_file) if inside else _cannot("this is no git repository", None)
    name = commit.stdout.decode("ascii").strip()
    listed = _git(root, "ls-tree", "--name-only", name, "--", f"./{FILE_NAME}")
    if listed.returncode != 0 or not listed.stdout:
        return None
    shown = _git(root, "show", f"{name}:./{FILE_NAME}")
    if shown.returncode != 0:
        raise _cannot(f"{FILE_NAME} of {revision} cannot be read", None)
    try:
        return parse(shown.stdout, subject=f"{FILE_NAME} of {revision}")
    except DefinitionError as problem:
        raise _cannot(f"{problem.subject} {problem.rule}", "give a base whose contract this version reads") from problem


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ("git", "-C", str(root), *arguments), capture_output=True, check=False, timeout=_TIME_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise _cannot(f"git cannot be run: {type(problem).__name__}", None) from problem


def _unknown(revision: str, or_file: bool) -> CompileError:
    found = f"{revision!r} is neither a file nor a revision" if or_file else f"git knows no revision {revision!r}"
    branch = revision.removeprefix("origin/")
    fetch = f"fetch it first: git fetch origin {branch}" if branch and branch != revision else None
    return _cannot(f"{found} here", fetch)


def _cannot(found: str, write: str | None) -> CompileError:
    return CompileError([Finding(found=found, write=write)])
