"""What is no JSON never leaves as something else, whatever the output type says (SPEC 3.6, 8.4)."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

import pytest
from pydantic import BaseModel
from starlette.responses import Response

from remit import Component, Consumer, Ok, Procedures, Surface, action, observation, reference
from tests.behaviour.conftest import AGENT, authority_of, failed, output


class Stats(BaseModel):
    """Numbers about a list."""

    mean: float
    parts: list[float] = []
    more: Any = None


@dataclass
class Point:
    """A point."""

    x: float


class Panel(Component, type="more.panel"):
    """A panel that shows what it is told to."""

    def __init__(self, value: object = None) -> None:
        self.value: Any = value

    @observation
    def typed(self) -> list[Stats]:
        """Typed."""
        return cast("list[Stats]", self.value)

    @observation
    def keyed(self) -> dict[str, Any]:
        """Free keys."""
        return cast("dict[str, Any]", self.value)

    @observation
    def listed(self) -> list[Any]:
        """Free items."""
        return cast("list[Any]", self.value)

    @observation
    def either(self) -> Stats | list[Any] | None:
        """One or the other."""
        return cast("Stats | list[Any] | None", self.value)

    @observation
    def any(self) -> Any:
        """Anything."""
        return self.value

    @observation
    def point(self) -> Point:
        """A dataclass."""
        return cast(Point, self.value)

    @observation
    def price(self) -> Decimal:
        """A decimal."""
        return cast(Decimal, self.value)

    @observation
    def names(self) -> set[str]:
        """A set."""
        return cast("set[str]", self.value)

    @action
    def undeclared(self):  # type: ignore[no-untyped-def]
        """Declares nothing."""
        return self.value


def opened(value: object) -> Surface:
    """A surface whose panel shows this."""
    surface = Surface(authority_of(Panel), principal="operator")
    surface.mount(Panel(value))
    return surface


NAN, INF = math.nan, math.inf


@pytest.mark.requirement("3.6-no-number-that-is-none-leaves")
@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("typed", [Stats(mean=1), Stats(mean=NAN)], "[1].mean"),
        ("typed", [Stats(mean=1, parts=[1, -INF])], "[0].parts[1]"),
        ("typed", [Stats(mean=1, more={"max": INF})], "[0].more.max"),
        ("keyed", {"mean": NAN}, "mean"),
        ("keyed", {"deep": [{"max": INF}]}, "deep[0].max"),
        ("listed", [1, [NAN]], "[1][0]"),
        ("either", [NAN], "[0]"),
        ("either", Stats(mean=1, more=[INF]), "more[0]"),
        ("any", {"mean": NAN}, "mean"),
        ("undeclared", {"mean": NAN}, "mean"),
        ("point", Point(NAN), "x"),
    ],
)
async def test_a_number_that_is_none_fails_the_output_and_the_operator_reads_where(
    name: str, value: object, place: str
) -> None:
    surface = opened(value)
    outcome = await surface.connect(AGENT).call(f"view:more.panel.{name}")
    error = failed(outcome, "EXECUTION_FAILED")
    assert error.details["reason"] == "output-invalid"
    assert surface.audit()[-1].why == f"NaN or an infinity, at `{place}`"
    json.loads(json.dumps(dict(error.details), allow_nan=False))


@pytest.mark.requirement("3.6-what-is-no-json-is-not-made-json")
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"deep": [v]}], ids=["itself", "inside"])
@pytest.mark.parametrize(
    "value",
    [Decimal("1.5"), {"b", "a"}, Response("secret-4711"), b"secret-4711", object()],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("name", ["any", "undeclared", "keyed", "listed", "either"])
async def test_what_is_no_json_is_a_typed_failure_where_anything_is_declared(
    name: str, value: object, wrap: Callable[[object], object]
) -> None:
    given = wrap(value)
    shaped = {"keyed": {"deep": given}, "listed": [given], "either": [given]}.get(name, given)
    surface = opened(shaped)
    error = failed(await surface.connect(AGENT).call(f"view:more.panel.{name}"), "EXECUTION_FAILED")
    assert error.details["reason"] == "output-invalid"
    assert "secret" not in str(error) and " at 0x" not in str(error)
    why = str(surface.audit()[-1].why)
    assert f"a value of the type {type(value).__name__} is not JSON" in why and "secret" not in why


@pytest.mark.requirement("3.6-declared-types-leave-as-json")
@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("point", Point(1.0), {"x": 1}),
        ("price", Decimal("1.50"), "1.50"),
        ("names", {"a"}, ["a"]),
        ("typed", [Stats(mean=1.5, more={"a": [1, None]})], [{"mean": 1.5, "parts": [], "more": {"a": [1, None]}}]),
        ("keyed", {"a": {"b": 1.0}}, {"a": {"b": 1}}),
        ("either", Stats(mean=1, more="x"), {"mean": 1, "parts": [], "more": "x"}),
        ("either", None, None),
    ],
)
async def test_a_declared_type_leaves_as_json_of_its_schema(name: str, value: object, shown: object) -> None:
    assert output(await opened(value).connect(AGENT).call(f"view:more.panel.{name}")) == shown


@pytest.mark.requirement("3.6-declared-types-leave-as-json")
@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("price", Decimal("NaN"), ""),
        ("price", 1.5, ""),
        ("point", {"x": 1, "more": 2}, "more"),
        ("names", ["a"], ""),
        ("typed", [Stats(mean=1), Stats.model_construct(mean=cast(Any, "secret-4711"))], "[1].mean"),
    ],
)
async def test_a_value_of_another_type_fails_without_being_quoted(name: str, value: object, place: str) -> None:
    surface = opened(value)
    error = failed(await surface.connect(AGENT).call(f"view:more.panel.{name}"), "EXECUTION_FAILED")
    assert error.details["reason"] == "output-invalid"
    why = str(surface.audit()[-1].why)
    assert "secret" not in str(error) + why
    assert why.endswith(f"at `{place}`") if place else "at `" not in why or isinstance(value, Decimal)


def test_bytes_are_no_output_type() -> None:
    with pytest.raises(Exception, match="base64"):

        class Raw(Component, type="raw"):
            """Raw."""

            @observation
            def read(self) -> bytes:
                """Read."""
                return b""

        authority_of(Raw)


@pytest.mark.requirement("3.6-no-number-that-is-none-leaves")
@pytest.mark.parametrize("declared", [True, False])
async def test_an_operation_of_a_backend_is_held_to_the_same(declared: bool) -> None:
    backend = Procedures()

    async def measure() -> dict[str, Any]:
        """Measure."""
        return {"mean": [NAN]}

    if not declared:
        del measure.__annotations__["return"]
    backend.operation("measure", effect="server-query")(measure)

    class Page(Component, type="page"):
        """A page."""

        measure = reference("domain:measure")

    surface = Surface(authority_of(Page, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Page())
    error = failed(await surface.connect(AGENT).call(Page.measure), "EXECUTION_FAILED")
    assert (error.details["reason"], error.details["outcome"]) == ("output-invalid", "none")
    assert surface.audit()[-1].why == "NaN or an infinity, at `mean[0]`"


@pytest.mark.requirement("3.6-no-number-that-is-none-leaves")
async def test_the_text_for_a_model_parses_strictly() -> None:
    tools = opened([1, NAN]).connect(Consumer("copilot", kind="embedded")).toolset()
    tools.definitions()
    result = await tools.call("view_more__panel__listed")

    def refuse(constant: str) -> object:
        raise AssertionError(constant)

    told = json.loads(result.text, parse_constant=refuse)
    assert told["error"]["code"] == "EXECUTION_FAILED" and not isinstance(result.outcome, Ok)
