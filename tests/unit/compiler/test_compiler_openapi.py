"""A project whose backend is an OpenAPI document becomes a contract; what cannot be sent is a finding (SPEC 13.1)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from remit._contract.manifest import parse
from remit.compiler import compile_project
from remit.errors import CompileError

WriteProject = Callable[..., Path]
BACKEND = """
from remit.procedures.openapi import OpenAPI, Operation

operations = OpenAPI(
    "backend.openapi.json",
    base_url="http://127.0.0.1:9",
    expose={
        "devices.disable": Operation("POST /devices/disable", effect="destructive"),
        "devices.list": Operation("listDevices", effect="server-query"),
    },
)
"""
APP = '''
import backend
from remit import Component, reference

class Devices(Component, type="devices.table"):
    """Table of devices."""

    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return []
'''
IDS = {"type": "object", "properties": {"device_ids": {"type": "array", "items": {"type": "string"}}}}
DISABLE = {
    "summary": "Disable devices",
    "requestBody": {"required": True, "content": {"application/json": {"schema": IDS}}},
    "responses": {"204": {"description": "done"}},
}
LIST = {"operationId": "listDevices", "summary": "List devices", "parameters": []}


def document_of(disable: object, listed: object) -> str:
    paths = {"/devices/disable": {"post": disable}, "/devices": {"get": listed}}
    return json.dumps({"openapi": "3.0.3", "info": {"title": "Fleet", "version": "1"}, "paths": paths})


@pytest.mark.requirement("13.1-refused-operations-are-findings")
def test_a_reference_to_a_document_is_recorded_like_one_to_a_function(write_project: WriteProject) -> None:
    root = write_project(app=APP, backend=BACKEND)
    (root / "backend.openapi.json").write_text(document_of(DISABLE, LIST))
    compilation = compile_project(root)
    manifest = parse(compilation.manifest.to_bytes())
    (record,) = manifest.operations.values()
    assert (record.name, record.effect, record.description) == ("devices.disable", "destructive", "Disable devices")
    assert record.input_schema["properties"] == IDS["properties"]
    assert sorted(compilation.offered) == ["devices.disable", "devices.list"]


@pytest.mark.requirement("13.1-refused-operations-are-findings")
def test_an_operation_that_cannot_be_sent_is_a_finding_with_its_reason(write_project: WriteProject) -> None:
    root = write_project(app=APP, backend=BACKEND)
    upload = {"schema": {"type": "string", "format": "binary"}}
    body = {"required": True, "content": {"application/json": upload}}
    (root / "backend.openapi.json").write_text(document_of({**DISABLE, "requestBody": body}, LIST))
    with pytest.raises(CompileError) as refused:
        compile_project(root)
    told = [str(finding) for finding in refused.value.findings]
    assert any("domain:devices.disable cannot be listed: a file" in each for each in told), told


@pytest.mark.requirement("13.1-refused-operations-are-findings")
def test_a_document_that_is_not_there_is_told_with_its_name(write_project: WriteProject) -> None:
    root = write_project(app=APP, backend=BACKEND)
    with pytest.raises(CompileError) as refused:
        compile_project(root)
    assert "backend.openapi.json" in str(refused.value)
