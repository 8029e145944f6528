"""Which calls wait for each other: `concurrency=` and the lane that follows from it (SPEC 6.6)."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from remit._base.boundary import Json
from remit._contract.capability import Capability
from remit._contract.options import LIMITS, Place, checked_text
from remit._contract.plan import Turn
from remit._model.effects import Kind

Mode: TypeAlias = Literal["instance", "capability"]

MOST_AT_ONCE: Final = 1_000
_DO: Final = 'write "instance", "capability", key("name") or parallel(2)'


@dataclass(frozen=True, slots=True)
class Key:
    """What `key` makes: one queue of a name, across the surface."""

    name: str


@dataclass(frozen=True, slots=True)
class Parallel:
    """What `parallel` makes: a number of calls of one capability at once."""

    places: int
    said: bool = field(default=True, compare=False)


Concurrency: TypeAlias = Mode | Key | Parallel


def key(name: str = "") -> Key:
    """Let everything that has this key, in whatever instance of the surface, run one at a time (SPEC 6.6).

    `@action(concurrency=key("export"))`. Without a name it is refused when the class is created.
    """
    return Key(name)


def parallel(places: int | None = None) -> Parallel:
    """Let at most so many calls of this capability and instance run at once (SPEC 6.6).

    `@action(concurrency=parallel(3))`: a whole number from 1 to 1,000; anything else is refused when the class is
    created.
    """
    return Parallel(0, said=False) if places is None else Parallel(places)


def checked_concurrency(at: Place, written: object) -> Concurrency | None:
    """Return what was written, or None; DefinitionError for what cannot be meant."""
    match written:
        case None:
            return None
        case "instance":
            return "instance"
        case "capability":
            return "capability"
        case Key(name=name):
            if not isinstance(name, str) or not name.strip():
                raise at.wrong("concurrency=key() has no name", do='name what is shared: key("export")')
            checked_text(at, "the name of concurrency=key", name, LIMITS.title)
            return written
        case Parallel(places=places):
            if isinstance(places, bool) or not isinstance(places, int) or not 1 <= places <= MOST_AT_ONCE:
                given = repr(places) if written.said else ""
                raise at.wrong(
                    f"concurrency=parallel({given}) says no number of calls", do=f"write 1 to {MOST_AT_ONCE:,}"
                )
            return written
        case _ if written is key or written is parallel:
            raise at.wrong(f"concurrency={getattr(written, '__name__', '')} is not called", do=_DO)
        case _:
            raise at.wrong(f"concurrency={written!r} is no mode", do=_DO)


def concurrency_of(capability: Capability) -> Concurrency | None:
    """What holds: an action's default is its instance, a reference's its procedure; reads share a pool, None.

    So is a flow, which takes no turn: its steps do (SPEC 11.8).
    """
    if capability.options.steps is not None:
        return None
    written = checked_concurrency(capability.at, capability.options.concurrency)
    if written is not None:
        return written
    match capability.kind:
        case Kind.ACTION:
            return "instance"
        case Kind.REFERENCE:
            return "capability"
        case Kind.OBSERVATION:
            return None
        case _:
            assert_never(capability.kind)


def concurrency_block(concurrency: Concurrency | None) -> Json:
    """Its form in the contract: a mode's name, `{"key": name}` or `{"parallel": n}`; None is the pool of reads."""
    match concurrency:
        case Key(name=name):
            return {"key": name}
        case Parallel(places=places):
            return {"parallel": places}
        case mode:
            return mode


def turn_of(capability_id: str, concurrency: Concurrency | None) -> Turn | None:
    """The lane of a capability; None for the pool of reads."""
    match concurrency:
        case None:
            return None
        case Key(name=name):
            return Turn(name=name, places=1, everywhere=True)
        case Parallel(places=places):
            return Turn(name=capability_id, places=places)
        case "capability":
            return Turn(name=capability_id, places=1)
        case "instance":
            return Turn(name="", places=1)
        case _:
            assert_never(concurrency)
