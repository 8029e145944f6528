"""Installed distributions: which of their files count, and which one a file belongs to (SPEC 13.5)."""

import json
from pathlib import Path

import pytest

from remit._contract.distribution import installed, normal_name, owner_of


def install(site: Path, name: str, *, record: str | None, origin: str | None = None) -> Path:
    """A folder of metadata as an installer leaves it."""
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    if record is not None:
        (folder / "RECORD").write_text(record, encoding="utf-8")
    if origin is not None:
        (folder / "direct_url.json").write_text(origin, encoding="utf-8")
    return folder


def editable(source: Path) -> str:
    return json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(tmp_path / "no-such-folder"))
    return folder


def test_names_have_one_spelling() -> None:
    assert normal_name("Acme_.Tools") == "acme-tools"


def test_the_digest_is_over_what_an_author_shipped_and_not_what_an_installer_wrote(site: Path) -> None:
    paths = [
        "acme/__init__.py",
        "acme/__pycache__/x.pyc",
        "../../bin/acme",
        "/etc/acme",
        "acme_tools-1.0.dist-info/RECORD",
    ]
    install(site, "acme_tools", record="\n".join(f"{path},," for path in paths) + "\n\n")
    (site / "acme").mkdir()
    (site / "acme" / "__init__.py").write_text("A = 1\n", encoding="utf-8")
    found = installed("acme-tools")
    assert found is not None
    assert (found.name, found.version, found.editable, [*found.files]) == (
        "acme-tools",
        "1.0",
        False,
        ["acme/__init__.py"],
    )
    before = found.files_digest
    assert before is not None and before.startswith("sha256:")
    (site / "acme" / "__init__.py").write_text("A = 2\n", encoding="utf-8")
    again = installed("acme-tools")
    assert again is not None and again.files_digest not in {None, before}
    (site / "acme" / "__init__.py").unlink()
    gone = installed("acme-tools")
    assert gone is not None and gone.files_digest not in {None, before, again.files_digest}


@pytest.mark.parametrize("record", [None, ""])
def test_without_a_record_no_files_are_fixed(site: Path, record: str | None) -> None:
    install(site, "acme", record=record)
    found = installed("acme")
    assert found is not None and found.files_digest is None


def test_what_nobody_installed_is_nobodys(site: Path, tmp_path: Path) -> None:
    install(site, "acme", record="acme.py,,\n")
    assert installed("no-such-distribution") is None
    assert owner_of(tmp_path / "mine.py") is None
    assert owner_of(site / "other.py") is None


def test_a_file_belongs_to_the_distribution_whose_record_has_it_exactly(site: Path) -> None:
    install(site, "first", record="longer/name.py,,\n")  # holds the text `name.py`, and no such file
    install(site, "second", record="name.py,,\n")
    owner = owner_of(site / "name.py")
    assert owner is not None and owner.name == "second"
    owner = owner_of(site / "longer" / "name.py")
    assert owner is not None and owner.name == "first"


def test_an_editable_one_has_its_code_where_its_source_is_and_no_digest(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    install(site, "acme", record="acme.pth,,\n", origin=editable(source))
    owner = owner_of(source / "acme" / "tables.py")
    assert owner is not None
    assert (owner.name, owner.editable, owner.folder, owner.files_digest) == ("acme", True, source, None)
    assert owner.path_of(source / "acme" / "tables.py") == "acme/tables.py"


@pytest.mark.parametrize(
    "origin",
    ["no json", "[]", '"text"', '{"dir_info": {"editable": true}}', '{"dir_info": {"editable": true}, "url": 7}'],
)
def test_an_origin_that_says_nothing_is_none(site: Path, origin: str) -> None:
    install(site, "acme", record="acme.py,,\n", origin=origin)
    found = installed("acme")
    assert found is not None
    assert (found.editable, found.folder, [*found.files]) == (False, site, ["acme.py"])
