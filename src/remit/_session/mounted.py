"""One component in one view of a home: mounted until its place in the page goes, enabled while a person can see it."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from remit._surface.mount import Mount

DISCONNECTED: Final = "client-disconnected"
"""Why nothing of a page can be used whose browser is away (SPEC 7.12)."""

Status = Literal["mounted", "unmounted", "rejected"]


class Mounted:
    """A component's place in a page, from the home's `mount` until that place is gone.

    It is no context manager: in a page function a `with` would end before anybody sees the page.
    """

    def __init__(self, mount: Mount | None, *, enabled: bool, blocked: Callable[[], str | None]) -> None:
        self._mount = mount
        self._enabled = enabled
        self._reason: str | None = None
        self._blocked = blocked

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
        """End it before its place in the page does; twice is a no-op."""
        if self._mount is not None:
            self._mount.unmount()

    def refresh(self) -> None:
        """Compare what is presented with what agents may use."""
        if self._mount is None:
            return
        reason = self._blocked()
        if reason is None and not self._enabled:
            self._mount.update(enabled=False, reason=self._reason)
        else:
            self._mount.update(enabled=reason is None, reason=reason)
