"""The example of docs/concepts/policies.md; runs as it is."""

import asyncio
from datetime import UTC, datetime

from remit import Component, Consumer, ManualClock, Surface, observation
from remit.compiler import compile_app
from remit.policies import (
    Decision,
    Disable,
    Expose,
    Policy,
    PolicyContext,
    RequireConfirmation,
    ReviewContext,
    authenticated,
)


class OfficeHours(Policy, name="office-hours"):
    def discover(self, ctx: PolicyContext) -> Decision:
        return Expose() if 8 <= ctx.clock.local_hour() < 18 else Disable("Only between 8 and 18 h")

    async def review(self, ctx: ReviewContext) -> RequireConfirmation | None:
        ids = ctx.input.get("device_ids", ())
        return RequireConfirmation() if isinstance(ids, list) and len(ids) > 20 else None


class Desk(Component, type="demo.desk"):
    """A desk somebody sits at."""

    @observation
    def read_open(self) -> bool:
        """Whether it is open."""
        return True


async def main() -> None:
    clock = ManualClock(datetime(2026, 1, 1, 17, tzinfo=UTC))
    policies = [authenticated(), OfficeHours()]
    surface = Surface(compile_app(__file__), principal="operator", policies=policies, clock=clock)
    agent = surface.connect(Consumer("copilot", kind="embedded"))
    with surface.mount(Desk()):
        assert [c.available for c in agent.capabilities()] == [True]
        clock.advance(3_600)
        assert [c.reason for c in agent.capabilities()] == ["Only between 8 and 18 h"]


if __name__ == "__main__":
    asyncio.run(main())
