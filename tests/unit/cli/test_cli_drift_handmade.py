"""Contracts that no compiler wrote: a report of them is whole, one line a change, and nothing a terminal obeys."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, cast, get_args

import pytest
from click import unstyle

from remit._base.text import first_bad
from remit._contract.manifest import Block, Manifest, assemble, parse
from remit.cli.drift_report import Format, Report, rendered
from remit.compiler import Drift, compile_project, drift
from remit.errors import DefinitionError

APP = """
from remit import Component, Procedures, Retry, action, observation, reference
from remit.policies import Expose, Policy, require_grant

backend = Procedures()


class Hours(Policy, name="hours"):
    def discover(self, ctx):
        return Expose()


@backend.operation("devices.disable", effect="destructive")
async def disable(ids: list[str]) -> int:
    \"\"\"Disable devices.\"\"\"
    return 1


class Table(Component, type="devices.table", policies=(require_grant("fleet"),)):
    \"\"\"Table of devices.\"\"\"

    @observation(concurrency="capability")
    def read_state(self) -> int:
        \"\"\"Visible devices.\"\"\"
        return 1

    @action(policies=(Hours(),), tags=("a",), meta={"icon": "eye"}, doors=("embedded",))
    def select_rows(self, mode: str = "replace") -> None:
        \"\"\"Replace the selection.\"\"\"

    @select_rows.precondition
    def _(self):
        return None

    disable = reference("domain:devices.disable", approver="lead", spend_time=60)
"""
HOSTILE = "x\n::error::y\x1b[31m\u202e|"
ODD: tuple[object, ...] = (None, 5, [], {}, [None], [{}], {"to": 1}, True, "other", HOSTILE)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """A contract as the compiler wrote it."""
    root = tmp_path_factory.mktemp("handmade")
    (root / "pyproject.toml").write_text('[tool.remit]\nentries = ["app"]\n', encoding="utf-8")
    (root / "app.py").write_text(APP, encoding="utf-8")
    return compile_project(root).manifest


def remade(written: Manifest, edit: Callable[[list[Block], list[Block]], None]) -> Manifest | None:
    """The contract after an edit by hand, its hashes renewed; None when it is refused as a file."""
    components = [{**deepcopy(each)} for each in written.components.values()]
    capabilities = [{**deepcopy(each)} for each in written.capabilities.values()]
    edit(components, capabilities)
    try:
        made = assemble(
            components, capabilities, written.operations, exposure=written.exposure, policies=written.policies
        )
        return parse(made.to_bytes())
    except (DefinitionError, KeyError, TypeError, ValueError):
        return None  # what cannot even be written is no file


def told(before: Manifest, after: Manifest) -> dict[str, str]:
    report = Report(drifted=drift(before, after, {}), base="main", fails=frozenset(Drift), equals=None, adopted=False)
    return {form: unstyle(rendered(report, cast(Format, form), "detail")) for form in get_args(Format)} | {
        "rows": unstyle(rendered(report, "human", "normal"))
    }


def edits(written: Manifest) -> Iterator[tuple[int, str, object]]:
    """Every field of every row, with every odd value, and without the field."""
    rows = [*written.components.values(), *written.capabilities.values()]
    for index, row in enumerate(rows):
        for name in sorted({*row, "handoff", "steps", "untrusted", "fidelity", "source", "retry"} - {"hash"}):
            for value in (*ODD, KeyError):
                yield index, name, value


@pytest.mark.requirement("13.6-a-report-of-any-contract")
def test_whatever_a_field_of_a_contract_holds_the_report_is_whole_and_plain(written: Manifest) -> None:
    accepted = 0
    for index, name, value in edits(written):

        def edit(
            components: list[Block], capabilities: list[Block], at: int = index, key: str = name, put: object = value
        ) -> None:
            row = [*components, *capabilities][at]
            if put is KeyError:
                row.pop(key, None)
            else:
                row[key] = cast(Any, deepcopy(put))

        made = remade(written, edit)
        if made is None:
            continue
        accepted += 1
        for before, after in ((written, made), (made, written)):
            for form, text in told(before, after).items():
                assert all(first_bad(line) is None for line in text.split("\n")), (name, value, form)
                assert text.encode("utf-8")
            changes = json.loads(told(before, after)["json"])["changes"]
            assert all(each["before"] != each["after"] for each in changes), (name, value, changes)
    assert accepted > 100


@pytest.mark.requirement("13.6-a-report-of-any-contract")
def test_a_hostile_name_of_a_policy_is_one_line_of_a_report(written: Manifest) -> None:
    def edit(components: list[Block], capabilities: list[Block]) -> None:
        components[0]["policies"] = [{"name": HOSTILE, "class": HOSTILE, "methods": ["discover"]}]

    made = remade(written, edit)
    assert made is not None
    forms = told(written, made)
    assert len(forms["rows"].split("\n")) == 2 and "\\n::error::y\\u001b[31m\\u202e" in forms["rows"]
    assert [line for line in forms["github"].split("\n") if not line.startswith("::")] == []
    assert len(forms["github"].split("\n")) == 2
    assert HOSTILE in json.loads(forms["json"])["changes"][0]["after"]


@pytest.mark.requirement("13.6-before-and-after-differ")
def test_another_class_under_the_name_of_a_policy_is_told_by_its_name(written: Manifest) -> None:
    def edit(components: list[Block], capabilities: list[Block]) -> None:
        row = next(each for each in capabilities if each["id"] == "view:devices.table.selectRows")
        row["policies"] = [{"name": "hours", "class": "Never", "methods": ["discover"]}]

    made = remade(written, edit)
    assert made is not None
    (change,) = drift(written, made, {}).changes
    assert (change.before, change.after) == ("hours (discover; class Hours)", "hours (discover; class Never)")
    assert change.classes == {Drift.WIDENING}


@pytest.mark.requirement("13.6-before-and-after-differ")
def test_long_texts_are_shown_from_where_they_part(written: Manifest) -> None:
    def says(end: str) -> Manifest:
        def edit(components: list[Block], capabilities: list[Block]) -> None:
            components[0]["description"] = "word " * 40 + end

        made = remade(written, edit)
        assert made is not None
        return made

    (change,) = drift(says("one"), says("two"), {}).changes
    assert change.before.endswith('one"') and change.after.endswith('two"')
