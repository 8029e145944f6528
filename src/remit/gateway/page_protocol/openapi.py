"""The page protocol as an OpenAPI document, made of the schemas of its messages (SPEC 11.1)."""

from typing import Final

from remit._base.boundary import Json
from remit.gateway.page_protocol.schemas import DEFINITIONS, PROTOCOL, VERBS, Schema

_SUMMARIES: Final = {
    "describe": "The open view and what may be called in it now.",
    "invoke": "Call one capability.",
    "propose": "Say what calls would come to, before any of them runs.",
    "handoff": "How a step that only a person may do stands.",
}
_TRANSPORT: Final[Schema] = {
    "401": {"description": "The token is missing, expired, revoked or made for another door; one body for all."},
    "413": {"description": "The body is larger than 1 MiB."},
    "415": {"description": "The body is not announced as application/json in UTF-8."},
    "503": {"description": "The process is stopping."},
}


def _moved(value: Json) -> Json:
    """The same schema, pointing to where a document of this kind keeps schemas."""
    if isinstance(value, dict):
        return {
            key: inner.replace("#/$defs/", "#/components/schemas/")
            if key == "$ref" and isinstance(inner, str)
            else _moved(inner)
            for key, inner in value.items()
        }
    return [_moved(inner) for inner in value] if isinstance(value, list) else value


def _of_json(name: str) -> Json:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _verb(verb: str) -> Json:
    outcome: Json = {"description": "The outcome; refusals are outcomes.", "content": _of_json(f"{verb}.answer")}
    return {
        "post": {
            "operationId": verb,
            "summary": _SUMMARIES[verb],
            "requestBody": {"required": True, "content": _of_json(f"{verb}.request")},
            "responses": {"200": outcome, **_TRANSPORT},
        }
    }


def _events() -> Json:
    event: Json = {"schema": {"$ref": "#/components/schemas/event"}}
    stream: Json = {
        "description": "A stream of events; each `data` is one `event`. A refusal is JSON.",
        "content": {
            "text/event-stream": event,
            "application/json": {"schema": {"$ref": "#/components/schemas/refusal"}},
        },
    }
    responses: Schema = {"200": stream, "401": _TRANSPORT["401"], "503": _TRANSPORT["503"]}
    return {"get": {"operationId": "events", "summary": "What happens from now on.", "responses": responses}}


def _socket() -> Json:
    responses: Schema = {
        "101": {"description": "Text frames: `frame.request` in, `frame.answer` and `frame.event` out."},
        "401": _TRANSPORT["401"],
        "426": {"description": "The request is no upgrade to a WebSocket."},
    }
    return {"get": {"operationId": "socket", "summary": "The same verbs over a WebSocket.", "responses": responses}}


def _described() -> Schema:
    paths: Schema = {f"/{verb}": _verb(verb) for verb in VERBS if verb != "events"}
    paths |= {"/events": _events(), "/socket": _socket()}
    bearer: Json = {"type": "http", "scheme": "bearer", "description": "A delegation token for the door `page`."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "The page protocol", "version": PROTOCOL.rpartition("/")[2]},
        "servers": [{"url": "."}],
        "security": [{"delegation": []}],
        "paths": paths,
        "components": {"securitySchemes": {"delegation": bearer}, "schemas": _moved(DEFINITIONS)},
    }


DESCRIBED: Final[Schema] = _described()
