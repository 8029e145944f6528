"""What a gateway keeps beyond its process by default: the store and the keys that its project names (SPEC 15.1)."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit._base.clock import Clock
from remit._contract.authority import Authority
from remit._contract.development import PRODUCTION, is_production
from remit._contract.durable import durable_of
from remit._session.delegation import Keys
from remit._session.keys_file import NEW, new_keys, private_folder, read_keys
from remit.errors import DefinitionCode, DefinitionError
from remit.gateway.guard import LOOPBACK, AllowedHosts
from remit.store.protocol import ConfirmationStore, Store
from remit.store.sqlite import SQLiteStore

_LOCAL: Final = AllowedHosts(LOOPBACK)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """The store and the keys of a gateway; `own` is the store where the gateway has opened it, and closes it."""

    store: ConfirmationStore | Store | None
    keys: Keys | None
    own: SQLiteStore | None = None


def kept_by(
    authority: Authority,
    store: ConfirmationStore | Store | None,
    keys: Keys | None,
    allowed_hosts: Iterable[str],
    clock: Clock,
) -> Kept:
    """What was given; without a store what the project of the contract names, nothing where it names none.

    DefinitionError: the keys are missing, or made for development, where a deployment needs its own. StoreError: the
    file cannot be used.
    """
    home = authority.home
    durable = None if store is not None or home is None else durable_of(home)
    if durable is None:
        return Kept(store, keys)
    held = _keys(durable.keys, allowed_hosts) if keys is None else keys
    private_folder(durable.state.parent)
    own = SQLiteStore(durable.state, clock=clock)
    return Kept(own, held, own)


def _keys(file: Path, allowed_hosts: Iterable[str]) -> Keys:
    beyond = next((host for host in allowed_hosts if not _LOCAL.allows(host)), None)
    why = f"REMIT_ENV is {PRODUCTION}" if is_production() else "" if beyond is None else f"{beyond} is an allowed host"
    found = read_keys(file)
    if why and found is None:
        raise _refused(f"there is no {file.name}, and {why}")
    if found is None:
        found = new_keys(file, development=True)
        logger.warning("%s/%s was made, with a key for development", file.parent.name, file.name)
    if why and found.development:
        raise _refused(f"{file.name} was made for development, and {why}")
    keys = Keys(found.active, found.keys)
    keys.development = found.development
    return keys


def _refused(rule: str) -> DefinitionError:
    return DefinitionError(DefinitionCode.INVALID_DEFINITION, "Gateway(keys=…)", rule, do=NEW)
