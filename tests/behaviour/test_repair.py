"""Argument repair: what an agent wrote as text although no text was meant (SPEC 6.12)."""

from typing import Any, cast

import pytest
from pydantic import BaseModel

from remit import AgentError, Component, Limits, ManualClock, Ok, Surface, action, observation
from remit.policies import Policy, ReviewContext, require_confirmation
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, journal, output


class Filter(BaseModel):
    """What to look for."""

    city: str
    floor: int = 0


class Search(Component, type="search"):
    """A search."""

    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []

    @action
    def find(self, filter: Filter, ids: list[int], all: bool = False, share: float = 0.5) -> int:
        """Find."""
        self.given.append({"filter": filter, "ids": ids, "all": all, "share": share})
        return len(ids)

    @action
    def say(self, body: str, either: str | int | None = None) -> str:
        """Say."""
        self.given.append({"body": body, "either": either})
        return body

    @action
    def count(self, number: int) -> int:
        """Count."""
        self.given.append({"number": number})
        return number

    @action
    def remove(self, all: bool) -> bool:
        """Remove."""
        self.given.append({"all": all})
        return all

    @observation
    def look(self, depth: int) -> int:
        """Look."""
        return depth


def opened(*policies: Policy, limits: Limits | None = None) -> tuple[Surface, Search]:
    surface = Surface(authority_of(Search), principal="operator", policies=policies, limits=limits, clock=ManualClock())
    search = Search()
    surface.mount(search)
    return surface, search


def wrong_paths(error: AgentError) -> list[str]:
    """Which fields the refusal names."""
    issues = cast("list[dict[str, str]]", error.details["issues"])
    return [issue["path"] for issue in issues]


@pytest.mark.requirement("6.12-the-table", "6.12-journalled")
async def test_text_is_read_where_no_text_is_meant_and_the_journal_says_where() -> None:
    surface, search = opened()
    sent = {"filter": '{"city": "Graz", "floor": "2"}', "ids": "[1, 2]", "all": "false", "share": "0.25"}
    assert output(await surface.connect(AGENT).call(Search.find, sent)) == 2
    assert search.given == [{"filter": Filter(city="Graz", floor=2), "ids": [1, 2], "all": False, "share": 0.25}]
    (entry,) = journal(surface)
    assert set(entry.repairs) == {
        ("filter", "json-text"),
        ("filter.floor", "decimal-text"),
        ("ids", "json-text"),
        ("all", "boolean-text"),
        ("share", "decimal-text"),
    }


@pytest.mark.requirement("6.12-journalled")
async def test_a_repaired_observation_leaves_an_entry_although_others_leave_none() -> None:
    surface, _ = opened()
    agent = surface.connect(AGENT)
    assert output(await agent.call(Search.look, {"depth": 3})) == 3
    assert journal(surface) == ()
    assert output(await agent.call(Search.look, {"depth": "3"})) == 3
    assert [entry.repairs for entry in journal(surface)] == [(("depth", "decimal-text"),)]


@pytest.mark.requirement("6.12-never-where-text-may-stand")
@pytest.mark.parametrize("text", ['{"a":1}', "123", "true", "null", "[1]"])
async def test_a_field_that_may_be_text_gets_the_identical_text(text: str) -> None:
    surface, search = opened()
    assert output(await surface.connect(AGENT).call(Search.say, {"body": text, "either": text})) == text
    assert search.given == [{"body": text, "either": text}] and journal(surface)[0].repairs == ()


@pytest.mark.requirement("6.12-lossless")
@pytest.mark.parametrize("text", [" 12", "1e3", "0x10", "1,000", "12.0", "", "12345678901234567890", "007", "-0"])
async def test_what_is_no_plain_lossless_number_is_refused_by_its_field(text: str) -> None:
    surface, search = opened()
    error = failed(await surface.connect(AGENT).call(Search.count, {"number": text}), "INVALID_INPUT")
    assert wrong_paths(error) == ["number"] and search.given == []
    assert output(await surface.connect(AGENT).call(Search.count, {"number": "12"})) == 12


@pytest.mark.requirement("6.12-lossless")
@pytest.mark.parametrize("wrong", ["0", "no", "False", "TRUE", 0, 1, None, "[]"])
async def test_only_true_and_false_select_and_nothing_else(wrong: object) -> None:
    surface, search = opened()
    agent = surface.connect(AGENT)
    error = failed(await agent.call(Search.remove, {"all": wrong}), "INVALID_INPUT")
    assert wrong_paths(error) == ["all"] and search.given == []
    assert output(await agent.call(Search.remove, {"all": "false"})) is False


@pytest.mark.requirement("6.12-all-or-nothing")
async def test_an_input_that_repair_does_not_make_valid_is_explained_as_it_was_sent() -> None:
    surface, search = opened()
    sent = {"filter": '{"city": "Graz"}', "ids": "[1, garbage]", "all": "true"}
    error = failed(await surface.connect(AGENT).call(Search.find, sent), "INVALID_INPUT")
    assert set(wrong_paths(error)) == {"filter", "ids", "all"} and search.given == []
    assert journal(surface)[0].repairs == ()


@pytest.mark.requirement("6.12-never-for-evidence-or-ids")
async def test_evidence_and_ids_are_taken_as_they_are() -> None:
    surface, search = opened(require_confirmation())
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Search.count, {"number": 1})).details["confirmation_id"])
    await surface.confirmations.approve(asked, OPERATOR)
    for spelled in (f'"{asked}"', f" {asked}", f'["{asked}"]'):
        failed(await agent.call(Search.count, {"number": 1}, confirmation=spelled), "CONFIRMATION_INVALID")
    failed(await agent.call(Search.count, {"number": 1}, registration='"default"'), "STALE_CAPABILITY")
    assert search.given == []
    output(await agent.call(Search.count, {"number": 1}, confirmation=asked))


@pytest.mark.requirement("6.12-repaired-is-what-runs")
async def test_policies_the_person_and_the_handler_see_the_repaired_input() -> None:
    seen: list[object] = []

    class Watch(Policy, name="watch"):
        async def review(self, ctx: ReviewContext) -> None:
            seen.append(dict(ctx.input))

    surface, search = opened(Watch(), require_confirmation())
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(AGENT)
    asked = str(failed(await agent.call(Search.count, {"number": "7"})).details["confirmation_id"])
    view = surface.confirmations.get(asked)
    assert view is not None and view.input == {"number": 7} and seen == [{"number": 7}]
    await surface.confirmations.approve(asked, OPERATOR)
    # The evidence is for the effective input: both spellings of it are that one call.
    assert output(await agent.call(Search.count, {"number": 7}, confirmation=asked)) == 7
    assert search.given == [{"number": 7}]


@pytest.mark.requirement("6.12-repaired-is-what-runs")
async def test_a_repeat_is_known_by_what_was_sent() -> None:
    surface, search = opened()
    agent = surface.connect(AGENT)
    first = await agent.call(Search.count, {"number": "7"}, id="one")
    assert isinstance(first, Ok) and await agent.call(Search.count, {"number": "7"}, id="one") == first
    failed(await agent.call(Search.count, {"number": 7}, id="one"), "INVOCATION_CONFLICT")
    assert search.given == [{"number": 7}]


@pytest.mark.requirement("6.12-switched-off")
async def test_repair_is_bounded_and_zero_switches_it_off() -> None:
    surface, search = opened(limits=Limits(repairs=0))
    agent = surface.connect(AGENT)
    failed(await agent.call(Search.count, {"number": "1"}), "INVALID_INPUT")
    assert output(await agent.call(Search.count, {"number": 1})) == 1
    surface, search = opened(limits=Limits(repairs=2))
    agent = surface.connect(AGENT)
    sent = {"filter": {"city": "Graz"}, "ids": ["1", "2"]}
    assert output(await agent.call(Search.find, sent)) == 2
    error = failed(await agent.call(Search.find, {**sent, "all": "true"}), "INVALID_INPUT")
    assert "all" in set(wrong_paths(error)) and len(search.given) == 1


@pytest.mark.requirement("6.12-the-size-counts-after-repair")
async def test_what_grows_beyond_the_input_limit_is_not_repaired() -> None:
    limits = Limits(input_bytes=150)
    surface, search = opened(limits=limits)
    agent = surface.connect(AGENT)
    sent = {"filter": {"city": "Graz"}, "ids": f"[{','.join(['1e15'] * 9)}]"}
    failed(await agent.call(Search.find, sent), "INVALID_INPUT")
    assert output(await agent.call(Search.find, {**sent, "ids": "[1e15,1e15]"})) == 2
    assert search.given[0]["ids"] == [10**15, 10**15]
