"""The kill switch: one consumer or one capability, off or on again (SPEC 4.13)."""

from remit._contract.authority import Authority
from remit._journal.audit import AuditLog, AuditType
from remit._model.consumer import Consumer, ConsumerKey, check_consumer
from remit._registry.suspended import EVERYWHERE, Suspended, name_of
from remit._surface.connection import Named, named_id
from remit.store.protocol import SuspensionStore


def target_of(consumer: Consumer | None, capability: str | Named | None, authority: Authority) -> ConsumerKey | str:
    """What is meant: the key of a consumer, or the id of a capability that the contract knows."""
    if (consumer is None) is (capability is None):
        raise TypeError("name one: consumer=… or capability=…")
    if consumer is not None:
        check_consumer(consumer)
        return consumer.key
    id = named_id(capability)
    if id not in authority.capability_ids:
        raise ValueError(f"the contract knows no capability {id!r:.160}")
    return id


def switch(target: ConsumerKey | str, off: Suspended, audit: AuditLog, *, suspended: bool) -> None:
    """Switch it, and journal that; what is switched so already is left as it is."""
    if not off.set(target, suspended):
        return
    audit.append(
        AuditType.SUSPENSION,
        capability=target if isinstance(target, str) else None,
        consumer=None if isinstance(target, str) else target,
        status="suspended" if suspended else "reinstated",
    )


def switch_everywhere(target: ConsumerKey | str, held: SuspensionStore, *, suspended: bool) -> bool:
    """Switch it for every tenant over a store; say whether that changed anything."""
    return held.set(EVERYWHERE + name_of(target), suspended)
