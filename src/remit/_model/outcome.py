"""How a call ended: `Ok` or `Failed`, returned, never raised (SPEC 6.1)."""

from dataclasses import dataclass
from typing import TypeAlias

from remit._model.steps import StepsDone
from remit.errors import AgentError

Untrusted: TypeAlias = bool | tuple[str, ...]
"""What holds text from outside the organisation: all of it, some fields of an object, or nothing (SPEC 3.14)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ok:
    """The call ran; `output` is JSON (None when the capability returns nothing).

    `surface_changed` says that the listing this consumer may see moved during the call. `untrusted` says that the
    output holds text from outside the organisation, or names the fields that do (SPEC 3.14). `steps` is there for flows
    only: how many of its steps are done (SPEC 11.8).
    """

    invocation_id: str
    capability_id: str
    output: object
    surface_version: str
    surface_changed: bool
    untrusted: Untrusted = False
    steps: StepsDone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The call did not succeed; `error` says why in the agent's terms.

    `steps` says of a flow how many of its steps are done all the same, or before it paused (SPEC 11.8).
    """

    invocation_id: str
    capability_id: str
    error: AgentError
    surface_version: str
    surface_changed: bool
    steps: StepsDone | None = None


Outcome = Ok | Failed


def untrusted_to_json(mark: Untrusted) -> bool | list[str]:
    """The mark as JSON has it."""
    return mark if isinstance(mark, bool) else list(mark)
