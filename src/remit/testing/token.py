"""What an agent was told of one capability, kept to be replayed later (SPEC 6.5)."""

from collections.abc import Iterable
from dataclasses import dataclass

from remit._model.listing import Listed, Snapshot
from remit._surface.connection import Named, named_id
from remit._toolset.direct import addressed


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A capability as a listing named it: which registration, on which surface, at which version.

    Calling it says all of this to the surface, so that what has moved since is answered as stale.
    """

    capability: str
    instance: str
    registration: str
    surface_id: str
    surface_version: str


def id_of(capability: str | Named | Token) -> str:
    """The id of a capability, however a test names it."""
    return capability.capability if isinstance(capability, Token) else named_id(capability)


def token_of(snapshot: Snapshot, capability: str | Named, instance: str | None) -> Token:
    """The token of the one capability that is meant; an AssertionError when there is none, or more than one."""
    wanted = id_of(capability)
    found = [
        listed
        for listed in snapshot.capabilities()
        if listed.id == wanted and instance in {None, listed.instance, addressed(listed)}
    ]
    if len(found) != 1:
        raise AssertionError(_not_one(wanted, instance, found, snapshot.capabilities()))
    return Token(
        capability=wanted,
        instance=addressed(found[0]),
        registration=found[0].registration,
        surface_id=snapshot.surface_id,
        surface_version=snapshot.surface_version,
    )


def _not_one(wanted: str, instance: str | None, found: list[Listed], all: Iterable[Listed]) -> str:
    if found:
        return f"{wanted} is listed {len(found)} times\n  do  name one: {', '.join(addressed(each) for each in found)}"
    named = wanted if instance is None else f"{wanted} of {instance}"
    return f"{named} is not listed\n  listed  {', '.join(sorted({each.id for each in all})) or 'nothing'}"
