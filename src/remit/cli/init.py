"""`remit init`: settings, a first test and the lines for CI into an existing project; its code is not touched."""

import sys
import tomllib
from pathlib import Path
from typing import Final

import click

from remit._contract.manifest import FILE_NAME
from remit.cli.found import Application, applications
from remit.cli.pasting import lines_for, notes, summary
from remit.cli.project import could_not_run
from remit.cli.report import counted
from remit.compiler.project import PYPROJECT
from remit.errors import Finding

_WORKFLOWS: Final = ".github/workflows"
_IGNORED: Final = ("# remit: a contract that was being written", f".{FILE_NAME}.*")
_SETTINGS: Final = """\
[tool.remit]
entries = ["{entry}"]
policies = ["authenticated"]

[tool.remit.exposure]  # nothing reaches a network door unless it is listed
mcp = []
"""
_TEST: Final = '''\
"""What agents may do here, without a model, a browser or a network. The fixture fails when the contract is stale."""

from remit.policies import authenticated
from remit.testing import Harness
from remit.testing.pytest_plugin import remit_harness

harness = remit_harness(principal="operator", policies=[authenticated()])


def test_nothing_is_callable_before_it_is_mounted(harness: Harness) -> None:
    assert list(harness.capabilities()) == []
'''
_CI: Final = """\
- run: {install}
- run: remit check --base "origin/${{{{ github.base_ref }}}}" --format github
"""
_WORKFLOW: Final = """\
name: remit
on: pull_request
permissions:
  contents: read
jobs:
  contract:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - uses: actions/setup-python@v5
        with:
          python-version: "{python}"
"""


@click.command()
@click.option(
    "--project",
    "start",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The project's folder; by default the one you are in, or the nearest above it with a pyproject.toml.",
)
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def init(start: Path, file: Path | None) -> None:
    """Write [tool.remit], a first test and the CI lines into a project, and print the lines to paste into it.

    FILE is the module the application starts from, when there are several. Whatever is there stays as it is: running it
    twice changes nothing, and no source file is touched.
    """
    root = _root(start.resolve())
    application = _application(root, file)
    pages = counted(application.page_count, "page", "pages")
    _say("found", f"{application.framework} in {application.path}, {pages}")
    wrote: list[str] = []
    kept: list[str] = []
    for name, written in (
        (f"[tool.remit] in {PYPROJECT}", _settings(root, application)),
        ("tests/test_agents.py", _new(root / "tests" / "test_agents.py", _TEST)),
        (f".gitignore (+{len(_IGNORED)})", _ignored(root)),
        (f"{_WORKFLOWS}/remit.yml", _workflow(root)),
    ):
        if written is not None:
            (wrote if written else kept).append(name)
    if wrote:
        _say("wrote", f"{', '.join(wrote)}     your code was not touched")
    if kept:
        _say("kept", f"{', '.join(each.partition(' (+')[0] for each in kept)}     as they were")
    _paste(root, application)


def _say(label: str, text: str) -> None:
    click.echo(f"{label:<10}{text}")


def _root(start: Path) -> Path:
    return next((each for each in (start, *start.parents) if (each / PYPROJECT).is_file()), start)


def _application(root: Path, file: Path | None) -> Application:
    found = applications(root, file)
    if not found:
        named = "no Python application" if file is None else f"{file.name} starts no application"
        could_not_run(
            [
                Finding(
                    found=f"{named} here: nothing calls ui.run(…), FastAPI(…) or Starlette(…)",
                    write="remit init --project FOLDER, or remit init FILE with the module it starts from",
                )
            ]
        )
    first, *others = found
    rivals = [each.path for each in others if _rank(each) == _rank(first)]
    if file is None and rivals:
        listed = ", ".join([first.path, *rivals])
        could_not_run([Finding(found=f"several applications start here: {listed}", write=f"remit init {first.path}")])
    return first


def _rank(application: Application) -> tuple[str, int, bool]:
    path = Path(application.path)
    return (application.framework, len(path.parts), path.stem in ("app", "main"))


def _settings(root: Path, application: Application) -> bool:
    """Append the table, unless there is one; what would no longer be TOML is not written."""
    file = root / PYPROJECT
    text = _text(file)
    known = _table(text)
    if "remit" in known:
        return False
    joined = text + ("" if not text or text.endswith("\n") else "\n") + ("\n" if text.strip() else "")
    settings = _SETTINGS.format(entry=application.module)
    newline = "\r\n" if "\r\n" in text else "\n"
    joined += settings.replace("\n", newline)
    try:
        tomllib.loads(joined)
    except tomllib.TOMLDecodeError:
        could_not_run(
            [Finding(path=PYPROJECT, found="[tool.remit] cannot be added at its end", write=settings.rstrip())]
        )
    _write(file, joined)
    return True


def _table(text: str) -> dict[str, object]:
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as problem:
        could_not_run([Finding(path=PYPROJECT, found=f"is no TOML: {problem}", write="it anew; then remit init")])
    return tool if isinstance(tool, dict) else {}


def _new(file: Path, text: str) -> bool:
    if file.exists():
        return False
    _write(file, text)
    return True


def _ignored(root: Path) -> bool | None:
    file = root / ".gitignore"
    if not file.is_file() and not any((each / ".git").exists() for each in (root, *root.parents)):
        return None
    text = _text(file)
    if _IGNORED[-1] in text.splitlines():
        return False
    _write(file, text + ("" if not text or text.endswith("\n") else "\n") + "\n".join(_IGNORED) + "\n")
    return True


def _workflow(root: Path) -> bool | None:
    """A workflow of its own, where there are workflows already; nothing is written into another one."""
    folder = root / _WORKFLOWS
    if not folder.is_dir():
        return None
    if any("remit check" in _text(file) for file in sorted(folder.glob("*.y*ml"))):
        return False
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    steps = "".join(f"      {line}\n" for line in _ci_lines(root).splitlines())
    return _new(folder / "remit.yml", _WORKFLOW.format(python=version) + steps)


def _ci_lines(root: Path) -> str:
    install = "pip install -r requirements.txt" if (root / "requirements.txt").is_file() else "pip install ."
    return _CI.format(install=install)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as problem:
        could_not_run([Finding(path=file.name, found=f"cannot be read: {type(problem).__name__}", write="it as UTF-8")])


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
    except OSError as problem:
        could_not_run([Finding(path=file.name, found=f"cannot be written: {problem.strerror}")])


def _paste(root: Path, application: Application) -> None:
    _say("paste", f"{summary(application)}     (printed below, for your file)")
    for note in notes(application):
        _say("change", note)
    _say("then", f"remit dev -- python {application.path}     and, to commit: remit compile && git add {FILE_NAME}")
    for lines in lines_for(application):
        click.echo(f"\n{lines.what}  {lines.where}\n")
        for line in lines.text.splitlines():
            click.echo(f"    {line}".rstrip())
    if not (root / _WORKFLOWS).is_dir():
        click.echo("\nci  a step of the pipeline that runs on a pull request, with its base branch fetched\n")
        for line in _ci_lines(root).splitlines():
            click.echo(f"    {line}")
