"""A broker over the real store, hub and journal, and calls that differ in one thing at a time."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from typing_extensions import Unpack

from remit._base.boundary import Json, take
from remit._base.clock import ManualClock
from remit._base.limits import Limits
from remit._confirmation.broker import Broker
from remit._confirmation.keys import ConfirmationKeys
from remit._confirmation.request import Ask, RequestRecord
from remit._journal.audit import AuditLog
from remit._journal.hub import EventHub
from remit._model.consumer import Consumer, Decider, Principal
from remit._model.descriptor import Descriptor
from remit._model.effects import Confirmation, Effect, Kind
from remit._model.event import Event
from remit._model.ids import CapabilityId
from remit._model.request import Invocation
from remit._model.request_view import ConfirmationView
from remit.errors import AgentError, Refusal
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationChanges

KEYS = ConfirmationKeys("k1", {"k1": b"k" * 32})
BOT = Consumer("bot", kind="mcp")
OTHER = Consumer("other", kind="mcp")
ADA = Principal("ada", tenant="acme")
ADA_HERSELF = Decider("ada", tenant="acme")
LEAD = Decider("lead", grants={"fleet-operator"}, tenant="acme")


def describe(name: str = "disable", effect: Effect = Effect.DESTRUCTIVE) -> Descriptor:
    return Descriptor(
        id=CapabilityId(f"domain:devices.{name}"),
        kind=Kind.REFERENCE,
        effect=effect,
        component="devices.table",
        title="Disable devices",
        description="Disable the selected devices.",
        input_schema={"type": "object", "required": ["reason"]},
        output_schema=None,
        idempotent=False,
        reversible=False,
        confirmation=Confirmation.ALWAYS,
        bound=("ids",),
    )


def asking(input: dict[str, Json] | None = None, **changes: Any) -> Ask:
    """A call with everything it needs; each keyword replaces one part."""
    own, canonical = take({"ids": ["a"], "reason": "old"} if input is None else input)
    assert isinstance(own, dict)
    parts: dict[str, Any] = {
        "surface_id": "srf_1",
        "registration": "reg_1",
        "instance": "default",
        "component": "devices.table",
        "descriptor": describe(),
        "consumer": BOT,
        "principal": ADA,
        "contract_hash": "sha256:1",
        "input": own,
        "canonical": canonical,
        "bound": ("ids",),
        "invocation": Invocation("domain:devices.disable", {"reason": "old"}, id="inv_1"),
    }
    return Ask(**(parts | changes))


class Counting(MemoryStore):
    """A store that remembers which changes it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def transition(
        self, id: str, from_status: str, to_status: str, **changes: Unpack[ConfirmationChanges]
    ) -> bool:
        self.asked.append(f"{from_status}-{to_status}")
        return await super().transition(id, from_status, to_status, **changes)


@dataclass
class Desk:
    """The broker under test and everything around it that a test looks at."""

    store: Any = field(default_factory=MemoryStore)
    limits: Limits = field(default_factory=Limits)
    clock: ManualClock = field(default_factory=ManualClock)
    options: dict[str, Any] = field(default_factory=dict)
    subscribed: bool = True
    seen: list[ConfirmationView] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hub = EventHub("srf_1", self.clock, 100, self.fail)
        self.hub.subscribe(self.events.append)
        self.audit = AuditLog("srf_1", self.clock)
        self.broker = Broker(self.store, self.clock, self.limits, KEYS, self.hub, audit=self.audit, **self.options)
        self.host = self.broker.confirmations
        if self.subscribed:
            self.host.subscribe(self.seen.append)

    def fail(self, raised: BaseException) -> None:
        raise AssertionError("no listener should raise") from raised

    async def approved(self, ask: Ask | None = None, decider: Decider = ADA_HERSELF) -> RequestRecord:
        record = await self.broker.ask(ask or asking())
        await self.host.approve(record.id, decider)
        return record

    def statuses(self) -> list[str]:
        return [view.status.value for view in self.seen]


async def refused(awaitable: Any) -> AgentError:
    """The error that a step answered with."""
    with pytest.raises(Refusal) as caught:
        await awaitable
    return caught.value.error
