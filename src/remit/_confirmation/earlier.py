"""Requests of surfaces that have gone, as a durable store still knows them (SPEC 7.6, 15.1)."""

import re
from collections.abc import Mapping
from typing import Final

from remit._base.boundary import canonical, loads
from remit._confirmation.request import ENDS, Ask, Signed
from remit._model.consumer import ConsumerKey
from remit._model.request_view import ConfirmationStatus
from remit.errors import AgentError, Happened, Refusal, confirmation_invalid, execution_failed
from remit.store.protocol import ConfirmationRow, ConfirmationStore

_ID: Final = re.compile(r"cnf_[A-Za-z0-9_-]{1,60}")
_OF_ITS_TIME: Final = frozenset({"surface", "registration", "contract"})
"""What of a canonical form is another one after a restart, of the very same call."""


class Earlier:
    """What became of requests that a surface does not hold: of the process before it, or of a view that was closed.

    Only what has ended is told, and only to the consumer that asked, for the same principal. Whoever asks a store that
    outlives nothing gets nothing.
    """

    __slots__ = ("_store",)

    def __init__(self, store: ConfirmationStore) -> None:
        self._store = store

    async def of_call(self, id: object, ask: Ask, wanted: Mapping[str, Signed]) -> AgentError | None:
        """How a request for this exact call ended; of a cancelled one, for this capability."""
        row = await self._row(id, ask.consumer.key, ask.principal.key)
        if row is None:
            return None
        if row.status == ConfirmationStatus.CANCELLED.value and row.capability == ask.descriptor.id:
            return _ended(row)
        now = wanted.get(row.kid)
        return _ended(row) if now is not None and _of_any_time(row.form) == _of_any_time(now.form) else None

    async def ended(self, id: object, key: ConsumerKey, principal: tuple[str | None, str]) -> AgentError | None:
        """How a request of this consumer ended, whatever it asked for."""
        row = await self._row(id, key, principal)
        return None if row is None else _ended(row)

    async def _row(self, id: object, key: ConsumerKey, principal: tuple[str | None, str]) -> ConfirmationRow | None:
        if not self._store.durable or not isinstance(id, str) or not _ID.fullmatch(id):
            return None
        try:
            row = await self._store.get(id)
        except Exception as cause:
            raise Refusal(
                execution_failed("handler-error", Happened.NONE), why="the store gave no answer", cause=cause
            ) from cause
        kind, issuer, actors, grant = key
        own = canonical([kind, issuer, list(actors), grant]).decode()
        if row is None or (row.tenant, row.principal) != principal or row.consumer != own:
            return None
        return row if ConfirmationStatus(row.status) in ENDS else None


def _ended(row: ConfirmationRow) -> AgentError:
    status = ConfirmationStatus(row.status)
    happened = None if row.outcome is None else Happened(row.outcome)
    return confirmation_invalid(ENDS[status], cause=row.cause, happened=happened)


def _of_any_time(form: str | bytes) -> object:
    whole = loads(form.encode() if isinstance(form, str) else form)
    return {name: value for name, value in whole.items() if name not in _OF_ITS_TIME} if isinstance(whole, dict) else 0
