"""The part of a contract that says which dependencies add to it, and what was approved of them (SPEC 13.5, 13.6)."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from remit import Component, DefinitionError, action
from remit._contract.external import ExternalRecord, digest_of
from remit._contract.manifest import Manifest, assemble, parse
from remit._contract.row import rows_of
from remit.cli.report import dependencies_text
from remit.compiler import Drift, drift


class Own(Component, type="own"):
    """Of the project."""

    @action
    def put(self) -> None:
        """Put."""


class Tool(Component, type="acme.tool"):
    """Of a dependency."""

    @action
    def turn(self) -> None:
        """Turn."""


BLOCKS = [rows_of(each, {}) for each in (Own, Tool)]
COMPONENTS = [each.block for each in BLOCKS]
CAPABILITIES = [row.block for each in BLOCKS for row in each.capabilities]


def record(files: str | None = "sha256:f1", version: str | None = "1.0", **others: Any) -> ExternalRecord:
    """What was approved of the dependency: what it is."""
    digest = digest_of("acme", ["acme.tool"], files, components=COMPONENTS, capabilities=CAPABILITIES)
    whole = ExternalRecord(
        name="acme",
        version=version,
        components=("acme.tool",),
        extends=(),
        files=files,
        digest=digest,
        approved=digest,
    )
    return replace(whole, **others)


def contract(*external: ExternalRecord) -> Manifest:
    """The contract of both classes."""
    return assemble(COMPONENTS, CAPABILITIES, {}, exposure={}, policies=(), external=external)


@pytest.mark.requirement("13.5-recorded")
def test_what_is_recorded_of_a_dependency_is_read_again_and_a_contract_without_one_has_no_such_part() -> None:
    manifest = contract(record(extends=("own",)))
    again = parse(manifest.to_bytes())
    assert again.external == manifest.external
    assert again.hash == manifest.hash != contract().hash
    assert "external" not in json.loads(contract().to_bytes())
    shown = dependencies_text(again).splitlines()[1]
    assert shown == f"acme        1.0      acme.tool, (inherited by own)  {record().digest}"
    rows = contract(record(files=None, version=None))
    assert "any with these rows" in dependencies_text(rows)
    assert dependencies_text(contract()) == ""


@pytest.mark.requirement("13.5-recorded", "3.7-verified")
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda form: form["external"][0].update(approved="sha256:0"), "acme is not what was approved of it"),
        (
            lambda form: form["external"][0].update(digest="sha256:0"),
            "the digest of the distribution acme does not fit",
        ),
        (lambda form: form["external"][0].update(files="sha256:0"), "the digest of the distribution acme does not fit"),
        (lambda form: form["external"][0].update(components=["own"]), "the digest of the distribution acme does not"),
        (lambda form: form["external"][0].update(version="2"), "the hash of the whole does not fit its rows"),
        (lambda form: form["external"][0].update(extends=["gone"]), "is said to add gone, which has no row"),
        (lambda form: form["external"][0].update(note="x"), "has a part “note”"),
        (lambda form: form["external"][0].update(components="own"), "a part of it has another form"),
        (lambda form: form["external"][0].update(name=1), "a part of it has another form"),
        (lambda form: form["external"][0].pop("approved"), "the part 'approved' is missing"),
        (lambda form: form["external"].append(form["external"][0]), "acme stands twice"),
        (lambda form: form["external"].append({**form["external"][0], "name": "b"}), "come from two distributions"),
        (lambda form: form.update(external=[]), "has a part “external”, which no contract of format 1 has"),
        (lambda form: form.pop("external"), "the hash of the whole does not fit its rows"),
    ],
)
def test_a_forged_approval_does_not_load(change: Callable[[Any], None], text: str) -> None:
    form = json.loads(contract(record()).to_bytes())
    change(form)
    with pytest.raises(DefinitionError) as refused:
        parse((json.dumps(form, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())
    assert text in str(refused.value)
    assert refused.value.do == "remit compile; review; commit"


@pytest.mark.requirement("13.6-dependencies")
@pytest.mark.parametrize(
    ("before", "after", "classes"),
    [
        (None, record(), {Drift.WIDENING}),
        (record(), None, {Drift.NARROWING}),
        (record(), record(files="sha256:f2", version="1.1"), {Drift.WIDENING}),
        (record(), record(files=None, version=None), {Drift.WIDENING}),
        (record(files=None, version=None), record(), {Drift.NARROWING}),
        (record(files=None), record(files=None, digest="sha256:1", approved="sha256:1"), {Drift.NEUTRAL}),
        (record(), record(extends=("own",)), {Drift.NEUTRAL}),
        (record(), record(), set()),
    ],
)
def test_another_approval_is_a_change_that_a_reviewer_sees(
    before: ExternalRecord | None, after: ExternalRecord | None, classes: set[Drift]
) -> None:
    sides = [contract(*(() if each is None else (each,))) for each in (before, after)]
    found = [each for each in drift(sides[0], sides[1], {}).changes if each.field != "components"]
    assert {each.subject for each in found} <= {"dependency acme"}
    assert {one for each in found for one in each.classes} == classes
    assert all(each.before != each.after for each in found)


@pytest.mark.requirement("13.6-dependencies")
def test_a_change_names_version_and_digest_and_where_it_was_approved() -> None:
    (change,) = drift(contract(record()), contract(record(files="sha256:f2", version="1.1")), {}).changes
    assert change.place == "pyproject.toml [tool.remit.external]"
    assert change.before.startswith("1.0 sha256:")
    assert change.after.startswith("1.1 sha256:")
