"""What a function of credentials may go wrong with: nothing is sent, and what is wrong is told (SPEC 10.4)."""

from collections.abc import Awaitable, Iterator
from typing import Any

import httpx2
import pytest
from starlette.datastructures import Headers

from remit import BackendError
from remit.procedures.openapi import Credentials
from tests.behaviour.conftest import AGENT, failed, journal, output
from tests.openapi.test_openapi_calls import Backend, catalogue_of, surface_over
from tests.unit.procedures.openapi_echo import serving


@pytest.fixture
def backend() -> Iterator[Backend]:
    made = Backend()
    with serving(made.app()) as url:
        made.url = url
        yield made


def raises(context: object) -> dict[str, str]:
    raise LookupError("the keyring is locked")


async def raises_later(context: object) -> dict[str, str]:
    raise LookupError("the keyring is locked")


def gives(value: Any) -> Any:
    return lambda context: value


@pytest.mark.requirement("10.4-credentials-that-fail-send-nothing", "10.4-why-nothing-was-answered")
@pytest.mark.parametrize(
    ("of", "told"),
    [
        (raises, "the keyring is locked"),
        (raises_later, "the keyring is locked"),
        (gives(b"Bearer a"), "gives a mapping of headers, not bytes"),
        (gives(7), "gives a mapping of headers, not int"),
        (gives([("authorization", "Bearer a")]), "gives a mapping of headers, not list"),
        (gives({"authorization": b"Bearer a"}), "authorization is text, not bytes"),
        (gives({"authorization": 7}), "authorization is text, not int"),
        (gives({b"authorization": "Bearer a"}), "the name of a header is text, not bytes"),
    ],
)
async def test_a_function_of_credentials_that_fails_has_no_effect_and_is_told_to_the_operator(
    backend: Backend, of: Any, told: str
) -> None:
    catalogue = catalogue_of(backend.url, credentials=Credentials(of, headers=["Authorization"]))
    async with surface_over(catalogue) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert error.details["outcome"] == "none"
        assert "keyring" not in str(error.details)
        assert any(told in (entry.cause or "") for entry in journal(surface))
        assert (journal(surface)[-1].why or "").startswith("nothing was sent: the function of Credentials failed with ")
        assert (backend.requests, catalogue.circuit.failures) == ([], 0)


@pytest.mark.requirement("10.4-credentials-that-fail-send-nothing", "10.4-why-nothing-was-answered")
async def test_what_a_function_of_credentials_says_of_its_own_backend_is_told_as_an_answer(backend: Backend) -> None:
    def refuses(context: object) -> Awaitable[dict[str, str]]:
        raise BackendError(503, "the issuer is down", retry_after=4.0)

    async with surface_over(catalogue_of(backend.url, credentials=Credentials(refuses, headers=["a"]))) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["outcome"], error.details["retry_after_ms"]) == ("none", 4_000)
        assert backend.requests == []
        assert journal(surface)[-1].why == "nothing was sent: the issuer is down"


@pytest.mark.requirement("10.4-credentials-by-allow-list")
@pytest.mark.parametrize(
    "given",
    [
        {"Authorization": "Bearer a", "authorization": "Bearer b"},
        Headers(raw=[(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")]),
        httpx2.Headers([("Authorization", "Bearer a"), ("authorization", "Bearer b")]),
        {"Authorization": "Bearer a", "AUTHORIZATION": "Bearer a"},
    ],
)
async def test_a_credential_that_is_there_twice_is_none(backend: Backend, given: Any) -> None:
    credentials = Credentials(gives(given), headers=["Authorization"])
    async with surface_over(catalogue_of(backend.url, credentials=credentials)) as surface:
        failed(await surface.connect(AGENT).call("domain:write", {}), "NOT_AUTHENTICATED")
        assert backend.requests == []
        assert journal(surface)[-1].why == "nothing was sent: the session has 2 of authorization"


@pytest.mark.requirement("10.4-credentials-by-allow-list")
async def test_what_is_there_twice_and_not_named_is_no_matter(backend: Backend) -> None:
    given = httpx2.Headers([("Authorization", "Bearer a"), ("Accept", "a"), ("accept", "b")])
    credentials = Credentials(gives(given), headers=["Authorization"])
    async with surface_over(catalogue_of(backend.url, credentials=credentials)) as surface:
        assert output(await surface.connect(AGENT).call("domain:write", {})) == {"ok": True}
        assert backend.headers["authorization"] == "Bearer a"
