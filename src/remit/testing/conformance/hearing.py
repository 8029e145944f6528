"""The streams of one case: begun under a name, and read on as far as a step awaits (SPEC 11.1)."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final

import httpx2
import jsonschema_rs

from remit.testing.conformance.matching import faults

PATIENCE_S: Final = 10.0
"""How long an event is awaited."""

_DATA: Final = "data:"


class Streams:
    """What one case listens to; everything is closed with this context."""

    def __init__(self, http: httpx2.Client, schema: jsonschema_rs.Validator) -> None:
        self._http = http
        self._schema = schema
        self._open = ExitStack()
        self._lines: dict[str, Iterator[str]] = {}

    def __enter__(self) -> "Streams":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._open.close()

    def begin(self, name: str, request: Mapping[str, Any]) -> tuple[int, Any]:
        """Begin to listen; the status, and the first event or what came instead of a stream."""
        response = self._open.enter_context(self._http.stream(**request, timeout=PATIENCE_S))
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.read()
            return response.status_code, _json(response.text)
        self._lines[name] = response.iter_lines()
        return response.status_code, self._next(name, time.monotonic() + PATIENCE_S)

    def hear(self, name: str, wanted: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
        """Read on until all that is awaited has come, in its order; what that was, and what is wrong with it."""
        came: list[Any] = []
        found: list[str] = []
        awaited = list(wanted.get("events", ()))
        until = time.monotonic() + PATIENCE_S
        while awaited or wanted.get("ends"):
            try:
                event = self._next(name, until)
            except (httpx2.ReadTimeout, TimeoutError):
                return came, [*found, f"within {PATIENCE_S:g} s it is not told: {awaited or 'the end'!r:.200}"]
            if event is None:
                return came, [*found, *(f"it ended before {each!r:.200}" for each in awaited)]
            found += [f"{event!r:.200}: {each.message}" for each in self._schema.iter_errors(event)]
            found += [f"{event!r:.200} is heard" for each in wanted.get("not", ()) if not faults(each, event)]
            if awaited and not faults(awaited[0], event):
                came.append(event)
                awaited.pop(0)
        return came, found

    def _next(self, name: str, until: float) -> Any:
        """The next event; None where the stream has ended. What is no event is passed over."""
        for line in self._lines[name]:
            if line.startswith(_DATA):
                return _json(line[len(_DATA) :])
            if time.monotonic() > until:
                raise TimeoutError
        return None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
