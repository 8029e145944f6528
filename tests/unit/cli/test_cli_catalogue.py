"""`remit catalogue`, and what backends offer in `remit inspect` (SPEC 10.2, 13.1)."""

import json
from dataclasses import asdict
from pathlib import Path
from textwrap import dedent

import pytest
from click import unstyle
from click.testing import CliRunner, Result

from remit.cli import main
from remit.cli.detail import as_offered
from remit.cli.offers import unexposed, unexposed_text
from remit.cli.report import as_json
from remit.compiler import Compiled, compile_project

IDS = {"type": "object", "properties": {"device_ids": {"type": "array", "items": {"type": "string"}}}}
FILE = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
DONE = {"204": {"description": "done"}}


def operation(text: str | None = None, **parts: object) -> dict[str, object]:
    return {**({} if text is None else {"summary": text}), "responses": DONE, **parts}


def body(media: str, schema: object) -> object:
    return {"required": True, "content": {media: {"schema": schema}}}


PATHS = {
    "/devices": {"get": operation("List devices", operationId="listDevices")},
    "/devices/disable": {"post": operation("Disable devices", requestBody=body("application/json", IDS))},
    "/upload": {"put": operation("Upload a map", requestBody=body("multipart/form-data", FILE))},
    "/purge": {"get": operation("Throw away what is\nold \x1b[31mnow", operationId="class")},
    "/mute": {"get": operation()},
}
DOCUMENT = {"openapi": "3.1.0", "info": {"title": "Fleet", "version": "1"}, "paths": PATHS}
BACKEND = """
from remit.procedures.openapi import OpenAPI, Operation

fleet = OpenAPI(
    "backend.openapi.json",
    base_url="http://127.0.0.1:9",
    expose={
        "devices.disable": Operation("POST /devices/disable", effect="destructive"),
        "devices.list": Operation("listDevices", effect="server-query"),UPLOAD
    },
)
"""
UPLOAD = '\n        "map.upload": Operation("PUT /upload", effect="server-mutation"),'
APP = '''
from backend import fleet
from remit import Component, reference

class Devices(Component, type="devices.table"):
    """Table of devices."""

    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return []
'''
SETTINGS = """
[tool.remit]
entries = ["app"]
[tool.remit.exposure]
mcp = ["domain:devices.*"]
"""


def project(folder: Path, *, app: str = APP, backend: str = BACKEND.replace("UPLOAD", ""), **files: str) -> Path:
    texts = {"app.py": app, "backend.py": backend, "pyproject.toml": SETTINGS, **files}
    texts["backend.openapi.json"] = json.dumps(DOCUMENT)
    for name, text in texts.items():
        (folder / name).write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return folder


def run(root: Path, *arguments: str, colour: bool = False) -> Result:
    return CliRunner().invoke(main, [*arguments, "--project", str(root)], color=colour)


@pytest.mark.requirement("10.2-catalogue-show", "13.1-colour-repeats-a-word")
def test_each_operation_of_a_backend_is_told_with_what_became_of_it(tmp_path: Path) -> None:
    root = project(tmp_path, backend=BACKEND.replace("UPLOAD", UPLOAD))
    ran = run(root, "catalogue", "show", colour=True)
    plain = unstyle(ran.stdout)
    told = plain.splitlines()
    assert told[0] == "fleet  backend.py:3  5 operations: 1 referenced, 1 listed, 1 refused, 2 offered"
    assert [line.split()[:4] for line in told[3:]] == [
        ["listed", "GET", "/devices", "domain:devices.list"],
        ["referenced", "POST", "/devices/disable", "domain:devices.disable"],
        ["refused", "PUT", "/upload", "domain:map.upload"],
        ["offered", "GET", "/purge", "-"],
        ["offered", "GET", "/mute", "-"],
    ]
    assert told[3].endswith("server-query  List devices")
    assert told[4].endswith("destructive   devices.table (embedded, test, mcp)")
    assert "file" in told[5]
    assert told[6].endswith("Throw away what is old [31mnow")
    assert [line.split()[4:] for line in told[7:]] == [["-"]]
    assert (ran.exit_code, ran.stderr) == (1, "")
    assert str(tmp_path) not in ran.output
    assert ran.stdout != plain and "\x1b[31mrefused" in ran.stdout


FUNCTIONS = '''
from remit import Component, Procedures, reference
from remit.procedures import Catalogue

backend = Procedures()

@backend.operation("devices.count", effect="server-query")
async def count_devices() -> int:
    """How many there are."""
    return 1

@backend.operation("devices.wipe", effect="destructive", confirmation="always")
async def wipe() -> None:
    """Wipe them."""

class Own(Catalogue):
    def get(self, name):
        return backend.get("devices.count") if name == "own.count" else None

    def names(self):
        return ("own.count",)

    def refused(self):
        return {"own.odd": "it is odd"}

own = Own()

class Devices(Component, type="devices.table"):
    """Table of devices."""

    wipe = reference("domain:devices.wipe")
'''


@pytest.mark.requirement("10.2-every-catalogue-offers")
def test_functions_and_a_catalogue_of_ones_own_are_shown_alike(tmp_path: Path) -> None:
    ran = run(project(tmp_path, app=FUNCTIONS), "catalogue", "show")
    assert ran.exit_code == 1
    assert [" ".join(line.split()) for line in ran.stdout.splitlines()] == [
        "backend app.py:4 2 operations: 1 referenced, 1 listed",
        "",
        "operation id effect",
        "listed count_devices domain:devices.count server-query How many there are.",
        "referenced wipe domain:devices.wipe destructive devices.table (embedded, test, mcp)",
        "",
        "own app.py:25 2 operations: 1 listed, 1 refused",
        "",
        "operation id effect",
        "listed own.count domain:own.count server-query",
        "refused own.odd domain:own.odd - it is odd",
    ]


@pytest.mark.requirement("10.2-every-catalogue-offers")
def test_what_is_listed_already_needs_no_opting_in(tmp_path: Path) -> None:
    root = project(tmp_path, app=FUNCTIONS)
    ran = run(root, "catalogue", "import")
    assert (ran.exit_code, ran.stderr.splitlines()[0]) == (2, "there are 2 catalogues")
    ran = run(root, "catalogue", "import", "--backend", "backend")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert [line for line in ran.stdout.splitlines() if " = " in line] == [
        '    devices_count = reference("domain:devices.count")'
    ]
    assert "Operation(" not in ran.stdout


@pytest.mark.requirement("10.2-catalogue-show")
def test_a_project_that_does_not_compile_is_shown_with_what_is_wrong(tmp_path: Path) -> None:
    unlisted = FUNCTIONS.replace('reference("domain:devices.wipe")', 'reference("domain:devices.wiped")')
    root = project(tmp_path, app=unlisted)
    ran = run(root, "catalogue", "show", "backend")
    assert ran.exit_code == 1
    assert "listed  wipe" in ran.stdout
    assert "domain:devices.wiped no catalogue lists this operation" in ran.stderr
    ran = run(root, "catalogue", "show", "backend", "--json")
    form = json.loads(ran.stdout)
    assert (ran.exit_code, ran.stderr, len(form["findings"])) == (1, "", 1)
    assert [(each["name"], each["place"]) for each in form["backends"]] == [("backend", "app.py:4")]
    wipe = form["backends"][0]["operations"][1]
    assert (wipe["id"], wipe["state"], wipe["request"]) == ("domain:devices.wipe", "listed", "wipe")
    assert (wipe["effect"], wipe["confirmation"], wipe["references"]) == ("destructive", "always", [])


@pytest.mark.requirement("10.2-catalogue-show")
def test_what_cannot_be_read_or_is_not_there_could_not_run(tmp_path: Path) -> None:
    root = project(tmp_path, app="raise OSError('no device')\n")
    ran = run(root, "catalogue", "show")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "importing app raised OSError" in ran.stderr
    project(tmp_path, app=FUNCTIONS)
    ran = run(root, "catalogue", "show", "depot")
    assert (ran.exit_code, ran.stderr) == (2, "there is no catalogue depot\n  write  one of backend, own\n1 finding\n")
    (root / "pyproject.toml").unlink()
    assert run(root, "catalogue", "show").exit_code == 2


@pytest.mark.requirement("10.2-catalogue-import")
def test_the_stubs_are_declarations_that_compile_and_nothing_unread_is_a_query(tmp_path: Path) -> None:
    root = project(tmp_path)
    file = tmp_path / "imported.py"
    ran = run(root, "catalogue", "import", "--to", str(file))
    file_travels = "PUT /upload cannot be listed: a file: files do not travel through agents"
    assert (ran.exit_code, ran.stderr) == (0, f"left out  {file_travels}\n")
    assert ran.stdout.startswith("wrote     imported.py: 3 references, 2 operations to opt in")
    assert str(tmp_path) not in ran.output
    text = file.read_text(encoding="utf-8")
    assert [line.strip() for line in text.splitlines() if "Operation(" in line] == [
        '"class": Operation("GET /purge", effect="destructive", description="Throw away what is old [31mnow"),',
        '"GET-mute": Operation("GET /mute", effect="destructive", '
        'description="Not described by its backend: GET /mute"),',
    ]
    assert text.splitlines()[-2:] == [
        "# Not written, for a reference to it would not compile:",
        f"# * {file_travels.replace(' cannot', ': cannot')}",
    ]
    assert '    class_ = reference("domain:class")' in text.splitlines()
    assert "disable" not in text and "\x1b" not in text
    file.write_text(text.replace('mute", effect="destructive"', 'mute", effect="server-query"'), encoding="utf-8")
    opted_in = "from imported import OPERATIONS\n" + BACKEND.replace("UPLOAD", "\n        **OPERATIONS,")
    project(tmp_path, app=APP + "\nimport imported\n", backend=opted_in)
    ran = run(root, "inspect")
    assert (ran.exit_code, ran.stderr) == (0, "")
    effects = {line.split()[0]: line.split()[1:3] for line in ran.stdout.splitlines()[1:5]}
    assert ["domain:class", "without", "a", "view"] in [line.split() for line in ran.stdout.splitlines()]
    assert effects["domain:class"] == ["destructive", "always"]
    assert effects["domain:GET-mute"] == ["server-query", "never"]
    assert effects["domain:devices.list"] == ["server-query", "never"]


@pytest.mark.requirement("10.2-catalogue-import")
def test_nothing_is_overwritten_and_what_was_named_and_cannot_be_is_told(tmp_path: Path) -> None:
    root = project(tmp_path, backend=BACKEND.replace("UPLOAD", UPLOAD))
    file = tmp_path / "mine.py"
    file.write_text("mine = 1\n")
    ran = run(root, "catalogue", "import", "listDevices", "--to", str(file))
    assert (ran.exit_code, ran.stdout, file.read_text()) == (2, "", "mine = 1\n")
    assert "mine.py  is there already, and is not overwritten" in ran.stderr
    ran = run(root, "catalogue", "import", "GET /purge", "domain:devices.disable", "PUT /upload", "--json")
    assert ran.exit_code == 1
    form = json.loads(ran.stdout)
    (stub,) = form["references"]
    assert (stub["id"], stub["effect"], stub["reviewed"]) == ("domain:class", "destructive", False)
    assert form["file"] is None and 'class_ = reference("domain:class")' in form["source"]
    assert form["left_out"][0] == "domain:devices.disable is referenced by devices.table"
    assert form["left_out"][1].startswith("domain:map.upload cannot be listed: ")
    assert ran.stderr == "".join(f"left out  {each}\n" for each in form["left_out"])
    ran = run(root, "catalogue", "import", "GET /purges")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "the backend has no operation GET /purges" in ran.stderr


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The project of `project`, with a document of many more operations."""
    root = project(tmp_path_factory.mktemp("compiled"))
    many = {f"/many/{number}": {"get": operation(f"Number {number}")} for number in range(30)}
    (root / "backend.openapi.json").write_text(json.dumps({**DOCUMENT, "paths": {**PATHS, **many}}))
    return compile_project(root)


@pytest.mark.requirement("13.1-inspect-offers")
def test_inspect_shows_what_backends_offer_and_no_component_references(tmp_path: Path) -> None:
    ran = run(project(tmp_path), "inspect")
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[-5:] == [
        "offered, not exposed  state    effect        description",
        "domain:devices.list   listed   server-query  List devices",
        "PUT /upload           offered  -             Upload a map",
        "GET /purge            offered  -             Throw away what is old [31mnow",
        "GET /mute             offered  -",
    ]
    assert str(tmp_path) not in ran.output


@pytest.mark.requirement("13.1-inspect-offers")
def test_of_a_long_list_the_beginning_is_shown_and_all_of_it_is_told_to_programs(compiled: Compiled) -> None:
    lines = unexposed(compiled)
    told = unexposed_text(lines).splitlines()
    assert told[-1] == "… and 13 more that nobody opted in: remit catalogue show"
    assert sum(" offered " in line for line in told) == 20
    form = json.loads(as_json([], compiled.manifest, map(asdict, lines)))
    assert len(form["offered"]) == 34
    assert [(each["id"], each["request"], each["state"]) for each in form["offered"]][:2] == [
        ("domain:devices.list", "GET /devices", "listed"),
        (None, "PUT /upload", "offered"),
    ]


@pytest.mark.requirement("13.1-inspect-offers", "13.1-inspect-one")
def test_what_is_listed_and_not_referenced_is_told_in_full(compiled: Compiled) -> None:
    assert as_offered(compiled.offered["devices.list"]).splitlines()[:-1] == [
        "domain:devices.list",
        "  state         listed, and no component references it",
        "  text          List devices",
        "  effect        server-query, idempotent",
        "  confirmation  never",
    ]
