"""Importing the package does nothing: no extra, no compiler, no command line, no logging set-up, no warnings filter."""

import json
import subprocess
import sys
from dataclasses import dataclass

import pytest

OUTSIDE = frozenset(
    {
        "click", "fastapi", "httpx", "httpx2", "jinja2", "jwt", "mcp", "nicegui", "opentelemetry", "rich", "starlette",
        "uvicorn", "multipart", "python_multipart",
    }
)  # fmt: skip
ROOMS = ("remit.adapters", "remit.cli", "remit.compiler", "remit.gateway", "remit.integrations", "remit.testing")
PROBE = """
import json, logging, sys, warnings
before = list(warnings.filters)
{statement}
handlers = [name for name in ["root", *logging.root.manager.loggerDict] if logging.getLogger(name).handlers]
added = [repr(each) for each in warnings.filters if each not in before]
print(json.dumps({{"modules": sorted(sys.modules), "handlers": handlers, "filters": added}}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What a statement left behind in a fresh interpreter."""

    modules: list[str]
    handlers: list[str]
    filters: list[str]


def traces(statement: str) -> Traces:
    """Run a statement in an interpreter of its own and look around after it."""
    ran = subprocess.run(
        [sys.executable, "-c", PROBE.format(statement=statement)], check=True, capture_output=True, text=True
    )
    assert ran.stderr == ""
    return Traces(**json.loads(ran.stdout))


def unwanted(modules: list[str]) -> list[str]:
    """The modules that importing the package must not load."""
    return [
        name
        for name in modules
        if name.split(".")[0] in OUTSIDE or any(name == room or name.startswith(f"{room}.") for room in ROOMS)
    ]


def test_importing_the_package_loads_no_extra_and_sets_nothing_up() -> None:
    left = traces("import remit")
    assert "remit" in left.modules
    assert unwanted(left.modules) == []
    assert left.handlers == []
    assert left.filters == []


def test_the_gate_sees_rooms_and_extras() -> None:
    assert unwanted(["json", "remit", "remit.cli", "remit.client", "remit.compiler.graph", "click.core"]) == [
        "remit.cli",
        "remit.compiler.graph",
        "click.core",
    ]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("logging.getLogger('remit').addHandler(logging.NullHandler())", "handlers"),
        ("logging.basicConfig()", "handlers"),
        ("warnings.filterwarnings('ignore', module='remit')", "filters"),
        ("import click", "modules"),
    ],
)
def test_the_gate_sees_what_a_statement_leaves_behind(statement: str, kind: str) -> None:
    left = traces(statement)
    found = {"handlers": left.handlers, "filters": left.filters, "modules": unwanted(left.modules)}
    assert [name for name, traces_of_kind in found.items() if traces_of_kind] == [kind]
