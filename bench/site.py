"""The application that is measured: components that do nothing, and the surface they stand on."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from remit import Authority, Component, Consumer, Principal, Surface, action, observation
from remit._contract.manifest import assemble, parse
from remit._contract.operation import record_of
from remit._contract.row import rows_of
from remit.policies import Policy
from remit.procedures import Catalogue

AGENT = Consumer("agent", kind="embedded")
PERSON = Principal("ada", grants={"panels:work"})


class State(BaseModel):
    """What a panel shows."""

    title: str
    selected: list[str]
    open: bool


class Row(BaseModel):
    """One row of a table."""

    id: str
    name: str
    firmware: str
    online: bool
    load: float


class Panel(Component, type="bench.panel"):
    """A part of a view: one observation, one action, and nothing behind them."""

    @observation
    def read(self) -> State:
        """What is shown."""
        return State(title="Devices", selected=["rpi-1", "rpi-2"], open=True)

    @action
    def touch(self) -> None:
        """Do nothing."""


class Table(Component, type="bench.table"):
    """A part of a view that takes much at once."""

    @action
    def load(self, rows: list[Row]) -> int:
        """Take rows."""
        return len(rows)


def panel_of_its_own(number: int) -> type[Component]:
    """A component class like `Panel` with a type and schemas of its own."""

    class Part(Component, type=f"bench.part-{number}"):
        """One of many parts of a view."""

        @observation
        def read(self) -> State:
            """What is shown."""
            return State(title="Devices", selected=[], open=True)

        @action
        def select_rows(self, ids: list[str], mode: str = "replace") -> State:
            """Select rows of the table by their ids."""
            return State(title=mode, selected=ids, open=True)

    return Part


def authority_of(
    classes: Sequence[type[Component]],
    exposure: Mapping[str, Iterable[str]] | None = None,
    procedures: Catalogue | None = None,
) -> Authority:
    """The contract of these classes: put together and verified as the compiler and `Authority.load` do, no file."""
    listed = [] if procedures is None else [procedures.get(name) for name in procedures.names()]
    operations = {each.name: record_of(each) for each in listed if each is not None}
    rows = [rows_of(each, operations) for each in classes]
    manifest = assemble(
        [each.block for each in rows],
        [row.block for each in rows for row in each.capabilities],
        operations,
        exposure={} if exposure is None else {door: list(patterns) for door, patterns in exposure.items()},
        policies=(),
    )
    return Authority(parse(manifest.to_bytes()))


def surface_of(classes: Sequence[type[Component]], policies: Iterable[Policy] = ()) -> Surface:
    """A surface of one person with nothing mounted: in memory, everything on, limits as they come."""
    return Surface(authority_of(classes), principal=PERSON, policies=policies)


def rows_of_size(size: int) -> list[dict[str, object]]:
    """Rows for `Table.load` whose JSON has about `size` bytes."""
    return [
        {"id": f"rpi-{n}", "name": f"Sensor {n} in hall {n % 7}", "firmware": "2.4.1", "online": True, "load": n + 0.5}
        for n in range(size // 98)
    ]
