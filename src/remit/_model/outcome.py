"""How a call ended: `Ok` or `Failed`, returned, never raised (SPEC 6.1)."""

from dataclasses import dataclass

from remit.errors import AgentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Ok:
    """The call ran; `output` is JSON (None when the capability returns nothing).

    `surface_changed` says that the listing this consumer may see moved during the call.
    """

    invocation_id: str
    capability_id: str
    output: object
    surface_version: str
    surface_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The call did not succeed; `error` says why in the agent's terms."""

    invocation_id: str
    capability_id: str
    error: AgentError
    surface_version: str
    surface_changed: bool


Outcome = Ok | Failed
