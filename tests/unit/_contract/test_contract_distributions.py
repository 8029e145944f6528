"""What is installed, which files of it count, and whether a live class is from what was approved (SPEC 13.5)."""

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from remit import Authority, DefinitionError
from remit._contract.distribution import installed, normal_name, owner_of
from remit._contract.external import ExternalRecord, digest_of
from remit._contract.manifest import Manifest, assemble, parse
from remit._contract.row import rows_of

TOOL = '''
from remit import Component, action


class Tool(Component, type="acme.tool"):
    """Of the dependency."""

    @action
    def turn(self) -> None:
        """Turn."""
'''
HEIR = '''
from acme_parts.tool import Tool


class Heir(Tool, type="own.heir"):
    """Of the project, and built upon it."""
'''
ACME = {"acme_parts/__init__.py": "", "acme_parts/tool.py": TOOL}


class Environment:
    """A folder that distributions are installed in, in front of every other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def install(
        self,
        files: Mapping[str, str],
        *,
        name: str = "Acme_Parts",
        version: str = "1.0",
        beside: Iterable[str] = (),
        origin: str | None = None,
    ) -> Path:
        """Write a distribution as an installer does; `beside` are more lines of its record."""
        info = self.folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        listed = [*files, f"{info.name}/METADATA", f"{info.name}/RECORD", f"{info.name}/INSTALLER"]
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in (*listed, *beside)), encoding="utf-8")
        if origin is not None:
            (info / "direct_url.json").write_text(origin, encoding="utf-8")
        return info


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    made = Environment(tmp_path / "site")
    monkeypatch.syspath_prepend(str(made.folder))
    for name in ("acme_parts", "acme_parts.tool", "own_parts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return made


@pytest.fixture
def loaded(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a module, and forget it when the test ends."""

    def load(name: str) -> ModuleType:
        importlib.invalidate_caches()
        before = set(sys.modules)
        module = importlib.import_module(name)
        for each in set(sys.modules) - before:
            monkeypatch.setitem(sys.modules, each, sys.modules.pop(each))
        return module

    return load


def contract(*classes: type, external: ExternalRecord | None = None, files: str | None) -> Manifest:
    rows = [rows_of(each, {}) for each in classes]
    components = [each.block for each in rows]
    capabilities = [row.block for each in rows for row in each.capabilities]
    digest = digest_of("acme-parts", ["acme.tool"], files, components=components, capabilities=capabilities)
    record = ExternalRecord(
        name="acme-parts",
        version="1.0",
        components=("acme.tool",),
        extends=(),
        files=files,
        digest=digest,
        approved=digest,
    )
    extends = tuple(each.block["type"] for each in rows if each.block["type"] != "acme.tool")
    held = replace(record, extends=tuple(str(each) for each in extends))
    manifest = assemble(components, capabilities, {}, exposure={}, policies=(), external=[held])
    return parse(manifest.to_bytes())


@pytest.mark.requirement("13.5-digest-of-files")
def test_a_name_has_one_spelling() -> None:
    assert {normal_name(each) for each in ("Acme_Parts", "acme.parts", "ACME--parts")} == {"acme-parts"}


@pytest.mark.requirement("13.5-digest-of-files")
def test_the_files_of_the_record_count_and_what_an_installer_writes_does_not(environment: Environment) -> None:
    outside = ("../../bin/acme", "/abs/acme.py", "acme_parts/__pycache__/tool.cpython-311.pyc")
    environment.install(ACME, beside=outside)
    found = installed("acme.parts")
    assert found is not None and (found.name, found.version, found.editable) == ("acme-parts", "1.0", False)
    assert sorted(found.files) == [
        "Acme_Parts-1.0.dist-info/METADATA",
        "acme_parts/__init__.py",
        "acme_parts/tool.py",
    ]
    digest = found.files_digest
    assert digest is not None and digest == found.files_digest
    (environment.folder / "acme_parts" / "tool.py").write_text("# other\n", encoding="utf-8")
    other = installed("acme-parts")
    assert other is not None and other.files_digest not in (None, digest)
    (environment.folder / "acme_parts" / "tool.py").unlink()
    gone = installed("acme-parts")
    assert gone is not None and gone.files_digest not in (None, digest, other.files_digest), "a file that is not there"
    assert installed("acme-nothing") is None


@pytest.mark.requirement("13.5-digest-of-files")
def test_a_distribution_without_a_record_has_no_digest_of_files(environment: Environment) -> None:
    info = environment.install({})
    (info / "RECORD").write_text("", encoding="utf-8")
    found = installed("acme-parts")
    assert found is not None and found.files_digest is None and not found.files


@pytest.mark.requirement("13.5-digest-of-files")
def test_a_file_belongs_to_the_distribution_whose_record_has_it(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.install(ACME)
    environment.install({"other.py": ""}, name="other")
    monkeypatch.syspath_prepend(str(tmp_path / "not-there"))
    owner = owner_of(environment.folder / "acme_parts" / "tool.py")
    assert owner is not None and owner.name == "acme-parts"
    assert owner.path_of(environment.folder / "acme_parts" / "tool.py") == "acme_parts/tool.py"
    assert owner.path_of(environment.folder / "acme_parts" / "more.py") is None, "it is in no record"
    assert owner.path_of(tmp_path / "elsewhere.py") is None
    assert owner_of(environment.folder / "acme_parts" / "more.py") is None
    assert owner_of(tmp_path / "elsewhere.py") is None


@pytest.mark.requirement("13.5-digest-of-files")
def test_a_file_that_another_record_only_begins_like_is_not_its_own(environment: Environment) -> None:
    environment.install({"tool.py.txt": ""}, name="near")
    (environment.folder / "tool.py").write_text("", encoding="utf-8")
    assert owner_of(environment.folder / "tool.py") is None


@pytest.mark.requirement("13.5-digest-of-files")
def test_an_editable_source_is_where_it_is_written_and_has_no_digest(environment: Environment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "tool.py").write_text("", encoding="utf-8")
    environment.install({}, origin=json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
    owner = owner_of(source / "tool.py")
    assert owner is not None and (owner.editable, owner.folder, owner.files_digest) == (True, source, None)
    assert owner.path_of(source / "deep" / "any.py") == "deep/any.py"


@pytest.mark.requirement("13.5-digest-of-files")
@pytest.mark.parametrize(
    "origin", ["{", "[]", '{"dir_info": {"editable": true}}', '{"url": "file:///x", "dir_info": {}}', '{"url": 1}']
)
def test_what_does_not_say_that_it_is_editable_is_not(environment: Environment, origin: str) -> None:
    environment.install(ACME, origin=origin)
    found = installed("acme-parts")
    assert found is not None and not found.editable and found.files_digest is not None


@pytest.mark.requirement("13.5-runs-as-approved")
def test_a_class_of_what_was_approved_is_sealed_with_its_origin(
    environment: Environment, loaded: Callable[[str], ModuleType]
) -> None:
    environment.install(ACME)
    environment.folder.joinpath("own_parts.py").write_text(HEIR, encoding="utf-8")
    tool, heir = loaded("acme_parts.tool").Tool, loaded("own_parts").Heir
    found = installed("acme-parts")
    assert found is not None
    authority = Authority(contract(tool, heir, files=found.files_digest))
    assert authority.seal(tool).origin == "acme-parts"
    assert authority.seal(heir).origin is None, "it is the project's own"


@pytest.mark.requirement("13.5-runs-as-approved")
@pytest.mark.parametrize(
    ("install", "rule"),
    [
        (None, "is approved in the contract and not installed"),
        ({**ACME, "acme_parts/more.py": ""}, "its installed files are not those that were approved"),
    ],
)
def test_a_class_is_not_sealed_when_something_else_or_nothing_is_installed(
    environment: Environment, loaded: Callable[[str], ModuleType], install: Mapping[str, str] | None, rule: str
) -> None:
    info = environment.install(ACME)
    tool = loaded("acme_parts.tool").Tool
    found = installed("acme-parts")
    assert found is not None
    manifest = contract(tool, files=found.files_digest)
    for each in info.iterdir():
        each.unlink()
    info.rmdir()
    if install is not None:
        environment.install(install)
    importlib.invalidate_caches()
    with pytest.raises(DefinitionError, match=rule) as refused:
        Authority(manifest).seal(tool)
    assert refused.value.code == "CONTRACT_MISMATCH" and refused.value.subject == "acme-parts"
    assert ("approved" in dict(refused.value.facts)) is (install is not None)


@pytest.mark.requirement("13.5-runs-as-approved")
def test_of_an_editable_source_the_files_are_never_those_that_were_approved(
    environment: Environment, loaded: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    origin = json.dumps({"url": environment.folder.as_uri(), "dir_info": {"editable": True}})
    environment.install(ACME, origin=origin)
    tool = loaded("acme_parts.tool").Tool
    with pytest.raises(DefinitionError) as refused:
        Authority(contract(tool, files="sha256:0")).seal(tool)
    assert dict(refused.value.facts)["installed"] == "1.0, an editable source"
    assert Authority(contract(tool, files=None)).seal(tool).origin == "acme-parts", "its rows alone were approved"


@pytest.mark.requirement("13.5-runs-as-approved")
@pytest.mark.parametrize("module", ["__main__", "no_such_module", "json"])
def test_a_class_that_is_not_from_the_files_of_what_was_approved_is_not_sealed(
    environment: Environment, loaded: Callable[[str], ModuleType], module: str
) -> None:
    environment.install(ACME)
    tool: Any = loaded("acme_parts.tool").Tool
    found = installed("acme-parts")
    assert found is not None
    manifest = contract(tool, files=found.files_digest)
    tool.__module__ = module
    with pytest.raises(DefinitionError, match=r"is approved for acme\.tool, and the live class is not from its files"):
        Authority(manifest).seal(tool)
