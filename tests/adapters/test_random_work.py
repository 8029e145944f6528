"""Two people, three agents, five open views at once, random work: no call reaches another person's view (SPEC 11.12).

Every agent is given whatever there is to know: view ids, registrations, evidence and invocation ids of everybody. What
ran is told by the views themselves, and a second time by their journals.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mcp_types as types
import pytest

from remit import AuditEntry, AuditType, Component, Context, Decider, Limits, Principal, action, observation
from remit._session.session import Session
from tests.adapters.page_client import PageClient, calling
from tests.adapters.site import Site, serving

ADA, BEN = Principal("ada"), Principal("ben")
STEPS, LONG_S = 50, 60
READ, WRITE, ASK = "view:more.desk.read", "view:more.desk.write", "view:more.desk.ask"
MADE_UP = ("vew_made-up", "reg_made-up", "cnf_made-up")


@dataclass(eq=False)
class Desk(Component, type="more.desk"):
    """A desk of one person."""

    owner: str
    came: list[tuple[str, str]] = field(default_factory=list)
    """For whom each call ran, and of which agent it was."""

    @observation(audit="metadata")
    def read(self, call: Context) -> str:
        """Whose desk it is."""
        self.came.append((call.principal.id, call.consumer.id))
        return self.owner

    @action
    async def write(self, line: int, call: Context) -> str:
        """Write a line."""
        await asyncio.sleep(0)
        self.came.append((call.principal.id, call.consumer.id))
        return self.owner

    @action(confirmation="required")
    def ask(self, call: Context) -> str:
        """Ask the person first."""
        self.came.append((call.principal.id, call.consumer.id))
        return self.owner


@dataclass(eq=False)
class Opened:
    """A view, open or not any more, with its desk and all that its journal said."""

    session: Session
    desk: Desk
    journal: list[AuditEntry] = field(default_factory=list)

    def write(self, entry: AuditEntry) -> None:
        """Take an entry of the journal."""
        self.journal.append(entry)


class Office:
    """The site, its people's views, and everything that anybody was ever told."""

    def __init__(self, site: Site, rng: random.Random) -> None:
        self.site = site
        self.rng = rng
        self.all: list[Opened] = []
        self.open: list[Opened] = []
        self.views, self.registrations, self.evidence = ([each] for each in MADE_UP)
        self.gave: dict[str, list[tuple[str, str]]] = {}
        """For each agent, the invocations that were answered and whose desk answered."""

    def add(self, person: Principal, title: str) -> None:
        """A person opens a view."""
        session = self.site.open(person, title=title)
        opened = Opened(session, Desk(person.id))
        session.surface.audit_to(opened)
        session.surface.mount(opened.desk)
        self.all.append(opened)
        self.open.append(opened)
        self.views.append(session.id)

    async def live(self) -> None:
        """A person decides about what waits, or leaves a view and opens another one."""
        one = self.rng.choice(self.open)
        confirmations, owner = one.session.surface.confirmations, one.desk.owner
        for waiting in confirmations.pending():
            await confirmations.approve(waiting.id, Decider(owner), digest=waiting.digest)
        if self.rng.random() < 0.2:
            self.open.remove(one)
            self.site.gateway.close_view(one.session.id)
            self.add(ADA if owner == "ada" else BEN, one.session.title)


def known(value: Any, office: Office) -> None:
    """Everybody hears of every id in an answer."""
    if isinstance(value, dict):
        for key, each in value.items():
            place = {"view": office.views, "registration": office.registrations, "confirmation_id": office.evidence}
            if key in place and isinstance(each, str):
                place[key].append(each)
            known(each, office)
    elif isinstance(value, list):
        for each in value:
            known(each, office)


async def over_the_page(client: PageClient, name: str, office: Office, rng: random.Random) -> None:
    """One step of an agent at the page protocol: with ids of its own, of anybody, or with none."""
    recent = {key: rng.choice(getattr(office, key)[-40:]) for key in ("views", "registrations", "evidence")}
    call: dict[str, Any] = {"capability": rng.choice((READ, WRITE, ASK, f"{WRITE}#default", "view:more.made.up"))}
    if call["capability"].startswith(WRITE):
        call["input"] = {"line": rng.randrange(10)}
    if rng.random() < 0.7:
        call["registration"] = recent["registrations"]
    if call["capability"] == ASK and rng.random() < 0.7:
        call["confirmation"] = recent["evidence"]
    what = rng.randrange(6)
    if what == 0:
        answer = await client.describe(view=recent["views"])
    elif what == 1:
        answer = await client.describe()
    elif what == 2 and (own := (await client.describe()).get("capabilities")):
        registration = rng.choice(own)["registration"]
        answer = await client.invoke(WRITE, {"line": 1}, registration=registration)
    else:
        answer = await client.ask("invoke", call)
    known(answer, office)
    if "output" in answer:
        office.gave[name].append((answer["invocation"], answer["output"]))


async def over_mcp(client: Any, name: str, office: Office, rng: random.Random) -> None:
    """One step of an agent behind MCP."""
    names = {tool.name for tool in (await client.list_tools()).tools}
    tool, given = rng.choice(
        (
            ("view_more__desk__read", {}),
            ("view_more__desk__write", {"line": 1}),
            ("view_more__desk__write", {"line": 2}),
            ("surface_use", {"view": rng.choice(office.views[-40:])}),
            ("surface_views", {}),
        )
    )
    if tool not in names:
        return
    answer = await client.call_tool(tool, given)
    assert isinstance(answer, types.CallToolResult)
    (content,) = answer.content
    assert isinstance(content, types.TextContent)
    said = json.loads(content.text)
    known(said, office)
    if not answer.is_error and tool.startswith("view_more"):
        office.gave[name].append(((answer.meta or {})["remit/invocation"], said["data"]))


@asynccontextmanager
async def agents(office: Office) -> AsyncIterator[dict[str, Callable[[random.Random], Any]]]:
    """Three agents, each with what makes one step of it: two of ada's, one of ben's."""
    site, gateway = office.site, office.site.gateway
    scope = ["view:more.**"]
    async with AsyncExitStack() as stack:
        steps: dict[str, Callable[[random.Random], Any]] = {}
        for name, person in (("first", ADA), ("third", BEN)):
            token = gateway.delegate(person, actor=name, scope=scope, kind="page")
            client = await stack.enter_async_context(calling(site, token))
            steps[name] = partial(over_the_page, client, name, office)
        mcp = await stack.enter_async_context(
            site.client("auto", token=gateway.delegate(ADA, actor="second", scope=scope))
        )
        steps["second"] = partial(over_mcp, mcp, "second", office)
        yield steps


def check(office: Office) -> None:
    """What the views saw, what their journals say, and what the agents were told: nobody came to another's view."""
    of = {"first": "ada", "second": "ada", "third": "ben"}
    ran: dict[str, str] = {}
    for opened in office.all:
        owner = opened.desk.owner
        for person, agent in opened.desk.came:
            assert (person, of[agent]) == (owner, owner)
        for entry in opened.journal:
            if entry.consumer is not None:
                _, _, actors, _ = entry.consumer
                assert isinstance(actors, tuple) and of[actors[-1]] == owner, entry
                assert entry.principal in {None, owner}, entry
            if entry.type is AuditType.INVOCATION and entry.code is None and entry.invocation is not None:
                ran[entry.invocation] = owner
    for name, person in of.items():
        assert office.gave[name], f"{name} was never answered, so nothing is shown"
        for invocation, owner in office.gave[name]:
            assert (owner, ran[invocation]) == (person, person)


async def work(office: Office, seed: int, until: Callable[[int], bool]) -> None:
    """All agents at once, each by a seed of its own; the people act now and then between two of their steps."""

    async def one(name: str, step: Callable[[random.Random], Any]) -> None:
        rng, done = random.Random(f"{seed} {name}"), 0
        while not until(done):
            await step(rng)
            done += 1
            if office.rng.random() < 0.3:
                await office.live()

    async with agents(office) as steps, asyncio.TaskGroup() as tasks:
        office.gave = {name: [] for name in steps}
        for name, step in steps.items():
            tasks.create_task(one(name, step))


@asynccontextmanager
async def office_of(seed: int) -> AsyncIterator[Office]:
    """Five open views: three of ada's, two of ben's."""
    async with serving(Limits(network_calls=0, network_writes=0), more=(Desk,)) as site:
        office = Office(site, random.Random(seed))
        for person, title in ((ADA, "One"), (ADA, "Two"), (ADA, "Three"), (BEN, "One"), (BEN, "Two")):
            office.add(person, title)
        yield office


@pytest.mark.requirement("11.12-nobody-reaches-another-persons-view")
async def test_random_work_of_three_agents_never_reaches_another_persons_view(pytestconfig: pytest.Config) -> None:
    seed = pytestconfig.getoption("--seed") or 1
    async with office_of(seed) as office:
        await work(office, seed, lambda done: done >= STEPS)
        check(office)


@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.requirement("11.12-nobody-reaches-another-persons-view")
async def test_a_minute_of_random_work_never_reaches_another_persons_view(pytestconfig: pytest.Config) -> None:
    seed = pytestconfig.getoption("--seed") or 1
    async with office_of(seed) as office:
        end = time.monotonic() + LONG_S
        await work(office, seed, lambda done: time.monotonic() > end)
        check(office)
