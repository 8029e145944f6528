"""Where a name counts: scopes, namespace packages, imports under other names, two places for one id (SPEC 13.2)."""

from pathlib import Path

import pytest

from remit.compiler.extract import extract
from remit.compiler.graph import load_graph
from remit.errors import Finding
from tests.unit.compiler.reading import TABLE, WriteProject, components


def findings(root: Path) -> list[Finding]:
    return extract(load_graph(root, ["app"], [root])).findings


@pytest.mark.requirement("13.2-names-have-scopes")
def test_a_constant_inside_a_function_is_not_the_one_outside(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from remit import Component, observation

        TEXT = "Outside."

        def other() -> str:
            TEXT = "Inside."
            return TEXT

        def parameter(TEXT: str) -> str:
            TEXT += "!"
            return TEXT

        squares = [TEXT for TEXT in "ab"] + [(lambda TEXT: TEXT)("c")]

        class A(Component, type="a"):
            \"\"\"A.\"\"\"

            @observation(description=TEXT)
            def read(self) -> int:
                return 1
        """
    )
    assert components(root)["a"].capabilities["read"].description == "Outside."


@pytest.mark.requirement("13.2-names-have-scopes")
def test_a_local_name_is_not_the_component_outside(write_project: WriteProject) -> None:
    root = write_project(
        app=TABLE
        + """
def fill(Table: object) -> None:
    Table.rows = 1

def build() -> None:
    Table = object()
    setattr(Table, "rows", 2)

def eval(text: str) -> str:
    return text

def run(exec: object) -> None:
    exec("fine")
    eval("fine")
"""
    )
    assert list(components(root)) == ["t.table"]


@pytest.mark.requirement("13.2-names-have-scopes")
def test_a_name_bound_inside_a_function_means_nothing_outside(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        import remit

        def later() -> None:
            from remit import Component

        class Component:
            pass

        class A(Component):
            pass
        """
    )
    assert components(root) == {}


@pytest.mark.requirement("13.2-names-have-scopes")
def test_what_is_changed_inside_a_function_by_its_local_name_is_found(write_project: WriteProject) -> None:
    root = write_project(
        app=TABLE
        + """
def patch() -> None:
    kind = Table
    kind.read = None

def load(name: str) -> None:
    from importlib import import_module as fetch
    fetch(name)
"""
    )
    assert [(each.line, each.found) for each in findings(root)] == [
        (13, "`kind.read` is changed after its class was declared"),
        (17, "imports a module whose name is computed"),
    ]


@pytest.mark.requirement("13.2-names-have-scopes")
def test_what_the_class_body_binds_comes_first_from_the_line_on(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from remit import Component, action, key, observation

        TEXT = "Outside."

        class A(Component, type="a"):
            \"\"\"A.\"\"\"

            @observation(description=TEXT)
            def before(self) -> int:
                return 1

            TEXT = "In the body."

            @observation(description=TEXT)
            def after(self) -> int:
                return 1

            @action(concurrency=key("turns"))
            def key(self) -> None:
                \"\"\"Has the name of what is called above it.\"\"\"
        """
    )
    found = components(root)["a"].capabilities
    assert [found[name].description for name in ("before", "after")] == ["Outside.", "In the body."]
    assert found["key"].options["concurrency"] == {"key": "turns"}


@pytest.mark.requirement("13.2-names-have-scopes")
@pytest.mark.parametrize(
    "change",
    [
        "with open(__file__) as TYPE: pass",
        "try: pass\nexcept ValueError as TYPE: pass",
        "(TYPE, other) = 1, 2",
        "print(TYPE := 1)",
        "del TYPE",
        "match 1:\n    case TYPE: pass",
        "def change():\n    global TYPE\n    import TYPE",
        "for (TYPE, other) in []: pass",
    ],
)
def test_a_name_bound_by_anything_else_too_is_no_constant(write_project: WriteProject, change: str) -> None:
    text = 'from remit import Component\nTYPE = "a"\n\nclass A(Component, type=TYPE):\n    """A."""\n\n'
    (found,) = findings(write_project(app=text + change + "\n"))
    assert (found.line, found.found) == (4, "type= is `TYPE`, which is bound more than once or under a condition")


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_packages_without_an_init_are_followed_over_all_roots(write_project: WriteProject) -> None:
    root = write_project(
        app="import shop.views.table\nfrom shop.deep import other\nfrom shop import back as b\n",
        files={
            "shop/views/table.py": TABLE,
            "shop/back/__init__.py": "from .rows import *\n",
            "shop/back/rows.py": TABLE.replace("t.table", "t.rows"),
            "src/shop/deep/other.py": TABLE.replace("t.table", "t.other"),
            "src/shop/views/table.py": TABLE.replace("t.table", "t.hidden"),
        },
    )
    assert sorted(components(root, roots=["src"])) == ["t.other", "t.rows", "t.table"]


@pytest.mark.requirement("13.2-every-import-is-followed")
def test_a_package_with_an_init_is_in_one_place(write_project: WriteProject) -> None:
    root = write_project(
        app="import shop.table\n",
        files={"shop/__init__.py": "", "src/shop/table.py": TABLE, "src/shop/__init__.py": ""},
    )
    assert components(root, roots=["src"]) == {}


@pytest.mark.requirement("13.2-every-import-is-followed")
@pytest.mark.parametrize(
    "app",
    [
        'from importlib import import_module as load\nload("pages.table")',
        'import importlib as il\nil.import_module(name="pages.table")',
        'from tools import load\nload("pages.table")',
        'from tools import load\ndef later():\n    fetch = load\n    fetch("pages.table")',
        '__import__("pages.table")',
    ],
)
def test_a_literal_import_is_followed_under_any_name(write_project: WriteProject, app: str) -> None:
    root = write_project(
        app=app, tools="from importlib import import_module as load\n", files={"pages/table.py": TABLE}
    )
    assert list(components(root)) == ["t.table"]


@pytest.mark.requirement("13.2-no-file-is-left-out")
def test_no_file_is_left_out_because_of_its_name_and_comments_are_comments(write_project: WriteProject) -> None:
    names = ("packages.remit.x", "tests.test_x", "conftest", "setup", "remit_generated", "node_modules.x", "_private.x")
    noise = '# exec("x"); setattr(Table, "read", None); class Other(Component, type="no"):\n"""exec(1)"""\n'
    files = {
        f"{name.replace('.', '/')}.py": noise + TABLE.replace("t.table", f"t.{index}")
        for index, name in enumerate(names)
    }
    root = write_project(app="\n".join(f"import {name}" for name in names), files=files)
    assert sorted(components(root)) == [f"t.{index}" for index in range(len(names))]


@pytest.mark.requirement("13.2-one-id-one-place")
def test_a_second_class_of_one_type_names_both_places(write_project: WriteProject) -> None:
    (found,) = findings(write_project(app="import one, two", one=TABLE, two="\n" + TABLE))
    assert (found.path, found.line) == ("two.py", 3)
    assert found.found == "the type t.table is declared here and at one.py:3"


@pytest.mark.requirement("13.2-one-id-one-place")
def test_a_second_capability_of_one_id_names_both_places(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from base import Base
        from remit import observation, reference

        class A(Base, type="a"):
            \"\"\"A.\"\"\"

            one = reference("domain:x")
            two = reference("domain:x")

            @observation(name="read")
            def look(self) -> int:
                \"\"\"Look.\"\"\"
                return 1
        """,
        base="""
        from remit import Component, observation

        class Base(Component):
            @observation
            def read(self) -> int:
                \"\"\"Read.\"\"\"
                return 1
        """,
    )
    assert [str(each).split("\n", 1)[0] for each in findings(root)] == [
        "app.py:8  domain:x is declared here and at app.py:7",
        "app.py:10  view:a.read is declared here and at base.py:4",
    ]


@pytest.mark.requirement("13.2-dynamic-forms-are-errors")
def test_an_f_string_is_no_docstring_of_a_class(write_project: WriteProject) -> None:
    text = 'from remit import Component\nclass A(Component, type="a"):\n    f"""A {1}."""\n'
    (found,) = findings(write_project(app=text))
    assert str(found) == (
        "app.py:3  the docstring of A is an f-string, which Python does not keep\n  write  a plain string"
    )
