"""Whose call it is: the credentials of the session, by an allow-list of headers, for one call (SPEC 10.4, 10.9)."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeAlias, cast

from remit._model.context import Context
from remit.procedures.errors import BackendError, NotSent

Given: TypeAlias = Mapping[str, str] | None
Source: TypeAlias = Callable[[Context], Given | Awaitable[Given]]

TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
"""The name of a header or a cookie (RFC 9110)."""

_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_UNAUTHORIZED: Final = 401
_FAILED: Final = 500
OF_THE_WAY: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "content-type", "content-encoding", "traceparent"}
    | {
        "accept",
        "accept-encoding",
        "user-agent",
        "te",
        "trailer",
        "expect",
        "upgrade",
        "keep-alive",
        "proxy-connection",
    }
)
"""The lower-cased headers that remit writes itself, and those that are the connection's: nobody else fills one."""


class Credentials:
    """The headers that carry a person's own credential to the backend.

        Credentials(lambda ctx: {"Authorization": f"Bearer {ctx.host.token}"}, headers=["Authorization"])

    `of` is asked for every call, with the context of that call, and may be async; it may give all it has, such as the
    headers of the person's own request. Only the headers that are named here, in any case, go on; each of them must be
    there, `optional` ones aside, and none may be there twice, else the call ends as NOT_AUTHENTICATED. A function that
    raises, or gives no mapping of texts, ends it as EXECUTION_FAILED; a BackendError it raises counts as the answer.
    Nothing is sent in any of these cases. There is no fallback of the process (SPEC 10.4).
    """

    def __init__(self, of: Source, *, headers: Iterable[str], optional: Iterable[str] = ()) -> None:
        if not callable(of):
            raise TypeError(f"Credentials: the first argument is a function, not {type(of).__name__}")
        self._of = of
        self._required = _names(headers)
        self._optional = _names(optional)
        if not self._required and not self._optional:
            raise ValueError("Credentials(headers=…) names no header")

    @property
    def names(self) -> frozenset[str]:
        """The lower-cased names of the allow-list."""
        return self._required | self._optional

    async def headers(self, context: Context) -> list[tuple[bytes, bytes]]:
        """The headers of this call, sorted by name.

        NotSent(401) when one is missing, is there twice or cannot be written; NotSent(500) when the function fails.
        """
        held = await self._held(context)
        found: list[tuple[bytes, bytes]] = []
        for name in sorted(self.names):
            values = held.get(name)
            if values is None:
                if name in self._required:
                    raise NotSent(_UNAUTHORIZED, f"the session has no {name}")
                continue
            if len(values) > 1:
                raise NotSent(_UNAUTHORIZED, f"the session has {len(values)} of {name}")
            if not _VALUE.fullmatch(values[0]):
                raise NotSent(_UNAUTHORIZED, f"the session's {name} cannot be written in a header")
            found.append((name.encode(), values[0].encode()))
        return found

    async def _held(self, context: Context) -> dict[str, list[str]]:
        """What the function gives for the allow-list, by lower-cased name."""
        try:
            given = self._of(context)
            if inspect.isawaitable(given):
                given = await given
            return _listed(given, self.names)
        except BackendError as problem:
            raise NotSent(problem.status, str(problem), retry_after=problem.retry_after) from problem
        except Exception as problem:
            why = f"the function of Credentials failed with {type(problem).__name__}"
            raise NotSent(_FAILED, why) from problem


def _listed(given: object, names: frozenset[str]) -> dict[str, list[str]]:
    """The values of each of the names; TypeError for what is no mapping of texts, and the error names no value."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"Credentials: the function gives a mapping of headers, not {type(given).__name__}")
    several = getattr(given, "multi_items", None)  # where a mapping of headers joins what came twice
    held: dict[str, list[str]] = {}
    for name, value in cast("Iterable[tuple[object, object]]", several() if callable(several) else given.items()):
        if not isinstance(name, str):
            raise TypeError(f"Credentials: the name of a header is text, not {type(name).__name__}")
        if value is None or name.lower() not in names:
            continue
        if not isinstance(value, str):
            raise TypeError(f"Credentials: {name[:80]} is text, not {type(value).__name__}")
        held.setdefault(name.lower(), []).append(value)
    return held


def _names(headers: Iterable[str]) -> frozenset[str]:
    names = [headers] if isinstance(headers, str) else list(headers)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Credentials: the name of a header is text, not {type(name).__name__}")
        if not TOKEN.fullmatch(name) or name.lower() in OF_THE_WAY:
            raise ValueError(f"Credentials: {name[:80]!r} is no header of a credential")
    return frozenset(name.lower() for name in names)
