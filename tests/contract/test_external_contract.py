"""Dependencies that ship components: nothing of theirs counts until it is approved by name and digest (SPEC 13.5)."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit._contract.distribution import owner_of
from remit.cli import main
from tests.contract import plugin

APP = """
import asyncio

from acme_plugin.tool import Tool, backend
from remit import Accept, Authority, Consumer, DefinitionError, Surface


def guard(candidate):
    print("origin", candidate.origin)
    return Accept()


async def work() -> None:
    authority = Authority.load(beside=__file__)
    surface = Surface(authority, principal="operator", procedures=backend, guard=guard)
    surface.confirmations.attach_page()
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(Tool(), origin="somebody-else"):
        print((await agent.call(Tool.read)).output)
        print((await agent.call(Tool.turn, {"by": "x"})).error.code)
        print((await agent.call(Tool.wipe, {"disk": 1})).error.code, surface.confirmations.pending() != ())
        try:
            type(Tool).__setattr__(Tool, "turn", None)
        except DefinitionError as problem:
            print(problem.rule)


if __name__ == "__main__":
    try:
        asyncio.run(work())
    except DefinitionError as problem:
        print(problem)
"""
MIXIN = '''
from acme_plugin.base import Counting
from remit import Component


class Mine(Counting, Component, type="mine"):
    """Ours, by their base."""
'''
BASE = '''
from remit import observation


class Counting:
    @observation
    def count(self) -> int:
        """How many."""
        return 1
'''


@dataclass(frozen=True, slots=True)
class Site:
    """A project, the folder its dependencies are installed in, and the source of the plugin."""

    root: Path
    site: Path
    source: Path

    def approve(self, *lines: str) -> None:
        """Write the settings of the project, with approvals."""
        text = '[tool.remit]\nentries = ["app"]\n' + "".join(
            f"{line}\n" for line in (["[tool.remit.external]", *lines] if lines else [])
        )
        (self.root / "pyproject.toml").write_text(text, encoding="utf-8")

    def ran(self, *arguments: str) -> Result:
        """The command in this process, for this project."""
        return CliRunner().invoke(main, [*arguments, "--project", str(self.root)])

    def refused(self) -> str:
        """What a compile that must not succeed says."""
        ran = self.ran("compile")
        assert (ran.exit_code, ran.stdout) == (2, ""), ran.output
        assert not (self.root / "remit.contract.json").exists()
        return str(ran.stderr)

    def written(self) -> dict[str, object]:
        """The contract of a compile that must succeed."""
        ran = self.ran("compile")
        assert ran.exit_code == 0, ran.stderr
        form: dict[str, object] = json.loads((self.root / "remit.contract.json").read_bytes())
        return form


def line_in(text: str) -> str:
    """The line to add, as the compiler printed it."""
    found = re.search(r'acme-plugin = (?:"[^"]+"|\{[^}]+\})', text)
    assert found, text
    return found[0]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path / "project", tmp_path / "site", tmp_path / "source")
    made.root.mkdir()
    (made.root / "app.py").write_text(APP, encoding="utf-8")
    made.approve()
    plugin.install(made.source, made.site)
    monkeypatch.setenv("PYTHONPATH", plugin.found_at(made.site))
    monkeypatch.syspath_prepend(str(made.site))
    return made


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The line of the settings, and the contract, of the project as it is approved."""
    made = Site(*(tmp_path_factory.mktemp("approved") / name for name in ("project", "site", "source")))
    made.root.mkdir()
    (made.root / "app.py").write_text(APP, encoding="utf-8")
    made.approve()
    plugin.install(made.source, made.site)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", plugin.found_at(made.site))
        patched.syspath_prepend(str(made.site))
        line = line_in(made.refused())
        made.approve(line)
        made.written()
    return line, made.root / "remit.contract.json"


def program(site: Site) -> str:
    """What the program of the project prints."""
    ran = subprocess.run([sys.executable, "app.py"], check=True, capture_output=True, text=True, cwd=site.root)
    return ran.stdout


@pytest.mark.requirement("13.5-unapproved")
def test_a_dependency_adds_nothing_until_its_name_and_digest_are_approved(site: Site) -> None:
    told = site.refused()
    assert told.startswith("pyproject.toml  the dependency acme-plugin 1.0 adds acme.tool, and is not approved\n")
    assert "  write  [tool.remit.external]  acme-plugin = " in told
    assert str(site.site) not in told
    site.approve(line_in(told))
    form = site.written()
    assert [each["id"] for each in form["capabilities"]] == [  # type: ignore[attr-defined]
        "domain:acme.wipe",
        "view:acme.tool.read",
        "view:acme.tool.turn",
    ]


@pytest.mark.requirement("13.1-targets")
@pytest.mark.requirement("13.5-unapproved")
def test_what_is_approved_of_a_dependency_holds_for_every_target(site: Site) -> None:
    more = {"base.py": BASE}
    plugin.install(site.source, site.site, plugin.FILES | more)
    (site.root / "desk.py").write_text("import app\n", encoding="utf-8")
    (site.root / "kiosk.py").write_text(MIXIN, encoding="utf-8")
    targets = '[tool.remit.targets]\ndesk = ["desk"]\nkiosk = ["kiosk"]\n'
    site.approve()
    settings = site.root / "pyproject.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + targets, encoding="utf-8")
    line = line_in(site.refused())
    settings.write_text(f"{settings.read_text(encoding='utf-8')}[tool.remit.external]\n{line}\n", encoding="utf-8")
    form = site.written()
    into = {each["id"]: each["targets"] for each in form["capabilities"]}  # type: ignore[attr-defined]
    assert into["view:acme.tool.read"] == ["desk", "kiosk"]
    assert into["view:mine.count"] == ["kiosk"]
    recorded = form["external"][0]  # type: ignore[index]
    assert (recorded["components"], recorded["extends"]) == (["acme.tool"], ["mine"])
    assert "as shipped" in program(site)


@pytest.mark.requirement("13.5-recorded")
def test_the_contract_keeps_what_a_dependency_is_beside_what_was_approved(approved: tuple[str, Path]) -> None:
    line, file = approved
    digest = line.split('"')[1]
    (block,) = json.loads(file.read_bytes())["external"]
    assert block.pop("files").startswith("sha256:")
    assert block == {
        "name": "acme-plugin",
        "version": "1.0",
        "components": ["acme.tool"],
        "extends": [],
        "digest": digest,
        "approved": digest,
    }


@pytest.mark.requirement("13.5-changed")
def test_a_dependency_that_changed_fails_with_both_digests(approved: tuple[str, Path], site: Site) -> None:
    line, _ = approved
    site.approve(line)
    plugin.install(site.source, site.site, plugin.FILES | {"data.txt": "other data"})
    told = site.refused()
    was, now = line.split('"')[1], line_in(told).split('"')[1]
    assert was != now
    assert f"the dependency acme-plugin 1.0 changed: approved {was}, computed {now}\n" in told
    assert "is not approved" not in told
    site.approve(line_in(told))
    assert site.ran("check").exit_code == 1  # compiles now; the contract is the old one, or none
    site.written()


@pytest.mark.requirement("13.5-runs-as-approved", "4.5-origin-of-a-dependency")
def test_a_tool_of_a_dependency_is_governed_like_any_other_and_has_its_origin(
    approved: tuple[str, Path], site: Site
) -> None:
    shutil.copy(approved[1], site.root)
    site.approve(approved[0])
    assert program(site).splitlines() == [
        "origin acme-plugin",
        "as shipped",
        "INVALID_INPUT",
        "CONFIRMATION_REQUIRED True",
        "a capability cannot be replaced or removed once its class exists",
    ]


@pytest.mark.requirement("13.5-runs-as-approved")
def test_a_dependency_that_is_not_installed_as_approved_is_not_mounted(approved: tuple[str, Path], site: Site) -> None:
    shutil.copy(approved[1], site.root)
    site.approve(approved[0])
    file = site.site / "acme_plugin" / "tool.py"
    file.write_text(plugin.COMPONENT.replace("as shipped", "as patched"), encoding="utf-8")
    told = program(site)
    assert told.startswith(
        "[CONTRACT_MISMATCH] acme-plugin: its installed files are not those that were approved\n  approved  1.0, sha"
    )
    assert "as patched" not in told
    file.write_text(plugin.COMPONENT, encoding="utf-8")
    (info,) = site.site.glob("*.dist-info")
    shutil.rmtree(info)
    assert program(site).startswith("[CONTRACT_MISMATCH] acme-plugin: is approved in the contract and not installed\n")


@pytest.mark.requirement("13.5-runs-as-approved")
def test_a_class_that_only_says_it_is_the_dependencys_is_not_mounted(approved: tuple[str, Path], site: Site) -> None:
    shutil.copy(approved[1], site.root)
    own = APP.replace("from acme_plugin.tool import Tool, backend", "from own import Tool, backend")
    (site.root / "app.py").write_text(own, encoding="utf-8")
    (site.root / "own.py").write_text(plugin.COMPONENT, encoding="utf-8")
    assert program(site).startswith(
        "[CONTRACT_MISMATCH] acme-plugin: is approved for acme.tool, and the live class is not from its files\n"
    )


@pytest.mark.requirement("13.5-rows-alone")
def test_rows_may_be_approved_without_the_files(site: Site) -> None:
    digest = "sha256:" + "0" * 64
    site.approve(f'acme-plugin = {{ digest = "{digest}", files = false }}')
    line = line_in(site.refused())
    assert line.endswith(", files = false }")
    site.approve(line)
    plugin.install(site.source, site.site, plugin.FILES | {"data.txt": "other data"})
    first = site.written()
    assert first["external"][0]["version"] is None  # type: ignore[index]
    (site.root / "remit.contract.json").unlink()
    looser = plugin.COMPONENT.replace("Field(ge=1)", "Field(ge=0)")
    plugin.install(site.source, site.site, plugin.FILES | {"tool.py": looser})
    assert "acme-plugin 1.0 changed: approved " in site.refused()


@pytest.mark.requirement("13.5-rows-alone")
def test_of_an_editable_source_only_the_rows_can_be_approved(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(site.site)
    plugin.install_editable(site.source, site.site)
    src = site.source / "src"
    monkeypatch.setenv("PYTHONPATH", plugin.found_at(site.site, src))
    monkeypatch.syspath_prepend(str(src))
    line = line_in(site.refused())
    assert line.endswith(", files = false }")
    site.approve(f'acme-plugin = "sha256:{"0" * 64}"')
    assert "acme-plugin are not fixed: it is installed from an editable source" in site.refused()
    site.approve(line)
    site.written()
    assert program(site).startswith("origin acme-plugin\nas shipped\n")


@pytest.mark.requirement("13.5-what-is-inherited")
def test_what_a_component_inherits_from_a_dependency_is_approved_too(site: Site) -> None:
    plugin.install(site.source, site.site, plugin.FILES | {"base.py": BASE})
    (site.root / "app.py").write_text(MIXIN, encoding="utf-8")
    told = site.refused()
    assert "the dependency acme-plugin 1.0 adds what mine inherits, and is not approved\n" in told
    site.approve(line_in(told))
    form = site.written()
    assert form["external"][0]["extends"] == ["mine"]  # type: ignore[index]
    shown = site.ran("inspect").output
    assert "acme-plugin:acme_plugin/base.py:6" in shown, shown
    assert "acme-plugin  1.0      (inherited by mine)  sha256:" in shown


@pytest.mark.requirement("13.5-read-statically")
def test_an_approved_dependency_is_read_like_the_project(approved: tuple[str, Path], site: Site) -> None:
    hidden = plugin.COMPONENT + "\n\ndef make():\n    class Late(Component, type='acme.late'):\n        '''Late.'''\n"
    plugin.install(site.source, site.site, plugin.FILES | {"tool.py": hidden})
    site.approve(approved[0])
    assert site.refused().startswith(
        "acme-plugin:acme_plugin/tool.py:33  the component Late is declared in a function\n"
    )


@pytest.mark.requirement("13.5-nobodys-classes")
def test_a_class_that_nobody_installed_is_a_finding(site: Site) -> None:
    (info,) = site.site.glob("*.dist-info")
    shutil.rmtree(info)
    told = site.refused()
    assert told.startswith(
        "tool.py  acme.tool comes from a file that is neither in the project nor of an installed distribution\n"
    )


@pytest.mark.requirement("13.5-malformed-approvals")
@pytest.mark.parametrize(
    "line",
    [
        'acme-plugin = ""',
        'acme-plugin = "nope"',
        f'"" = "sha256:{"a" * 64}"',
        f'acme-plugin = "sha256:{"A" * 64}"',
        "acme-plugin = true",
        "acme-plugin = {}",
        f'acme-plugin = {{ digest = "sha256:{"a" * 64}", file = false }}',
        f'acme-plugin = {{ digest = "sha256:{"a" * 64}", files = "no" }}',
        f'"@acme/plugin" = "sha256:{"a" * 64}"',
    ],
)
def test_an_approval_that_cannot_be_read_could_not_run(line: str, site: Site) -> None:
    site.approve(line)
    assert " is no approval\n  write  [tool.remit.external]  some-plugin = " in site.refused()


@pytest.mark.requirement("13.5-malformed-approvals")
def test_one_name_in_two_spellings_is_approved_twice_and_refused(site: Site) -> None:
    digest = f'"sha256:{"a" * 64}"'
    site.approve(f"acme-plugin = {digest}", f"Acme_Plugin = {digest}")
    assert "[tool.remit.external] approves acme-plugin twice" in site.refused()
    (site.root / "pyproject.toml").write_text(
        '[tool.remit]\nentries = ["app"]\nexternal = ["acme-plugin"]\n', encoding="utf-8"
    )
    assert "external is no table" in site.refused()


@pytest.mark.requirement("13.5-digest-of-files")
def test_the_digest_of_the_files_is_that_of_the_wheel_wherever_it_is_installed(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    plugin.install(tmp_path / "other", other)
    (record,) = other.glob("*.dist-info/RECORD")
    record.write_text(record.read_text(encoding="utf-8").replace("by hand", "otherwise"), encoding="utf-8")
    (record.parent / "INSTALLER").write_text("another\n", encoding="utf-8")
    here = owner_of(site.site / "acme_plugin" / "tool.py")
    sys.path.insert(0, str(other))
    try:
        there = owner_of(other / "acme_plugin" / "tool.py")
    finally:
        sys.path.remove(str(other))
    assert here is not None
    assert there is not None
    assert sorted(here.files) == sorted(there.files)
    assert {Path(each).name for each in here.files} >= {"tool.py", "data.txt", "METADATA", "entry_points.txt"}
    assert not {Path(each).name for each in here.files} & {"RECORD", "INSTALLER", "acme", "tool.cpython-311.pyc"}
    assert here.files_digest == there.files_digest is not None
    (other / "acme_plugin" / "data.txt").unlink()
    sys.path.insert(0, str(other))
    try:
        gone = owner_of(other / "acme_plugin" / "tool.py")
    finally:
        sys.path.remove(str(other))
    assert gone is not None
    assert gone.files_digest != here.files_digest
