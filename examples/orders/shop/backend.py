"""What has a meaning without a page: cancelling an order, and writing to its customer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from remit import BackendError, Context, Procedures
from shop.people import Person
from shop.store import Order, Shop

backend = Procedures()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The host context: the shop, and who works at this page."""

    shop: Shop
    person: Person


@backend.operation("orders.cancel", effect="destructive")
async def cancel_order(order: str, call: Context) -> str:
    """Cancel an order for good."""
    found = reachable(order, call)
    if found.status != "open":
        raise BackendError(409, code="NOT_OPEN", data={"status": found.status})
    found.status = "cancelled"
    return found.status


@backend.operation("orders.notify", effect="external-side-effect")
async def notify_customer(order: str, text: Annotated[str, Field(max_length=500)], call: Context) -> int:
    """Write to the customer of an order."""
    found, desk = reachable(order, call), desk_of(call)
    desk.shop.told.append((found.id, text))
    return len(desk.shop.told)


def reachable(order: str, call: Context) -> Order:
    """The order, if it is on the desk of whoever calls: the backend decides for itself."""
    desk = desk_of(call)
    found = desk.shop.find(order, desk.person.region)
    if found is None:
        raise BackendError(404)
    return found


def desk_of(call: Context) -> Desk:
    """The desk of whoever calls."""
    if not isinstance(call.host, Desk):
        raise BackendError(401)
    return call.host
