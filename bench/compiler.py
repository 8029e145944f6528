"""What it costs to compile: a generated project of 300 modules, and every example (SPEC 13.2)."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from bench.harness import Case, Ready
from remit.compiler import Compiled, compile_project
from remit.compiler.extract import Extraction, extract
from remit.compiler.graph import load_graph

MODULES: Final = 300
EXAMPLES: Final = tuple(sorted(file.parent for file in Path(__file__).parents[1].glob("examples/*/pyproject.toml")))

_SHARED: Final = '''"""What many modules use."""

from typing import Literal

from pydantic import BaseModel

PREFIX = "shop"
READ = "Rows that the page shows."
State = Literal["on", "off"]


class Row(BaseModel):
    """One row."""

    id: str
    state: State
    label: str | None = None
'''
_MODULE: Final = '''"""Page {number}."""

import shop.shared as shared
from remit import Component, Unavailable, action, observation
from shop.shared import PREFIX, Row, State


class Page{number}(Component, type=PREFIX + ".page-{number}"):
    """Page {number} of the shop."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @observation(description=shared.READ)
    def read(self) -> list[Row]:
        return self.rows

    @action(effect="navigation", tags=("moves",))
    def open(self, id: str, state: State = "on") -> None:
        """Open one row."""
        for row in self.rows:
            if row.id == id and row.state == state:
                self.rows = [row, *(each for each in self.rows if each is not row)]

    @open.available
    def has_rows(self) -> bool | Unavailable:
        return True if self.rows else Unavailable("There are no rows")
'''


def write_project(root: Path, modules: int = MODULES) -> Path:
    """Write a project of as many modules, three of four with a component, imported in every way there is."""
    files: dict[str, str] = {
        "pyproject.toml": '[tool.remit]\nentries = ["app"]\n[tool.remit.exposure]\nmcp = ["view:shop.**"]\n',
        "shop/__init__.py": "",
        "shop/shared.py": _SHARED,
    }
    imports: list[str] = []
    for number in range(modules - 3):
        group, name = f"part{number % 10}", f"page{number}"
        files[f"shop/{group}/{name}.py"] = (
            _MODULE.format(number=number) if number % 4 else f"from shop.shared import *\nNUMBER = {number}\n"
        )
        imports.append(
            (
                f"import shop.{group}.{name}",
                f"from shop.{group} import {name} as p{number}",
                f"from shop.{group}.{name} import *",
                f"importlib.import_module('shop.{group}.{name}')",
            )[number // 10 % 4]
        )
    files["app.py"] = "\n".join(["import importlib", *imports]) + "\n"
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def _read(root: Path) -> Ready:
    """The static pass alone."""

    async def run() -> object:
        return extract(load_graph(root, ["app"], [root]))

    def holds(answer: object) -> bool:
        return isinstance(answer, Extraction) and not answer.findings and len(answer.components) > MODULES // 2

    return Ready(run=run, holds=holds)


def _compile(root: Path) -> Ready:
    """Both passes and the contract; the bytes are the same each time."""
    first = compile_project(root).manifest.to_bytes()

    async def run() -> object:
        return compile_project(root)

    return Ready(run=run, holds=lambda answer: isinstance(answer, Compiled) and answer.manifest.to_bytes() == first)


def cases(folder: Path) -> tuple[Case, ...]:
    """The cases over a project that is written into `folder`."""
    root = write_project(folder)
    projects: Mapping[str, Path] = MappingProxyType({f"{MODULES} modules": root, **{e.name: e for e in EXAMPLES}})
    return (
        Case(name=f"read {MODULES} modules", n=20, prepare=partial(_read, root)),
        *(Case(name=f"compile {name}", n=10, prepare=partial(_compile, at)) for name, at in projects.items()),
    )
