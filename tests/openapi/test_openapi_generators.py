"""Large documents of three generators, each of a small application that is served (SPEC 10.6)."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from remit import Component, Surface, reference
from remit.procedures.openapi import OpenAPI, Operation
from tests.behaviour.conftest import AGENT, authority_of, failed, output
from tests.conftest import missing
from tests.openapi import fastapi_app
from tests.openapi.kinds import DOCUMENTS, KINDS
from tests.orpc.backend import node
from tests.unit.procedures.openapi_echo import serving

ROOT = Path(__file__).parent.parent.parent
FASTIFY = ROOT / "tests" / "openapi" / "fastify"

BODIES = {"fastapi": "", "apiflask": "body", "fastify": ""}
"""Where the fields of a body stand: APIFlask calls no body required, so each of them is one optional field."""

REFUSED = {
    "fastapi": {
        "PUT /trees/{name}": "recursive type Tree",
        "POST /photos": "files do not travel through agents",
    },
    "apiflask": {
        "PUT /trees/{name}": "recursive type Tree",
        "POST /photos": "files do not travel through agents",
        "POST /labels": "a mapping with free keys",
    },
    "fastify": {
        "PUT /trees/{name}": "recursive type Tree",
        "POST /photos": "files do not travel through agents",
    },
}


class Warehouse(Component, type="warehouse"):
    """A warehouse."""

    list = reference("domain:list")
    add = reference("domain:add", confirmation="never", reason="the sample of a test")
    read = reference("domain:read")
    mark = reference("domain:mark", confirmation="never", reason="the sample of a test")
    drop = reference("domain:drop", confirmation="never", reason="the sample of a test")
    tree = reference("domain:tree")
    sign_in = reference("domain:signIn", confirmation="never", reason="the sample of a test")


def document_of(generator: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCUMENTS / f"{generator}.json").read_text("utf-8"))
    return found


def whole(generator: str) -> OpenAPI:
    """Everything of a document, opted in under the names of its requests."""
    document = document_of(generator)
    nothing = OpenAPI(document, base_url="http://h.test", expose={})
    expose = {
        each.request.replace("/", ".").replace(" ", "").replace("{", "").replace("}", ""): Operation(
            each.request, effect="server-query"
        )
        for each in nothing.offers()
    }
    return OpenAPI(document, base_url="http://h.test", expose=expose)


@pytest.mark.requirement("10.6-documents-of-generators")
@pytest.mark.parametrize("generator", REFUSED)
def test_a_large_document_is_listed_but_for_files_cycles_and_free_keys_in_what_is_sent(generator: str) -> None:
    backend = whole(generator)
    offers = backend.offers()
    assert len(offers) >= 5 * len(KINDS) + 4
    refused = {each.request: each.refused for each in offers if each.refused is not None}
    assert refused.keys() == REFUSED[generator].keys(), refused
    for request, reason in REFUSED[generator].items():
        assert reason in str(refused[request])
    for name in backend.names():
        operation = backend.get(name)
        assert operation is not None and operation.hash.startswith("sha256:")


@pytest.mark.requirement("10.6-documents-of-generators")
def test_the_documents_are_of_both_versions_with_and_without_operation_ids_and_all_hold_a_cycle() -> None:
    documents = {generator: document_of(generator) for generator in REFUSED}
    assert [each["openapi"][:3] for each in documents.values()] == ["3.1", "3.0", "3.0"]
    texts = {generator: json.dumps(document) for generator, document in documents.items()}
    assert ["operationId" in text for text in texts.values()] == [True, False, False]
    assert ['"nullable": true' in text for text in texts.values()] == [False, True, True]
    assert all('"format": "binary"' in text or "contentMediaType" in text for text in texts.values())
    for document in documents.values():
        trees = {name: each for name, each in document["components"]["schemas"].items() if name.startswith("Tree")}
        assert trees
        assert all(f'"#/components/schemas/{name}"' in json.dumps(each) for name, each in trees.items())


@contextmanager
def _said_port(command: list[str], folder: Path) -> Iterator[str]:
    """Serve by a process of its own, which says its port in one line; it ends with its input."""
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdecimal(), "the server has not started"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _fastapi() -> Iterator[str]:
    with serving(fastapi_app.make_app()) as url:
        yield url


@contextmanager
def _apiflask() -> Iterator[str]:
    pytest.importorskip("apiflask")
    with _said_port([sys.executable, "-m", "tests.openapi.apiflask_app", "serve"], ROOT) as url:
        yield url


@contextmanager
def _fastify() -> Iterator[str]:
    program = node()
    if program is None or not (FASTIFY / "node_modules").is_dir():
        missing("no packages of Fastify: scripts/setup installs them")
    with _said_port([program, "app.mjs", "serve"], FASTIFY) as url:
        yield url


SERVED: dict[str, Callable[[], Any]] = {"fastapi": _fastapi, "apiflask": _apiflask, "fastify": _fastify}


@asynccontextmanager
async def _surface(generator: str, url: str) -> AsyncIterator[Surface]:
    catalogue = OpenAPI(
        document_of(generator),
        base_url=url,
        expose={
            "list": Operation("GET /saws", effect="server-query"),
            "add": Operation("POST /saws", effect="server-mutation"),
            "read": Operation("GET /saws/{id}", effect="server-query"),
            "mark": Operation("PUT /saws/{id}/state", effect="server-mutation"),
            "drop": Operation("DELETE /saws/{id}", effect="server-mutation"),
            "tree": Operation("GET /trees/{name}", effect="server-query"),
            "signIn": Operation("POST /sign-in", effect="server-mutation"),
        },
    )
    async with catalogue:
        surface = Surface(authority_of(Warehouse, procedures=catalogue), principal="operator", procedures=catalogue)
        surface.mount(Warehouse())
        yield surface
        surface.dispose()


@pytest.mark.requirement("10.6-documents-of-generators")
@pytest.mark.parametrize("generator", SERVED)
async def test_the_application_behind_a_document_understands_what_is_sent(generator: str) -> None:
    def body(**fields: Any) -> dict[str, Any]:
        return {"body": fields} if BODIES[generator] else fields

    with ExitStack() as stack:
        url = stack.enter_context(SERVED[generator]())
        async with _surface(generator, url) as surface:
            agent = surface.connect(AGENT)
            place = {"hall": "Ä 7/b", "shelf": None}
            made: Any = output(
                await agent.call("domain:add", body(name="bow & saw", weight=None, place=place, tags=["a,b", ""]))
            )
            assert (made["id"], made["place"], made["tags"], made["state"]) == (1, place, ["a,b", ""], "new")
            output(await agent.call("domain:add", body(name="jig saw", weight=1.5, state="used")))
            used: Any = output(await agent.call("domain:list", {"states": ["used", "lost"], "limit": 5}))
            assert [each["name"] for each in used] == ["jig saw"]
            found: Any = output(await agent.call("domain:list", {"q": "w & s"}))
            assert [each["name"] for each in found] == ["bow & saw"]
            failed(await agent.call("domain:list", {"limit": 101}), "INVALID_INPUT")
            marked: Any = output(await agent.call("domain:mark", {"id": 1, **body(state="lost")}))
            assert marked["state"] == "lost"
            assert output(await agent.call("domain:drop", {"id": 1})) is None
            failed(await agent.call("domain:read", {"id": 1}), "PRECONDITION_FAILED")
            tree: Any = output(await agent.call("domain:tree", {"name": "x y"}))
            assert (tree["name"], tree["children"][0]["name"]) == ("x y", "leaf")
            who: Any = output(await agent.call("domain:signIn", body(user="Zoë=1", remember=True)))
            assert who == {"user": "Zoë=1", "remember": True}
