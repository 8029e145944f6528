"""A caller of the page protocol that stops instead of searching; needs `remit[client]` (SPEC 11.13)."""

from remit.client.blocking import Client
from remit.client.calling import AsyncClient
from remit.client.values import Capability, Described, DoorError, Happening, Pending

__all__ = ["AsyncClient", "Capability", "Client", "Described", "DoorError", "Happening", "Pending"]
