"""What `remit catalogue import` writes compiles, whatever a backend calls its operations (SPEC 10.2)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench.backends import large_document
from remit import Component, DefinitionError, Procedures
from remit._contract.component import declaration_of
from remit._contract.operation import record_of
from remit._contract.reference import Reference
from remit._contract.row import rows_of
from remit._model.effects import Effect
from remit.cli import main
from remit.cli.offers import lines_of, unexposed_text
from remit.cli.stubs import OPERATIONS, stubs_of, written
from remit.compiler.backends import Backend, joined, meet, settled
from remit.compiler.extract import extract
from remit.compiler.graph import load_graph
from remit.procedures import Catalogue, Offer
from remit.procedures.openapi import OpenAPI, Operation
from remit.procedures.orpc import ORPC
from tests.openapi.kinds import DOCUMENTS

BACKEND = """
from remit.procedures.openapi import OpenAPI

fleet = OpenAPI("backend.openapi.json", base_url="http://127.0.0.1:9", expose={})
"""
OPTED_IN = BACKEND.replace("\nfleet", "from imported import OPERATIONS\n\nfleet").replace("{}", "{**OPERATIONS}")
APP = "import backend\n"
SETTINGS = '[tool.remit]\nentries = ["app"]\n'


def document(paths: Mapping[str, object]) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "Fleet", "version": "1"}, "paths": dict(paths)}


def operations(ids: Sequence[str]) -> dict[str, Any]:
    """A document with an operation of each of these ids."""
    done = {"204": {"description": "done"}}
    return document({f"/{number}": {"post": {"operationId": id, "responses": done}} for number, id in enumerate(ids)})


def project(folder: Path, described: Mapping[str, Any], *, app: str = APP, backend: str = BACKEND) -> None:
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "app.py").write_text(app, encoding="utf-8")
    (folder / "backend.py").write_text(backend, encoding="utf-8")
    (folder / "backend.openapi.json").write_text(json.dumps(described), encoding="utf-8")


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(root)])


def imported_and_compiled(root: Path, described: Mapping[str, Any]) -> str:
    """Write the module, hand its operations to the catalogue, compile; returned is what was written."""
    project(root, described)
    file = root / "imported.py"
    ran = run(root, "catalogue", "import", "--to", str(file))
    assert ran.exit_code == 0, ran.stderr
    project(root, described, app=f"{APP}import imported\n", backend=OPTED_IN)
    ran = run(root, "compile")
    assert (ran.exit_code, ran.stderr) == (0, ""), ran.output
    text = file.read_text(encoding="utf-8")
    contract = json.loads((root / "remit.contract.json").read_text(encoding="utf-8"))
    assert len(contract["capabilities"]) == text.count(" = reference(")
    return text


@pytest.mark.requirement("10.2-imports-compile")
@pytest.mark.parametrize("generator", ["fastapi", "apiflask", "fastify"])
def test_what_is_written_of_a_document_of_a_generator_compiles(generator: str, tmp_path: Path) -> None:
    described = json.loads((DOCUMENTS / f"{generator}.json").read_text("utf-8"))
    text = imported_and_compiled(tmp_path, described)
    written, _, left_out = text.partition("# Not written, for a reference to it would not compile:")
    assert written.count(" = reference(") > 100
    assert "recursive type Tree" in left_out and "files do not travel through agents" in left_out
    assert all(line.startswith("# * ") for line in left_out.strip().splitlines())


@pytest.mark.requirement("10.2-imports-compile")
def test_what_is_written_of_400_operations_compiles(tmp_path: Path) -> None:
    text = imported_and_compiled(tmp_path, large_document())
    assert (text.count(" = reference("), text.count("effect=")) == (400, 400)


ODD = [
    "reference",
    "Component",
    "component",
    "OPERATIONS",
    "Operation",
    "Reference",
    "list",
    "print",
    "class",
    "match",
    "None",
    "listThings",
    "list_things",
    "ListThings",
    "list-things",
    "list_things_2",
    "__init__",
    "__slots__",
    "__remit_declaration__",
    "mro",
    "1st",
    "größe",
    "ключ",
    "a\u202eb",
    'a"""b',
    "a\\",
    "a" * 300,
    "a" * 301,
    "-",
    "",
    " ",
    "a\nb = 1",
]


@pytest.mark.requirement("10.2-imports-compile")
def test_names_that_would_hide_something_or_meet_are_written_as_others(tmp_path: Path) -> None:
    text = imported_and_compiled(tmp_path, operations(ODD))
    lines = [line.strip() for line in text.splitlines()]
    assert text.count(" = reference(") == len(ODD)
    assert 'reference_ = reference("domain:reference")' in lines
    assert 'list_ = reference("domain:list")' in lines
    assert 'list_things = reference("domain:listThings")' in lines
    assert 'list_things_2 = reference("domain:list-things")' in lines
    assert 'list_things_3 = reference("domain:ListThings")' in lines
    assert 'call_1st = reference("domain:1st")' in lines


SECRET = {"schema": {"type": "object", "properties": {"password": {"type": "string"}}}}


@pytest.mark.requirement("10.2-imports-compile")
def test_an_operation_that_a_bare_reference_cannot_name_stands_in_a_comment_with_the_reason(tmp_path: Path) -> None:
    answer = {"200": {"description": "done", "content": {"application/json": SECRET}}}
    long = "/" + "a" * 300
    paths = {
        "/made": {"post": {"summary": "Make one", "responses": answer}},
        long: {"post": {"summary": "Go far", "responses": {"204": {"description": "done"}}}},
        "/done": {"post": {"summary": "Do it", "responses": {"204": {"description": "done"}}}},
    }
    text = imported_and_compiled(tmp_path, document(paths))
    assert text.count(" = reference(") == 1
    secret, far = text.strip().splitlines()[-2:]
    assert secret.startswith("# * POST /made: cannot be listed: has a property 'password'")
    assert far.startswith("# * POST /aaa") and far.endswith("its name is too long, or holds what cannot be shown")


@pytest.mark.requirement("10.2-imports-compile")
def test_what_is_listed_and_needs_more_than_a_bare_reference_is_told_with_the_reason(tmp_path: Path) -> None:
    answer = {"200": {"description": "done", "content": {"application/json": SECRET}}}
    listed = BACKEND.replace("import OpenAPI", "import OpenAPI, Operation").replace(
        "{}", '{"made": Operation("POST /made", effect="server-mutation")}'
    )
    described = document({"/made": {"post": {"summary": "Make one", "responses": answer}}})
    project(tmp_path, described, backend=listed)
    ran = run(tmp_path, "catalogue", "import")
    assert ran.stdout == "nothing to write: fleet offers nothing else that can be listed\n"
    assert ran.stderr.startswith("left out  domain:made cannot be referenced as it is: has a property 'password'")
    shown = run(tmp_path, "catalogue", "show")
    assert shown.exit_code == 0
    assert "server-mutation  cannot be referenced as it is: has a property 'password'" in shown.stdout


@pytest.mark.requirement("10.2-imports-compile")
def test_a_reference_to_what_its_catalogue_refused_is_not_told_to_write_a_function(tmp_path: Path) -> None:
    files = {"schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}}
    upload = {"content": {"multipart/form-data": files}}
    described = document(
        {"/upload": {"put": {"summary": "Upload", "requestBody": upload, "responses": {"204": {"description": ""}}}}}
    )
    listed = BACKEND.replace("import OpenAPI", "import OpenAPI, Operation").replace(
        "{}", '{"upload": Operation("PUT /upload", effect="server-mutation")}'
    )
    app = (
        "import backend\nfrom remit import Component, reference\n\n\n"
        'class Part(Component, type="part"):\n    """A part."""\n\n    upload = reference("domain:upload")\n'
    )
    project(tmp_path, described, app=app, backend=listed)
    ran = run(tmp_path, "compile")
    assert ran.exit_code != 0
    assert "its catalogue cannot list this operation: a file: files do not travel through agents" in ran.stderr
    assert "@backend.operation" not in ran.stderr


OWN = '''
from remit import Component, Procedures, observation
from remit.procedures import Catalogue, Offer

backend = Procedures()
nothing = Procedures()

@backend.operation("devices.count", effect="server-query")
async def count_devices() -> int:
    """How many there are."""
    return 1

class Own(Catalogue):
    def get(self, name):
        return backend.get("devices.count") if name == "devices.count" else None

    def names(self):
        return ()

    def offers(self):
        return (Offer(request="count", name="devices.count"), Offer(request="extra"))

_1 = Own()

class Page(Component, type="backend-1.imported"):
    """A page."""

    @observation
    def seen(self) -> int:
        """What is seen."""
        return 1
'''


@pytest.mark.requirement("10.2-imports-compile")
def test_a_catalogue_whose_variable_names_nothing_gets_a_component_all_the_same(tmp_path: Path) -> None:
    project(tmp_path, document({}), app=OWN)
    shown = run(tmp_path, "catalogue", "show")
    assert "nothing  app.py:6  0 operations" in shown.stdout.splitlines()
    nowhere = run(tmp_path, "catalogue", "import", "--backend", "_1", "--to", str(tmp_path / "none" / "imported.py"))
    assert (nowhere.exit_code, nowhere.stderr.splitlines()[0]) == (
        2,
        "imported.py  cannot be written: No such file or directory",
    )
    extra = run(tmp_path, "catalogue", "import", "extra", "--backend", "_1")
    assert (extra.exit_code, extra.stderr) == (1, "left out  extra is opted in where the catalogue is made\n")
    file = tmp_path / "imported.py"
    ran = run(tmp_path, "catalogue", "import", "--backend", "_1", "--to", str(file))
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["wrote", "then"]
    assert 'class Backend1Imported(Component, type="backend-1.imported-2", headless=True):' in file.read_text("utf-8")
    assert unexposed_text([]) == ""


class Unknown(Catalogue):
    """Offers something of which it does not know whether it could be listed."""

    def get(self, name: str) -> None:
        return None

    def names(self) -> tuple[str, ...]:
        return ()

    def offers(self) -> tuple[Offer, ...]:
        return (Offer(request="something"),)


def upload(**more: object) -> dict[str, Any]:
    files = {"schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}}
    body = {"content": {"multipart/form-data": files}}
    return {"requestBody": body, "responses": {"204": {"description": ""}}, **more}


@pytest.mark.requirement("10.2-imports-compile")
def test_what_could_be_listed_is_found_by_trying_and_nothing_is_listed_by_it() -> None:
    paths = {"/done": {"post": {"responses": {"204": {"description": "done"}}}}, "/upload": {"post": upload()}}
    contract = {name: {"~orpc": {"route": {"method": "POST", "path": f"/{name}"}}} for name in ("done", "upload")}
    documents: tuple[tuple[Catalogue, str, str], ...] = (
        (OpenAPI(document(paths), base_url="http://h.test", expose={}), "POST /done", "POST /upload"),
        (
            ORPC(contract, document=document(paths), form="openapi", base_url="http://h.test", expose={}),
            "done",
            "upload",
        ),
    )
    for catalogue, done, refused in documents:
        tried = catalogue.tried(done)
        assert tried is not None and tried.effect is Effect.DESTRUCTIVE
        with pytest.raises(DefinitionError, match="file"):
            catalogue.tried(refused)
        assert catalogue.names() == () and dict(catalogue.refused()) == {}
        assert [each.unfit is None for each in meet(catalogue, [], trying=True).operations] == [True, False]
        assert [each.unfit for each in meet(catalogue, []).operations] == [None, None]
    assert Procedures().tried("anything") is None
    assert [each.unfit for each in meet(Unknown(), [], trying=True).operations] == [None]


@pytest.mark.requirement("10.2-every-catalogue-offers")
def test_what_no_offer_has_is_met_all_the_same_and_what_cannot_be_shown_is_not_written() -> None:
    described = document({"/upload": {"post": upload()}, "/a\u202eb": {"post": upload(summary="Odd")}})
    expose = {
        "first": Operation("POST /upload", effect="destructive"),
        "second": Operation("POST /upload", effect="destructive"),
        "gone": Operation("POST /gone", effect="destructive"),
    }
    met = meet(OpenAPI(described, base_url="http://h.test", expose=expose), [("backend.py", "fleet")], trying=True)
    told = {each.offer.name: (each.offer.request, each.offer.refused is None, each.unfit) for each in met.operations}
    assert told == {
        "second": ("POST /upload", False, None),
        None: ("POST /ab", True, "its name is too long, or holds what cannot be shown"),
        "first": ("", False, None),
        "gone": ("", False, None),
    }
    nowhere = settled(met, load_graph(Path(), [], ()))
    assert nowhere.place == "backend.py"
    assert joined([nowhere, nowhere]) == (nowhere,)


NAMES = st.lists(
    st.one_of(
        st.sampled_from(ODD),
        st.text(alphabet="abAB12._- é\u202e\"'\\#\n", max_size=12),
        st.text(max_size=12),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.requirement("10.2-imports-compile")
@given(ids=NAMES)
@example(ids=ODD)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_operations_are_called_the_module_declares_a_reference_to_each(
    ids: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    described = operations(ids)
    fleet = OpenAPI(described, base_url="http://127.0.0.1:9", expose={})
    met = meet(fleet, [("backend.py", "fleet")], trying=True)
    lines = lines_of(Backend(name="fleet", path="backend.py", line=1, opted_in_by=None, operations=met.operations), {})
    backend = Backend(name="fleet", path="backend.py", line=1, opted_in_by=met.opted_in_by, operations=met.operations)
    source = written(backend, stubs_of(lines, ()), (), ())
    module = ModuleType("imported")
    exec(compile(source, "imported.py", "exec"), vars(module))  # noqa: S102 - it is what a project would import
    listed = OpenAPI(described, base_url="http://127.0.0.1:9", expose=vars(module)[OPERATIONS])
    assert (len(listed.names()), dict(listed.refused())) == (len(ids), {})
    made = vars(module)["FleetImported"]
    assert issubclass(made, Component)
    declared = declaration_of(made)
    assert declared is not None
    assert sum(isinstance(each, Reference) for each in declared.capabilities.values()) == len(ids)
    records = {name: record_of(operation) for name in listed.names() if (operation := listed.get(name)) is not None}
    assert len(rows_of(made, records).capabilities) == len(ids)
    root = tmp_path_factory.mktemp("source")
    (root / "imported.py").write_text(source, encoding="utf-8")
    read = extract(load_graph(root, ["imported"], (root,)))
    assert (read.findings, [len(each.capabilities) for each in read.components]) == ([], [len(ids)])
