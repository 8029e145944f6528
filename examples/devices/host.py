"""What the console gives to the functions that serve one signed-in person."""

from __future__ import annotations

from dataclasses import dataclass

from backend.client import FleetClient


@dataclass(frozen=True, slots=True, kw_only=True)
class AppHost:
    """The way to the backend for one session: the client, and the credential of the account that signed in."""

    fleet: FleetClient
    account: str
    credential: str
