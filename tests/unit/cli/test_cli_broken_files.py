"""What commands and programs say of files that cannot be read or written (SPEC 3.7, 13.1, 13.4)."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit import Authority, DefinitionError
from remit.cli import main
from remit.compiler import compile_project, write_contract

SETTINGS = '[tool.remit]\nentries = ["app"]\n'
APP = '''
from remit import Component, observation

class Table(Component, type="t.table"):
    """A table."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1
'''
CONTRACT = "remit.contract.json"
COMMANDS = (("check",), ("compile",), ("doctor",), ("inspect",), ("diff", CONTRACT))
BROKEN = {
    "a syntax error": (b"[tool.remit\nentries = 1\n", "is no TOML: "),
    "another encoding": (SETTINGS.encode("utf-16"), "is no TOML: it is no UTF-8"),
    "great depth": (b"a = " + b"[" * 5_000, "is no TOML: it is nested too deep"),
    "no table of tools": (b"tool = 1\n", "is no project file: tool is no table"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    write_contract(tmp_path, compile_project(tmp_path).manifest)
    return tmp_path


def run(root: Path, *arguments: str) -> Result:
    told = CliRunner().invoke(main, [*arguments, "--project", str(root)])
    assert told.exception is None or isinstance(told.exception, SystemExit)
    return told


@pytest.mark.requirement("3.7-a-broken-project-file-stops-the-search")
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_project_file_is_not_passed_over_for_the_one_above_it(root: Path, what: str) -> None:
    data, why = BROKEN[what]
    inner = root / "part" / "pages"
    inner.mkdir(parents=True)
    assert run(inner, "check").exit_code == 0
    assert Authority.load(beside=str(inner / "page.py")).hash
    (root / "part" / "pyproject.toml").write_bytes(data)
    for command in COMMANDS[:-1]:
        told = run(inner, *command)
        assert told.exit_code == 2
        assert told.stderr.startswith(f"../pyproject.toml  {why}")
        assert str(root) not in told.output
    with pytest.raises(DefinitionError) as refused:
        Authority.load(beside=str(inner / "page.py"))
    assert refused.value.code == "CONTRACT_MISMATCH"
    assert refused.value.subject == "../pyproject.toml"
    assert refused.value.rule.startswith(why)


@pytest.mark.requirement("3.7-a-broken-project-file-stops-the-search")
@pytest.mark.parametrize("setting", ["[tool]\nremit = 1\n", "[[tool.remit]]\n"])
def test_a_table_of_another_form_is_the_project_all_the_same(root: Path, setting: str) -> None:
    inner = root / "part"
    inner.mkdir()
    (inner / "pyproject.toml").write_text(setting, encoding="utf-8")
    told = run(inner, "check")
    assert (told.exit_code, told.stderr.splitlines()[0]) == (2, "pyproject.toml  [tool.remit] is no table")
    with pytest.raises(FileNotFoundError):
        Authority.load(beside=str(inner / "page.py"))


@pytest.mark.requirement("3.7-a-broken-project-file-stops-the-search")
def test_a_project_file_that_is_a_folder_is_not_passed_over(root: Path) -> None:
    (root / "part" / "pyproject.toml").mkdir(parents=True)
    told = run(root / "part", "check")
    assert told.exit_code == 2
    assert told.stderr.startswith("pyproject.toml  cannot be read: ")


@pytest.mark.requirement("13.4-read-as-written")
def test_check_and_doctor_find_a_contract_in_other_bytes_and_compile_mends_it(root: Path) -> None:
    file = root / CONTRACT
    own = file.read_bytes()
    for data in (own + b" " * 5_000, own.replace(b"\n", b"\r\n"), own.replace(b"t.table", b"t.\\u0074able")):
        file.write_bytes(data)
        told = run(root, "check")
        assert told.exit_code == 1
        assert f"{CONTRACT} is not written as remit compile writes it" in told.output
        assert "do  remit compile" in told.output
        assert "is not written as remit compile writes it" in run(root, "doctor").output
        assert run(root, "compile").exit_code == 0
        assert file.read_bytes() == own
        assert run(root, "check").exit_code == 0


@pytest.mark.requirement("13.4-read-as-written")
def test_a_generator_of_another_version_is_no_difference(root: Path) -> None:
    file = root / CONTRACT
    line = next(each for each in file.read_bytes().splitlines() if b'"generator"' in each)
    file.write_bytes(file.read_bytes().replace(line, b'  "generator": "remit 99.1",'))
    assert run(root, "check").exit_code == 0
    assert Authority.load(file).hash


@pytest.mark.requirement("13.4-read-as-written")
def test_half_a_character_in_a_contract_is_told_by_every_command_that_reads_it(root: Path) -> None:
    file = root / CONTRACT
    file.write_bytes(file.read_bytes().replace(b'"A table."', b'"A \\ud800 table."'))
    rule = "is no contract: it has text with a lone surrogate, at `components[0].description`"
    for command, code in ((("check",), 1), (("doctor",), 1), (("diff", str(file)), 2)):
        told = run(root, *command)
        assert told.exit_code == code
        assert rule in told.output
    with pytest.raises(DefinitionError, match="remit compile"):
        Authority.load(file)


@pytest.mark.requirement("13.1-a-contract-that-cannot-be-written")
def test_a_folder_in_place_of_the_contract_is_told_by_every_command(root: Path) -> None:
    (root / CONTRACT).unlink()
    (root / CONTRACT).mkdir()
    before = sorted(each.name for each in root.iterdir())
    told = run(root, "compile")
    assert told.exit_code == 2
    assert told.stderr == f"{CONTRACT}  cannot be written, it is a directory: move it away\n1 finding\n"
    assert sorted(each.name for each in root.iterdir()) == before
    for command, code in ((("check",), 1), (("doctor",), 1), (("diff", str(root / CONTRACT)), 2)):
        told = run(root, *command)
        assert told.exit_code == code
        assert "is a directory and no file" in told.output
        assert str(root) not in told.output
    assert "do  move it away; remit compile" in run(root, "check").output
    with pytest.raises(DefinitionError, match="is a directory and no file"):
        Authority.load(beside=str(root / "app.py"))


@pytest.mark.requirement("13.1-a-contract-that-cannot-be-written")
def test_a_contract_that_cannot_be_replaced_stays_and_nothing_lies_beside_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / CONTRACT
    file.write_bytes(b"older")
    before = sorted(each.name for each in root.iterdir())

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "replace", refuse)
    told = run(root, "compile")
    assert told.exit_code == 2
    assert told.stderr.startswith(f"{CONTRACT}  cannot be written, Permission denied: ")
    assert str(root) not in told.output
    assert file.read_bytes() == b"older"
    assert sorted(each.name for each in root.iterdir()) == before
