"""Importing a program to compile it leaves nothing behind (SPEC 13.3)."""

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.compiler import compile_project
from remit.errors import CompileError

WriteProject = Callable[..., Path]


def found(root: Path) -> str:
    with pytest.raises(CompileError) as caught:
        compile_project(root)
    return str(caught.value)


@pytest.mark.requirement("13.3-no-side-effect-is-kept")
@pytest.mark.parametrize(
    "line",
    [
        'Path(__file__).with_name("left.txt").write_text("x")',
        'open(os.path.dirname(__file__) + "/left.txt", "ab")',
        'os.open(str(Path(__file__).with_name("left.txt")), os.O_CREAT | os.O_RDWR)',
        'Path(__file__).with_name("left.txt").mkdir()',
        'Path(__file__).with_name("left.txt").symlink_to("app.py")',
        'sqlite3.connect(Path(__file__).with_name("left.txt"))',
        'logging.FileHandler(Path(__file__).with_name("left.txt"))',
        'os.chdir(os.path.dirname(__file__)); open("left.txt", "w")',
    ],
)
def test_what_would_be_written_beside_the_source_is_a_finding_at_its_line(
    write_project: WriteProject, line: str
) -> None:
    root = write_project(app=f"import logging, os, sqlite3\nfrom pathlib import Path\n\n{line}\n")
    assert found(root) == (
        "app.py:4  importing app would write left.txt\n"
        "  write  it where the program starts, and not while it is imported"
    )
    assert sorted(each.name for each in root.iterdir()) == ["app.py", "pyproject.toml"]


@pytest.mark.requirement("13.3-no-side-effect-is-kept")
@pytest.mark.parametrize("change", ["os.remove(kept)", "os.rename(kept, 'here')", "shutil.move(kept, 'here')"])
def test_what_is_there_stays(write_project: WriteProject, change: str) -> None:
    root = write_project(
        app=f'import os, shutil\nkept = os.path.join(os.path.dirname(__file__), "kept.txt")\n{change}\n',
        files={"kept.txt": "kept"},
    )
    assert found(root).startswith("app.py:3  importing app would write kept.txt")
    assert (root / "kept.txt").read_text(encoding="utf-8") == "kept"


@pytest.mark.requirement("13.3-no-side-effect-is-kept")
def test_a_program_may_write_into_the_folder_it_is_given_and_do_without_others(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        import os, shutil, sqlite3, tempfile
        from pathlib import Path

        Path("here.txt").write_text("x")
        (Path.home() / ".cache" / "deep").mkdir(parents=True)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "x").write_text("x")
            os.mkdir(os.path.join(folder, "y"))
        shutil.rmtree(Path.home() / ".cache")
        sqlite3.connect(":memory:").execute("create table t (x)")
        sqlite3.connect("own.db").execute("create table t (x)")
        open(os.devnull, "w").close()
        open(__file__).close()
        try:
            Path(__file__).with_name("log.txt").write_text("x")
        except PermissionError:
            pass
        """
    )
    assert compile_project(root).manifest.capabilities == {}
    assert sorted(each.name for each in root.iterdir()) == ["app.py", "pyproject.toml"]


@pytest.mark.requirement("13.3-no-side-effect-is-kept")
@pytest.mark.skipif(sys.platform != "linux", reason="another system tells the end of a process otherwise")
def test_processes_that_were_started_are_ended(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        import subprocess, sys

        started = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        raise ValueError(f"pid {started.pid}")
        """
    )
    pid = int(found(root).rpartition(" ")[2])
    try:
        ended = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([ended], [], [], 50)[0] == [ended]  # it is told, not waited for by a clock
    finally:
        os.close(ended)


@pytest.mark.requirement("13.3-an-import-that-fails")
def test_a_finding_names_no_folder_of_this_machine(write_project: WriteProject) -> None:
    root = write_project(app='open(__file__ + ".gone")\n')
    assert found(root) == (
        "app.py:1  importing app raised FileNotFoundError: [Errno 2] No such file or directory: 'app.py.gone'"
    )
