"""Who may sign in, and who is signed in: two demo accounts and their sessions."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from backend.accounts import Account, credential_of
from nicegui import app

from console.components import OPERATOR
from remit import Principal

LOGIN: Final = "login"
"""The key under which the signed session cookie names the sign-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may sign in; `credential` is theirs at the backend and never leaves the server."""

    name: str
    role: str
    password: str = field(repr=False)
    credential: str = field(repr=False)
    grants: frozenset[str]

    @property
    def may_write(self) -> bool:
        """Whether the console offers this person to change devices; the backend decides for itself."""
        return OPERATOR in self.grants

    def principal(self) -> Principal:
        """The person as remit knows them."""
        return Principal(self.name, grants=self.grants)


def demo_people(accounts: Mapping[str, Account]) -> tuple[Person, ...]:
    """Make a person with a fresh password for each account of the backend."""
    return tuple(
        Person(
            name=account.name,
            role="Operator" if account.may_write else "Auditor, reads only",
            password=secrets.token_urlsafe(9),
            credential=credential_of(accounts, account.name),
            grants=frozenset({OPERATOR}) if account.may_write else frozenset(),
        )
        for account in accounts.values()
    )


class SignIns:
    """Who is signed in. The cookie holds an unguessable name of the sign-in; signing out forgets that name here."""

    def __init__(self, people: tuple[Person, ...]) -> None:
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

    def sign_out(self, login: str) -> None:
        """Forget a sign-in; every page opened under it is nobody's from now on."""
        self._signed_in.pop(login, None)

    def login(self) -> str:
        """The sign-in that the page or request being served says it belongs to; it may be forgotten already."""
        return str(app.storage.browser.get(LOGIN, ""))

    def person(self, login: str) -> Person | None:
        """Whose sign-in that is; None when nobody is signed in under it."""
        return self._signed_in.get(login)

    def current(self) -> Person | None:
        """Whoever is signed in at the page or request that is being served."""
        return self.person(self.login())

    def principal(self) -> Principal | None:
        """The principal of the page or request that is being served; None when nobody is signed in."""
        person = self.current()
        return None if person is None else person.principal()
