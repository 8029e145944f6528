"""SIGKILL at any durable step: nothing runs twice, no decision is lost, nobody claims what nobody knows (SPEC 7.6).

The program under test is another process (`killed.py`). The judge reads the store's file and the backend's own log of
effects, and what people and agents had been told; never remit's journal.
"""

import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.killed import DATABASE, EFFECTS, SAID, STORE, Points, lines, opened

ROOT = Path(__file__).parents[2]
SEED = 20_261_201
MOST = {"any": 100, "effect": 20}
"""Later points are hardly reached by the rounds of one life."""


def live(folder: Path, seed: int, at: int, kind: str = "any") -> int:
    """One life; how the process ended."""
    command = [sys.executable, "-m", "tests.faults.killed", str(folder), str(seed), str(at), kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode


def rows(folder: Path, question: str) -> list[Any]:
    if (folder / DATABASE).exists():
        with psycopg.connect((folder / DATABASE).read_text(), options="-c search_path=remit") as database:
            return database.execute(question.encode()).fetchall()
    with closing(sqlite3.connect(folder / STORE)) as connection:
        return connection.execute(question).fetchall()


def judge(folder: Path) -> None:
    """Hold the file against the effects, and against what was said."""
    effects, said = lines(folder / EFFECTS), lines(folder / SAID)
    acted = Counter(line["evidence"] for line in effects if "evidence" in line)
    sold = Counter(line["call"] for line in effects if "call" in line)
    assert [id for id, times in (acted + sold).items() if times > 1] == [], "something ran twice"
    question = 'SELECT "id", "status", "decided_by", "outcome" FROM "confirmations"'
    requests = {id: (status, by, outcome) for id, status, by, outcome in rows(folder, question)}
    for id in acted:
        assert requests[id][:2] == ("spent", "ada"), f"{id} acted and is {requests[id]}"
    for id, (status, _, outcome) in requests.items():
        assert (outcome is None) is (status != "spent")
        assert outcome != "done" or id in acted, f"{id} claims an effect that there is not"
        assert outcome != "none" or id not in acted, f"{id} denies an effect that there is"
    calls = dict(rows(folder, 'SELECT "id", "outcome" FROM "calls"'))
    for id, outcome in calls.items():
        assert outcome is None or '"output"' not in outcome or id in sold, f"{id} claims an effect that there is not"
    assert sold.keys() <= calls.keys(), "a call ran that the store does not know"
    told(requests, acted, sold, said)
    revoked = {id for (id,) in rows(folder, 'SELECT "id" FROM "revocations"')}
    assert {line["revoked"] for line in said if "revoked" in line} <= revoked, "a revocation is lost"
    counted = dict(rows(folder, 'SELECT "id", "status" FROM "handoffs"'))
    lost = [line["counted"] for line in said if "counted" in line and counted[line["counted"]] != "completed"]
    assert lost == [], "what a person did is lost"


def told(
    requests: dict[str, tuple[Any, ...]], acted: Counter[str], sold: Counter[str], said: list[dict[str, Any]]
) -> None:
    """What a person or an agent has been told stays true."""
    for line in said:
        if "asked" in line:
            assert line["asked"] in requests, "a request is lost"
        if "decided" in line:
            assert requests[line["decided"]][1] == "ada", "a decision is lost"
        if "answered" in line and line["ok"]:
            assert acted[line["answered"]] == 1
        if "sold" in line and line["ok"]:
            assert sold[line["sold"]] == 1
        if "again" in line:
            assert not line["ok"] and line["code"] == "CONFIRMATION_INVALID"
            assert line["reason"] in {"cancelled", "spent"}, line
            assert line["reason"] != "cancelled" or acted[line["again"]] == 0, "what acted is told as cancelled"
            assert line["reason"] != "spent" or line["outcome"] != "done" or acted[line["again"]] == 1


def swept(folder: Path) -> None:
    """Wait until the database has noticed that the process has gone, as it does by itself a little later."""
    if (folder / DATABASE).exists():
        rows(
            folder,
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )


def kill(begin: Callable[[], Path], times: int, seed: int) -> None:
    """So many lives that are ended on the way; after each the judge, and at the end one that nothing ends."""
    folder, chance, ended = begin(), random.Random(seed), 0
    for turn in range(times):
        kind = "effect" if turn % 2 else "any"
        ended += live(folder, chance.getrandbits(32), chance.randrange(1, MOST[kind]), kind) == -signal.SIGKILL
        swept(folder)
        judge(folder)
        if len(lines(folder / SAID)) > 400:  # each life comes back to all of it
            folder = begin()
    assert live(folder, chance.getrandbits(32), 0) == 0
    opened(folder, Points(0, "any")).close()  # whoever opens it next finds nothing open
    judge(folder)
    assert rows(folder, "SELECT count(*) FROM confirmations WHERE status IN ('pending', 'approved')") == [(0,)]
    assert ended * 2 > times, "most lives came to their end, so little was tried"


@pytest.fixture(params=["sqlite", "postgres"])
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Path]:
    """A new folder with nothing in it but, for PostgreSQL, how a new database is reached."""
    begun: list[Path] = []

    def new() -> Path:
        folder = tmp_path / f"lives{len(begun)}"
        begun.append(folder)
        folder.mkdir()
        if request.param == "postgres":
            (folder / DATABASE).write_text(request.getfixturevalue("postgres").fresh())
        return folder

    return new


@pytest.mark.timeout(600)
@pytest.mark.requirement("7.6-killed-at-any-step", "15.1-no-call-runs-twice-over-a-restart")
def test_nothing_runs_twice_and_nothing_is_lost_when_the_process_is_killed(begin: Callable[[], Path]) -> None:
    kill(begin, 5, SEED)


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.requirement("7.6-killed-at-any-step")
def test_two_hundred_times(begin: Callable[[], Path]) -> None:
    kill(begin, 200, SEED + 1)


def test_the_judge_sees_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "lives"
    folder.mkdir()
    assert live(folder, SEED, 0) == 0
    judge(folder)
    effects = (folder / EFFECTS).read_text()
    (folder / EFFECTS).write_text(effects + effects.splitlines()[0] + "\n")
    with pytest.raises(AssertionError, match="something ran twice"):
        judge(folder)
    (folder / EFFECTS).write_text("")
    with pytest.raises(AssertionError, match="claims an effect"):
        judge(folder)
    (folder / EFFECTS).write_text(effects)
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        connection.execute("DELETE FROM revocations")
    with pytest.raises(AssertionError, match="a revocation is lost"):
        judge(folder)
