"""The device console: one process that serves its page and its door for agents, and starts the backend beside it."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from backend.accounts import demo_accounts
from backend.client import FleetClient
from backend.server import running_backend
from backend.settings import BACKEND_URL, BackendSettings
from backend.store import prepare_database
from catalogue import backend
from console.frame import Console, add_console
from console.people import Person, SignIns, demo_people
from console.signing_in import add_sign_in
from fastapi import FastAPI
from host import AppHost
from nicegui import ui

from remit import Authority, Limits
from remit.gateway import Gateway
from remit.integrations.nicegui import Agents, attach
from remit.policies import authenticated


@dataclass(slots=True, kw_only=True)
class Handles:
    """What a script or a test needs of a console that was made: who may sign in, where its data is, its gateway.

    `backend_url` is known while the application is served.
    """

    people: tuple[Person, ...]
    sign_ins: SignIns
    database: Path
    gateway: Gateway
    agents: Agents
    backend_url: str = ""
    fleet: FleetClient | None = None

    def person(self, name: str) -> Person:
        """The person with this name; `KeyError` when there is none."""
        for person in self.people:
            if person.name == name:
                return person
        raise KeyError(name)


def create(folder: Path, *, limits: Limits | None = None) -> tuple[FastAPI, Handles]:
    """Make the console with its data in `folder`; call it once a process and serve the application with uvicorn.

    Backend, page and door start and stop with the application. `folder` must exist; the database in it is made anew.
    `limits` are the usual ones unless given.
    """
    accounts = demo_accounts()
    people = demo_people(accounts)
    sign_ins = SignIns(people)
    database = prepare_database(folder)
    settings = BackendSettings(database=database, accounts=accounts)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with running_backend(settings) as running, FleetClient(running.base_url) as fleet:
            handles.backend_url, handles.fleet = running.base_url, fleet
            os.environ[BACKEND_URL] = running.base_url
            async with backend:
                yield
            handles.fleet = None

    def host() -> AppHost | None:
        person = sign_ins.current()
        if person is None or handles.fleet is None:
            return None
        return AppHost(fleet=handles.fleet, account=person.name, credential=person.credential)

    outer = FastAPI(title="Fleet console", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    gateway = Gateway(Authority.load(beside=__file__), procedures=backend, policies=[authenticated()], limits=limits)
    agents = attach(gateway, login=sign_ins.principal, host=host, outer=outer)
    handles = Handles(people=people, sign_ins=sign_ins, database=database, gateway=gateway, agents=agents)
    add_sign_in(sign_ins)
    add_console(Console(agents=agents, sign_ins=sign_ins, fleet=lambda: handles.fleet))
    ui.run_with(
        outer,
        title="Fleet console",
        storage_secret=secrets.token_urlsafe(32),
        # Long enough for the browser's own attempts to come back: the page, and what waits in it, stays.
        reconnect_timeout=10,
        session_middleware_kwargs={"same_site": "lax"},
        show_welcome_message=False,
        tailwind=False,
    )
    return outer, handles
