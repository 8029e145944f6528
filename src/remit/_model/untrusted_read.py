"""What a person is told of an agent that has read text from outside (SPEC 11.15)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UntrustedRead:
    """The first text from outside that an agent was given on this surface, since a person last cleared it.

    `consumer` is its id, that of its first actor where a token names several, `issuer` who vouches for it; `capability`
    is what gave it the text. `at` is an aware UTC time.
    """

    consumer: str
    issuer: str | None
    capability: str
    at: datetime
