"""Who looks: asks the host for principal and host context per call, and notices when the person is another one."""

from collections.abc import Callable

from remit._journal.audit import AuditLog
from remit._model.consumer import Consumer, Principal
from remit._registry.entered import Entered, Raised
from remit._registry.viewer import Site, Viewer
from remit.errors import Refusal, not_authenticated

PrincipalSource = Principal | str | Callable[[], Principal | None]


class Viewers:
    """Makes the viewer of a consumer, now (SPEC 4.0).

    A source that is a callable is asked each time, inside `within`, so that a role revoked meanwhile counts. It
    refreshes attributes of one principal: None, another id or another tenant ends the surface through `gone`.
    """

    __slots__ = ("_audit", "_entered", "_fixed", "_gone", "_host", "_key", "_principal", "_site")

    def __init__(
        self,
        site: Site,
        entered: Entered,
        principal: PrincipalSource,
        host: object,
        audit: AuditLog,
        gone: Callable[[], None],
    ) -> None:
        self._site = site
        self._entered = entered
        self._fixed = Principal(principal) if isinstance(principal, str) else principal
        self._host = host
        self._audit = audit
        self._gone = gone
        first = self._asked()
        if first is None:
            raise PermissionError("a surface needs a principal: nobody is signed in")
        self._key = first.key

    @property
    def principal_key(self) -> tuple[str | None, str]:
        """(tenant, id) of the one principal of this surface."""
        return self._key

    def of(self, consumer: Consumer) -> Viewer:
        """The consumer's view of the surface now, or a refusal when the person has gone."""
        principal = self._asked()
        if principal is None or principal.key != self._key:
            self._gone()
            raise Refusal(not_authenticated(), why="the principal of this surface has gone or is another one")
        return Viewer(self._site, consumer, principal, self._host_now())

    def _asked(self) -> Principal | None:
        source = self._fixed
        if isinstance(source, Principal):
            return source
        answer = self._entered.attempt(source)
        if isinstance(answer, Raised):
            self._audit.fault("the principal could not be asked", answer.cause)
            raise Refusal(not_authenticated(), why="the principal could not be asked", cause=answer.cause)
        if answer is not None and not isinstance(answer, Principal):
            raise TypeError(f"principal() returned {type(answer).__name__}, not a Principal or None")
        return answer

    def _host_now(self) -> object:
        return self._entered.call(self._host) if callable(self._host) else self._host
