"""`Gateway`: contract, policies and backend of a process, its sessions, and what they are served by (SPEC 14)."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress

from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from remit._base.clock import Clock, SystemClock
from remit._base.limits import Limits
from remit._base.text import clean_line
from remit._contract.authority import Authority
from remit._contract.component import Component
from remit._contract.moved import moves_of, refuse_moved
from remit._model.consumer import Consumer, ConsumerKind, Principal
from remit._model.request_view import CancelCause
from remit._policy.guard import Guard as MountGuard
from remit._policy.guard import check_guard
from remit._policy.policy import Policy
from remit._session.decisions import Decisions
from remit._session.delegation import Delegations, Keys, for_confirmations
from remit._session.identity import Identity
from remit._session.keeping import Keeping
from remit._session.port import Decide, Login, SignIns
from remit._session.session import Session
from remit._session.views import Views
from remit._surface.belonging import Belonging
from remit._surface.given import check_shared, policies_of, procedures_of
from remit._surface.surface import Surface
from remit._surface.switch import switch_everywhere, target_of
from remit.adapters.mcp.door import PATH as DOOR_PATH
from remit.adapters.mcp.door import McpDoor
from remit.gateway.bridge.door import Bridge
from remit.gateway.given import check_keys, check_policies, check_trust, identified
from remit.gateway.guard import LOOPBACK, AllowedHosts, Guard, Shared
from remit.gateway.kept import kept_by
from remit.gateway.page_protocol.door import PATH as PAGE_PATH
from remit.gateway.page_protocol.door import PageDoor
from remit.gateway.pages.approvals import PATH as PAGES_PATH
from remit.gateway.pages.approvals import Approvals
from remit.procedures.catalogue import Catalogue
from remit.store.failures import StoreError
from remit.store.memory import MemoryStore
from remit.store.parts import parts_of
from remit.store.protocol import ConfirmationStore, RevocationRow, Store

logger = logging.getLogger(__name__)


class Gateway:
    """One object a process: what views are made of, and the doors through which agents and people reach them.

    `policies` stand on every surface, `guard` judges every mount on them (SPEC 4.5), `procedures` serves the
    references, `decide` answers confirmation requests inline. `keys` sign tokens and bind confirmation requests;
    without them both have a key that lives as long as the process, which a durable store refuses (SPEC 7.1). Where no
    `store` is given and `[tool.remit]` names a `state`, that file is the store, and `remit keys` its keys (SPEC 15.1).
    `allowed_hosts` are the names under which the application may be asked for (`app.example`, or `app.example:8443` for
    one port); with a development contract or a development key they count for nothing, and only this machine is
    answered, on loopback. With `trust_traceparent` calls through a network door continue the trace they come with, else
    they are linked with it. A pending authority (while the contract is being compiled) is accepted; no view opens then.
    """

    def __init__(  # noqa: PLR0913 - SPEC 14.0 fixes these keywords
        self,
        authority: Authority,
        *,
        procedures: Catalogue | Sequence[Catalogue] | None = None,
        policies: Iterable[Policy] = (),
        decide: Decide | None = None,
        keys: Keys | None = None,
        allowed_hosts: Iterable[str] = LOOPBACK,
        store: ConfirmationStore | Store | None = None,
        clock: Clock | None = None,
        limits: Limits | None = None,
        guard: MountGuard | None = None,
        trust_traceparent: bool = False,
    ) -> None:
        if not isinstance(authority, Authority):
            raise TypeError("Gateway(authority, …) needs an Authority: Authority.load(beside=__file__)")
        self._authority = authority
        self._policies = policies_of(policies, "Gateway")
        self._clock = SystemClock() if clock is None else clock
        self._limits = Limits() if limits is None else limits
        check_shared("Gateway", self._limits, self._clock, decide)
        check_policies(authority, self._policies)
        check_guard(guard)
        check_keys(keys)
        check_trust(trust_traceparent)
        self._procedures = procedures_of(procedures, "Gateway")
        refuse_moved(moves_of(authority.operations, self._procedures), self._procedures)
        self._decide = decide
        named = allowed_hosts if isinstance(allowed_hosts, str) else tuple(allowed_hosts)
        hosts = AllowedHosts(named)
        kept = kept_by(authority, store, keys, named, self._clock)
        store, keys, self._own = kept.store, kept.keys, kept.own
        self._store = parts_of(store, MemoryStore(clock=self._clock))
        self._judge = guard
        self._trust_traceparent = trust_traceparent
        self._keys = for_confirmations(keys, durable=self._store.durable)
        self._local_only = authority.development or (keys is not None and keys.development)
        self._hosts = AllowedHosts(LOOPBACK) if self._local_only else hosts
        self._views = Views(self._clock, self._limits)
        self._keeping = Keeping(self._store.sessions, self._clock, self._limits)
        signing, held = Keys.fresh() if keys is None else keys, self._store
        self._delegations = Delegations(signing, self._clock, self._limits, held.revocations, held.delegations)
        self._belongs = Belonging()
        self._unhear = self._delegations.revoked.subscribe(self._revocation)
        self._door: McpDoor | None = None
        self._page = PageDoor(
            self._views,
            self._identify_page,
            pages=self._pages,
            clock=self._clock,
            limits=self._limits,
            trust_traceparent=trust_traceparent,
        )
        self._bridges: list[Bridge] = []
        self._has_pages = False
        self._stopped = False

    @property
    def pending(self) -> bool:
        """True while the contract is being compiled: nothing may be opened or served."""
        return self._authority.pending

    @property
    def clock(self) -> Clock:
        """The time of everything in this process."""
        return self._clock

    @property
    def limits(self) -> Limits:
        """The limits of everything in this process."""
        return self._limits

    @property
    def decisions(self) -> Decisions:
        """Waiting requests of all views, for code of the host that decides."""
        return Decisions(self._views)

    def open_view(
        self,
        *,
        principal: Callable[[], Principal | None],
        host: Callable[[], object],
        within: Callable[[], AbstractContextManager[object]],
        title: str,
        route: str,
        key: str | None = None,
    ) -> Session:
        """Make the session and surface of a page being built; no agent sees it before `connected`.

        `principal` and `host` are asked per call, inside `within`. `key` is the host's own name for the view, an
        HttpOnly cookie's value for instance and never what a page sends: when the process ends, and over a durable
        store the same principal opens one of that name, it goes on as the same view, and tokens for it stay good. No
        principal now: PermissionError. More sessions than `limits.sessions`, or a stopped gateway: RuntimeError.
        """
        if self._stopped:
            raise RuntimeError("the gateway has been stopped")
        if len(self._views) >= self._limits.sessions:
            raise RuntimeError(f"more than {self._limits.sessions} sessions are open")
        with within():
            person = principal()
        if person is None:
            raise PermissionError("nobody is signed in, so there is no view to open")
        id, opened_at, digest = self._keeping.name(person.key, key)
        surface = Surface(
            self._authority,
            principal=principal,
            host=host,
            policies=self._policies,
            procedures=self._procedures,
            decide=self._decide,
            within=within,
            store=self._store,
            clock=self._clock,
            limits=self._limits,
            guard=self._judge,
            keys=self._keys,
        )
        surface.set_route(route)
        if self._has_pages:
            surface.confirmations.attach_page()
        session = Session(
            id=id,
            principal=person.key,
            title=clean_line(title, self._limits.runtime_text),
            opened_at=opened_at,
            surface=surface,
            key=digest,
        )
        self._views.add(session)
        self._keeping.write(session)
        self._reap_later(session)
        return session

    def connected(self, view_id: str, *, tab: str | None = None) -> None:
        """The person's client is there. A view of the same principal with the same `tab` is closed at once."""
        session = self._views.get(view_id)
        if session is not None:
            replaced = self._views.connect(session, tab)
            self._keeping.write(session)
            for old in replaced:
                self.close_view(old.id, cause=CancelCause.VIEW_RELOADED)

    def disconnected(self, view_id: str) -> None:
        """The client is gone for now: agents no longer reach the view, its components stay mounted by their home."""
        session = self._views.get(view_id)
        if session is not None:
            self._views.disconnect(session)
            self._keeping.write(session)
            self._reap_later(session)

    def close_view(self, view_id: str, *, cause: CancelCause = CancelCause.VIEW_CLOSED) -> None:
        """End the session of this view and dispose its surface; closing twice is a no-op."""
        session = self._views.remove(view_id)
        if session is None:
            return
        session.surface.dispose(cause)
        if cause is not CancelCause.STOPPING or session.key is None:  # else it goes on in the next process
            self._keeping.end(session)

    def routes(self, login: Login) -> list[BaseRoute]:
        """The pages that ask who is signed in: decision page, list of waiting requests (HTML, person's session).

        They belong to the application whose login `login` reads. Calling this gives every view opened afterwards a
        channel for confirmations.
        """
        self._has_pages = True
        return Approvals(self.decisions, login, self._clock).routes()

    def bridge(self, sign_in: SignIns, host: object, pages: Mapping[str, Iterable[type[Component]]]) -> list[BaseRoute]:
        """The browser module at `/remit/browser.js` and its socket; `pages` says what a page may bind, by its path.

        They belong to the application whose login `sign_in` asks (SPEC 14.2). Refused: what is not `page=True`.
        """
        bridge = Bridge(self, sign_in, host, pages)
        self._bridges.append(bridge)
        return bridge.routes()

    def door(self) -> ASGIApp:
        """The MCP door as an ASGI application, guarded; mounted at `/remit` it serves `/remit/mcp`."""
        if self._door is None:
            self._door = McpDoor(
                self._views,
                self._identify,
                decision_path=self._pages,
                clock=self._clock,
                limits=self._limits,
                trust_traceparent=self._trust_traceparent,
            )
        return self._shared(self._door)

    def door_routes(self) -> list[BaseRoute]:
        """The doors for agents: MCP at `/remit/mcp`, the page protocol below `/remit/page`; they hide nothing else."""
        return [Route(DOOR_PATH, endpoint=self.door()), Mount(PAGE_PATH, app=self._shared(self._page))]

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Wrap the outermost application: Host and Origin allow-list for http and websocket scopes."""
        return Guard(app, self._hosts, local_only=self._local_only)

    def delegate(
        self,
        principal: Principal,
        *,
        actor: str,
        scope: Iterable[str],
        ttl: float | None = None,
        session: str | None = None,
        kind: ConsumerKind | str = ConsumerKind.MCP,
    ) -> str:
        """Mint a token with which `actor` reaches open views of this principal, within `scope` (SPEC 11.11).

        `ttl` is seconds, 900 if not given; `session` narrows it to one view. For the host only.
        """
        return self._delegations.mint(principal, actor=actor, scope=scope, ttl=ttl, session=session, kind=kind)

    def attenuate(
        self,
        token: str,
        *,
        actor: str,
        scope: Iterable[str],
        ttl: float | None = None,
        session: str | None = None,
    ) -> str:
        """Narrow a token for a further agent: within its scope, no longer than it lives, three in a chain (SPEC 11.11).

        `actor` is appended to those of the token; `ttl` is at most what the token has left, which is also what counts
        if it is not given and that is less than 900; `session` may name one view. Refused: PermissionError for a token
        that is not good now, ValueError for what reaches further. For the host only.
        """
        return self._delegations.attenuate(token, actor=actor, scope=scope, ttl=ttl, session=session)

    def revoke(self, token: str, *, by: str, why: str) -> bool:
        """Take a token back, with every token narrowed from it: cut off at once, at every door (SPEC 11.11).

        `token` is the token or its id, which is the grant of its consumer. Its next request is 401; its streams and
        sockets end, its calls that wait are stopped, its requests are cancelled, its standing approvals end; code that
        runs is not interrupted. It is held in the store, and journalled `by` whom and `why` in every open view of its
        principal. False when it was revoked before or has ended by itself; what is no token and no id is a ValueError.
        """
        return self._delegations.revoke(token, by=by, why=why)

    def suspend(self, *, consumer: Consumer | None = None, capability: str | None = None) -> None:
        """Switch one consumer or one capability off on every surface over this gateway's store, for every tenant.

        It counts as `Surface.suspend` does, as of the next call, until `reinstate` (SPEC 4.13). Views opened later are
        included.
        """
        self._switch(consumer, capability, suspended=True)

    def reinstate(self, *, consumer: Consumer | None = None, capability: str | None = None) -> None:
        """Take a suspension of the whole gateway back; one that a surface made for its tenant is left as it is."""
        self._switch(consumer, capability, suspended=False)

    async def start(self) -> None:
        """Begin to serve; call once, inside the running loop."""
        self._belongs = Belonging()  # streams live in the loop that serves
        self.door()
        if self._door is not None and not self.pending:
            await self._door.start()

    def stopping(self) -> None:
        """Answer held calls and close streams; synchronous, called before the server drains. Safe to call twice."""
        self._page.stopping()
        for bridge in self._bridges:
            bridge.stopping()
        if self._door is not None:
            self._door.stopping()

    async def stop(self) -> None:
        """Close every view and stop serving; safe to call twice."""
        self._stopped = True
        self._unhear()
        # Running calls come to their end first: closing a view would cancel them.
        await self._page.stop()
        if self._door is not None:
            await self._door.stop()
        for session in self._views.all():
            self.close_view(session.id, cause=CancelCause.STOPPING)
        with suppress(StoreError):  # it has said so itself, and the next process finds what was left open
            await self._store.flush()
        if self._own is not None:
            await asyncio.to_thread(self._own.close)

    def describe(self) -> Mapping[str, object]:
        """What to paste into an agent's client: the paths of the doors and the open views; no secret."""
        views = [
            {"view": session.id, "title": session.title, "route": session.surface.route}
            for session in self._views.all()
            if session.connected
        ]
        return {"path": DOOR_PATH, "transport": "streamable-http", "page": PAGE_PATH, "views": views}

    def _shared(self, door: ASGIApp) -> ASGIApp:
        return Guard(Shared(door, self._hosts), self._hosts, local_only=self._local_only)

    def _switch(self, consumer: Consumer | None, capability: str | None, *, suspended: bool) -> None:
        target = target_of(consumer, capability, self._authority)
        if switch_everywhere(target, self._store.suspensions, suspended=suspended):
            logger.warning("%s: %s, everywhere", "suspended" if suspended else "reinstated", target)

    def _revocation(self, row: RevocationRow) -> None:
        logger.info("revoked: %s, by %s: %s", row.id, row.by, row.why)
        self._belongs.in_own(self._cut_off)

    def _cut_off(self) -> None:
        """End what doors hold open for whom nobody vouches any more; views end what waits in them by themselves."""
        self._page.cut_off(self._delegations.revoked.has)
        if self._door is not None:
            self._door.cut_off(self._delegations.revoked.has)

    def _pages(self) -> str | None:
        return PAGES_PATH if self._has_pages else None

    def _identify(self, connection: HTTPConnection) -> Identity | None:
        return identified(connection, self._delegations)

    def _identify_page(self, connection: HTTPConnection) -> Identity | None:
        return identified(connection, self._delegations, ConsumerKind.PAGE)

    def _reap_later(self, session: Session) -> None:
        """A view whose client never came, or never came back, is closed after `limits.idle_session_s`."""
        session.absences += 1
        absence = session.absences

        def reap() -> None:
            alone = not session.connected and session.absences == absence
            if alone and self._views.get(session.id) is session:
                logger.info("a view without a client is closed")
                self.close_view(session.id)

        self._clock.call_later(self._limits.idle_session_s, reap)
