"""What `remit init` and `remit doctor` find of an application by reading its source; nothing is imported."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from remit.cli.walking import own_files

_NO_APPLICATION: Final = frozenset({"tests", "test", "docs"})
_MAKERS: Final = {"fastapi": "FastAPI", "starlette": "Starlette"}
_USUAL: Final = ("app", "main")
_SERVING: Final = frozenset({"ui.run", "uvicorn.run"})


class Framework(StrEnum):
    """What an application is made with."""

    NICEGUI = "NiceGUI"
    FASTAPI = "FastAPI"
    STARLETTE = "Starlette"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call in a source file, as written: what it calls, its line, its keywords, its first argument if that is a name.

    `guarded` says that it does not run when the module is imported.
    """

    name: str
    line: int
    keywords: frozenset[str]
    first: str | None
    guarded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A function that answers for a page: its name, the line of its `def`, and that of its first decorator."""

    name: str
    top: int
    line: int
    awaits: bool = False
    """Whether it is an `async def`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application, and the module it starts from.

    `path` is relative to the project; `variable` names the ASGI application where it is bound to a name; `names` is
    everything bound at the top level; `pages` are those of this file, `page_count` those of the whole project.
    """

    framework: Framework
    path: str
    module: str
    variable: str | None
    names: frozenset[str]
    calls: tuple[Call, ...]
    pages: tuple[Page, ...]
    page_count: int

    @property
    def unguarded(self) -> Call | None:
        """The call that serves and would run when the compiler imports this file."""
        return next((call for call in self.calls if call.name in _SERVING and not call.guarded), None)

    def call(self, *names: str) -> Call | None:
        """The first call of one of these names."""
        return next((call for call in self.calls if call.name in names), None)


def applications(root: Path, only: Path | None = None) -> list[Application]:
    """The applications of a project, the likeliest first; with `only`, that of this file.

    NiceGUI stands before what it was added to. Files that do not parse are passed over: they run nowhere.
    """
    read = [source for file in _sources(root) if (source := _read(root, file)) is not None]
    found: list[tuple[tuple[int, int, int, str], Application]] = []
    for source in read:
        framework = source.framework
        if framework is None or (only is not None and source.file != only.resolve()):
            continue
        count = sum(len(other.pages(framework)) for other in read)
        depth = source.path.count("/")
        usual = 0 if source.file.stem in _USUAL else 1
        found.append(((_ORDER.index(framework), depth, usual, source.path), source.application(framework, count)))
    return [application for _, application in sorted(found, key=lambda item: item[0])]


_ORDER: Final = list(Framework)


class _Source:
    def __init__(self, root: Path, file: Path, tree: ast.Module) -> None:
        self.file = file
        self.path = file.relative_to(root).as_posix()
        base = root / "src" if (root / "src") in file.parents else root
        parts = file.relative_to(base).with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self._tree = tree
        self._calls = tuple(_calls(tree.body, guarded=False))

    @property
    def framework(self) -> Framework | None:
        """What is started or made here; None where nothing is."""
        names = {call.name for call in self._calls}
        imported = _imports(self._tree)
        if names & {"ui.run", "ui.run_with"} and "nicegui" in imported:
            return Framework.NICEGUI
        for module, maker in _MAKERS.items():
            if maker in {name.rpartition(".")[2] for name in names} and module in imported:
                return Framework(maker)
        return None

    def pages(self, framework: Framework) -> tuple[Page, ...]:
        """The functions that answer for pages, in source order."""
        return tuple(
            Page(
                name=node.name,
                top=min([node.lineno, *(each.lineno for each in node.decorator_list)]),
                line=node.lineno,
                awaits=isinstance(node, ast.AsyncFunctionDef),
            )
            for node in ast.walk(self._tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (any(_is_page(framework, each) for each in node.decorator_list) or node.name in self._routed(framework))
        )

    def _routed(self, framework: Framework) -> frozenset[str]:
        if framework is not Framework.STARLETTE:
            return frozenset()
        return frozenset(
            node.args[1].id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call)
            and _dotted(node.func).rpartition(".")[2] == "Route"
            and len(node.args) > 1
            and isinstance(node.args[1], ast.Name)
        )

    def application(self, framework: Framework, page_count: int) -> Application:
        """This file as the one the application starts from."""
        variable = next(
            (
                target.id
                for node in self._tree.body
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
                for target in node.targets
                if isinstance(target, ast.Name) and _dotted(node.value.func).rpartition(".")[2] in _MAKERS.values()
            ),
            None,
        )
        return Application(
            framework=framework,
            path=self.path,
            module=self.module,
            variable=variable,
            names=frozenset(_bound(self._tree.body)),
            calls=self._calls,
            pages=self.pages(framework),
            page_count=page_count,
        )


def _is_page(framework: Framework, decorator: ast.expr) -> bool:
    if not isinstance(decorator, ast.Call):
        return False
    name = _dotted(decorator.func)
    return name == "ui.page" if framework is Framework.NICEGUI else name.rpartition(".")[2] == "get"


def _sources(root: Path) -> list[Path]:
    files = own_files(str(root), besides=_NO_APPLICATION)
    return sorted(Path(each.path) for each in files if each.name.endswith(".py") and not each.name.startswith("test_"))


def _read(root: Path, file: Path) -> _Source | None:
    try:
        return _Source(root, file, ast.parse(file.read_bytes()))
    except (SyntaxError, ValueError, OSError):
        return None


def _calls(body: Sequence[ast.stmt], *, guarded: bool) -> Iterator[Call]:
    for statement in body:
        inner = guarded or isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If)
        for node in ast.walk(statement):
            if isinstance(node, ast.Call):
                first = node.args[0] if node.args else None
                yield Call(
                    name=_dotted(node.func),
                    line=node.lineno,
                    keywords=frozenset(each.arg for each in node.keywords if each.arg),
                    first=first.id if isinstance(first, ast.Name) else None,
                    guarded=inner,
                )


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _imports(tree: ast.Module) -> set[str]:
    """The top-level names of every package that is imported anywhere in a file."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
