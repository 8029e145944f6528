"""What the static pass refuses: each dynamic form, with file and line and what to write instead (SPEC 13.2)."""
# ruff: noqa: E501 - a program of one line reads better whole

from collections.abc import Callable
from pathlib import Path

import pytest

from remit.compiler.extract import extract
from remit.compiler.graph import load_graph
from remit.errors import Finding

WriteProject = Callable[..., Path]
HEAD = "from remit import Component, Steps, action, flow, observation, reference\n"
READ = '''
    @observation
    def read(self) -> int:
        """Read."""
        return 1
'''
COMPONENT = f'class A(Component, type="a"):\n    """A."""{READ}'


def findings(root: Path, entries: tuple[str, ...] = ("app",)) -> list[Finding]:
    return extract(load_graph(root, entries, [root])).findings


FORMS = {
    "a tool of its own in a headless component": (
        HEAD + COMPONENT.replace('type="a"', 'type="a", headless=True'),
        "view:a.read is an observation, and a is headless: it holds references",
    ),
    "a computed headless": (
        HEAD + "import os\n" + COMPONENT.replace('type="a"', 'type="a", headless=bool(os.sep)'),
        "headless= is",
    ),
    "a flow inside a flow": (
        HEAD
        + COMPONENT
        + '    @flow(steps=["view:a.read"])\n    async def one(self, steps: Steps) -> None:\n        """One."""\n'
        + '    @flow(steps=["view:a.one"])\n    async def two(self, steps: Steps) -> None:\n        """Two."""\n',
        "the flow view:a.two has the step view:a.one, which is a flow",
    ),
    "a step of another component": (
        HEAD
        + COMPONENT
        + '    @flow(steps=["view:b.read"])\n    async def one(self, steps: Steps) -> None:\n        """One."""\n',
        "the flow view:a.one has the step 'view:b.read', which a does not declare",
    ),
    "a flow without steps": (
        HEAD + COMPONENT + '    @flow\n    async def one(self, steps: Steps) -> None:\n        """One."""\n',
        "the flow one declares no steps",
    ),
    "computed steps": (
        HEAD
        + COMPONENT
        + '    @flow(steps=[each for each in ("view:a.read",)])\n'
        + '    async def one(self, steps: Steps) -> None:\n        """One."""\n',
        "steps= is",
    ),
    "steps by their attributes": (
        HEAD
        + COMPONENT
        + '    @flow(steps=[read])\n    async def one(self, steps: Steps) -> None:\n        """One."""\n',
        "steps= is",
    ),
    "setattr on a component": (HEAD + COMPONENT + 'setattr(A, "read", None)\n', "changes a component"),
    "an attribute set on a component": (HEAD + COMPONENT + "A.read = None\n", "changed after its class"),
    "a docstring set on a component": (HEAD + COMPONENT + 'A.__doc__ = "B."\n', "changed after its class"),
    "an attribute deleted": (HEAD + COMPONENT + "del A.read\n", "changed after its class"),
    "a class decorator": (HEAD + f"def deco(c): return c\n\n@deco\n{COMPONENT}", "the class decorator `@deco`"),
    "a dataclass with a computed argument": (
        HEAD + f"import os\nfrom dataclasses import dataclass\n\n@dataclass(frozen=bool(os.sep))\n{COMPONENT}",
        "the class decorator",
    ),
    "a metaclass": (HEAD + COMPONENT.replace('type="a"', 'type="a", metaclass=M'), "has a metaclass"),
    "an unknown decorator on a capability": (
        HEAD + "import functools\n" + COMPONENT.replace("    @observation", "    @functools.cache\n    @observation"),
        "`@functools.cache` on the capability read",
    ),
    "a decorator factory that builds a capability": (
        HEAD
        + "def reading(text):\n    return observation(description=text)\n\n"
        + COMPONENT.replace("@observation", '@reading("Read.")'),
        "builds the capability read",
    ),
    "type() with three arguments": (
        HEAD + 'A = type("A", (Component,), {}, type="a")\n',
        "`type(…)` makes a component",
    ),
    "a class in a function": (
        HEAD + f"def make():\n{''.join('    ' + line + chr(10) for line in COMPONENT.splitlines())}",
        "declared in a function",
    ),
    "a class in a branch": (
        HEAD + f"import os\nif os.name:\n{''.join('    ' + line + chr(10) for line in COMPONENT.splitlines())}",
        "declared in a branch",
    ),
    "a class in a loop": (
        HEAD + f"for _ in range(1):\n{''.join('    ' + line + chr(10) for line in COMPONENT.splitlines())}",
        "declared in a loop",
    ),
    "a class under __main__": (
        HEAD + f'if __name__ == "__main__":\n{"".join("    " + line + chr(10) for line in COMPONENT.splitlines())}',
        "declared in a branch",
    ),
    "a class in a class": (
        HEAD + f"class Outer:\n{''.join('    ' + line + chr(10) for line in COMPONENT.splitlines())}",
        "declared in a class",
    ),
    "a computed type": (HEAD + COMPONENT.replace('type="a"', 'type="a".lower()'), "type= is the expression"),
    "a computed description": (
        HEAD + COMPONENT.replace("@observation", '@observation(description="a".upper())'),
        "description= is the expression",
    ),
    "an f-string as description": (
        HEAD + COMPONENT.replace("@observation", '@observation(description=f"{1}")'),
        "description= is an f-string",
    ),
    "a description that depends on the platform": (
        HEAD
        + 'import sys\nif sys.platform == "win32":\n    TEXT = "A."\nelse:\n    TEXT = "B."\n'
        + COMPONENT.replace("@observation", "@observation(description=TEXT)"),
        "bound more than once",
    ),
    "a constant assigned twice": (
        HEAD + 'TYPE = "a"\nTYPE = "b"\n' + COMPONENT.replace('"a"', "TYPE"),
        "bound more than once",
    ),
    "a constant changed by a function": (
        HEAD + 'TYPE = "a"\ndef change():\n    global TYPE\n    TYPE = "b"\n' + COMPONENT.replace('"a"', "TYPE"),
        "bound more than once",
    ),
    "a capability built by a call": (
        HEAD
        + 'class A(Component, type="a"):\n    """A."""\n    def _read(self) -> int:\n        """Read."""\n        return 1\n    read = observation(_read)\n',
        "capability built by a call",
    ),
    "a reference built by a function": (
        HEAD
        + 'def make(name):\n    return reference(f"domain:{name}")\n\nclass A(Component, type="a"):\n    """A."""\n    disable = make("x")\n',
        "capability built by a call",
    ),
    "a computed reference": (
        HEAD + 'class A(Component, type="a"):\n    """A."""\n    disable = reference("domain:" + str(1))\n',
        "the id of a reference is",
    ),
    "a computed binding": (
        HEAD
        + 'class A(Component, type="a"):\n    """A."""\n    disable = reference("domain:x")\n    @disable.bind("a".lower())\n    def _(self) -> int:\n        return 1\n',
        "the bound field is",
    ),
    "a branch in the class body": (
        HEAD + COMPONENT + "    if True:\n        x = 1\n",
        "a branch or loop in the body of A",
    ),
    "two methods of one name": (HEAD + COMPONENT + READ, "A.read is declared twice"),
    "a second name of a capability": (HEAD + COMPONENT + "    again = read\n", "a second name of the capability read"),
    "an attachment in a subclass": (
        HEAD
        + COMPONENT
        + 'class B(A, type="b"):\n    """B."""\n    @A.read.available\n    def _(self) -> bool:\n        return True\n',
        "attaches to a capability of another class",
    ),
    "keywords from a mapping": (
        HEAD + COMPONENT.replace("@observation", "@observation(**{})"),
        "`**` hides the keywords",
    ),
    "exec": (HEAD + 'exec("x = 1")\n', "exec(…) can declare anything"),
    "eval": (HEAD + 'eval("1")\n', "eval(…) can declare anything"),
    "a computed import": (
        HEAD + 'import importlib\nimportlib.import_module("a" + str(1))\n',
        "imports a module whose name is computed",
    ),
    "a computed import under another name": (
        HEAD + "from importlib import import_module as load\nname = input\nload(name())\n",
        "imports a module whose name is computed",
    ),
    "a module that does not parse": ("def (:\n", "does not parse"),
}


@pytest.mark.requirement("13.2-dynamic-forms-are-errors")
@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_cannot_be_read_is_a_finding_with_file_and_line(write_project: WriteProject, form: str) -> None:
    text, expected = FORMS[form]
    found = findings(write_project(app=text))
    assert [each for each in found if expected in each.found], found
    for each in found:
        assert each.path == "app.py"
        assert each.line is not None
        assert 1 <= each.line <= text.count("\n") + 1


@pytest.mark.requirement("13.2-found-and-what-to-write")
def test_the_line_is_the_one_to_change(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        from remit import Component, observation

        NAME = "a"
        NAME += "b"

        class A(Component, type=NAME):
            \"\"\"A.\"\"\"
        """
    )
    (found,) = findings(root)
    assert str(found) == (
        "app.py:6  type= is `NAME`, which is bound more than once or under a condition\n  write  type= with a literal"
    )


@pytest.mark.requirement("13.2-complete-or-exit-2")
def test_an_entry_that_is_not_there_is_a_finding(write_project: WriteProject) -> None:
    (found,) = findings(write_project(app=""), ("app", "gone"))
    assert "the entry 'gone' is no module" in found.found


@pytest.mark.requirement("13.2-the-rest-may-be-dynamic")
def test_what_has_nothing_to_do_with_declarations_may_be_as_dynamic_as_it_likes(write_project: WriteProject) -> None:
    root = write_project(
        app="""
        import functools
        from remit import Component, observation

        class Plain:
            pass

        Plain.x = 1
        setattr(Plain, "y", 2)
        Made = type("Made", (Plain,), {})
        for name in ("a", "b"):
            globals()[name] = name

        class A(Component, type="a"):
            \"\"\"A.\"\"\"

            @functools.cached_property
            def total(self) -> int:
                return 1

            @staticmethod
            def helper() -> int:
                return 1

            @observation
            def read(self) -> int:
                \"\"\"Read.\"\"\"
                return 1
        """
    )
    assert findings(root) == []
