"""The commands a person and a pipeline run: text, JSON and exit codes (SPEC 13.1)."""
# ruff: noqa: E501 - a table is compared as it is printed

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit.cli import main
from remit.cli.detail import as_detail
from remit.cli.report import as_json, as_text, lines_of
from remit.compiler import Compiled, compile_project, write_contract

APP = '''
from remit import Component, Procedures, action, observation, reference
from remit.policies import require_grant

backend = Procedures()

@backend.operation("devices.disable", effect="destructive")
async def disable(device_ids: list[str]) -> int:
    """Disable devices in the fleet."""
    return 1

@backend.operation("devices.count", effect="server-query")
async def count() -> int:
    """How many there are."""
    return 1

class DevicesTable(Component, type="devices.table", policies=(require_grant("fleet"),)):
    """Table of devices."""

    @observation
    def read_state(self) -> int:
        """Visible devices."""
        return 1

    @action(doors=("embedded",))
    def select_rows(self, ids: list[str]) -> None:
        """Replace the selection."""

    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")
    def _(self) -> list[str]:
        return []
'''
SETTINGS = """
[tool.remit]
entries = ["app"]
policies = ["authenticated"]
[tool.remit.exposure]
mcp = ["view:devices.**"]
"""


def written(root: Path) -> Path:
    (root / "app.py").write_text(APP, encoding="utf-8")
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(tmp_path)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The project of `root`, compiled once for every test that only reads."""
    return compile_project(written(tmp_path_factory.mktemp("compiled")))


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(root)])


@pytest.mark.requirement("13.1-compile-writes-the-contract")
def test_compile_writes_the_contract_once(root: Path) -> None:
    first, second = run(root, "compile"), run(root, "compile")
    assert (first.exit_code, first.output) == (
        0,
        "wrote  remit.contract.json: 3 capabilities of 1 component, 1 operation\n",
    )
    assert (second.exit_code, second.output) == (
        0,
        "unchanged  remit.contract.json: 3 capabilities of 1 component, 1 operation\n",
    )


@pytest.mark.requirement("13.2-complete-or-exit-2")
def test_compile_with_findings_writes_nothing_and_exits_2(root: Path) -> None:
    (root / "app.py").write_text(APP.replace('type="devices.table"', "type=str()"), encoding="utf-8")
    ran = run(root, "compile")
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr == ("app.py:17  type= is the expression `str()`\n  write  type= with a literal\n1 finding\n")
    assert not (root / "remit.contract.json").exists()


@pytest.mark.requirement("13.1-the-project")
def test_compile_outside_a_project_exits_2_and_says_what_to_write(tmp_path: Path) -> None:
    ran = run(tmp_path, "compile")
    assert ran.exit_code == 2
    assert "no pyproject.toml with [tool.remit]" in ran.stderr


@pytest.mark.requirement("13.1-inspect-shows")
def test_inspect_shows_reach_and_gates(root: Path) -> None:
    ran = run(root, "inspect")
    assert ran.exit_code == 0
    assert ran.output.splitlines() == [
        "capability                     effect       confirmation  who decides                      doors                where",
        "domain:devices.disable         destructive  always        grant fleet-operator, each time  embedded, test       app.py:29",
        "view:devices.table.readState   read         never         -                                embedded, test, mcp  app.py:20",
        "view:devices.table.selectRows  local-state  never         -                                embedded             app.py:25",
        "",
        "gates",
        "domain:devices.disable         policies require-grant:fleet; the view fills device_ids",
        "view:devices.table.readState   policies require-grant:fleet",
        "view:devices.table.selectRows  policies require-grant:fleet",
        "",
        "3 capabilities of 1 component, 1 operation",
        "policies of every surface: authenticated",
        "",
        "offered, not exposed  state   effect        description",
        "domain:devices.count  listed  server-query  How many there are.",
    ]


def detail(compiled: Compiled, id: str) -> str:
    (line,) = [line for line in lines_of(compiled.manifest, compiled.places) if line.id == id]
    return as_detail(line, compiled.manifest.capabilities[line.component, id])


@pytest.mark.requirement("13.1-inspect-one")
def test_inspect_of_one_capability_tells_everything_about_it(compiled: Compiled) -> None:
    block = compiled.manifest.capabilities["devices.table", "domain:devices.disable"]
    assert detail(compiled, "domain:devices.disable").splitlines() == [
        "domain:devices.disable",
        "  component       devices.table",
        "  where           app.py:29",
        "  text            Disable devices in the fleet.",
        "  effect          destructive, not idempotent, not reversible",
        "  confirmation    always; grant fleet-operator, each time",
        "  door embedded   in-process",
        "  door test       in-process",
        "  policies        require-grant:fleet",
        "  filled by view  device_ids",
        "  output          integer",
        "  audit           full",
        f"  hash            {block['hash']}",
    ]
    assert "  input ids      list of text\n" in detail(compiled, "view:devices.table.selectRows")
    assert "  door mcp       view:devices.**\n" in detail(compiled, "view:devices.table.readState")


@pytest.mark.requirement("13.1-inspect-one")
def test_inspect_of_some_shows_these_and_of_an_unknown_one_could_not_run(root: Path) -> None:
    ran = run(root, "inspect", "view:devices.table.readState", "--json")
    assert [each["id"] for each in json.loads(ran.output)["capabilities"]] == ["view:devices.table.readState"]
    ran = run(root, "inspect", "view:devices.table.readState", "view:devices.gone")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.startswith("there is no capability view:devices.gone\n  write  one of those that remit inspect")


@pytest.mark.requirement("13.1-inspect-at-a-door")
def test_inspect_at_a_door_names_what_opened_it(compiled: Compiled) -> None:
    lines = lines_of(compiled.manifest, compiled.places, "mcp")
    assert as_text(lines, "mcp").splitlines()[1] == (
        "view:devices.table.readState  read    never         -            view:devices.**  app.py:20"
    )
    assert [line.id for line in lines] == ["view:devices.table.readState"]


@pytest.mark.requirement("13.1-inspect-at-a-door")
def test_inspect_at_a_closed_door_says_how_to_open_it(root: Path) -> None:
    ran = run(root, "inspect", "--door", "webmcp")
    assert "door webmcp: 0 of 3 capabilities" in ran.output
    assert 'do  add to [tool.remit.exposure]:  webmcp = ["view:…"]' in ran.output


@pytest.mark.requirement("13.1-inspect-shows", "7.9-marks-are-declared", "3.3-sensitive-marks")
def test_inspect_shows_what_may_vary_and_what_is_withheld(root: Path) -> None:
    marked = APP.replace(
        '    @action(doors=("embedded",))\n',
        '    @action(confirmation="required", sensitive=("key",))\n'
        "    def store(self, key: str) -> None:\n"
        '        """Store a key."""\n\n'
        '    @action(doors=("embedded",), confirmation="required", may_vary=MARKED)\n',
    )
    (root / "app.py").write_text(marked.replace("backend = P", 'MARKED = ("ids",)\nbackend = P'), encoding="utf-8")
    compiled = compile_project(root)
    noted = as_text(lines_of(compiled.manifest, compiled.places), None)
    assert "policies require-grant:fleet; may vary once approved for the session: ids" in noted
    assert "policies require-grant:fleet; withheld: key" in noted


@pytest.mark.requirement("11.10-an-allowed-name-has-a-reason")
def test_inspect_of_one_tells_which_denied_names_are_allowed_and_why(root: Path) -> None:
    allowed = APP.replace(
        '    @action(doors=("embedded",))\n',
        '    @action(allow_names={"code": "printed on every parcel"})\n'
        "    def track(self, code: str) -> None:\n"
        '        """Show a parcel."""\n\n'
        '    @action(doors=("embedded",))\n',
    )
    (root / "app.py").write_text(allowed, encoding="utf-8")
    ran = run(root, "inspect", "view:devices.table.track")
    assert ran.exit_code == 0 and "allowed name" in ran.stdout and "code: printed on every parcel" in ran.stdout


@pytest.mark.requirement("13.1-inspect-shows", "11.6-in-the-contract")
def test_inspect_shows_of_which_rows_an_action_is_and_the_contract_names_the_record(root: Path) -> None:
    row = (
        '    @action(record="device")\n'
        "    def rename(self, device: str, label: str) -> None:\n"
        '        """Rename a device."""\n\n'
        "    @rename.records\n"
        "    def all(self, ctx):\n"
        '        return RecordSet(ids=["d1"])\n\n'
        '    @action(doors=("embedded",))\n'
    )
    app = APP.replace('    @action(doors=("embedded",))\n', row).replace(
        "backend = P", "from remit import RecordSet\nbackend = P"
    )
    (root / "app.py").write_text(app, encoding="utf-8")
    compiled = compile_project(root)
    [block] = [each for (_, id), each in compiled.manifest.capabilities.items() if id.endswith(".rename")]
    assert block["record"] == "device"
    assert "for one device of those that `.records` lets reach" in as_text(
        lines_of(compiled.manifest, compiled.places), None
    )
    told = run(root, "inspect", str(block["id"]))
    assert "record         one device of those that `.records` lets reach" in told.output
    (root / "app.py").write_text(app.replace('record="device"', 'record=str("device")'), encoding="utf-8")
    ran = run(root, "compile")
    assert ran.exit_code == 2 and "record= is the expression" in ran.stderr


@pytest.mark.requirement("13.1-inspect-shows", "11.7-in-the-contract")
def test_inspect_shows_where_a_person_does_it_and_the_contract_holds_it(root: Path) -> None:
    row = (
        '    @action(handoff=Handoff("By hand", to="/sign"))\n'
        "    def sign(self) -> None:\n"
        '        """Sign."""\n\n'
        '    @action(doors=("embedded",))\n'
    )
    app = APP.replace('    @action(doors=("embedded",))\n', row).replace(
        "backend = P", "from remit import Handoff\nbackend = P"
    )
    (root / "app.py").write_text(app, encoding="utf-8")
    [block] = [each for (_, id), each in compile_project(root).manifest.capabilities.items() if id.endswith(".sign")]
    assert block["handoff"] == {"reason": "By hand", "to": "/sign"}
    told = run(root, "inspect", str(block["id"])).output
    assert "a person does it  at /sign: By hand" in told
    for written, found in (
        ('to=str("/sign")', "handoff= is the expression"),
        ('to="https://elsewhere.example"', "which is no path of the application's own origin"),
    ):
        (root / "app.py").write_text(app.replace('to="/sign"', written), encoding="utf-8")
        ran = run(root, "compile")
        assert ran.exit_code == 2 and found in ran.stderr


@pytest.mark.requirement("13.2-complete-or-exit-2")
@pytest.mark.parametrize("mark", ["may_vary", "sensitive"])
def test_a_computed_mark_is_a_finding(root: Path, mark: str) -> None:
    computed = APP.replace('@action(doors=("embedded",))', f'@action(confirmation="required", {mark}=sorted(["ids"]))')
    (root / "app.py").write_text(computed, encoding="utf-8")
    ran = run(root, "compile")
    assert ran.exit_code == 2 and f"{mark}= is the expression `sorted(['ids'])`" in ran.stderr


@pytest.mark.requirement("13.1-inspect-shows")
def test_inspect_for_programs_is_json(compiled: Compiled) -> None:
    lines = lines_of(compiled.manifest, compiled.places)
    form = json.loads(as_json(lines, compiled.manifest, [{"id": "domain:devices.count"}]))
    assert form["offered"] == [{"id": "domain:devices.count"}]
    assert form["policies"] == ["authenticated"]
    disable = form["capabilities"][0]
    assert disable["id"] == "domain:devices.disable"
    assert disable["doors"] == {"embedded": "in-process", "test": "in-process"}
    assert disable["decides"] == "grant fleet-operator, each time"
    assert disable["place"] == "app.py:29"


@pytest.mark.requirement("13.1-check-exits-0")
def test_check_passes_when_the_contract_equals_the_source(root: Path, compiled: Compiled) -> None:
    write_contract(root, compiled.manifest)
    ran = run(root, "check")
    assert (ran.exit_code, ran.output) == (
        0,
        "remit.contract.json equals the source: 3 capabilities of 1 component, 1 operation\n",
    )


@pytest.mark.requirement("13.1-check-exits-1")
def test_check_says_what_changed_and_exits_1(root: Path, compiled: Compiled) -> None:
    write_contract(root, compiled.manifest)
    changed = APP.replace("ids: list[str]) -> None", "ids: list[str], add: bool = False) -> None").replace(
        "def read_state", "def read_all"
    )
    (root / "app.py").write_text(changed, encoding="utf-8")
    (root / "pyproject.toml").write_text(
        SETTINGS.replace("view:devices.**", "view:devices.*.readAll"), encoding="utf-8"
    )
    ran = run(root, "check")
    assert ran.exit_code == 1
    rows = [re.split(r"  +", line)[:4] for line in ran.output.splitlines()]
    assert ["narrowing", "view:devices.table.readState", "capability", "read, confirmation never → (none)"] in rows
    assert ["WIDENING", "view:devices.table.readAll", "capability", "(none) → read, confirmation never"] in rows
    assert ["WIDENING", "view:devices.table.selectRows", "input add", "(none) → optional: true or false"] in rows
    assert ["narrowing", "[tool.remit]", "exposure mcp", "view:devices.** → (none)"] in rows
    assert ran.output.endswith("does not equal the source\ndo  remit compile; review; commit\n")


@pytest.mark.requirement("13.1-check-exits-1")
def test_check_without_a_contract_and_with_a_forged_one_exits_1(root: Path, compiled: Compiled) -> None:
    missing = run(root, "check")
    assert missing.exit_code == 1
    assert "there is no remit.contract.json" in missing.output
    write_contract(root, compiled.manifest)
    file = root / "remit.contract.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"always"', '"never"'), encoding="utf-8")
    forged = run(root, "check")
    assert forged.exit_code == 1
    assert "remit.contract.json the hash of domain:devices.disable does not fit its row" in forged.output


@pytest.mark.requirement("13.1-check-exits-2")
def test_check_that_cannot_compile_exits_2(root: Path, compiled: Compiled) -> None:
    write_contract(root, compiled.manifest)
    (root / "app.py").write_text("raise ValueError\n", encoding="utf-8")
    assert run(root, "check").exit_code == 2


@pytest.mark.requirement("13.1-the-project")
def test_the_installed_command_runs_from_a_folder_below_the_project(root: Path) -> None:
    below = root / "docs"
    below.mkdir()
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("remit")), "inspect", "--door", "mcp"],
        check=True,
        capture_output=True,
        text=True,
        cwd=below,
    )
    assert "view:devices.table.readState" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert all(line == line.rstrip() for line in ran.stdout.splitlines())
