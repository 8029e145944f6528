"""The file with the keys of a deployment: for its owner alone, replaced as a whole (SPEC 15.1)."""

import json
import stat
from pathlib import Path

import pytest

from remit._session.keys_file import new_keys, read_keys, rotate_keys

pytestmark = pytest.mark.requirement("15.1-keys-in-a-file")


def test_a_new_file_is_for_its_owner_alone_and_kept_from_git(tmp_path: Path) -> None:
    file = tmp_path / ".remit" / "keys.json"
    made = new_keys(file)
    assert read_keys(file) == made and made.active == "k1" and not made.development
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (tmp_path / ".remit" / ".gitignore").read_text() == "*\n"
    assert made.keys["k1"] not in repr(made)
    assert new_keys(tmp_path / "other.json").keys != made.keys
    assert not (tmp_path / ".gitignore").exists()  # not a folder of ours


def test_rotating_keeps_the_key_before_for_reading_and_drops_the_one_before_that(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    first = new_keys(file)
    second = rotate_keys(file)
    assert (second.active, set(second.keys), second.keys["k1"]) == ("k2", {"k1", "k2"}, first.keys["k1"])
    third = rotate_keys(file)
    assert (third.active, set(third.keys), third.keys["k2"]) == ("k3", {"k2", "k3"}, second.keys["k2"])
    assert read_keys(file) == third
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]


def test_a_file_is_not_written_over_but_one_for_development(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = new_keys(file, development=True)
    assert made.development and read_keys(file) == made
    with pytest.raises(FileExistsError, match="remit keys rotate"):
        new_keys(file, development=True)
    with pytest.raises(ValueError, match=r"(?s)made for development.*do  remit keys new"):
        rotate_keys(file)
    assert read_keys(file) == made
    real = new_keys(file)
    assert not real.development and made.keys["k1"] not in real.keys.values()
    assert made.keys["k1"] not in file.read_text(encoding="utf-8")
    with pytest.raises(FileExistsError, match="remit keys rotate"):
        new_keys(file)
    assert read_keys(file) == real


def test_what_is_not_there_or_may_be_read_by_others_is_said(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    assert read_keys(file) is None
    with pytest.raises(FileNotFoundError, match="remit keys new"):
        rotate_keys(file)
    new_keys(file)
    file.chmod(0o640)
    with pytest.raises(PermissionError, match="chmod 600"):
        read_keys(file)


@pytest.mark.parametrize(
    "form",
    [
        "",
        "[]",
        '{"active": "k1"}',
        '{"active": "k2", "keys": {"k1": "' + "a" * 64 + '"}}',
        '{"active": "k1", "keys": {"k1": "short"}}',
        '{"active": "k1", "keys": {"k1": 3}}',
        '{"active": 1, "keys": {}}',
    ],
)
def test_what_holds_no_keys_is_refused_and_left_as_it_is(tmp_path: Path, form: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(form, encoding="utf-8")
    file.chmod(0o600)
    for ask in (read_keys, rotate_keys, new_keys):
        with pytest.raises(ValueError, match="holds no keys"):
            ask(file)
    assert file.read_text(encoding="utf-8") == form


def test_names_of_ones_own_are_kept_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"active": "spring", "keys": {"spring": "a" * 64}}), encoding="utf-8")
    file.chmod(0o600)
    rotated = rotate_keys(file)
    assert (rotated.active, dict(rotated.keys)["spring"]) == ("k1", "a" * 64)
