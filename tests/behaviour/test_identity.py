"""Names and ids (SPEC 2)."""

import re
from typing import Any, cast

import pytest

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Invocation,
    Ok,
    Procedures,
    Surface,
    action,
    observation,
    reference,
)
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output


@pytest.mark.requirement("2.1-component-type")
@pytest.mark.parametrize(
    "name", ["Devices", "devices..table", "devices.1x", "devices_table", "a\n", "", "-a", "dévices"]
)
def test_a_component_type_outside_the_grammar_is_refused_with_id_rule_and_place(name: str) -> None:
    with pytest.raises(DefinitionError) as refused:

        class Table(Component, type=name):
            """A table."""

    assert refused.value.code == "INVALID_ID"
    assert repr(name) in str(refused.value) and "[a-z][a-z0-9-]*" in str(refused.value)
    assert refused.value.place is not None and refused.value.place.startswith("test_identity.py:")


@pytest.mark.requirement("2.1-capability-name")
@pytest.mark.parametrize("name", ["Read", "read_all", "", "1read", "read-all", "lésen", "read\n"])
def test_a_capability_name_outside_the_grammar_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError) as refused:

        class Table(Component, type="table"):
            """A table."""

            @observation(name=name)
            def read(self) -> int:
                """Read."""
                return 1

    assert refused.value.code == "INVALID_ID"


@pytest.mark.requirement("2.1-id-length")
def test_an_id_has_at_most_128_characters() -> None:
    def declare(name: str) -> type[Component]:
        class Table(Component, type="t"):
            """A table."""

            @observation(name=name)
            def read(self) -> int:
                """Read."""
                return 1

        return Table

    fits = "r" * (128 - len("view:t."))
    assert declare(fits).read.id == f"view:t.{fits}"  # type: ignore[attr-defined]
    with pytest.raises(DefinitionError) as refused:
        declare(fits + "r")
    assert refused.value.code == "INVALID_ID"


@pytest.mark.requirement("2.1-domain-id")
@pytest.mark.parametrize(
    "target", ["view:x.y", "domain:", "domain:a\x00b", "domain:a\nb", "domain:\ud800", "domain:" + "x" * 122, "x"]
)
def test_a_reference_names_a_domain_path_without_control_characters(target: str) -> None:
    with pytest.raises(DefinitionError) as refused:

        class Table(Component, type="table"):
            """A table."""

            go = reference(target)

    assert refused.value.code == "INVALID_ID"


@pytest.mark.requirement("2.1-domain-id")
def test_the_path_of_a_domain_id_is_the_backends_own_opaque_name() -> None:
    backend = Procedures()

    @backend.operation("Odd Name/ü@2", effect="server-query")
    async def query() -> int:
        """Query."""
        return 1

    class Table(Component, type="table"):
        """A table."""

        ask = reference("domain:Odd Name/ü@2")

    surface = Surface(authority_of(Table, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Table())
    assert [listed.id for listed in surface.connect(AGENT).capabilities()] == ["domain:Odd Name/ü@2"]


@pytest.mark.requirement("2.1-instance")
@pytest.mark.parametrize("instance", ["", "a b", "a/b", "x" * 129, "é", "a\n"])
def test_an_instance_name_outside_the_grammar_is_refused(instance: str) -> None:
    class Table(Component, type="table"):
        """A table."""

    surface = Surface(authority_of(Table), principal="operator")
    with pytest.raises(DefinitionError) as refused:
        surface.mount(Table(), instance)
    assert refused.value.code == "INVALID_ID"
    assert surface.mount(Table(), "x" * 128).status == "mounted"
    assert surface.mount(Table()).status == "mounted"
    assert surface.mount(Table(), "default").status == "rejected"


@pytest.mark.requirement("2.2-name-from-method")
def test_a_method_in_snake_case_declares_a_camel_case_name() -> None:
    class Table(Component, type="devices.table"):
        """A table."""

        @action
        def select_all_rows(self, row_ids: list[str]) -> None:
            """Select."""

        @action(name="clear")
        def remove_everything(self) -> None:
            """Clear."""

    assert Table.select_all_rows.id == "view:devices.table.selectAllRows"
    assert Table.remove_everything.id == "view:devices.table.clear"
    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    schema = surface.connect(AGENT).capabilities()[0].descriptor.input_schema
    assert list(cast("dict[str, object]", schema["properties"])) == ["row_ids"]


@pytest.mark.requirement("2.2-one-name-twice")
def test_two_methods_that_give_one_name_are_refused() -> None:
    with pytest.raises(DefinitionError) as refused:

        class Table(Component, type="table"):
            """A table."""

            @action
            def select_rows(self) -> None:
                """Select."""

            @action(name="selectRows")
            def other(self) -> None:
                """Select."""

    assert refused.value.code == "DUPLICATE_CAPABILITY"
    assert "select_rows" in str(refused.value) and "other" in str(refused.value)


@pytest.mark.requirement("2.3-malformed-id-is-unknown")
@pytest.mark.parametrize(
    "malformed",
    [
        "",
        "view:",
        "view:table",
        "view:Table.read",
        "domain:",
        "x:y.z",
        "view:table.read\n",
        "\ud800",
        5,
        None,
        ["x"],
        b"x",
    ],
)
async def test_a_malformed_id_at_call_time_is_an_unknown_id_never_an_exception(malformed: object) -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    outcome = await surface.invoke(Invocation(cast(Any, malformed)), AGENT)
    unknown = await surface.invoke(Invocation("view:table.madeUp"), AGENT)
    assert failed(outcome, "CAPABILITY_NOT_FOUND") == failed(unknown)


@pytest.mark.requirement("2.3-malformed-target-is-unknown")
@pytest.mark.parametrize("field", ["instance", "registration", "surface_id"])
async def test_a_malformed_target_beside_the_id_is_a_value_too(field: str) -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    for odd in ("\ud800", "", "x" * 100_000, "a\x00b"):
        fields = cast("dict[str, Any]", {field: odd})
        error = failed(await surface.invoke(Invocation("view:table.read", **fields), AGENT))
        assert error.code in ("CAPABILITY_NOT_FOUND", "STALE_CAPABILITY")


@pytest.mark.requirement("2.5-opaque-ids")
async def test_opaque_ids_have_their_prefix_and_are_never_reused() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def clear(self) -> None:
            """Clear."""

    authority = authority_of(Table)
    seen: set[str] = set()
    for _ in range(20):
        surface = Surface(authority, principal="operator")
        surface.confirmations.subscribe(lambda view: None)
        mount = surface.mount(Table())
        outcome = await surface.connect(AGENT).call("view:table.clear")
        found = {
            "srf_": surface.surface_id,
            "reg_": mount.registration_id,
            "inv_": outcome.invocation_id,
            "cnf_": failed(outcome).details["confirmation_id"],
        }
        for prefix, opaque in found.items():
            assert isinstance(opaque, str) and re.fullmatch(rf"{prefix}[A-Za-z0-9_-]{{16,}}", opaque)
            seen.add(opaque)
    assert len(seen) == 80


@pytest.mark.requirement("2.5-own-invocation-id")
async def test_a_caller_may_give_its_own_invocation_id_of_1_to_128_plain_characters() -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    own = await agent.call("view:table.read", id="A-z_0." + "9" * 122)
    assert output(own) == 1 and own.invocation_id == "A-z_0." + "9" * 122
    for odd in ("", "x" * 129, "a b", "a/b", "é", "a\n"):
        error = failed(await agent.call("view:table.read", id=odd), "INVALID_INPUT")
        assert error.details["issues"] == [
            {"path": "", "message": "`id` must be 1 to 128 characters of [A-Za-z0-9._-]"}
        ]


@pytest.mark.requirement("2.7-planes-do-not-share-a-name")
def test_view_and_domain_with_the_same_rest_are_refused_at_compile_time() -> None:
    backend = Procedures()

    @backend.operation("table.read", effect="server-query")
    async def query() -> int:
        """Query."""
        return 1

    class Table(Component, type="table"):
        """A table."""

        ask = reference("domain:table.read")

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    with pytest.raises(DefinitionError) as refused:
        authority_of(Table, procedures=backend)
    assert refused.value.code == "DUPLICATE_CAPABILITY"


@pytest.mark.requirement("2.7-planes-at-attach")
def test_view_and_domain_with_the_same_rest_are_refused_when_a_catalogue_is_attached() -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    authority = authority_of(Table)
    backend = Procedures()

    @backend.operation("table.read", effect="server-query")
    async def query() -> int:
        """Query."""
        return 1

    with pytest.raises(DefinitionError) as refused:
        Surface(authority, principal="operator", procedures=backend)
    assert refused.value.code == "DUPLICATE_CAPABILITY"


@pytest.mark.requirement("6.1-class-attribute-stands-for-its-id")
async def test_a_class_attribute_stands_for_its_id_and_input_is_one_mapping() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def say(self, id: str, timeout: int) -> str:
            """Say."""
            return f"{id} {timeout}"

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    outcome = await surface.connect(AGENT).call(Table.say, {"id": "x", "timeout": 3}, timeout=9)
    assert isinstance(outcome, Ok)
    assert (outcome.output, outcome.capability_id) == ("x 3", "view:table.say")


@pytest.mark.requirement("5.1-consumer-key")
async def test_the_key_of_a_consumer_is_the_unambiguous_tuple_and_nothing_flows_between_keys() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def clear(self) -> None:
            """Clear."""

    one = Consumer("a", kind="test", issuer="i", actors=("a", "b"), grant="g")
    others = [
        Consumer("a", kind="embedded", issuer="i", actors=("a", "b"), grant="g"),
        Consumer("a", kind="test", issuer="j", actors=("a", "b"), grant="g"),
        Consumer("a", kind="test", issuer="i", actors=("b", "a"), grant="g"),
        Consumer("a", kind="test", issuer="i", actors=("a b",), grant="g"),
        Consumer("a", kind="test", issuer="i", actors=("a", "b"), grant="h"),
        Consumer("a", kind="test", issuer=None, actors=("a", "b"), grant="g"),
    ]
    assert one.key == Consumer("renamed", kind="test", issuer="i", actors=("a", "b"), grant="g").key
    surface = Surface(authority_of(Table), principal="operator")
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    asked = failed(await surface.connect(one).call("view:table.clear", id="same"), "CONFIRMATION_REQUIRED")
    evidence = str(asked.details["confirmation_id"])
    await surface.confirmations.approve(evidence, OPERATOR)
    for other in others:
        error = failed(await surface.connect(other).call("view:table.clear", confirmation=evidence))
        assert (error.code, error.details["reason"]) == ("CONFIRMATION_INVALID", "mismatch")
        own = failed(await surface.connect(other).call("view:table.clear", id="same"), "CONFIRMATION_REQUIRED")
        assert own.details["confirmation_id"] != evidence
        await surface.withdraw(str(own.details["confirmation_id"]), other)
    output(await surface.connect(one).call("view:table.clear", confirmation=evidence))
