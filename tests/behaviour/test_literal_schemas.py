"""Inputs and outputs written as JSON Schema behave as those of type hints do, at every door (SPEC 3.5, 3.6)."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict, cast

import pytest
from pydantic import BaseModel, ConfigDict

from remit import (
    Component,
    Consumer,
    Context,
    DefinitionError,
    Failed,
    Invocation,
    Ok,
    Procedures,
    Refused,
    Surface,
    action,
    observation,
    reference,
)
from remit.testing import Harness, assert_failed, assert_ok
from tests.behaviour.conftest import AGENT, authority_of, failed, output

MOVE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "to-x": {"type": "integer", "minimum": 0},
        "when": {"type": "string", "format": "date-time"},
        "mode": {"enum": ["fast", "slow"], "default": "slow"},
        "also": {"$ref": "#/$defs/Also"},
    },
    "required": ["to-x"],
    "$defs": {"Also": {"type": "object", "properties": {"note": {"type": "string"}}}},
}


class Mover(Component, type="mover"):
    """Something that moves."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, object]] = []

    @observation(
        input={"type": "object", "properties": {"last": {"type": "integer", "minimum": 1}}}, output={"type": "array"}
    )
    def moves(self, wanted: dict[str, object]) -> list[Mapping[str, object]]:
        """The last moves."""
        return self.seen[-cast(int, wanted.get("last", 100)) :]

    @action(input=MOVE, output={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]})
    def move(self, place: Mapping[str, object], call: Context) -> Mapping[str, object]:
        """Move to a place."""
        assert call.capability == "view:mover.move"
        self.seen.append(place)
        return {"x": place["to-x"]}

    @move.precondition
    def near(self, place: Mapping[str, object]) -> Refused | None:
        return Refused("Too far") if cast(int, place["to-x"]) > 1000 else None


def surface_with(mover: Mover) -> Surface:
    surface = Surface(authority_of(Mover), principal="operator")
    surface.mount(mover)
    return surface


async def call(surface: Surface, name: str, given: object) -> Ok | Failed:
    return await surface.invoke(Invocation(f"view:mover.{name}", cast("dict[str, object]", given)), AGENT)


@pytest.mark.requirement("3.5-literals")
async def test_the_handler_gets_the_whole_effective_input_as_one_dict_of_its_own() -> None:
    mover = Mover()
    surface = surface_with(mover)
    given = {"to-x": 3.0, "when": "2026-01-01T00:00:00Z", "also": {"note": "x"}}
    assert output(await call(surface, "move", given)) == {"x": 3}
    assert mover.seen == [{"to-x": 3, "when": "2026-01-01T00:00:00Z", "mode": "slow", "also": {"note": "x"}}]
    assert type(mover.seen[0]["to-x"]) is int  # normalised, as with hints
    assert mover.seen[0] is not given
    assert output(await call(surface, "moves", {"last": 1})) == mover.seen


@pytest.mark.requirement("3.5-literals")
@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "to-x"),
        ({"to-x": True}, "to-x"),
        ({"to-x": 1, "mode": "odd"}, "mode"),
        ({"to-x": 1, "when": "2026-02-30T00:00:00Z"}, "when"),
        ({"to-x": 1, "when": "2026-02-03T00:00:00"}, "when"),
        ({"to-x": 1, "extra": 1}, "extra"),
        ({"to-x": 1, "also": {"extra": 1}}, "also.extra"),
    ],
)
async def test_the_written_schema_decides_what_is_valid(given: object, path: str) -> None:
    mover = Mover()
    error = failed(await call(surface_with(mover), "move", given), "INVALID_INPUT")
    issues = cast("list[dict[str, str]]", error.details["issues"])
    assert [each["path"] for each in issues] == [path]
    assert mover.seen == []


@pytest.mark.requirement("3.5-literals")
async def test_repair_and_precondition_see_the_written_schema() -> None:
    surface = surface_with(Mover())
    assert output(await call(surface, "move", {"to-x": "7", "also": "{}"})) == {"x": 7}
    assert failed(await call(surface, "move", {"to-x": 1001}), "PRECONDITION_FAILED").details["reason"] == "Too far"


@pytest.mark.requirement("3.5-literals")
async def test_an_output_that_breaks_the_written_schema_or_is_no_json_leaves_nothing() -> None:
    class Loose(Component, type="loose"):
        """Says anything."""

        @observation(output={"type": "object", "properties": {"n": {"type": "number"}}})
        def read(self) -> Any:
            """Read."""
            return said.pop()

    said: list[object] = [{"n": 1, "more": 2}, {"n": "1"}, {"n": float("nan")}, {"n": {1}}, {"n": 1.5}]
    surface = Surface(authority_of(Loose), principal="operator")
    surface.mount(Loose())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Loose.read)) == {"n": 1.5}
    for _ in range(4):
        assert failed(await agent.call(Loose.read), "EXECUTION_FAILED").details["reason"] == "output-invalid"


class Filter(TypedDict, total=False):
    """What a filter says."""

    city: str


@pytest.mark.requirement("3.5-literals")
async def test_an_operation_of_a_backend_may_be_written_so_too() -> None:
    backend = Procedures()

    @backend.operation(
        "orders.find",
        effect="server-query",
        input={
            "type": "object",
            "properties": {"city": {"type": "string"}, "most": {"type": "integer"}},
            "required": ["most"],
        },
        output={"type": "array", "items": {"type": "string"}},
    )
    async def find(filter: Filter, call: Context) -> list[str]:
        """Find orders."""
        return [f"{name}={value}" for name, value in sorted(filter.items())]

    class Orders(Component, type="orders"):
        """Orders."""

        find = reference("domain:orders.find")

        @find.bind("most")
        def most(self) -> int:
            return 3

    surface = Surface(authority_of(Orders, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Orders())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Orders.find, {"city": "Rome"})) == ["city=Rome", "most=3"]
    assert failed(await agent.call(Orders.find, {"most": 9}), "INVALID_INPUT").details["locked_fields"] == ["most"]
    (listed,) = agent.capabilities()
    assert listed.descriptor.input_schema["properties"] == {"city": {"type": "string"}}


@pytest.mark.requirement("3.5-literals")
@pytest.mark.parametrize("door", ["test", "mcp"])
async def test_a_door_lists_the_written_schema_and_judges_by_it(door: Literal["test", "mcp"]) -> None:
    authority = authority_of(Mover, exposure={"mcp": ["view:mover.**"]})
    async with Harness(authority, principal="operator") as harness:
        harness.mount(Mover())
        agent = harness if door == "test" else harness.over(door)
        assert assert_ok(await agent.call(Mover.move, {"to-x": 2})) == {"x": 2}
        assert_failed(await agent.call(Mover.move, {"to-x": -1}), "INVALID_INPUT")


def refused(declare: Callable[[], type[Component]]) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        authority_of(declare())
    return caught.value


@pytest.mark.requirement("3.5-literals-refused")
@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"type": "object", "properties": {"a": {"type": "string", "not": {}}}}, ("a: `not`", "what is allowed")),
        ({"type": "object", "properties": {"a": {"items": {"format": "ipv4"}}}}, ("a[]: format 'ipv4'", "a str")),
        ({"type": "object", "properties": {"a": {"patternProperties": {}}}}, ("a: `patternProperties`", "a list")),
        ({"type": "object", "$id": "https://example.org/x"}, ("`$id`", "")),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}}}, ("a: a `$ref`", "")),
        ({"type": "object", "required": ["a"]}, ("`required` names `a`", "its schema")),
        ({"properties": {"a": {}}}, ("does not say that it is an object", '"type": "object"')),
        ({"type": ["object", "null"]}, ("does not say that it is an object", '"type": "object"')),
        ({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}, ("a: the default breaks", "")),
        ({"type": "object", "properties": {"a": {"enum": ("x", "y")}}}, ("not JSON", "")),
        ("object", ("is a dict, not str", "")),
        ([], ("is a dict, not list", "")),
    ],
)
def test_a_schema_outside_the_subset_is_refused_with_its_path(written: Any, told: tuple[str, str]) -> None:
    def declare() -> type[Component]:
        class Odd(Component, type="odd"):
            """Odd."""

            @action(input=written)
            def put(self, values: dict[str, object]) -> None:
                """Put."""

        return Odd

    error = refused(declare)
    assert (error.subject, error.place is not None) == ("odd.put", True)
    assert error.rule.startswith("in input=, ")
    assert told[0] in error.rule
    assert told[1] in (error.do or "")


def two(self: object, one: dict[str, object], other: dict[str, object]) -> None:
    """Put."""


def none(self: object, call: Context) -> None:
    """Put."""


def default(self: object, one: dict[str, object] | None = None) -> None:
    """Put."""


def hint(self: object, one: str) -> None:
    """Put."""


def nothing(self: object, one: dict[str, object]) -> None:
    """Put."""


@pytest.mark.requirement("3.5-literals-refused")
@pytest.mark.parametrize(
    ("method", "rule"),
    [
        (two, "the function takes `one`, `other`"),
        (none, "the function takes no parameter"),
        (default, "`one` has a default beside input="),
        (hint, "`one` gets the whole input, which is a dict"),
        (nothing, "annotated to return nothing"),
    ],
)
def test_a_method_that_does_not_fit_its_written_schema_is_refused(method: Callable[..., None], rule: str) -> None:
    def declare() -> type[Component]:
        class Odd(Component, type="odd"):
            """Odd."""

            put = action(input={"type": "object"}, output={"type": "object"} if method is nothing else None)(method)

        return Odd

    error = refused(declare)
    assert rule in error.rule
    assert error.place is not None


@pytest.mark.requirement("3.8-frozen-metadata")
def test_a_schema_that_changes_after_the_class_was_created_changes_nothing() -> None:
    written: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}

    class Fixed(Component, type="fixed"):
        """Fixed."""

        @action(input=written)
        def put(self, values: dict[str, object]) -> None:
            """Put."""

    written["properties"]["a"]["type"] = "string"
    surface = Surface(authority_of(Fixed), principal="operator")
    surface.mount(Fixed())
    (listed,) = surface.connect(Consumer("agent", kind="test")).capabilities()
    assert listed.descriptor.input_schema["properties"] == {"a": {"type": "integer"}}


class Extra(BaseModel):
    """Takes more than it names."""

    model_config = ConfigDict(extra="allow")
    name: str = ""


class Anything(Component, type="anything"):
    """Takes anything."""

    def __init__(self) -> None:
        self.got: list[object] = []

    @action
    def put(self, value: Any, keys: dict[str, Any], extra: Extra, items: list[Any]) -> None:
        """Put anything."""
        self.got = [value, keys, extra.model_extra, items]

    @action(input={"type": "object", "additionalProperties": True, "properties": {"named": {"type": "integer"}}})
    def write(self, values: dict[str, object]) -> None:
        """Write anything."""
        self.got = [values]


@pytest.mark.requirement("3.5-open-where-said")
async def test_an_input_is_open_exactly_where_its_declaration_says_so() -> None:
    shown = Anything()
    surface = Surface(authority_of(Anything), principal="operator")
    surface.mount(shown)
    agent = surface.connect(AGENT)
    given = {"value": [1, {"a": None}], "keys": {"b": 2}, "extra": {"c": "3"}, "items": ["4", 5]}
    assert output(await agent.call(Anything.put, given)) is None
    assert shown.got == [[1, {"a": None}], {"b": 2}, {"c": "3"}, ["4", 5]]
    assert output(await agent.call(Anything.write, {"named": 1, "x": {"y": "z"}})) is None
    assert shown.got == [{"named": 1, "x": {"y": "z"}}]
    failed(await agent.call(Anything.put, {**given, "more": 1}), "INVALID_INPUT")
    failed(await agent.call(Anything.write, {"named": "x"}), "INVALID_INPUT")


@pytest.mark.requirement("3.5-open-where-said")
async def test_what_is_open_is_json_all_the_same() -> None:
    surface = Surface(authority_of(Anything), principal="operator")
    surface.mount(Anything())
    agent = surface.connect(AGENT)
    for odd in ((1, 2), {1}, float("nan"), 2**53, "\ud800", {1: 2}):
        failed(await agent.call(Anything.write, {"x": odd}), "INVALID_INPUT")
