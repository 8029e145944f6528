"""The example of docs/guides/fastapi.md: an existing service behind a view; runs as it is."""

import asyncio
from typing import Annotated

from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel

from remit import Component, Consumer, Context, Decider, Failed, Ok, Principal, Surface, reference
from remit.compiler import compile_app
from remit.procedures.openapi import Credentials, OpenAPI, Operation

service = FastAPI(title="Fleet")
disabled: list[str] = []


class Devices(BaseModel):
    device_ids: list[str]


@service.get("/devices")
async def list_devices(limit: int = 50) -> list[str]:
    """List devices of the fleet."""
    return ["d-1", "d-2"][:limit]


@service.post("/devices/disable")
async def disable_devices(devices: Devices, authorization: Annotated[str, Header()] = "") -> int:
    """Disable devices of the fleet."""
    if authorization != "Bearer ada":
        raise HTTPException(403)
    disabled.extend(devices.device_ids)
    return len(devices.device_ids)


def credential(ctx: Context) -> dict[str, str]:
    return {"Authorization": f"Bearer {ctx.principal.id}"}


backend = OpenAPI(
    service,  # or "backend.openapi.json", or an address; then with base_url="https://fleet.example"
    credentials=Credentials(credential, headers=["Authorization"]),
    expose={
        "devices.list": Operation("GET /devices", effect="server-query"),
        "devices.disable": Operation("POST /devices/disable", effect="destructive", tags=["fleet"]),
    },
)


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    find = reference("domain:devices.list")
    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")
    def selection(self) -> list[str]:
        return sorted(self.selected)

    def __init__(self, selected: set[str]) -> None:
        self.selected = selected


async def main() -> None:
    authority = compile_app(__file__)
    surface = Surface(authority, principal=Principal("ada"), procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(DevicesTable({"d-2"})):
        found = await agent.call(DevicesTable.find, {"limit": 1})
        assert isinstance(found, Ok) and found.output == ["d-1"]
        asked = await agent.call(DevicesTable.disable)
        assert isinstance(asked, Failed) and asked.error.code == "CONFIRMATION_REQUIRED"
        id = str(asked.error.details["confirmation_id"])
        await surface.confirmations.approve(id, Decider("lead", grants={"fleet-operator"}))
        done = await agent.call(DevicesTable.disable, confirmation=id)
        assert isinstance(done, Ok) and done.output == 1
    assert disabled == ["d-2"]
    print(backend.names(), backend.refused(), backend.circuit.state)


if __name__ == "__main__":
    asyncio.run(main())
