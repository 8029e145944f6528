"""The first capability in a page's own code, as the guide shows it."""

import secrets
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from remit import Authority, Component, Principal, action, observation
from remit.gateway import Gateway
from remit.integrations.asgi import attach
from remit.policies import authenticated

HERE = Path(__file__).parent
PEOPLE: dict[str, str] = {}  # sign-in -> name: kept on the server, so that signing out counts at once
PASSWORD = secrets.token_urlsafe()


class Cart(Component, type="shop.cart", page=True):
    """The cart, as the page holds it."""

    @observation
    def read(self) -> list[str]:
        """Every article in the cart."""
        return []

    @action
    def add(self, sku: str, count: int = 1) -> int:
        """Put an article into the cart; the answer is how many are in it."""
        return 0

    @action(reversible=False, confirmation="required")
    def clear(self) -> None:
        """Empty the cart."""


def current_user(request: Request) -> Principal | None:  # None: no view, nothing to see
    name = PEOPLE.get(request.session.get("sign-in", ""))
    return Principal(name) if name else None


async def sign_in(request: Request) -> Response:
    if not secrets.compare_digest(request.query_params.get("password", ""), PASSWORD):
        return Response("Wrong password", status_code=403)
    request.session["sign-in"] = secrets.token_urlsafe()
    PEOPLE[request.session["sign-in"]] = "ada"
    return RedirectResponse("/cart")


async def cart_page(request: Request) -> Response:
    return FileResponse(HERE / "cart.html")


async def cart_code(request: Request) -> Response:
    return FileResponse(HERE / "cart.js", media_type="text/javascript")


app = Starlette(
    routes=[Route("/sign-in", sign_in), Route("/cart", cart_page), Route("/cart.js", cart_code)],
    middleware=[Middleware(SessionMiddleware, secret_key=secrets.token_urlsafe(), same_site="lax")],
)
gateway = Gateway(Authority.load(beside=__file__), policies=[authenticated()])
agents = attach(app, gateway, login=current_user, pages={"/cart": [Cart]})

if __name__ == "__main__":
    print(f"sign in at http://127.0.0.1:8000/sign-in?password={PASSWORD}")
    uvicorn.run(app, port=8000)
