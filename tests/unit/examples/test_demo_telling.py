"""How the demonstration tells its steps: a line comes after the look elsewhere, and the first red one is the last."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from demo import state_file
from demo.console_process import Console
from demo.stage import Answer, expect
from demo.telling import CannotRun, Seen, Step, tell, up_to


@dataclass
class Table:
    """What a step acts on here: something said, something stored, and the order of events."""

    said: int = 0
    stored: int = 0
    events: list[str] = field(default_factory=list)


def step(name: str, *, stores: bool = True) -> Step[Table, int]:
    async def do(table: Table) -> int:
        table.events.append(f"{name} done")
        table.said += 1
        table.stored += stores
        return table.said

    async def verify(table: Table, said: int) -> Seen:
        table.events.append(f"{name} looked up")
        expect("stored:", said, table.stored)
        return Seen(what=f"{said} said", where=f"stored: {table.stored}")

    return Step(name=name, do=do, verify=verify)


async def test_every_step_is_done_then_looked_up_then_told(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    assert await tell([step("one"), step("two")], table)
    assert table.events == ["one done", "one looked up", "two done", "two looked up"]
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["ok", "one", "1", "said", "(stored:", "1)"]
    assert second.startswith("ok  two ")


async def test_what_was_said_and_not_stored_is_red_and_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    assert not await tell([step("one"), step("two", stores=False), step("three")], table)
    assert capsys.readouterr().out.splitlines()[1:] == ["RED two  expected stored: 2 … found 1"]
    assert "three done" not in table.events


async def test_a_step_that_raises_is_red(capsys: pytest.CaptureFixture[str]) -> None:
    async def do(table: Table) -> int:
        raise LookupError("no such table")

    assert not await tell([Step(name="one", do=do, verify=step("one").verify)], Table())
    assert capsys.readouterr().out == "RED one  expected no exception … found LookupError: no such table\n"


async def test_a_step_that_hangs_is_red(capsys: pytest.CaptureFixture[str]) -> None:
    async def do(table: Table) -> int:
        await asyncio.Event().wait()
        return 0

    hanging = Step(name="one", do=do, verify=step("one").verify, seconds=0.01)
    assert not await tell([hanging], Table())
    assert capsys.readouterr().out == "RED one  expected an end within 0.01 s … found none\n"


async def test_what_only_a_person_can_see_is_not_called_ok(capsys: pytest.CaptureFixture[str]) -> None:
    async def verify(table: Table, said: int) -> Seen:
        return Seen(what="1 said", where="your page", checked=False)

    assert await tell([Step(name="one", do=step("one").do, verify=verify)], Table())
    assert capsys.readouterr().out.startswith("see one ")


def test_until_names_the_last_step_that_runs() -> None:
    steps = [step("one"), step("two"), step("three")]
    assert [each.name for each in up_to(steps, "two")] == ["one", "two"]
    assert up_to(steps, None) == steps
    with pytest.raises(CannotRun, match="there is no step 'four'; the steps are one, two, three"):
        up_to(steps, "four")


@pytest.mark.parametrize(
    ("code", "details", "verdict"),
    [
        (None, {}, "ok"),
        ("CAPABILITY_NOT_FOUND", {}, "CAPABILITY_NOT_FOUND"),
        ("CONFIRMATION_INVALID", {"reason": "spent", "outcome": "done"}, "CONFIRMATION_INVALID{spent}"),
        ("COMPONENT_UNMOUNTED", {"phase": "resolve"}, "COMPONENT_UNMOUNTED{resolve}"),
        ("INVALID_INPUT", {"issues": [], "locked_fields": ["a", "b"]}, "INVALID_INPUT{a, b}"),
    ],
)
def test_an_answer_tells_its_code_and_why(code: str | None, details: dict[str, object], verdict: str) -> None:
    assert Answer(code=code, data=None, details=details, raw="").verdict == verdict


def test_a_state_file_is_its_owners_alone_and_goes_with_its_console(tmp_path: Path) -> None:
    file = tmp_path / ".remit" / "demo.json"
    one, two = (
        Console(url=f"http://127.0.0.1:{port}", door="", database="", passwords={}, tokens={"operator": "secret"})
        for port in (1, 2)
    )
    assert state_file.announced(file) is None
    state_file.announce(one, file)
    assert file.stat().st_mode & 0o077 == 0
    assert state_file.announced(file) == one
    state_file.announce(two, file)
    state_file.withdraw(one, file)
    assert state_file.announced(file) == two
    state_file.withdraw(two, file)
    assert [*file.parent.iterdir()] == []


def test_a_state_file_that_is_no_longer_whole_is_no_console(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    for text in ("", "{}", "[1]", '{"url": "x"}'):
        file.write_text(text, encoding="utf-8")
        assert state_file.announced(file) is None
