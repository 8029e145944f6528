"""A warehouse in FastAPI: 30 kinds of things with five operations each, and what documents of FastAPI find difficult.

`python -m tests.openapi.fastapi_app` writes its document.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Body, FastAPI, File, Form, Header, HTTPException, Query, UploadFile
from pydantic import BaseModel, Field

from tests.openapi.kinds import KINDS, write_document


class State(StrEnum):
    """Where a thing is in its life."""

    NEW = "new"
    USED = "used"
    LOST = "lost"


class Place(BaseModel):
    """A place in a hall."""

    hall: str
    shelf: int | None = None


class NewThing(BaseModel):
    """What is said of a new thing."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    state: State = State.NEW
    weight: Annotated[float | None, Field(ge=0)] = None
    place: Place | None = None
    tags: list[str] = []


class Thing(NewThing):
    """A thing as it is kept."""

    id: int
    since: datetime


class Tree(BaseModel):
    """A category with what is below it: a cycle."""

    name: str
    parent: Tree | None = None
    children: list[Tree] = []


class Circle(BaseModel):
    """One of two shapes."""

    kind: Literal["circle"]
    radius: float


class Square(BaseModel):
    """The other one."""

    kind: Literal["square"]
    side: float


def _things(app: FastAPI, kind: str) -> None:
    kept: dict[int, Thing] = {}

    @app.get(f"/{kind}", operation_id=f"list_{kind}", tags=[kind])
    async def list_things(
        q: str | None = None,
        states: Annotated[list[State], Query()] = [],  # noqa: B006 - FastAPI copies it
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        x_region: Annotated[str | None, Header()] = None,
    ) -> list[Thing]:
        """List what is kept."""
        found = [each for each in kept.values() if (q or "") in each.name and (not states or each.state in states)]
        return found[:limit]

    @app.post(f"/{kind}", operation_id=f"add_{kind}", tags=[kind], status_code=201)
    async def add_thing(thing: NewThing) -> Thing:
        """Add one."""
        kept[len(kept) + 1] = made = Thing(
            **thing.model_dump(), id=len(kept) + 1, since=datetime(2026, 12, 1, tzinfo=UTC)
        )
        return made

    @app.get(f"/{kind}/{{id}}", operation_id=f"read_{kind}", tags=[kind])
    async def read_thing(id: int) -> Thing:
        """Read one."""
        if id not in kept:
            raise HTTPException(404)
        return kept[id]

    @app.put(f"/{kind}/{{id}}/state", operation_id=f"mark_{kind}", tags=[kind])
    async def mark_thing(id: int, state: Annotated[State, Body(embed=True)], note: str | None = None) -> Thing:
        """Say where one is in its life."""
        kept[id] = kept[id].model_copy(update={"state": state})
        return kept[id]

    @app.delete(f"/{kind}/{{id}}", operation_id=f"drop_{kind}", tags=[kind], status_code=204)
    async def drop_thing(id: int) -> None:
        """Drop one."""
        kept.pop(id, None)


def _difficult(app: FastAPI) -> None:
    @app.get("/trees/{name}", operation_id="read_tree")
    async def read_tree(name: str) -> Tree:
        """Read a category with all below it."""
        return Tree(name=name, children=[Tree(name="leaf")])

    @app.put("/trees/{name}", operation_id="write_tree")
    async def write_tree(name: str, tree: Tree) -> Tree:
        """Write a category with all below it."""
        return tree

    @app.post("/area", operation_id="area")
    async def area(shape: Annotated[Circle | Square, Field(discriminator="kind")]) -> float:
        """Say how large a shape is."""
        return shape.radius**2 * 3 if isinstance(shape, Circle) else shape.side**2

    @app.post("/photos", operation_id="upload_photo")
    async def upload_photo(photo: Annotated[UploadFile, File()], title: Annotated[str, Form()]) -> dict[str, int]:
        """Upload a photo."""
        return {"size": photo.size or 0}

    @app.post("/sign-in", operation_id="sign_in")
    async def sign_in(user: Annotated[str, Form()], remember: Annotated[bool, Form()] = False) -> dict[str, Any]:
        """Say who is there."""
        return {"user": user, "remember": remember}


def make_app() -> FastAPI:
    """The application, with nothing in it."""
    app = FastAPI(title="Warehouse", version="1")
    for kind in KINDS:
        _things(app, kind)
    _difficult(app)
    return app


if __name__ == "__main__":
    write_document("fastapi", make_app().openapi())
