"""A project with every shape of a declaration that could come out differently somewhere else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

IMPORTS: Final = ("shapes", "words", "operations", "pages.table", "pages.base")

FILES: Final = {
    "words.py": """
from enum import Enum, IntEnum

TYPE = "shop" + ".table"
READ = "Réads what is shown — «all» of it."

class Level(IntEnum):
    LOW = 1
    HIGH = 2

class Only(Enum):
    ONE = "one"

class Colour(Enum):
    RED = "red"
    BLUE = "blue"
""",
    "shapes.py": '''
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from typing import Annotated, Literal, Optional, Union
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from typing_extensions import NotRequired, TypedDict

from words import Colour, Level, Only

class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9

class Dog(BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, Field(pattern="^[A-Z][a-z]+$", max_length=20)]

class Row(BaseModel):
    """A row.

        Indented, and with a\\ttab.
    """

    model_config = ConfigDict(title="One row")
    id: str
    price: Decimal
    colour: Colour = Colour.RED
    level: Level = Level.LOW
    only: Only = Only.ONE
    when: AwareDatetime
    day: date
    at: Optional[time] = None
    key: UUID
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]
    pair: tuple[float, float] = (0.0, 1.5)
    words: set[str] = Field(default_factory=set)
    other: Optional[Row2] = None
    old: int = Field(default=0, deprecated=True)

class Row2(BaseModel):
    rows: list[Cat]

@dataclass
class Point:
    x: float
    y: Annotated[float, Field(ge=0, le=1, multiple_of=0.25)] = 0.5
    tags: list[str] = field(default_factory=list)

class Options(TypedDict):
    """Options of a search."""

    size: NotRequired[Annotated[int, Field(gt=0, lt=100)]]
    sort: Literal["up", "down"]
    zone: Literal["eu"]
''',
    "operations.py": '''
from decimal import Decimal

from remit import Procedures
from shapes import Options, Row

backend = Procedures()

@backend.operation("shop.search", effect="server-query")
async def search(words: str, options: Options, limit: Decimal = Decimal("1.50")) -> list[Row]:
    """Search the shop."""
    return []

@backend.operation("shop.remove", effect="destructive")
async def remove(ids: list[str]) -> int:
    """Remove things."""
    return 0
''',
    "pages/base.py": '''
from remit import Component, observation
from shapes import Row2

class Base(Component):
    @observation
    def state(self) -> Row2 | None:
        """State
\\tof the page,

            whatever it is.
        """
        return None
''',
    "pages/table.py": '''
from typing import Annotated, Literal

from pydantic import Field
from remit import action, observation, parallel, reference
from remit.policies import require_grant
from shapes import Cat, Dog, Options, Point, Row
import words

from .base import Base

class Table(Base, type=words.TYPE, tags={"b", "a", "c"}, policies=(require_grant("x"), require_grant("a"))):
    """Table of things."""

    @observation(description=words.READ)
    def rows(self) -> list[Row]:
        return []

    @action(concurrency=parallel(3), meta={"z": 1, "a": [1.0, {"y": "ÿ", "b": None}]}, doors={"mcp", "embedded"})
    def pick(
        self,
        at: Point,
        options: Options,
        names: Annotated[set[str], Field(min_length=1)],
        pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]],
        mode: Literal["one", "many"] = "one",
        share: Annotated[float, Field(ge=0, le=1)] = 0.1,
        level: words.Level | None = None,
    ) -> Point | None:
        """Pick rows."""
        return None

    search = reference("domain:shop.search", tags={"q", "p", "o"})
    remove = reference("domain:shop.remove", approver="lead", sensitive=("ids",))
''',
    "pyproject.toml": """
[tool.remit]
entries = ["app"]
policies = ["authenticated", "office-hours"]
[tool.remit.exposure]
webmcp = ["view:shop.**"]
mcp = ["view:shop.table.rows", "domain:shop.search"]
""",
}


def write(root: Path, imports: Sequence[str] = IMPORTS) -> Path:
    """Write the project; `imports` is the order in which its modules are imported."""
    for name, text in {**FILES, "app.py": "".join(f"import {each}\n" for each in imports)}.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.lstrip("\n"), encoding="utf-8")
    return root
