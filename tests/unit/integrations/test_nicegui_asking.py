"""What a person is shown of a request, and how an application is given a gateway."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import uvicorn
from nicegui import Client, app, core, ui
from nicegui.page import page
from nicegui.server import Server
from starlette.applications import Starlette

from remit import Authority, ConfirmationStatus, ConfirmationView, Effect, Principal
from remit._contract.manifest import assemble, parse
from remit._model.shown_input import Field, fields_of
from remit.gateway import Gateway
from remit.integrations.nicegui import attach
from remit.integrations.nicegui.dialog import ApprovalDialog, Question
from remit.integrations.nicegui.serving import serve


def request(given: dict[str, Any], *, bound: tuple[str, ...] = (), required: tuple[str, ...] = ()) -> ConfirmationView:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return ConfirmationView(
        id="cnf_1",
        capability="domain:devices.disable",
        component="devices.table",
        instance="default",
        effect=Effect.DESTRUCTIVE,
        title="Disable",
        description="Disable devices.",
        input=given,
        bound=bound,
        required=required,
        summary=None,
        approvers=(),
        consumer="agent",
        consumer_kind="mcp",
        principal="ada",
        tenant=None,
        surface_id="srf_1",
        registration="reg_1",
        digest="digest",
        created_at=now,
        decide_by=now + timedelta(minutes=2),
        status=ConfirmationStatus.PENDING,
    )


def test_required_fields_come_first_and_every_leaf_is_a_line_of_its_own() -> None:
    given = {"note": None, "ids": ["b", "a"], "where": {"city": "Milan", "tags": []}}

    assert fields_of(request(given, bound=("ids",), required=("ids",))) == (
        Field(path="ids[0]", value='"b"', bound=True),
        Field(path="ids[1]", value='"a"', bound=True),
        Field(path="note", value="null", bound=False),
        Field(path="where.city", value='"Milan"', bound=False),
        Field(path="where.tags", value="[]", bound=False),
    )


def test_text_stays_readable_but_for_what_nobody_could_see() -> None:
    (field,) = fields_of(request({"name": "東京 \u202e\u200b\U000e0041 “x”\n"}))

    assert field.value == '"東京 \\u202e\\u200b\\U000e0041 “x”\\n"'


def test_a_text_and_a_number_that_look_alike_are_told_apart() -> None:
    assert [field.value for field in fields_of(request({"a": "1", "b": 1, "c": True, "d": "true"}))] == [
        '"1"',
        "1",
        "true",
        '"true"',
    ]


def test_nothing_is_a_line_when_there_is_no_input() -> None:
    assert fields_of(request({})) == ()


@pytest.mark.requirement("7.4-a-widget-decides-only-for-who-cannot-press-it")
@pytest.mark.parametrize(
    ("kind", "buttons"),
    [
        ("mcp", ["Deny", "Later", "Approve exactly this"]),
        ("embedded", ["Deny", "Later", "Approve exactly this"]),
        ("webmcp", ["Later", "Decide on the decision page"]),
        ("page", ["Later", "Decide on the decision page"]),
        ("other", ["Later", "Decide on the decision page"]),
    ],
)
async def test_a_dialog_neither_approves_nor_denies_for_who_could_press_it(
    kind: str, buttons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
    answers: list[str] = []

    async def answered(answer: str) -> None:
        answers.append(answer)

    client = Client(page("/x"), request=None)
    shown = ApprovalDialog(client, Question(request=replace(request({}), consumer_kind=kind), answered=answered))
    assert [each.text for each in client.elements.values() if isinstance(each, ui.button | ui.link)] == buttons
    for answer in ("approve", "deny", "later"):
        await shown._answer(answer)
    assert answers == (["deny", "later"] if "Deny" in buttons else ["later"])
    shown.close()
    client.delete()


@pytest.mark.requirement("14.0-arguments-are-judged")
def test_attach_takes_a_gateway_and_a_function() -> None:
    other: Any = 7
    with pytest.raises(TypeError, match=r"attach\(gateway, …\) takes a Gateway, not int"):
        attach(other, login=lambda: None)
    with pytest.raises(TypeError, match=r"attach\(login=…\) takes a function that says who is signed in"):
        attach(Gateway(nothing()), login=other)


def nothing() -> Authority:
    return Authority(parse(assemble([], [], {}, exposure={}, policies=()).to_bytes()))


def test_an_application_that_is_served_already_gets_no_gateway() -> None:
    outer = Starlette()
    outer.middleware_stack = outer.build_middleware_stack()

    with pytest.raises(RuntimeError, match="comes before the application is served"):
        attach(Gateway(nothing()), login=lambda: None, outer=outer)


async def test_held_calls_are_released_before_the_server_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    class Told(Gateway):
        def stopping(self) -> None:
            order.append("released")
            super().stopping()

    async def drained(sockets: object = None) -> None:
        order.append("drained")

    outer = Starlette()
    server = uvicorn.Server(uvicorn.Config(outer))
    monkeypatch.setattr(server, "shutdown", drained)
    monkeypatch.setattr(Server, "instance", server, raising=False)
    monkeypatch.setattr(app.router, "routes", [*app.router.routes])
    gateway = Told(nothing())
    serve(gateway, lambda _: None, outer)

    async with outer.router.lifespan_context(outer):
        await server.shutdown()
        assert order == ["released", "drained"]

    with pytest.raises(RuntimeError, match="stopped"):
        gateway.open_view(
            principal=lambda: Principal("ada"), host=lambda: None, within=nullcontext, title="Notes", route="/"
        )
