"""`remit doctor`: each thing that can be wrong with a project is said with what, where, why and what to do."""

import json
import subprocess
from pathlib import Path

import pytest
from click import Group
from click.testing import CliRunner, Result

from remit.cli import main
from remit.cli.checks import environment
from remit.compiler import compile_project, write_contract

APP = '''
from remit import Authority, Component, action
from remit.gateway import Gateway


class DevicesTable(Component, type="devices.table"):
    """Table of devices."""

    @action
    def clear(self) -> None:
        """Clear the table."""


gateway = Gateway(Authority.load(beside=__file__))
'''
SETTINGS = '[tool.remit]\nentries = ["app"]\n[tool.remit.exposure]\nmcp = ["view:devices.**"]\n'


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMIT_ENV", "REMIT_COMPILE", "REMIT_DEV"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


def doctor(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--project", str(root), *arguments])


def findings(root: Path) -> list[dict[str, str | None]]:
    ran = doctor(root, "--json")
    form = json.loads(ran.stdout)
    bad = [each for each in form["checks"] if not each["ok"]]
    assert ran.exit_code == (1 if bad else 0) and form["findings"] == len(bad)
    assert str(root) not in ran.output
    return bad


@pytest.mark.requirement("13.7-doctor-exits")
def test_a_sound_project_is_well_and_exits_0(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)
    ran = doctor(root)
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[1:] == [
        "ok        variables REMIT_ENV is not production",
        "ok        settings  entries app",
        "ok        packages  remit.gateway has what it needs",
        "ok        contract  remit.contract.json equals the source: 1 capability of 1 component",
        "ok        doors     mcp: 1 of 1 capability is exposed",
        "ok        keys      app.py:14  a key per process",
        "0 findings, 7 of 7 checks are well",
    ]


@pytest.mark.requirement("13.7-doctor-says-what-to-do", "13.7-doctor-exits")
def test_a_project_without_a_contract_and_with_a_shut_door_says_so(root: Path) -> None:
    (root / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    ran = doctor(root)
    assert ran.exit_code == 1
    assert (
        "finding   contract  there is no remit.contract.json\n"
        "          why  a program loads it, and a reviewer reads it        "
        "do  remit compile; review; commit     (while writing: remit dev -- COMMAND)\n"
        "finding   doors     mcp: 0 of 1 capability is exposed\n"
        "          why  nothing reaches a network door unless it is listed        "
        'do  add to [tool.remit.exposure]:  mcp = ["view:devices.**"]\n'
    ) in ran.stdout
    assert ran.stdout.endswith("\n2 findings, 5 of 7 checks are well\n")


@pytest.mark.requirement("13.7-doctor-says-what-to-do")
def test_a_door_that_the_site_does_not_name_is_no_finding_where_it_names_another(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)
    (root / "pyproject.toml").write_text(SETTINGS.replace("mcp =", "page ="), encoding="utf-8")
    ran = doctor(root)
    assert "ok        doors     page: 1 of 1 capability is exposed\n" in ran.stdout and "mcp:" not in ran.stdout


@pytest.mark.requirement("13.7-doctor-says-what-to-do")
def test_a_contract_that_is_stale_and_not_committed_is_told_apart(root: Path) -> None:
    write_contract(root, compile_project(root).manifest)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "app.py").write_text(APP.replace("Clear the table.", "Clear it."), encoding="utf-8")
    (root / "pyproject.toml").write_text(SETTINGS.replace("**", "tabel.*"), encoding="utf-8")
    (root / ".gitlab-ci.yml").write_text("test:\n  script: pytest\n", encoding="utf-8")
    assert [(each["check"], each["where"], each["what"]) for each in findings(root)] == [
        ("contract", "remit.contract.json", "does not equal the source: 1 widening, 2 narrowing, 1 neutral"),
        ("contract", "remit.contract.json", "is not committed"),
        ("doors", "pyproject.toml [tool.remit.exposure]", "mcp: view:devices.tabel.* matches nothing"),
        ("doors", None, "mcp: 0 of 1 capability is exposed"),
        ("pipeline", ".gitlab-ci.yml", "does not run remit check"),
    ]
    (root / "remit.contract.json").write_text("{}", encoding="utf-8")
    assert ("remit.contract.json", "is no contract: the part 'head' is missing") in [
        (each["where"], each["what"]) for each in findings(root)
    ]


@pytest.mark.requirement("13.7-doctor-says-what-to-do")
def test_a_source_that_does_not_compile_is_a_finding_at_its_line(root: Path) -> None:
    (root / "app.py").write_text(APP.replace('type="devices.table"', "type=str()"), encoding="utf-8")
    (found,) = findings(root)
    assert (found["check"], found["where"], found["do"]) == ("source", "app.py:6", "write  type= with a literal")
    (root / "app.py").write_text("", encoding="utf-8")
    assert ["declares no component", "there is no remit.contract.json"] == [each["what"] for each in findings(root)][:2]


@pytest.mark.requirement("13.7-doctor-says-what-to-do")
def test_settings_that_cannot_be_read_are_findings(root: Path) -> None:
    (root / "pyproject.toml").write_text('[tool.remit]\nentry = ["app"]\n', encoding="utf-8")
    (found,) = findings(root)
    assert (found["check"], found["where"]) == ("settings", "pyproject.toml")
    assert found["what"] == "[tool.remit] has the unknown key 'entry'"


@pytest.mark.requirement("13.7-doctor-production")
def test_what_a_deployment_needs_is_asked_in_production_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_contract(root, compile_project(root).manifest)
    assert findings(root) == []
    (root / "pyproject.toml").write_text(SETTINGS.replace('entries = ["app"]', 'targets = {web = ["app"]}'), "utf-8")
    write_contract(root, compile_project(root).manifest)
    assert findings(root) == []
    monkeypatch.setenv("REMIT_ENV", "production")
    assert [(each["check"], each["where"], each["what"]) for each in findings(root)] == [
        ("keys", "app.py:14", "Gateway(…) has no keys="),
        ("hosts", "app.py:14", "Gateway(…) has no allowed_hosts="),
    ]


@pytest.mark.requirement("13.7-doctor-production")
@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("REMIT_ENV", "prod", "REMIT_ENV is 'prod'"),
        ("REMIT_COMPILE", "1", "REMIT_COMPILE is set"),
        ("REMIT_DEV", "somewhere", "REMIT_DEV is set"),
    ],
)
def test_a_variable_that_would_surprise_is_a_finding(
    name: str, value: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(each.ok for each in environment())
    monkeypatch.setenv(name, value)
    (found,) = [each for each in environment() if not each.ok]
    assert found.what == what and found.why and found.do


@pytest.mark.requirement("13.7-doctor-exits")
def test_without_a_project_there_is_nothing_to_look_at_and_it_exits_2(tmp_path: Path) -> None:
    ran = doctor(tmp_path)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "no pyproject.toml with [tool.remit] here or above" in ran.stderr and "remit init" in ran.stderr


@pytest.mark.requirement("13.1-colour-repeats-a-word")
def test_colour_only_repeats_a_word_and_no_color_turns_it_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "pyproject.toml").write_text("[tool.remit]\n", encoding="utf-8")
    arguments = ["doctor", "--project", str(root)]
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = CliRunner().invoke(main, arguments).output
    coloured = CliRunner().invoke(main, arguments, color=True).output
    assert "\x1b" not in plain and "\x1b[31mfinding" in coloured
    assert coloured.replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[0m", "") == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert CliRunner().invoke(main, arguments, color=True).output == plain


@pytest.mark.requirement("13.1-help-is-complete")
def test_every_command_is_listed_and_says_when_it_ends_how() -> None:
    listed = CliRunner().invoke(main, ["--help"]).output
    for name, command in main.commands.items():
        assert f"  {name}" in listed and command.help
        inner = [[name, each] for each in command.commands] if isinstance(command, Group) else [[name]]
        for words in inner:
            text = CliRunner().invoke(main, [*words, "--help"]).output
            assert "--project" in text or name in {"conformance", "derive"}, words
    assert "Exit codes: 0 clean, 1 findings, 2 could not run." in listed
