"""Definitions are fixed text and schemas with an object at their root."""

from collections.abc import Mapping

import orjson
import pytest

from remit._base.clock import ManualClock
from remit._model.consumer import Consumer
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, Kind
from remit._model.ids import CapabilityId
from remit._toolset.definitions import Definitions, define, object_root

NO_INPUT: Mapping[str, object] = {"type": "object", "properties": {}, "additionalProperties": False}


def descriptor(
    effect: Effect = Effect.LOCAL_STATE,
    confirmation: Confirmation = Confirmation.NEVER,
    output: Mapping[str, object] | None = None,
    kind: Kind = Kind.ACTION,
) -> Descriptor:
    plane = "domain:devices.disable" if kind is Kind.REFERENCE else "view:devices.table.selectRows"
    return Descriptor(
        id=CapabilityId(plane),
        kind=kind,
        effect=effect,
        component="devices.table",
        title="Select rows",
        description="Replace the row selection.",
        input_schema=NO_INPUT,
        output_schema=output,
        idempotent=False,
        reversible=True,
        confirmation=confirmation,
    )


@pytest.mark.requirement("12.2-prefix")
def test_the_prefix_names_plane_effect_and_confirmation() -> None:
    assert define(descriptor()).description == "[view · local-state] Replace the row selection."
    grave = descriptor(Effect.DESTRUCTIVE, Confirmation.ALWAYS, kind=Kind.REFERENCE)
    assert define(grave).description.startswith("[domain · destructive · requires confirmation] ")
    mild = descriptor(Effect.SERVER_MUTATION, Confirmation.OPTIONAL, kind=Kind.REFERENCE)
    assert define(mild).description.startswith("[domain · server-mutation · may require confirmation] ")


@pytest.mark.requirement("12.8-a-consumers-confirm-is-shown")
@pytest.mark.parametrize("confirm", ["local-state", "view:devices.**"])
def test_a_consumer_that_always_needs_a_person_is_told_so(confirm: str) -> None:
    consumer = Consumer("copilot", kind="embedded", confirm=[confirm])
    told = Definitions(consumer, ManualClock()).of(descriptor())
    assert told.description.startswith("[view · local-state · requires confirmation] ")


@pytest.mark.requirement("12.5-annotations", "12.8-hints-only-towards-caution")
def test_hints_are_mapped_only_towards_caution() -> None:
    read = define(descriptor(Effect.READ, kind=Kind.OBSERVATION)).hints
    assert (read.read_only, read.destructive, read.idempotent, read.open_world) == (True, False, True, False)
    local = define(descriptor()).hints
    assert (local.read_only, local.destructive, local.open_world) == (False, False, False)
    mutation = define(descriptor(Effect.SERVER_MUTATION, kind=Kind.REFERENCE)).hints
    assert (mutation.read_only, mutation.destructive, mutation.open_world) == (False, True, True)


@pytest.mark.requirement("12.5-output-schemas")
def test_an_output_that_is_no_object_travels_under_result() -> None:
    listed = define(
        descriptor(output={"type": "array", "items": {"$ref": "#/$defs/Row"}, "$defs": {"Row": {"type": "string"}}})
    )
    assert listed.wraps
    assert listed.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
        "required": ["result"],
        "additionalProperties": False,
        "$defs": {"Row": {"type": "string"}},
    }
    assert listed.structured(["a"]) == {"result": ["a"]}


@pytest.mark.requirement("12.5-output-schemas")
def test_an_object_output_travels_as_it_is_and_no_output_has_no_structure() -> None:
    as_it_is = define(descriptor(output={"type": "object", "properties": {}}))
    assert as_it_is.structured({"ids": []}) == {"ids": []}
    assert define(descriptor()).structured(None) is None


@pytest.mark.requirement("12.5-output-schemas")
def test_a_root_that_only_points_into_its_definitions_is_inlined() -> None:
    pointing = {
        "$ref": "#/$defs/State",
        "$defs": {"State": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    assert object_root(pointing)["properties"] == {"a": {"type": "string"}}
    assert define(descriptor(output=pointing)).wraps is False


@pytest.mark.requirement("12.2-definitions-are-stable")
def test_a_definition_is_made_once_and_its_bytes_are_stable() -> None:
    definitions, one = Definitions(Consumer("a", kind="test"), ManualClock()), descriptor()
    assert definitions.of(one) is definitions.of(one)
    assert orjson.dumps(definitions.of(one).to_json("x")) == orjson.dumps(define(one).to_json("x"))
    assert "outputSchema" not in definitions.of(one).to_json("x")


@pytest.mark.requirement("12.5-output-schemas")
def test_a_root_that_points_to_no_definition_is_left_as_it_is() -> None:
    pointing = {"$ref": "#/$defs/Other", "$defs": {"State": {"type": "object"}}}
    assert object_root(pointing) == {**pointing, "type": "object"}
