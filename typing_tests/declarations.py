"""What type checkers know of a declaration; checked, never run.

The snippets of the first example and of the device table stand here as a user writes them. Every line marked with an
ignore is one a checker must refuse: with `warn_unused_ignores`, an ignore that is not needed fails.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, assert_type

from pydantic import BaseModel, Field

from remit import (
    Authority,
    BackendError,
    Component,
    Context,
    Principal,
    Procedures,
    ReadContext,
    RecordSet,
    Refused,
    Unavailable,
    action,
    observation,
    reference,
)
from remit._model.ids import CapabilityId
from remit.policies import authenticated, require_grant


class Counter(Component, type="demo.counter"):
    """A counter on the page."""

    def __init__(self) -> None:
        self.value = 0

    @observation
    def read_value(self) -> int:
        """The number shown."""
        return self.value

    @action
    def increment(self, by: int = 1) -> None:
        """Add to the number."""
        self.value += by


class TableState(BaseModel):
    """What the table shows."""

    ids: list[str]
    selected: list[str]


@dataclass
class DevicesTable(
    Component, type="devices.table", title="Devices", tags=("fleet",), policies=(require_grant("fleet"),)
):
    """Table of devices that match the active filters."""

    rows: list[str]

    @observation(timeout=2, doors=("embedded", "mcp"))
    def read_state(self, ctx: Context) -> TableState:
        """Visible rows and the current selection."""
        return TableState(ids=self.rows, selected=[])

    @action(effect="local-state", confirmation="optional", policies=[authenticated()])
    def select_rows(
        self,
        ids: Annotated[list[str], Field(min_length=1)],
        mode: Literal["replace", "add", "remove"] = "replace",
    ) -> None:
        """Replace, extend or reduce the row selection."""

    @action(effect="navigation")
    async def open_row(self, id: str) -> str | Refused:
        """Open a row."""
        return id

    @select_rows.available
    @open_row.available
    def has_rows(self) -> Literal[True] | Unavailable:
        return True if self.rows else Unavailable("No rows match the filters")

    @select_rows.precondition
    def _(self, ids: list[str], mode: str) -> Refused | None:
        return None if set(ids) <= set(self.rows) else Refused("Some ids are not in the table", ids=ids)

    @open_row.precondition
    async def _(self, id: str) -> Refused | None:
        return None

    @read_state.note
    def _(self) -> str | None:
        return None

    @action(record="row")
    def rename_row(self, row: str, name: str) -> None:
        """Rename a row."""

    @rename_row.records
    def reachable(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=self.rows, offscreen=3)

    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return self.rows

    @disable.available
    def _(self) -> Literal[True] | Unavailable:
        return True

    @disable.summary
    def _(self) -> str:
        return "Disable devices"


def instances_are_ordinary(counter: Counter, table: DevicesTable, ctx: Context) -> None:
    """A capability of an instance is a bound method with its own parameters and result."""
    assert_type(counter.read_value(), int)
    counter.increment(by=2)
    assert_type(table.read_state(ctx), TableState)
    assert_type(table.has_rows(), Literal[True] | Unavailable)
    assert_type(table.selection(), list[str])
    table.rename_row("a", "b")
    table.rename_row("a", 4)  # type: ignore[arg-type]
    RecordSet(total=4, contains=lambda id: id == 1)
    RecordSet(total=4)  # type: ignore[call-overload]
    RecordSet(ids=[1], total=4)  # type: ignore[call-overload]
    counter.increment(by="2")  # type: ignore[arg-type]
    counter.increment(to=1)  # type: ignore[call-arg]
    table.select_rows("a")  # type: ignore[arg-type]
    table.select_rows(["a"], "toggle")  # type: ignore[arg-type]


async def async_capabilities_are_awaited(table: DevicesTable) -> None:
    """An async method stays one."""
    assert_type(await table.open_row("a"), str | Refused)


def classes_hold_ids() -> None:
    """A class attribute stands for its id; it is not a function of the class."""
    assert_type(Counter.increment.id, CapabilityId)
    assert_type(DevicesTable.disable.id, CapabilityId)
    assert_type(Counter.increment.id.partition(":"), tuple[str, str, str])
    Counter.increment(1)  # type: ignore[operator]


def capabilities_are_not_replaced(counter: Counter, table: DevicesTable) -> None:
    """Assigning over a capability is an error for checkers, as it is at run time."""
    counter.increment = lambda by=1: None  # type: ignore[assignment]
    table.disable = 1  # type: ignore[assignment]


class Wrong(Component, type="wrong"):
    """What checkers refuse at a declaration."""

    @action(effect="destructive")  # type: ignore[call-overload, untyped-decorator]
    def wipe(self) -> None:
        """A server effect on an action."""

    @observation
    def read(self) -> int:
        """Read."""
        return 1

    @read.available  # type: ignore[type-var]
    def said_as_text(self) -> str:
        return "no"

    @read.precondition  # type: ignore[attr-defined, untyped-decorator]
    def observations_have_none(self) -> None: ...

    @action
    def act(self) -> None:
        """Act."""

    @act.available  # type: ignore[type-var]
    def takes_input(self, ids: list[str]) -> Literal[True]:
        return True

    @act.precondition  # type: ignore[type-var]
    def answers_a_number(self) -> int:
        return 1

    @act.records  # type: ignore[type-var]
    def answers_a_list(self, ctx: ReadContext) -> list[str]:
        return []

    @act.records  # type: ignore[type-var]
    def does_not_look(self) -> RecordSet:
        return RecordSet(ids=[])


backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str], caller: Principal) -> int:
    """Disable devices in the fleet."""
    if not device_ids:
        raise BackendError(422)
    return len(device_ids)


@backend.operation("devices.wrong", effect="read")  # type: ignore[arg-type]
async def wrong_effect() -> None:
    """A view effect on an operation."""


@backend.operation("devices.plain", effect="server-query")  # type: ignore[type-var]
def not_awaited() -> int:
    """A plain function."""
    return 1


async def operations_come_back_undecorated(caller: Principal) -> None:
    """The function is still the function."""
    assert_type(await disable_devices(["a"], caller), int)


def an_authority_says_what_it_is(authority: Authority) -> None:
    """The attributes the live wing relies on."""
    assert_type(authority.hash, str)
    assert_type(authority.pending, bool)
    assert_type(authority.policies, tuple[str, ...])
