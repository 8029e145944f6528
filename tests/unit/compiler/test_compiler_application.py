"""`compile_app`: a script compiles itself in its own process (SPEC 3.7)."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from remit.compiler import compile_app
from remit.errors import CompileError

WriteProject = Callable[..., Path]
COUNTER = '''
from remit import Component, action, observation
from remit.compiler import compile_app

class Counter(Component, type="demo.counter"):
    """A counter."""

    @observation
    def read_value(self) -> int:
        """The number shown."""
        return 1

    @action
    def increment(self, by: int = 1) -> None:
        """Add."""

def main() -> None:
    authority = compile_app(__file__)
    print(authority.hash, sorted(authority.exposure.doors), authority.pending)
    print([plan.id for plan in authority.seal(Counter).plans])

if __name__ == "__main__":
    main()
'''


def run(file: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *(arguments or (str(file),))],
        check=False,
        capture_output=True,
        text=True,
        cwd=file.parent,
        env={**os.environ, **(env or {})},
    )


@pytest.mark.requirement("3.7-a-script-compiles-itself")
def test_a_script_compiles_itself(write_project: WriteProject) -> None:
    ran = run(write_project(counter=COUNTER) / "counter.py")
    assert ran.stderr == ""
    first, second = ran.stdout.splitlines()
    assert first.startswith("sha256:")
    assert first.endswith(" [] False")
    assert second == "['view:demo.counter.readValue', 'view:demo.counter.increment']"


@pytest.mark.requirement("3.7-no-module-name")
def test_no_module_name_is_in_the_contract(write_project: WriteProject) -> None:
    root = write_project(counter=COUNTER, other=COUNTER, files={"pack/__init__.py": "", "pack/counter.py": COUNTER})
    hashes = {
        run(root / "counter.py").stdout.split()[0],
        run(root / "other.py").stdout.split()[0],
        run(root / "pack" / "counter.py").stdout.split()[0],
        run(root / "x.py", "-m", "pack.counter").stdout.split()[0],
        run(root / "x.py", "-c", "import counter; counter.main()").stdout.split()[0],
    }
    assert len(hashes) == 1


@pytest.mark.requirement("3.7-a-script-compiles-itself")
def test_what_is_imported_later_is_compiled_too(write_project: WriteProject) -> None:
    text = COUNTER.replace("def main() -> None:", "def later():\n    import table\n\ndef main() -> None:").replace(
        "print([plan", "import table\n    print(authority.seal(table.Table).type)\n    print([plan"
    )
    table = 'from remit import Component\nclass Table(Component, type="demo.table"):\n    """A table."""\n'
    assert "demo.table" in run(write_project(counter=text, table=table) / "counter.py").stdout


@pytest.mark.requirement("3.7-only-what-the-file-reaches")
def test_components_of_other_programs_in_the_process_do_not_count(write_project: WriteProject) -> None:
    root = write_project(one=COUNTER.replace("demo.", "one."), two=COUNTER.replace("demo.", "two."))
    ran = run(root / "x.py", "-c", "import one, two; two.main()")
    assert "view:two.counter.readValue" in ran.stdout


@pytest.mark.requirement("3.7-compile-app-runs-the-static-pass")
def test_a_class_below_the_call_is_a_finding(write_project: WriteProject) -> None:
    text = "from remit.compiler import compile_app\ncompile_app(__file__)\n" + COUNTER
    ran = run(write_project(counter=text) / "counter.py")
    assert "demo.counter is in the source, but no such class was there" in ran.stderr


@pytest.mark.requirement("3.7-compile-app-is-refused")
@pytest.mark.parametrize(("name", "value"), [("REMIT_COMPILE", "1"), ("REMIT_ENV", "production")])
def test_it_is_refused_where_a_contract_is_loaded(
    monkeypatch: pytest.MonkeyPatch, write_project: WriteProject, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(CompileError, match="compile_app is refused"):
        compile_app(str(write_project(counter=COUNTER) / "counter.py"))


@pytest.mark.requirement("3.8-under-oo")
def test_it_says_why_it_cannot_work_without_docstrings(write_project: WriteProject) -> None:
    ran = run(write_project(counter=COUNTER) / "counter.py", "-OO", "counter.py")
    assert "run without -OO" in ran.stderr


@pytest.mark.requirement("3.7-compile-app-runs-the-static-pass")
def test_findings_stop_it(write_project: WriteProject) -> None:
    text = COUNTER.replace('type="demo.counter"', 'type="demo." + str("counter")')
    ran = run(write_project(counter=text) / "counter.py")
    assert "counter.py:4  type= is the expression" in ran.stderr


@pytest.mark.requirement("3.7-compile-app-is-refused")
@pytest.mark.parametrize("file", ["x" * 100_000, "\ud800", "a\0b"], ids=["long", "surrogate", "null"])
def test_what_no_file_can_be_called_is_a_finding(file: str) -> None:
    with pytest.raises(CompileError, match="compile_app cannot look for the program") as caught:
        compile_app(file)
    assert str(caught.value).encode("utf-8")
