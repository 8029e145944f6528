"""One life of a program that is ended by SIGKILL: `python -m tests.faults.killed FOLDER SEED POINT KIND`.

It works a surface over the store in FOLDER and comes back to everything that earlier lives asked for. A tiny backend
writes each effect into a log of its own, and what a person or an agent was told is written after it was told. At the
POINT-th point where something becomes durable, or is about to (KIND `any`), or just before or after an effect (KIND
`effect`), it sends SIGKILL to itself; with 0 it comes to its end.
"""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remit import (
    Component,
    ConfirmationKeys,
    Consumer,
    Context,
    Decider,
    Failed,
    Handoff,
    Ok,
    Principal,
    Surface,
    action,
)
from remit.store.database import Answer, Value
from remit.store.postgres import PostgresStore
from remit.store.protocol import RevocationRow
from remit.store.sql_store import SqlStore
from remit.store.sqlite import SQLiteStore
from tests.behaviour.conftest import authority_of

STORE, DATABASE, EFFECTS, SAID = "state.db", "conninfo", "effects", "said"
"""What lies in the folder; with a file DATABASE the store is in the PostgreSQL that it names."""

ROUNDS = 6
AGENT = Consumer("agent", kind="test")
ADA = Decider("ada")
DURABLE = ("COMMIT", "UPDATE", "INSERT")


class Points:
    """Counts what could be lost, and ends the process at one of them."""

    def __init__(self, at: int, kind: str) -> None:
        self._left = at
        self._kind = kind

    def reached(self) -> None:
        """One more point."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, sql: str) -> None:
        """One statement is about to run."""
        if self._kind == "any" and sql.startswith(DURABLE):
            self.reached()


class Log:
    """Lines of JSON, each of one `write`: what was written is there after SIGKILL."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, **line: object) -> None:
        """Write one line."""
        os.write(self._file, json.dumps(line).encode() + b"\n")


def lines(file: Path) -> list[dict[str, Any]]:
    """What a log says so far."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class Backend:
    """What has effects; it knows nothing of remit but what the call says of itself."""

    def __init__(self, log: Log, points: Points) -> None:
        self._log = log
        self._points = points

    def act(self, **what: object) -> None:
        """Have one effect."""
        self._points.reached()
        self._log.add(**what)
        self._points.reached()


class Till(Component, type="shop.till"):
    """A till."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @action(reversible=False, confirmation="required")
    async def refund(self, amount: int, ctx: Context) -> int:
        """Pay money back."""
        self.backend.act(evidence=ctx.evidence)
        return amount

    @action(reversible=False)
    def sell(self, amount: int, ctx: Context) -> int:
        """Sell."""
        self.backend.act(call=ctx.invocation)
        return amount

    @action(handoff=Handoff("Only you may count it", to="/till/count"))
    def count(self) -> int:
        """Count the till."""
        return 0


class Life:
    """What one process does before it ends."""

    def __init__(self, folder: Path, store: SqlStore, points: Points, chance: random.Random) -> None:
        self._store = store
        self._chance = chance
        self._before = lines(folder / SAID)
        self._said = Log(folder / SAID)
        keys = ConfirmationKeys("k1", {"k1": "s" * 32})
        self._surface = Surface(authority_of(Till), principal=Principal("ada"), store=store, keys=keys)
        self._surface.confirmations.attach_page()
        self._surface.mount(Till(Backend(Log(folder / EFFECTS), points)))
        self._agent = self._surface.connect(AGENT)

    async def run(self) -> None:
        """Come back to what was left, then do a few new things, some side by side."""
        for line in self._before:
            if "asked" in line:
                await self._retry(line["asked"], line["amount"], "again")
            elif "selling" in line:
                await self._sell(line["selling"], line["amount"])
        for view in self._surface.handoffs.pending():
            await self._done(view.id)
        for _ in range(ROUNDS):
            await asyncio.gather(self._refund(), self._new_sale(), self._revoke(), self._count())

    async def _refund(self) -> None:
        amount = self._chance.randrange(1_000_000_000)
        outcome = await self._agent.call(Till.refund, {"amount": amount})
        assert isinstance(outcome, Failed) and outcome.error.code == "CONFIRMATION_REQUIRED", outcome
        id = str(outcome.error.details["confirmation_id"])
        self._said.add(asked=id, amount=amount)
        if self._chance.random() < 0.2:
            return
        await self._surface.confirmations.approve(id, ADA)
        self._said.add(decided=id)
        await self._retry(id, amount, "answered")

    async def _retry(self, id: str, amount: int, word: str) -> None:
        calls = (self._agent.call(Till.refund, {"amount": amount}, confirmation=id) for _ in range(2))
        for outcome in await asyncio.gather(*calls):
            error = outcome.error if isinstance(outcome, Failed) else None
            told = {} if error is None else {"code": error.code.value, **error.details}
            self._said.add(**{word: id, "ok": error is None, **told})

    async def _new_sale(self) -> None:
        amount, id = self._chance.randrange(1_000), f"sale-{self._chance.getrandbits(60)}"
        self._said.add(selling=id, amount=amount)
        await self._sell(id, amount)

    async def _sell(self, id: str, amount: int) -> None:
        outcome = await self._agent.call(Till.sell, {"amount": amount}, id=id)
        assert isinstance(outcome, Ok) or outcome.error.details == {"outcome": "unknown"}, outcome
        self._said.add(sold=id, ok=isinstance(outcome, Ok), output=outcome.output if isinstance(outcome, Ok) else None)

    async def _revoke(self) -> None:
        id = f"dlg_{self._chance.getrandbits(60)}"
        self._store.revocations.add(RevocationRow(id=id, at="2026-01-01T12:00:00+00:00", by="admin", why="over"))
        await self._store.flush()
        self._said.add(revoked=id)

    async def _count(self) -> None:
        outcome = await self._agent.call(Till.count)
        assert isinstance(outcome, Failed) and outcome.error.code == "HANDOFF_REQUIRED", outcome
        if self._chance.random() < 0.5:
            await self._done(str(outcome.error.details["handoff_id"]))

    async def _done(self, id: str) -> None:
        await self._surface.handoffs.complete(id, ADA, 7)
        self._said.add(counted=id)


def opened(folder: Path, points: Points) -> SqlStore:
    """The store of the folder, which says each statement to the points first."""
    database = folder / DATABASE
    if not database.exists():
        file = SQLiteStore(folder / STORE)
        file._sqlite.connection.set_trace_callback(points.statement)
        return file
    store = PostgresStore(database.read_text(), grace_s=0.0)
    execute = store._server.execute

    def saying(statement: str, values: Sequence[Value] = (), /) -> Answer:
        points.statement(statement)
        return execute(statement, values)

    store._server.execute = saying  # type: ignore[method-assign]
    return store


async def main(folder: Path, seed: int, at: int, kind: str) -> None:
    """Live."""
    points = Points(at, kind)
    store = opened(folder, points)
    await Life(folder, store, points, random.Random(seed)).run()
    await store.flush()
    store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
