"""The decision page: one request, shown whole, decided by its person's own form (SPEC 7.2 to 7.4)."""

import inspect
import json
import secrets
from collections.abc import Mapping
from typing import Final, assert_never
from urllib.parse import parse_qs, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from remit._base.boundary import canonical
from remit._base.clock import Clock
from remit._base.digest import keyed_hex, same
from remit._model.consumer import Decider, Principal
from remit._model.request_view import CancelCause, ConfirmationStatus, ConfirmationView
from remit._model.shown_input import fields_of, rows_of
from remit._model.standing import StandingOffer
from remit._session.decisions import Decisions
from remit._session.port import Login
from remit.gateway.pages.render import Renderer

PATH: Final = "/remit/confirmations"
FORM_BYTES: Final = 8_192
DRAWN_MS: Final = 500
"""How long an approve control stands on the screen before it works (SPEC 7.3)."""

FORM_MS: Final = 3_600_000
_AGENTS: Final = "/agents"
_FORM_TYPE: Final = "application/x-www-form-urlencoded"

_NOT_TAKEN: Final = (
    "This answer was not taken. Approve once, or first revoke something that you approved for the session."
)
_ENDED: Final[Mapping[CancelCause, str]] = {
    CancelCause.UNMOUNTED: "the part of the page it belonged to has been closed",
    CancelCause.VIEW_RELOADED: "the page was loaded again",
    CancelCause.VIEW_CLOSED: "the page was closed",
    CancelCause.WITHDRAWN: "the agent took it back",
    CancelCause.STOPPING: "the application was stopped",
}


class Approvals:
    """The routes of the list of waiting requests and of the decision page.

    Whoever is signed in sees what they could decide and nothing else. Opening a page opens no view and decides
    nothing. A decision is accepted only as the top-level navigation of the page's own form.
    """

    def __init__(self, decisions: Decisions, login: Login, clock: Clock) -> None:
        self._decisions = decisions
        self._login = login
        self._clock = clock
        self._renderer = Renderer()
        self._secret = secrets.token_bytes(32)

    def routes(self) -> list[BaseRoute]:
        """The routes, for the application whose login they use."""
        return [
            Route(PATH, self.list, methods=["GET"], name="remit-confirmations"),
            Route(PATH + "/{id}", self.show, methods=["GET"], name="remit-confirmation"),
            Route(PATH + _AGENTS, self.clear, methods=["POST"], name="remit-clearance"),
            Route(PATH + "/{id}", self.decide, methods=["POST"], name="remit-decision"),
            Route(PATH + "/standing/{id}", self.revoke, methods=["POST"], name="remit-revocation"),
        ]

    async def list(self, request: Request) -> Response:
        """What waits for this person."""
        decider = await self._decider(request)
        if decider is None:
            return self._signed_out()
        issued = self._now_ms()
        return self._renderer.page(
            "list.html",
            requests=self._decisions.pending(decider),
            standing=[
                (each, rows_of(each.input, (), ()), f"{issued}.{self._mark(issued, decider, each.id)}")
                for each in self._decisions.standing(decider)
            ],
            untrusted=[
                (each, f"{issued}.{self._mark(issued, decider, _AGENTS, each.consumer)}")
                for each in self._decisions.untrusted(decider)
            ],
            agents=_AGENTS,
            base=_base(request),
        )

    async def show(self, request: Request) -> Response:
        """One request with its exact input."""
        decider = await self._decider(request)
        if decider is None:
            return self._signed_out()
        view = self._decisions.get(request.path_params["id"], decider)
        return self._nothing() if view is None else self._page(request, view, decider)

    async def decide(self, request: Request) -> Response:
        """Take the decision of the form; afterwards the page says what became of the request."""
        refusal = _foreign(request)
        if refusal is not None:
            return self._renderer.message(403, "Not decided", refusal)
        decider = await self._decider(request)
        if decider is None:
            return self._signed_out()
        form = await _form(request)
        if form is None:
            return self._renderer.message(413, "Not decided", "This form is larger than any of this page.")
        view = self._decisions.get(request.path_params["id"], decider)
        if view is None:
            return self._nothing()
        notice = self._objection(form, view, decider)
        if notice is not None:
            return self._page(request, view, decider, status=409, notice=notice)
        if view.status is ConfirmationStatus.PENDING and not await self._settle(form, view, decider):
            view = self._decisions.get(view.id, decider) or view
            if view.status is ConfirmationStatus.PENDING:
                return self._page(request, view, decider, status=409, notice=_NOT_TAKEN)
        return RedirectResponse(f"{_base(request)}/{view.id}", status_code=303)

    async def revoke(self, request: Request) -> Response:
        """Take back what this person approved for the session; afterwards the list says what still stands."""
        refusal = _foreign(request)
        decider = await self._decider(request)
        if refusal is not None or decider is None:
            return self._signed_out() if refusal is None else self._renderer.message(403, "Not revoked", refusal)
        id, form = request.path_params["id"], await _form(request)
        issued, _, mark = (form or {}).get("token", "").partition(".")
        if not issued.isdigit() or not same(mark, self._mark(int(issued), decider, id)):
            return self._renderer.message(403, "Not revoked", "This form is not of this page. Look again.")
        await self._decisions.revoke(id, decider)
        return RedirectResponse(_base(request), status_code=303)

    async def clear(self, request: Request) -> Response:
        """Say of an agent that has read text from outside that it may be trusted again (SPEC 11.15)."""
        refusal = _foreign(request)
        decider = await self._decider(request)
        if refusal is not None or decider is None:
            return self._signed_out() if refusal is None else self._renderer.message(403, "Not cleared", refusal)
        form = await _form(request) or {}
        consumer = form.get("consumer", "")
        issued, _, mark = form.get("token", "").partition(".")
        if not issued.isdigit() or not same(mark, self._mark(int(issued), decider, _AGENTS, consumer)):
            return self._renderer.message(403, "Not cleared", "This form is not of this page. Look again.")
        if not DRAWN_MS <= self._now_ms() - int(issued) <= FORM_MS:
            return self._renderer.message(409, "Not cleared", "Look at the page again, then decide.")
        self._decisions.clear_untrusted(consumer, decider)
        return RedirectResponse(_base(request), status_code=303)

    async def _settle(self, form: Mapping[str, str], view: ConfirmationView, decider: Decider) -> bool:
        if form["decision"] == "deny":
            return await self._decisions.deny(view.id, decider)
        return await self._decisions.approve(view.id, decider, digest=view.digest, standing=_freed(form, view))

    def _objection(self, form: Mapping[str, str], view: ConfirmationView, decider: Decider) -> str | None:
        if form.get("decision") not in {"approve", "deny"}:
            return "The form said neither approve nor deny."
        issued, _, mark = form.get("token", "").partition(".")
        if not issued.isdigit() or not same(mark, self._mark(int(issued), decider, view.id, view.digest)):
            return "This form is not of this page. Look again, then decide."
        if not same(form.get("digest", ""), view.digest):
            return "The request is not the one that was shown. Look again, then decide."
        age = self._now_ms() - int(issued)
        if age > FORM_MS:
            return "This page is too old. Look again, then decide."
        if form["decision"] == "approve" and age < DRAWN_MS:
            return "That was quicker than anybody reads. Look again, then decide."
        return None

    def _page(
        self, request: Request, view: ConfirmationView, decider: Decider, status: int = 200, notice: str | None = None
    ) -> Response:
        issued = self._now_ms()
        return self._renderer.page(
            "request.html",
            status,
            request=view,
            rows=fields_of(view),
            pending=view.status is ConfirmationStatus.PENDING,
            state=view.status.value,
            state_text=state_text(view),
            token=f"{issued}.{self._mark(issued, decider, view.id, view.digest)}",
            free=() if view.standing is None else _free_fields(view.standing),
            notice=notice,
            base=_base(request),
        )

    def _mark(self, issued: int, decider: Decider, *what: str) -> str:
        return keyed_hex(self._secret, canonical([issued, decider.tenant, decider.id, *what]))

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    async def _decider(self, connection: HTTPConnection) -> Decider | None:
        principal = self._login(connection)
        if inspect.isawaitable(principal):
            principal = await principal
        if not isinstance(principal, Principal):
            return None
        return Decider(principal.id, principal.grants, tenant=principal.tenant)

    def _signed_out(self) -> Response:
        return self._renderer.message(401, "Not signed in", "Sign in to the application, then open this page again.")

    def _nothing(self) -> Response:
        return self._renderer.message(404, "Nothing to decide", "There is no such request for you.")


def state_text(view: ConfirmationView) -> str:
    """What has become of a request, in words."""
    match view.status:
        case ConfirmationStatus.PENDING:
            return "This waits for your decision."
        case ConfirmationStatus.APPROVED:
            return "Approved. It runs when the agent repeats exactly this call."
        case ConfirmationStatus.DENIED:
            return "Denied. It does not happen."
        case ConfirmationStatus.EXPIRED:
            return "Nobody decided in time. It does not happen."
        case ConfirmationStatus.CANCELLED:
            why = "" if view.cause is None else f": {_ENDED[view.cause]}"
            return f"Cancelled{why}. It does not happen."
        case ConfirmationStatus.SPENT:
            return "Approved, and the approval has been used."
        case other:
            assert_never(other)


def _free_fields(offer: StandingOffer) -> list[tuple[str, str]]:
    """Name and schema of every field that may be left free, in the order of their names."""
    return [
        (name, json.dumps(offer.may_vary[name], sort_keys=True, ensure_ascii=False)) for name in sorted(offer.may_vary)
    ]


def _freed(form: Mapping[str, str], view: ConfirmationView) -> list[str] | None:
    """The fields that the form leaves free; None when it approves this once."""
    if view.standing is None or "session" not in form:
        return None
    return [name for number, (name, _) in enumerate(_free_fields(view.standing)) if f"free-{number}" in form]


def _base(request: Request) -> str:
    return str(request.scope.get("root_path", "")) + PATH


def _foreign(request: Request) -> str | None:
    """Why a POST is not the navigation of this page's own form; None when it is."""
    headers = request.headers
    if headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-user") != "?1":
        return "A decision is a click in the page itself."
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return "A decision comes from the page itself."
    if urlsplit(headers.get("origin", "")).netloc != headers.get("host"):
        return "A decision comes from the page itself."
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        return "A decision is a form."
    return None


async def _form(request: Request) -> dict[str, str] | None:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES:
            return None
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items() if len(values) == 1}
