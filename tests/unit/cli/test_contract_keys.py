"""`remit keys`, and what `remit doctor` says of the file (SPEC 15.1, 13.7)."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remit._session.keys_file import new_keys, read_keys
from remit.cli import main
from tests.unit.cli.test_contract_doctor import APP, SETTINGS

KEPT = SETTINGS.replace("[tool.remit]\n", '[tool.remit]\nstate = ".remit/state.db"\n', 1)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMIT_ENV", "REMIT_COMPILE", "REMIT_DEV"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(KEPT, encoding="utf-8")
    return tmp_path


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def keys_check(root: Path) -> dict[str, Any]:
    checks: list[dict[str, Any]] = json.loads(ran("doctor", "--json", "--project", root).stdout)["checks"]
    return next(each for each in checks if each["check"] == "keys")


@pytest.mark.requirement("15.1-keys-in-a-file")
def test_the_file_is_made_beside_the_state_or_where_it_is_named(root: Path) -> None:
    assert ran("keys", "new", "--project", root).output.startswith("keys.json  k1 signs and binds\n")
    assert read_keys(root / ".remit" / "keys.json") is not None
    again = ran("keys", "new", "--project", root)
    assert (again.exit_code, "do  remit keys rotate" in again.output) == (2, True)
    assert "k2 signs and binds, k1 still reads" in ran("keys", "rotate", "--project", root).output
    (root / "pyproject.toml").write_text(KEPT.replace("state", 'keys = "secret/other.json"\nstate', 1), "utf-8")
    ran("keys", "new", "--project", root)
    assert read_keys(root / "secret" / "other.json") is not None
    ran("keys", "new", "--file", root / "third.json")
    assert read_keys(root / "third.json") is not None


def test_without_a_state_nothing_is_written(root: Path) -> None:
    (root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    for command in ("new", "rotate"):
        refused = ran("keys", command, "--project", root)
        assert (refused.exit_code, "names no state" in refused.output) == (2, True)
    assert not (root / ".remit").exists()


@pytest.mark.requirement("13.7-doctor-production")
def test_the_doctor_looks_at_the_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keys_check(root)["what"] == "app.py:14  a development key in keys.json, made at start"
    file = root / ".remit" / "keys.json"
    monkeypatch.setenv("REMIT_ENV", "production")
    missing = keys_check(root)
    assert (missing["ok"], missing["what"], missing["do"]) == (False, "there is no keys.json", "remit keys new")
    new_keys(file, development=True)
    assert keys_check(root)["what"] == "keys.json was made for development"
    new_keys(file)
    assert (keys_check(root)["ok"], keys_check(root)["what"]) == (True, "app.py:14  keys.json")
    file.chmod(0o644)
    shared = keys_check(root)
    assert (shared["ok"], shared["do"]) == (False, f"chmod 600 {file}")
