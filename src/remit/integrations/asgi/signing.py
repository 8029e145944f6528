"""Who is signed in, as the application's own login says it: plain or async, of a request (SPEC 14.1)."""

import inspect
from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection, Request

from remit._model.consumer import Principal

Login = Callable[[Request], "Principal | None | Awaitable[Principal | None]"]
"""Who is signed in at a request; plain or async. A plain one must be quick: it is asked for every call."""


class SignIn:
    """Asks the application's login function.

    A plain function is asked at every call of an agent. An async one cannot be awaited there: its last answer counts,
    and it is asked again at every event of the page and, while its browser is there, every 15 seconds.
    """

    def __init__(self, login: Login) -> None:
        self._login = login
        self.is_async = False
        """Known as soon as it was asked once."""

    async def now(self, request: Request) -> Principal | None:
        """Ask it, whatever it is."""
        answer = self._login(request)
        if inspect.isawaitable(answer):
            self.is_async = True
            answer = await answer
        return _checked(answer)

    def again(self, request: Request, last: Principal | None) -> Principal | None:
        """Who is signed in at a request it was asked about before; `last` is what it said then."""
        return last if self.is_async else _checked(self._login(request))

    async def of(self, connection: HTTPConnection) -> Principal | None:
        """The same for the gateway's own pages, which come with a request as well."""
        return await self.now(connection if isinstance(connection, Request) else Request(connection.scope))


def _checked(answer: object) -> Principal | None:
    if answer is None or isinstance(answer, Principal):
        return answer
    raise TypeError(f"attach(login=…) says who is signed in: a Principal, or None; not {type(answer).__name__}")
