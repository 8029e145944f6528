"""Whose call it is: the credentials of the session, by an allow-list of headers, for one call (SPEC 10.4, 10.9)."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeAlias

from remit._model.context import Context
from remit.procedures.errors import NotSent

Given: TypeAlias = Mapping[str, str] | None
Source: TypeAlias = Callable[[Context], Given | Awaitable[Given]]

TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
"""The name of a header or a cookie (RFC 9110)."""

_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_UNAUTHORIZED: Final = 401
_OF_THE_CONNECTION: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-type"})


class Credentials:
    """The headers that carry a person's own credential to the backend.

        Credentials(lambda ctx: {"Authorization": f"Bearer {ctx.host.token}"}, headers=["Authorization"])

    `of` is asked for every call, with the context of that call, and may be async; it may give all it has, such as the
    headers of the person's own request. Only the headers that are named here, in any case, go on; each of them must be
    there, `optional` ones aside, else the call ends as NOT_AUTHENTICATED and nothing is sent. There is no fallback of
    the process (SPEC 10.4).
    """

    def __init__(self, of: Source, *, headers: Iterable[str], optional: Iterable[str] = ()) -> None:
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
        """The headers of this call, sorted by name; NotSent(401) when one is missing or cannot be written."""
        given = self._of(context)
        if inspect.isawaitable(given):
            given = await given
        held = {name.lower(): value for name, value in (given or {}).items()}
        found: list[tuple[bytes, bytes]] = []
        for name in sorted(self.names):
            value = held.get(name)
            if value is None:
                if name in self._required:
                    raise NotSent(_UNAUTHORIZED, f"the session has no {name}")
                continue
            if not _VALUE.fullmatch(value):
                raise NotSent(_UNAUTHORIZED, f"the session's {name} cannot be written in a header")
            found.append((name.encode(), value.encode()))
        return found


def _names(headers: Iterable[str]) -> frozenset[str]:
    names = [headers] if isinstance(headers, str) else list(headers)
    for name in names:
        if not TOKEN.fullmatch(name) or name.lower() in _OF_THE_CONNECTION:
            raise ValueError(f"Credentials: {name[:80]!r} is no header of a credential")
    return frozenset(name.lower() for name in names)
