"""What the static pass reads: imports of every kind, bindings, literals, inheritance (SPEC 13.2)."""
# ruff: noqa: E501 - a program of one line reads better whole

import pytest

from remit.compiler.graph import load_graph
from tests.unit.compiler.reading import TABLE, WriteProject, components


@pytest.mark.requirement("13.2-every-import-is-followed")
@pytest.mark.parametrize(
    ("app", "file"),
    [
        ("import table", "table.py"),
        ("import pages.table as t", "pages/table.py"),
        ("from pages import table", "pages/table.py"),
        ("from pages.table import Table as T", "pages/table.py"),
        ("from table import *", "table.py"),
        ("def later():\n    import table", "table.py"),
        ("async def later():\n    from pages import table", "pages/table.py"),
        ('import importlib\nimportlib.import_module("pages.table")', "pages/table.py"),
        ('from importlib import import_module\nimport_module(".table", "pages")', "pages/table.py"),
        ("try:\n    import table\nexcept ImportError:\n    table = None", "table.py"),
    ],
)
def test_every_kind_of_import_is_followed(write_project: WriteProject, app: str, file: str) -> None:
    root = write_project(app=app, files={"pages/__init__.py": "", file: TABLE})
    assert list(components(root)) == ["t.table"]


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_relative_imports_start_from_the_package(write_project: WriteProject) -> None:
    root = write_project(
        files={
            "shop/__init__.py": "from .views import Table\n",
            "shop/views/__init__.py": "from ..table import *\nfrom . import other\n",
            "shop/views/other.py": TABLE.replace("t.table", "t.other"),
            "shop/table.py": TABLE,
        }
    )
    assert sorted(components(root, "shop")) == ["t.other", "t.table"]


@pytest.mark.requirement("13.2-type-only-imports-are-no-edge")
def test_a_type_only_import_is_no_edge(write_project: WriteProject) -> None:
    root = write_project(app="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import table\n", table=TABLE)
    assert components(root) == {}


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_modules_outside_the_project_are_not_read(write_project: WriteProject) -> None:
    root = write_project(app="import json, pydantic, table\n", table=TABLE)
    graph = load_graph(root, ["app"], [root])
    assert sorted(graph.modules) == ["app", "table"]


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_circular_imports_and_circular_stars_end(write_project: WriteProject) -> None:
    root = write_project(app="from table import *\n", table="from app import *\n" + TABLE)
    assert list(components(root)) == ["t.table"]


def test_a_long_chain_of_imports_needs_no_recursion(write_project: WriteProject) -> None:
    links = {f"m{number}": f"import m{number + 1}\n" for number in range(1500)}
    root = write_project(app="import m0\n", **links, m1500=TABLE)
    assert list(components(root)) == ["t.table"]


@pytest.mark.requirement("13.2-import-bindings")
@pytest.mark.parametrize(
    ("imports", "base", "decorator"),
    [
        ("import remit", "remit.Component", "remit.observation"),
        ("import remit as r", "r.Component", "r.observation()"),
        ("from remit import Component as C, observation as o", "C", "o"),
        ("import remit\nC = remit.Component\nobs = remit.observation", "C", "obs"),
        ("from api import *", "Component", "observation"),
        ("import api", "api.Component", "api.observation"),
        ("from api import Component\nfrom remit import *", "Component", "observation"),
    ],
)
def test_the_api_is_known_by_what_names_are_bound_to(
    write_project: WriteProject, imports: str, base: str, decorator: str
) -> None:
    app = f'{imports}\n\nclass A({base}, type="a"):\n    """A."""\n    @{decorator}\n    def read(self) -> int:\n        """Read."""\n'
    root = write_project(app=app, api="from remit import Component, observation\n")
    (found,) = components(root).values()
    assert [each.name for each in found.capabilities.values()] == ["view:a.read"]


@pytest.mark.requirement("13.2-import-bindings")
def test_a_function_that_merely_has_the_name_declares_nothing(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from remit import Component

        def observation(function):
            return function

        class A(Component, type="a"):
            \"\"\"A.\"\"\"

            @observation
            def read(self) -> int:
                return 1
        """
    )
    assert components(root)["a"].capabilities == {}


@pytest.mark.requirement("13.2-literals-and-constants")
def test_constants_are_literals_from_anywhere_in_the_project(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        import texts as t
        from texts import BASE
        from remit import Component, action

        TYPE = BASE + ".table"

        class A(Component, type=TYPE, tags=("b", "a", "b")):
            \"\"\"
            First line
                and second.

            Not this.
            \"\"\"

            @action(effect=t.EFFECT, description=t.TEXT, timeout=-(-2), doors=["mcp"])
            def go(self, where: str, *, fast: bool = False) -> None: ...
        """,
        texts='BASE = "shop"\nTEXT = "Go " "there."\nEFFECT = "navigation"\n',
    )
    found = components(root)["shop.table"]
    assert found.description == "First line and second."
    assert found.options["tags"] == ["a", "b"]
    go = found.capabilities["go"]
    assert (go.effect, go.description, go.parameters) == ("navigation", "Go there.", ("where", "fast"))
    assert (go.options["timeout"], go.options["doors"]) == (2, ["mcp"])


@pytest.mark.requirement("13.2-inheritance")
def test_capabilities_are_inherited_and_overridden_in_the_order_of_python(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from base import Both, Mixin
        from remit import Component, observation

        class A(Both, type="a"):
            \"\"\"A.\"\"\"

        class B(Both, type="b"):
            \"\"\"B.\"\"\"

            @observation
            def left(self) -> int:
                \"\"\"Own left.\"\"\"
        """,
        base="""
        from remit import Component, observation

        class Mixin:
            @observation
            def shared(self) -> int:
                \"\"\"From the mixin.\"\"\"

            @observation
            def left(self) -> int:
                \"\"\"Mixin's left.\"\"\"

        class Left(Mixin, Component):
            @observation
            def left(self) -> int:
                \"\"\"Left.\"\"\"

        class Right(Mixin, Component):
            @observation
            def shared(self) -> int:
                \"\"\"From the right.\"\"\"

        class Both(Left, Right): ...
        """,
    )
    found = components(root)
    assert {name: each.description for name, each in found["a"].capabilities.items()} == {
        "left": "Left.",
        "shared": "From the right.",
    }
    assert found["b"].capabilities["left"].description == "Own left."
    assert found["b"].capabilities["left"].name == "view:b.left"


@pytest.mark.requirement("13.2-the-rest-may-be-dynamic")
def test_keywords_of_the_projects_own_base_class_are_its_affair(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from remit import Component

        class Base(Component):
            def __init_subclass__(cls, *, colour: object = None, **others: object) -> None:
                super().__init_subclass__(**others)

        class A(Base, type="a", colour=object()):
            \"\"\"A.\"\"\"
        """
    )
    assert list(components(root)) == ["a"]


@pytest.mark.requirement("13.2-literals-and-constants")
def test_references_carry_their_bound_fields(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from typing import ClassVar
        from remit import Component, reference
        from remit._contract.reference import Reference

        class A(Component, type="a"):
            \"\"\"A.\"\"\"

            disable: ClassVar[Reference] = reference("domain:x.disable", approver="lead")

            @disable.bind("ids")
            @disable.bind("zone")
            def _(self) -> list[str]:
                return []

            @disable.available
            def _(self) -> bool:
                return True
        """
    )
    disable = components(root)["a"].capabilities["disable"]
    assert (disable.name, disable.parameters) == ("domain:x.disable", ("ids", "zone"))
    assert disable.options["approver"] == "lead"


@pytest.mark.requirement("3.1-redact-is-in-the-contract")
def test_a_redactor_is_read_from_the_source(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from remit import Component, Payload, action, observation

        class A(Component, type="a"):
            \"\"\"A.\"\"\"

            @observation
            def read(self) -> str:
                \"\"\"Read.\"\"\"
                return ""

            @action
            def put(self) -> str:
                \"\"\"Put.\"\"\"
                return ""

            @read.redact
            async def hide(self, payload: Payload) -> object:
                return payload.value
        """
    )
    found = components(root)["a"].capabilities
    assert {name: each.redacts for name, each in found.items()} == {"read": True, "put": False}
