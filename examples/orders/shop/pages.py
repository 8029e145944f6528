"""The pages: sign-in, the list of orders with its parts, and the page where a person pays."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from remit import HandoffView
from remit.integrations.asgi import Agents, View
from shop.components import OrderList, Receipt
from shop.forms import CSRF, form_of, token_of
from shop.people import LOGIN, Person, SignIns
from shop.store import Order, Shop

PAGE: Final = 36
"""Orders on one page."""

_HERE: Final = Path(__file__).parent
_SEE_OTHER: Final = 303
_NOT_FOUND: Final = 404
_NOTE: Final = 500


@dataclass(slots=True)
class Pages:
    """The functions that answer for pages."""

    shop: Shop
    sign_ins: SignIns
    agents: Callable[[], Agents]
    templates: Jinja2Templates

    def routes(self) -> list[Route | Mount]:
        """All pages, their parts and forms, and the files they load."""
        return [
            Route("/", self.home),
            Route("/sign-in", self.sign_in_page),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
            Route("/orders", self.orders),
            Route("/orders/rows", self.rows),
            Route("/orders/steps", self.steps),
            Route("/orders/{order}/note", self.note, methods=["POST"]),
            Route("/orders/{order}/pay", self.pay_page),
            Route("/orders/{order}/pay", self.pay, methods=["POST"]),
            Mount("/static", StaticFiles(directory=_HERE / "static")),
        ]

    async def home(self, request: Request) -> Response:
        """To the orders."""
        return _to("/orders")

    async def sign_in_page(self, request: Request) -> Response:
        """Ask for name and password."""
        return self._page(request, "sign_in.html", failed="failed" in request.query_params)

    async def sign_in(self, request: Request) -> Response:
        """Take name and password."""
        form = await form_of(request)
        login = self.sign_ins.sign_in(form.get("name", ""), form.get("password", ""))
        if login is None:
            return _to("/sign-in?failed=yes")
        request.session.clear()
        request.session[LOGIN] = login
        return _to("/orders")

    async def sign_out(self, request: Request) -> Response:
        """Forget who is signed in."""
        await form_of(request)
        self.sign_ins.sign_out(request)
        request.session.clear()
        return _to("/sign-in")

    async def orders(self, request: Request) -> Response:
        """A page of orders, and its view."""
        person = self.sign_ins.person(request)
        if person is None:
            return _to("/sign-in")
        ids = [order.id for order in self.shop.of(person.region)]
        start = PAGE if request.query_params.get("page") == "2" else 0
        view = await self.agents().open_view(request)
        listed = OrderList(self.shop, person, ids[start : start + PAGE])
        view.mount(listed)
        return self._page(
            request,
            "orders.html",
            person=person,
            orders=listed.read_orders(),
            steps=view.handoffs(),
            total=len(ids),
            pages=-(-len(ids) // PAGE),
            remit_head=view.head("Orders"),
        )

    async def rows(self, request: Request) -> Response:
        """The rows of an open page, as they are now."""
        view = await self.agents().current_view(request)
        return self._page(request, "rows.html", orders=view.mounted(OrderList).read_orders())

    async def steps(self, request: Request) -> Response:
        """What waits for the person of an open page to be done."""
        return self._page(request, "steps.html", steps=(await self.agents().current_view(request)).handoffs())

    async def note(self, request: Request) -> Response:
        """The person's own way to the note."""
        _, order = self._own(request)
        order.note = (await form_of(request)).get("note", "")[:_NOTE]
        return _to("/orders")

    async def pay_page(self, request: Request) -> Response:
        """Ask the person for the card."""
        person, order = self._own(request)
        return self._page(
            request, "pay.html", person=person, order=order, handoff=request.query_params.get("handoff", ""), paid=False
        )

    async def pay(self, request: Request) -> Response:
        """Take the card, and tell the page in which an agent asked for it."""
        person, order = self._own(request)
        form = await form_of(request)
        declined = form.get("decision") == "decline"
        if not declined and order.status == "open":
            # A payment provider stands here in an application that has one; the card is kept nowhere.
            order.status, order.receipt = "paid", f"r-{secrets.token_hex(4)}"
        view, step = self._handoff(person, order, form.get("handoff", ""))
        if view is not None and step is not None:
            if declined:
                await view.surface.handoffs.decline(step.id, person.decider())
            elif order.status == "paid":
                await view.surface.handoffs.complete(step.id, person.decider(), Receipt(number=order.receipt))
        return self._page(request, "pay.html", person=person, order=order, handoff="", paid=True)

    def _handoff(self, person: Person, order: Order, id: str) -> tuple[View | None, HandoffView | None]:
        """The step that this person was asked to do for this order, and the view in which it waits."""
        for view in self.agents().views(person.principal()):
            for step in view.surface.handoffs.pending(person.decider()):
                if step.id == id and step.record == order.id:
                    return view, step
        return None, None

    def _own(self, request: Request) -> tuple[Person, Order]:
        person = self.sign_ins.person(request)
        order = None if person is None else self.shop.find(request.path_params["order"], person.region)
        if person is None or order is None:
            raise HTTPException(_NOT_FOUND)
        return person, order

    def _page(self, request: Request, name: str, **values: object) -> Response:
        return self.templates.TemplateResponse(request, name, {"csrf": token_of(request), "csrf_name": CSRF, **values})


def templates() -> Jinja2Templates:
    """The templates; everything that stands in them is escaped."""
    return Jinja2Templates(_HERE / "templates")


def _to(path: str) -> Response:
    return RedirectResponse(path, _SEE_OTHER)
