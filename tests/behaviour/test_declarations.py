"""What a declaration may be and what it is refused for (SPEC 3.1 to 3.6, 3.10 to 3.13)."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field

from remit import (
    Component,
    Consumer,
    DefinitionError,
    Kind,
    Ok,
    Procedures,
    Refused,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import Policy, RequireConfirmation, ReviewContext
from tests.behaviour.conftest import AGENT, authority_of, contract_of, failed, output


def code_of(declare: Callable[[], object]) -> str:
    """The code with which a declaration is refused; it names a place in this file."""
    with pytest.raises(DefinitionError) as refused:
        declare()
    assert refused.value.place is None or refused.value.place.startswith("test_declarations.py:")
    return refused.value.code.value


@pytest.mark.requirement("3.1-nothing-undecorated-is-exposed")
async def test_nothing_undecorated_is_ever_exposed() -> None:
    class Table(Component, type="table"):
        """A table."""

        secret = 5

        @observation
        def read(self) -> int:
            """Read."""
            return self.helper()

        def helper(self) -> int:
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert [listed.id for listed in agent.capabilities()] == ["view:table.read"]
    for name in ("helper", "secret", "__init__"):
        failed(await agent.call(f"view:table.{name}"), "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("3.1-attached-come-back-undecorated", "3.1-stacked-attachments")
async def test_attached_functions_come_back_undecorated_and_may_serve_several_capabilities() -> None:
    class Table(Component, type="table"):
        """A table."""

        def __init__(self) -> None:
            self.rows = 0

        @action
        def clear(self) -> None:
            """Clear."""

        @action
        def sort(self) -> None:
            """Sort."""

        @clear.available
        @sort.available
        def has_rows(self) -> Literal[True] | Unavailable:
            return True if self.rows else Unavailable("No rows")

    table = Table()
    assert table.has_rows() == Unavailable("No rows")
    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(table)
    assert [listed.reason for listed in surface.connect(AGENT).capabilities()] == ["No rows", "No rows"]
    table.rows = 1
    assert all(listed.available for listed in surface.connect(AGENT).capabilities())


@pytest.mark.requirement("3.1-available-says-true-aloud")
async def test_available_that_forgets_to_return_fails_closed() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def clear(self) -> None:
            """Clear."""

        @clear.available
        def _(self) -> Any:
            return None

        @action
        def sort(self) -> None:
            """Sort."""

        @sort.available
        def _(self) -> Any:
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    for capability in (Table.clear, Table.sort):
        failed(await surface.connect(AGENT).call(capability), "CAPABILITY_NOT_AVAILABLE")


@pytest.mark.requirement("3.1-bare-action-is-local-state")
def test_a_bare_action_is_local_state() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def clear(self) -> None:
            """Clear."""

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    assert surface.connect(AGENT).capabilities()[0].descriptor.effect == "local-state"


@pytest.mark.requirement("3.1-dataclass-with-slots")
async def test_a_dataclass_with_slots_is_a_component_keyed_by_identity() -> None:
    @dataclass(slots=True)
    class Table(Component, type="table"):
        """A table."""

        rows: list[int]

        @observation
        def read(self) -> list[int]:
            """Read."""
            return self.rows

    surface = Surface(authority_of(Table), principal="operator")
    one, other = Table([1]), Table([1])
    assert one == other
    surface.mount(one, "one")
    surface.mount(other, "other")
    other.rows = [2]
    assert output(await surface.connect(AGENT).call(Table.read, instance="one")) == [1]
    assert output(await surface.connect(AGENT).call(Table.read, instance="other")) == [2]


@pytest.mark.requirement("3.2-description-is-the-first-paragraph")
def test_a_description_is_the_first_paragraph_of_the_docstring_or_literal() -> None:
    class Table(Component, type="table"):
        """Table of devices
        that match.

        Never shown to anybody.
        """

        @observation
        def read(self) -> int:
            """Read
            it.

            Private notes.
            """
            return 1

        @action(description="Written out", title="Clear it")
        def clear(self) -> None:
            """Never shown."""

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    component = surface.snapshot(AGENT).components[0]
    assert component.description == "Table of devices that match."
    assert [listed.descriptor.description for listed in component.capabilities] == ["Read it.", "Written out"]
    assert [listed.descriptor.title for listed in component.capabilities] == [None, "Clear it"]


@pytest.mark.requirement("3.2-description-limits")
def test_descriptions_and_titles_have_limits_and_refused_characters() -> None:
    def table(description: str | None, title: str | None = None) -> Callable[[], object]:
        def declare() -> object:
            class Table(Component, type="table", description=description, title=title):
                pass

            return Table

        return declare

    def act(description: str | None, title: str | None = None) -> Callable[[], object]:
        def declare() -> object:
            class Table(Component, type="table"):
                """A table."""

                @action(description=description, title=title)
                def clear(self) -> None: ...

            return Table

        return declare

    table("x" * 500, "t" * 80)()
    act("x" * 300, "t" * 80)()
    assert code_of(table("x" * 501)) == code_of(act("x" * 301)) == "LIMIT_EXCEEDED"
    assert code_of(table("x", "t" * 81)) == code_of(act("x", "t" * 81)) == "LIMIT_EXCEEDED"
    for wrong in (None, "", "   ", "a\nb", "a\u202eb", "a\u200bb", "a\U000e0041b", "a\x07b"):
        assert code_of(table(wrong)) == code_of(act(wrong)) == "INVALID_DEFINITION"


@pytest.mark.requirement("3.2-no-description")
def test_a_missing_description_says_what_where_why_and_what_to_do() -> None:
    with pytest.raises(DefinitionError) as refused:

        class Table(Component, type="devices.table"):
            """A table."""

            @action
            def select_rows(self) -> None: ...

    text = str(refused.value)
    assert "[INVALID_DEFINITION] devices.table.selectRows has no description" in text.replace(
        "selectRows: ", "selectRows "
    )
    assert "test_declarations.py:" in text and "do  write a docstring" in text


@pytest.mark.requirement("3.4-defaults")
def test_each_effect_has_the_defaults_of_the_table() -> None:
    backend = Procedures()
    for effect in ("server-query", "server-mutation", "external-side-effect", "destructive"):

        @backend.operation(f"op.{effect}", effect=cast(Any, effect))
        async def run() -> int:
            """Run."""
            return 1

    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @action
        def local(self) -> None:
            """Local."""

        @action(effect="navigation")
        def navigate(self) -> None:
            """Navigate."""

        query = reference("domain:op.server-query")
        mutation = reference("domain:op.server-mutation")
        external = reference("domain:op.external-side-effect")
        destructive = reference("domain:op.destructive")

    surface = Surface(authority_of(Table, procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    found = {
        d.effect.value: (d.idempotent, d.reversible, d.confirmation.value)
        for d in (listed.descriptor for listed in surface.connect(AGENT).capabilities())
    }
    assert found == {
        "read": (True, None, "never"),
        "local-state": (False, True, "never"),
        "navigation": (False, True, "never"),
        "server-query": (True, None, "never"),
        "server-mutation": (False, False, "optional"),
        "external-side-effect": (False, False, "always"),
        "destructive": (False, False, "always"),
    }


@pytest.mark.requirement("3.4-grave-is-always")
def test_what_is_grave_and_required_is_always_and_a_local_act_stays_required() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="destructive", confirmation="required")
    async def wipe() -> int:
        """Wipe."""
        return 1

    @backend.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save."""
        return 1

    class Draft(Component, type="draft"):
        """A draft."""

        @action(reversible=False, confirmation="required")
        def clear(self) -> None:
            """Clear."""

        wipe = reference("domain:wipe")
        save = reference("domain:save", confirmation="required")

    surface = Surface(authority_of(Draft, procedures=backend), principal="operator", procedures=backend)
    surface.mount(Draft())
    levels = {c.id: c.descriptor.confirmation.value for c in surface.connect(AGENT).capabilities()}
    assert levels == {"view:draft.clear": "required", "domain:wipe": "always", "domain:save": "required"}


@pytest.mark.requirement("3.4-lowering-needs-a-reason")
def test_lowering_below_the_default_needs_a_literal_reason_and_has_a_floor() -> None:
    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe() -> int:
        """Wipe."""
        return 1

    @backend.operation("mail", effect="external-side-effect")
    async def mail() -> int:
        """Mail."""
        return 1

    @backend.operation("save", effect="server-mutation")
    async def save() -> int:
        """Save."""
        return 1

    def lowered(target: str, level: str, reason: str | None) -> Callable[[], object]:
        def declare() -> object:
            class Table(Component, type="table"):
                """A table."""

                go = reference(target, confirmation=cast(Any, level), reason=reason)

            return authority_of(Table, procedures=backend)

        return declare

    for target, level in (("domain:wipe", "optional"), ("domain:save", "never")):
        assert code_of(lowered(target, level, None)) == "INVALID_DEFINITION"
        lowered(target, level, "A second system asks")()
    for target, level in (("domain:wipe", "never"), ("domain:mail", "optional"), ("domain:mail", "never")):
        assert code_of(lowered(target, level, "Because")) == "INVALID_DEFINITION"
    assert code_of(lowered("domain:save", "optional", "Nothing is lowered")) == "INVALID_DEFINITION"
    assert b"A second system asks" in contract_of_lowered(backend)


def contract_of_lowered(backend: Procedures) -> bytes:
    class Table(Component, type="table"):
        """A table."""

        go = reference("domain:save", confirmation="never", reason="A second system asks")

    return contract_of(Table, procedures=backend)


@pytest.mark.requirement("3.4-lowered-destructive-needs-review")
async def test_a_destructive_capability_lowered_to_optional_needs_a_policy_with_review_and_still_asks() -> None:
    ran: list[str] = []
    backend = Procedures()

    @backend.operation("wipe", effect="destructive")
    async def wipe() -> int:
        """Wipe."""
        ran.append("wipe")
        return 1

    class Quiet(Policy, name="quiet"):
        async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
            return None

    class Table(Component, type="table"):
        """A table."""

        go = reference("domain:wipe", confirmation="optional", reason="A policy decides")

    authority = authority_of(Table, procedures=backend)
    bare = Surface(authority, principal="operator", procedures=backend)
    assert code_of(lambda: bare.mount(Table())) == "INVALID_DEFINITION"
    guarded = Surface(authority, principal="operator", procedures=backend, policies=[Quiet()])
    guarded.confirmations.subscribe(lambda view: None)
    guarded.mount(Table())
    failed(await guarded.connect(AGENT).call("domain:wipe"), "CONFIRMATION_REQUIRED")
    assert ran == []


@pytest.mark.requirement("3.4-plane-violation")
@pytest.mark.parametrize("effect", ["server-query", "server-mutation", "external-side-effect", "destructive"])
def test_a_view_action_with_a_server_effect_is_a_plane_violation(effect: str) -> None:
    def declare() -> object:
        class Table(Component, type="table"):
            """A table."""

            @action(effect=cast(Any, effect))
            def wipe(self) -> None:
                """Wipe."""

        return Table

    assert code_of(declare) == "PLANE_VIOLATION"


@pytest.mark.requirement("3.4-plane-violation-of-the-backend")
@pytest.mark.parametrize("effect", ["read", "local-state", "navigation"])
def test_a_backend_operation_with_a_view_effect_is_a_plane_violation(effect: str) -> None:
    backend = Procedures()

    def declare() -> object:
        @backend.operation("x", effect=cast(Any, effect))
        async def run() -> int:
            """Run."""
            return 1

        return run

    assert code_of(declare) == "PLANE_VIOLATION"
    assert backend.names() == ()


@pytest.mark.requirement("3.5-unsupported-schema")
def test_a_hint_outside_the_subset_names_the_field_and_what_to_write() -> None:
    class Node(BaseModel):
        children: "list[Node]"

    def declare(hint: Any) -> Callable[[], object]:
        def build() -> object:
            class Table(Component, type="table"):
                """A table."""

                @action
                def put(self, value: hint) -> None:  # pyright: ignore[reportInvalidTypeForm]
                    """Put."""

            return authority_of(Table)

        return build

    for hint in (Node, Callable[[], int], dict[int, str], bytes | object):
        with pytest.raises(DefinitionError) as refused:
            declare(hint)()
        assert refused.value.code == "UNSUPPORTED_SCHEMA"
        assert "table.put: value" in str(refused.value)


@pytest.mark.requirement("3.5-closed-objects")
async def test_the_root_and_nested_objects_of_an_input_are_closed() -> None:
    class Filter(BaseModel):
        city: str

    class Table(Component, type="table"):
        """A table."""

        @action
        def apply(self, filter: Filter) -> str:
            """Apply."""
            return filter.city

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Table.apply, {"filter": {"city": "Milan"}})) == "Milan"
    root = failed(await agent.call(Table.apply, {"filter": {"city": "x"}, "approved": True}), "INVALID_INPUT")
    nested = failed(await agent.call(Table.apply, {"filter": {"city": "x", "role": "admin"}}), "INVALID_INPUT")
    assert [issue["path"] for issue in cast(Any, root.details["issues"])] == ["approved"]
    assert [issue["path"] for issue in cast(Any, nested.details["issues"])] == ["filter.role"]


@pytest.mark.requirement("3.6-values-are-normalised")
async def test_values_are_normalised_and_defaults_applied_once_before_anybody_sees_them() -> None:
    seen: list[object] = []

    class Watch(Policy, name="watch"):
        async def review(self, ctx: ReviewContext) -> None:
            seen.append(dict(ctx.input))

    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def put(self, count: int, label: str = "none", options: tuple[int, ...] = (1,)) -> str:
            """Put."""
            seen.append((type(count), count, label, options))
            return "put"

    surface = Surface(authority_of(Table), principal="operator", policies=[Watch()])
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    agent = surface.connect(AGENT)
    asked = failed(await agent.call(Table.put, {"count": 1.0}), "CONFIRMATION_REQUIRED")
    (request,) = surface.confirmations.pending()
    assert dict(request.input) == {"count": 1, "label": "none", "options": [1]} == seen[0]
    assert isinstance(request.input["count"], int)
    same = failed(await agent.call(Table.put, {"label": "none", "count": 1}), "CONFIRMATION_REQUIRED")
    assert same.details["confirmation_id"] == asked.details["confirmation_id"]


@pytest.mark.requirement("3.6-what-no-json-schema-allows")
@pytest.mark.parametrize(
    "value",
    [True, "one", 1.5, float("nan"), float("inf"), 2**53, -(2**53), 1e18, None, [1], {"a": 1}, (1,), b"1", "\ud800"],
)
async def test_what_is_no_exact_integer_is_refused(value: object) -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, count: int) -> int:
            """Put."""
            return count

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    failed(await surface.connect(AGENT).call(Table.put, {"count": value}), "INVALID_INPUT")
    assert output(await surface.connect(AGENT).call(Table.put, {"count": 2**53 - 1})) == 2**53 - 1


@pytest.mark.requirement("3.6-a-tuple-or-set-is-not-json")
async def test_a_tuple_a_set_and_text_that_is_no_text_are_not_json() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, values: list[int], name: str = "") -> int:
            """Put."""
            return len(values)

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    odd: list[Any] = [
        {"values": (1, 2)},
        {"values": {1}},
        {"values": [], "name": "\udfff"},
        {1: []},
        {"values": [b"1"]},
    ]
    for wrong in odd:
        failed(await agent.call(Table.put, wrong), "INVALID_INPUT")
    assert output(await agent.call(Table.put, {"values": [1, 2]})) == 2


@pytest.mark.requirement("3.6-formats-are-enforced")
async def test_formats_are_enforced() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def on(self, day: Annotated[str, Field(json_schema_extra={"format": "date"})]) -> str:
            """On."""
            return day

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Table.on, {"day": "2026-02-28"})) == "2026-02-28"
    for wrong in ("2026-02-30", "28.02.2026", "2026-02-28T10:00:00Z"):
        failed(await agent.call(Table.on, {"day": wrong}), "INVALID_INPUT")


@pytest.mark.requirement("3.8-frozen-metadata")
def test_assigning_over_a_capability_raises_and_a_patch_behind_it_is_refused_at_mount() -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    authority = authority_of(Table)
    with pytest.raises(DefinitionError):
        setattr(Table, "read", None)  # noqa: B010 - checkers refuse the plain form
    with pytest.raises(DefinitionError):
        del Table.read
    with pytest.raises(AttributeError):
        Table().read = cast(Any, None)
    type.__setattr__(Table, "read", lambda self: 2)
    with pytest.raises(DefinitionError) as refused:
        Surface(authority, principal="operator").mount(Table())
    assert refused.value.code == "CONTRACT_MISMATCH"


@pytest.mark.requirement("3.8-sealed-function")
async def test_a_call_goes_through_the_sealed_function_never_a_later_attribute() -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    table = Table()
    surface.mount(table)
    type.__setattr__(Table, "read", lambda self: 2)
    assert output(await surface.connect(AGENT).call("view:table.read")) == 1


@pytest.mark.requirement("3.8-sealed-function")
@pytest.mark.parametrize("blocking", [False, True])
async def test_neither_does_a_call_that_awaits_or_runs_in_a_thread(blocking: bool) -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        async def put(self) -> int:
            """Put."""
            return 1

        @action(blocking=True)
        def save(self) -> int:
            """Save."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    name = "save" if blocking else "put"
    assert output(await surface.connect(AGENT).call(f"view:table.{name}")) == 1

    async def later(self: Table) -> int:
        return 2

    type.__setattr__(Table, name, (lambda self: 2) if blocking else later)
    assert output(await surface.connect(AGENT).call(f"view:table.{name}")) == 1


@pytest.mark.requirement("3.8-under-oo")
def test_mounting_says_so_when_python_dropped_the_docstrings() -> None:
    program = """
from remit import Component, observation
from tests.behaviour.conftest import authority_of
class Table(Component, type="table"):
    '''A table.'''
    @observation
    def read(self) -> int:
        '''Read.'''
        return 1
authority_of(Table)
"""
    done = subprocess.run(
        [sys.executable, "-OO", "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert "INVALID_DEFINITION" in done.stderr and "-OO" in done.stderr


@pytest.mark.requirement("3.10-inert")
async def test_a_class_a_method_and_a_reference_are_inert_outside_a_surface() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action(confirmation="required")
        def double(self, by: int) -> int:
            """Double."""
            return by * 2

    assert Table().double(4) == 8
    with pytest.raises(TypeError, match=r"surface\.mount\(Table\) got the class(.|\n)*surface\.mount\(Table\(…\)\)"):
        Surface(authority_of(Table), principal="operator").mount(cast(Any, Table))
    with pytest.raises(TypeError, match="Authority"):
        Surface(cast(Any, Table), principal="operator")


@pytest.mark.requirement("3.11-observation-declares-its-output")
def test_an_observation_declares_an_output_type() -> None:
    def declare() -> object:
        class Table(Component, type="table"):
            """A table."""

            @observation
            def read(self):  # type: ignore[no-untyped-def]
                """Read."""

        return authority_of(Table)

    assert code_of(declare) == "INVALID_DEFINITION"


@pytest.mark.requirement("3.11-output-optional-for-actions")
async def test_output_types_are_optional_for_actions() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, count: int):  # type: ignore[no-untyped-def]
            """Put."""
            return {"count": count}

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    assert output(await surface.connect(AGENT).call("view:table.put", {"count": 1})) == {"count": 1}


@pytest.mark.requirement("3.12-run-time-text-is-one-capped-line")
async def test_run_time_texts_are_one_line_capped_and_without_refused_characters() -> None:
    rude = "a\nb\u202ec\u200b  d\x07" + "x" * 400

    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @read.note
        def _(self) -> str:
            return rude

        @action
        def clear(self) -> None:
            """Clear."""

        @clear.available
        def _(self) -> Unavailable:
            return Unavailable(rude)

        @action
        def refuse(self) -> Refused:
            """Refuse."""
            return Refused(rude)

    surface = Surface(authority_of(Table), principal="operator")
    mount = surface.mount(Table())
    read, clear, refuse = surface.connect(AGENT).capabilities()
    assert read.note is not None and clear.reason is not None and refuse.reason is None
    refused = failed(await surface.connect(AGENT).call(Table.refuse), "PRECONDITION_FAILED").details["reason"]
    mount.update(available={"read": rude})
    pushed = surface.connect(AGENT).capabilities()[0].reason
    for text, most in ((read.note, 300), (clear.reason, 200), (refused, 200), (pushed, 200)):
        assert isinstance(text, str) and text.startswith("a bc d") and len(text) == most and text.endswith("…")
    assert read.descriptor.description == "Read."


@pytest.mark.requirement("3.13-network-doors-are-opted-into")
async def test_without_doors_or_exposure_only_in_process_doors_see_a_capability() -> None:
    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @observation(doors=["mcp"])
        def remote(self) -> int:
            """Remote."""
            return 1

        @observation(doors=["embedded"])
        def embedded(self) -> int:
            """Embedded."""
            return 1

        @observation
        def opened(self) -> int:
            """Opened."""
            return 1

    surface = Surface(authority_of(Table, exposure={"mcp": ["view:table.opened"]}), principal="operator")
    surface.mount(Table())
    everything = ["view:**"]
    seen = {
        kind: {
            c.id.rpartition(".")[2] for c in surface.connect(Consumer("c", kind=kind, scope=everything)).capabilities()
        }
        for kind in ("embedded", "test", "mcp", "webmcp", "page", "other")
    }
    assert seen == {
        "embedded": {"read", "embedded", "opened"},
        "test": {"read", "opened"},
        "mcp": {"remote", "opened"},
        "webmcp": set(),
        "page": set(),
        "other": set(),
    }
    remote = surface.connect(Consumer("c", kind="mcp", scope=everything))
    failed(await remote.call(Table.read), "CAPABILITY_NOT_FOUND")
    assert isinstance(await remote.call(Table.opened), Ok)


@pytest.mark.requirement("3.13-doors-of-a-component")
def test_doors_of_a_component_hold_for_its_capabilities_unless_one_names_its_own() -> None:
    class Table(Component, type="table", doors=["mcp"]):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

        @observation(doors=["test"])
        def own(self) -> int:
            """Own."""
            return 1

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    mcp = surface.connect(Consumer("c", kind="mcp", scope=["view:**"]))
    assert [c.id for c in mcp.capabilities()] == ["view:table.read"]
    assert [c.id for c in surface.connect(AGENT).capabilities()] == ["view:table.own"]
    assert code_of(lambda: type("X", (Component,), {"__doc__": "X."}, type="x", doors=["door"])) == "INVALID_DEFINITION"


@pytest.mark.requirement("3.1-precondition-names")
def test_a_precondition_takes_the_actions_own_parameters_by_name() -> None:
    def declare() -> object:
        class Table(Component, type="table"):
            """A table."""

            @action
            def put(self, count: int) -> None:
                """Put."""

            @put.precondition
            def check(self, amount: int) -> None:
                return None

        return Table

    assert code_of(declare) == "INVALID_DEFINITION"


@pytest.mark.requirement("3.1-precondition-names")
async def test_a_precondition_is_given_those_parameters_that_it_names() -> None:
    class Table(Component, type="table"):
        """A table."""

        @action
        def put(self, count: int, into: str = "here") -> None:
            """Put."""

        @put.precondition
        def check(self, into: str) -> Refused | None:
            return None if into == "here" else Refused(f"not into {into}")

    surface = Surface(authority_of(Table), principal="operator")
    surface.mount(Table())
    agent = surface.connect(AGENT)
    assert isinstance(await agent.call(Table.put, {"count": 1}), Ok)
    refused = failed(await agent.call(Table.put, {"count": 1, "into": "there"}), "PRECONDITION_FAILED")
    assert "not into there" in repr(refused)


@pytest.mark.requirement("3.1-attached-decides-in-sync")
def test_what_decides_is_sync_and_attached_once() -> None:
    def asynchronous() -> object:
        class Table(Component, type="table"):
            """A table."""

            @action
            def put(self) -> None:
                """Put."""

            @put.available  # type: ignore[type-var]
            async def check(self) -> Literal[True]:
                return True

        return Table

    def twice() -> object:
        class Table(Component, type="table"):
            """A table."""

            @action
            def put(self) -> None:
                """Put."""

            @put.available
            def one(self) -> Literal[True]:
                return True

            @put.available
            def two(self) -> Literal[True]:
                return True

        return Table

    assert code_of(asynchronous) == code_of(twice) == "INVALID_DEFINITION"


@pytest.mark.requirement("3.11-observation-takes-no-write")
def test_an_observation_takes_no_effect_confirmation_or_precondition() -> None:
    def declare(**keywords: object) -> Callable[[], object]:
        return lambda: cast(Any, observation)(**keywords)

    for keywords in ({"effect": "local-state"}, {"confirmation": "required"}, {"idempotent": False}):
        with pytest.raises(TypeError):
            declare(**cast(Any, keywords))()

    class Table(Component, type="table"):
        """A table."""

        @observation
        def read(self) -> int:
            """Read."""
            return 1

    assert Table.read.kind is Kind.OBSERVATION
    assert not hasattr(Table.read, "precondition")
