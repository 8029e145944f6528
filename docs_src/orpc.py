"""The example of docs/guides/orpc.md: an oRPC backend behind a view; with FLEET_URL it calls the backend, too."""

import asyncio
import os

from remit import BackendError, Component, Consumer, Context, Decider, Failed, Ok, Principal, Surface, reference
from remit.compiler import compile_app
from remit.procedures.orpc import ORPC, Answer, Credentials, Procedure


def credential(ctx: Context) -> dict[str, str]:
    return {"Authorization": f"Bearer {ctx.principal.id}"}


def errors(answer: Answer) -> BackendError | None:
    body = answer.body
    if isinstance(body, dict) and body.get("code") == "ALREADY_DISABLED":
        return BackendError(409, code="ALREADY_DISABLED", data=body.get("data"))
    return None


backend = ORPC(
    "orpc/contract.json",
    document="orpc/openapi.json",
    base_url=os.environ.get("FLEET_URL", "https://fleet.example/rpc"),
    credentials=Credentials(credential, headers=["Authorization"]),
    errors=errors,
    expose={
        "devices.list": Procedure("devices.list", effect="server-query"),
        "devices.disable": Procedure("devices.disable", effect="destructive", tags=["fleet"]),
    },
)


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    find = reference("domain:devices.list")
    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("id")
    def selection(self) -> str:
        return self.selected

    def __init__(self, selected: str) -> None:
        self.selected = selected


async def main() -> None:
    authority = compile_app(__file__)
    surface = Surface(authority, principal=Principal("ada"), procedures=backend)
    surface.confirmations.subscribe(lambda view: None)
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(DevicesTable("dev-1")):
        print(backend.names(), backend.refused())
        if "FLEET_URL" in os.environ:
            found = await agent.call(DevicesTable.find, {"limit": 1})
            asked = await agent.call(DevicesTable.disable, {"reason": "stolen"})
            assert isinstance(found, Ok) and isinstance(asked, Failed)
            id = str(asked.error.details["confirmation_id"])
            await surface.confirmations.approve(id, Decider("lead", grants={"fleet-operator"}))
            done = await agent.call(DevicesTable.disable, {"reason": "stolen"}, confirmation=id)
            print(found.output, done)
    await backend.aclose()


if __name__ == "__main__":
    asyncio.run(main())
