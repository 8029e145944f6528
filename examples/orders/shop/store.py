"""The orders, in memory: who may reach which, and what was done to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

Status = Literal["open", "paid", "cancelled"]
COUNT: Final = 60
SOUTH_EVERY: Final = 5
_CUSTOMERS: Final = ("Abbott & Sons", "Brandt KG", "Costa Lda", "Dubois SARL", "Ekström AB", "Ferri S.r.l.")


@dataclass(slots=True, kw_only=True)
class Order:
    """One order; `region` says whose desk it is on."""

    id: str
    customer: str
    region: str
    cents: int
    status: Status = "open"
    note: str = ""
    receipt: str = ""

    @property
    def price(self) -> str:
        """The amount as people read it."""
        return f"{self.cents / 100:.2f}"


@dataclass(slots=True)
class Shop:
    """All orders, by id, and what customers were told."""

    orders: dict[str, Order] = field(default_factory=dict)
    told: list[tuple[str, str]] = field(default_factory=list)

    def of(self, region: str) -> Iterator[Order]:
        """The orders of one desk, in the order of their ids."""
        return (order for order in self.orders.values() if order.region == region)

    def find(self, id: str, region: str) -> Order | None:
        """An order of this desk; None for one of another desk, as for one that is not there."""
        order = self.orders.get(id)
        return order if order is not None and order.region == region else None


def sixty_orders() -> Shop:
    """Sixty orders: every fifth is the south desk's, the other 48 are the north desk's."""
    orders = [
        Order(
            id=f"o-{1000 + number}",
            customer=_CUSTOMERS[number % len(_CUSTOMERS)],
            region="north" if number % SOUTH_EVERY else "south",
            cents=1_990 + 735 * number,
        )
        for number in range(1, COUNT + 1)
    ]
    return Shop({order.id: order for order in orders})
