"""The first capability in a server-rendered application, as the guide shows it."""

import secrets
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Form, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.templating import Jinja2Templates
from starlette.middleware.sessions import SessionMiddleware

from remit import Authority, Component, Principal, ReadContext, RecordSet, action, observation
from remit.gateway import Gateway
from remit.integrations.asgi import View, attach
from remit.policies import authenticated

NOTES = {f"o-{number}": "" for number in range(1, 61)}
PEOPLE: dict[str, str] = {}  # sign-in -> name: kept on the server, so that signing out counts at once
PASSWORD = secrets.token_urlsafe()


class OrderList(Component, type="orders.list"):
    """Orders that match what was searched for."""

    def __init__(self, found: dict[str, str]) -> None:
        self.found = found

    @observation
    def read_notes(self) -> list[str]:
        """The orders shown, each with its note."""
        return [f"{order}: {note}" for order, note in self.found.items()]

    @action(record="order")
    def update_note(self, order: str, note: str) -> None:
        """Update the note on an order."""
        self.found[order] = NOTES[order] = note

    @update_note.records
    def shown(self, ctx: ReadContext) -> RecordSet:
        return RecordSet(ids=set(self.found))


def current_user(request: Request) -> Principal | None:  # None: no view, nothing to see
    name = PEOPLE.get(request.session.get("sign-in", ""))
    return Principal(name) if name else None


app = FastAPI()
app.add_middleware(SessionMiddleware, secret_key=secrets.token_urlsafe(), same_site="lax")
gateway = Gateway(Authority.load(beside=__file__), policies=[authenticated()])
agents = attach(app, gateway, login=current_user)  # serves /remit/* with the app; owns its lifespan
templates = Jinja2Templates(Path(__file__).parent / "templates")


@app.get("/orders")
async def page(request: Request, view: Annotated[View, Depends(agents.open_view)], q: str = "o-1") -> Response:
    orders = OrderList({order: note for order, note in NOTES.items() if q in order})
    view.mount(orders)  # kept on the server until the browser leaves the page
    return templates.TemplateResponse(request, "orders.html", {"orders": orders, "remit_head": view.head("Orders")})


@app.get("/orders/rows")
async def rows(request: Request, view: Annotated[View, Depends(agents.current_view)]) -> Response:
    return templates.TemplateResponse(request, "rows.html", {"orders": view.mounted(OrderList)})


@app.post("/sign-in")
async def sign_in(request: Request, password: Annotated[str, Form()]) -> Response:
    if secrets.compare_digest(password.encode(), PASSWORD.encode()):
        request.session["sign-in"] = name = secrets.token_urlsafe()
        PEOPLE[name] = "operator"
    return RedirectResponse("/orders", 303)


if __name__ == "__main__":  # so that `remit compile` can import this file
    print(f"the password is {PASSWORD}")
    uvicorn.run(app, port=8080)
