"""What some entries are about beside a call: a mount, or a listing (SPEC 9.2)."""

from typing import NamedTuple


class Place(NamedTuple):
    """What a registration entry is about: the type and the instance that was mounted, or was to be."""

    component: str
    instance: str


class ListingCounts(NamedTuple):
    """How many capabilities a consumer was shown, how many of them unavailable, and how many it was not shown.

    What a predicate says is not counted: it is state, and may differ at the next look.
    """

    shown: int
    unavailable: int
    hidden: int


class Handed(NamedTuple):
    """Which handoff an entry is about."""

    id: str
