"""What the source does not show is caught when both passes are compared (SPEC 13.3)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remit.compiler import compile_project
from remit.errors import CompileError

WriteProject = Callable[..., Path]
HEAD = "from remit import Component, action, observation, reference\n"


def component(name: str, type_name: str, more: str = "") -> str:
    return f'''
class {name}(Component, type={type_name}):
    """Text."""

    @observation
    def read(self, first: int = 1) -> int:
        """Read."""
        return first
{more}'''


NEW_CLASS = (
    HEAD
    + """
import types

def body(space):
    space["__doc__"] = "Made."
    space["__module__"] = __name__

Made = types.new_class("Made", (Component,), {"type": "f.new-class"}, body)
"""
)
ALIAS = (
    HEAD
    + """
import remit

look = getattr(remit, "observation")

class Alias(Component, type="f.alias"):
    \"\"\"Text.\"\"\"

    @look
    def hidden(self) -> int:
        \"\"\"Hidden.\"\"\"
        return 1
"""
)
BASE = (
    HEAD
    + """
import remit

Base = getattr(remit, "Component")

class Hidden(Base, type="f.base"):
    \"\"\"Text.\"\"\"
"""
)
RUNPY = (
    HEAD + 'import runpy\nfrom pathlib import Path\nKEPT = runpy.run_path(str(Path(__file__).with_name("ran.py")))\n'
)
MODULE = HEAD + 'import runpy\nKEPT = runpy.run_module("ran_module")\n'
MUTATED = HEAD + component("Mutated", '"f.mutated"') + '\nMutated.read.function.__doc__ = "Something else."\n'
REPLACED = (
    HEAD
    + component("Replaced", '"f.replaced"')
    + """
def other(self, second: str) -> int:
    \"\"\"Read.\"\"\"
    return 1

object.__setattr__(Replaced.read, "_function", other)
"""
)
OPTIONS = (
    HEAD
    + component("Options", '"f.options"')
    + """
from dataclasses import replace
object.__setattr__(Options.read, "_options", replace(Options.read.options, timeout=9))
"""
)
CONSTANT = HEAD + "import constants\n" + component("Constant", "constants.TYPE")
REDACTED = HEAD + component(
    "Redacted",
    '"f.redacted"',
    """
    def hide(self, payload):
        return payload.value

    read.redact(hide)
""",
)
CHECKED = HEAD + component(
    "Checked",
    '"f.checked"',
    """
    @action
    def put(self, first: int) -> None:
        \"\"\"Put.\"\"\"

    def judge(self, first):
        return None

    put.precondition(judge)
""",
)
GONE = HEAD + component("Gone", '"f.gone"') + "\nimport gc\ndel Gone\ngc.collect()\n"


@pytest.fixture
def found(write_project: WriteProject) -> list[str]:
    root = write_project(
        app="""
        import change, new_class, alias, base, runs, runs_module, mutated, replaced, options, constant, gone, fine
        import redacted, checked
        """,
        new_class=NEW_CLASS,
        alias=ALIAS,
        base=BASE,
        runs=RUNPY,
        ran=HEAD + component("Ran", '"f.runpy"'),
        runs_module=MODULE,
        ran_module=HEAD + component("RanModule", '"f.run-module"'),
        mutated=MUTATED,
        replaced=REPLACED,
        options=OPTIONS,
        constant=CONSTANT,
        constants='TYPE = "f.constant"\n',
        redacted=REDACTED,
        checked=CHECKED,
        gone=GONE,
        change='import constants\nconstants.TYPE = "f.changed"\n',
        fine=HEAD + component("Fine", '"f.fine"'),
    )
    with pytest.raises(CompileError) as caught:
        compile_project(root)
    return [str(each) for each in caught.value.findings]


@pytest.mark.requirement("13.3-declarations-equal-the-static-ones")
def test_every_form_the_source_hides_is_a_finding(found: list[str]) -> None:
    expected = [
        ("new_class.py:9", "f.new-class exists after the import, but the source does not show it"),
        ("alias.py:10", "f.alias.hidden is a capability after the import, but the source does not show it"),
        ("base.py:7", "f.base exists after the import, but the source does not show it"),
        ("ran.py:3", "f.runpy was reached by an import that cannot be read"),
        ("ran_module.py:3", "f.run-module was reached by an import that cannot be read"),
        ("gone.py", "f.gone is in the source, but no such class was there after the import"),
        ("mutated.py", "f.mutated.read: description is 'Something else.' after the import, and 'Read.' in the source"),
        ("replaced.py", "f.replaced.read: parameters is ['second'] after the import, and ['first'] in the source"),
        ("options.py", "f.options.read: timeout is 9 after the import, and None in the source"),
        ("redacted.py", "f.redacted.read: redacts is True after the import, and False in the source"),
        ("checked.py", "f.checked.put: checks is True after the import, and False in the source"),
        ("constant.py", "Constant has the type f.changed after the import, and f.constant in the source"),
    ]
    for place, text in expected:
        assert [each for each in found if each.startswith(place) and text in each], (place, text, found)
    assert not [each for each in found if "f.fine" in each]


@pytest.mark.requirement("13.3-declarations-equal-the-static-ones")
@pytest.mark.parametrize(
    ("change", "raised"),
    [
        ("A.read.meta = {}", "AttributeError"),
        ("object.__getattribute__(A, '__class__').__setattr__(A, 'read', 1)", "cannot be replaced"),
        ("raise SystemExit(3)", "SystemExit"),
    ],
)
def test_a_change_that_raises_is_a_finding_at_its_line(write_project: WriteProject, change: str, raised: str) -> None:
    text = HEAD + component("A", '"f.a"') + f"\nif True:\n    {change}\n"
    with pytest.raises(CompileError) as caught:
        compile_project(write_project(app=text))
    (finding,) = caught.value.findings
    assert (finding.path, finding.line) == ("app.py", text.count("\n"))
    assert raised in finding.found
