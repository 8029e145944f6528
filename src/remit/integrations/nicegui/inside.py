"""Running the application's code where NiceGUI expects it: in a client's slot, with that client's request."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nicegui import Client, storage


@contextmanager
def inside(client: Client) -> Iterator[None]:
    """Enter the client in the task that runs the block, so that `ui.notify` and `app.storage.user` work in it.

    NiceGUI keeps its slots per task and a child task inherits none, so whoever starts a task enters it again there.
    """
    token = storage.request_contextvar.set(client.request)
    try:
        with client:
            yield
    finally:
        storage.request_contextvar.reset(token)


def session_of(client: Client) -> str | None:
    """The id of the browser session the page was built for; None when NiceGUI keeps no session."""
    return session_id(client.request.scope)


def session_id(scope: object) -> str | None:
    """The id of the browser session that a request or a socket belongs to; None when it names none."""
    session = scope.get("session") if isinstance(scope, Mapping) else None
    found = session.get("id") if isinstance(session, Mapping) else None
    return found if isinstance(found, str) else None
