"""`remit migrate`: the store's schema goes forward, and only so (SPEC 15.6)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit.cli import main
from remit.store.schema import STEPS, VERSION, Step, migrate, version_of

SETTINGS = '[tool.remit]\nentries = ["app"]\nstate = "state.db"\n'


def ran(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["migrate", *map(str, arguments)])


def version(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return version_of(connection)[0]


@pytest.mark.requirement("15.6-an-older-file-waits-for-migrate")
def test_the_state_of_the_project_goes_to_the_schema_of_this_version(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        migrate(connection, STEPS[:1])
    first, second = ran("--project", tmp_path), ran("--project", tmp_path)
    assert (first.exit_code, first.output) == (0, f"state.db has the schema {VERSION}, it had 1\n")
    assert (second.exit_code, second.output) == (0, f"state.db has the schema {VERSION}\n")
    assert version(file) == VERSION


@pytest.mark.requirement("15.6-a-newer-file-is-left-alone")
def test_a_newer_store_is_a_finding_and_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        migrate(connection, (*STEPS, Step('CREATE TABLE "more" ("id" TEXT);\n', oldest=VERSION)))
    again = ran(file)
    assert again.exit_code == 1
    assert f"newer than this version's {VERSION}; it was left as it is" in again.output
    assert version(file) == VERSION + 1


def test_what_names_no_store_could_not_run(tmp_path: Path) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    assert "[tool.remit] names no state" in ran("--project", tmp_path).output
    settings.write_text('[tool.remit]\nentries = ["app"]\nstate = 3\n', encoding="utf-8")
    assert "[tool.remit] state is the path of a file" in ran("--project", tmp_path).output
    broken = tmp_path / "text.db"
    broken.write_text("no database" * 200, encoding="utf-8")
    assert [ran(broken).exit_code, ran("--project", tmp_path).exit_code] == [2, 2]
    assert "is no store, or is damaged" in ran(broken).output
