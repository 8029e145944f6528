"""What a component class is, what it refuses, and in which words (SPEC 2, 3.1 to 3.4, 3.10)."""

import _thread
import asyncio
import queue
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Generic, Literal, TypeVar

import pytest

from remit._contract.capability import Action, Observation, place_of_caller
from remit._contract.component import Component, declaration_of
from remit._contract.decorators import action, observation
from remit._contract.reference import Reference, reference
from remit._model.answers import Refused, Unavailable
from remit.errors import DefinitionCode, DefinitionError
from remit.policies import Policy, authenticated


class Table(Component, type="t.table", title="Table", tags=("a",)):
    """Table of
    things.

    Not for agents.
    """

    def __init__(self) -> None:
        self.rows = ["a"]

    @observation
    def read_all_rows(self) -> list[str]:
        """Rows."""
        return self.rows

    @action(effect="navigation", name="open")
    async def open_row(self, row: str) -> str:
        """Open a row."""
        return row

    @action
    def select(self, rows: list[str], mode: str = "replace") -> None:
        """Select."""

    @select.precondition
    def _(self, rows: list[str]) -> Refused | None:
        return None if rows else Refused("none")

    @read_all_rows.note
    def _(self) -> str:
        return "2 of 3"

    @select.available
    @open_row.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.rows else Unavailable("empty")

    disable = reference("domain:things.disable")

    @disable.bind("ids")
    def _(self) -> list[str]:
        return self.rows


@pytest.mark.requirement("3.10-inert")
def test_a_class_declares_ids_and_an_instance_is_an_ordinary_object() -> None:
    assert isinstance(Table.read_all_rows, Observation)
    assert isinstance(Table.open_row, Action)
    assert isinstance(Table.disable, Reference)
    assert Table.read_all_rows.id == "view:t.table.readAllRows"
    assert Table.open_row.id == "view:t.table.open"
    assert Table.disable.id == "domain:things.disable"
    table = Table()
    assert table.read_all_rows() == ["a"]
    assert asyncio.run(table.open_row("x")) == "x"
    assert weakref.ref(table)() is table


@pytest.mark.requirement("3.1-attached-come-back-undecorated")
def test_attached_functions_come_back_undecorated_and_may_share_a_name() -> None:
    assert Table.has_rows(Table()) is True
    assert Table.select.attached["available"] is Table.has_rows
    assert Table.open_row.attached["available"] is Table.has_rows
    assert set(Table.select.attached) == {"available", "precondition"}
    assert set(Table.read_all_rows.attached) == {"note"}
    assert set(Table.disable.bindings) == {"ids"}


def test_the_declaration_is_sealed_with_the_class() -> None:
    declaration = declaration_of(Table)
    assert declaration is not None
    assert (declaration.type, declaration.title, declaration.description) == ("t.table", "Table", "Table of things.")
    assert list(declaration.capabilities) == ["read_all_rows", "open_row", "select", "disable"]


@pytest.mark.requirement("3.8-frozen-metadata")
def test_capabilities_cannot_be_replaced_on_class_or_instance() -> None:
    changes: list[Callable[[], None]] = [
        lambda: setattr(Table, "select", None),
        lambda: delattr(Table, "select"),
        lambda: setattr(Table, "__remit_declaration__", None),
    ]
    for change in changes:
        with pytest.raises(DefinitionError, match="cannot be replaced or removed"):
            change()
    table: Any = Table()
    with pytest.raises(AttributeError, match=r"view:t\.table\.select is a capability"):
        table.select = None
    with pytest.raises(AttributeError, match="cannot be removed"):
        del table.select
    with pytest.raises(AttributeError):
        table.disable = None


@pytest.mark.requirement("3.8-frozen-metadata")
def test_metadata_of_a_capability_is_read_only() -> None:
    capability: Any = Table.select
    for name in ("id", "kind", "effect", "function", "options", "names", "attached", "bindings", "meta"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(capability, name, None)
    with pytest.raises(TypeError):
        capability.attached["available"] = None


def test_a_subclass_without_a_type_is_abstract_and_its_capabilities_have_no_id() -> None:
    class Base(Component):
        @observation
        def read(self) -> int:
            """Read."""
            return 1

    class One(Base, type="t.one"):
        """One."""

    class Two(Base, type="t.two"):
        """Two."""

    assert declaration_of(Base) is None
    with pytest.raises(DefinitionError, match="its class is abstract"):
        _ = Base.read.id
    assert (One.read.id, Two.read.id) == ("view:t.one.read", "view:t.two.read")
    assert One().read() == 1
    with pytest.raises(DefinitionError, match="cannot be replaced"):
        One.read = None  # type: ignore[assignment]


def test_a_subclass_of_a_component_does_not_inherit_the_type() -> None:
    class Child(Table):
        """Child."""

    assert declaration_of(Child) is None

    class Typed(Table, type="t.typed"):
        """Typed."""

        @action
        def select(self, rows: list[str]) -> None:  # type: ignore[override]
            """Select otherwise."""

    assert Typed.select.id == "view:t.typed.select"
    assert Table.select.id == "view:t.table.select"
    assert Typed.select.attached == {}


def test_mixins_abstract_bases_and_generics_fit() -> None:
    item = TypeVar("item")

    class Readable:
        @observation
        def read(self) -> int:
            """Read."""
            return self.number()

        def number(self) -> int:
            raise NotImplementedError

    class Numbered(ABC):
        @abstractmethod
        def number(self) -> int: ...

    class Both(Readable, Component, Numbered, Generic[item], type="t.both"):
        """Both."""

        def number(self) -> int:
            return 7

    assert Both.read.id == "view:t.both.read"
    assert Both[int]().read() == 7


@pytest.mark.requirement("3.1-dataclass-with-slots")
@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_dataclass_is_a_component(slots: bool, frozen: bool) -> None:
    configured: Any = dataclass(slots=slots, frozen=frozen)

    class Panel(Component, type="t.panel"):
        """Panel."""

        rows: list[str] = field(default_factory=list)

        @observation
        def read(self) -> list[str]:
            """Rows."""
            return self.rows

    made: Any = configured(Panel)
    panel = made(["a"])
    assert panel.read() == ["a"]
    assert hasattr(panel, "__dict__") is not slots
    assert weakref.ref(panel)() is panel
    declaration = declaration_of(made)
    assert declaration is not None
    assert declaration.type == "t.panel"
    assert declaration.capabilities["read"] is made.read
    assert made.read.id == "view:t.panel.read"


HEAD = 'class A(Component, type="t.a"):\n    """A."""\n'
READ = '    @observation\n    def read(self) -> int:\n        """Read."""\n        return 1\n'
ACT = '    @action{}\n    def act(self, x: int = 1) -> None:\n        """Act."""\n'
REFUSALS = {
    'class A(Component, type="T.a"):\n    """A."""\n': "[INVALID_ID] 'T.a': a component type is",
    'class A(Component, type="t.a"):\n    pass\n': "[INVALID_DEFINITION] t.a: has no description",
    'class A(Component, type="t.a", description=" "):\n    pass\n': "t.a: description is empty",
    'class A(Component, type="t.a", title="x" * 81):\n    """A."""\n': "[LIMIT_EXCEEDED] t.a: title has 81 characters",
    'class A(Component, type="t.a", description="x" * 501):\n    pass\n': "[LIMIT_EXCEEDED] t.a: description has 501",
    'class A(Component, type="t.a"):\n    """A\\u202eb."""\n': "the refused character U+202E",
    'class A(Component, title="x"):\n    """A."""\n': "a class without `type=` is abstract",
    'class A(Component, type="t.a", tags="a"):\n    """A."""\n': "tags= is a collection of names",
    'class A(Component, type="t.a", doors=("fax",)):\n    """A."""\n': "there is no door 'fax'",
    'class A(Component, type="t.a", policies=("p",)):\n    """A."""\n': "'p' is no policy",
    HEAD + "    @observation\n    def read(self) -> int: ...\n": "t.a.read: has no description        <t>:3",
    HEAD + READ.replace("read", "_"): "[INVALID_ID] view:t.a.: a capability name is",
    HEAD + READ.replace("@observation", '@observation(name="Read")'): "[INVALID_ID] view:t.a.Read:",
    HEAD + READ + READ.replace("def read", "def re_ad").replace("observation", 'observation(name="read")'): (
        "[DUPLICATE_CAPABILITY] t.a.read: read and re_ad declare one capability"
    ),
    HEAD + READ + "    again = read\n": "read: has two attribute names: read, again",
    HEAD + READ + 'class B(A, type="t.b"):\n    """B."""\n    def read(self) -> int: ...\n': (
        "B.read: a plain attribute of B hides the capability 'read'"
    ),
    HEAD + READ + 'class B(A, type="t.b"):\n    """B."""\n    read = 1\n': "hides the capability 'read'",
    HEAD + READ + 'class B(A, type="t.b"):\n    """B."""\n    @A.read.available\n    def _(self): ...\n': (
        ".available is attached outside the class"
    ),
    HEAD + READ + "    @read.available\n    def a(self): ...\n    @read.available\n    def b(self): ...\n": (
        "has two functions for .available"
    ),
    HEAD + READ + "    @read.available\n    async def a(self): ...\n": "is not a plain function",
    HEAD + READ + "    @read.available\n    def a(self, x): ...\n": "takes the instance and nothing else",
    HEAD + ACT.format('(effect="destructive")'): (
        "[PLANE_VIOLATION] act: a view action cannot have the effect 'destructive'        <t>:3"
    ),
    HEAD + ACT.format('(effect="quick")'): "'quick' is no effect of an action",
    HEAD + ACT.format("(timeout=0)"): "timeout= is a positive number of seconds",
    HEAD + ACT.format('(confirmation="maybe")'): "confirmation='maybe' is no level",
    HEAD + ACT.format('(audit="none")'): "audit='none' is below the default 'metadata' of local-state",
    HEAD + ACT.format('(reason="because")'): "reason= says why a level is below its default, and none is",
    HEAD + ACT.format("(idempotent=1)"): "idempotent= is True or False",
    HEAD + ACT.format("(approver='')"): "approver is empty",
    HEAD + ACT.format("(title=5)"): "title= is text, not int",
    HEAD + ACT.format("(timeout=601)"): "[LIMIT_EXCEEDED] t.a.act: timeout= is at most 600 seconds",
    HEAD + ACT.format("(deprecated='yes')"): "deprecated= is True or False",
    HEAD + ACT.format("(policies='p')"): "policies= is a collection of policies, not 'p'",
    HEAD + ACT.format("(policies=(authenticated(), authenticated()))"): "the policy 'authenticated' stands twice",
    HEAD + ACT.format("(policies=(NamedAs('x:\\u202ey'),))"): "the name of a policy holds the refused character U+202E",
    HEAD + ACT.format("(policies=(NamedAs('x' * 129),))"): "[LIMIT_EXCEEDED] t.a.act: the name of a policy has 129",
    HEAD + '    x = reference("domain:a", description="x" * 501)\n': "[LIMIT_EXCEEDED] domain:a: description has 501",
    HEAD + ACT.format("") + "    @act.precondition\n    def _(self, y): ...\n": "its precondition takes 'y'",
    HEAD + "    @action\n    @staticmethod\n    def act() -> None: ...\n": "not staticmethod",
    HEAD + "    @action\n    def act() -> None:\n        '''Act.'''\n": "takes no instance",
    HEAD + "    @observation\n    def act(self) -> int:\n        '''Act.'''\n        yield 1\n": "is a generator",
    HEAD + '    x = reference("things.disable")\n': "[INVALID_ID] 'things.disable': a reference names `domain:<path>`",
    HEAD + '    x = reference("domain:a")\n    y = reference("domain:a")\n': "x and y declare one capability",
    HEAD + '    x = reference("domain:a")\n    @x.bind("a")\n    @x.bind("a")\n    def _(self): ...\n': "bound twice",
    HEAD + '    x = reference("domain:a")\n    @x.bind("a..b")\n    def _(self): ...\n': "names no field",
}


class NamedAs(Policy, name="named"):
    """Has the name it is given, as a policy with parameters of its own has."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize("source", REFUSALS)
def test_a_declaration_that_cannot_stand_says_what_where_and_why(source: str) -> None:
    names: dict[str, object] = {
        "Component": Component,
        "observation": observation,
        "action": action,
        "reference": reference,
    }
    names |= {"authenticated": authenticated, "NamedAs": NamedAs}
    with pytest.raises(DefinitionError) as caught:
        exec(compile(source, "<t>", "exec"), {**names, "__name__": "t"})  # noqa: S102 - the text is in this file
    assert REFUSALS[source] in str(caught.value)
    assert isinstance(caught.value.code, DefinitionCode)


def test_the_error_reads_like_a_sentence_with_a_place_and_a_deed() -> None:
    with pytest.raises(DefinitionError) as caught:

        class A(Component, type="devices.table"):
            """A."""

            @action
            def select_rows(self) -> None: ...

    assert str(caught.value).startswith(
        "[INVALID_DEFINITION] devices.table.selectRows: has no description        test_declarations.py:"
    )
    assert str(caught.value).endswith("\n  do  write a docstring; its first paragraph is what an agent reads")


@pytest.mark.requirement("3.1-nothing-undecorated-is-exposed")
def test_a_method_that_is_not_decorated_is_nothing_to_agents() -> None:
    declaration = declaration_of(Table)
    assert declaration is not None
    assert "has_rows" not in declaration.capabilities
    assert declaration_of(Table()) is None
    assert declaration_of(int) is None
    assert declaration_of(Component) is None


@pytest.mark.parametrize("declare", [observation, action, reference])
def test_every_keyword_of_a_declaring_function_arrives_as_the_option_of_its_name(declare: Any) -> None:
    keywords = [each.name for each in signature(declare).parameters.values() if each.kind is each.KEYWORD_ONLY]
    values: dict[str, Any] = {name: object() for name in keywords if name != "effect"}
    made = declare("domain:t.put", **values) if declare is reference else declare(**values)(lambda self: None)
    assert {name: getattr(made.options, name) for name in values} == values


def test_a_declaration_made_by_nobody_outside_the_package_has_no_place() -> None:
    made: dict[str, Any] = {"__name__": "remit.made", "place_of_caller": place_of_caller, "queue": queue.SimpleQueue()}
    exec("def ask():\n    queue.put(place_of_caller())", made)  # noqa: S102 - a function of the package's own
    _thread.start_new_thread(made["ask"], ())
    assert made["queue"].get(timeout=10) is None
    made["ask"]()
    assert made["queue"].get(timeout=10).startswith("test_declarations.py:")
