"""Meta mode: three fixed tools instead of one a capability (SPEC 12.4)."""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import Field

from remit import (
    Component,
    Consumer,
    Context,
    Procedures,
    Surface,
    Unavailable,
    action,
    observation,
    reference,
)
from remit.policies import Decision, Expose, Hide, Policy, PolicyContext
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output, turns

COPILOT = Consumer("copilot", kind="embedded")
FIXED = ["surface_discover", "surface_read", "surface_act"]
backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str]) -> int:
    """Disable devices in the fleet."""
    return len(device_ids)


@backend.operation("devices.lookUp", effect="server-query")
async def look_up(serial: str, ctx: Context) -> str:
    """Look a device up by its serial number."""
    ctx.progress(1, 1, "found")
    return serial


@backend.operation("devices.audit", effect="server-query", confirmation="required")
async def audit_devices() -> int:
    """Count what was audited."""
    return 7


class Devices(Component, type="devices.table"):
    """Table of devices."""

    def __init__(self) -> None:
        self.rows = ["d1", "d2"]
        self.selected: list[str] = []

    @observation
    def read_state(self) -> list[str]:
        """Visible devices."""
        return self.rows

    @action
    def select_rows(self, ids: Annotated[list[str], Field(description="serials to mark")]) -> int:
        """Replace the selection."""
        self.selected = ids
        return len(ids)

    @select_rows.available
    def has_rows(self) -> Any:
        """Whether there is anything to select."""
        return True if self.rows else Unavailable("No rows")

    look_up = reference("domain:devices.lookUp")
    audit = reference("domain:devices.audit")
    disable = reference("domain:devices.disable")


class Invoices(Component, type="billing.invoices"):
    """Invoices of the month."""

    @observation
    def read_total(self) -> int:
        """The sum of all invoices."""
        return 100

    @action
    def pay(self) -> None:
        """Mark an invoice as paid."""

    disable = reference("domain:devices.disable")


AUTHORITY = authority_of(Devices, Invoices, procedures=backend)


def surface_of(**more: Any) -> Surface:
    """A surface with somebody to confirm."""
    surface = Surface(AUTHORITY, principal="operator", procedures=backend, **more)
    surface.confirmations.subscribe(lambda view: None)
    return surface


async def discover(surface: Surface, arguments: Mapping[str, object] | None = None, **more: Any) -> dict[str, Any]:
    """What a new toolset of the agent is shown."""
    tools = surface.connect(AGENT).toolset(mode="meta", **more)
    data = output((await tools.call("surface_discover", arguments)).outcome)
    assert isinstance(data, dict)
    return data


def ids_of(data: dict[str, Any]) -> list[str]:
    return [listed["id"] for listed in data["capabilities"]]


async def request_of(surface: Surface) -> str:
    """The id of the one request that waits, once all that can run has run."""
    await turns()
    (pending,) = surface.confirmations.pending()
    return pending.id


@pytest.mark.requirement("12.4-three-fixed-tools")
async def test_three_tools_are_the_same_bytes_whatever_is_mounted_and_for_everybody() -> None:
    surface = surface_of()
    tools = surface.connect(AGENT).toolset(mode="meta")
    empty = json.dumps(tools.definitions())
    assert [each["name"] for each in tools.definitions()] == FIXED
    for number in range(30):
        surface.mount(Devices(), f"d{number}")
        surface.mount(Invoices(), f"i{number}")
    assert len((await discover(surface))["components"]) == 60
    assert json.dumps(tools.definitions()) == empty
    nobody = Consumer("stranger", kind="mcp", scope=())
    assert json.dumps(surface.connect(nobody).toolset(mode="meta").definitions()) == empty
    hints = [each["annotations"] for each in tools.definitions()]
    reading = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
    assert hints == [
        {**reading, "openWorldHint": False},
        {**reading, "openWorldHint": True},
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
    ]


@pytest.mark.requirement("12.4-a-budget-belongs-to-meta")
def test_a_budget_belongs_to_the_mode_that_can_keep_it() -> None:
    connection = surface_of().connect(AGENT)
    untyped: Any = connection.toolset
    for more in ({"budget": 20_000}, {"prefixes": ["devices"]}):
        with pytest.raises(TypeError, match='toolset\\(mode="meta"\\)'):
            untyped(**more)
        untyped(mode="meta", **more)
    with pytest.raises(ValueError, match="8,192"):
        connection.toolset(mode="meta", budget=8_191)
    with pytest.raises(ValueError, match="'lazy'"):
        untyped(mode="lazy")
    with pytest.raises(TypeError, match=r"write \['devices'\]"):
        connection.toolset(mode="meta", prefixes="devices")


@pytest.mark.requirement("12.4-overview")
async def test_without_arguments_there_are_components_with_counts_and_no_schema() -> None:
    surface = surface_of()
    surface.mount(Devices(), "left")
    surface.mount(Invoices())
    data = await discover(surface)
    assert [(one["type"], one["instance"], one["capabilities"]) for one in data["components"]] == [
        ("billing.invoices", "default", 3),
        ("devices.table", "left", 5),
    ]
    assert data["total"] == 2
    assert data["components"][1]["description"] == "Table of devices."
    assert (data["surfaceId"], data["surfaceVersion"]) == (surface.surface_id, surface.snapshot(AGENT).surface_version)
    assert "chema" not in json.dumps(data)
    only_references = surface.connect(Consumer("agent", kind="test", scope=["domain:**"]))
    tools = only_references.toolset(mode="meta")
    shown: Any = output((await tools.call("surface_discover")).outcome)
    assert [(one["type"], one["capabilities"]) for one in shown["components"]] == [
        ("billing.invoices", 1),
        ("devices.table", 3),
    ]


@pytest.mark.requirement("12.4-descriptors")
async def test_with_prefixes_ids_or_a_query_there_are_descriptors_with_live_state() -> None:
    surface = surface_of()
    table = Devices()
    table.rows = []
    mount = surface.mount(table)
    surface.mount(Invoices())
    data = await discover(surface, {"ids": ["view:devices.table.selectRows"]})
    (shown,) = data["capabilities"]
    assert (shown["registration"], shown["instance"]) == (mount.registration_id, "default")
    assert (shown["available"], shown["reason"]) == (False, "No rows")
    assert shown["inputSchema"]["required"] == ["ids"]
    assert ids_of(await discover(surface, {"prefixes": ["billing"]})) == [
        "view:billing.invoices.readTotal",
        "view:billing.invoices.pay",
        "domain:devices.disable",
    ]
    assert ids_of(await discover(surface, {"prefixes": ["domain:devices.lookUp", "view:billing.invoices.pay"]})) == [
        "view:billing.invoices.pay",
        "domain:devices.lookUp",
    ]
    assert ids_of(await discover(surface, {"prefixes": ["bill", "view:bill"]})) == []
    both = await discover(surface, {"prefixes": ["billing"], "ids": ["domain:devices.disable"], "query": "fleet"})
    assert ids_of(both) == ["domain:devices.disable"]


@pytest.mark.requirement("12.4-ranked")
async def test_a_query_ranks_names_before_sentences_and_finds_words_in_any_form() -> None:
    surface = surface_of()
    surface.mount(Devices())
    surface.mount(Invoices())
    # `invoices` stands in the component's name, `paid` in a sentence, `serials` in a field.
    assert ids_of(await discover(surface, {"query": "pay the invoice"}))[0] == "view:billing.invoices.pay"
    assert ids_of(await discover(surface, {"query": "selecting"})) == ["view:devices.table.selectRows"]
    assert ids_of(await discover(surface, {"query": "serial"}))[0] == "domain:devices.lookUp"
    assert "view:devices.table.selectRows" in ids_of(await discover(surface, {"query": "serial"}))
    nothing = await discover(surface, {"query": "weather"})
    assert (nothing["capabilities"], nothing["total"]) == ([], 0)
    for odd in ('"', "*", "NEAR(", "a OR", "\x00", "^ -", "é", "設備", "{name}:"):
        assert (await discover(surface, {"query": odd}))["total"] >= 0
    assert "components" in await discover(surface, {"query": "  "})


class HideBilling(Policy, name="hide-billing"):
    """Hides one component."""

    def discover(self, ctx: PolicyContext) -> Decision:
        return Hide() if ctx.capability is not None and "invoices" in ctx.capability.id else Expose()


@pytest.mark.requirement("12.4-from-its-own-listing")
async def test_counts_and_order_come_from_the_consumers_own_listing() -> None:
    hiding, plain = surface_of(policies=[HideBilling()]), surface_of()
    for surface in (hiding, plain):
        surface.mount(Devices(), "one")
    hiding.mount(Invoices(), "other")
    for arguments in (None, {"query": "devices table invoices sum"}, {"ids": ["view:billing.invoices.pay"]}):
        seen, alone = await discover(hiding, arguments), await discover(plain, arguments)
        shown = [each for each in seen.get("capabilities", ()) if each["instance"] == "other"]
        assert all(each["id"] == "domain:devices.disable" for each in shown)
        if arguments is not None and "ids" in arguments:
            assert seen["unknownIds"] == alone["unknownIds"] == ["view:billing.invoices.pay"]
            assert (seen["total"], seen["capabilities"]) == (0, [])
        if arguments is None:
            assert [one["capabilities"] for one in seen["components"]] == [5, 1]


@pytest.mark.requirement("12.4-parts-keep-to-the-budget")
async def test_an_answer_keeps_to_its_bytes_and_says_where_it_goes_on() -> None:
    surface = surface_of()
    for number in range(60):
        surface.mount(Devices(), f"table-{number:02}")
    tools = surface.connect(AGENT).toolset(mode="meta", budget=8_192)
    for arguments, key in (({"prefixes": ["devices"]}, "capabilities"), ({}, "components")):
        seen: list[str] = []
        following: dict[str, str] = {}
        parts = 0
        while True:
            result = await tools.call("surface_discover", {**arguments, **following})
            data: Any = output(result.outcome)
            assert len(result.text.encode()) <= 8_192
            seen += [json.dumps([one.get("id"), one["registration"]]) for one in data[key]]
            parts += 1
            if "next" not in data:
                break
            following = {"next": data["next"]}
        assert len(seen) == len(set(seen)) == data["total"] == (300 if key == "capabilities" else 60)
        assert parts > 1


@pytest.mark.requirement("12.4-next-is-of-one-state")
async def test_the_next_part_of_another_state_of_the_view_is_refused() -> None:
    surface = surface_of()
    for number in range(30):
        surface.mount(Devices(), f"table-{number:02}")
    tools = surface.connect(AGENT).toolset(mode="meta", budget=8_192)
    first: Any = output((await tools.call("surface_discover", {"prefixes": ["devices"]})).outcome)
    surface.mount(Invoices())
    arguments = {"prefixes": ["devices"], "next": first["next"]}
    error = failed((await tools.call("surface_discover", arguments)).outcome, "INVALID_INPUT")
    assert error.details["issues"] == [{"path": "next", "message": "the view has changed since; ask again without it"}]
    error = failed((await tools.call("surface_discover", {"next": "20"})).outcome, "INVALID_INPUT")
    assert error.details["issues"] == [{"path": "next", "message": "must be the `next` of an answer"}]


@pytest.mark.requirement("12.4-what-does-not-fit-is-left-out-by-name")
async def test_an_entry_larger_than_an_answer_goes_without_its_largest_parts_and_says_so() -> None:
    class Wide(Component, type="wide"):
        """Wide."""

        @action
        def fill(
            self, way: Annotated[str, Field(json_schema_extra={"enum": [f"way-{n:04}" * 2 for n in range(700)]})]
        ) -> None:
            """Fill in."""

    surface = Surface(authority_of(Wide), principal="operator")
    surface.mount(Wide())
    tools = surface.connect(AGENT).toolset(mode="meta", budget=8_192)
    result = await tools.call("surface_discover", {"query": "fill"})
    data: Any = output(result.outcome)
    (shown,) = data["capabilities"]
    assert len(result.text.encode()) <= 8_192
    assert (shown["leftOut"], shown["description"]) == (["inputSchema"], "Fill in.")
    full = surface.connect(AGENT).toolset(mode="meta")
    data = output((await full.call("surface_discover", {"query": "fill"})).outcome)
    assert "leftOut" not in data["capabilities"][0]


@pytest.mark.requirement("12.4-prefixes-are-a-floor")
async def test_the_toolsets_own_prefixes_are_a_floor_that_a_request_only_narrows() -> None:
    surface = surface_of()
    surface.mount(Devices())
    surface.mount(Invoices())
    own: dict[str, Any] = {"prefixes": ["billing"]}
    assert [one["type"] for one in (await discover(surface, **own))["components"]] == ["billing.invoices"]
    assert (await discover(surface, {"prefixes": []}, **own))["total"] == 1
    narrowed = await discover(surface, {"prefixes": ["view:billing.invoices.pay"]}, **own)
    assert ids_of(narrowed) == ["view:billing.invoices.pay"]
    wider = await discover(surface, {"prefixes": ["view:billing", "domain:devices"]}, **own)
    assert len(ids_of(wider)) == 3 and "refusedPrefixes" not in wider
    assert ids_of(await discover(surface, {"query": "devices"}, **own)) == ["domain:devices.disable"]
    assert (await discover(surface, prefixes=[]))["components"] == []
    outside = await discover(surface, {"ids": ["view:devices.table.readState", "view:made.up"]}, **own)
    assert (outside["capabilities"], outside["unknownIds"]) == ([], ["view:devices.table.readState", "view:made.up"])


@pytest.mark.requirement("12.4-a-floor-is-no-authority")
async def test_the_toolsets_own_prefixes_change_nothing_about_what_may_be_called() -> None:
    surface = surface_of()
    surface.mount(Devices())
    tools = surface.connect(AGENT).toolset(mode="meta", prefixes=["billing"])
    assert output((await tools.call("surface_read", {"id": "view:devices.table.readState"})).outcome) == ["d1", "d2"]
    scoped = surface.connect(Consumer("agent", kind="test", scope=["view:billing.**"])).toolset(mode="meta")
    failed((await scoped.call("surface_read", {"id": "view:devices.table.readState"})).outcome, "CAPABILITY_NOT_FOUND")


@pytest.mark.requirement("12.4-refused-prefixes-are-named")
async def test_a_prefix_that_is_out_of_the_floor_is_named_and_nothing_is_cut_silently() -> None:
    surface = surface_of()
    surface.mount(Devices())
    data = await discover(surface, {"prefixes": ["devices"]}, prefixes=["billing"])
    assert data["refusedPrefixes"] == ["devices"]
    assert (data["capabilities"], data["total"]) == ([], 0)
    assert "next" not in data
    asked = {"prefixes": ["billing.invoices", "devices", "view:devices", "domain:devices", "odd \u202e"]}
    data = await discover(surface, asked, prefixes=["billing"])
    # A reference stands under its component too, so `domain:devices` may well be one of billing.
    assert data["refusedPrefixes"] == ["devices", "view:devices", "prefixes[4]"]


@pytest.mark.requirement("12.4-envelope")
@pytest.mark.parametrize("verb", ["surface_read", "surface_act"])
@pytest.mark.parametrize(
    ("arguments", "path", "message"),
    [
        ({}, "id", "is required"),
        ({"id": None}, "id", "is required"),
        ({"id": 7}, "id", "must be a string"),
        ([], "", "must be an object"),
        ({"id": "view:a.b", "input": []}, "input", "must be an object"),
        ({"id": "view:a.b", "input": "{}"}, "input", "must be an object"),
        ({"id": "view:a.b", "input": {"n": float("nan")}}, "input.n", "NaN or an infinity"),
        (
            {"id": "view:a.b", "mode": "add"},
            "mode",
            "unknown key mode; allowed: id, input, instance, registration"
            " (the capability's own fields stand inside `input`)",
        ),
        (
            {"id": "view:a.b", "registation": "reg_1"},
            "registation",
            "unknown key registation; did you mean registration? (the capability's own fields stand inside `input`)",
        ),
        (
            {"id": "view:a.b", "confirmation": "cnf_1"},
            "confirmation",
            "unknown key confirmation; evidence stands beside the arguments, never in them",
        ),
    ],
)
async def test_a_malformed_envelope_is_invalid_input_that_names_the_key(
    verb: str, arguments: Any, path: str, message: str
) -> None:
    surface = surface_of()
    surface.mount(Devices())
    before = len(surface.audit())
    result = await surface.connect(AGENT).toolset(mode="meta").call(verb, arguments, call_id="call_1")
    assert failed(result.outcome, "INVALID_INPUT").details == {"issues": [{"path": path, "message": message}]}
    assert (result.name, result.call_id, len(surface.audit())) == (verb, "call_1", before)


@pytest.mark.requirement("12.4-envelope")
async def test_a_key_that_is_null_is_absent() -> None:
    surface = surface_of()
    mount = surface.mount(Devices())
    tools = surface.connect(AGENT).toolset(mode="meta")
    arguments = {"id": "view:devices.table.readState", "input": None, "instance": None, "registration": None}
    assert output((await tools.call("surface_read", arguments)).outcome) == ["d1", "d2"]
    data: Any = output((await tools.call("surface_discover", {"prefixes": None, "query": None})).outcome)
    assert data["components"][0]["registration"] == mount.registration_id


@pytest.mark.requirement("12.4-surface-read-reads")
async def test_the_verb_that_reads_does_nothing_else() -> None:
    surface = surface_of()
    table = Devices()
    surface.mount(table)
    tools = surface.connect(AGENT).toolset(mode="meta")
    for wanted, said in (
        ({"id": "view:devices.table.selectRows", "input": {"ids": ["d1"]}}, "only reads"),
        ({"id": "domain:devices.disable", "input": {"device_ids": ["d1"]}}, "only reads"),
        ({"id": "domain:devices.audit"}, "asks nobody"),
    ):
        error = failed((await tools.call("surface_read", wanted)).outcome, "INVALID_INPUT")
        issues: Any = error.details["issues"]
        assert [issue["path"] for issue in issues] == ["id"] and said in issues[0]["message"]
    assert (table.selected, surface.confirmations.pending()) == ([], ())
    heard: list[str | None] = []
    arguments = {"id": "domain:devices.lookUp", "input": {"serial": "s-1"}}
    found = await tools.call("surface_read", arguments, progress=lambda report: heard.append(report.text))
    assert (output(found.outcome), found.structured, heard) == ("s-1", {"result": "s-1"}, ["found"])
    careful = surface.connect(Consumer("careful", kind="test", confirm=["server-query"])).toolset(mode="meta")
    failed((await careful.call("surface_read", arguments)).outcome, "INVALID_INPUT")
    failed((await careful.call("surface_act", arguments)).outcome, "CONFIRMATION_REQUIRED")


@pytest.mark.requirement("12.4-surface-act-names-a-registration")
async def test_the_verb_that_acts_can_name_a_registration_or_the_place_of_a_reference() -> None:
    surface = surface_of(decide=lambda question: True)
    one, other = Devices(), Devices()
    first, second = surface.mount(one, "one"), surface.mount(other, "other")
    tools = surface.connect(AGENT).toolset(mode="meta")
    select = {"id": "view:devices.table.selectRows", "input": {"ids": ["d2"]}}
    result = await tools.call("surface_act", {**select, "registration": second.registration_id})
    assert (output(result.outcome), one.selected, other.selected) == (1, [], ["d2"])
    assert result.registration == second.registration_id
    await tools.call("surface_discover", {"prefixes": ["devices"]})
    assert output((await tools.call("surface_act", {**select, "instance": "one"})).outcome) == 1
    assert one.selected == ["d2"]
    found = {"id": "domain:devices.lookUp", "input": {"serial": "s"}}
    details = failed((await tools.call("surface_act", found)).outcome, "AMBIGUOUS_INSTANCE").details
    assert details == {"instances": ["devices.table/one", "devices.table/other"]}
    for place in ({"instance": "devices.table/other"}, {"registration": first.registration_id}):
        assert output((await tools.call("surface_act", {**found, **place})).outcome) == "s"
    ambiguous = failed((await tools.call("surface_act", select)).outcome, "AMBIGUOUS_INSTANCE")
    assert ambiguous.details == {"instances": ["one", "other"]}


@pytest.mark.requirement("12.4-no-call-goes-to-a-successor")
async def test_an_act_goes_to_what_was_shown_and_never_to_what_came_in_its_place() -> None:
    surface = surface_of()
    first, second = Devices(), Devices()
    mount = surface.mount(first)
    tools = surface.connect(AGENT).toolset(mode="meta")
    select = {"id": "view:devices.table.selectRows", "input": {"ids": ["d1"]}}
    await tools.call("surface_discover")  # shows a component, no capability
    unseen = await tools.call("surface_act", select)
    details = failed(unseen.outcome, "STALE_CAPABILITY").details
    present: Any = details["present"]
    assert (details["reason"], present["registration"]) == ("registration-replaced", mount.registration_id)
    assert output((await tools.call("surface_act", select)).outcome) == 1  # the answer has shown it
    mount.unmount()
    gone = await tools.call("surface_act", select)
    failed(gone.outcome, "COMPONENT_UNMOUNTED")
    again = surface.mount(second)
    stale = await tools.call("surface_act", select)
    assert (second.selected, stale.registration) == ([], again.registration_id)
    failed(stale.outcome, "STALE_CAPABILITY")
    late = await tools.call("surface_act", {**select, "registration": mount.registration_id})
    failed(late.outcome, "STALE_CAPABILITY")
    assert output((await tools.call("surface_act", select)).outcome) == 1
    assert second.selected == ["d1"]


@pytest.mark.requirement("12.4-discover-shows-what-is-called")
async def test_what_discover_shows_is_what_the_next_act_goes_to() -> None:
    surface = surface_of()
    mount = surface.mount(Devices())
    tools = surface.connect(AGENT).toolset(mode="meta")
    select = {"id": "view:devices.table.selectRows", "input": {"ids": ["d1"]}}
    await tools.call("surface_discover", {"query": "select"})
    assert output((await tools.call("surface_act", select)).outcome) == 1
    mount.unmount()
    surface.mount(Devices())
    await tools.call("surface_discover", {"query": "select"})
    assert output((await tools.call("surface_act", select)).outcome) == 1
    # Another capability of the same component was shown in no answer of this toolset.
    failed(
        (await tools.call("surface_act", {"id": "domain:devices.disable", "input": {"device_ids": []}})).outcome,
        "STALE_CAPABILITY",
    )


@pytest.mark.requirement("12.1-a-read-renews-what-was-shown")
async def test_reading_a_component_renews_what_was_shown_of_it() -> None:
    surface = surface_of()
    mount = surface.mount(Devices())
    tools = surface.connect(AGENT).toolset(mode="meta")
    select = {"id": "view:devices.table.selectRows", "input": {"ids": ["d1"]}}
    await tools.call("surface_discover", {"query": "select"})
    mount.unmount()
    surface.mount(Devices())
    await tools.call("surface_read", {"id": "view:devices.table.readState"})
    assert output((await tools.call("surface_act", select)).outcome) == 1


@pytest.mark.requirement("7.7-meta-mode-waits-alike")
async def test_an_embedded_toolset_in_meta_mode_waits_and_answers_once() -> None:
    surface = surface_of()
    surface.mount(Devices())
    tools = surface.connect(COPILOT).toolset(mode="meta")
    await tools.call("surface_discover", {"ids": ["domain:devices.disable"]})
    arguments = {"id": "domain:devices.disable", "input": {"device_ids": ["d1", "d2"]}}
    calling = asyncio.create_task(tools.call("surface_act", arguments, call_id="call 1"))
    await surface.confirmations.approve(await request_of(surface), OPERATOR)
    result = await calling
    assert (output(result.outcome), result.call_id, result.name) == (2, "call 1", "surface_act")
    calling = asyncio.create_task(tools.call("surface_act", arguments, call_id="call_2"))
    await surface.confirmations.deny(await request_of(surface), OPERATOR)
    result = await calling
    assert failed(result.outcome, "CONFIRMATION_INVALID").details["reason"] == "denied"
    assert (result.call_id, result.name) == ("call_2", "surface_act")


@pytest.mark.requirement("7.7-meta-mode-waits-alike")
async def test_all_other_toolsets_in_meta_mode_return_and_are_continued() -> None:
    surface = surface_of()
    mount = surface.mount(Devices())
    tools = surface.connect(AGENT).toolset(mode="meta")
    await tools.call("surface_discover", {"ids": ["domain:devices.disable"]})
    arguments = {"id": "domain:devices.disable", "input": {"device_ids": ["d1"]}}
    asked = await tools.call("surface_act", arguments)
    failed(asked.outcome, "CONFIRMATION_REQUIRED")
    assert (asked.confirmation_id, asked.registration) == (await request_of(surface), mount.registration_id)
    assert asked.confirmation_id is not None
    await surface.confirmations.approve(asked.confirmation_id, OPERATOR)
    result = await tools.continue_(asked.confirmation_id)
    assert (output(result.outcome), result.name, result.registration) == (1, "surface_act", mount.registration_id)
    await turns()


@pytest.mark.requirement("12.4-meta-hidden-is-unknown")
async def test_a_made_up_tool_and_a_wire_name_are_unknown() -> None:
    surface = surface_of()
    surface.mount(Devices())
    tools = surface.connect(AGENT).toolset(mode="meta")
    for name in ("surface_erase", "view_devices__table__readState", "", "surface_read "):
        result = await tools.call(name, {"id": "view:devices.table.readState"})
        failed(result.outcome, "CAPABILITY_NOT_FOUND")
    for id in ("view_devices__table__readState", "view:devices.table", "view:devices.table.readState@default", ""):
        failed((await tools.call("surface_read", {"id": id})).outcome, "CAPABILITY_NOT_FOUND")
