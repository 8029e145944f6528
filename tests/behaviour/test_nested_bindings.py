"""Bound fields inside of objects (SPEC 10.3)."""

import json
from typing import Any

import pytest
from pydantic import BaseModel, Field

from remit import Component, Consumer, DefinitionError, Procedures, Surface, reference
from remit._contract.manifest import parse
from remit._model.shown_input import fields_of
from remit.compiler import drift
from tests.behaviour.conftest import AGENT, authority_of, contract_of, failed, journal, output

backend = Procedures()


class Place(BaseModel):
    """Where."""

    region: str
    site: str = "any"


class Paging(BaseModel):
    size: int
    cursor: str | None = None


class Filter(BaseModel):
    place: Place
    text: str = ""
    tags: list[str] = Field(default_factory=list, max_length=3)
    other: Place | None = None


@backend.operation("find", effect="server-query")
async def find(filter: Filter, paging: Paging | None = None, limit: int = 10) -> dict[str, Any]:
    """Find devices."""
    return {"filter": filter.model_dump(), "limit": limit}


@backend.operation("page", effect="server-query")
async def page(paging: Paging = Paging(size=5, cursor="start")) -> str:  # noqa: B008 - the default is what is meant
    """Give one page."""
    return f"{paging.size} from {paging.cursor}"


class Devices(Component, type="devices"):
    """Devices."""

    def __init__(self, region: Any = "north", text: Any = "from-view") -> None:
        self.region = region
        self.text = text

    find = reference("domain:find", overridable=("filter.text",))

    @find.bind("filter.place.region")
    def here(self) -> Any:
        if isinstance(self.region, Exception):
            raise self.region
        return self.region

    @find.bind("filter.text")
    def shown(self) -> Any:
        return self.text


def opened(devices: Component) -> Surface:
    """A surface with the devices."""
    surface = Surface(authority_of(type(devices), procedures=backend), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(devices)
    return surface


def schema_of(surface: Surface) -> Any:
    (listed,) = surface.connect(AGENT).capabilities()
    return listed.descriptor.input_schema


@pytest.mark.requirement("10.3-nested-paths")
async def test_a_nested_field_leaves_the_agents_schema_and_is_filled_at_call_time() -> None:
    devices = Devices()
    surface = opened(devices)
    agent = surface.connect(AGENT)
    schema = schema_of(surface)
    inside = schema["properties"]["filter"]
    assert "required" not in schema and "required" not in inside
    assert sorted(inside["properties"]) == ["other", "place", "tags", "text"]
    assert inside["properties"]["text"] == {"type": "string"}
    assert list(inside["properties"]["place"]["properties"]) == ["site"]
    assert "required" not in inside["properties"]["place"]
    assert sorted(schema["$defs"]["Place"]["properties"]) == ["region", "site"]  # what is elsewhere stays as it is
    plain: dict[str, Any] = {
        "place": {"region": "north", "site": "any"},
        "text": "from-view",
        "tags": [],
        "other": None,
    }
    assert output(await agent.call(Devices.find)) == {"filter": plain, "limit": 10}
    devices.region = "south"
    sent = {"filter": {"text": "mine", "place": {"site": "s1"}}, "limit": 2}
    found = output(await agent.call(Devices.find, sent))
    assert found == {"filter": {**plain, "place": {"region": "south", "site": "s1"}, "text": "mine"}, "limit": 2}
    assert sent == {"filter": {"text": "mine", "place": {"site": "s1"}}, "limit": 2}


@pytest.mark.requirement("10.3-nested-paths")
async def test_what_is_locked_is_named_with_its_path_however_it_is_sent() -> None:
    agent = opened(Devices()).connect(AGENT)
    place = {"region": "east"}
    for sent in ({"place": place}, {"place": {"region": None}}, {"place": place, "text": 5}):
        error = failed(await agent.call(Devices.find, {"filter": sent}), "INVALID_INPUT")
        assert error.details["locked_fields"] == ["filter.place.region"]
        assert error.details["issues"] == [{"path": "filter.place.region", "message": "this field is set by the view"}]
    for text in (json.dumps({"place": place}), {"place": json.dumps(place)}):
        failed(await agent.call(Devices.find, {"filter": text}), "INVALID_INPUT")


@pytest.mark.requirement("10.3-nested-paths")
async def test_a_locked_field_stays_the_views_where_an_agent_may_send_other_keys() -> None:
    shop = Procedures()
    option = {"type": "object", "properties": {"owner": {"type": "string"}}, "additionalProperties": True}
    given = {"type": "object", "properties": {"options": option}, "additionalProperties": False}

    @shop.operation("save", effect="server-query", input=given)
    async def save(input: dict[str, Any]) -> dict[str, Any]:
        """Save."""
        return input

    class Page(Component, type="page"):
        """A page."""

        save = reference("domain:save")

        @save.bind("options.owner")
        def owner(self) -> str:
            return "ada"

    surface = Surface(authority_of(Page, procedures=shop), principal="operator", procedures=shop)
    surface.mount(Page())
    agent = surface.connect(AGENT)
    assert output(await agent.call(Page.save, {"options": {"more": 1}})) == {"options": {"more": 1, "owner": "ada"}}
    assert output(await agent.call(Page.save, {"options": '{"more": 1}'})) == {"options": {"more": 1, "owner": "ada"}}
    for options in ({"owner": "eve"}, '{"owner": "eve"}'):
        error = failed(await agent.call(Page.save, {"options": options}), "INVALID_INPUT")
        assert error.details["locked_fields"] == ["options.owner"]


@pytest.mark.requirement("10.3-nested-paths")
async def test_an_object_of_which_the_view_fills_everything_leaves_with_it() -> None:
    class Whole(Component, type="devices"):
        """Devices."""

        find = reference("domain:find")

        @find.bind("filter.place.region")
        def region(self) -> str:
            return "north"

        @find.bind("filter.place.site")
        def site(self) -> str:
            return "s1"

    surface = opened(Whole())
    schema = schema_of(surface)
    assert sorted(schema["properties"]["filter"]["properties"]) == ["other", "tags", "text"]
    found: Any = output(await surface.connect(AGENT).call(Whole.find, {"filter": {"text": "t"}}))
    assert found["filter"]["place"] == {"region": "north", "site": "s1"}


@pytest.mark.requirement("10.3-nested-paths")
async def test_an_object_on_the_way_is_owed_when_something_inside_is_owed() -> None:
    class Owed(Component, type="devices"):
        """Devices."""

        save = reference("domain:save")

        @save.bind("paging.cursor")
        def cursor(self) -> str:
            return "c1"

    shop = Procedures()
    paging: dict[str, Any] = {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "cursor": {"type": "string"}},
    }
    paging |= {"required": ["size"], "additionalProperties": False}
    given = {"type": "object", "properties": {"paging": paging}, "additionalProperties": False}

    @shop.operation("save", effect="server-query", input=given)
    async def save(input: dict[str, Any]) -> dict[str, Any]:
        """Save."""
        return input

    surface = Surface(authority_of(Owed, procedures=shop), principal="operator", procedures=shop)
    surface.mount(Owed())
    agent = surface.connect(AGENT)
    assert schema_of(surface)["required"] == ["paging"]
    error = failed(await agent.call(Owed.save), "INVALID_INPUT")
    assert error.details["issues"] == [{"path": "paging", "message": "is required"}]
    assert output(await agent.call(Owed.save, {"paging": {"size": 2}})) == {"paging": {"size": 2, "cursor": "c1"}}


@pytest.mark.requirement("10.3-nested-paths")
async def test_the_default_of_an_object_holds_for_what_the_view_does_not_fill() -> None:
    class Paged(Component, type="devices"):
        """Devices."""

        page = reference("domain:page")

        @page.bind("paging.cursor")
        def cursor(self) -> str:
            return "c1"

    surface = opened(Paged())
    schema = schema_of(surface)
    assert schema["properties"]["paging"]["default"] == {"size": 5}
    assert "required" not in schema
    agent = surface.connect(AGENT)
    assert output(await agent.call(Paged.page)) == "5 from c1"
    assert output(await agent.call(Paged.page, {"paging": {"size": 7}})) == "7 from c1"


@pytest.mark.requirement("10.3-binding-failed", "10.3-nested-paths")
@pytest.mark.parametrize("region", [RuntimeError("secret"), object(), ["north"], None, {"name": "north"}])
async def test_a_nested_binding_that_raises_or_does_not_fit_fails_before_any_request(region: Any) -> None:
    surface = opened(Devices(region))
    error = failed(await surface.connect(AGENT).call(Devices.find), "PRECONDITION_FAILED")
    assert error.details == {"reason": "binding-failed"}
    assert "filter.place.region" in (journal(surface)[-1].why or "")


@pytest.mark.requirement("10.3-nested-paths", "10.3-overridable-is-shown")
async def test_a_person_is_shown_which_part_of_a_field_the_view_filled() -> None:
    surface = opened(Devices())
    careful = Consumer("careful", kind="embedded", confirm=("server-query",))
    sent = {"filter": {"text": "mine", "place": {"site": "s1"}}}
    failed(await surface.connect(careful).call(Devices.find, sent), "CONFIRMATION_REQUIRED")
    (view,) = surface.confirmations.pending()
    assert view.bound == ("filter.place.region",)
    shown = {field.path: field.bound for field in fields_of(view)}
    assert shown["filter.place.region"] is True
    assert (shown["filter.place.site"], shown["filter.text"], shown["limit"]) == (False, False, False)


def binding(operation: str, path: Any, overridable: tuple[str, ...] = (), **options: Any) -> None:
    class Page(Component, type="devices"):
        """Devices."""

        find = reference(operation, overridable=overridable, **options)

        @find.bind(path)
        def here(self) -> str:
            return "north"

    authority_of(Page, procedures=backend)


@pytest.mark.requirement("10.3-nested-paths-are-static")
@pytest.mark.parametrize(
    ("path", "rule", "do"),
    [
        (
            "filter.area",
            "binds 'filter.area', which the operation does not take",
            "filter.other, filter.place, filter.tags, filter.text",
        ),
        ("filter.place.region.name", "'filter.place.region' is not an object", "bind 'filter.place.region' as a whole"),
        ("filter.tags.first", "'filter.tags' is a list", "bind 'filter.tags' as a whole: the view gives all of it"),
        ("filter.other.region", "'filter.other' has several forms", "bind 'filter.other' as a whole"),
        ("filter.tags[0]", "names no field of the input", "a list is bound as a whole"),
        ("filter..region", "names no field of the input", "filter.region"),
        (".filter", "names no field of the input", "filter.region"),
        (".".join("abcdefghi"), "names no field of the input", "filter.region"),
    ],
)
def test_what_cannot_be_bound_is_refused_with_what_to_bind_instead(path: str, rule: str, do: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        binding("domain:find", path)
    assert refused.value.code == "INVALID_DEFINITION"
    assert rule in refused.value.rule and do in (refused.value.do or "")


@pytest.mark.requirement("10.3-nested-paths-are-static")
def test_a_field_is_bound_once_and_no_part_of_it_besides() -> None:
    with pytest.raises(DefinitionError) as refused:

        class Page(Component, type="devices"):
            """Devices."""

            find = reference("domain:find")

            @find.bind("filter.place")
            def place(self) -> dict[str, str]:
                return {"region": "north"}

            @find.bind("filter.place.region")
            def region(self) -> str:
                return "north"

    assert refused.value.rule == "binds 'filter.place' and, inside of it, 'filter.place.region'"


@pytest.mark.requirement("10.3-nested-paths-are-static")
def test_what_a_person_may_leave_free_is_no_field_of_which_the_view_fills_a_part() -> None:
    with pytest.raises(DefinitionError) as refused:
        binding("domain:find", "filter.place.region", confirmation="required", may_vary=("filter",))
    assert "may_vary= names 'filter'" in refused.value.rule
    binding("domain:find", "filter.place.region", confirmation="required", may_vary=("limit",))


@pytest.mark.requirement("10.3-nested-paths-are-static")
def test_a_nested_path_is_in_the_contract_and_a_change_of_it_is_told() -> None:
    class Free(Component, type="devices"):
        """Devices."""

        find = reference("domain:find")

    free, bound = (parse(contract_of(each, procedures=backend)) for each in (Free, Devices))
    row = bound.capabilities["devices", "domain:find"]
    assert (row["bound"], row["overridable"]) == (["filter.place.region", "filter.text"], ["filter.text"])
    assert bound.operations["find"].hash == free.operations["find"].hash
    told = {change.field: set(change.classes) for change in drift(free, bound, {}).changes}
    assert told["bound"] == {"narrowing"}
    assert "breaking" in told["input filter.place.region"]
    back = {change.field: set(change.classes) for change in drift(bound, free, {}).changes}
    assert back["bound"] == {"widening"}
    assert "widening" in back["input filter.place.region"]


def shop_of(given: dict[str, Any]) -> Procedures:
    """A backend with one operation that takes this and gives it back."""
    shop = Procedures()

    @shop.operation("save", effect="server-query", input=given)
    async def save(input: dict[str, Any]) -> dict[str, Any]:
        """Save."""
        return input

    return shop


def object_of(fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "additionalProperties": False, **more}


@pytest.mark.requirement("10.3-nested-paths")
async def test_a_default_on_the_way_loses_what_the_view_fills_however_deep_and_keeps_the_rest() -> None:
    class Filled(Component, type="devices"):
        """Devices."""

        save = reference("domain:save")

        @save.bind("outer.inner.owner")
        def owner(self) -> str:
            return "ada"

        @save.bind("outer.inner.region")
        def region(self) -> str:
            return "north"

    names = {name: {"type": "string"} for name in ("owner", "region", "note")}
    default = {"inner": {"owner": "nobody", "note": "n"}}  # says nothing of the region
    outer = object_of({"inner": object_of(names), "size": {"type": "integer"}}, default=default)
    shop = shop_of(object_of({"outer": outer}))
    surface = Surface(authority_of(Filled, procedures=shop), principal="operator", procedures=shop)
    surface.mount(Filled())
    assert schema_of(surface)["properties"]["outer"]["default"] == {"inner": {"note": "n"}}
    filled = {"note": "n", "owner": "ada", "region": "north"}
    assert output(await surface.connect(AGENT).call("domain:save")) == {"outer": {"inner": filled}}


@pytest.mark.requirement("10.3-nested-paths")
def test_what_is_left_of_an_input_is_held_to_the_size_of_a_schema() -> None:
    class Inside(Component, type="devices"):
        """Devices."""

        save = reference("domain:save")

        @save.bind("first.region")
        def first(self) -> str:
            return "north"

        @save.bind("second.region")
        def second(self) -> str:
            return "north"

    fields = {f"field_{number}": {"type": "string", "description": "d" * 100} for number in range(80)}
    place = object_of({"region": {"type": "string"}, **fields})  # written out twice, it is more than fits
    reference_to = {"$ref": "#/$defs/Place"}
    given = object_of({"first": reference_to, "second": reference_to}) | {"$defs": {"Place": place}}
    with pytest.raises(DefinitionError, match=r"more than 16,384 bytes of schema.*\n.*bind whole fields"):
        authority_of(Inside, procedures=shop_of(given))


@pytest.mark.requirement("10.3-nested-paths")
async def test_other_keys_do_not_reach_an_object_of_which_the_view_fills_everything() -> None:
    class Open(Component, type="devices"):
        """Devices."""

        save = reference("domain:save")

        @save.bind("options.place.region")
        def region(self) -> str:
            return "north"

    place = object_of({"region": {"type": "string"}})
    options = {"type": "object", "properties": {"place": place}, "additionalProperties": True}
    shop = shop_of(object_of({"options": options}))
    surface = Surface(authority_of(Open, procedures=shop), principal="operator", procedures=shop)
    surface.mount(Open())
    agent = surface.connect(AGENT)
    for sent in ("south", None, ["south"], {"region": "south"}):
        error = failed(await agent.call("domain:save", {"options": {"place": sent}}), "INVALID_INPUT")
        assert error.details["locked_fields"] == ["options.place.region"], sent
    assert output(await agent.call("domain:save", {"options": {"other": 1}})) == {
        "options": {"other": 1, "place": {"region": "north"}}
    }
