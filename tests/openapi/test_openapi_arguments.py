"""Arguments of a catalogue that cannot be meant, and addresses that a function does not give (SPEC 2.3, 10.4)."""

import asyncio
from typing import Any

import pytest
from starlette.responses import JSONResponse

from remit import BackendError, DefinitionError
from remit.procedures.openapi import Credentials, OpenAPI, Operation
from remit.procedures.orpc import ORPC
from tests.behaviour.conftest import AGENT, failed, journal, output
from tests.openapi.raw import answering
from tests.openapi.test_openapi_calls import Backend, catalogue_of, document_of, surface_over
from tests.unit.procedures.openapi_echo import serving

_OF_A_PERSON = Credentials(lambda context: {"authorization": "Bearer of-ada"}, headers=["Authorization"])


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
@pytest.mark.parametrize(
    "name", ["bad header", "x\r\ny: z", "Host", "content-length", "", "é", "Authorization", "Cookie", "accept", 5]
)
def test_the_header_of_the_key_is_one_that_nothing_else_fills(name: Any) -> None:
    with pytest.raises(DefinitionError, match="idempotency_header=") as refused:
        catalogue_of("http://backend.test", idempotency_header=name)
    assert refused.value.subject == "OpenAPI(…)" and "test_openapi" in str(refused.value.place)


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
def test_the_header_of_the_key_is_none_of_the_credentials() -> None:
    person = Credentials(lambda context: {}, headers=["X-Who"])
    with pytest.raises(DefinitionError, match="idempotency_header='x-who' is a header of its credentials, too"):
        catalogue_of("http://backend.test", idempotency_header="x-who", credentials=person)
    key = Credentials(lambda context: {}, headers=["Idempotency-Key"])
    with pytest.raises(DefinitionError, match="a header of its credentials, too"):
        catalogue_of("http://backend.test", credentials=key)
    assert catalogue_of("http://backend.test", credentials=key, idempotency_header=None).names() == ("read", "write")


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "3", None, True, [1]])
@pytest.mark.parametrize("name", ["timeout_s", "circuit_pause_s"])
def test_a_time_is_a_number_of_seconds_above_zero(name: str, value: Any) -> None:
    with pytest.raises(DefinitionError, match=rf"{name}=.* is no number of seconds above 0"):
        catalogue_of("http://backend.test", **{name: value})


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
@pytest.mark.parametrize("value", [0, -1, 1.5, "5", None, True])
def test_a_circuit_opens_after_a_whole_number_of_failures(value: Any) -> None:
    with pytest.raises(DefinitionError, match=r"circuit_failures=.* is no whole number above 0"):
        catalogue_of("http://backend.test", circuit_failures=value)


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"credentials": 5}, "credentials=5 is no Credentials"),
        ({"credentials": lambda context: {}}, "credentials=a function is no Credentials"),
        ({"errors": 5}, "errors=5 is no function"),
        ({"app": "main:app"}, "app='main:app' is no function"),
        ({"expose": ["read"]}, "expose= is no mapping but list"),
        ({"expose": None}, "expose= is no mapping but NoneType"),
        ({"expose": {5: Operation("GET /read", effect="server-query")}}, "names an operation 5, which is no text"),
        ({"base_url": "http://backend.test:99999"}, "has a port that is none"),
        ({"base_url": "http://backend.test:0"}, "has a port that is none"),
        ({"base_url": "http://[::1"}, "is no URL"),
        ({"base_url": b"http://backend.test"}, "bytes is no text of a URL"),
        ({"base_url": 5}, "int is no text of a URL"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_named_where_the_catalogue_is_made(given: Any, rule: str) -> None:
    said = {"base_url": "http://backend.test", "expose": {}, **given}
    with pytest.raises(DefinitionError) as refused:
        OpenAPI(document_of(), **said)
    assert rule in refused.value.rule and "test_openapi_arguments.py" in str(refused.value.place)


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
def test_a_catalogue_of_orpc_holds_its_arguments_to_the_same() -> None:
    odd: tuple[dict[str, Any], ...] = (
        {"timeout_s": 0},
        {"expose": []},
        {"idempotency_header": "Host"},
        {"credentials": 5},
    )
    for given in odd:
        said: dict[str, Any] = {"document": {}, "base_url": "http://backend.test", "expose": {}, **given}
        with pytest.raises(DefinitionError, match=f"{next(iter(given))}=") as refused:
            ORPC({}, **said)
        assert refused.value.subject == "ORPC(…)"


@pytest.mark.requirement("10.4-credentials-by-allow-list")
@pytest.mark.parametrize(
    "name",
    (
        "accept|User-Agent|accept-encoding|Host|content-length|content-type|content-encoding|traceparent|te|expect"
        "|upgrade|transfer-encoding|keep-alive|trailer|connection|proxy-connection"
    ).split("|"),
)
def test_a_header_that_is_remits_own_is_no_credential(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name!r} is no header of a credential"):
        Credentials(lambda context: {}, headers=["authorization", name])
    with pytest.raises(ValueError, match=f"{name!r} is no header of a credential"):
        Credentials(lambda context: {}, headers=["authorization"], optional=[name])


@pytest.mark.requirement("10.4-arguments-of-a-catalogue")
def test_an_integer_of_five_thousand_digits_is_named_by_its_type() -> None:
    with pytest.raises(DefinitionError, match="circuit_failures=a int is no whole number above 0"):
        catalogue_of("http://backend.test", circuit_failures=-(10**5_000))


@pytest.mark.requirement("10.4-credentials-by-allow-list")
def test_credentials_are_a_function_and_names() -> None:
    odd: Any = 5
    with pytest.raises(TypeError, match="the first argument is a function, not int"):
        Credentials(odd, headers=["authorization"])
    with pytest.raises(TypeError, match="the name of a header is text, not int"):
        Credentials(lambda context: {}, headers=[odd])


def _raises() -> str:
    raise KeyError("tenant")


def _refuses() -> str:
    raise BackendError(503, "no tenant is open", retry_after=2.0)


@pytest.mark.requirement("10.4-an-address-that-is-not-given-sends-nothing")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (_raises, "the function of base_url failed with KeyError"),
        (_refuses, "no tenant is open"),
        (lambda: "junk", "the function of base_url: 'junk' is no http(s) address without user, query and fragment"),
        (lambda: None, "the function of base_url: NoneType is no text of a URL"),
        (lambda: "http://backend.test:99999", "the function of base_url: 'http://backend.test:99999' has a port that"),
    ],
)
async def test_an_address_that_a_function_does_not_give_sends_nothing(given: Any, why: str) -> None:
    async with surface_over(catalogue_of(given)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "EXECUTION_FAILED")
        assert (error.details["reason"], error.details["outcome"]) == ("transport", "none")
        assert str(journal(surface)[-1].why).startswith(f"nothing was sent: {why}")


@pytest.mark.requirement("10.4-an-address-that-is-not-given-sends-nothing")
async def test_the_next_call_asks_the_function_anew() -> None:
    made = Backend()
    with serving(made.app()) as url:
        given = iter(["junk", url])
        async with surface_over(catalogue_of(lambda: next(given))) as surface:  # type: ignore[arg-type]
            agent = surface.connect(AGENT)
            failed(await agent.call("domain:write", {}), "EXECUTION_FAILED")
            assert output(await agent.call("domain:write", {})) == {"ok": True}


@pytest.mark.requirement("10.4-no-answer")
async def test_a_timeout_of_the_catalogue_says_its_own_limit() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with answering(hang) as url, surface_over(catalogue_of(url, timeout_s=0.25)) as surface:
        error = failed(await surface.connect(AGENT).call("domain:write", {}), "TIMEOUT")
        assert (error.details["timeout_ms"], error.details["outcome"]) == (250, "unknown")


@pytest.mark.requirement("10.5-advice-follows-the-outcome")
@pytest.mark.parametrize(
    ("operation", "write", "advice"),
    [
        ("domain:write", Operation("POST /write", effect="server-mutation"), ("unknown", "no", None)),
        (
            "domain:write",
            Operation("POST /write", effect="server-mutation", idempotent=True),
            ("unknown", "after-delay", 5_000),
        ),
        ("domain:read", Operation("POST /write", effect="server-mutation"), ("none", "after-delay", 5_000)),
    ],
)
async def test_what_may_have_happened_is_not_advised_again_unless_it_is_idempotent(
    operation: str, write: Operation, advice: Any
) -> None:
    made = Backend()
    with serving(made.app()) as url:
        made.answer = JSONResponse({}, status_code=503, headers={"retry-after": "5"})
        expose = {"read": Operation("GET /read", effect="server-query"), "write": write}
        async with surface_over(OpenAPI(document_of(), base_url=url, expose=expose)) as surface:
            error = failed(await surface.connect(AGENT).call(operation, {}), "EXECUTION_FAILED")
            assert (error.details["outcome"], error.retry.value, error.details.get("retry_after_ms")) == advice
