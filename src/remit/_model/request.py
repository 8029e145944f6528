"""One call, as a consumer asks for it (SPEC 6.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from remit._model.trace import Trace


@dataclass(frozen=True, slots=True)
class Invocation:
    """What is called, with what, and what the caller believes about the view.

    `id` is the caller's own invocation id (1 to 128 of `[A-Za-z0-9._-]`), made when absent; `instance` may be written
    `type/instance`; `registration`, `surface_id` and `surface_version` pin what the caller was shown; `confirmation` is
    evidence; `trace` is the span it was made in. Values are checked by the pipeline, never here: a mistake of an agent
    must come back as a value.
    """

    capability_id: str
    input: Mapping[str, object] | None = None
    id: str | None = None
    instance: str | None = None
    registration: str | None = None
    surface_id: str | None = None
    surface_version: str | None = None
    confirmation: str | None = None
    correlation_id: str | None = None
    trace: Trace | None = None


def check_invocation(invocation: object) -> None:
    """Raise a TypeError that says what to write for anything but an Invocation."""
    if not isinstance(invocation, Invocation):
        raise TypeError(
            f"{invocation!r:.80} is no Invocation"
            '\n  do  write Invocation("view:devices.table.readState", {…}), or connection.call("view:…", {…})'
        )
