"""A project on disk, made of the text a test gives it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

WriteProject = Callable[..., Path]
EMPTY: Mapping[str, str] = {}


@pytest.fixture
def write_project(tmp_path: Path) -> WriteProject:
    """Write top-level modules by keyword, other files by path, and a pyproject.toml with the settings."""

    def write(settings: str = 'entries = ["app"]', /, files: Mapping[str, str] = EMPTY, **modules: str) -> Path:
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        texts = {"pyproject.toml": f"[tool.remit]\n{settings}\n", **{f"{name}.py": modules[name] for name in modules}}
        for name, text in {**texts, **files}.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return root

    return write
