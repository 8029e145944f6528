"""The rule of each field of the contract, and of the fields that have none (SPEC 13.6)."""

import ast
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from remit import Component, action, observation, reference
from remit._base.boundary import Json
from remit._schema.compare import Containment, covers
from remit._schema.difference import differences
from remit._schema.phrase import phrase
from remit.compiler import Drift, compile_project
from remit.compiler.drift import APART
from remit.compiler.weigh import RULES, UNKNOWN, weigh, weigh_input, weigh_output

EVERYTHING = '''
from remit import Component, Handoff, Procedures, RecordSet, Retry, Steps, action, flow, key, observation, reference
from remit.policies import require_grant

backend = Procedures()

@backend.operation("devices.disable", effect="server-mutation", idempotent=True, confirmation="required", tags=("a",))
async def disable(ids: list[str], reason: str = "", secret: str = "") -> int:
    """Disable devices."""
    return 1

@backend.operation("devices.label", effect="server-mutation")
async def label(text: str) -> int:
    """Put a label on a device."""
    return 1

@backend.operation("devices.paint", effect="server-mutation")
async def paint(colour: str) -> int:
    """Paint a device."""
    return 1

class Table(
    Component,
    type="devices.table",
    title="Devices",
    description="Table of devices.",
    tags=("table",),
    doors=("embedded",),
    policies=(require_grant("fleet"),),
    headless=False,
    page=True,
):
    @observation(
        name="state",
        title="State",
        description="Visible devices.",
        audit="metadata",
        timeout=4,
        policies=(require_grant("read"),),
        tags=("reads",),
        doors=("embedded",),
        deprecated=True,
        meta={"icon": "eye"},
        untrusted=True,
        concurrency="instance",
        blocking=True,
        retry=Retry(attempts=2),
        input={"type": "object", "properties": {"code": {"type": "string"}}},
        output={"type": "integer"},
        allow_names={"code": "printed on every parcel"},
        source="derived",
        fidelity="medium",
    )
    def read_state(self, given: dict) -> int:
        return 1

    @read_state.note
    def _(self) -> str:
        return ""

    @read_state.redact
    def _(self, payload):
        return payload.value

    @action(
        effect="navigation",
        name="put",
        title="Put",
        description="Put something.",
        idempotent=True,
        reversible=False,
        confirmation="required",
        approver="lead",
        audit="none",
        timeout=4,
        spend_time=60,
        policies=(require_grant("write"),),
        tags=("writes",),
        doors=("embedded",),
        deprecated=True,
        meta={"icon": "pen"},
        untrusted=True,
        reason="noise",
        may_vary=("text",),
        concurrency=key("text"),
        blocking=True,
        retry=Retry(attempts=2),
        input={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        output={"type": "string"},
        source="derived",
        fidelity="high",
    )
    def put(self, given: dict) -> str:
        return given["text"]

    @put.precondition
    def _(self, given):
        return None

    @action(record="row", handoff=Handoff("By hand", to="/rows/{row}"))
    def drop(self, row: str) -> None:
        """Drop a row."""

    @drop.records
    def _(self, ctx) -> RecordSet:
        return RecordSet(ids=())

    @flow(steps=["view:devices.table.drop"])
    async def drop_twice(self, steps: Steps) -> None:
        """Drop a row."""

    @action(sensitive=("secret",), allow_names={"secret": "what a riddle asks for"})
    def sign(self, secret: str) -> None:
        """Sign in."""

    disable = reference(
        "domain:devices.disable",
        title="Disable",
        description="Disable devices.",
        idempotent=True,
        reversible=False,
        confirmation="required",
        approver="lead",
        audit="full",
        timeout=4,
        spend_time=60,
        policies=(require_grant("write"),),
        tags=("writes",),
        doors=("embedded",),
        deprecated=True,
        meta={"icon": "off"},
        untrusted=True,
        sensitive=("secret",),
        allow_names={"secret": "what a riddle asks for"},
        overridable=("reason",),
        concurrency="capability",
        retry=Retry(attempts=2),
        source="derived",
        fidelity="low",
    )

    @disable.bind("reason")
    def _(self) -> str:
        return ""

    label = reference("domain:devices.label", may_vary=("text",), confirmation="required")

    paint = reference(
        "domain:devices.paint", confirmation="never", reason="harmless", handoff=Handoff("By hand", to="/paint")
    )
'''


@pytest.mark.requirement("13.6-what-is-unweighed-is-wide")
def test_a_field_without_a_rule_is_widening_and_breaking() -> None:
    assert weigh("something new", None, True) == UNKNOWN


@pytest.mark.requirement("11.10-an-allowed-name-has-a-reason")
@pytest.mark.parametrize(
    ("before", "after", "classes"),
    [
        (None, {"code": "printed"}, {Drift.WIDENING}),
        ({"code": "printed"}, {"code": "printed", "css": "one layer"}, {Drift.WIDENING}),
        ({"code": "printed"}, None, {Drift.NARROWING}),
        ({"code": "printed"}, {"css": "one layer"}, {Drift.WIDENING, Drift.NARROWING}),
        ({"code": "printed"}, {"code": "shown on the parcel"}, {Drift.NEUTRAL}),
    ],
)
def test_one_more_denied_name_that_is_allowed_is_wider(before: Json, after: Json, classes: set[Drift]) -> None:
    assert weigh("allow_names", before, after) == classes


@pytest.mark.requirement("11.9-drift-of-what-is-derived")
@pytest.mark.parametrize(
    ("field", "before", "after", "drift"),
    [
        ("fidelity", "low", "medium", Drift.WIDENING),
        ("fidelity", "medium", None, Drift.WIDENING),
        ("fidelity", "low", None, Drift.WIDENING),
        ("fidelity", None, "low", Drift.NARROWING),
        ("fidelity", "medium", "low", Drift.NARROWING),
        ("source", "derived", None, Drift.WIDENING),
        ("source", None, "derived", Drift.NARROWING),
    ],
)
def test_what_is_vouched_for_more_is_wider(field: str, before: Json, after: Json, drift: Drift) -> None:
    assert weigh(field, before, after) == {drift}


@pytest.mark.requirement("13.6-what-is-unweighed-is-wide")
@pytest.mark.parametrize(
    ("name", "declare"),
    [
        ("observation", observation),
        ("action", action),
        ("reference", reference),
        ("Table", Component.__init_subclass__),
    ],
)
def test_the_project_with_everything_writes_every_keyword(name: str, declare: Callable[..., object]) -> None:
    keywords = {each.name for each in signature(declare).parameters.values() if each.kind is each.KEYWORD_ONLY}
    written = {
        keyword.arg
        for node in ast.walk(ast.parse(EVERYTHING))
        for keyword in (node.keywords if isinstance(node, ast.Call | ast.ClassDef) else ())
        if name == (ast.unparse(node.func) if isinstance(node, ast.Call) else getattr(node, "name", None))
    }
    assert keywords - written == set()


@pytest.mark.requirement("13.6-what-is-unweighed-is-wide")
def test_every_field_of_a_contract_has_a_rule(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    (tmp_path / "app.py").write_text(EVERYTHING, encoding="utf-8")
    manifest = compile_project(tmp_path).manifest
    operations = [record.to_json() for record in manifest.operations.values()]
    fields = {
        name
        for block in (*manifest.components.values(), *manifest.capabilities.values(), *operations)
        for name in block
    }
    assert fields - RULES.keys() - APART == set()


@pytest.mark.requirement("13.6-containment-decides")
def test_what_cannot_be_decided_is_breaking_and_widening() -> None:
    before: dict[str, Json] = {"type": "string", "pattern": "^a+$"}
    after: dict[str, Json] = {"type": "string", "pattern": "^a*$"}
    assert covers(after, before) is Containment.UNKNOWN
    (found,) = differences(before, after)
    assert weigh_input(found) == {Drift.WIDENING, Drift.BREAKING}
    assert weigh_output(found) == {Drift.WIDENING}


@pytest.mark.requirement("13.6-containment-decides")
def test_a_change_inside_a_shared_definition_is_found_where_it_is_used() -> None:
    def schema(values: list[Json]) -> dict[str, Json]:
        row: Json = {"type": "object", "properties": {"state": {"enum": values}}, "additionalProperties": False}
        return {
            "type": "object",
            "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
            "$defs": {"Row": row},
        }

    (found,) = differences(schema(["on"]), schema(["on", "off"]))
    assert (found.path, found.before, found.after) == ("rows[].state", "one of on", "one of on, off")
    assert (found.looser, found.tighter) == (True, False)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "anything"),
        ({"type": "string", "minLength": 1, "maxLength": 9}, "text of 1 to 9 characters"),
        ({"type": "string", "format": "date"}, "text in the form date"),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 5}, "integer at least 1 below 5"),
        ({"type": ["string", "null"], "maxLength": 3}, "text of at most 3 characters or null"),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, "list of 2 or more each true or false"),
        ({"type": "array", "items": {"type": "number"}}, "list of number"),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, "object of a?"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, "object of a, any other key"),
        ({"const": "on"}, "only on"),
        ({"enum": [*range(10)]}, "one of 0, 1, 2, 3, 4, 5, 6, 7, and 2 more"),
        ({"anyOf": [{"type": "null"}, {"const": 1}]}, "null or only 1"),
    ],
)
def test_a_schema_is_told_in_words(schema: dict[str, Json], words: str) -> None:
    assert phrase(schema) == words
