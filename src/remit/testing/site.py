"""What the harnesses of several people have in common (SPEC 16.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from remit._base.clock import ManualClock
from remit._base.limits import Limits
from remit._contract.authority import Authority
from remit._policy.policy import Policy
from remit._surface.surface import Surface
from remit.testing.overrides import Overrides
from remit.testing.people import PrincipalSource


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Site:
    """What every surface of one harness is made of."""

    authority: Authority
    policies: tuple[Policy, ...]
    host: object
    exposure: Mapping[str, Iterable[str]] | None
    limits: Limits | None

    def surface(self, principal: PrincipalSource, clock: ManualClock, overrides: Overrides) -> Surface:
        """A surface of one person."""
        return Surface(
            self.authority,
            principal=principal,
            host=self.host,
            policies=self.policies,
            procedures=overrides,
            exposure=self.exposure,
            clock=clock,
            limits=self.limits,
        )
