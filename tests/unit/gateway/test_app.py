"""A gateway opens views for people, closes what nobody comes for, and describes itself without a secret."""

import json
from contextlib import nullcontext
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from remit import Authority, DefinitionError, Limits, ManualClock, Principal
from remit._contract.manifest import assemble
from remit._session.session import Session
from remit.gateway import Gateway
from remit.policies import authenticated

ADA = Principal("ada")


def gateway(clock: ManualClock, **limits: int) -> Gateway:
    authority = Authority(assemble([], [], {}, exposure={}, policies=[]))
    return Gateway(authority, clock=clock, limits=Limits(**limits))


def opened(gateway: Gateway, principal: Principal | None = ADA) -> Session:
    return gateway.open_view(
        principal=lambda: principal, host=lambda: None, within=nullcontext, title="Devices", route="/devices"
    )


class Half:
    """No clock, no catalogue, no store."""


WRONG: list[tuple[str, Any, str]] = [
    ("policies", authenticated(), "Gateway(policies=…) takes several policies, not _Authenticated"),
    ("policies", b"x", "Gateway(policies=…) takes several policies, not bytes"),
    ("trust_traceparent", "no", "Gateway(trust_traceparent=…) takes True or False, not str"),
    ("policies", [7], "int: no Policy"),
    ("procedures", 7, "Gateway(procedures=…) takes a catalogue of operations, or several, not int"),
    ("decide", 7, "Gateway(decide=…) takes an async function of one request, not int"),
    ("keys", "secret", "Gateway(keys=…) takes Keys, not str"),
    ("allowed_hosts", "app.example", "allowed hosts are a collection"),
    ("allowed_hosts", [7], "an allowed host is a name such as app.example, not 7"),
    ("clock", Half(), "Gateway(clock=…) takes a Clock, not Half"),
    ("limits", {"sessions": 1}, "Gateway(limits=…) takes limits, not dict"),
    ("guard", 7, "guard= is a synchronous function"),
    ("store", Half(), "is no store"),
]


@pytest.mark.requirement("14.0-arguments-are-judged")
@pytest.mark.parametrize(("name", "given", "told"), WRONG)
def test_what_cannot_be_meant_is_refused_when_the_process_starts(name: str, given: Any, told: str) -> None:
    authority = Authority(assemble([], [], {}, exposure={}, policies=[]))
    with pytest.raises((TypeError, DefinitionError)) as refused:
        Gateway(authority, **{name: given})
    assert told in str(refused.value)


@pytest.mark.requirement("3.9-policies-of-the-contract")
def test_a_gateway_without_a_policy_that_the_contract_names_is_refused_when_the_process_starts() -> None:
    authority = Authority(assemble([], [], {}, exposure={}, policies=["authenticated"]))
    with pytest.raises(DefinitionError, match="every surface has the policy 'authenticated'"):
        Gateway(authority)
    Gateway(authority, policies=[authenticated()])


@pytest.mark.requirement("14.1-nobody-signed-in")
def test_nobody_signed_in_opens_no_view() -> None:
    with pytest.raises(PermissionError):
        opened(gateway(ManualClock()), None)


@pytest.mark.requirement("17-sessions")
def test_there_are_no_more_sessions_than_the_limit() -> None:
    full = gateway(ManualClock(), sessions=2)
    first = opened(full)
    opened(full)
    with pytest.raises(RuntimeError, match="2 sessions"):
        opened(full)
    full.close_view(first.id)
    full.close_view(first.id)
    opened(full)


@pytest.mark.requirement("17-idle-session")
def test_a_view_whose_client_never_came_is_closed() -> None:
    clock = ManualClock()
    served = gateway(clock, idle_session_s=100)
    kept, forgotten = opened(served), opened(served)
    served.connected(kept.id)
    clock.advance(101)
    assert served._views.get(forgotten.id) is None
    assert served._views.get(kept.id) is kept


@pytest.mark.requirement("17-idle-session")
def test_a_view_whose_client_came_back_has_its_whole_time_again() -> None:
    clock = ManualClock()
    served = gateway(clock, idle_session_s=100)
    view = opened(served)
    served.connected(view.id)
    served.disconnected(view.id)
    clock.advance(60)
    served.connected(view.id)
    served.disconnected(view.id)
    clock.advance(60)
    assert served._views.get(view.id) is view
    clock.advance(41)
    assert served._views.get(view.id) is None


@pytest.mark.requirement("3.12-every-run-time-text")
def test_the_title_of_a_view_is_one_capped_line() -> None:
    served = gateway(ManualClock(), runtime_text=10)
    view = served.open_view(
        principal=lambda: ADA, host=lambda: None, within=nullcontext, title="My\n\u202edevices of today", route="/d"
    )
    assert view.title == "My device…"


@pytest.mark.requirement("11.11-no-token-in-an-output")
def test_the_description_names_open_views_and_no_secret() -> None:
    served = gateway(ManualClock())
    token = served.delegate(ADA, actor="agent", scope=["view:**"])
    opened(served)
    view = opened(served)
    served.connected(view.id)
    described = served.describe()
    assert described["path"] == "/remit/mcp"
    assert described["views"] == [{"view": view.id, "title": "Devices", "route": "/devices"}]
    assert token not in json.dumps(described)


@pytest.mark.requirement("15.5-no-new-calls")
async def test_stopping_twice_and_without_a_start_is_nothing() -> None:
    served = gateway(ManualClock())
    served.stopping()
    await served.stop()
    await served.stop()
    with pytest.raises(RuntimeError, match="stopped"):
        opened(served)


@pytest.mark.requirement("14.0-an-authority")
def test_what_is_no_authority_is_refused() -> None:
    with pytest.raises(TypeError, match="Authority"):
        Gateway("remit.contract.json")  # type: ignore[arg-type]


@pytest.mark.requirement("14.0-the-door-is-at-one-path")
async def test_the_door_is_at_one_path_as_a_route_and_below_a_mount() -> None:
    served = gateway(ManualClock())
    await served.start()
    mounted: list[BaseRoute] = [Mount("/remit", app=served.door())]
    inside: list[BaseRoute] = [Mount("/inside", routes=mounted)]
    for prefix, routes in [("", served.door_routes()), ("", mounted), ("/inside", inside)]:
        app = Starlette(routes=routes)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            assert (await http.post(f"{prefix}/remit/mcp")).status_code == 401
            assert (await http.post(f"{prefix}/remit/other")).status_code == 404
    await served.stop()
