"""One component in one page: mounted with the part of the page it stands in, enabled while it can be seen."""

from collections.abc import Callable, Mapping
from typing import Literal

from nicegui.element import Element

from remit._surface.mount import Mount
from remit.integrations.nicegui.presence import DISCONNECTED, Presence

Status = Literal["mounted", "unmounted", "rejected"]


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


class Mounted:
    """A component's place in a page, from `agents.mount` until its element is deleted.

    It is no context manager: in a page function a `with` would end before anybody sees the page.
    """

    def __init__(
        self, mount: Mount | None, element: Element | None, *, enabled: bool, connected: Callable[[], bool]
    ) -> None:
        self._mount = mount
        self._enabled = enabled
        self._reason: str | None = None
        self._connected = connected
        self._presence = None if element is None or mount is None else Presence(element, self.refresh)

    @property
    def registration_id(self) -> str | None:
        """The opaque id of this mount lifetime; None when nothing was mounted."""
        return None if self._mount is None else self._mount.registration_id

    @property
    def status(self) -> Status:
        """`mounted`, `unmounted`, or `rejected`: the name was taken, or nobody is signed in."""
        return "rejected" if self._mount is None else self._mount.status

    def update(
        self,
        *,
        enabled: bool | None = None,
        reason: str | None = None,
        available: Mapping[str, Literal[True] | str] | None = None,
    ) -> None:
        """Disable the component, or single capabilities, for a reason of the application's own (SPEC 4.1).

        What cannot be seen stays disabled whatever is said here.
        """
        if enabled is not None:
            self._enabled = enabled
            self._reason = None
        if reason is not None:
            self._reason = reason
        if available is not None and self._mount is not None:
            self._mount.update(available=available)
        self.refresh()

    def invalidate(self) -> None:
        """Say that what agents know of this component is old."""
        if self._mount is not None:
            self._mount.invalidate()

    def unmount(self) -> None:
        """End it before its element does; twice is a no-op."""
        if self._presence is not None:
            self._presence.close()
            self._presence = None
        if self._mount is not None:
            self._mount.unmount()

    def deleted(self) -> None:
        """Its element is gone.

        NiceGUI deletes a dialog when what marks its place is collected as garbage: in any thread, and at the very end.
        """
        if self._mount is not None:
            self._mount._in_own(self.unmount)

    def refresh(self) -> None:
        """Compare what is presented with what agents may use."""
        if self._mount is None:
            return
        reason = self._blocked()
        if reason is None and not self._enabled:
            self._mount.update(enabled=False, reason=self._reason)
        else:
            self._mount.update(enabled=reason is None, reason=reason)

    def _blocked(self) -> str | None:
        if not self._connected():
            return DISCONNECTED
        return None if self._presence is None else self._presence.reason()
