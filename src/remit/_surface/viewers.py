"""Who looks: asks the host for principal and host context per call, and notices when the person is another one."""

from collections.abc import Callable

from remit._base.ident import new_id
from remit._journal.audit import AuditLog
from remit._model.consumer import Consumer, Decider, Principal
from remit._registry.entered import Entered, Raised
from remit._registry.viewer import Site, Viewer
from remit.errors import Happened, Refusal, execution_failed, not_authenticated

PrincipalSource = Principal | str | Callable[[], Principal | None]


class Viewers:
    """Makes the viewer of a consumer, now (SPEC 4.0).

    A source that is a callable is asked each time, inside `within`, so that a role revoked meanwhile counts. It
    refreshes attributes of one principal: None, another id or another tenant ends the surface through `gone`.
    """

    __slots__ = ("_audit", "_entered", "_fixed", "_gone", "_host", "_kept", "_key", "_site")

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
        self._kept: Viewer | None = None
        try:
            first = self._asked()
        except Refusal as refusal:
            raise PermissionError("a surface needs a principal: it could not be asked") from refusal.cause
        if first is None:
            raise PermissionError("a surface needs a principal: nobody is signed in")
        self._key = first.key

    @property
    def principal_key(self) -> tuple[str | None, str]:
        """(tenant, id) of the one principal of this surface."""
        return self._key

    def here(self) -> bool:
        """Whether the person is still the one of this surface, asked now; when not, the surface ends (SPEC 4.0).

        A host that cannot say is left to the call that asks it.
        """
        source = self._fixed
        answer = source if isinstance(source, Principal) else self._entered.attempt(source)
        if answer is None or (isinstance(answer, Principal) and answer.key != self._key):
            self._gone()
            return False
        return True

    def of(self, consumer: Consumer) -> Viewer:
        """The consumer's view of the surface now, or a refusal when the person has gone."""
        if self._kept is not None and self._kept.consumer is consumer:
            return self._kept
        principal = self._asked()
        if principal is None or principal.key != self._key:
            self._gone()
            raise Refusal(not_authenticated(), why="the principal of this surface has gone or is another one")
        viewer = Viewer(self._site, consumer, principal, self._host_now())
        if isinstance(self._fixed, Principal) and not callable(self._host):
            self._kept = viewer  # principal and host are fixed values: who looked last looks the same again
        return viewer

    def still_deciding(self, decider: Decider) -> Decider | None:
        """The decider as it stands now: the principal's grants are asked anew, another person's are the host's word.

        None when nobody can be asked any more (SPEC 7.4: grants are checked when deciding and when spending).
        """
        if (decider.tenant, decider.id) != self._key:
            return decider
        try:
            principal = self._asked()
        except Refusal:
            return None
        if principal is None or principal.key != self._key:
            return None
        return Decider(decider.id, decider.grants & principal.grants, tenant=decider.tenant)

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
        if not callable(self._host):
            return self._host
        answer = self._entered.attempt(self._host)
        if isinstance(answer, Raised):
            correlation = new_id("err_")
            self._audit.fault(f"the host's values could not be asked: {correlation}", answer.cause)
            error = execution_failed("handler-error", Happened.NONE, correlation_id=correlation)
            raise Refusal(error, why=correlation, cause=answer.cause)
        return answer
