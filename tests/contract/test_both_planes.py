"""One name on both planes, where the site has said that it only wants to be told (SPEC 2.7)."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit import DefinitionError, Surface
from remit._base.boundary import Json
from remit._contract.authority import Authority
from remit._contract.manifest import FILE_NAME, parse
from remit.cli import main
from remit.compiler import Drift, compile_project, drift
from remit.compiler.weigh import weigh
from remit.errors import CompileError

APP = """
from remit import Component, Procedures, observation, reference

backend = Procedures()

@backend.operation("table.read", effect="server-query")
async def query() -> int:
    \"\"\"Query.\"\"\"
    return 1

class Table(Component, type="table"):
    \"\"\"A table.\"\"\"

    ask = reference("domain:table.read")

    @observation
    def read(self) -> int:
        \"\"\"Read.\"\"\"
        return 1
"""
WARN = 'both_planes = "warn"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    return settled(tmp_path, WARN)


def settled(root: Path, more: str) -> Path:
    (root / "pyproject.toml").write_text(f'[tool.remit]\nentries = ["app"]\n{more}', encoding="utf-8")
    return root


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(root)])


@pytest.mark.requirement("2.7-planes-do-not-share-a-name", "2.7-told-when-compiling")
@pytest.mark.parametrize("settings", ["", 'both_planes = "refuse"\n'])
def test_without_the_setting_nothing_is_compiled_and_the_finding_names_it(root: Path, settings: str) -> None:
    ran = run(settled(root, settings), "compile")
    assert ran.exit_code == 2
    assert "view:table.read: the backend has an operation of the same name, domain:table.read" in ran.stderr
    assert 'rename one of the two, or allow it by  [tool.remit]  both_planes = "warn"  and compile' in ran.stderr
    assert not (root / FILE_NAME).exists()


@pytest.mark.requirement("2.7-told-when-compiling")
@pytest.mark.parametrize("more", ["", '[tool.remit.targets]\nweb = ["app"]\nworker = ["app"]\n'])
def test_with_it_compile_and_check_warn_on_standard_error_and_go_on(root: Path, more: str) -> None:
    settled(root, WARN + more)
    warning = "warning  view:table.read and domain:table.read are two capabilities of one name\n"
    ran = run(root, "compile")
    assert (ran.exit_code, warning in ran.stderr, "warning" in ran.stdout) == (0, True, False)
    checked = run(root, "check")
    assert (checked.exit_code, warning in checked.stderr, "equals the source" in checked.stdout) == (0, True, True)


@pytest.mark.requirement("2.7-told-when-compiling")
def test_a_project_where_no_name_is_on_both_planes_is_warned_of_nothing(root: Path) -> None:
    (root / "app.py").write_text(APP.replace("table.read", "tables.read"), encoding="utf-8")
    assert run(root, "compile").stderr == ""


@pytest.mark.requirement("2.7-told-when-compiling")
@pytest.mark.parametrize("value", ['"allow"', "true", "[]"])
def test_another_word_is_a_finding(root: Path, value: str) -> None:
    with pytest.raises(CompileError) as refused:
        compile_project(settled(root, f"both_planes = {value}\n"))
    (finding,) = refused.value.findings
    assert finding.found == "both_planes says what becomes of a name on both planes: refuse, or warn"


@pytest.mark.requirement("2.7-in-the-contract")
def test_the_contract_says_so_in_its_head_and_only_then(root: Path) -> None:
    warned = compile_project(root).manifest
    assert parse(warned.to_bytes()).warns_of_planes and b'"both_planes": "warn"' in warned.to_bytes()
    (root / "app.py").write_text(APP.replace("table.read", "tables.read"), encoding="utf-8")
    refusing = compile_project(settled(root, "")).manifest
    assert b"both_planes" not in refusing.to_bytes()
    widened = drift(refusing, compile_project(settled(root, WARN)).manifest, {})
    assert [(each.field, each.before, each.after, each.classes) for each in widened.changes] == [
        ("both_planes", "refuse", "warn", frozenset({Drift.WIDENING}))
    ]
    words: tuple[Json, Json] = ("warn", "refuse")
    assert weigh("both_planes", *words) == {Drift.NARROWING}


@pytest.mark.requirement("2.7-in-the-contract")
@pytest.mark.parametrize("word", ["refuse", "allow"])
def test_a_contract_edited_to_say_something_else_is_refused(root: Path, word: str) -> None:
    data = (
        compile_project(root)
        .manifest.to_bytes()
        .replace(b'"both_planes": "warn"', b'"both_planes": "%b"' % word.encode())
    )
    with pytest.raises(DefinitionError, match="both_planes"):
        parse(data)


@pytest.mark.requirement("2.7-in-the-contract")
def test_without_the_word_the_same_rows_are_refused(root: Path) -> None:
    data = compile_project(root).manifest.to_bytes()
    gone = data.replace(b'    "both_planes": "warn",\n', b"")
    assert gone != data
    with pytest.raises(DefinitionError) as refused:
        parse(gone)
    assert refused.value.code == "DUPLICATE_CAPABILITY"


@pytest.mark.requirement("2.7-told-by-a-surface")
def test_a_surface_of_such_a_contract_starts_and_tells(root: Path) -> None:
    authority = Authority(compile_project(root).manifest)
    (finding,) = Surface(authority, principal="operator").findings()
    assert str(finding).startswith("finding  view:table.read and domain:table.read are two capabilities of one name")
