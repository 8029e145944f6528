"""What a page may say over its socket, and how it is read: anything else ends the page (SPEC 11.17, 15.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

import orjson

from remit._base.boundary import Json
from remit.gateway.bridge.listed import is_route

FRAME_BYTES: Final = 262_144
"""Bytes of one message of a page; a longer one ends it."""

NAMES: Final = 256
NUMBER: Final = 2**31
TEXT: Final = 1_024
TAB: Final = 64


class Odd(Exception):
    """The page said what the module never says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first message: who the page is, where it stands, and what it heard last."""

    token: object
    page: str | None
    tab: str | None
    route: str
    title: str
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a page says of one component: all fields may only lower what agents may use."""

    enabled: bool
    reason: str | None
    available: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """The page answers for one component, under a number of its own."""

    number: int
    type: str
    instance: str
    handlers: frozenset[str]
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbind:
    """It no longer does."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The page stands elsewhere now, without having been loaded anew."""

    path: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """How one call ended: `how` is `ok`, `refused` or `failed`."""

    call: int
    how: str
    value: Json


@dataclass(frozen=True, slots=True)
class Left:
    """The page is being left; nothing it bound can be called any more."""


@dataclass(frozen=True, slots=True)
class Pong:
    """It is still there."""


Message = Bind | Unbind | Route | Given | Left | Pong


def hello_of(text: str) -> Hello:
    """Read the first message; Odd when it is none."""
    form = _form(text)
    last = form.get("last", 0)
    return Hello(
        token=form.get("token"),
        page=_optional(form, "page"),
        tab=_tab(form.get("tab")),
        route=_route(form.get("route")),
        title=_optional(form, "title") or "",
        last=0 if last == 0 and last is not False else _number(last),
    )


def message_of(text: str) -> Message:
    """Read any later message; Odd when it is none."""
    form = _form(text)
    if "answer" in form:
        return _given(form)
    if "pong" in form:
        return Pong()
    if "bind" in form:
        return _bind(form)
    if "unbind" in form:
        return Unbind(number=_number(form["unbind"]))
    if "route" in form:
        return Route(path=_route(form["route"]), title=_optional(form, "title") or "")
    if "left" in form:
        return Left()
    raise Odd("a message of no kind")


def _form(text: str) -> dict[str, Json]:
    try:
        form = orjson.loads(text)
    except orjson.JSONDecodeError:
        _odd("no JSON")
    return form if isinstance(form, dict) else _odd("no object")


def _given(form: dict[str, Json]) -> Given:
    call = _number(form["answer"])
    how = next((each for each in ("ok", "refused", "failed") if each in form), None)
    if how is None:
        _odd("an answer that says nothing")
    if how != "ok" and not isinstance(form[how], str):
        _odd(f"{how} is no text")
    return Given(call=call, how=how, value=form[how])


def _bind(form: dict[str, Json]) -> Bind:
    type, instance = form.get("type"), form.get("instance")
    if not isinstance(type, str) or not isinstance(instance, str):
        _odd("a bind without type or instance")
    handlers = form.get("handlers")
    if not isinstance(handlers, list) or len(handlers) > NAMES:
        _odd("handlers is no list of names")
    return Bind(
        number=_number(form["bind"]),
        type=type[:TEXT],
        instance=instance[:TEXT],
        handlers=frozenset(each for each in handlers if isinstance(each, str)),
        state=_state(form),
    )


def _state(form: dict[str, Json]) -> State:
    enabled, available = form.get("enabled", True), form.get("available", {})
    if not isinstance(enabled, bool) or not isinstance(available, dict) or len(available) > NAMES:
        _odd("enabled or available are not what they may be")
    return State(
        enabled=enabled,
        reason=_optional(form, "reason"),
        available={name: why[:TEXT] for name, why in available.items() if isinstance(why, str)},
    )


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < NUMBER:
        _odd("no number")
    return value


def _route(value: object) -> str:
    return value if isinstance(value, str) and is_route(value) else _odd("no path")


def _optional(form: dict[str, Json], name: str) -> str | None:
    value = form.get(name)
    if value is not None and not isinstance(value, str):
        _odd(f"{name} is no text")
    return None if value is None else value[:TEXT]


def _tab(value: object) -> str | None:
    fits = isinstance(value, str) and 0 < len(value) <= TAB and value.isascii() and value.isprintable()
    return value if fits and isinstance(value, str) else None


def _odd(why: str) -> NoReturn:
    raise Odd(why)
