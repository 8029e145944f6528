"""What an application asks of its surface beside calls, and what cannot be meant by it (SPEC 4.13)."""

import math

from remit._base.text import clean_line
from remit._contract.component import Component


def route_of(path: object, most: int) -> str | None:
    """A route as agents are told it: one line of at most `most` characters; what is no text is a TypeError."""
    if path is None:
        return None
    if not isinstance(path, str):
        raise TypeError(f'set_route(path) takes text such as "/devices", or None, not {type(path).__name__}')
    return clean_line(path, most)


def check_kind(kind: object) -> None:
    """Raise a TypeError that says what to write for anything but a class of components."""
    if not isinstance(kind, type) or not issubclass(kind, Component):
        name = kind.__name__ if isinstance(kind, type) else type(kind).__name__
        raise TypeError(f"mounted(kind) takes a class of components, not {name}\n  do  write mounted(DevicesTable)")


def check_sink(sink: object) -> None:
    """Raise a TypeError for what takes no entries of the journal."""
    if isinstance(sink, type) or not callable(getattr(sink, "write", None)):
        name = f"the class {sink.__name__}" if isinstance(sink, type) else type(sink).__name__
        raise TypeError(f"audit_to(sink) takes what has write(entry), plain or async, not {name}")


def check_wait(timeout: object) -> None:
    """Raise a TypeError or a ValueError for what is no number of seconds to wait; none and less mean not at all."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout= is a number of seconds, not {type(timeout).__name__}")
    if math.isnan(timeout):
        raise ValueError("timeout= is a number of seconds, not nan")
