"""One component in one page: mounted with the part of the page it stands in, enabled while it can be seen."""

from collections.abc import Callable

from nicegui.element import Element

from remit._session import mounted
from remit._session.mounted import DISCONNECTED
from remit._surface.mount import Mount
from remit.integrations.nicegui.presence import Presence


class Anchor(Element):
    """An element that shows nothing and is deleted with the part of the page it was made in.

    The container is not enough: a sub page, a refreshable and `clear()` delete what is in it and keep itself.
    """

    def __init__(self, deleted: Callable[[], None]) -> None:
        super().__init__("template")
        self._ended = deleted

    def _handle_delete(self) -> None:
        self._ended()
        super()._handle_delete()


class Mounted(mounted.Mounted):
    """A component's place in a page, from `agents.mount` until its element is deleted.

    It is no context manager: in a page function a `with` would end before anybody sees the page.
    """

    def __init__(
        self, mount: Mount | None, element: Element | None, *, enabled: bool, connected: Callable[[], bool]
    ) -> None:
        super().__init__(mount, enabled=enabled, blocked=self._unseen)
        self._connected = connected
        self._presence = None if element is None or mount is None else Presence(element, self.refresh)

    def unmount(self) -> None:
        """End it before its element does; twice is a no-op."""
        if self._presence is not None:
            self._presence.close()
            self._presence = None
        super().unmount()

    def deleted(self) -> None:
        """Its element is gone.

        NiceGUI deletes a dialog when what marks its place is collected as garbage: in any thread, and at the very end.
        """
        if self._mount is not None:
            self._mount._in_own(self.unmount)

    def _unseen(self) -> str | None:
        if not self._connected():
            return DISCONNECTED
        return None if self._presence is None else self._presence.reason()
