"""The examples of docs/concepts/references.md and confirmation.md; runs as it is."""

import asyncio

from remit import (
    BackendError,
    Component,
    Consumer,
    Decider,
    Failed,
    Ok,
    Outcome,
    Principal,
    Procedures,
    Surface,
    reference,
)
from remit.compiler import compile_app


class Fleet:
    """A backend's database."""

    def __init__(self) -> None:
        self.disabled: list[str] = []

    async def disable(self, ids: list[str]) -> int:
        self.disabled += ids
        return len(ids)


fleet = Fleet()


async def require_write_access(caller: Principal, ids: list[str]) -> None:
    if caller.id != "operator":
        raise BackendError(403)


backend = Procedures()


@backend.operation("devices.disable", effect="destructive")
async def disable_devices(device_ids: list[str], caller: Principal) -> int:
    """Disable devices in the fleet."""
    await require_write_access(caller, device_ids)  # the backend still decides for itself
    return await fleet.disable(device_ids)


@backend.operation("jobs.retry", effect="server-mutation")
async def retry_job(job: str) -> str:
    """Run a job again."""
    return f"{job} runs"


class Jobs(Component, type="jobs", headless=True):
    """Jobs of one queue."""

    again = reference("domain:jobs.retry")


class DevicesTable(Component, type="devices.table"):
    """Table of devices that match the active filters."""

    disable = reference("domain:devices.disable", approver="fleet-operator")

    @disable.bind("device_ids")  # one field, one value, read at call time
    def selection(self) -> list[str]:
        return sorted(self.selected)

    def __init__(self, selected: set[str]) -> None:
        self.selected = selected


async def decide(surface: Surface) -> None:
    lead = Decider("lead", {"fleet-operator"})
    for request in surface.confirmations.pending(lead):
        if request.input["device_ids"] == ["d1"]:
            await surface.confirmations.approve(request.id, lead, digest=request.digest)
        else:
            await surface.confirmations.deny(request.id, lead, "not today")


def confirmation_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Failed)
    return str(outcome.error.details["confirmation_id"])


async def main() -> None:
    surface = Surface(compile_app(__file__), principal="operator", procedures=backend)
    surface.confirmations.subscribe(lambda request: None)  # a page of the application: somebody can be asked
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    table = DevicesTable({"d1"})
    with surface.mount(table):
        asked = confirmation_of(await agent.call(DevicesTable.disable))
        await decide(surface)
        assert isinstance(await agent.call(DevicesTable.disable, confirmation=asked), Ok)
        table.selected = {"d1", "d2"}
        asked = confirmation_of(await agent.call(DevicesTable.disable))
        await decide(surface)
        assert isinstance(await agent.call(DevicesTable.disable, confirmation=asked), Failed)
    assert fleet.disabled == ["d1"]
    with surface.mount(Jobs()):
        assert isinstance(await agent.call(Jobs.again, {"job": "j1"}), Ok)


if __name__ == "__main__":
    asyncio.run(main())
