"""The three fixed tools of meta mode: their constant definitions, and how their arguments are read (SPEC 12.4)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from remit._base.boundary import Json, NotJson, take
from remit._base.limits import Limits
from remit._base.paths import segment
from remit._schema.validate import Validator
from remit._toolset.definitions import Definition, Hints
from remit.errors import AgentError, Issue, invalid_input

DISCOVER: Final = "surface_discover"
READ: Final = "surface_read"
ACT: Final = "surface_act"

_ENVELOPE_BYTES: Final = 4_096
"""What may stand around an input."""

_ASKED: Final = 20
"""Prefixes or ids in one request."""

_TEXT: Final = 128
_QUERY: Final = 200

_ID: Final[Json] = {"type": "string", "description": "The id of the capability, as surface_discover shows it."}
_INPUT: Final[Json] = {"type": "object", "description": "The capability's own fields, by its inputSchema."}
_INSTANCE: Final[Json] = {
    "type": "string",
    "description": "Which one, where several instances offer it: its instance, or component/instance.",
}
_REGISTRATION: Final[Json] = {
    "type": "string",
    "description": "The registration that surface_discover showed with it; a call never goes to a successor of it.",
}
_NAMES: Final[Json] = {"type": "string", "minLength": 1, "maxLength": _TEXT}
_PREFIXES: Final[Json] = {
    "type": "array",
    "items": _NAMES,
    "maxItems": _ASKED,
    "description": "Whole leading segments of component types (devices) or of ids (domain:devices).",
}
_IDS: Final[Json] = {
    "type": "array",
    "items": _NAMES,
    "maxItems": _ASKED,
    "description": "Exact ids of capabilities.",
}
_WORDS: Final[Json] = {
    "type": "string",
    "maxLength": _QUERY,
    "description": "Words to look for; the best match comes first.",
}
_NEXT: Final[Json] = {
    "type": "string",
    "maxLength": _TEXT,
    "description": "The `next` of an answer: the same request again gives the part that follows.",
}
_DISCOVER: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"prefixes": _PREFIXES, "ids": _IDS, "query": _WORDS, "next": _NEXT},
    "additionalProperties": False,
}
_CALL: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"id": _ID, "input": _INPUT, "instance": _INSTANCE, "registration": _REGISTRATION},
    "required": ["id"],
    "additionalProperties": False,
}
DEFINITIONS: Final = (
    (
        DISCOVER,
        Definition(
            id=DISCOVER,
            title=None,
            description=(
                "Look at what can be seen and done in the person's open view. Without arguments: its components, with "
                "the number of capabilities of each. With prefixes, ids or a query: the capabilities, with schema, "
                "availability, instance and registration. An answer that goes on has `next`. Ask again when the view "
                "has changed."
            ),
            input_schema=_DISCOVER,
            output_schema=None,
            wraps=False,
            hints=Hints(read_only=True, destructive=False, idempotent=True, open_world=False),
        ),
    ),
    (
        READ,
        Definition(
            id=READ,
            title=None,
            description=(
                "Call a capability whose effect is `read` or `server-query`, by its id. Or ask how a step stands that "
                "only the person does: its handoff_id is the id then. It changes nothing."
            ),
            input_schema=_CALL,
            output_schema=None,
            wraps=False,
            hints=Hints(read_only=True, destructive=False, idempotent=True, open_world=True),
        ),
    ),
    (
        ACT,
        Definition(
            id=ACT,
            title=None,
            description=(
                "Call a capability that may change something, by its id, with the registration that surface_discover "
                "showed. Some calls need a person's approval; a refusal says what to do next."
            ),
            input_schema=_CALL,
            output_schema=None,
            wraps=False,
            # What it runs is whatever the view offers, so it is announced as the gravest of it.
            hints=Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
        ),
    ),
)
"""Name and definition of each tool: the same for everybody, whatever is mounted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What `surface_discover` is asked for; all three empty: the overview. `next` names a later part."""

    prefixes: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    query: str | None = None
    next: str | None = None

    @property
    def everything(self) -> bool:
        """True when nothing is asked for in particular."""
        return not self.prefixes and not self.ids and self.query is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The call that `surface_read` or `surface_act` is asked to make."""

    id: str
    input: Mapping[str, object] | None = None
    instance: str | None = None
    registration: str | None = None


class Envelopes:
    """Reads the arguments of the fixed tools; a fault is INVALID_INPUT that names the key, and nothing else happened.

    A key that is null counts as absent.
    """

    __slots__ = ("_bytes", "_call", "_discover")

    def __init__(self, limits: Limits) -> None:
        self._bytes = limits.input_bytes + _ENVELOPE_BYTES
        self._discover = Validator(_DISCOVER, subject=DISCOVER)
        self._call = Validator(_CALL, subject=ACT)

    def asked(self, arguments: object) -> Asked | AgentError:
        """The arguments of `surface_discover`."""
        form = self._read(arguments, self._discover, "")
        if isinstance(form, AgentError):
            return form
        query = _text(form, "query")
        return Asked(
            prefixes=_texts(form, "prefixes"),
            ids=_texts(form, "ids"),
            query=query if query and query.strip() else None,
            next=_text(form, "next"),
        )

    def wanted(self, arguments: object) -> Wanted | AgentError:
        """The arguments of `surface_read` and `surface_act`."""
        form = self._read(arguments, self._call, " (the capability's own fields stand inside `input`)")
        if isinstance(form, AgentError):
            return form
        inner = form.get("input")
        return Wanted(
            id=_text(form, "id") or "",
            input=inner if isinstance(inner, dict) else None,
            instance=_text(form, "instance"),
            registration=_text(form, "registration"),
        )

    def _read(self, arguments: object, validator: Validator, hint: str) -> dict[str, Json] | AgentError:
        try:
            value, _ = take({} if arguments is None else arguments, max_bytes=self._bytes)
        except NotJson as problem:
            return invalid_input([Issue(path=problem.path, message=problem.reason)])
        form = _given(value)
        issues = validator.issues(form)
        if isinstance(form, dict) and not issues:
            return form
        return invalid_input([_hinted(issue, form, hint) for issue in issues])


def _given(value: Json) -> Json:
    """The same arguments without the keys that are null."""
    return {key: inner for key, inner in value.items() if inner is not None} if isinstance(value, dict) else value


def _hinted(issue: Issue, form: Json, hint: str) -> Issue:
    """The same issue; one of a key that does not belong here says where a capability's fields go."""
    known = _CALL["properties"]
    if not hint or not isinstance(form, dict) or not isinstance(known, dict):
        return issue
    if issue.path == "confirmation" and "confirmation" in form:
        return replace(issue, message="unknown key confirmation; evidence stands beside the arguments, never in them")
    odd = {segment(key) for key in form if key not in known}
    return replace(issue, message=issue.message + hint) if issue.path in odd else issue


def _text(form: Mapping[str, Json], key: str) -> str | None:
    value = form.get(key)
    return value if isinstance(value, str) else None


def _texts(form: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = form.get(key)
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()
