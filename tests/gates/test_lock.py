"""The lock holds what the project declares, each with hashes, and says nothing of where it comes from."""

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)")


def declared(project: dict[str, Any]) -> list[Requirement]:
    """Every requirement of the package, its extras and the development group; the project's own extras aside."""
    lines: list[str] = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    for extra in project["project"]["optional-dependencies"].values():
        lines += extra
    requirements = [Requirement(line) for line in lines]
    return [each for each in requirements if canonicalize_name(each.name) != project["project"]["name"]]


def faults(project: dict[str, Any], lock: str) -> list[str]:
    """What the lock lacks, and what does not belong in it."""
    found: list[str] = []
    pins: dict[str, list[str]] = {}
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        pin = PIN.match(entry)
        if pin is None:
            found.append(f"not a pin: {entry.splitlines()[0]}")
            continue
        pins.setdefault(canonicalize_name(pin[1]), []).append(pin[2])
        if "--hash=sha256:" not in entry:
            found.append(f"{pin[1]}: no hash")
    for requirement in declared(project):
        versions = pins.get(canonicalize_name(requirement.name), [])
        if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
            found.append(f"{requirement}: locked {', '.join(versions) or 'nowhere'}; run scripts/lock")
    return found


def test_the_lock_holds_what_the_project_declares(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert faults(project, (root / "requirements.lock").read_text(encoding="utf-8")) == []


def test_the_gate_sees_a_stale_lock_a_missing_hash_and_an_index() -> None:
    project = {
        "project": {
            "name": "remit",
            "dependencies": ["orjson>=3.10", "click>=8"],
            "optional-dependencies": {"all": ["remit[mcp]"], "mcp": ["PyJWT[crypto]>=2.10"]},
        },
        "dependency-groups": {"dev": ["pytest>=9"]},
    }
    lock = (
        "--index-url somewhere\nclick==8.5.1 \\\n    --hash=sha256:00\norjson==3.9.0 \\\n    --hash=sha256:00\n"
        'pyjwt==2.15.1 ; sys_platform == "linux"\n'
    )
    assert faults(project, lock) == [
        "not a pin: --index-url somewhere",
        "pyjwt: no hash",
        "orjson>=3.10: locked 3.9.0; run scripts/lock",
        "pytest>=9: locked nowhere; run scripts/lock",
    ]
