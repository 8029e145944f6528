"""`remit check --base` and `remit diff`: what a reviewer and a pipeline are told (SPEC 13.1, 13.6)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit._contract.manifest import FILE_NAME, parse
from remit.cli import main
from remit.compiler import Drift, compile_project, drift

APP = '''
from typing import Literal

from remit import Component, Procedures, action, observation, reference

backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable(ids: list[str]) -> int:
    """Disable devices in the fleet."""
    return 1


class Table(Component, type="devices.table"):
    """Table of devices."""

    @observation
    def read_state(self) -> int:
        """Visible devices."""
        return 1

    @action
    def select_rows(self, mode: Literal["replace", "add"] = "replace") -> None:
        """Replace the selection."""

    disable = reference("domain:devices.disable", approver="fleet-operator")
'''
SETTINGS = """
[tool.remit]
entries = ["app"]
"""
MOVING = '''
from remit import Component, reference
from remit.procedures.openapi import OpenAPI, Operation

backend = OpenAPI(
    "backend.json", base_url="http://127.0.0.1:9", expose={{"m": Operation("{request}", effect="server-mutation")}}
)


class Page(Component, type="page"):
    """A page."""

    m = reference("domain:m")
'''
EDITED = (
    APP.replace(', approver="fleet-operator"', "")
    .replace('Literal["replace", "add"]', 'Literal["replace"]')
    .replace("Visible devices.", "Devices that are visible.")
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def git(root: Path, *arguments: str) -> None:
    """Run git, whatever the machine's own settings are."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=Reviewer", "-c", "user.email=reviewer@example.org")
    subprocess.run(("git", "-C", str(root), *who, *arguments), check=True, env={**os.environ, **settings})


def ran(root: Path, *arguments: str, color: bool = False) -> Result:
    """The command as a person runs it."""
    return CliRunner().invoke(main, [*arguments, "--project", str(root)], color=color)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose contract is compiled and committed as `main`, below the root of its repository."""
    top = tmp_path_factory.mktemp("signed")
    root = top / "service"
    root.mkdir()
    (root / "app.py").write_text(APP, encoding="utf-8")
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Without a contract")
    git(top, "tag", "before")
    assert ran(root, "compile").exit_code == 0
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Signed")
    return root


@pytest.fixture(scope="module")
def edited(signed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The signed project, edited and compiled again: what a pull request shows."""
    top = tmp_path_factory.mktemp("edited") / "repository"
    shutil.copytree(signed.parent, top)
    root = top / "service"
    (root / "app.py").write_text(EDITED, encoding="utf-8")
    assert ran(root, "compile").exit_code == 0
    return root


@pytest.mark.requirement("13.6-a-reviewer-can-read-it")
def test_every_change_is_told_with_class_place_before_and_after(edited: Path) -> None:
    checked = ran(edited, "check", "--base", "main")
    assert checked.exit_code == 1
    assert [re.split(r"  +", line) for line in checked.output.splitlines()] == [
        ["WIDENING", "domain:devices.disable", "approver", "fleet-operator → the principal", "app.py:27"],
        ["BREAKING", "view:devices.table.selectRows", "input mode", "one of replace, add → only replace", "app.py:23"],
        [
            "neutral",
            "view:devices.table.readState",
            "description",
            '"Visible devices." → "Devices that are visible."',
            "app.py:18",
        ],
        ["1 widening, 1 breaking, 1 neutral; remit.contract.json equals the source"],
    ]


@pytest.mark.requirement("10.2-the-request-is-recorded")
def test_another_request_under_one_name_is_drift_that_widens_and_breaks(tmp_path: Path) -> None:
    root = tmp_path / "service"
    root.mkdir()
    answers = {"post": {"summary": "Do it", "responses": {"204": {"description": ""}}}}
    paths = {"/m": answers, "/everything": {"delete": answers["post"]}}
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    (root / "backend.json").write_text(json.dumps(document), encoding="utf-8")
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    source = MOVING.format(request="POST /m")
    (root / "app.py").write_text(source, encoding="utf-8")
    assert ran(root, "compile").exit_code == 0
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Signed")
    (root / "app.py").write_text(MOVING.format(request="DELETE /everything"), encoding="utf-8")
    assert ran(root, "check").exit_code == 1
    assert ran(root, "compile").exit_code == 0
    checked = ran(root, "check", "--base", "main")
    assert checked.exit_code == 1
    words = [re.split(r"  +", line) for line in checked.output.splitlines()]
    (moved,) = [line for line in words if line[1:2] == ["operation m"]]
    assert moved[0] == "WIDENING+BREAKING"
    assert moved[2:] == ["request", '"POST /m" → "DELETE /everything"']


@pytest.mark.requirement("13.6-classes-select-and-hide-nothing")
@pytest.mark.parametrize(
    ("fails", "exit_code"),
    [
        ("all", 1),
        ("widening", 1),
        ("breaking", 1),
        ("neutral", 1),
        ("narrowing", 0),
        ("none", 0),
        ("narrowing,breaking", 1),
    ],
)
def test_the_classes_that_fail_are_chosen_and_no_row_is_hidden(edited: Path, fails: str, exit_code: int) -> None:
    checked = ran(edited, "check", "--base", "main", "--fail-on", fails)
    assert checked.exit_code == exit_code
    assert len(checked.output.splitlines()) == 4


@pytest.mark.requirement("13.6-classes-select-and-hide-nothing")
def test_a_class_that_is_none_could_not_run(edited: Path) -> None:
    checked = ran(edited, "check", "--base", "main", "--fail-on", "widning")
    assert checked.exit_code == 2
    assert "there is no class 'widning'" in checked.stderr


@pytest.mark.requirement("13.6-classes-select-and-hide-nothing")
def test_the_case_of_a_class_does_not_matter(edited: Path) -> None:
    assert ran(edited, "check", "--base", "main", "--fail-on", "WIDENING").exit_code == 1
    assert ran(edited, "check", "--base", "main", "--fail-on", "Narrowing").exit_code == 0


@pytest.mark.requirement("13.6-classes-select-and-hide-nothing")
@pytest.mark.parametrize("words", ["none,all", "widening,none"])
def test_all_and_none_stand_alone(edited: Path, words: str) -> None:
    checked = ran(edited, "check", "--base", "main", "--fail-on", words)
    assert checked.exit_code == 2
    assert "all and none stand alone" in checked.stderr


@pytest.mark.requirement("13.6-a-reviewer-can-read-it")
@pytest.mark.parametrize(
    ("turns", "retry", "words"),
    [
        ("parallel(5)", "Retry(3)", ("one at a time in an instance → 5 at once", "(none) → 3 attempts")),
        (
            "key('export')",
            "Retry(3, backoff=1.0)",
            (
                'one at a time in an instance → by key "export"',
                "(none) → 3 attempts, pauses from 1 s to 2 s, jitter 0.5",
            ),
        ),
        (
            "'capability'",
            "Retry(2)",
            ("instance → one at a time, apart from the rest of the instance", "(none) → 2 attempts"),
        ),
    ],
)
def test_turns_and_attempts_are_told_in_words(
    signed: Path, tmp_path: Path, turns: str, retry: str, words: tuple[str, str]
) -> None:
    root = tmp_path / "waits" / "service"
    shutil.copytree(signed.parent, root.parent)
    source = APP.replace("@action", f"@action(concurrency={turns})").replace(
        "@observation", f"@observation(retry={retry})"
    )
    source = source.replace("reference\n\n", "reference, Retry, key, parallel\n\n", 1)
    (root / "app.py").write_text(source, encoding="utf-8")
    told = ran(root, "check").output
    assert all(each in told for each in words), told
    assert "{" not in told


@pytest.mark.requirement("13.6-unequal-always-fails")
@pytest.mark.parametrize("base", [(), ("--base", "main")])
@pytest.mark.parametrize(
    ("find", "put", "why"),
    [
        ('"capabilities"', '<<<<<<< HEAD\n"capabilities"', "is no contract: it is no JSON, line 2"),
        ('"always"', '"never"', "the hash of domain:devices.disable does not fit its row"),
    ],
)
def test_a_contract_that_cannot_be_read_says_why_and_lists_nothing_as_added(
    signed: Path, tmp_path: Path, base: tuple[str, ...], find: str, put: str, why: str
) -> None:
    root = tmp_path / "merged" / "service"
    shutil.copytree(signed.parent, root.parent)
    file = root / FILE_NAME
    file.write_text(file.read_text(encoding="utf-8").replace(find, put, 1), encoding="utf-8")
    checked = ran(root, "check", *base)
    since = "; no change since main" if base else ""
    assert checked.exit_code == 1
    assert checked.output == f"{FILE_NAME} {why}{since}\ndo  remit compile; review; commit\n"
    told = json.loads(ran(root, "check", *base, "--format", "json").stdout)
    assert (told["failed"], told["equals_source"], told["changes"]) == (True, False, [])
    assert told["unreadable"] is not None
    assert told["unreadable"].startswith(FILE_NAME)


@pytest.mark.requirement("13.6-unequal-always-fails")
def test_an_unequal_contract_stands_before_no_change(edited: Path, tmp_path: Path) -> None:
    root = tmp_path / "back" / "service"
    shutil.copytree(edited.parent, root.parent)
    (root / "app.py").write_text(APP, encoding="utf-8")
    checked = ran(root, "check", "--base", "main")
    assert checked.exit_code == 1
    assert checked.output.startswith(f"{FILE_NAME} does not equal the source; no change since main\n")


@pytest.mark.requirement("13.6-unequal-always-fails")
def test_a_contract_that_does_not_equal_the_source_fails_whatever_else_may(signed: Path, tmp_path: Path) -> None:
    root = tmp_path / "renamed"
    shutil.copytree(signed.parent, root)
    (root / "service" / "app.py").write_text(APP.replace("mode:", "how:"), encoding="utf-8")
    unsigned = ran(root / "service", "check", "--base", "main", "--fail-on", "none")
    assert unsigned.exit_code == 1
    assert "remit.contract.json does not equal the source" in unsigned.output
    assert ran(root / "service", "compile").exit_code == 0
    refreshed = ran(root / "service", "check", "--base", "main")
    assert refreshed.exit_code == 1  # compiled again without a review: the base still tells
    assert "BREAKING" in refreshed.output
    assert "remit.contract.json equals the source" in refreshed.output


@pytest.mark.requirement("13.6-four-renderings")
def test_json_holds_every_row_and_no_absolute_path(edited: Path) -> None:
    checked = ran(edited, "check", "--base", "main", "--format", "json")
    told = json.loads(checked.stdout)
    assert (told["failed"], told["equals_source"], told["base"]) == (True, True, "main")
    assert told["unreadable"] is None
    assert told["counts"] == {"widening": 1, "breaking": 1, "narrowing": 0, "neutral": 1}
    assert told["changes"][0] == {
        "classes": ["widening"],
        "subject": "domain:devices.disable",
        "component": "devices.table",
        "field": "approver",
        "before": "fleet-operator",
        "after": "the principal",
        "place": "app.py:27",
    }
    assert str(edited) not in checked.output


@pytest.mark.requirement("13.6-four-renderings")
def test_github_annotates_what_fails_as_errors_at_its_line(edited: Path) -> None:
    lines = ran(edited, "check", "--base", "main", "--format", "github").stdout.splitlines()
    assert lines[0] == (
        "::error file=app.py,line=27,title=WIDENING domain%3Adevices.disable::approver: fleet-operator → the principal"
    )
    assert lines[2].startswith("::notice file=app.py,line=18,title=neutral ")
    assert lines[3].startswith("::error title=remit.contract.json::1 widening, 1 breaking, 1 neutral")


@pytest.mark.requirement("13.6-four-renderings")
def test_github_gives_hints_on_standard_error(signed: Path, tmp_path: Path) -> None:
    root = tmp_path / "unsigned"
    shutil.copytree(signed.parent, root)
    (root / "service" / "app.py").write_text(EDITED, encoding="utf-8")
    checked = ran(root / "service", "check", "--base", "main", "--format", "github")
    assert checked.stderr == "do  remit compile; review; commit\n"
    assert all(line.startswith("::") for line in checked.stdout.splitlines())


@pytest.mark.requirement("13.6-four-renderings")
def test_md_is_a_table_that_reads_data_as_data(edited: Path) -> None:
    lines = ran(edited, "check", "--base", "main", "--format", "md").stdout.splitlines()
    assert lines[0] == "**1 widening, 1 breaking, 1 neutral; remit.contract.json equals the source**"
    assert lines[4] == (
        "| WIDENING | `domain:devices.disable` | `approver` | `fleet-operator` | `the principal` | `app.py:27` |"
    )


@pytest.mark.requirement("13.6-four-renderings")
@pytest.mark.parametrize("verbosity", ["min", "normal", "detail"])
def test_colour_only_repeats_a_word(edited: Path, verbosity: str) -> None:
    asked = ("check", "--base", "main", "--verbosity", verbosity)
    plain, coloured = ran(edited, *asked), ran(edited, *asked, color=True)
    assert ANSI.sub("", coloured.output) == plain.output
    assert "\x1b" not in plain.output


@pytest.mark.requirement("13.6-four-renderings")
def test_verbosity_widens_one_view(edited: Path) -> None:
    told = {
        each: ran(edited, "check", "--base", "main", "--verbosity", each).output for each in ("min", "normal", "detail")
    }
    headline = "1 widening, 1 breaking, 1 neutral; remit.contract.json equals the source\n"
    assert told["min"] == headline
    assert all(text.endswith(headline) for text in told.values())
    shown = "domain:devices.disable\n  WIDENING  approver    app.py:27\n    before  fleet-operator\n"
    assert shown in told["detail"]


@pytest.mark.requirement("13.1-a-base-without-a-contract")
def test_a_base_without_a_contract_counts_everything_as_added(edited: Path) -> None:
    checked = ran(edited, "check", "--base", "before")
    assert checked.exit_code == 1
    rows = [line for line in checked.output.splitlines() if line.startswith("WIDENING")]
    assert len(rows) == 3
    assert all("capability  (none) → " in row for row in rows)
    assert "before has no contract, everything counts as added" in checked.output
    assert ran(edited, "check", "--base", "before", "--fail-on", "breaking").exit_code == 0


@pytest.mark.requirement("13.1-check-exits-2")
def test_a_base_that_git_does_not_know_could_not_run(edited: Path, tmp_path: Path) -> None:
    checked = ran(edited, "check", "--base", "origin/nowhere")
    assert checked.exit_code == 2
    assert "git knows no revision 'origin/nowhere' here" in checked.stderr
    assert "git fetch origin nowhere" in checked.stderr
    shutil.copytree(edited, tmp_path / "outside")
    outside = ran(tmp_path / "outside", "check", "--base", "main")
    assert outside.exit_code == 2
    assert "this is no git repository" in outside.stderr


@pytest.mark.requirement("13.1-check-exits-2")
@pytest.mark.parametrize("named", ["", "nowhere", "main:remit.contract.json", "origin/"])
def test_only_a_branch_of_origin_is_to_be_fetched(edited: Path, named: str) -> None:
    checked = ran(edited, "check", "--base", named)
    assert checked.exit_code == 2
    assert f"git knows no revision {named!r} here" in checked.stderr
    assert "fetch" not in checked.stderr


@pytest.mark.requirement("13.3-base-imports-no-old-code")
def test_the_base_is_read_and_none_of_its_code_is_imported(edited: Path, tmp_path: Path) -> None:
    top = tmp_path / "repository"
    shutil.copytree(edited.parent, top)
    (top / "service" / "app.py").write_text("raise SystemExit('old code ran')\n", encoding="utf-8")
    git(top, "commit", "-q", "-am", "Broken source beside a whole contract")
    (top / "service" / "app.py").write_text(EDITED, encoding="utf-8")
    assert ran(top / "service", "check", "--base", "HEAD").exit_code == 0


@pytest.mark.requirement("13.6-moves-are-matched-by-id")
def test_a_declaration_in_another_file_is_no_change(edited: Path, tmp_path: Path) -> None:
    root = tmp_path / "moved"
    root.mkdir()
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (root / "app.py").write_text("import elsewhere\n", encoding="utf-8")
    (root / "elsewhere.py").write_text(EDITED, encoding="utf-8")
    before, after = compile_project(edited).manifest, compile_project(root).manifest
    assert drift(before, after, {}).changes == ()


@pytest.mark.requirement("13.6-moves-are-matched-by-id")
def test_a_reference_in_another_component_is_one_that_stayed(edited: Path, tmp_path: Path) -> None:
    root = tmp_path / "moved"
    root.mkdir()
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    line = '    disable = reference("domain:devices.disable")\n'
    drawer = f'\n\nclass Drawer(Component, type="devices.drawer"):\n    """One device."""\n\n{line}'
    (root / "app.py").write_text(EDITED.replace(line, "") + drawer, encoding="utf-8")
    before, after = compile_project(edited).manifest, compile_project(root).manifest
    told = drift(before, after, {}).changes
    assert [(each.subject, each.field, each.before, each.after, each.worst) for each in told] == [
        ("domain:devices.disable", "component", "devices.table", "devices.drawer", Drift.NEUTRAL)
    ]


@pytest.mark.requirement("13.7-diff")
def test_diff_compares_files_and_revisions_and_fails_nothing(edited: Path) -> None:
    by_revision = ran(edited, "diff", "main")
    assert by_revision.exit_code == 0
    assert by_revision.output.splitlines()[-1] == "1 widening, 1 breaking, 1 neutral"
    same = ran(edited, "diff", str(edited / FILE_NAME))
    assert same.output == f"no change since {FILE_NAME}\n"
    reverse = ran(edited, "diff", str(edited / FILE_NAME), "main")
    assert reverse.output.splitlines()[-1] == "1 widening, 1 narrowing, 1 neutral"


@pytest.mark.requirement("13.7-diff")
@pytest.mark.parametrize("named", ["/", "", "main:remit.contract.json"])
def test_diff_of_neither_a_file_nor_a_revision_says_so(edited: Path, named: str) -> None:
    compared = ran(edited, "diff", named)
    assert compared.exit_code == 2
    assert f"{named!r} is neither a file nor a revision here" in compared.stderr
    assert "fetch" not in compared.stderr


@pytest.mark.requirement("13.7-diff")
def test_diff_of_what_is_no_contract_could_not_run(edited: Path) -> None:
    compared = ran(edited, "diff", str(edited / "app.py"))
    assert compared.exit_code == 2
    assert "app.py is no contract" in compared.stderr


@pytest.mark.requirement("13.6-moves-are-matched-by-id")
def test_a_contract_does_not_differ_from_itself(edited: Path) -> None:
    manifest = parse((edited / FILE_NAME).read_bytes())
    assert drift(manifest, manifest, {}).changes == ()


@pytest.mark.requirement("13.1-inspect-shows")
def test_inspect_lists_everything_whatever_the_contract_says(signed: Path, tmp_path: Path) -> None:
    shutil.copytree(signed, tmp_path / "drifted")
    (tmp_path / "drifted" / "app.py").write_text(EDITED, encoding="utf-8")
    shown = ran(tmp_path / "drifted", "inspect")
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.output.splitlines()[1:4]] == [
        "domain:devices.disable",
        "view:devices.table.readState",
        "view:devices.table.selectRows",
    ]
