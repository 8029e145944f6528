"""Handoffs as a store keeps them, and as they go on after a restart (SPEC 11.7, 15.1)."""

from datetime import datetime

from remit._base.boundary import canonical, loads
from remit._base.clock import Clock
from remit._confirmation.handoff import Handing, HandoffRecord
from remit._contract.plan import Plan
from remit._model.consumer import Consumer, ConsumerKey, Principal
from remit._model.handoff_view import HandoffStatus
from remit.store.rows import HandoffRow


def row_of(record: HandoffRecord) -> HandoffRow:
    """One as it is now."""
    asked = record.asked
    return HandoffRow(
        id=record.id,
        surface_id=record.surface_id,
        capability=asked.plan.id,
        registration=asked.registration,
        instance=asked.instance,
        place=asked.place,
        tenant=asked.principal.tenant,
        principal=asked.principal.id,
        consumer=text_of(asked.consumer.key),
        consumer_id=asked.consumer.id,
        input=canonical(dict(asked.input)).decode(),
        withheld=asked.withheld,
        digest=asked.digest,
        path=asked.path,
        invocation=asked.invocation,
        correlation_id=asked.correlation_id,
        contract_hash=asked.contract_hash,
        created_at=record.created_at.isoformat(),
        expires_at=record.expires_at.isoformat(),
        status=record.status.value,
        decided_by=record.decided_by,
        data=record.data.decode(),
    )


def record_of(row: HandoffRow, plan: Plan, surface_id: str, clock: Clock) -> HandoffRecord:
    """One that an earlier process left waiting, on the surface that shows its capability now."""
    kind, issuer, actors, grant = _parts(row.consumer)
    input = loads(row.input.encode())
    expires = datetime.fromisoformat(row.expires_at)
    asked = Handing(
        plan=plan,
        registration=row.registration,
        instance=row.instance,
        place=row.place,
        consumer=Consumer(row.consumer_id, kind=kind, issuer=issuer, actors=actors, grant=grant),
        principal=Principal(row.principal, tenant=row.tenant),
        input=input if isinstance(input, dict) else {},
        withheld=row.withheld,
        digest=row.digest,
        path=row.path,
        invocation=row.invocation,
        correlation_id=row.correlation_id,
        contract_hash=row.contract_hash,
    )
    return HandoffRecord(
        row.id,
        asked,
        surface_id,
        datetime.fromisoformat(row.created_at),
        expires,
        clock.monotonic() + (expires - clock.now()).total_seconds(),
        status=HandoffStatus(row.status),
        taken_over=True,
    )


def text_of(key: ConsumerKey) -> str:
    """The key of a consumer as rows name it."""
    kind, issuer, actors, grant = key
    return canonical([kind, issuer, list(actors), grant]).decode()


def _parts(consumer: str) -> tuple[str, str | None, tuple[str, ...], str | None]:
    key = loads(consumer.encode())
    assert isinstance(key, list) and isinstance(key[2], list)  # as `row_of` writes it
    issuer, grant = key[1], key[3]
    return (
        str(key[0]),
        None if issuer is None else str(issuer),
        tuple(str(actor) for actor in key[2]),
        None if grant is None else str(grant),
    )
