"""How a listing is told at the page protocol: effects, approvals, ids, and what is left out (SPEC 11.3 to 11.5)."""

import pytest

from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, Fidelity, Kind, Source
from remit._model.ids import CapabilityId, RegistrationId
from remit._model.listing import Listed
from remit._model.record import RecordCounts
from remit.gateway.page_protocol.descriptors import aim, approval_of, describe, effect_of, ids_of

NOTE = "view:orders.list.updateNote"


def descriptor(
    id: str = NOTE,
    *,
    effect: Effect = Effect.LOCAL_STATE,
    confirmation: Confirmation = Confirmation.NEVER,
    record: str | None = None,
    source: Source = Source.DECLARED,
    fidelity: Fidelity = Fidelity.HIGH,
) -> Descriptor:
    properties = {"note": {"type": "string"}, **({} if record is None else {"record": {"type": "string"}})}
    return Descriptor(
        id=CapabilityId(id),
        kind=Kind.REFERENCE if id.startswith("domain:") else Kind.ACTION,
        effect=effect,
        component="orders.list",
        title=None,
        description="Update the note.",
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        output_schema=None,
        idempotent=False,
        reversible=True,
        confirmation=confirmation,
        record=record,
        source=source,
        fidelity=fidelity,
    )


def listed(id: str = NOTE, instance: str = "default", *, record: str | None = None) -> Listed:
    counts = None if record is None else RecordCounts(total=48, offscreen=12)
    return Listed(
        descriptor=descriptor(id, record=record),
        registration=RegistrationId(f"reg_{instance}"),
        instance=instance,
        records=counts,
    )


@pytest.mark.requirement("11.4-effects-and-approvals")
@pytest.mark.parametrize(
    ("effect", "shown"),
    [
        (Effect.READ, "read"),
        (Effect.SERVER_QUERY, "read"),
        (Effect.LOCAL_STATE, "write"),
        (Effect.NAVIGATION, "write"),
        (Effect.SERVER_MUTATION, "write"),
        (Effect.EXTERNAL_SIDE_EFFECT, "write"),
        (Effect.DESTRUCTIVE, "destructive"),
    ],
)
def test_every_effect_is_read_write_or_destructive(effect: Effect, shown: str) -> None:
    assert effect_of(descriptor(effect=effect)) == shown


@pytest.mark.requirement("11.4-effects-and-approvals")
@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        (Confirmation.NEVER, "none"),
        (Confirmation.OPTIONAL, "none"),
        (Confirmation.REQUIRED, "ask"),
        (Confirmation.ALWAYS, "always"),
    ],
)
def test_the_approval_is_what_is_declared_or_what_the_consumer_is_configured_to_need(
    declared: Confirmation, shown: str
) -> None:
    assert approval_of(descriptor(confirmation=declared), asks=False) == shown
    assert approval_of(descriptor(confirmation=declared), asks=True) == "always"


@pytest.mark.requirement("11.4-effects-and-approvals")
def test_what_destroys_is_never_told_as_free_of_approval() -> None:
    lowered = descriptor(effect=Effect.DESTRUCTIVE, confirmation=Confirmation.OPTIONAL)
    assert approval_of(lowered, asks=False) == "ask"


@pytest.mark.requirement("11.5-a-bare-id-while-unique")
def test_an_id_has_its_kind_and_an_instance_only_where_there_are_several() -> None:
    assert ids_of([listed()]) == (NOTE,)
    assert ids_of([listed(record="order")]) == (f"{NOTE}@order",)
    assert ids_of([listed("domain:orders.ship")]) == ("domain:orders.ship",)
    assert ids_of([listed(instance="a", record="order"), listed(instance="b", record="order")]) == (
        f"{NOTE}@order#a",
        f"{NOTE}@order#b",
    )
    assert ids_of([listed("domain:orders.ship", "a"), listed("domain:orders.ship", "b")]) == (
        "domain:orders.ship#orders.list/a",
        "domain:orders.ship#orders.list/b",
    )


@pytest.mark.requirement("11.5-a-bare-id-while-unique")
@pytest.mark.parametrize(
    ("id", "capability", "instance", "found"),
    [
        (NOTE, NOTE, None, ["a", "b"]),
        (f"{NOTE}@order", NOTE, None, ["a", "b"]),
        (f"{NOTE}@order#b", NOTE, "b", ["b"]),
        (f"{NOTE}#a", NOTE, "a", ["a"]),
        (f"{NOTE}#c", NOTE, "c", []),
        (f"{NOTE}@invoice", f"{NOTE}@invoice", None, []),
        (f"{NOTE}@invoice#a", f"{NOTE}@invoice#a", None, []),
        (f"{NOTE}@order#", f"{NOTE}@order#", None, []),
        (f"{NOTE}s", f"{NOTE}s", None, []),
        ("domain:odd#name", "domain:odd#name", None, ["x"]),
        ("domain:odd#name#orders.list/x", "domain:odd#name", "orders.list/x", ["x"]),
        ("domain:odd#name#x", "domain:odd#name", "x", ["x"]),
        ("domain:odd", "domain:odd", None, []),
    ],
)
def test_an_id_means_what_is_listed_under_it_and_nothing_alike(
    id: str, capability: str, instance: str | None, found: list[str]
) -> None:
    visible = [
        listed(instance="a", record="order"),
        listed(instance="b", record="order"),
        listed("domain:odd#name", "x"),
    ]
    aimed = aim(id, visible)
    assert (aimed.capability, aimed.instance) == (capability, instance)
    assert [each.instance for each in aimed.found] == found


@pytest.mark.requirement("11.3-a-descriptor")
def test_a_descriptor_leaves_out_what_is_as_usual_and_the_record_from_the_schema() -> None:
    told = describe(f"{NOTE}@order", listed(record="order"), lambda descriptor: False)
    assert told == {
        "id": f"{NOTE}@order",
        "description": "Update the note.",
        "effect": "write",
        "inputSchema": {
            "type": "object",
            "properties": {"note": {"type": "string"}},
            "required": ["note"],
            "additionalProperties": False,
        },
        "offscreen": True,
        "record": {"param": "record", "total": 48, "offscreen": 12},
        "available": True,
        "registration": "reg_default",
        "instance": "default",
    }


@pytest.mark.requirement("11.3-fidelity-and-source")
def test_who_wrote_it_and_how_well_it_is_known_are_told_where_they_are_not_as_usual() -> None:
    guessed = descriptor(source=Source.DERIVED, fidelity=Fidelity.MEDIUM)
    told = Listed(descriptor=guessed, registration=RegistrationId("reg_1"), instance="default")
    form = describe(NOTE, told, lambda _: False)
    assert (form["source"], form["fidelity"]) == ("derived", "medium")
    assert not {"source", "fidelity"} & set(describe(NOTE, listed(), lambda _: False))
