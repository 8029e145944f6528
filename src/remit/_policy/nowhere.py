"""What stands in the place of a component's policies where there is no component (SPEC 4.7, decision 20)."""

from typing import Final

from remit._policy.context import PolicyContext
from remit._policy.decision import Decision, Expose, Hide
from remit._policy.policy import Policy, quick


class Nowhere(Policy, name="nowhere"):
    """Hides everything: stands for what hides a component, where there is none (SPEC 4.7)."""

    @quick
    def discover(self, ctx: PolicyContext) -> Decision:
        """Ask of a principal what nobody has, as a policy over a component may."""
        principal = ctx.principal
        return _EXPOSE if principal is not None and _NOBODYS in principal.grants else _HIDE


NOWHERE: Final = (Nowhere(), Nowhere())
"""As many as a component and its capability have between them, one more or less."""

_NOBODYS: Final = "\0"
_EXPOSE: Final = Expose()
_HIDE: Final = Hide()
