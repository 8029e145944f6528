"""What an operator has switched off for the time being: the kill switch (SPEC 4.13)."""

from typing import Final, TypeVar

from remit._model.consumer import ConsumerKey

E = TypeVar("E")

MOST_CONSUMERS: Final = 10_000


class Suspended:
    """The suspended capabilities and consumers of one surface; `any` is false as long as there is none.

    Capabilities are bounded by the contract, consumers by a number: one more is an OverflowError, because forgetting
    an old suspension would let somebody in again.
    """

    __slots__ = ("_capabilities", "_consumers", "any")

    def __init__(self) -> None:
        self._capabilities: set[str] = set()
        self._consumers: set[ConsumerKey] = set()
        self.any = False

    def has_capability(self, capability_id: str) -> bool:
        """Whether this capability is hidden from everybody."""
        return capability_id in self._capabilities

    def has_consumer(self, key: ConsumerKey) -> bool:
        """Whether this consumer is shut out."""
        return key in self._consumers

    def set_capability(self, capability_id: str, suspended: bool) -> bool:
        """Suspend or reinstate a capability; say whether that changed anything."""
        return self._set(self._capabilities, capability_id, suspended)

    def set_consumer(self, key: ConsumerKey, suspended: bool) -> bool:
        """Suspend or reinstate a consumer; say whether that changed anything."""
        if suspended and key not in self._consumers and len(self._consumers) >= MOST_CONSUMERS:
            raise OverflowError(f"{MOST_CONSUMERS} consumers are suspended: reinstate some, or end the surface")
        return self._set(self._consumers, key, suspended)

    def _set(self, among: set[E], one: E, suspended: bool) -> bool:
        if (one in among) is suspended:
            return False
        if suspended:
            among.add(one)
        else:
            among.discard(one)
        self.any = bool(self._capabilities or self._consumers)
        return True
