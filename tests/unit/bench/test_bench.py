"""The bench runs every case, counts only right answers, and writes the form that others read. Times are not judged."""

import json
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.backends import OPERATIONS, WITHIN_US, Beside
from bench.cases import CORE
from bench.harness import Case, Ready, measure
from bench.identity import HIDINGS, Comparison, Hiding, Pair, compare


async def _seven() -> object:
    return 7


def test_a_run_writes_machine_and_cases_and_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "core.json"
    assert main(["core", "--json", str(file), "--scale", "0.0001", "--rounds", "2"]) == 0
    form = json.loads(file.read_text(encoding="utf-8"))
    assert set(form) == {"machine", "cases"}
    assert {"python", "system", "cpus", "load", "loop_us", "gc"} == set(form["machine"])
    assert [case["name"] for case in form["cases"]] == [
        "no-op action",
        "two policies",
        "observation",
        "1,000 mounted",
        "mount and unmount 100",
        "snapshot 100",
        "definitions 300",
        "digest 32 kB",
        "35 kB input",
    ]
    for case in form["cases"]:
        assert set(case) == {"name", "unit", "median", "p99", "n"}
        assert case["unit"] == "us" and case["n"] >= 2
        assert 0 < case["median"] <= case["p99"]
    printed = capsys.readouterr().out
    assert all(case.name in printed for case in CORE)


async def test_a_wrong_answer_is_never_timed() -> None:
    case = Case(name="odd", n=10, prepare=lambda: Ready(run=_seven, holds=lambda answer: answer == 8))
    with pytest.raises(RuntimeError, match="odd: the answer is wrong: 7"):
        await measure([case])


async def test_every_case_runs_as_often_as_it_says() -> None:
    (figure,) = await measure([Case(name="seven", n=30, prepare=lambda: Ready(run=_seven, holds=lambda a: a == 7))])
    assert figure.n == 30


@pytest.mark.requirement("4.7-time-is-compared")
def test_hidden_and_invented_ids_are_timed_in_pairs_for_every_way_of_hiding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "identity.json"
    assert main(["identity", "--json", str(file), "--scale", "0.002"]) == 0
    form = json.loads(file.read_text(encoding="utf-8"))
    assert [each["name"] for each in form["comparisons"]] == [hiding.name for hiding in HIDINGS]
    for each in form["comparisons"]:
        assert each["pairs"] == 10
        assert all(median > 0 for median in (*each["hidden"], *each["invented"]))
        assert each["bound"] >= 5 and isinstance(each["same"], bool)
    printed = capsys.readouterr().out
    assert all(hiding.name in printed for hiding in HIDINGS)


@pytest.mark.parametrize(
    ("hidden", "noise", "same"), [(104.0, 101.0, True), (106.0, 101.0, False), (94.0, 101.0, False), (108, 109, True)]
)
def test_a_difference_counts_above_five_per_cent_or_what_invented_ids_differ_by(
    hidden: float, noise: float, same: bool
) -> None:
    pair, invented = Pair(first=hidden, second=100.0), Pair(first=noise, second=100.0)
    assert Comparison(name="odd", pairs=1, hidden=pair, invented=invented).same is same


async def test_what_is_not_hidden_is_never_compared() -> None:
    with pytest.raises(AssertionError):
        await compare([Hiding(name="not at all")], scale=0.001)


@pytest.mark.requirement("10.4-calls-beside-a-bare-client")
def test_calls_of_a_backend_are_measured_in_turn_with_a_bare_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "backends.json"
    assert main(["backends", "--json", str(file), "--scale", "0.004"]) == 0
    form = json.loads(file.read_text(encoding="utf-8"))
    assert set(form) == {"machine", "listing", "beside"}
    assert (form["listing"]["operations"], form["listing"]["unit"], form["listing"]["n"]) == (OPERATIONS, "ms", 1)
    assert [each["name"] for each in form["beside"]] == ["GET, read", "POST, change"]
    for each in form["beside"]:
        assert set(each) == {"name", "unit", "bare", "remit", "bare_busy", "remit_busy", "more", "held", "n"}
        assert each["n"] == 20 and each["bare"] > 0 and each["remit"] > 0
    printed = capsys.readouterr().out
    assert "catalogue of 400 operations" in printed and "POST, change" in printed


def test_a_call_may_take_a_share_or_some_microseconds_more_than_the_bare_one() -> None:
    def beside(bare: float, remit: float) -> Beside:
        return Beside(name="x", bare=bare, remit=remit, bare_busy=1.0, remit_busy=2.0, n=1)

    assert beside(300.0, 300.0 + WITHIN_US).held and not beside(300.0, 301.0 + WITHIN_US).held
    assert beside(10_000.0, 11_500.0).held and not beside(10_000.0, 11_501.0).held
