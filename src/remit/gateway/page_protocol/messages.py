"""Requests as they come in: judged by their schemas, then plain values (SPEC 11.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from remit._base.boundary import Json, NotJson, take
from remit._schema.validate import Validator
from remit.errors import AgentError, Issue, invalid_input
from remit.gateway.page_protocol.schemas import FRAME, REF_CHARACTERS, REQUESTS

BODY_BYTES: Final = 1_048_576
"""The largest request body and the largest frame; inputs have a limit of their own, far below (SPEC 17)."""

_NOT_JSON: Final = "must be one JSON value in UTF-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One request in a socket; `ref` is what its answer carries."""

    ref: str
    verb: str
    body: Json


class Requests:
    """Reads requests; a fault is INVALID_INPUT that names the field, and nothing else has happened."""

    __slots__ = ("_frame", "_of")

    def __init__(self) -> None:
        self._of = {verb: Validator(schema, subject=verb) for verb, schema in REQUESTS.items()}
        self._frame = Validator(FRAME, subject="frame")

    def parsed(self, text: bytes | str) -> "Json | AgentError":
        """A body or a frame as JSON; a body without anything in it is an empty object."""
        if not text:
            return {}
        try:
            return take(orjson.loads(text))[0]
        except orjson.JSONDecodeError:
            return invalid_input([Issue(path="", message=_NOT_JSON)])
        except NotJson as problem:
            return invalid_input([Issue(path=problem.path, message=problem.reason)])

    def read(self, verb: str, body: Json) -> Mapping[str, Json] | AgentError:
        """The request of a verb."""
        issues = self._of[verb].issues(body)
        return body if isinstance(body, dict) and not issues else invalid_input(issues)

    def frame(self, value: Json) -> Frame | tuple[str | None, AgentError]:
        """A frame, or the `ref` it has and what is wrong with it."""
        issues = self._frame.issues(value)
        given = value if isinstance(value, dict) else {}
        ref = given.get("ref")
        if issues:
            usable = isinstance(ref, str) and 0 < len(ref) <= REF_CHARACTERS
            return str(ref) if usable else None, invalid_input(issues)
        return Frame(ref=str(ref), verb=str(given["verb"]), body=given.get("body", {}))


def text_of(form: Mapping[str, Json], key: str) -> str | None:
    """A text of a request that has been judged."""
    value = form.get(key)
    return value if isinstance(value, str) else None
