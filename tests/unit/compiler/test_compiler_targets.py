"""Several builds of one source have one contract (SPEC 13.1)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit import Component, observation
from remit._contract.authority import Authority
from remit._contract.manifest import Block, assemble, parse
from remit._contract.row import rows_of
from remit.cli import main
from remit.cli.detail import as_detail
from remit.cli.report import as_json, as_text, lines_of
from remit.compiler import Drift, compile_project, drift, write_contract
from remit.errors import CompileError, DefinitionError

WriteProject = Callable[..., Path]
TARGETS = 'entries = ["shared"]\n[tool.remit.targets]\nweb = ["web"]\nworker = ["worker"]\n'


def component(name: str, type_name: str, text: str = "Read.", operation: str = "") -> str:
    return f'''
from remit import Component, observation, reference

class {name}(Component, type="{type_name}"):
    """Text."""

    @observation
    def read(self) -> int:
        """{text}"""
        return 1
{operation}'''


def backend(text: str) -> str:
    return f'''
from remit import Procedures

operations = Procedures()

@operations.operation("shop.search", effect="server-query")
async def search() -> int:
    """{text}"""
    return 1
'''


class Here(Component, type="t.here"):
    """Text."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1


def ran(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(root)])


@pytest.mark.requirement("13.1-targets", "13.1-inspect-targets")
def test_targets_that_agree_are_listed_together_and_change_no_capabilitys_hash(write_project: WriteProject) -> None:
    files = {
        "shared": component("Shared", "t.shared"),
        "web": component("Web", "t.web") + "import late\n",
        "worker": component("Worker", "t.worker"),
        "late": component("Late", "t.late"),
    }
    root = write_project(TARGETS, **files)
    compiled = compile_project(root)
    rows = compiled.manifest.capabilities
    assert {key[0]: rows[key]["targets"] for key in rows} == {
        "t.late": ["web"],
        "t.shared": ["web", "worker"],
        "t.web": ["web"],
        "t.worker": ["worker"],
    }
    assert compiled.places[("t.late", "view:t.late.read")] == "late.py:6"
    lines = lines_of(compiled.manifest, compiled.places)
    assert [line.split()[-3:] for line in as_text(lines, None).splitlines()[:3]] == [
        ["doors", "targets", "where"],
        ["test", "web", "late.py:6"],
        ["web,", "worker", "shared.py:6"],
    ]
    assert "  targets        web, worker" in as_detail(lines[1], rows["t.shared", "view:t.shared.read"]).splitlines()
    assert json.loads(as_json(lines, compiled.manifest, ()))["capabilities"][1]["targets"] == ["web", "worker"]
    write_contract(root, compiled.manifest)
    assert Authority.load(root / "remit.contract.json").hash == compiled.manifest.hash

    write_project(TARGETS.replace('worker = ["worker"]', 'worker = ["worker", "late"]'), **files)
    wider = compile_project(root).manifest
    assert {key: row["hash"] for key, row in wider.capabilities.items()} == {key: rows[key]["hash"] for key in rows}
    assert wider.hash != compiled.manifest.hash
    (change,) = drift(compiled.manifest, wider, {}).changes
    assert (change.subject, change.field, set(change.classes)) == ("view:t.late.read", "targets", {Drift.WIDENING})

    write_project('entries = ["shared", "web", "worker"]', **files)
    plain = compile_project(root).manifest
    assert {key: row["hash"] for key, row in plain.capabilities.items()} == {key: rows[key]["hash"] for key in rows}
    assert not any("targets" in row for row in plain.capabilities.values())
    assert {each.worst for each in drift(plain, wider, {}).changes} == {Drift.NEUTRAL}


@pytest.mark.requirement("13.1-targets")
def test_targets_that_differ_fail_with_both_places_and_what_differs(write_project: WriteProject) -> None:
    referring = '    search = reference("domain:shop.search")\n'
    root = write_project(
        TARGETS,
        shared="",
        web=component("Page", "t.page", operation=referring) + backend("Search."),
        worker=component("Page", "t.page", "Read all.")
        + component("Own", "t.own", operation=referring)
        + backend("Find."),
    )
    with pytest.raises(CompileError) as caught:
        compile_project(root)
    found = [str(each).split("\n", 1)[0] for each in caught.value.findings]
    assert any(
        each == "worker.py:6  view:t.page.read: description differs between the targets web and worker, "
        "declared at web.py:6 and here"
        for each in found
    ), found
    assert "t.page: capabilities differs between the targets web and worker" in found
    assert any(each.startswith("domain:shop.search: ") and "description" in each for each in found), found
    refused = ran(root, "compile")
    assert refused.exit_code == 2
    assert "write  one declaration that all of them import" in refused.stderr


@pytest.mark.requirement("13.1-targets")
def test_a_target_is_compiled_as_if_there_were_no_other(write_project: WriteProject) -> None:
    root = write_project(
        TARGETS,
        shared="import os\nos.environ['ONCE'] = os.environ.get('ONCE', '') + 'x'\nassert os.environ['ONCE'] == 'x'\n",
        web=component("Web", "t.web"),
        worker="from remit import Component\nclass A(Component, type='a.b'.upper()):\n    '''A.'''\n",
    )
    told = ran(root, "compile")
    assert told.exit_code == 2
    assert told.stderr.startswith("worker.py:2  type= is the expression")


@pytest.mark.requirement("13.1-targets")
def test_a_target_named_by_hand_is_found_by_the_hash_of_the_whole(write_project: WriteProject) -> None:
    root = write_project(TARGETS, shared=component("A", "t.a"), web="", worker="")
    form = json.loads(compile_project(root).manifest.to_bytes())
    form["capabilities"][0]["targets"].append("more")
    with pytest.raises(DefinitionError, match="the hash of the whole"):
        parse((json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())


@pytest.mark.requirement("13.1-targets")
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ('targets = ["web"]', "targets is no table"),
        ('entries = ["app"]\n[tool.remit.targets]\nweb = "web"', "web is no list of names"),
    ],
)
def test_settings_of_targets_are_judged(write_project: WriteProject, settings: str, text: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_project(write_project(settings, app=""))
    assert text in str(caught.value)


@pytest.mark.requirement("13.1-targets")
def test_a_class_mounts_whatever_targets_its_row_names() -> None:
    rows = rows_of(Here, {})
    blocks: list[Block] = [{**row.block, "targets": ["web", "worker"]} for row in rows.capabilities]
    manifest = assemble([rows.block], blocks, {}, exposure={}, policies=())
    assert Authority(manifest).seal(Here).type == "t.here"
