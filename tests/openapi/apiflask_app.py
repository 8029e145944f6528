"""A warehouse in APIFlask (OpenAPI 3.0 by apispec and marshmallow): no operationIds, `nullable`, optional bodies.

`python -m tests.openapi.apiflask_app` writes its document; `… serve` serves it and says its port.
"""

from __future__ import annotations

import sys
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from apiflask import APIFlask, Schema, abort
from apiflask.fields import Boolean, Dict, File, Float, Integer, List, Nested, String
from apiflask.validators import Length, OneOf, Range

from tests.openapi.kinds import KINDS, write_document


class Place(Schema):
    hall = String(required=True)
    shelf = Integer(allow_none=True)


class NewThing(Schema):
    name = String(required=True, validate=Length(1, 80))
    state = String(load_default="new", validate=OneOf(["new", "used", "lost"]))
    weight = Float(allow_none=True, validate=Range(min=0))
    place = Nested(Place, allow_none=True)
    tags = List(String())


class Thing(NewThing):
    id = Integer(dump_only=True)


class State(Schema):
    state = String(required=True, validate=OneOf(["new", "used", "lost"]))


class Looking(Schema):
    q = String(allow_none=True)
    states = List(String(validate=OneOf(["new", "used", "lost"])))
    limit = Integer(load_default=20, validate=Range(1, 100))


class Tree(Schema):
    name = String(required=True)
    parent = Nested(lambda: Tree(exclude=("children",)), allow_none=True)
    children = List(Nested(lambda: Tree()))  # noqa: PLW0108 - the class is not there yet


class Photo(Schema):
    photo = File(required=True)  # type: ignore[no-untyped-call]
    title = String(required=True)


class SignIn(Schema):
    user = String(required=True)
    remember = Boolean()


class Labels(Schema):
    labels = Dict(keys=String(), values=String(), required=True)


def _things(app: APIFlask, kind: str) -> None:
    kept: dict[int, dict[str, Any]] = {}

    @app.get(f"/{kind}", endpoint=f"list-{kind}")
    @app.input(Looking, location="query")
    @app.output(Thing(many=True))
    @app.doc(summary="List what is kept")
    def list_things(query_data: dict[str, Any]) -> list[dict[str, Any]]:
        states = query_data.get("states")
        found = [each for each in kept.values() if query_data.get("q", "") in each["name"]]
        return [each for each in found if not states or each["state"] in states][: query_data["limit"]]

    @app.post(f"/{kind}", endpoint=f"add-{kind}")
    @app.input(NewThing)
    @app.output(Thing, status_code=201)
    @app.doc(summary="Add one")
    def add_thing(json_data: dict[str, Any]) -> dict[str, Any]:
        kept[len(kept) + 1] = {**json_data, "id": len(kept) + 1}
        return kept[len(kept)]

    @app.get(f"/{kind}/<int:id>", endpoint=f"read-{kind}")
    @app.output(Thing)
    @app.doc(summary="Read one", responses=[404])
    def read_thing(id: int) -> dict[str, Any]:
        return kept[id] if id in kept else abort(404)

    @app.put(f"/{kind}/<int:id>/state", endpoint=f"mark-{kind}")
    @app.input(State)
    @app.output(Thing)
    @app.doc(summary="Say where one is in its life")
    def mark_thing(id: int, json_data: dict[str, Any]) -> dict[str, Any]:
        kept[id] |= json_data
        return kept[id]

    @app.delete(f"/{kind}/<int:id>", endpoint=f"drop-{kind}")
    @app.output({}, status_code=204)
    @app.doc(summary="Drop one")
    def drop_thing(id: int) -> str:
        kept.pop(id, None)
        return ""


def _difficult(app: APIFlask) -> None:
    @app.get("/trees/<name>")
    @app.output(Tree)
    @app.doc(summary="Read a category with all below it")
    def read_tree(name: str) -> dict[str, Any]:
        return {"name": name, "parent": None, "children": [{"name": "leaf"}]}

    @app.put("/trees/<name>")
    @app.input(Tree)
    @app.output(Tree)
    @app.doc(summary="Write a category with all below it")
    def write_tree(name: str, json_data: dict[str, Any]) -> dict[str, Any]:
        return json_data

    @app.post("/photos")
    @app.input(Photo, location="form_and_files")
    @app.output({}, status_code=204)
    @app.doc(summary="Upload a photo")
    def upload_photo(form_and_files_data: dict[str, Any]) -> str:
        return ""

    @app.post("/sign-in")
    @app.input(SignIn, location="form")
    @app.output(SignIn)
    @app.doc(summary="Say who is there")
    def sign_in(form_data: dict[str, Any]) -> dict[str, Any]:
        return form_data

    @app.post("/labels")
    @app.input(Labels)
    @app.output(Labels)
    @app.doc(summary="Put labels on")
    def put_labels(json_data: dict[str, Any]) -> dict[str, Any]:
        return json_data


def make_app() -> APIFlask:
    """The application, with nothing in it."""
    app = APIFlask(__name__, title="Warehouse", version="1")
    app.config["OPENAPI_VERSION"] = "3.0.3"
    for kind in KINDS:
        _things(app, kind)
    _difficult(app)
    return app


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server = make_server(
            "127.0.0.1",
            0,
            make_app(),
            handler_class=type("Quiet", (WSGIRequestHandler,), {"log_message": lambda *_: None}),
        )
        print(server.server_port, flush=True)
        server.serve_forever()
    else:
        document = make_app().spec
        assert isinstance(document, dict)
        write_document("apiflask", document)
