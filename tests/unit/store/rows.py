"""Rows for the tests of stores: plausible, and different in what a test names."""

from dataclasses import replace
from typing import Any

from remit.store.protocol import ConfirmationRow, RevocationRow
from remit.store.rows import CallRow, DelegationRow, HandoffRow, SessionRow, StandingRow

BOT = '["mcp","remit",["bot"],"dlg_1"]'


def asked(id: str = "cnf_1", **changes: Any) -> ConfirmationRow:
    row = ConfirmationRow(
        id=id,
        surface_id="srf_1",
        registration="reg_1",
        capability="view:a.b",
        tenant="acme",
        principal="ada",
        consumer=BOT,
        kid="k1",
        digest="d",
        form='{"input":{"note":"größer"}}',
        approvers=("fleet", "lead"),
        created_at="2026-01-01T12:00:00+00:00",
        decide_by="2026-01-01T12:02:00+00:00",
        status="pending",
    )
    return replace(row, **changes)


def stands(id: str = "std_1", **changes: Any) -> StandingRow:
    row = StandingRow(
        id=id,
        surface_id="srf_1",
        registration="reg_1",
        capability="view:a.b",
        tenant="acme",
        principal="ada",
        consumer=BOT,
        confirmation="cnf_1",
        decided_by="ada",
        pinned="{}",
        free=("note",),
        given_at="2026-01-01T12:00:00+00:00",
        until="2026-01-01T12:15:00+00:00",
        uses_left=10,
    )
    return replace(row, **changes)


def step(id: str = "hnd_1", **changes: Any) -> HandoffRow:
    row = HandoffRow(
        id=id,
        surface_id="srf_1",
        capability="view:a.b",
        registration="reg_1",
        instance="default",
        place="a",
        tenant="acme",
        principal="ada",
        consumer=BOT,
        consumer_id="bot",
        input='{"order":7}',
        withheld=("card",),
        digest="d",
        path="/orders/7/pay",
        invocation="inv_1",
        correlation_id=None,
        contract_hash="sha256:0",
        created_at="2026-01-01T12:00:00+00:00",
        expires_at="2026-01-01T12:30:00+00:00",
        status="pending",
    )
    return replace(row, **changes)


def view(id: str = "vew_1", **changes: Any) -> SessionRow:
    row = SessionRow(
        id=id,
        tenant="acme",
        principal="ada",
        key="k",
        title="Orders",
        opened_at="2026-01-01T12:00:00+00:00",
        seen_at="2026-01-01T12:00:00+00:00",
        until="2026-01-02T12:00:00+00:00",
    )
    return replace(row, **changes)


def token(id: str = "dlg_1", **changes: Any) -> DelegationRow:
    row = DelegationRow(
        id=id,
        tenant="acme",
        principal="ada",
        actors=("bot",),
        kind="mcp",
        scope=("view:**",),
        session=None,
        parents=(),
        begins="2026-01-01T12:00:00+00:00",
        until="2026-01-01T12:15:00+00:00",
    )
    return replace(row, **changes)


def call(id: str = "c1", **changes: Any) -> CallRow:
    row = CallRow(
        id=id,
        surface_id="srf_1",
        tenant="acme",
        principal="ada",
        consumer=BOT,
        capability="view:a.b",
        kid="k1",
        fingerprint="f",
        started_at="2026-01-01T12:00:00+00:00",
        until="2026-01-01T12:10:00+00:00",
    )
    return replace(row, **changes)


def taken_back(id: str = "dlg_1", **changes: Any) -> RevocationRow:
    row = RevocationRow(id=id, at="2026-01-01T12:00:00+00:00", by="admin", why="it is over", tenant="acme")
    return replace(row, **changes)
