"""Pending requests whose registration has gone, until the same part of the view is mounted again (SPEC 7.12)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from remit._base.clock import Clock, TimerHandle
from remit._base.digest import keyed_hex
from remit._base.limits import Limits
from remit._confirmation.desk import Desk
from remit._confirmation.keys import ConfirmationKeys
from remit._confirmation.request import RequestRecord, form_of
from remit._model.request_view import CancelCause, ConfirmationStatus


@dataclass(frozen=True, slots=True)
class Place:
    """What a registration showed: its type, its instance, and the canonical `identity` of its data."""

    type: str
    instance: str
    identity: bytes


Again = Callable[[RequestRecord], bytes | None]
"""The canonical effective input of a request's call as the new mount makes it; None when it makes none."""


@dataclass(frozen=True, slots=True)
class _Left:
    record: RequestRecord
    place: Place
    cause: CancelCause
    timer: TimerHandle


class Moving:
    """Holds what was left behind for `gap_s` at most; whatever does not move by then is cancelled.

    Only a pending request waits here, and none with a sensitive value, whose input nothing kept. While it waits it can
    be denied, not approved: what it would ask next is not known.
    """

    __slots__ = ("_clock", "_desk", "_gap_s", "_keys", "_left")

    def __init__(self, desk: Desk, clock: Clock, limits: Limits, keys: ConfirmationKeys) -> None:
        self._desk = desk
        self._clock = clock
        self._gap_s = limits.gap_s
        self._keys = keys
        self._left: dict[str, _Left] = {}

    def leave(self, record: RequestRecord, place: Place | None, cause: CancelCause) -> None:
        """Its registration has gone: wait for the next one of this place, or end it when it may not move."""
        if place is None or record.status is not ConfirmationStatus.PENDING or record.ask.sensitive:
            self._desk.end(record, ConfirmationStatus.CANCELLED, cause)
            return
        record.homeless = True
        timer = self._clock.call_later(self._gap_s, lambda: self._too_late(record.id))
        self._left[record.id] = _Left(record, place, cause, timer)

    def arrive(self, place: Place, registration: str, again: Again) -> None:
        """The place is mounted again: move what asks for exactly the same there, and cancel the rest of it."""
        for left in [left for left in self._left.values() if left.place == place]:
            self._drop(left)
            if not left.record.open:
                continue
            secret = self._keys.secret(left.record.kid)
            if secret is not None and again(left.record) == left.record.ask.canonical:
                self._move(left.record, registration, secret)
            else:
                self._desk.end(left.record, ConfirmationStatus.CANCELLED, left.cause)

    def end_all(self) -> None:
        """Wait for nothing any more; the requests themselves are ended by whoever owns them."""
        for left in tuple(self._left.values()):
            self._drop(left)

    def _move(self, record: RequestRecord, registration: str, secret: bytes) -> None:
        ask = replace(record.ask, registration=registration)
        form = form_of(ask)
        self._desk.renew(record, ask, form, keyed_hex(secret, form))

    def _too_late(self, id: str) -> None:
        left = self._left[id]  # whatever drops it cancels the timer
        self._drop(left)
        self._desk.end(left.record, ConfirmationStatus.CANCELLED, left.cause)

    def _drop(self, left: _Left) -> None:
        self._left.pop(left.record.id, None)
        left.timer.cancel()
        left.record.homeless = False
