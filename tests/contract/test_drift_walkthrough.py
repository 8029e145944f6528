"""The pull request of docs/guides/review.md: its lines are applied, and its commands print what the page says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "review.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(diff|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what it is said to print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def shell(root: Path, command: str) -> tuple[int, str]:
    """The exit code and everything that is printed, as in a terminal that is no terminal."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    ran = subprocess.run(
        ("bash", "-c", command),
        cwd=root,
        env={**os.environ, **NO_SETTINGS, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


@pytest.mark.timeout(600)
@pytest.mark.requirement("13.6-a-walk-through")
def test_the_pull_request_of_the_page_goes_as_the_page_says(tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(ROOT / "docs_src" / "review", root, ignore=shutil.ignore_patterns("__pycache__"))
    named = "-c user.name=Author -c user.email=author@example.org"
    signed = (
        f"remit compile && git init -q -b main && git add -A && git {named} commit -qm Signed && git checkout -qb fix"
    )
    assert shell(root, signed)[0] == 0
    code, run = 0, 0
    for kind, text in BLOCK.findall(PAGE):
        if kind == "diff":
            (root / "the.patch").write_text(text, encoding="utf-8")
            code, printed = shell(root, "git apply the.patch && rm the.patch")
            assert code == 0, printed
            continue
        for command, said in commands(text):
            if command == "echo $?":
                assert said == f"{code}\n"
                continue
            code, printed = shell(root, command)
            assert printed == said, command
            run += 1
    assert run >= 8
