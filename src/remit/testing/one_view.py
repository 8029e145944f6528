"""The one open view that every door of a harness stands in front of, and the token of who comes to it (SPEC 16.1)."""

from typing import Final

from starlette.requests import HTTPConnection

from remit._base.ident import new_id
from remit._base.limits import Limits
from remit._model.consumer import Consumer, ConsumerKind
from remit._session.delegation import Delegations, Keys
from remit._session.identity import Identity
from remit._session.session import VIEW_PREFIX, Session
from remit._session.views import Views
from remit.gateway.given import identified
from remit.testing.doors import Behind

SCOPE: Final = ("view:**", "domain:**")
TEN_YEARS_S: Final = 315_360_000.0
"""A token that outlives whatever time a test lets pass; what its end does is tested at the gateway."""


class OneView:
    """A surface as the open view of its person, for a consumer of one kind."""

    def __init__(self, behind: Behind, limits: Limits, kind: ConsumerKind) -> None:
        session = Session(
            id=new_id(VIEW_PREFIX),
            principal=behind.principal.key,
            title="Under test",
            opened_at=behind.clock.now(),
            surface=behind.surface,
        )
        self.views = Views(behind.clock, limits)
        self.views.add(session)
        self.views.connect(session, None)
        self._kind = kind
        self._delegations = Delegations(Keys.fresh(), behind.clock, limits)
        self.token = self._delegations.mint(
            behind.principal, actor=behind.actor, scope=SCOPE, ttl=TEN_YEARS_S, session=session.id, kind=kind
        )

    @property
    def consumer(self) -> Consumer:
        """Who the token stands for."""
        delegation = self._delegations.verify(self.token, kind=self._kind)
        assert delegation is not None
        return delegation.consumer

    def identify(self, connection: HTTPConnection) -> Identity | None:
        """Who makes a request, by its token; None without one that is good here."""
        return identified(connection, self._delegations, self._kind)
