"""The project file and the contract as they lie on disk: absent, readable, or broken in words that name the file."""

from pathlib import Path

import pytest

from remit._contract.files import contract_at, settings_of
from remit._contract.manifest import assemble
from remit.errors import DefinitionError


def written(folder: Path, data: bytes) -> Path:
    file = folder / "pyproject.toml"
    file.write_bytes(data)
    return file


@pytest.mark.parametrize(
    ("data", "settings"),
    [(b"", None), (b"[tool.other]", None), (b"[tool.remit]\na = 1", {"a": 1}), (b"tool.remit = 7", 7)],
    ids=["empty", "other", "table", "number"],
)
def test_the_settings_of_a_project_are_what_its_table_says(tmp_path: Path, data: bytes, settings: object) -> None:
    assert settings_of(written(tmp_path, data), "pyproject.toml") == settings


def test_where_no_file_is_there_are_no_settings_and_no_contract(tmp_path: Path) -> None:
    inside = written(tmp_path, b"") / "deeper"
    for nowhere in (tmp_path / "none", inside):
        assert settings_of(nowhere, "pyproject.toml") is None
        assert contract_at(nowhere) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a = [", "is no TOML: "),
        (b'a = "\xff"', "is no TOML: it is no UTF-8"),
        (b"a = " + b"[" * 10_000, "is no TOML: it is nested too deep"),
        (b"tool = 1", "is no project file: tool is no table"),
    ],
    ids=["broken", "bytes", "deep", "no table"],
)
def test_a_project_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        settings_of(written(tmp_path, data), "app/pyproject.toml")
    assert (refused.value.code, refused.value.subject) == ("CONTRACT_MISMATCH", "app/pyproject.toml")
    assert why in str(refused.value)


def test_what_is_no_file_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="cannot be read: Is a directory"):
        settings_of(tmp_path, "pyproject.toml")
    with pytest.raises(DefinitionError, match="is a directory and no file"):
        contract_at(tmp_path)
    with pytest.raises(DefinitionError, match="cannot be read: File name too long"):
        contract_at(tmp_path / ("x" * 300))


def test_a_contract_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "remit.contract.json"
    file.write_bytes(assemble([], [], {}, exposure={}, policies=[]).to_bytes())
    manifest = contract_at(file)
    assert manifest is not None
    assert manifest.to_bytes() == file.read_bytes()
    assert manifest.on_both_planes == ()
