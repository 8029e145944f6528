"""What an operator has switched off for the time being: the kill switch (SPEC 4.13)."""

import weakref
from collections.abc import Callable
from typing import Final

from remit._base.boundary import canonical
from remit._model.consumer import ConsumerKey
from remit.store.protocol import SuspensionStore

EVERYWHERE: Final = "*"


class Suspended:
    """The suspensions of a store, as one tenant's surfaces see them: its own, and those of the whole deployment.

    Calls look at the store's copy itself, so a suspension counts at the next call of every surface over it. `moved` is
    true from a change until the registry has dropped what it had made before.
    """

    __slots__ = ("__weakref__", "_held", "_own", "moved")

    def __init__(self, held: SuspensionStore) -> None:
        self._held = held
        self._own = ""
        self.moved = False

    def of_tenant(self, tenant: str | None) -> None:
        """Say once whose surface it is: tenants share no suspension but those of the whole deployment."""
        self._own = canonical([tenant]).decode()

    @property
    def any(self) -> bool:
        """False as long as nothing is suspended, for anybody."""
        return self._held.any

    def has_capability(self, capability_id: str) -> bool:
        """Whether this capability is hidden from everybody."""
        return self._held.any and self._has(_capability(capability_id))

    def has_consumer(self, key: ConsumerKey) -> bool:
        """Whether this consumer is shut out."""
        return self._held.any and self._has(_consumer(key))

    def set(self, target: str | ConsumerKey, suspended: bool) -> bool:
        """Suspend or reinstate, for this tenant, a capability (its id) or a consumer (its key); was that a change?"""
        return self._held.set(self._own + name_of(target), suspended)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Tell a bound method after each change, as long as its object lives; return what ends it."""
        method = weakref.WeakMethod(listener)  # a store outlives surfaces that nobody disposed

        def told(key: str) -> None:
            if not key.startswith((self._own, EVERYWHERE)):  # of another tenant
                return
            self.moved = True
            if (alive := method()) is not None:
                alive()

        return self._held.subscribe(told)

    def _has(self, name: str) -> bool:
        return self._held.holds(self._own + name) or self._held.holds(EVERYWHERE + name)


def name_of(target: str | ConsumerKey) -> str:
    """A capability id or the key of a consumer, as a store's key has it."""
    return _capability(target) if isinstance(target, str) else _consumer(target)


def _capability(id: str) -> str:
    return f"capability:{id}"


def _consumer(key: ConsumerKey) -> str:
    kind, issuer, actors, grant = key
    return f"consumer:{canonical([kind, issuer, list(actors), grant]).decode()}"
