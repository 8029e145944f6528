"""What `remit inspect` and `remit doctor` say of what a machine wrote, and of what nobody vouches for (SPEC 11.9)."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit.cli import main

APP = '''
from remit import Component, Procedures, observation, reference

backend = Procedures()

@backend.operation("orders.note", effect="server-mutation")
async def note(text: str) -> int:
    """Write a note."""
    return 1

@backend.operation("orders.find", effect="server-query")
async def find(words: str) -> int:
    """Find orders."""
    return 1

class Orders(Component, type="orders"):
    """Orders."""

    note = reference("domain:orders.note", source="derived")
    find = reference("domain:orders.find", source="derived", fidelity="high")

    @observation(fidelity="medium")
    def read_state(self) -> int:
        """What is shown."""
        return 1
'''
SETTINGS = '[tool.remit]\nentries = ["app"]\n[tool.remit.exposure]\nmcp = ["domain:orders.*"]\nderived = [{patterns}]\n'


def project(root: Path, patterns: str = '"domain:orders.note"') -> Path:
    (root / "app.py").write_text(APP, encoding="utf-8")
    (root / "pyproject.toml").write_text(SETTINGS.format(patterns=patterns), encoding="utf-8")
    return root


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(root)])


@pytest.mark.requirement("11.9-in-the-contract")
def test_inspect_shows_who_wrote_it_how_well_it_is_known_and_that_it_is_at_no_door(tmp_path: Path) -> None:
    shown = run(project(tmp_path), "inspect")
    assert shown.exit_code == 0
    lines = {line.split()[0]: " ".join(line.split()) for line in shown.output.splitlines() if line}
    gates = [" ".join(line.split()) for line in shown.output.split("\n\n")[1].splitlines()]
    assert lines["view:orders.readState"].endswith("medium fidelity")
    assert "domain:orders.note derived, low fidelity" in gates
    assert "domain:orders.find derived" in gates
    table = shown.output.splitlines()
    (found,) = [line for line in table if line.startswith("domain:orders.find") and "server-query" in line]
    assert "mcp" not in found and "embedded" not in found
    detail = run(tmp_path, "inspect", "domain:orders.note").output
    assert [line.split() for line in detail.splitlines() if line.split()[0] in {"source", "fidelity"}] == [
        ["source", "derived"],
        ["fidelity", "low"],
    ]
    told = json.loads(run(tmp_path, "inspect", "--json").output)["capabilities"]
    by_id = {each["id"]: each for each in told}
    assert by_id["domain:orders.find"]["doors"] == {}
    assert by_id["domain:orders.note"]["doors"]["mcp"] == "domain:orders.*"
    assert (by_id["view:orders.readState"]["source"], by_id["view:orders.readState"]["fidelity"]) == (
        "declared",
        "medium",
    )


@pytest.mark.requirement("11.9-in-the-contract")
def test_doctor_names_a_pattern_of_what_is_derived_that_matches_nothing_derived(tmp_path: Path) -> None:
    told = run(project(tmp_path, '"domain:orders.note", "view:orders.*"'), "doctor").output
    assert "derived: view:orders.* matches nothing" in told
    assert "derived: domain:orders.note matches nothing" not in told
    assert "mcp: 1 of 3 capabilities are exposed" in told


@pytest.mark.requirement("11.9-in-the-contract")
def test_a_computed_source_is_a_finding_and_so_is_another_word(tmp_path: Path) -> None:
    root = project(tmp_path)
    file = root / "app.py"
    file.write_text(APP.replace('"derived", fidelity', 'str("derived"), fidelity'), encoding="utf-8")
    assert "source= is" in run(root, "compile").stderr
    file.write_text(APP.replace('fidelity="high"', 'fidelity="sure"'), encoding="utf-8")
    refused = run(root, "compile")
    assert refused.exit_code == 2
    assert "fidelity='sure' is no level" in refused.stderr
    (root / "pyproject.toml").write_text(
        SETTINGS.format(patterns="").replace("derived =", "derive ="), encoding="utf-8"
    )
    assert "there is no door 'derive'" in run(root, "compile").stderr
