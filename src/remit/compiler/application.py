"""`compile_app`: a script or a prompt compiles itself, in its own process (SPEC 3.7)."""

import importlib
import os
from pathlib import Path
from typing import Final

from remit._base.text import clean_line
from remit._contract.authority import COMPILING, Authority
from remit.compiler.compile import agree, refuse_without_docstrings, stop_at
from remit.compiler.extract import Extraction, extract
from remit.compiler.graph import Graph, load_graph
from remit.compiler.live import Reach, evaluate_loaded, loaded_modules, of_exception
from remit.errors import CompileError, Finding

_LOAD: Final = "Authority.load(beside=__file__), and a reviewed contract"


def compile_app(file: str) -> Authority:
    """Compile the program that starts at `file` from the classes already loaded here, and return its authority.

    For scripts and prompts: no child process, no `pyproject.toml`, no exposure, so only in-process doors are open. The
    same static pass reads the source and both must agree. CompileError: findings; and always inside the compiler's
    child and with REMIT_ENV=production, where a contract is loaded, never made.
    """
    if os.environ.get(COMPILING) == "1":
        raise _refused("while the compiler imports this program")
    if os.environ.get("REMIT_ENV") == "production":
        raise _refused("with REMIT_ENV=production")
    if not isinstance(file, str | os.PathLike):
        raise TypeError(
            f"compile_app(file) takes the path of the program, not {type(file).__name__}\n  do  compile_app(__file__)"
        )
    refuse_without_docstrings()
    try:
        path = Path(file).resolve()
        root, entry = _entry(path)
        path.exists()  # a name too long, or one no file can have, is an error of the system by now
    except (OSError, ValueError) as problem:
        found = f"compile_app cannot look for the program: {clean_line(str(problem), 120)}"
        raise CompileError([Finding(found=found, write="compile_app(__file__)")]) from problem
    graph = load_graph(root, [entry], [root])
    extraction = extract(graph)
    stop_at(extraction.findings)
    files = {each: graph.modules[name].path for name, each in graph.files.items()}
    reach = Reach(files=files, roots=(root,), strict=False)
    stop_at(_load_rest(graph, extraction, reach))
    evaluated = evaluate_loaded(reach)
    stop_at(evaluated.findings)
    return Authority(agree(graph, extraction, evaluated, exposure={}, policies=()).manifest)


def _refused(when: str) -> CompileError:
    return CompileError([Finding(found=f"compile_app is refused {when}", write=_LOAD)])


def _entry(path: Path) -> tuple[Path, str]:
    """The folder that imports start from, and the dotted name of the file below it."""
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _load_rest(graph: Graph, extraction: Extraction, reach: Reach) -> list[Finding]:
    """Import what the program imports later, inside functions, and what declares something."""
    loaded = loaded_modules(reach.files)
    for source in extraction.homes:
        if graph.files[source.name] in loaded:
            continue
        try:
            importlib.import_module(source.name)
        except Exception as problem:  # noqa: BLE001 - a module of the program may raise anything
            return [of_exception(problem, reach, source.name)]
    return []
