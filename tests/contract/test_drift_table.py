"""One edit of the source at a time, compiled before and after, and judged by the command (SPEC 13.6)."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from remit.cli import main

POLICIES = """
from remit.policies import Deny, Expose, Policy, RequireConfirmation


class OfficeHours(Policy, name="office-hours"):
    def discover(self, ctx):
        return Expose()

    async def authorize(self, ctx):
        return None


class Careful(Policy, name="careful"):
    async def review(self, ctx):
        return RequireConfirmation()
"""

APP = '''
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from remit import Component, Handoff, Procedures, action, observation, reference
from remit import RecordSet, Steps, flow
from remit.policies import require_confirmation, require_grant
from rules import Careful, OfficeHours

backend = Procedures()


class Row(BaseModel):
    id: str
    state: Literal["on", "off"]
    label: str | None = None


class State(BaseModel):
    rows: list[Row]
    selected: list[str]
    note: str = ""


@backend.operation("devices.disable", effect="destructive")
async def disable(ids: list[str], reason: str = "") -> int:
    """Disable devices in the fleet."""
    return 1


@backend.operation("devices.label", effect="server-mutation")
async def label(text: str) -> int:
    """Put a label on a device."""
    return 1


@backend.operation("devices.tag", effect="server-mutation")
async def tag(text: str, colour: str) -> int:
    """Put a tag on a device."""
    return 1


@backend.operation("devices.note", effect="server-mutation")
async def note(text: str) -> int:
    """Write a note."""
    return 1


@backend.operation("devices.search", effect="server-query")
async def search(words: str) -> list[str]:
    """Find devices by words."""
    return []


class Table(Component, type="devices.table", policies=(require_grant("fleet"),)):
    """Table of devices."""

    @observation
    def read_state(self) -> State:
        """Visible devices."""
        return State(rows=[], selected=[])

    @action(idempotent=True, policies=(OfficeHours(), Careful()))
    def select_rows(
        self,
        ids: Annotated[list[str], Field(min_length=1, max_length=50)],
        mode: Literal["replace", "add"] = "replace",
        limit: Annotated[int, Field(ge=1, le=10)] = 5,
        name: Annotated[str, Field(pattern="^[a-z]*$", max_length=20)] = "",
    ) -> None:
        """Replace the selection."""

    @action(effect="navigation", timeout=4, tags=("moves",), title="Open")
    def open(self, page: str) -> str:
        """Open a page."""
        return page

    @action(confirmation="required", doors=("embedded",))
    def clear(self) -> None:
        """Clear the draft."""

    disable = reference("domain:devices.disable", approver="lead", spend_time=60)

    @disable.bind("ids")
    def _(self) -> list[str]:
        return []

    label = reference("domain:devices.label")

    search = reference("domain:devices.search")

    note = reference("domain:devices.note", source="derived", fidelity="medium")

    @action(sensitive=("ticket",), untrusted=True, meta={"icon": "key"})
    def join(self, ticket: str, team: str) -> str:
        """Join a team."""
        return team

    @action(confirmation="required", may_vary=("colour",))
    def paint(self, colour: str, layer: str) -> None:
        """Paint a layer."""

    @action(record="row")
    def mark(self, row: str, note: str) -> None:
        """Mark a row."""

    @mark.records
    def _(self, ctx):
        return RecordSet(ids=[])

    @action(handoff=Handoff("Only a person signs", to="/sign"))
    def sign(self) -> None:
        """Sign the list."""

    @flow(steps=["view:devices.table.open", "view:devices.table.sign"])
    async def finish(self, steps: Steps) -> None:
        """Open a page, then sign."""

    @action(policies=(require_confirmation(),))
    def wipe(self) -> None:
        """Wipe the table."""

    @wipe.precondition
    def _(self):
        return None

    tag = reference("domain:devices.tag", overridable=("text",))

    @tag.bind("text")
    def _(self) -> str:
        return ""

    @tag.bind("colour")
    def _(self) -> str:
        return ""

    @tag.redact
    def _(self, payload):
        return payload.value
'''

SETTINGS = """
[tool.remit]
entries = ["app"]
policies = ["authenticated"]
[tool.remit.exposure]
mcp = ["view:devices.table.readState", "domain:devices.search"]
derived = ["domain:devices.note"]
"""

WIDENING, BREAKING, NARROWING, NEUTRAL = "widening", "breaking", "narrowing", "neutral"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit, and the classes it has for the one capability or place it is about."""

    says: str
    find: str
    put: str
    at: str
    classes: tuple[str, ...]
    file: str = "app.py"
    more: tuple[tuple[str, str], ...] = ()


def edit(says: str, find: str, put: str, at: str, *classes: str, file: str = "app.py", **more: str) -> Edit:
    """A row of the table; `more` are further replacements of the same edit."""
    return Edit(says=says, find=find, put=put, at=at, classes=classes, file=file, more=tuple(more.items()))


SEARCH = '"devices.search", effect="server-query"'
DISABLE = 'reference("domain:devices.disable", approver="lead", spend_time=60)'
LABEL = 'reference("domain:devices.label")'
OPEN = '@action(effect="navigation", timeout=4, tags=("moves",), title="Open")'
SELECT = "@action(idempotent=True, policies=(OfficeHours(), Careful()))"
CLEAR = '@action(confirmation="required", doors=("embedded",))'
NAME = 'Field(pattern="^[a-z]*$", max_length=20)'
IDS = "Field(min_length=1, max_length=50)"

FINISH = '@flow(steps=["view:devices.table.open", "view:devices.table.sign"])'

TABLE = (
    # flows
    edit(
        "a flow gets a step",
        FINISH,
        '@flow(steps=["view:devices.table.open", "view:devices.table.sign", "view:devices.table.open"])',
        "view:devices.table.finish steps",
        WIDENING,
    ),
    edit(
        "a flow loses a step",
        FINISH,
        '@flow(steps=["view:devices.table.sign"])',
        "view:devices.table.finish steps",
        NARROWING,
    ),
    edit(
        "the steps of a flow change places",
        FINISH,
        '@flow(steps=["view:devices.table.sign", "view:devices.table.open"])',
        "view:devices.table.finish steps",
        WIDENING,
    ),
    edit(
        "a step of a flow is replaced",
        FINISH,
        '@flow(steps=["view:devices.table.open", "view:devices.table.clear"])',
        "view:devices.table.finish steps",
        WIDENING,
        NARROWING,
    ),
    edit(
        "a flow gets a graver step, and with it its effect",
        FINISH,
        '@flow(steps=["view:devices.table.open", "view:devices.table.sign", "domain:devices.disable"])',
        "view:devices.table.finish effect",
        NARROWING,
    ),
    edit(
        "an action becomes a flow",
        '@action(handoff=Handoff("Only a person signs", to="/sign"))\n    def sign(self) -> None:',
        '@flow(steps=["view:devices.table.open"])\n    async def sign(self, steps: Steps) -> None:',
        "view:devices.table.sign composite",
        WIDENING,
        BREAKING,
        **{FINISH: "@action", "async def finish(self, steps: Steps)": "async def finish(self)"},
    ),
    # effects
    edit(
        "a handoff is lost: an agent does what only a person did",
        '@action(handoff=Handoff("Only a person signs", to="/sign"))',
        "@action",
        "view:devices.table.sign handoff",
        WIDENING,
    ),
    edit(
        "an action becomes a handoff",
        'doors=("embedded",))',
        'doors=("embedded",), handoff=Handoff("By hand", to="/clear"))',
        "view:devices.table.clear handoff",
        NARROWING,
    ),
    edit(
        "a handoff sends people elsewhere",
        'to="/sign"',
        'to="/elsewhere"',
        "view:devices.table.sign handoff",
        WIDENING,
    ),
    edit(
        "a handoff has another reason",
        '"Only a person signs"',
        '"Signing is for people"',
        "view:devices.table.sign handoff",
        NEUTRAL,
    ),
    edit(
        "a read becomes destructive",
        SEARCH,
        '"devices.search", effect="destructive"',
        "domain:devices.search effect",
        WIDENING,
    ),
    edit(
        "a read becomes a write",
        SEARCH,
        '"devices.search", effect="server-mutation"',
        "domain:devices.search effect",
        WIDENING,
    ),
    edit(
        "a write becomes a read",
        'label", effect="server-mutation"',
        'label", effect="server-query"',
        "domain:devices.label effect",
        WIDENING,
    ),
    edit(
        "destructive becomes a mutation",
        'disable", effect="destructive"',
        'disable", effect="server-mutation"',
        "domain:devices.disable effect",
        WIDENING,
    ),
    edit(
        "a mutation becomes destructive",
        'label", effect="server-mutation"',
        'label", effect="destructive"',
        "domain:devices.label effect",
        NARROWING,
    ),
    edit(
        "a navigation becomes local",
        OPEN,
        '@action(timeout=4, tags=("moves",), title="Open")',
        "view:devices.table.open effect",
        WIDENING,
    ),
    # governance
    edit(
        "confirmation is lowered",
        CLEAR,
        '@action(doors=("embedded",))',
        "view:devices.table.clear confirmation",
        WIDENING,
    ),
    edit(
        "confirmation is raised",
        CLEAR,
        '@action(confirmation="always", doors=("embedded",))',
        "view:devices.table.clear confirmation",
        NARROWING,
    ),
    edit(
        "a reference asks a person now",
        LABEL,
        'reference("domain:devices.label", confirmation="required")',
        "domain:devices.label confirmation",
        NARROWING,
    ),
    edit(
        "a reference asks nobody by itself now",
        LABEL,
        'reference("domain:devices.label", confirmation="never", reason="harmless")',
        "domain:devices.label confirmation",
        WIDENING,
    ),
    edit(
        "the reason for it stands in the row",
        LABEL,
        'reference("domain:devices.label", confirmation="never", reason="harmless")',
        "domain:devices.label reason",
        NEUTRAL,
    ),
    edit(
        "the principal approves instead of a grant",
        DISABLE,
        'reference("domain:devices.disable", spend_time=60)',
        "domain:devices.disable approver",
        WIDENING,
    ),
    edit(
        "another grant approves",
        DISABLE,
        'reference("domain:devices.disable", approver="fleet", spend_time=60)',
        "domain:devices.disable approver",
        WIDENING,
    ),
    edit(
        "a grant approves instead of the principal",
        LABEL,
        'reference("domain:devices.label", approver="lead")',
        "domain:devices.label approver",
        NARROWING,
    ),
    edit(
        "an approval lives longer",
        DISABLE,
        'reference("domain:devices.disable", approver="lead", spend_time=90)',
        "domain:devices.disable spend_time",
        WIDENING,
    ),
    edit(
        "an approval lives shorter",
        DISABLE,
        'reference("domain:devices.disable", approver="lead", spend_time=30)',
        "domain:devices.disable spend_time",
        NARROWING,
    ),
    edit(
        "an approval lives as long as by default",
        DISABLE,
        'reference("domain:devices.disable", approver="lead")',
        "domain:devices.disable spend_time",
        WIDENING,
    ),
    edit(
        "audit is lowered",
        CLEAR,
        '@action(confirmation="required", doors=("embedded",), audit="none", reason="noise")',
        "view:devices.table.clear audit",
        WIDENING,
    ),
    edit(
        "audit is raised",
        CLEAR,
        '@action(confirmation="required", doors=("embedded",), audit="full")',
        "view:devices.table.clear audit",
        NARROWING,
    ),
    edit(
        "said to be idempotent",
        CLEAR,
        '@action(confirmation="required", doors=("embedded",), idempotent=True)',
        "view:devices.table.clear idempotent",
        WIDENING,
    ),
    edit(
        "no longer said to be idempotent",
        SELECT,
        "@action(policies=(OfficeHours(), Careful()))",
        "view:devices.table.selectRows idempotent",
        NARROWING,
    ),
    edit(
        "no longer said to be reversible",
        CLEAR,
        '@action(confirmation="required", doors=("embedded",), reversible=False)',
        "view:devices.table.clear reversible",
        NARROWING,
    ),
    edit(
        "a timeout changes",
        OPEN,
        '@action(effect="navigation", timeout=9, tags=("moves",), title="Open")',
        "view:devices.table.open timeout",
        NEUTRAL,
    ),
    edit(
        "a person may leave one field more free",
        'may_vary=("colour",)',
        'may_vary=("colour", "layer")',
        "view:devices.table.paint may_vary",
        WIDENING,
    ),
    edit(
        "a person may leave no field free",
        ', may_vary=("colour",)',
        "",
        "view:devices.table.paint may_vary",
        NARROWING,
    ),
    edit(
        "a field is no longer sensitive",
        'sensitive=("ticket",), ',
        "",
        "view:devices.table.join sensitive",
        WIDENING,
    ),
    edit(
        "one field more is sensitive",
        'sensitive=("ticket",)',
        'sensitive=("ticket", "team")',
        "view:devices.table.join sensitive",
        NARROWING,
    ),
    edit(
        "an agent may fill one bound field more",
        'overridable=("text",)',
        'overridable=("text", "colour")',
        "domain:devices.tag overridable",
        WIDENING,
    ),
    edit(
        "an agent may fill no bound field",
        ', overridable=("text",)',
        "",
        "domain:devices.tag overridable",
        NARROWING,
    ),
    edit(
        "a redactor goes",
        "    @tag.redact\n    def _(self, payload):\n        return payload.value\n",
        "",
        "domain:devices.tag redact",
        WIDENING,
    ),
    edit(
        "a redactor comes",
        "    label = reference",
        "    @disable.redact\n    def _(self, payload):\n        return payload.value\n\n    label = reference",
        "domain:devices.disable redact",
        NARROWING,
    ),
    edit(
        "an output is no longer marked as from outside",
        ", untrusted=True",
        "",
        "view:devices.table.join untrusted",
        WIDENING,
    ),
    edit(
        "an output is marked as from outside",
        OPEN,
        '@action(effect="navigation", timeout=4, tags=("moves",), title="Open", untrusted=True)',
        "view:devices.table.open untrusted",
        NARROWING,
    ),
    edit(
        "a denied name is allowed",
        'may_vary=("colour",))\n    def paint(self, colour: str, layer: str)',
        'may_vary=("colour",), allow_names={"css": "a layer"})\n    def paint(self, colour: str, layer: str, css: str)',
        "view:devices.table.paint allow_names",
        WIDENING,
    ),
    edit(
        "an action is held to rows that may be reached",
        OPEN,
        '@action(effect="navigation", timeout=4, tags=("moves",), title="Open", record="page")',
        "view:devices.table.open record",
        NARROWING,
        **{"    label = reference": "    @open.records\n    def _(self, ctx): ...\n\n    label = reference"},
    ),
    edit(
        "an action is no longer held to rows that may be reached",
        '@action(record="row")',
        "@action",
        "view:devices.table.mark record",
        WIDENING,
        **{"    @mark.records\n    def _(self, ctx):\n        return RecordSet(ids=[])\n": ""},
    ),
    edit(
        "a row action means rows of another kind",
        '@action(record="row")',
        '@action(record="note")',
        "view:devices.table.mark record",
        WIDENING,
        BREAKING,
    ),
    edit(
        "the id of a row may be a number, too",
        "def mark(self, row: str, note: str)",
        "def mark(self, row: str | int, note: str)",
        "view:devices.table.mark input record",
        WIDENING,
    ),
    edit(
        "run again when it fails",
        OPEN,
        '@action(effect="navigation", timeout=4, tags=("moves",), title="Open", idempotent=True, retry=Retry(3))',
        "view:devices.table.open retry",
        WIDENING,
        **{"Handoff, Procedures, action": "Handoff, Procedures, Retry, action"},
    ),
    edit(
        "several calls run at once",
        SELECT,
        "@action(idempotent=True, policies=(OfficeHours(), Careful()), concurrency=parallel(3))",
        "view:devices.table.selectRows concurrency",
        WIDENING,
        **{"observation, reference": "observation, parallel, reference"},
    ),
    edit(
        "calls take turns with others of a key",
        SELECT,
        '@action(idempotent=True, policies=(OfficeHours(), Careful()), concurrency=key("rows"))',
        "view:devices.table.selectRows concurrency",
        NARROWING,
        **{"action, observation, reference": "action, key, observation, reference"},
    ),
    # policies
    *(
        edit(
            f"a reference moves to a component {says}",
            '    search = reference("domain:devices.search")\n',
            "",
            f"domain:devices.search {field}",
            *classes,
            **{
                "class Table(": f'class Finder(Component, type=\'devices.finder\'{head}):\n    """Finds."""\n\n'
                f"    search = reference('domain:devices.search'{own})\n\n\nclass Table("
            },
        )
        for says, head, own, field, classes in (
            ("without a policy", "", "", "policies", (WIDENING,)),
            ("with the same policy", ", policies=(require_grant('fleet'),)", "", "component", (NEUTRAL,)),
            ("with one policy more", ", policies=(require_grant('fleet'), Careful())", "", "policies", (NARROWING,)),
            ("and keeps the policy by itself", "", ", policies=(require_grant('fleet'),)", "component", (NEUTRAL,)),
            ("of no view", ", headless=True, policies=(require_grant('fleet'),)", "", "headless", (WIDENING,)),
        )
    ),
    edit(
        "a policy is dropped",
        SELECT,
        "@action(idempotent=True, policies=(OfficeHours(),))",
        "view:devices.table.selectRows policies",
        WIDENING,
    ),
    edit(
        "a policy is added",
        LABEL,
        'reference("domain:devices.label", policies=(OfficeHours(),))',
        "domain:devices.label policies",
        NARROWING,
    ),
    edit(
        "a policy loses a method",
        "    async def authorize(self, ctx):\n        return None\n",
        "",
        "view:devices.table.selectRows policies",
        WIDENING,
        file="rules.py",
    ),
    edit(
        "a policy gains a method",
        'class Careful(Policy, name="careful"):\n',
        'class Careful(Policy, name="careful"):\n    def discover(self, ctx):\n        return Expose()\n\n',
        "view:devices.table.selectRows policies",
        NARROWING,
        file="rules.py",
    ),
    edit(
        "another class has the policy's name",
        "class Careful(",
        "class Careless(",
        "view:devices.table.selectRows policies",
        WIDENING,
        file="rules.py",
        **{"        return RequireConfirmation()\n": "        return RequireConfirmation()\n\n\nCareful = Careless\n"},
    ),
    edit(
        "a confirmation is asked for only when a condition holds",
        "policies=(require_confirmation(),)",
        "policies=(require_confirmation(when=lambda ctx: False),)",
        "view:devices.table.wipe policies",
        WIDENING,
        NARROWING,
    ),
    edit(
        "a precondition is lost: a call runs that was refused",
        "    @wipe.precondition\n    def _(self):\n        return None\n",
        "",
        "view:devices.table.wipe precondition",
        WIDENING,
    ),
    edit(
        "an action is judged by a precondition now",
        '"""Clear the draft."""',
        '"""Clear the draft."""\n\n    @clear.precondition\n    def _(self):\n        return None',
        "view:devices.table.clear precondition",
        NARROWING,
    ),
    edit(
        "policies stand in another order",
        "(OfficeHours(), Careful())",
        "(Careful(), OfficeHours())",
        "view:devices.table.selectRows policies",
        NEUTRAL,
    ),
    edit(
        "a component loses its policy", ', policies=(require_grant("fleet"),)', "", "devices.table policies", WIDENING
    ),
    edit(
        "a component's policy asks for another grant",
        'require_grant("fleet")',
        'require_grant("any")',
        "devices.table policies",
        WIDENING,
        NARROWING,
    ),
    edit(
        "no policy is needed everywhere",
        'policies = ["authenticated"]',
        "policies = []",
        "[tool.remit] policies",
        WIDENING,
        file="pyproject.toml",
    ),
    edit(
        "another policy is needed everywhere",
        'policies = ["authenticated"]',
        'policies = ["authenticated", "read-only"]',
        "[tool.remit] policies",
        NARROWING,
        file="pyproject.toml",
    ),
    # inputs
    edit(
        "a list may be longer",
        IDS,
        "Field(min_length=1, max_length=99)",
        "view:devices.table.selectRows input ids",
        WIDENING,
    ),
    edit(
        "a list must be longer",
        IDS,
        "Field(min_length=2, max_length=50)",
        "view:devices.table.selectRows input ids",
        BREAKING,
    ),
    edit("a list may be empty", IDS, "Field(max_length=50)", "view:devices.table.selectRows input ids", WIDENING),
    edit(
        "an enum gains a value",
        'Literal["replace", "add"]',
        'Literal["replace", "add", "remove"]',
        "view:devices.table.selectRows input mode",
        WIDENING,
    ),
    edit(
        "an enum loses a value",
        'Literal["replace", "add"]',
        'Literal["replace"]',
        "view:devices.table.selectRows input mode",
        BREAKING,
    ),
    edit(
        "a bound is raised",
        "Field(ge=1, le=10)",
        "Field(ge=1, le=100)",
        "view:devices.table.selectRows input limit",
        WIDENING,
    ),
    edit(
        "a bound is lowered",
        "Field(ge=1, le=10)",
        "Field(ge=1, le=5)",
        "view:devices.table.selectRows input limit",
        BREAKING,
    ),
    edit(
        "a range moves",
        "Field(ge=1, le=10)",
        "Field(ge=3, le=20)",
        "view:devices.table.selectRows input limit",
        WIDENING,
        BREAKING,
        **{"= 5,": "= 7,"},
    ),
    edit(
        "a pattern changes",
        NAME,
        'Field(pattern="^[A-Z]*$", max_length=20)',
        "view:devices.table.selectRows input name",
        WIDENING,
        BREAKING,
    ),
    edit("a pattern goes", NAME, "Field(max_length=20)", "view:devices.table.selectRows input name", WIDENING),
    edit(
        "a text must be shorter",
        NAME,
        'Field(pattern="^[a-z]*$", max_length=10)',
        "view:devices.table.selectRows input name",
        BREAKING,
    ),
    edit(
        "an optional field is added",
        "self, page: str)",
        'self, page: str, tab: str = "")',
        "view:devices.table.open input tab",
        WIDENING,
    ),
    edit(
        "a required field is added",
        "self, page: str)",
        "self, page: str, tab: str)",
        "view:devices.table.open input tab",
        WIDENING,
        BREAKING,
    ),
    edit(
        "a required field becomes optional",
        "self, page: str)",
        'self, page: str = "home")',
        "view:devices.table.open input page",
        WIDENING,
    ),
    edit(
        "an optional field of a reference becomes required",
        'reason: str = "")',
        "reason: str)",
        "domain:devices.disable input reason",
        BREAKING,
    ),
    edit("a field goes", ', reason: str = ""', "", "domain:devices.disable input reason", BREAKING),
    edit(
        "a field takes another type",
        "words: str)",
        "words: int)",
        "domain:devices.search input words",
        WIDENING,
        BREAKING,
    ),
    edit("a field takes null too", "words: str)", "words: str | None)", "domain:devices.search input words", WIDENING),
    edit(
        "a default changes", '] = "replace"', '] = "add"', "view:devices.table.selectRows input mode default", NEUTRAL
    ),
    edit(
        "the view fills a field less",
        '    @disable.bind("ids")\n    def _(self) -> list[str]:\n        return []\n',
        "",
        "domain:devices.disable bound",
        WIDENING,
    ),
    edit(
        "the view fills a field more",
        "    label = ",
        '    @disable.bind("reason")\n    def _(self) -> str:\n        return ""\n\n    label = ',
        "domain:devices.disable bound",
        NARROWING,
    ),
    edit(
        "a bound field of the backend changes",
        "ids: list[str], reason",
        "ids: list[int], reason",
        "operation devices.disable input ids[]",
        WIDENING,
        BREAKING,
        **{"def _(self) -> list[str]": "def _(self) -> list[int]"},
    ),
    # outputs
    edit(
        "an output field is added",
        '    note: str = ""\n',
        '    note: str = ""\n    total: int = 0\n',
        "view:devices.table.readState output total",
        WIDENING,
    ),
    edit(
        "an output field goes",
        "    selected: list[str]\n",
        "",
        "view:devices.table.readState output selected",
        BREAKING,
        **{", selected=[]": ""},
    ),
    edit(
        "a nested output field is added",
        "    label: str | None = None\n",
        "    label: str | None = None\n    owner: str\n",
        "view:devices.table.readState output rows[].owner",
        WIDENING,
    ),
    edit(
        "an output enum gains a value",
        'Literal["on", "off"]',
        'Literal["on", "off", "lost"]',
        "view:devices.table.readState output rows[].state",
        WIDENING,
    ),
    edit(
        "an output enum loses a value",
        'Literal["on", "off"]',
        'Literal["on"]',
        "view:devices.table.readState output rows[].state",
        NARROWING,
    ),
    edit(
        "an output may no longer be null",
        "label: str | None = None",
        'label: str = ""',
        "view:devices.table.readState output rows[].label",
        NARROWING,
    ),
    edit(
        "an output is of another type",
        "    id: str\n",
        "    id: int\n",
        "view:devices.table.readState output rows[].id",
        WIDENING,
        BREAKING,
    ),
    edit(
        "an output is no longer declared",
        "def open(self, page: str) -> str:",
        "def open(self, page: str) -> None:",
        "view:devices.table.open output",
        WIDENING,
        BREAKING,
        **{"        return page\n": ""},
    ),
    edit(
        "an output is declared now",
        "    def clear(self) -> None:\n",
        "    def clear(self) -> int:\n",
        "view:devices.table.clear output",
        NARROWING,
        **{'"""Clear the draft."""\n': '"""Clear the draft."""\n        return 1\n'},
    ),
    # reach
    edit(
        "a door is added",
        'doors=("embedded",)',
        'doors=("embedded", "mcp")',
        "view:devices.table.clear door mcp",
        WIDENING,
    ),
    edit(
        "a door is taken away", 'doors=("embedded",)', "doors=()", "view:devices.table.clear door embedded", NARROWING
    ),
    edit(
        "exposure is widened",
        '"view:devices.table.readState"',
        '"view:devices.table.*"',
        "view:devices.table.selectRows door mcp",
        WIDENING,
        file="pyproject.toml",
    ),
    edit(
        "a wider pattern stands in the head",
        '"view:devices.table.readState"',
        '"view:**"',
        "[tool.remit] exposure mcp",
        WIDENING,
        NARROWING,
        file="pyproject.toml",
    ),
    edit(
        "exposure is narrowed",
        ', "domain:devices.search"',
        "",
        "domain:devices.search door mcp",
        NARROWING,
        file="pyproject.toml",
    ),
    edit(
        "exposure at another door",
        "[tool.remit.exposure]\n",
        '[tool.remit.exposure]\nwebmcp = ["view:devices.table.open"]\n',
        "view:devices.table.open door webmcp",
        WIDENING,
        file="pyproject.toml",
    ),
    # who wrote it, and how well it is known
    edit(
        "what was derived counts as declared",
        ', source="derived", fidelity="medium"',
        ', fidelity="medium"',
        "domain:devices.note source",
        WIDENING,
    ),
    edit(
        "what was declared counts as derived",
        LABEL,
        'reference("domain:devices.label", source="derived")',
        "domain:devices.label source",
        NARROWING,
    ),
    edit(
        "what is derived now is hidden",
        LABEL,
        'reference("domain:devices.label", source="derived")',
        "domain:devices.label door embedded",
        NARROWING,
    ),
    edit("fidelity is raised", 'fidelity="medium"', 'fidelity="high"', "domain:devices.note fidelity", WIDENING),
    edit(
        "nobody is asked any longer about what is known better",
        'fidelity="medium"',
        'fidelity="high"',
        "domain:devices.note confirmation",
        WIDENING,
    ),
    edit("fidelity is lowered", 'fidelity="medium"', 'fidelity="low"', "domain:devices.note fidelity", NARROWING),
    edit(
        "fidelity of a read is lowered",
        "    @observation\n    def read_state",
        '    @observation(fidelity="low")\n    def read_state',
        "view:devices.table.readState fidelity",
        NARROWING,
    ),
    edit(
        "more of what is derived is exposed",
        'derived = ["domain:devices.note"]',
        'derived = ["domain:devices.note", "domain:devices.*"]',
        "[tool.remit] exposure derived",
        WIDENING,
        file="pyproject.toml",
    ),
    edit(
        "what is derived is exposed no longer",
        'derived = ["domain:devices.note"]',
        "derived = []",
        "domain:devices.note door embedded",
        NARROWING,
        file="pyproject.toml",
    ),
    # presence
    edit(
        "a capability is added",
        "    label = reference",
        '    @action\n    def fold(self) -> None:\n        """Fold."""\n\n    label = reference',
        "view:devices.table.fold capability",
        WIDENING,
    ),
    edit(
        "a capability is taken away",
        '    search = reference("domain:devices.search")\n',
        "",
        "domain:devices.search capability",
        NARROWING,
    ),
    edit(
        "a capability is renamed: it goes",
        "def clear(",
        "def clear_all(",
        "view:devices.table.clear capability",
        NARROWING,
    ),
    edit(
        "a capability is renamed: another comes",
        "def clear(",
        "def clear_all(",
        "view:devices.table.clearAll capability",
        WIDENING,
    ),
    # words
    edit(
        "what nobody reads changes",
        'meta={"icon": "key"}',
        'meta={"icon": "lock"}',
        "view:devices.table.join meta",
        NEUTRAL,
    ),
    edit(
        "a description changes",
        '"""Visible devices."""',
        '"""Visible devices and more."""',
        "view:devices.table.readState description",
        NEUTRAL,
    ),
    edit(
        "a component's description changes",
        '"""Table of devices."""',
        '"""Devices."""',
        "devices.table description",
        NEUTRAL,
    ),
    edit("a title changes", 'title="Open"', 'title="Go"', "view:devices.table.open title", NEUTRAL),
    edit("tags change", 'tags=("moves",)', 'tags=("goes",)', "view:devices.table.open tags", NEUTRAL),
    edit(
        "it is deprecated",
        CLEAR,
        '@action(confirmation="required", doors=("embedded",), deprecated=True)',
        "view:devices.table.clear deprecated",
        NEUTRAL,
    ),
    edit(
        "a field is described",
        NAME,
        'Field(pattern="^[a-z]*$", max_length=20, description="A name.")',
        "view:devices.table.selectRows input name description",
        NEUTRAL,
    ),
)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it is signed: compiled and committed."""
    root = tmp_path_factory.mktemp("signed")
    for name, text in (("app.py", APP), ("rules.py", POLICIES), ("pyproject.toml", SETTINGS)):
        (root / name).write_text(text, encoding="utf-8")
    assert ran(root, "compile").exit_code == 0
    commit(root)
    return root


def commit(root: Path) -> None:
    """Commit everything under `main`, whatever the machine's own git settings are."""
    who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    named = ("-c", "user.name=Reviewer", "-c", "user.email=reviewer@example.org")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*named, "commit", "-q", "-m", "Signed")):
        subprocess.run(("git", "-C", str(root), *arguments), check=True, env={**os.environ, **who})


def ran(root: Path, *arguments: str) -> Result:
    """The command as a person runs it."""
    return CliRunner().invoke(main, [*arguments, "--project", str(root)])


def test_the_table_has_at_least_sixty_edits() -> None:
    assert len(TABLE) >= 60
    assert len({each.says for each in TABLE}) == len(TABLE)


@pytest.mark.requirement("13.6-classes")
@pytest.mark.parametrize("edit", TABLE, ids=lambda each: each.says)
def test_an_edit_has_the_class_that_the_table_says(edit: Edit, base: Path, tmp_path: Path) -> None:
    root = tmp_path / "edited"
    shutil.copytree(base, root)
    file = root / edit.file
    text = file.read_text(encoding="utf-8")
    for find, put in ((edit.find, edit.put), *edit.more):
        assert text.count(find) == 1, find
        text = text.replace(find, put)
    file.write_text(text, encoding="utf-8")
    judged = ran(root, "check", "--base", "main", "--format", "json", "--fail-on", "none")
    assert judged.exit_code == 1, judged.output + judged.stderr  # the signed contract is not that of the source
    told = json.loads(judged.stdout)
    classes = {each for change in told["changes"] if at(change) == edit.at for each in change["classes"]}
    assert classes == set(edit.classes), told["changes"]


def at(change: dict[str, str]) -> str:
    """What a change is of, as the table names it."""
    return f"{change['subject']} {change['field']}"
