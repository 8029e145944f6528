"""Addresses in documents, and of documents, that cannot be read or kept (SPEC 10.6)."""

from pathlib import Path
from typing import Any

import pytest

from remit import DefinitionError
from remit.procedures.openapi import OpenAPI, Operation
from remit.procedures.openapi.document import read_document
from remit.procedures.orpc import ORPC, Procedure


def document_with(server: str) -> dict[str, Any]:
    read = {"summary": "Read", "responses": {}}
    return {
        "openapi": "3.1.0",
        "paths": {"/bad": {"get": {**read, "servers": [{"url": server}]}}, "/good": {"get": read}},
    }


@pytest.mark.requirement("10.6-servers-and-base-paths", "10.6-refused-when-built")
@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("http://[::1", "a server whose address cannot be read"),
        ("http://h.test:port/v1", "a server whose address cannot be read"),
        ("http://axn--%zz/v1", "a server whose address cannot be read"),
        ("/v1/../admin", "a server with a step . or .. in its path"),
        ("/v1/%2E%2e/admin", "a server with a step . or .. in its path"),
        ("/v1/.", "a server with a step . or .. in its path"),
        ("../admin", "a server with a step . or .. in its path"),
        ("http://h.test/v1/../admin", "a server with a step . or .. in its path"),
    ],
)
def test_a_server_that_cannot_be_read_or_kept_refuses_its_operation_only(server: str, reason: str) -> None:
    expose = {name: Operation(f"GET /{name}", effect="server-query") for name in ("bad", "good")}
    backend = OpenAPI(document_with(server), base_url="http://h.test", expose=expose)
    assert backend.names() == ("good",)
    assert backend.refused()["bad"].startswith(reason)


@pytest.mark.requirement("10.6-servers-and-base-paths")
@pytest.mark.parametrize(
    ("servers", "prefix"),
    [
        (["http://[::1", "/v1"], "/v1"),
        (["http://h.test:port/v0", "http://h.test/v1"], "/v1"),
        (["http://elsewhere.test/v0", "http://axn--%zz/", "/v1", "/v2"], "/v1"),
        (["/v1", "http://[::1"], "/v1"),
        (["http://[::1", "http://elsewhere.test/v0"], None),
    ],
)
@pytest.mark.parametrize("kind", ["openapi", "orpc"])
def test_of_several_servers_those_that_cannot_be_read_are_passed_over(
    kind: str, servers: list[str], prefix: str | None
) -> None:
    document = document_with("")
    document["paths"]["/bad"]["get"]["servers"] = [{"url": server} for server in servers]
    backend: OpenAPI | ORPC
    if kind == "openapi":
        expose = {"bad": Operation("GET /bad", effect="server-query")}
        backend = OpenAPI(document, base_url="http://h.test", expose=expose)
    else:
        contract = {"bad": {"~orpc": {"route": {"method": "GET", "path": "/bad"}}}}
        backend = ORPC(
            contract,
            document=document,
            form="openapi",
            base_url="http://h.test",
            expose={"bad": Procedure("bad", effect="server-query")},
        )
    operation = backend.get("bad")
    if prefix is None:
        assert backend.refused()["bad"] == "the document names another origin: 'http://elsewhere.test/v0'"
    else:
        assert operation is not None and operation.prefix == prefix, backend.refused()


@pytest.mark.requirement("10.6-servers-and-base-paths")
@pytest.mark.parametrize("server", ["/v1.0/a..b", "http://h.test/.well-known", "/...", "/"])
def test_dots_that_are_no_steps_stay(server: str) -> None:
    expose = {"bad": Operation("GET /bad", effect="server-query")}
    backend = OpenAPI(document_with(server), base_url="http://h.test", expose=expose)
    assert backend.names() == ("bad",)


@pytest.mark.requirement("10.1-openapi-sources")
@pytest.mark.parametrize("address", ["http://[::1/openapi.json", "http://h.test:port/", "http://axn--%zz/a", "http://"])
def test_an_address_of_a_document_that_cannot_be_read_is_told(address: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="is an address that cannot be read"):
        read_document(address, folder=tmp_path)


@pytest.mark.requirement("10.6-servers-and-base-paths")
@pytest.mark.parametrize("variables", [{"base": "v1"}, {"base": None}, ["base"]])
def test_a_variable_of_a_server_that_is_no_object_is_empty(variables: Any) -> None:
    document = document_with("/{base}")
    document["paths"]["/bad"]["get"]["servers"][0]["variables"] = variables
    expose = {"bad": Operation("GET /bad", effect="server-query")}
    operation = OpenAPI(document, base_url="http://h.test", expose=expose).get("bad")
    assert operation is not None and operation.prefix == ""
