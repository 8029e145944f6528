"""The steps of the demonstration, as data: what the agent does, and where else each result is looked up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from demo.capabilities import DETAILS, DISABLE, FILTER, MADE_UP, NAVIGATE, READ, RENAME, SELECT, ids_of
from demo.stage import Agent, Answer, Asked, Page, Stage, Tool, expect
from demo.telling import Seen, Step, Steps

CITY: Final = "Milan"
OPERATOR: Final = "operator"
NEEDED: Final = frozenset({FILTER, READ, SELECT, DISABLE, NAVIGATE})


async def _discover(stage: Stage) -> Mapping[str, Tool]:
    stage.memory.effects = len(stage.records.effects())
    stage.memory.disabled = stage.records.disabled()
    stage.memory.tools = await stage.agent.tools()
    return stage.memory.tools


async def _discovered(stage: Stage, tools: Mapping[str, Tool]) -> Seen:
    expect("missing tools", [], sorted(NEEDED - tools.keys()))
    expect("disable offered with nothing selected:", False, tools[DISABLE].available)
    expect("open on the page:", "Devices", await stage.page.heading("Devices"))
    expect("checked on the page:", [], await stage.page.checked([]))
    stage.memory.first_row = stage.records.first()
    return Seen(what=f"{len(tools)} tools, disable waits for a selection", where=f"{stage.page.name}: nothing checked")


async def _filter(stage: Stage) -> Answer:
    return await stage.agent.call(FILTER, {"city": CITY, "status": "offline"})


async def _filtered(stage: Stage, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    stored = stage.records.offline_in(CITY)
    expect("rows on the page:", stored, await stage.page.rows(stored))
    return Seen(what=f"offline devices in {CITY}", where=f"{stage.page.name}: {len(stored)} rows, as in the database")


async def _read(stage: Stage) -> Answer:
    return await stage.agent.call(READ)


async def _was_read(stage: Stage, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    found = stage.memory.found = sorted(ids_of(answer.data))
    expect("ids on the page:", found, await stage.page.rows(found))
    expect("ids in the database:", found, stage.records.offline_in(CITY))
    return Seen(what=f"{len(found)} rows read", where=f"{stage.page.name}, database: the same ids")


def _select(count: int) -> Callable[[Stage], Awaitable[Answer]]:
    async def select(stage: Stage) -> Answer:
        stage.memory.selected = stage.memory.found[:count]
        return await stage.agent.call(SELECT, {"ids": stage.memory.selected})

    return select


async def _selected(stage: Stage, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    wanted = stage.memory.selected
    expect("checked on the page:", wanted, await stage.page.checked(wanted))
    return Seen(what=f"{len(wanted)} rows selected", where=f"{stage.page.name}: {len(wanted)} checked boxes")


async def _name_others(stage: Stage) -> Answer | Asked:
    return await stage.agent.ask(DISABLE, {"device_ids": stage.memory.found[3:]})


async def _others_refused(stage: Stage, answer: Answer | Asked) -> Seen:
    expect("dialogs on the page:", 0, await stage.page.dialogs())
    _nothing_happened(stage)
    expect("answer", "INVALID_INPUT{device_ids}", _verdict(answer))
    return Seen(what="naming the devices itself is refused", where=f"{stage.page.name}: no dialog; effects: none")


async def _ask_and_deny(stage: Stage) -> tuple[Sequence[str], Answer]:
    return await _decide(stage, stage.person.deny)


async def _denied(stage: Stage, said: tuple[Sequence[str], Answer]) -> Seen:
    shown, answer = said
    _nothing_happened(stage)
    expect("ids shown to the person:", stage.memory.selected, sorted(shown))
    expect("answer", "CONFIRMATION_INVALID{denied}", answer.verdict)
    return Seen(what=f"the person denies {len(shown)} devices", where="effects: none; all are enabled")


async def _ask_and_approve(stage: Stage) -> tuple[Sequence[str], Answer]:
    return await _decide(stage, stage.person.approve)


async def _approved(stage: Stage, said: tuple[Sequence[str], Answer]) -> Seen:
    shown, answer = said
    wanted = stage.memory.selected
    expect("ids shown to the person:", wanted, sorted(shown))
    _ran_once(stage)
    expect("answer", "ok", answer.verdict)
    return Seen(
        what=f"the person approves {len(shown)} devices", where=f"effects: 1, {OPERATOR}, these {len(wanted)} ids"
    )


async def _verify(stage: Stage) -> Answer:
    return await stage.agent.call(READ)


async def _verified(stage: Stage, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    wanted = stage.memory.selected
    expect("disabled, as read:", wanted, sorted(ids_of(answer.data, enabled=False)))
    expect("disabled on the page:", wanted, await stage.page.disabled(wanted))
    _ran_once(stage)
    return Seen(
        what="the agent reads what became of them", where=f"{stage.page.name}, database: {len(wanted)} disabled"
    )


async def _replay(stage: Stage) -> Answer:
    # Under an invocation id of its own: the same one would only be told its stored result.
    return await stage.agent.call(DISABLE, confirmation=stage.memory.confirmation, invocation="replayed")


async def _replayed(stage: Stage, answer: Answer) -> Seen:
    _ran_once(stage)
    expect("answer", "CONFIRMATION_INVALID{spent}", answer.verdict)
    return Seen(what="the approval cannot be used again", where="effects: still 1")


async def _go_to_reports(stage: Stage) -> Answer:
    return await stage.agent.call(NAVIGATE, {"page": "reports"})


async def _at_reports(stage: Stage, answer: Answer) -> Seen:
    expect("answer", "ok", answer.verdict)
    expect("open on the page:", "Reports", await stage.page.heading("Reports"))
    expect("table among the tools:", False, SELECT in await stage.agent.tools())
    return Seen(what="the agent goes to Reports", where=f"{stage.page.name}: Reports")


async def _select_what_is_gone(stage: Stage) -> Answer:
    return await _select_by_old_registration(stage)


async def _gone(stage: Stage, answer: Answer) -> Seen:
    expect("open on the page:", "Reports", await stage.page.heading("Reports"))
    expect("answer", "COMPONENT_UNMOUNTED{resolve}", answer.verdict)
    return Seen(what="what was learned on Devices is gone", where=f"{stage.page.name}: Reports, untouched")


async def _select_what_was_replaced(stage: Stage) -> Answer:
    back = await stage.agent.call(NAVIGATE, {"page": "devices"})
    expect("way back", "ok", back.verdict)
    return await _select_by_old_registration(stage)


async def _replaced(stage: Stage, answer: Answer) -> Seen:
    expect("open on the page:", "Devices", await stage.page.heading("Devices"))
    expect("checked on the page:", [], await stage.page.checked([]))
    expect("answer", "STALE_CAPABILITY{registration-replaced}", answer.verdict)
    return Seen(what="back on Devices the old table stays stale", where=f"{stage.page.name}: nothing checked")


async def _call_hidden(stage: Stage) -> tuple[Answer, Answer]:
    # Reading the new table is what lets the agent act in it again: its tools still stand for the old one.
    read = await stage.agent.call(READ)
    expect("table read", "ok", read.verdict)
    opened = await stage.agent.call(DETAILS, {"id": stage.memory.first_row})
    expect("details opened", "ok", opened.verdict)
    return await _twins(stage.agent, RENAME)


async def _not_there(stage: Stage, answers: tuple[Answer, Answer]) -> Seen:
    hidden, made_up = answers
    shown = stage.memory.first_row
    expect("details on the page:", shown, await stage.page.details(shown))
    expect("hidden", "CAPABILITY_NOT_FOUND", hidden.verdict)
    expect("hidden, as a made-up name:", made_up.raw, hidden.raw)
    expect("among the tools:", False, RENAME in await stage.agent.tools())
    _ran_once(stage)
    return Seen(
        what="renaming, open to the person, does not exist", where=f"{stage.page.name}: details of {shown}; effects: 1"
    )


async def _strange(stage: Stage) -> tuple[Mapping[str, Tool], Answer]:
    return await stage.stranger.tools(), await stage.stranger.call(SELECT, {"ids": [stage.memory.first_row]})


async def _kept_out(stage: Stage, said: tuple[Mapping[str, Tool], Answer]) -> Seen:
    tools, answer = said
    expect("checked on the page:", [], await stage.page.checked([]))
    expect("tools of the other account", {}, tools)
    expect("answer", stage.no_view, answer.verdict)
    return Seen(what="the other account's agent finds no view", where=f"{stage.page.name}: nothing checked")


async def _open_as_auditor(stage: Stage) -> tuple[Page, Mapping[str, Tool], tuple[Answer, Answer]]:
    page = await stage.open_as_auditor()
    tools = await stage.stranger.tools()
    selected = await stage.stranger.call(SELECT, {"ids": [stage.memory.first_row]})
    expect("selected by the auditor's agent", "ok", selected.verdict)
    return page, tools, await _twins(stage.stranger, DISABLE)


async def _reads_only(stage: Stage, said: tuple[Page, Mapping[str, Tool], tuple[Answer, Answer]]) -> Seen:
    page, tools, (hidden, made_up) = said
    expect("open on the auditor's page:", "Devices", await page.heading("Devices"))
    expect("checked there:", [stage.memory.first_row], await page.checked([stage.memory.first_row]))
    expect("dialogs there:", 0, await page.dialogs())
    expect("disable among the auditor's tools:", False, DISABLE in tools)
    expect("disable, as a made-up name:", made_up.raw, hidden.raw)
    _ran_once(stage)
    return Seen(
        what="for the auditor, disabling does not exist", where=f"{page.name}: 1 checked, no dialog; effects: 1"
    )


async def _twins(agent: Agent, hidden: str) -> tuple[Answer, Answer]:
    """What a hidden capability answers, and what a made-up one does."""
    return await agent.call(hidden), await agent.call(MADE_UP)


async def _decide(stage: Stage, person: Callable[[Asked], Awaitable[Sequence[str]]]) -> tuple[Sequence[str], Answer]:
    asked = await stage.agent.ask(DISABLE)
    if isinstance(asked, Answer):
        return (), asked
    stage.memory.confirmation = asked.confirmation
    shown = await person(asked)
    return shown, await asked.answer()


async def _select_by_old_registration(stage: Stage) -> Answer:
    old = stage.memory.tools[SELECT].registration
    return await stage.agent.call(SELECT, {"ids": stage.memory.found[:1]}, registration=old)


def _nothing_happened(stage: Stage) -> None:
    expect("effects:", [], stage.records.effects(stage.memory.effects))
    expect("disabled devices in the database:", stage.memory.disabled, stage.records.disabled())


def _ran_once(stage: Stage) -> None:
    wanted = stage.memory.selected
    effects = stage.records.effects(stage.memory.effects)
    ran = [(effect.principal, effect.operation, sorted(effect.device_ids)) for effect in effects]
    expect("effects:", [(OPERATOR, "devices.disable", wanted)], ran)
    expect("disabled devices in the database:", sorted([*stage.memory.disabled, *wanted]), stage.records.disabled())


def _verdict(answer: Answer | Asked) -> str:
    return answer.verdict if isinstance(answer, Answer) else "a request to the person"


STEPS: Final[Steps[Stage]] = (
    Step(name="discover", do=_discover, verify=_discovered),
    Step(name="filter", do=_filter, verify=_filtered),
    Step(name="read", do=_read, verify=_was_read),
    Step(name="select", do=_select(3), verify=_selected),
    Step(name="locked", do=_name_others, verify=_others_refused),
    Step(name="deny", do=_ask_and_deny, verify=_denied),
    Step(name="reselect", do=_select(2), verify=_selected),
    Step(name="approve", do=_ask_and_approve, verify=_approved),
    Step(name="verify", do=_verify, verify=_verified),
    Step(name="replay", do=_replay, verify=_replayed),
    Step(name="navigate", do=_go_to_reports, verify=_at_reports),
    Step(name="unmounted", do=_select_what_is_gone, verify=_gone),
    Step(name="stale", do=_select_what_was_replaced, verify=_replaced),
    Step(name="hidden", do=_call_hidden, verify=_not_there),
    Step(name="stranger", do=_strange, verify=_kept_out),
    Step(name="auditor", do=_open_as_auditor, verify=_reads_only),
)
