"""A view with one reference to one procedure, and a call of it."""

from typing import Any

from remit import Component, Outcome, Surface, reference
from remit.procedures.orpc import ORPC, Procedure
from tests.behaviour.conftest import AGENT, authority_of
from tests.orpc.backend import Backend


class Page(Component, type="page"):
    """A page."""

    x = reference("domain:x")


def catalogue_of(
    backend: Backend, path: str, *, form: Any = "rpc", said: dict[str, Any] | None = None, **more: Any
) -> ORPC:
    """The one procedure as `x`, a mutation unless `said` says otherwise."""
    return ORPC(
        backend.contract,
        document=more.pop("document", backend.document),
        base_url=more.pop("base_url", backend.url + ("/rpc" if form == "rpc" else "/api")),
        form=form,
        dialect=backend.dialect,
        expose={"x": Procedure(path, **{"effect": "server-mutation", **(said or {})})},
        **more,
    )


async def call(catalogue: ORPC, input: Any = None, **more: Any) -> Outcome:
    """Call `x` over a surface of its own."""
    assert catalogue.refused() == {}
    async with catalogue:
        surface = Surface(authority_of(Page, procedures=catalogue), procedures=catalogue, principal="ada", **more)
        surface.mount(Page())
        try:
            return await surface.connect(AGENT).call("domain:x", {} if input is None else input)
        finally:
            surface.dispose()
