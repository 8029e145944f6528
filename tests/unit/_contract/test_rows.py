"""From a class to the rows of the contract: defaults, levels, schemas, bindings (SPEC 3.3 to 3.5, 3.11, 10.3)."""

import subprocess
import sys
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, Field

from remit._contract.binding import field_schema
from remit._contract.component import Component
from remit._contract.decorators import action, observation
from remit._contract.operation import OperationRecord
from remit._contract.reference import Reference, reference
from remit._contract.row import rows_of
from remit._model.answers import Refused
from remit._model.consumer import Principal
from remit._model.context import Context
from remit.errors import DefinitionCode, DefinitionError
from remit.policies import Decision, Expose, Policy, PolicyContext, require_grant

Operations = dict[str, OperationRecord]
NONE: Operations = {}


class State(BaseModel):
    ids: list[str]


def blocks(cls: type, operations: Operations = NONE) -> dict[str, dict[str, Any]]:
    return {row.attribute: dict(row.block) for row in rows_of(cls, operations).capabilities}


@pytest.mark.requirement("3.3-a-row-holds-everything")
def test_a_row_holds_everything_a_reviewer_must_see() -> None:
    class Table(Component, type="t.table", tags=("x",), doors=("embedded",)):
        """A table."""

        @action(tags=("y",), timeout=2.5, spend_time=30, approver="lead", policies=(require_grant("g"),))
        def select(
            self, ids: Annotated[list[str], Field(min_length=1)], ctx: Context, who: Principal, mode: str = "a"
        ) -> None:
            """Select.

            More.
            """

    assert blocks(Table)["select"] == {
        "id": "view:t.table.select",
        "component": "t.table",
        "kind": "action",
        "concurrency": "instance",
        "retry": None,
        "effect": "local-state",
        "title": None,
        "description": "Select.",
        "idempotent": False,
        "reversible": True,
        "confirmation": "never",
        "approver": "lead",
        "audit": "metadata",
        "timeout": 2.5,
        "spend_time": 30,
        "policies": [{"name": "require-grant:g", "class": "_RequireGrant", "methods": ["discover", "authorize"]}],
        "tags": ["x", "y"],
        "doors": ["embedded"],
        "deprecated": False,
        "reason": None,
        "input": {
            "type": "object",
            "properties": {
                "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "mode": {"type": "string", "default": "a"},
            },
            "required": ["ids"],
            "additionalProperties": False,
        },
        "output": None,
    }


@pytest.mark.requirement("3.13-a-capabilitys-own-doors")
def test_doors_of_a_capability_stand_instead_of_those_of_its_component() -> None:
    class Table(Component, type="t.table", doors=("embedded",)):
        """A table."""

        @observation(doors=("mcp", "test"))
        def read(self) -> int:
            """Read."""
            return 1

    assert blocks(Table)["read"]["doors"] == ["mcp", "test"]


@pytest.mark.requirement("3.9-policies-are-recorded")
def test_a_policy_is_recorded_with_the_methods_it_has() -> None:
    class Hours(Policy, name="hours"):
        def discover(self, ctx: PolicyContext) -> Decision:
            return Expose()

    class Table(Component, type="t.table", policies=(Hours(),)):
        """A table."""

    block: dict[str, Any] = dict(rows_of(Table, NONE).block)
    (recorded,) = block["policies"]
    assert recorded["name"] == "hours"
    assert recorded["methods"] == ["discover"]
    assert recorded["class"].endswith("Hours")
    assert "test_rows" not in recorded["class"]


@pytest.mark.requirement("3.11-observation-declares-its-output")
def test_an_observation_declares_what_it_returns() -> None:
    for hint in (None, "missing"):

        class Table(Component, type="t.table"):
            """A table."""

            def _read(self) -> None: ...

            _read.__annotations__ = {} if hint == "missing" else {"return": None}
            _read.__doc__ = "Read."
            read = observation(_read)

        with pytest.raises(DefinitionError, match="is an observation and declares no output type"):
            rows_of(Table, NONE)


def test_refused_in_a_return_type_is_no_output() -> None:
    class Table(Component, type="t.table"):
        """A table."""

        @action
        def one(self) -> int | Refused:
            """One."""
            return 1

        @action
        def two(self) -> Refused | None:
            """Two."""

        @action
        def three(self) -> Refused:
            """Three."""
            return Refused("no")

    found = blocks(Table)
    assert found["one"]["output"] == {"type": "integer"}
    assert found["two"]["output"] is None
    assert found["three"]["output"] is None


@pytest.mark.requirement("10.2-opt-in-and-ceiling")
@pytest.mark.parametrize(
    ("effect", "confirmation", "audit", "idempotent", "reversible"),
    [
        ("server-query", "never", "metadata", True, None),
        ("server-mutation", "optional", "metadata", False, False),
        ("external-side-effect", "always", "full", False, False),
        ("destructive", "always", "full", False, False),
    ],
)
def test_a_reference_takes_effect_schemas_and_defaults_from_its_operation(
    operations: Operations, effect: str, confirmation: str, audit: str, idempotent: bool, reversible: bool | None
) -> None:
    row = blocks(made(reference(f"domain:{effect}")), operations)["x"]
    assert (row["effect"], row["confirmation"], row["audit"]) == (effect, confirmation, audit)
    assert (row["idempotent"], row["reversible"]) == (idempotent, reversible)
    assert row["description"] == "Do something."
    assert row["operation"] == effect
    assert row["tags"] == ["things"]
    assert set(row["input"]["properties"]) == {"ids", "why"}


def made(target: Reference) -> type:
    class Table(Component, type="t.table"):
        """A table."""

        x = target

    return Table


@pytest.mark.requirement("3.4-lowering-needs-a-reason")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        (reference("domain:destructive", confirmation="optional"), "is below the default 'required' of destructive"),
        (reference("domain:destructive", confirmation="never", reason="r"), "is not below 'optional'"),
        (reference("domain:external-side-effect", confirmation="optional", reason="r"), "is not below 'required'"),
        (reference("domain:server-mutation", confirmation="never"), "is below the default 'optional'"),
        (reference("domain:destructive", audit="none"), "audit='none' is below the default 'full'"),
        (reference("domain:gone"), "no catalogue lists this operation"),
    ],
)
def test_a_level_is_not_lowered_in_silence(operations: Operations, target: Reference, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        rows_of(made(target), operations)
    assert message in str(caught.value)
    assert caught.value.place is not None
    assert caught.value.place.startswith("test_rows.py:")


@pytest.mark.requirement("3.4-lowering-needs-a-reason")
def test_a_lowered_level_carries_its_reason_and_a_raised_one_needs_none(operations: Operations) -> None:
    lowered = blocks(
        made(reference("domain:destructive", confirmation="optional", reason="A policy asks.")), operations
    )
    assert (lowered["x"]["confirmation"], lowered["x"]["reason"]) == ("optional", "A policy asks.")
    raised = blocks(made(reference("domain:server-mutation", confirmation="required")), operations)
    assert raised["x"]["confirmation"] == "required"


@pytest.mark.requirement("10.3-bound-paths-are-locked")
def test_bound_fields_leave_the_schema_of_the_agent(operations: Operations) -> None:
    class Table(Component, type="t.table"):
        """A table."""

        x = reference("domain:destructive")

        @x.bind("ids")
        def _(self) -> list[str]:
            return []

    row = blocks(Table, operations)["x"]
    assert row["bound"] == ["ids"]
    assert set(row["input"]["properties"]) == {"why"}
    assert "required" not in row["input"]
    assert "ids" in operations["destructive"].input_schema["properties"]  # type: ignore[operator]


@pytest.mark.requirement("10.3-bindings-are-static")
def test_binding_a_field_the_operation_does_not_take_is_refused(operations: Operations) -> None:
    class Table(Component, type="t.table"):
        """A table."""

        x = reference("domain:destructive")

        @x.bind("id")
        def _(self) -> str:
            return ""

    with pytest.raises(DefinitionError, match="binds 'id', which the operation does not take"):
        rows_of(Table, operations)


def test_an_open_type_variable_is_refused_with_its_place() -> None:
    item = TypeVar("item")

    class Table(Component, Generic[item], type="t.table"):
        """A table."""

        @action
        def put(self, value: item) -> None:
            """Put."""

    with pytest.raises(DefinitionError) as caught:
        rows_of(Table, NONE)
    assert caught.value.code is DefinitionCode.UNSUPPORTED_SCHEMA
    assert str(caught.value.place).startswith("test_rows.py:")


def test_what_is_no_component_is_a_type_error_that_says_what_to_do() -> None:
    class Abstract(Component):
        pass

    class Table(Component, type="t.table"):
        """A table."""

    for value, text in ((Abstract, "is abstract"), (int, "is no Component"), (Table(), "give the class")):
        with pytest.raises(TypeError, match=text):
            rows_of(value, NONE)  # type: ignore[arg-type]


@pytest.mark.requirement("3.8-patched-is-refused")
def test_a_capability_replaced_behind_the_guard_is_found() -> None:
    class Table(Component, type="t.table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    type.__setattr__(Table, "read", None)
    with pytest.raises(DefinitionError, match="was replaced after its class was created"):
        rows_of(Table, NONE)


def test_definitions_inside_definitions_stay_with_the_field_that_uses_them() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"outer": {"$ref": "#/$defs/Outer"}, "other": {"$ref": "#/$defs/Other"}, "plain": {}},
        "$defs": {
            "Outer": {"type": "object", "properties": {"inner": {"items": {"$ref": "#/$defs/Inner"}}}},
            "Inner": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "Other": {"type": "object", "properties": {"m": {"type": "integer"}}},
        },
    }
    outer, other = field_schema(schema, "outer"), field_schema(schema, "other")
    assert outer["$defs"] == {name: schema["$defs"][name] for name in ("Inner", "Outer")}
    assert other["$defs"] == {"Other": schema["$defs"]["Other"]}
    assert field_schema(schema, "plain") == {}


def test_a_reference_may_say_itself_whether_repeating_is_harmless(operations: Operations) -> None:
    class Table(Component, type="t.table"):
        """A table."""

        said = reference("domain:server-mutation", idempotent=True)

    class Silent(Component, type="t.silent"):
        """A table."""

        said = reference("domain:server-mutation")

    assert blocks(Table, operations)["said"]["idempotent"] is True
    assert blocks(Silent, operations)["said"]["idempotent"] is False


WITHOUT_DOCSTRINGS = """
from remit import Component, DefinitionError, action
from remit._contract.row import rows_of

class Table(Component, type="t.table", description="A table."):
    @action
    def select(self) -> None:
        "Select."

    @action(description="Said.")
    def said(self) -> None:
        "Dropped."

try:
    rows_of(Table, {})
except DefinitionError as problem:
    print(problem.subject, problem.rule, problem.do, sep="; ")
"""


def test_without_docstrings_a_class_stands_and_its_rows_say_what_is_missing() -> None:
    ran = subprocess.run(
        [sys.executable, "-OO", "-c", WITHOUT_DOCSTRINGS], capture_output=True, text=True, check=True, timeout=30
    )
    assert ran.stdout == (
        "t.table.select; has no description, because Python ran with -OO and dropped docstrings; "
        "run without -OO, or write description=\n"
    )
