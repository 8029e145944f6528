"""Who may sign in, and who is signed in. The session cookie holds an unguessable name; signing out forgets it here."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request

from remit import Decider, Principal

LOGIN: Final = "login"
"""The key under which the signed session cookie names the sign-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may sign in, and the desk they work at."""

    name: str
    region: str
    password: str = field(repr=False)

    def principal(self) -> Principal:
        """The person as remit knows them."""
        return Principal(self.name)

    def decider(self) -> Decider:
        """The person as one who decides."""
        return Decider(self.name)


def demo_people() -> tuple[Person, ...]:
    """Two people with fresh passwords."""
    return tuple(
        Person(name=name, region=region, password=secrets.token_urlsafe(9))
        for name, region in (("mara", "north"), ("sven", "south"))
    )


class SignIns:
    """Who is signed in."""

    def __init__(self, people: Iterable[Person]) -> None:
        self._people = {person.name: person for person in people}
        self._signed_in: dict[str, Person] = {}

    def sign_in(self, name: str, password: str) -> str | None:
        """Return a new sign-in; None when name and password belong to nobody."""
        person = self._people.get(name)
        # Compared in any case, so that the time tells nothing about names.
        right = hmac.compare_digest((person.password if person else "").encode(), password.encode())
        if person is None or not right:
            return None
        login = secrets.token_urlsafe(32)
        self._signed_in[login] = person
        return login

    def sign_out(self, request: Request) -> None:
        """Forget the sign-in of a request; every page opened under it is nobody's from now on."""
        self._signed_in.pop(str(request.session.get(LOGIN)), None)

    def person(self, request: Request) -> Person | None:
        """Whoever is signed in at a request."""
        return self._signed_in.get(str(request.session.get(LOGIN)))

    def principal(self, request: Request) -> Principal | None:
        """The same as remit knows them: the login of `attach`."""
        person = self.person(request)
        return None if person is None else person.principal()
