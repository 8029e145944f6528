"""The keys that confirmation requests are bound with: from the host, by `kid`, replaced at run time (SPEC 7.1)."""

import hmac
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from remit import Component, ConfirmationKeys, DefinitionError, ManualClock, Mount, Principal, Surface, action
from remit.gateway import Gateway, Keys
from remit.store.memory import MemoryStore
from remit.store.protocol import ConfirmationRow
from tests.behaviour.conftest import AGENT, OPERATOR, authority_of, failed, output

ONE, TWO, THREE = b"1" * 32, b"2" * 32, b"3" * 32


class Durable(MemoryStore):
    """A store whose requests outlive the process."""

    @property
    def durable(self) -> bool:
        """True."""
        return True


class Table(Component, type="table"):
    """A table."""

    def __init__(self) -> None:
        self.ran: list[int] = []

    @action(confirmation="required")
    def delete(self, count: int) -> int:
        """Delete some rows."""
        self.ran.append(count)
        return count

    @action(confirmation="required", sensitive=("pin",))
    def lock(self, pin: str) -> None:
        """Lock it."""
        self.ran.append(len(pin))


class Site:
    """A surface over a store that is durable, and its keys."""

    def __init__(self, *, in_memory: bool = False) -> None:
        self.keys = ConfirmationKeys("k1", {"k1": ONE})
        self.store = MemoryStore() if in_memory else Durable()
        self.surface = Surface(
            authority_of(Table),
            principal="operator",
            keys=None if in_memory else self.keys,
            store=self.store,
            clock=ManualClock(),
        )
        self.surface.confirmations.subscribe(lambda view: None)
        self.table = Table()
        self.mounted: Mount = self.surface.mount(self.table, identity="rows")
        self.agent = self.surface.connect(AGENT)

    async def asked(self, capability: Any = Table.delete, **input: object) -> str:
        error = failed(await self.agent.call(capability, input), "CONFIRMATION_REQUIRED")
        return str(error.details["confirmation_id"])

    async def row(self, id: str) -> ConfirmationRow:
        row = await self.store.get(id)
        assert row is not None
        return row


@pytest.mark.requirement("7.1-a-durable-store-needs-a-key")
def test_a_surface_over_a_durable_store_does_not_start_without_a_key() -> None:
    with pytest.raises(DefinitionError) as refused:
        Surface(authority_of(Table), principal="operator", store=Durable())
    assert refused.value.code == "INVALID_DEFINITION"
    assert "no key from the deployment" in str(refused.value) and "ConfirmationKeys(" in str(refused.value.do)
    Surface(authority_of(Table), principal="operator", store=Durable(), keys=ConfirmationKeys("k1", {"k1": ONE}))
    Surface(authority_of(Table), principal="operator", store=MemoryStore())


@pytest.mark.requirement("7.1-a-durable-store-needs-a-key")
def test_a_gateway_over_a_durable_store_does_not_start_without_a_key() -> None:
    with pytest.raises(DefinitionError, match="keeps requests when this process has ended") as refused:
        Gateway(authority_of(Table), store=Durable())
    assert refused.value.do == 'Gateway(…, keys=Keys("k1", {"k1": secret}))'
    Gateway(authority_of(Table), store=Durable(), keys=Keys.fresh())
    Gateway(authority_of(Table))


@pytest.mark.requirement("7.1-the-kid-is-kept")
async def test_a_request_keeps_the_kid_and_its_digest_is_keyed_with_that_secret() -> None:
    site = Site()
    row = await site.row(await site.asked(count=1))
    assert (row.kid, row.digest) == ("k1", hmac.digest(ONE, row.form.encode(), "sha256").hex())
    site.keys.rotate("k2", TWO)
    row = await site.row(await site.asked(count=2))
    assert (row.kid, row.digest) == ("k2", hmac.digest(TWO, row.form.encode(), "sha256").hex())


@pytest.mark.requirement("7.1-a-random-key-in-memory")
async def test_without_keys_two_surfaces_in_memory_bind_with_different_ones() -> None:
    rows: list[ConfirmationRow] = []
    for _ in range(2):
        site = Site(in_memory=True)
        rows.append(await site.row(await site.asked(count=1)))
    assert [row.kid for row in rows] == ["process", "process"]
    assert all(row.digest != hmac.digest(ONE, row.form.encode(), "sha256").hex() for row in rows)


@pytest.mark.requirement("7.1-two-keys-during-rotation")
async def test_a_pending_request_of_the_key_before_is_found_approved_and_spent() -> None:
    site = Site()
    id = await site.asked(count=1)
    site.keys.rotate("k2", TWO)
    assert (site.keys.active, site.keys.kids) == ("k2", ("k2", "k1"))
    assert await site.asked(count=1) == id, "the same request"
    assert len(site.surface.confirmations.pending()) == 1
    await site.surface.confirmations.approve(id, OPERATOR)
    other = await site.agent.call(Table.delete, {"count": 2}, confirmation=id)
    assert failed(other, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    assert output(await site.agent.call(Table.delete, {"count": 1}, confirmation=id)) == 1
    assert site.table.ran == [1]


@pytest.mark.requirement("7.1-two-keys-during-rotation")
async def test_an_approval_of_the_key_before_is_spent_by_the_next_identical_call_under_its_invocation_id() -> None:
    site = Site()
    error = failed(await site.agent.call(Table.delete, {"count": 1}, id="mine"), "CONFIRMATION_REQUIRED")
    id = str(error.details["confirmation_id"])
    site.keys.rotate("k2", TWO)
    await site.surface.confirmations.approve(id, OPERATOR)
    done = await site.agent.call(Table.delete, {"count": 1}, confirmation=id)
    assert (output(done), done.invocation_id) == (1, "mine")
    second = await site.asked(count=2)
    await site.surface.confirmations.approve(second, OPERATOR)
    site.keys.rotate("k3", THREE)
    assert output(await site.agent.call(Table.delete, {"count": 2})) == 2


@pytest.mark.requirement("7.1-two-keys-during-rotation")
async def test_a_denial_stays_final_while_its_key_is_there() -> None:
    site = Site()
    id = await site.asked(count=1)
    await site.surface.confirmations.deny(id, OPERATOR)
    site.keys.rotate("k2", TWO)
    again = await site.agent.call(Table.delete, {"count": 1})
    assert failed(again, "CONFIRMATION_INVALID").details["reason"] == "denied"


@pytest.mark.requirement("7.1-two-keys-during-rotation")
async def test_withheld_values_are_compared_with_the_key_that_they_were_kept_under() -> None:
    site = Site()
    id = await site.asked(Table.lock, pin="1234")
    site.keys.rotate("k2", TWO)
    await site.surface.confirmations.approve(id, OPERATOR)
    wrong = await site.agent.call(Table.lock, {"pin": "4321"}, confirmation=id)
    assert failed(wrong, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    output(await site.agent.call(Table.lock, {"pin": "1234"}, confirmation=id))
    assert site.table.ran == [4]


@pytest.mark.requirement("7.1-two-keys-during-rotation")
async def test_a_pending_request_moves_to_the_next_mount_under_its_own_key_as_long_as_that_is_there() -> None:
    site = Site()
    id = await site.asked(count=1)
    site.keys.rotate("k2", TWO)
    site.mounted.unmount()
    second = site.surface.mount(site.table, identity="rows")
    assert await site.asked(count=1) == id
    row = await site.row(id)
    assert (row.kid, row.registration) == ("k1", second.registration_id)
    assert row.digest == hmac.digest(ONE, row.form.encode(), "sha256").hex()
    site.keys.rotate("k3", THREE)
    second.unmount()
    site.surface.mount(site.table, identity="rows")
    view = site.surface.confirmations.get(id)
    assert view is not None and (view.status, view.cause) == ("cancelled", "unmounted")


@pytest.mark.requirement("7.1-a-dropped-key")
async def test_what_was_asked_with_a_dropped_key_runs_nothing_and_is_asked_anew() -> None:
    site = Site()
    id = await site.asked(count=1)
    await site.surface.confirmations.approve(id, OPERATOR)
    site.keys.rotate("k2", TWO)
    site.keys.rotate("k3", THREE)
    assert site.keys.kids == ("k3", "k2")
    late = await site.agent.call(Table.delete, {"count": 1}, confirmation=id)
    assert failed(late, "CONFIRMATION_INVALID").details == {"reason": "mismatch"}
    (entry,) = [each for each in site.surface.audit() if each.why == "the key of the request has been dropped"]
    assert entry.code == "CONFIRMATION_INVALID" and site.table.ran == []
    new = await site.asked(count=1)
    assert new != id and (await site.row(new)).kid == "k3"


@pytest.mark.requirement("7.1-keys-are-judged")
def test_keys_that_cannot_be_meant_are_refused() -> None:
    keys = ConfirmationKeys("k1", {"k1": "s" * 32})
    for wrong, says in (
        (lambda: ConfirmationKeys("k2", {"k1": ONE}), "the active key"),
        (lambda: ConfirmationKeys("k1", {"k1": b"short"}), "fewer than 32 bytes"),
        (lambda: ConfirmationKeys("", {"": ONE}), "its kid"),
        (lambda: ConfirmationKeys([], {}), "is not among the keys"),  # type: ignore[arg-type]
        (lambda: ConfirmationKeys("k1", {"k1": 5}), "is bytes or text, not int"),  # type: ignore[dict-item]
        (lambda: keys.rotate([], ONE), "its kid"),  # type: ignore[arg-type]
        (lambda: keys.rotate("k2", "short"), "fewer than 32 bytes"),
        (lambda: keys.rotate("k1", ONE), "already"),
    ):
        with pytest.raises(ValueError, match=says):
            wrong()
    with pytest.raises(TypeError, match="takes keys by kid, not list"):
        ConfirmationKeys("k1", ["k1"])  # type: ignore[arg-type]
    assert keys.kids == ("k1",) and keys.secret("k2") is None
    assert "sss" not in repr(keys) and "k1" in repr(keys)


@pytest.mark.requirement("7.1-keys-of-a-gateway")
async def test_a_gateway_binds_requests_with_a_secret_derived_of_each_of_its_keys() -> None:
    fresh = Keys.fresh()
    digests: set[str] = set()
    for keys in (Keys("k1", {"k1": ONE}), Keys("k2", {"k1": ONE, "k2": TWO}), fresh, fresh):
        row = await asked_at(Gateway(authority_of(Table), store=(store := Durable()), keys=keys), store)
        secret = keys.derived(b"remit: confirmation requests")[keys.active]
        assert (row.kid, row.digest) == (keys.active, hmac.digest(secret, row.form.encode(), "sha256").hex())
        digests.add(secret.hex())
        assert secret not in (ONE, TWO)
    assert len(digests) == 3, "the same key gives the same secret, in every process"


@pytest.mark.requirement("7.1-keys-of-a-gateway")
def test_a_public_key_gives_no_secret() -> None:
    public = Ed25519PrivateKey.generate().public_key()
    assert set(Keys("k2", {"k1": public, "k2": TWO}).derived(b"x")) == {"k2"}


@pytest.mark.requirement("4.13-findings-development-key")
async def test_a_development_key_is_a_finding_and_outlives_the_process(tmp_path: Path) -> None:
    store, file = Durable(), tmp_path / "key"
    gateway = Gateway(authority_of(Table), store=store, keys=Keys.of_development(file))
    (finding,) = opened(gateway).findings()
    assert (finding.kind, finding.do) == ("development-key", "give keys= a key that the deployment keeps secret")
    row = await asked_at(gateway, store)
    again = Keys.of_development(file)
    secret = again.derived(b"remit: confirmation requests")["development"]
    assert row.digest == hmac.digest(secret, row.form.encode(), "sha256").hex()
    kept = ConfirmationKeys("k1", {"k1": ONE}, development=True)
    (own,) = Surface(authority_of(Table), principal="operator", keys=kept).findings()
    assert own.kind == "development-key"
    assert Site().surface.findings() == ()


def opened(gateway: Gateway) -> Surface:
    principal = Principal("operator")
    session = gateway.open_view(
        principal=lambda: principal, host=lambda: None, within=nullcontext, title="Rows", route="/"
    )
    assert isinstance(session.surface, Surface)
    return session.surface


async def asked_at(gateway: Gateway, store: MemoryStore) -> ConfirmationRow:
    surface = opened(gateway)
    surface.confirmations.subscribe(lambda view: None)
    surface.mount(Table())
    error = failed(await surface.connect(AGENT).call(Table.delete, {"count": 1}), "CONFIRMATION_REQUIRED")
    row = await store.get(str(error.details["confirmation_id"]))
    assert row is not None
    return row
