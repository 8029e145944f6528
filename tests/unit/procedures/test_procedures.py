"""`Procedures()`: functions the application already owns, as operations (SPEC 10.1, 10.2)."""

from collections.abc import Callable
from http import HTTPStatus
from importlib import import_module
from typing import Annotated, Any, cast

import pytest
from pydantic import AfterValidator, BaseModel, Field

from remit._base.boundary import take
from remit._model.consumer import Consumer, Principal
from remit._model.context import Context, LazySignal
from remit._model.effects import Confirmation, Effect
from remit._schema.derive import OutputRefused
from remit.errors import DefinitionCode, DefinitionError, Issue
from remit.procedures import BackendError, BackendOperation, Catalogue, Procedures
from remit.procedures.catalogue import Offer, is_catalogue
from remit.procedures.openapi import OpenAPI
from remit.procedures.orpc import ORPC

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.1",
    "info": {"title": "Devices", "version": "1"},
    "paths": {"/devices/read": {"post": {"operationId": "devices.read", "summary": "Read.", "responses": {"200": {}}}}},
}


class Device(BaseModel):
    id: str
    on: bool = True


def context() -> Context:
    return Context(
        capability="domain:x",
        registration="reg_1",
        invocation="inv_1",
        consumer=Consumer("copilot", kind="embedded"),
        principal=Principal("ada", tenant="t"),
        host=None,
        cancelled=LazySignal(),
        evidence=None,
        idempotency_key="key",
    )


async def run(operation: BackendOperation | None, input: dict[str, Any]) -> object:
    assert operation is not None
    value, data = take(input)
    return await operation.run(value, data, context())  # type: ignore[arg-type]


@pytest.mark.requirement("10.1-an-operation-is-listed-by-a-catalogue", "10.1-principal-and-context")
async def test_a_function_is_listed_runs_with_its_types_and_comes_back_undecorated() -> None:
    backend = Procedures()

    @backend.operation("devices.list", effect="server-query", tags=("b", "a"))
    async def list_devices(first: Device, who: Principal, ctx: Context, limit: int = 2) -> list[Device]:
        """List
        devices.

        Internal notes.
        """
        return [first, Device(id=f"{who.tenant}/{who.id}/{ctx.idempotency_key}/{limit}")]

    assert backend.names() == ("devices.list",)
    assert backend.get("devices.none") is None
    listed = backend.get("devices.list")
    assert listed is not None
    assert (listed.effect, listed.confirmation, listed.idempotent) == (Effect.SERVER_QUERY, None, True)
    assert (listed.description, listed.tags) == ("List devices.", ("a", "b"))
    assert set(listed.input_schema["properties"]) == {"first", "limit"}  # type: ignore[arg-type]
    assert listed.input_schema["additionalProperties"] is False
    assert await run(listed, {"first": {"id": "d1"}, "limit": 3}) == [
        {"id": "d1", "on": True},
        {"id": "t/ada/key/3", "on": True},
    ]
    assert await list_devices(Device(id="x"), Principal("p"), context()) != []


@pytest.mark.requirement("10.1-its-own-full-schema")
async def test_an_input_that_does_not_fit_never_reaches_the_function() -> None:
    backend, ran = Procedures(), []

    def even(value: int) -> int:
        if value % 2:
            raise ValueError(f"{value} is secret")
        return value

    @backend.operation("x", effect="server-mutation")
    async def x(n: Annotated[int, Field(le=9), AfterValidator(even)]) -> None:
        """X."""
        ran.append(n)

    for value in ({"n": 10}, {"n": "1"}, {}, {"n": 1, "more": 1}, {"n": 3}):
        with pytest.raises(BackendError) as caught:
            await run(backend.get("x"), value)
        assert caught.value.status == 422
        assert caught.value.issues
        assert "secret" not in str(caught.value.issues)
    assert ran == []
    assert await run(backend.get("x"), {"n": 4}) is None
    assert ran == [4]


@pytest.mark.requirement("10.1-validated-again")
async def test_what_the_function_returns_must_fit_its_type() -> None:
    backend = Procedures()

    @backend.operation("typed", effect="server-query")
    async def typed() -> int:
        """Typed."""
        return "1"  # type: ignore[return-value]

    @backend.operation("open", effect="server-query")
    async def untyped():  # type: ignore[no-untyped-def]
        """Untyped."""
        return {"a": [1]}

    with pytest.raises(OutputRefused):
        await run(backend.get("typed"), {})
    assert await run(backend.get("open"), {}) == {"a": [1]}
    untyped_operation = backend.get("open")
    assert untyped_operation is not None
    assert untyped_operation.output_schema is None


@pytest.mark.requirement("10.1-backend-error")
async def test_errors_of_the_function_pass_through() -> None:
    backend = Procedures()

    @backend.operation("x", effect="server-mutation")
    async def x() -> None:
        """X."""
        raise BackendError(409, issues=[Issue(path="a", message="b")], code="BUSY", data={"n": 1}, retry_after=2)

    with pytest.raises(BackendError) as caught:
        await run(backend.get("x"), {})
    error = caught.value
    assert (error.status, error.code, error.data, error.retry_after) == (409, "BUSY", {"n": 1}, 2)
    assert error.issues == (Issue(path="a", message="b"),)


@pytest.mark.requirement("10.1-backend-error")
@pytest.mark.parametrize("status", [200, 0, 600, True, "500"])
def test_a_backend_error_is_an_error(status: Any) -> None:
    with pytest.raises(ValueError, match="a status from 300 to 599"):
        BackendError(status)


@pytest.mark.requirement("10.1-a-backend-error-wrongly-raised-keeps-its-status")
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"issues": [("n", "bad")]}, "an entry of issues= is an Issue, or a mapping .* not tuple"),
        ({"issues": "text"}, "not str"),
        ({"issues": {"path": "n", "message": "m"}}, "not str"),
        ({"issues": [{"path": "n"}]}, "path and message"),
        ({"issues": [Issue(path="n", message=cast(Any, 5))]}, "not Issue"),
        ({"issues": None}, "issues= is a collection of Issue, not NoneType"),
        ({"code": 5}, "code= is text, not int"),
        ({"retry_after": "soon"}, "retry_after= is a number of seconds, not str"),
        ({"retry_after": True}, "not bool"),
        ({"retry_after": float("nan")}, "retry_after= is finite and not below 0, not nan"),
        ({"retry_after": float("inf")}, "not inf"),
        ({"retry_after": -1}, "not -1"),
    ],
)
def test_a_backend_error_that_cannot_be_meant_is_refused_and_keeps_its_status(wrong: dict[str, Any], text: str) -> None:
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match=rf"BackendError\(409\): .*{text}"):
            BackendError(409, **wrong)
    with pytest.raises(BackendError) as caught:
        BackendError(409, **wrong)
    error = caught.value
    assert (error.status, error.issues, error.code, error.retry_after) == (409, (), None, None)


@pytest.mark.requirement("10.1-backend-error")
def test_the_issues_of_a_backend_error_may_be_mappings() -> None:
    error = BackendError(422, issues=[{"path": "n", "message": "m"}, {"message": "all of it"}])
    assert error.issues == (Issue(path="n", message="m"), Issue(path="", message="all of it"))
    assert BackendError(HTTPStatus.CONFLICT).status == 409


async def good() -> None:
    """Good."""


def plain() -> None:
    """Plain."""


async def silent() -> None: ...


@pytest.mark.requirement("10.1-a-listing-that-cannot-stand")
@pytest.mark.parametrize(
    ("function", "name", "options", "text"),
    [
        (plain, "x", {}, "a procedure is awaited"),
        (silent, "x", {}, "has no description"),
        (good, "", {}, "a reference names `domain:<path>`"),
        (good, "x\n", {}, "a reference names `domain:<path>`"),
        (good, 5, {}, "a reference names `domain:<path>`"),
        (good, None, {}, "a reference names `domain:<path>`"),
        (good, "x", {"effect": "local-state"}, "'local-state' is no effect of a backend operation"),
        (good, "x", {"confirmation": "maybe"}, "confirmation='maybe' is no level"),
        (good, "x", {"effect": "destructive", "confirmation": "optional"}, "is below the default 'required'"),
        (good, "x", {"tags": "a"}, "tags= is a collection of names"),
        (good, "x", {"description": "a\u200bb"}, "the refused character U+200B"),
        (good, "x", {"description": "a" * 301}, "description has 301 characters"),
    ],
)
def test_a_listing_that_cannot_stand_says_why(function: Any, name: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Procedures().operation(name, **{"effect": "server-mutation", **options})(function)
    assert text in str(caught.value)
    assert str(caught.value.place).startswith("test_procedures.py:")


@pytest.mark.requirement("10.1-one-id-is-listed-once")
def test_one_name_is_listed_once() -> None:
    backend = Procedures()
    backend.operation("x", effect="server-query")(good)
    with pytest.raises(DefinitionError) as caught:
        backend.operation("x", effect="server-query")(good)
    assert caught.value.code is DefinitionCode.DUPLICATE_CAPABILITY


@pytest.mark.requirement("10.1-a-listing-that-cannot-stand")
def test_hints_are_resolved_when_schemas_are_first_asked_for() -> None:
    backend = Procedures()

    @backend.operation("x", effect="server-query")
    async def x(a: "Missing") -> None:  # type: ignore[name-defined]  # noqa: F821 - that it is missing is the point
        """X."""

    listed = backend.get("x")
    assert listed is not None
    with pytest.raises(DefinitionError) as caught:
        _ = listed.input_schema
    assert "Missing" in str(caught.value)
    assert str(caught.value.place).startswith("test_procedures.py:")


@pytest.mark.requirement("10.2-the-hash-of-an-operation")
def test_the_hash_moves_with_what_callers_rely_on_and_not_with_text() -> None:
    def listed(**options: Any) -> str:
        backend = Procedures()
        hint = options.pop("hint", int)

        async def x(a: int) -> None:
            """X."""

        x.__annotations__ = {"a": hint, "return": None}
        backend.operation("x", **{"effect": "server-mutation", **options})(x)
        operation = backend.get("x")
        assert operation is not None
        return operation.hash

    first = listed()
    assert listed(description="Other.", tags=("a",)) == first
    others = {listed(hint=str), listed(effect="server-query"), listed(confirmation="required"), listed(idempotent=True)}
    assert first not in others
    assert len(others) == 4


@pytest.mark.requirement("10.1-catalogues-at-module-level")
def test_a_catalogue_is_one_by_name_not_by_looks() -> None:
    class Alike:
        def get(self, name: str) -> None: ...

        def names(self) -> tuple[str, ...]:
            return ()

    class Meant(Alike, Catalogue):
        pass

    assert is_catalogue(Procedures())
    assert is_catalogue(Meant())
    assert not is_catalogue(Alike())
    assert not is_catalogue({})


@pytest.mark.requirement("10.2-opt-in-and-ceiling")
def test_a_raised_confirmation_is_what_every_reference_is_held_to() -> None:
    backend = Procedures()
    backend.operation("x", effect="server-mutation", confirmation="required")(good)
    listed = backend.get("x")
    assert listed is not None
    assert listed.confirmation is Confirmation.REQUIRED


async def reset_device(device_id: str) -> None:
    """Reset one."""


def test_a_catalogue_that_knows_of_nothing_else_offers_what_was_opted_in() -> None:
    class Fixed(Catalogue):
        def get(self, name: str) -> BackendOperation | None:
            return None

        def names(self) -> tuple[str, ...]:
            return ("a.b",)

    class Partly(Fixed):
        def refused(self) -> dict[str, str]:
            return {"c": "it answers with a file"}

    assert Fixed().offers() == (Offer(request="a.b", name="a.b"),)
    assert Partly().offers()[1:] == (Offer(request="c", name="c", refused="it answers with a file"),)
    assert (Fixed().refused(), Fixed().opted_in_by, Fixed().strict_backend) == ({}, None, False)


def test_functions_are_offered_by_their_own_names_and_opted_in_by_being_written() -> None:
    backend = Procedures()
    backend.operation("devices.reset", effect="server-mutation")(reset_device)
    assert backend.offers() == (Offer(request="reset_device", summary="Reset one.", name="devices.reset"),)
    assert backend.opted_in_by is None


def openapi(expose: dict[str, Any]) -> Catalogue:
    return OpenAPI(DOCUMENT, base_url="http://h.test", expose=expose)


def orpc(expose: dict[str, Any]) -> Catalogue:
    contract: Any = {"devices": {"read": {"~orpc": {"errorMap": {}, "meta": {}, "route": {}}}}}
    return ORPC(contract, document=DOCUMENT, base_url="http://h.test", expose=expose)


@pytest.mark.parametrize("made", [openapi, orpc])
def test_the_class_that_a_catalogue_names_opts_in_what_it_offers(made: Callable[[dict[str, Any]], Catalogue]) -> None:
    nothing = made({})
    (offer,) = nothing.offers()
    module, _, name = str(nothing.opted_in_by).rpartition(".")
    opted_in = getattr(import_module(module), name)(offer.request, effect="server-query")
    assert (offer.name, offer.refused, nothing.names()) == (None, None, ())
    assert made({"x": opted_in}).names() == ("x",)
