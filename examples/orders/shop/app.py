"""The order desk: one process that serves its pages and its doors for agents."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request

from remit import Authority, Limits
from remit.gateway import Gateway
from remit.integrations.asgi import Agents, attach
from remit.policies import authenticated
from shop.backend import Desk, backend
from shop.headers import SafeHeaders
from shop.pages import Pages, templates
from shop.people import Person, SignIns, demo_people
from shop.store import Shop, sixty_orders


@dataclass(slots=True, kw_only=True)
class Handles:
    """What a script or a test needs of an application that was made."""

    people: tuple[Person, ...]
    shop: Shop
    gateway: Gateway
    agents: Agents

    def person(self, name: str) -> Person:
        """The person with this name; `KeyError` when there is none."""
        return {person.name: person for person in self.people}[name]


def create(*, limits: Limits | None = None) -> tuple[Starlette, Handles]:
    """Make the application with its orders; serve it with any ASGI server."""
    shop, people = sixty_orders(), demo_people()
    sign_ins = SignIns(people)

    def host(request: Request) -> Desk | None:
        person = sign_ins.person(request)
        return None if person is None else Desk(shop=shop, person=person)

    pages = Pages(shop, sign_ins, lambda: agents, templates())
    app = Starlette(
        routes=pages.routes(),
        middleware=[
            Middleware(SafeHeaders),
            Middleware(SessionMiddleware, secret_key=secrets.token_urlsafe(32), same_site="lax"),
        ],
    )
    gateway = Gateway(Authority.load(beside=__file__), procedures=backend, policies=[authenticated()], limits=limits)
    agents = attach(app, gateway, login=sign_ins.principal, host=host)
    return app, Handles(people=people, shop=shop, gateway=gateway, agents=agents)
