"""Ways to a surface other than calling it: the doors that agents use, under the same test (SPEC 16.1).

A door needs its extra, so its module is known by name here and loaded when a test asks for it: `import remit.testing`
loads none of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias

from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._model.consumer import Consumer, Principal
from remit._model.outcome import Outcome
from remit._model.progress import ProgressListener
from remit._model.request import Invocation
from remit._surface.surface import Surface

Era: TypeAlias = Literal["modern", "handshake"]

IN_PROCESS: Final = "test"
"""The door of a harness that calls its surface itself."""

_OPENERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "mcp": "remit.testing.over_mcp:in_memory",
        "mcp-http": "remit.testing.over_mcp:on_loopback",
        "page": "remit.testing.over_page:in_memory",
        "page-http": "remit.testing.over_page:on_loopback",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What a door is put in front of: a surface, whose it is, and who comes to it; `era` is the protocol's."""

    surface: Surface
    principal: Principal
    actor: str
    clock: Clock
    limits: Limits
    era: Era


class Door(Protocol):
    """A door in front of one surface. It is opened by its first call, in the event loop of that, and closed there."""

    @property
    def consumer(self) -> Consumer:
        """Who the surface takes the caller for."""
        ...

    async def invoke(self, invocation: Invocation, progress: ProgressListener | None) -> Outcome:
        """Call through the door."""
        ...

    def close(self) -> None:
        """Begin to close; done when this returns unless the loop runs, and then soon after."""
        ...

    async def aclose(self) -> None:
        """Close and wait for the end of it."""
        ...


def open_door(name: str, behind: Behind) -> Door:
    """Make the door of this name; a ValueError when there is none, a RuntimeError when its extra is not installed."""
    if name not in _OPENERS:
        raise ValueError(f"there is no door {name!r}\n  known  {', '.join([IN_PROCESS, *_OPENERS])}")
    if behind.era not in {"modern", "handshake"}:
        raise ValueError(f'era is "modern" or "handshake", not {behind.era!r}')
    try:
        opener: Callable[[Behind], Door] = resolve_name(_OPENERS[name])
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        raise RuntimeError(
            f"the door {name!r} needs {package}, which is not installed\n  do  pip install 'remit[mcp]'"
        ) from missing
    return opener(behind)
