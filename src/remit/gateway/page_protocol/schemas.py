"""The schema of every message of the page protocol; `spec/page-protocol.json` is this, written down (SPEC 11.1)."""

from collections.abc import Mapping
from typing import Final

from remit._base.boundary import Json
from remit._model.handoff_view import HandoffStatus
from remit.errors import ErrorCode, RetryAdvice

PROTOCOL: Final = "remit/1"
PLANNED: Final = 20
"""Steps in one proposal (SPEC 7.10)."""

REF_CHARACTERS: Final = 128

Schema = dict[str, Json]

_TEXT: Final[Schema] = {"type": "string"}
_TITLE: Final[Schema] = {"type": "string", "description": "A short name for people."}
_VERSION_OF_PROTOCOL: Final[Schema] = {"const": PROTOCOL, "description": "The version that is spoken."}
_VIEW: Final[Schema] = {"type": "string", "description": "A view by the id that `views` tells."}
_CAPABILITY: Final[Schema] = {
    "type": "string",
    "description": "The id of a capability as the latest describe shows it; never made up, never derived from a text.",
}
_INPUT: Final[Schema] = {"type": "object", "description": "The capability's own fields, by its inputSchema."}
_REGISTRATION: Final[Schema] = {
    "type": "string",
    "description": "The registration that the latest describe showed with it; every call but a read owes it.",
}
_INVOCATION: Final[Schema] = {
    "type": "string",
    "description": "The caller's own id of the call, 1 to 128 of [A-Za-z0-9._-]: a repeat with it runs nothing twice.",
}
_CONFIRMATION: Final[Schema] = {"type": "string", "description": "The confirmation_id of CONFIRMATION_REQUIRED."}
_SURFACE: Final[Schema] = {"type": "string", "description": "The surface that the latest describe named."}
_VERSION: Final[Schema] = {"type": "string", "description": "The version of the listing for this caller, a number."}
_ROUTE: Final[Schema] = {"type": ["string", "null"], "description": "Where in the application the view is."}


def _closed(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    form: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**form, "required": list(required)} if required else form


def _request(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    return _closed({"protocol": _VERSION_OF_PROTOCOL, **properties}, required)


def _answer(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    """A success: everything that is there by name, nothing else."""
    own: Schema = {"protocol": _VERSION_OF_PROTOCOL, "ok": {"const": True, "description": "It succeeded."}}
    return _closed({**own, **properties}, ("protocol", "ok", *required))


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_CALL: Final[Schema] = {
    "capability": _CAPABILITY,
    "input": _INPUT,
    "registration": _REGISTRATION,
    "invocation": _INVOCATION,
    "confirmation": _CONFIRMATION,
    "surface": _SURFACE,
    "version": _VERSION,
}
_STEP: Final[Schema] = {key: _CALL[key] for key in ("capability", "input", "registration")}

REQUESTS: Final[Mapping[str, Schema]] = {
    "describe": _request({"view": {**_VIEW, "description": "Choose this view, then describe it."}}),
    "invoke": _request(_CALL, ("capability",)),
    "propose": _request(
        {
            "steps": {
                "type": "array",
                "minItems": 1,
                "maxItems": PLANNED,
                "items": _closed(_STEP, ("capability",)),
                "description": "Calls in the order in which they are to run.",
            }
        },
        ("steps",),
    ),
    "events": _request({}),
    "handoff": _request(
        {"handoff": {"type": "string", "description": "The handoff_id of HANDOFF_REQUIRED."}}, ("handoff",)
    ),
}
"""What each verb takes. Every object is closed: a field that is not here is refused."""

VERBS: Final = tuple(REQUESTS)

FRAME: Final[Schema] = _closed(
    {
        "ref": {
            "type": "string",
            "minLength": 1,
            "maxLength": REF_CHARACTERS,
            "description": "Comes back with the answer.",
        },
        "verb": {"enum": list(VERBS), "description": "What is asked for."},
        "body": {"type": "object", "description": "The request of the verb."},
    },
    ("ref", "verb"),
)
"""A request in a socket."""

_RECORD: Final[Schema] = _closed(
    {
        "param": {"type": "string", "description": "The field of the input that holds the record's id."},
        "total": {"type": "integer", "minimum": 0, "description": "Records that may be reached now."},
        "offscreen": {"type": "integer", "minimum": 0, "description": "How many of them are outside the viewport."},
        "more": {"const": True, "description": "There are more than `total`."},
    },
    ("param", "total", "offscreen"),
)

_DESCRIPTOR: Final[Schema] = _closed(
    {
        "id": _CAPABILITY,
        "title": _TITLE,
        "description": {"type": "string", "description": "What it does, in words of the application."},
        "effect": {"enum": ["read", "write", "destructive"], "description": "What one call does."},
        "inputSchema": {"type": "object", "description": "JSON Schema of the input; absent when it takes no fields."},
        "approval": {
            "enum": ["none", "ask", "always"],
            "description": "Whether a person is asked. Absent means none, which authorizes nothing.",
        },
        "fidelity": {"enum": ["high", "medium", "low"], "description": "Absent means high."},
        "source": {"enum": ["declared", "derived"], "description": "Absent means declared."},
        "scopePath": {"type": "array", "items": _TEXT, "description": "The types of the parents, outermost first."},
        "handoff": {**_closed({"reason": _TEXT}, ("reason",)), "description": "A step that only a person may do."},
        "flowSteps": {"type": "integer", "minimum": 1, "description": "Of how many steps it consists."},
        "offscreen": {"const": True, "description": "Records outside the viewport are reached by their id."},
        "record": {**_RECORD, "description": "It acts on one of many rows, named in the input."},
        "available": {"type": "boolean", "description": "Whether it may be called now."},
        "reason": {"type": "string", "description": "Why it is not available; data."},
        "registration": {"type": "string", "description": "Which mount of its component; sent along with a call."},
        "instance": {"type": "string", "description": "Which of several equal components, by the application's name."},
    },
    ("id", "description", "effect", "available", "registration", "instance"),
)

_ROW: Final[Schema] = _closed(
    {
        "view": {**_VIEW, "description": "Its id, by which `describe` chooses it."},
        "title": {**_TITLE, "description": "Its title, unlike that of every other open view."},
        "route": _ROUTE,
        "opened_at": {"type": "string", "description": "Since when it is open, ISO 8601."},
        "in_use": {"type": "boolean", "description": "Whether calls go to it."},
    },
    ("view", "title", "route", "opened_at", "in_use"),
)

_ERROR: Final[Schema] = _closed(
    {
        "code": {"enum": [code.value for code in ErrorCode], "description": "Of a closed set, see the page of errors."},
        "message": {"type": "string", "description": "A fixed sentence."},
        "retry": {"enum": [advice.value for advice in RetryAdvice], "description": "What to do next."},
        "details": {"type": "object", "description": "Typed by the code; run-time text in it is data."},
    },
    ("code", "message", "retry"),
)

_SETTLED: Final[Schema] = {
    "capability": {"type": "string", "description": "The id that was called: the source of what it gave."},
    "invocation": {"type": "string", "description": "The id the call ran under."},
    "registration": {"type": "string", "description": "The registration that was called."},
    "surface": {**_SURFACE, "description": "The surface that answered."},
    "version": _VERSION,
    "changed": {"const": True, "description": "The listing moved during the call."},
    "steps": {
        **_closed(
            {
                "done": {"type": "integer", "minimum": 0, "description": "How many are done."},
                "of": {"type": "integer", "minimum": 1, "description": "Of how many."},
            },
            ("done", "of"),
        ),
        "description": "Of a flow: how many of its steps are done; absent before the first begins.",
    },
}

_REFUSAL: Final[Schema] = _closed(
    {
        "protocol": _VERSION_OF_PROTOCOL,
        "ok": {"const": False, "description": "It did not succeed; `error` says why and what to do."},
        "error": _ref("error"),
        **_SETTLED,
    },
    ("protocol", "ok", "error"),
)

_EVENT: Final[Schema] = _closed(
    {
        "protocol": _VERSION_OF_PROTOCOL,
        "event": {
            "enum": [
                "listening",
                "surface-changed",
                "route-changed",
                "scope-changed",
                "session-opened",
                "session-closed",
                "invocation-started",
                "invocation-settled",
                "confirmation-requested",
                "confirmation-resolved",
                "handoff-requested",
                "handoff-resolved",
                "lost",
            ],
            "description": "What happened.",
        },
        "view": {"type": "string", "description": "The view in which it happened."},
        "surface": {**_SURFACE, "description": "Its surface."},
        "data": {"type": "object", "description": "What there is to tell of it, by its name; data."},
    },
    ("protocol", "event", "data"),
)

_ANSWERS: Final[Mapping[str, Schema]] = {
    "describe": _answer(
        {
            "view": {**_VIEW, "description": "The view in use; calls go to it."},
            "title": {**_TITLE, "description": "Its title, unlike that of every other open view."},
            "route": _ROUTE,
            "views": {"type": "array", "items": _ref("view"), "description": "The open views this caller reaches."},
            "surface": {**_SURFACE, "description": "The surface of the view."},
            "version": _VERSION,
            "capabilities": {
                "type": "array",
                "items": _ref("descriptor"),
                "description": "What this caller may see of the view now, in its order.",
            },
        },
        ("view", "title", "route", "views", "surface", "version", "capabilities"),
    ),
    "invoke": _answer(
        {
            **_SETTLED,
            "output": {"description": "What the call gave; data, with `capability` as its source."},
            "untrusted": {
                "type": ["boolean", "array"],
                "items": _TEXT,
                "description": "True, or the fields of the output, that hold text from outside the organisation.",
            },
        },
        ("capability", "invocation", "output", "surface", "version"),
    ),
    "events": _answer({}),
    "handoff": _answer(
        {
            "handoff": {"type": "string", "description": "The id that was asked about."},
            "capability": {"type": "string", "description": "The capability id that opened it."},
            "status": {"enum": [each.value for each in HandoffStatus], "description": "How it stands."},
            "reason": {"type": "string", "description": "Why only a person may do it; data."},
            "url": {"type": "string", "description": "A path of the application, where the person does it."},
            "expires_at": {"type": "string", "description": "When it ends by itself, ISO 8601, UTC."},
            "data": {"description": "What the application said when it was completed; data, of the output's type."},
            "untrusted": {
                "type": ["boolean", "array"],
                "items": _TEXT,
                "description": "True, or the fields of the data, that hold text from outside the organisation.",
            },
        },
        ("handoff", "capability", "status", "reason", "url", "expires_at"),
    ),
}


def _definitions() -> Schema:
    defined: Schema = {f"{verb}.request": schema for verb, schema in REQUESTS.items()}
    for verb in VERBS:
        success = _ANSWERS.get(verb)
        if success is None:
            defined[f"{verb}.answer"] = _ref("refusal")
        else:
            defined[f"{verb}.success"] = success
            defined[f"{verb}.answer"] = {"oneOf": [_ref(f"{verb}.success"), _ref("refusal")]}
    defined |= {"descriptor": _DESCRIPTOR, "view": _ROW, "error": _ERROR, "refusal": _REFUSAL, "event": _EVENT}
    reference: Schema = {"type": ["string", "null"], "description": "That of the request; null when it had none."}
    answers: list[Json] = [_ref(f"{verb}.answer") for verb in VERBS]
    defined["frame.request"] = FRAME
    defined["frame.answer"] = _closed(
        {"ref": reference, "body": {"anyOf": answers, "description": "The answer of the verb."}}, ("ref", "body")
    )
    defined["frame.event"] = _closed({"body": _ref("event")}, ("body",))
    return defined


DEFINITIONS: Final[Schema] = _definitions()


def document() -> Schema:
    """The schemas of all messages as one document."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Messages of the page protocol, {PROTOCOL}",
        "description": (
            "`<verb>.request` and `<verb>.answer` are bodies over HTTP and in frames of a socket; `event` is one "
            "event of a stream. Objects are closed: a request with another field is refused."
        ),
        "$defs": DEFINITIONS,
    }
