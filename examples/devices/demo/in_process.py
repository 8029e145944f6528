"""The check without browser, NiceGUI and MCP: the same steps over a surface, the real backend and its database."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backend.accounts import credential_of, demo_accounts
from backend.client import FleetClient
from backend.server import running_backend
from backend.settings import BACKEND_URL, BackendSettings
from backend.store import prepare_database
from catalogue import backend as operations
from console.components import OPERATOR
from host import AppHost

from demo.direct_agent import DirectAgent
from demo.pace import HURRIED
from demo.plain_page import PlainPage
from demo.records import Records
from demo.stage import Asked, Page, Stage
from demo.story import STEPS
from demo.telling import tell, up_to
from remit import Authority, Consumer, Decider, Principal, Surface
from remit.policies import authenticated

_SCOPE: Final = ("view:**", "domain:**")
_PEOPLE: Final = (Principal("operator", grants=[OPERATOR]), Principal("auditor"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """The person, who decides by the host's own verbs."""

    surface: Surface
    decider: Decider

    async def deny(self, asked: Asked) -> Sequence[str]:
        """Read the request, then deny it."""
        shown, _ = self._read(asked)
        await self.surface.confirmations.deny(asked.confirmation, self.decider)
        return shown

    async def approve(self, asked: Asked) -> Sequence[str]:
        """Read the request, then approve exactly what was read."""
        shown, digest = self._read(asked)
        await self.surface.confirmations.approve(asked.confirmation, self.decider, digest=digest)
        return shown

    def _read(self, asked: Asked) -> tuple[list[str], str]:
        request = self.surface.confirmations.get(asked.confirmation, self.decider)
        if request is None:
            raise LookupError("the person may not decide this request")
        ids = request.input["device_ids"]
        assert isinstance(ids, list)
        return [str(each) for each in ids], request.digest


async def run(options: argparse.Namespace) -> bool:
    """Run the steps up to `options.until`; return whether all were ok."""
    steps = up_to(STEPS, options.until)
    accounts = demo_accounts()
    with tempfile.TemporaryDirectory() as folder:
        database = prepare_database(Path(folder))
        settings = BackendSettings(database=database, accounts=accounts)
        async with running_backend(settings) as running, FleetClient(running.base_url) as fleet, operations:
            os.environ[BACKEND_URL] = running.base_url
            hosts = [
                AppHost(fleet=fleet, account=person.id, credential=credential_of(accounts, person.id))
                for person in _PEOPLE
            ]
            stage = await _stage(hosts, Records(database))
            all_ok = await tell(steps, stage)
    if all_ok:
        print(f"demo: {len(steps)}/{len(STEPS)} steps ok, in process")
    return all_ok


async def _stage(hosts: Sequence[AppHost], records: Records) -> Stage:
    operator, auditor = (_surface(person, host) for person, host in zip(_PEOPLE, hosts, strict=True))
    page = PlainPage(operator, hosts[0])
    await page.open("devices")

    async def open_as_auditor() -> Page:
        own = PlainPage(auditor, hosts[1])
        await own.open("devices")
        return own

    return Stage(
        agent=_agent(operator),
        stranger=_agent(auditor),
        person=Answerer(surface=operator, decider=Decider("operator", grants=[OPERATOR])),
        page=page,
        records=records,
        no_view="CAPABILITY_NOT_FOUND",  # no door stands before the surface that could say more
        open_as_auditor=open_as_auditor,
    )


def _surface(principal: Principal, host: AppHost) -> Surface:
    surface = Surface(
        Authority.load(beside=__file__),
        principal=principal,
        host=host,
        policies=[authenticated()],
        procedures=operations,
        limits=HURRIED,
    )
    surface.confirmations.attach_page()
    return surface


def _agent(surface: Surface) -> DirectAgent:
    return DirectAgent(surface.connect(Consumer("scripted-agent", kind="mcp", scope=_SCOPE)))
