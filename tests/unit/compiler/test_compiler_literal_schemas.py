"""Schemas written at a declaration: read from the source, part of the contract, weighed, and shown (SPEC 3.5, 13)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remit.cli.report import as_text, lines_of
from remit.compiler import compile_project
from remit.compiler.drift import drift
from remit.errors import CompileError

WriteProject = Callable[..., Path]
APP = '''
from remit import Component, action, observation
from fields import NAME

class Table(Component, type="table"):
    """A table."""

    @action(input={
        "type": "object",
        "properties": {"name": NAME, "count": {"type": ["integer", "null"], "minimum": -1}},
        "required": ["name"],
    })
    def put(self, values: dict[str, object]) -> None:
        """Put."""

    @observation(output={"type": "array", "items": {"enum": ["a", "b"]}})
    def read(self):
        """Read."""
        return []
'''
FIELDS = 'NAME = {"type": "string", "maxLength": 9}'


@pytest.mark.requirement("3.5-literals-compiled")
def test_both_passes_read_the_schemas_and_the_contract_holds_them(write_project: WriteProject) -> None:
    root = write_project(app=APP, fields=FIELDS)
    capabilities = compile_project(root).manifest.capabilities
    put, read = (capabilities["table", f"view:table.{name}"] for name in ("put", "read"))
    assert put["input"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "count": {"type": ["integer", "null"], "minimum": -1},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert read["output"] == {"type": "array", "items": {"enum": ["a", "b"]}}


@pytest.mark.requirement("3.5-literals-compiled")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('{"type": "string", "maxLength": 9}', '{"type": "string", "contains": 9}'), "in input=, name: `contains`"),
        (
            ('{"type": "string", "maxLength": 9}', 'dict(type="string")'),
            "input= is the expression `dict(type='string')`",
        ),
        (('{"type": "string", "maxLength": 9}', "[]"), "in input=, name: a schema must be an object"),
    ],
)
def test_a_schema_that_cannot_stand_is_a_finding_with_its_line(
    write_project: WriteProject, change: tuple[str, str], told: str
) -> None:
    with pytest.raises(CompileError) as stopped:
        compile_project(write_project(app=APP, fields=FIELDS.replace(*change)))
    (finding,) = stopped.value.findings
    assert told in finding.found
    assert (finding.path, finding.line is not None) == ("app.py", True)


@pytest.mark.requirement("3.5-literals-compiled")
def test_a_written_schema_that_takes_more_is_widening(write_project: WriteProject) -> None:
    before = compile_project(write_project(app=APP, fields=FIELDS)).manifest
    after = compile_project(write_project(app=APP, fields=FIELDS.replace("9", "99"))).manifest
    changes = drift(before, after, {}).changes
    assert [sorted(each.value for each in change.classes) for change in changes] == [["widening"]]


@pytest.mark.requirement("3.5-open-where-said")
def test_inspect_names_every_place_where_anything_may_stand(write_project: WriteProject) -> None:
    source = '''
    from typing import Any
    from pydantic import BaseModel, ConfigDict
    from remit import Component, action

    class Row(BaseModel):
        model_config = ConfigDict(extra="allow")
        cells: list
        seen: Any | None = None

    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, rows: list[Row], keys: dict, name: str) -> None:
            """Put."""

        @action
        def closed(self, name: str, ids: list[int]) -> None:
            """Closed."""

        @action(input={"type": "object", "additionalProperties": True})
        def write(self, values: dict) -> None:
            """Write."""
    '''
    lines = lines_of(compile_project(write_project(app=source)).manifest, {})
    found = {line.id.rpartition(".")[2]: line.open_input for line in lines}
    assert found == {"put": ("keys.*", "rows[].*", "rows[].cells[]", "rows[].seen"), "closed": (), "write": ("*",)}
    assert "agents may send anything as keys.*, rows[].*, rows[].cells[], rows[].seen" in as_text(lines, None)
