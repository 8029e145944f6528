"""Who looks at a surface, and what is equal for every look at it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from remit._base.boundary import Json
from remit._base.clock import Clock
from remit._base.limits import Limits
from remit._confirmation.outside import Outside
from remit._model.consumer import Consumer, Principal
from remit._model.context import ReadContext
from remit._model.pattern import Patterns
from remit._policy.chain import Chain
from remit._policy.context import Counters, PolicyContext, ReviewContext
from remit._registry.entered import Entered
from remit._registry.revoked import Revoked
from remit._registry.state import Bound
from remit._registry.suspended import Suspended


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a surface leaves of the site's exposure: `doors` by door, None where nothing narrows it.

    What is derived is there only where each of `derived` holds it, the site's first (SPEC 11.9).
    """

    doors: Mapping[str, Patterns] | None
    derived: tuple[Patterns, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Site:
    """What is equal for every look at one surface.

    `chain` are the surface's own policies; `nothing` is what judges an id that nobody offers: they, and what hides.
    `exposure` is the contract's, `narrowed` what the surface leaves of it; `can_confirm` says whether anybody
    could answer a confirmation request; `moved` names operations whose backend no longer equals the contract;
    `suspended` is what an operator switched off, `revoked` which grants were taken back. `wrong_records` hears of a
    template whose records cannot be read; `outside` knows who has read text from outside.
    """

    exposure: Mapping[str, Patterns]
    narrowed: Narrowing
    chain: Chain
    nothing: Chain
    entered: Entered
    clock: Clock
    counters: Counters
    can_confirm: Callable[[], bool]
    moved: frozenset[str]
    suspended: Suspended
    revoked: Revoked
    limits: Limits
    wrong_records: Callable[[str, str, BaseException | None], None]
    outside: Outside


@dataclass(frozen=True, slots=True, eq=False)
class Viewer:
    """One consumer looking at one surface on behalf of its principal, while principal and host stay what they are.

    `free` says that neither exposure nor scope can keep it from anything that names no doors of its own.
    """

    site: Site
    consumer: Consumer
    principal: Principal | None
    host: object
    free: bool = field(init=False)

    @property
    def expired(self) -> bool:
        """True from the moment on until which the consumer was vouched for, or when that has been revoked."""
        until = self.consumer.until
        return until is not None and (self.site.clock.now() >= until or self.site.revoked.has(self.consumer))

    @property
    def ended(self) -> str:
        """Why it is `expired`, for operators."""
        return "its grant is revoked" if self.site.revoked.has(self.consumer) else "the consumer's time is over"

    def __post_init__(self) -> None:
        consumer = self.consumer
        free = consumer.kind.in_process and consumer.scope is None and self.site.narrowed.doors is None
        object.__setattr__(self, "free", free)

    def context(self, bound: Bound | None, *, charges: bool = True) -> PolicyContext:
        """What policies see; `None` is the empty target that a made-up id is judged on.

        With `charges=False` meters only look: the call was charged before (SPEC 6.2, step 13).
        """
        return PolicyContext(
            principal=self.principal,
            consumer=self.consumer,
            host=self.host,
            clock=self.site.clock,
            capability=None if bound is None else bound.plan.descriptor,
            instance=None if bound is None else bound.registration.instance,
            door=self.consumer.kind.value,
            counters=self.site.counters,
            charges=charges,
            outside=self.site.outside.has,
        )

    def read_context(self, bound: Bound) -> ReadContext:
        """What `.records` sees: what a policy does, but for counting."""
        return ReadContext(
            principal=self.principal,
            consumer=self.consumer,
            host=self.host,
            clock=self.site.clock,
            capability=bound.plan.descriptor,
            instance=bound.registration.instance,
            door=self.consumer.kind.value,
        )

    def trial(self) -> "Viewer":
        """The same look, at which meters count on their own: for what is not to be charged (SPEC 6.11)."""
        site = replace(self.site, counters=self.site.counters.trial())
        return Viewer(site, self.consumer, self.principal, self.host)

    def review_context(self, bound: Bound, effective: dict[str, Json]) -> ReviewContext:
        """What `review` sees: the same, and the effective input."""
        return ReviewContext(self.context(bound), effective)
