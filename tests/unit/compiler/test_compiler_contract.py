"""A project becomes a contract: complete, canonical, without a trace of where it was made (SPEC 13)."""
# ruff: noqa: E501 - a program of one line reads better whole

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from remit._contract.authority import Authority
from remit._contract.manifest import parse
from remit.compiler import compile_project, find_root, read_project, write_contract
from remit.errors import CompileError

WriteProject = Callable[..., Path]
SETTINGS = """
entries = ["app"]
policies = ["authenticated"]
[tool.remit.exposure]
mcp = ["view:devices.**", "domain:devices.disable"]
"""
APP = """
import backend
from tables import DevicesTable
"""
BACKEND = '''
from remit import Principal, Procedures

operations = Procedures()

@operations.operation("devices.disable", effect="destructive")
async def disable(device_ids: list[str], caller: Principal) -> int:
    """Disable devices in the fleet."""
    return len(device_ids)

@operations.operation("devices.unused", effect="server-query")
async def unused() -> int:
    """Nothing refers to this."""
    return 1
'''
TABLES = '''
from dataclasses import dataclass
from typing import Annotated, Literal
from pydantic import BaseModel, Field
from remit import Component, Unavailable, action, observation, reference

class TableState(BaseModel):
    ids: list[str]

@dataclass(slots=True)
class DevicesTable(Component, type="devices.table"):
    """Table of devices."""
    rows: list[str]

    @observation
    def read_state(self) -> TableState:
        """Visible devices."""
        return TableState(ids=self.rows)

    @action
    def select_rows(self, ids: Annotated[list[str], Field(min_length=1)], mode: Literal["a", "b"] = "a") -> None:
        """Replace the selection."""

    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")
    def _(self) -> list[str]:
        return self.rows
'''


@pytest.fixture
def root(write_project: WriteProject) -> Path:
    return write_project(SETTINGS, app=APP, backend=BACKEND, tables=TABLES)


def found(root: Path, limit_s: float = 60.0) -> list[str]:
    with pytest.raises(CompileError) as caught:
        compile_project(root, limit_s=limit_s)
    return [str(each) for each in caught.value.findings]


@pytest.mark.requirement("10.2-only-referenced-operations-are-recorded", "13.4-a-row-per-capability")
def test_the_contract_holds_what_is_declared_and_what_it_refers_to(root: Path) -> None:
    compiled = compile_project(root)
    manifest = compiled.manifest
    assert list(manifest.operations) == ["devices.disable"]
    assert sorted(compiled.offered) == ["devices.disable", "devices.unused"]
    assert compiled.places[("devices.table", "view:devices.table.selectRows")] == "tables.py:19"
    disable = manifest.capabilities[("devices.table", "domain:devices.disable")]
    assert disable["confirmation"] == "always"
    assert disable["approver"] == "fleet-operator"
    assert disable["bound"] == ["device_ids"]
    assert disable["input"] == {"type": "object", "properties": {}, "additionalProperties": False}
    assert manifest.policies == ("authenticated",)
    assert manifest.exposure == {"mcp": ("domain:devices.disable", "view:devices.**")}


@pytest.mark.requirement("13.4-canonical", "13.4-whatever-path-seed-locale-and-order")
def test_equal_sources_give_equal_bytes_whatever_the_path_seed_locale_and_import_order(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = compile_project(root).manifest.to_bytes()
    elsewhere = tmp_path / "somewhere else" / "ünïcode"
    shutil.copytree(root, elsewhere)
    (elsewhere / "app.py").write_text("from tables import DevicesTable\nimport backend\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    monkeypatch.setenv("LC_ALL", "C")
    script = (
        "import sys; from pathlib import Path; from remit.compiler import compile_project;"
        "sys.stdout.buffer.write(compile_project(Path(sys.argv[1])).manifest.to_bytes())"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(elsewhere)], check=True, capture_output=True, cwd=tmp_path)
    assert ran.stdout == data
    assert str(tmp_path).encode() not in data
    assert b'"generator": "remit ' in data


@pytest.mark.requirement("13.1-compile-writes-the-contract")
def test_the_written_contract_loads_and_verifies(root: Path) -> None:
    manifest = compile_project(root).manifest
    assert write_contract(root, manifest) is True
    assert write_contract(root, manifest) is False
    authority = Authority.load(beside=str(root / "pages" / "deep.py"))
    assert authority.hash == manifest.hash
    assert parse((root / "remit.contract.json").read_bytes()).to_bytes() == manifest.to_bytes()
    assert sorted(path.name for path in root.iterdir()) == [
        "app.py", "backend.py", "pyproject.toml", "remit.contract.json", "tables.py",
    ]  # fmt: skip


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_modules_below_src_are_found(write_project: WriteProject) -> None:
    root = write_project('entries = ["shop"]', files={"src/shop/__init__.py": TABLES.replace("disable", "d", 0)})
    (root / "src" / "shop" / "back.py").write_text(BACKEND, encoding="utf-8")
    (root / "src" / "shop" / "__init__.py").write_text(TABLES + "\nfrom . import back\n", encoding="utf-8")
    assert "src/shop/__init__.py:" in str(list(compile_project(root).places.values()))


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_a_lazily_imported_module_is_compiled_too(write_project: WriteProject) -> None:
    root = write_project(app="def later():\n    import tables, backend\n", tables=TABLES, backend=BACKEND)
    assert len(compile_project(root).manifest.capabilities) == 3


@pytest.mark.requirement("10.1-an-operation-is-listed-by-a-catalogue")
def test_a_reference_that_no_catalogue_lists_is_a_finding(write_project: WriteProject) -> None:
    (finding,) = found(write_project(app="import tables", tables=TABLES))
    assert finding.startswith("tables.py:23  domain:devices.disable no catalogue lists this operation")
    assert '@backend.operation("devices.disable"' in finding


@pytest.mark.requirement("10.1-one-id-is-listed-once")
def test_two_catalogues_with_one_name_are_a_finding(write_project: WriteProject) -> None:
    root = write_project(app="import one, two", one=BACKEND, two=BACKEND)
    assert "two catalogues list domain:devices.disable" in "\n".join(found(root))


@pytest.mark.requirement("10.1-catalogues-at-module-level")
def test_one_catalogue_under_two_names_counts_once(write_project: WriteProject) -> None:
    root = write_project(app="from backend import operations\nagain = operations", backend=BACKEND)
    assert list(compile_project(root).offered) == ["devices.disable", "devices.unused"]


@pytest.mark.requirement("2.7-planes-do-not-share-a-name")
def test_one_name_on_both_planes_is_refused(write_project: WriteProject) -> None:
    backend = BACKEND.replace("devices.disable", "devices.table.readState")
    root = write_project(app=APP, backend=backend, tables=TABLES.replace("devices.disable", "devices.table.readState"))
    assert "view:devices.table.readState" in found(root)[0]


@pytest.mark.requirement("13.3-an-import-that-fails")
def test_a_module_that_raises_is_a_finding_at_its_line(write_project: WriteProject) -> None:
    (finding,) = found(write_project(app="x = 1\n\nraise ValueError('not\\ntoday')\n"))
    assert finding == "app.py:3  importing app raised ValueError: not today"


@pytest.mark.requirement("13.2-found-and-what-to-write")
def test_a_declaration_that_cannot_stand_is_a_finding_with_what_to_do(write_project: WriteProject) -> None:
    app = 'from remit import Component, observation\nclass A(Component, type="a"):\n    """A."""\n    @observation\n    def read(self) -> int: ...\n'
    (finding,) = found(write_project(app=app))
    assert finding.startswith("app.py:2  a.read has no description\n  write  write a docstring")


@pytest.mark.requirement("13.3-schemas-are-derived")
def test_a_schema_that_agents_cannot_have_is_a_finding(write_project: WriteProject) -> None:
    app = 'from remit import Component, observation\nclass A(Component, type="a"):\n    """A."""\n    @observation\n    def read(self) -> tuple[int, str]:\n        """Read."""\n'
    (finding,) = found(write_project(app=app))
    assert finding.startswith("app.py:4  a.read ")


@pytest.mark.requirement("13.2-found-and-what-to-write")
def test_a_finding_in_what_is_inherited_names_the_file_it_stands_in(write_project: WriteProject) -> None:
    base = 'from remit import Component, observation\nclass Base(Component):\n    @observation\n    def read(self) -> tuple[int, str]:\n        """Read."""\n'
    app = 'from base import Base\n\n\n\nclass A(Base, type="a"):\n    """A."""\n'
    (finding,) = found(write_project(app=app, base=base))
    assert finding.startswith("base.py:3  a.read ")


@pytest.mark.requirement("13.3-time-limit")
def test_an_entry_that_does_not_return_is_a_finding_with_its_line(write_project: WriteProject) -> None:
    app = "import threading\n\ndef serve():\n    threading.Event().wait()\n\nserve()\n"
    (finding,) = found(write_project(app=app), limit_s=1.0)
    assert finding.startswith("app.py:4  the import was still running at the time limit")
    assert '__name__ in {"__main__", "__mp_main__"}' in finding


@pytest.mark.requirement("13.3-environment-of-the-child")
def test_the_child_knows_no_secret_and_no_home(write_project: WriteProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    app = """
    import os, sys
    from pathlib import Path
    print("noise"); print("noise", file=sys.stderr)
    assert os.environ["REMIT_COMPILE"] == "1"
    assert "API_TOKEN" not in os.environ
    assert list(Path.home().iterdir()) == []
    assert Path.cwd() == Path.home()
    """
    assert compile_project(write_project(app=app)).manifest.capabilities == {}


@pytest.mark.requirement("13.3-no-capability-is-called")
def test_nothing_that_is_declared_is_called(write_project: WriteProject) -> None:
    ended = "raise SystemExit('called')"
    tables = TABLES.replace("return TableState(ids=self.rows)", ended).replace("return self.rows", ended)
    tables += f"""
    @select_rows.available
    def _(self) -> bool:
        {ended}

    def __post_init__(self) -> None:
        {ended}
"""
    backend = BACKEND.replace("return len(device_ids)", ended)
    assert (tables + backend).count(ended) == 5
    project = write_project(app=APP, backend=backend, tables=tables)
    assert len(compile_project(project).manifest.capabilities) == 3


@pytest.mark.requirement("13.3-pending-authority")
def test_an_authority_is_pending_in_the_child(write_project: WriteProject) -> None:
    app = """
    from remit import Authority
    authority = Authority.load(beside=__file__)
    assert authority.pending
    assert authority.operations == {}
    try:
        authority.seal(object)
    except TypeError as problem:
        assert "pending" in str(problem)
    else:
        raise AssertionError
    """
    compile_project(write_project(app=app))


@pytest.mark.requirement("13.3-an-import-that-fails")
def test_a_child_that_dies_is_a_finding(write_project: WriteProject) -> None:
    (finding,) = found(write_project(app="import os\nprint('bye', flush=True)\nos._exit(7)\n"))
    assert finding == "the import pass ended without an answer (exit code 7) bye"


@pytest.mark.requirement("13.1-settings-are-judged")
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ('entries = ["app"]\nentrys = ["b"]', "unknown key 'entrys'"),
        ("policies = []", "names no entries"),
        ('entries = "app"', "entries is no list of names"),
        ('entries = ["app"]\nexposure = 1', "exposure is no table"),
        ('entries = ["app"]\n[tool.remit.exposure]\nmcp = "view:a"', "mcp is no list of names"),
        ('entries = ["app"]\n[tool.remit.exposure]\nfax = ["view:a.b"]', "there is no door 'fax'"),
        ('entries = ["app"]\n[tool.remit.exposure]\nmcp = ["devices"]', "starts with `view:` or `domain:`"),
    ],
)
def test_settings_are_judged(write_project: WriteProject, settings: str, text: str) -> None:
    (finding,) = found(write_project(settings, app=""))
    assert finding.startswith("pyproject.toml  ")
    assert text in finding


@pytest.mark.requirement("13.1-the-project")
def test_the_project_is_the_first_folder_upwards_with_settings(root: Path, tmp_path: Path) -> None:
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    (root / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert find_root(deep) == root
    assert read_project(root).entries == ("app",)
    with pytest.raises(CompileError, match=r"no pyproject\.toml with"):
        find_root(tmp_path)


@pytest.mark.requirement("13.4-a-row-per-capability")
def test_the_file_is_sorted_json_with_one_capability_a_block(root: Path) -> None:
    text = compile_project(root).manifest.to_bytes().decode("utf-8")
    form = json.loads(text)
    assert text == json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert [row["id"] for row in form["capabilities"]] == [
        "domain:devices.disable", "view:devices.table.readState", "view:devices.table.selectRows",
    ]  # fmt: skip


@pytest.mark.requirement("10.3-overridable-is-in-the-row")
def test_overridable_paths_are_read_from_the_source_and_stand_in_the_row(write_project: WriteProject) -> None:
    tables = TABLES.replace('approver="fleet-operator"', 'overridable=("device_ids",)')
    block = compile_project(write_project(SETTINGS, app=APP, backend=BACKEND, tables=tables)).manifest.capabilities[
        ("devices.table", "domain:devices.disable")
    ]
    assert (block["bound"], block["overridable"]) == (["device_ids"], ["device_ids"])
    assert "device_ids" in str(block["input"])
    computed = tables.replace('("device_ids",)', 'tuple(["device_ids"])')
    (finding,) = found(write_project(SETTINGS, app=APP, backend=BACKEND, tables=computed))
    assert "overridable= is the expression" in finding
