from collections.abc import Callable

import pytest

from remit._base.boundary import Json
from remit._base.clock import ManualClock
from remit._model.consumer import Consumer, Principal
from remit._policy.chain import Chain
from remit._policy.decision import Required
from remit.errors import DefinitionCode, DefinitionError, ErrorCode
from remit.policies import (
    Deny,
    Expose,
    Hide,
    Policy,
    PolicyContext,
    ReviewContext,
    authenticated,
    environment,
    require_confirmation,
    require_grant,
    require_permission,
    tenant_boundary,
)


def context(principal: Principal | None, consumer: Consumer | None = None) -> PolicyContext:
    return PolicyContext(
        principal=principal,
        consumer=consumer or Consumer("bot", kind="test"),
        host=None,
        clock=ManualClock(),
        capability=None,
        instance=None,
        door="test",
    )


def review(**input: Json) -> ReviewContext:
    return ReviewContext(context(Principal("ada")), input)


def test_the_names_are_stable_and_hold_the_parameter() -> None:
    names = [policy.name for policy in (authenticated(), require_grant("fleet-operator"), require_confirmation())]
    assert names == ["authenticated", "require-grant:fleet-operator", "require-confirmation"]


@pytest.mark.requirement("5.5-what-narrows-shows-in-the-name")
def test_a_condition_shows_in_the_name() -> None:
    assert require_confirmation(when=lambda ctx: True).name == "require-confirmation:when"


BAD = ("x\n::y", "x\x1b[31m", "x\u202ey", "x\ud800", "x\u200by", " x", "x" * 128)


@pytest.mark.requirement("5.5-parameters-are-judged-where-written")
@pytest.mark.parametrize("text", BAD, ids=ascii)
@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("require_grant", require_grant),
        ("tenant_boundary", tenant_boundary),
        ("environment", lambda text: environment(text, now="production")),
    ],
)
def test_a_text_that_no_name_can_hold_is_refused_where_it_is_written(
    what: str, make: Callable[[str], Policy], text: str
) -> None:
    with pytest.raises(DefinitionError, match=rf"^\[INVALID_DEFINITION\] {what}: a policy's name ") as caught:
        make(text)
    assert caught.value.code is DefinitionCode.INVALID_DEFINITION
    assert str(caught.value).encode("utf-8").decode() == str(caught.value)


@pytest.mark.requirement("5.5-parameters-are-judged-where-written")
def test_a_function_whose_name_no_policy_can_hold_is_no_permission() -> None:
    def check(ctx: PolicyContext) -> bool:
        return True

    check.__name__ = "may" + chr(0xE0100)
    with pytest.raises(
        DefinitionError, match=r"require_permission: a policy's name holds the refused character U\+E0100"
    ):
        require_permission(check)


def test_two_environments_are_not_one_with_a_comma() -> None:
    with pytest.raises(ValueError, match="has no comma"):
        environment("test,staging", now="test")


@pytest.mark.parametrize(
    ("policy", "principal", "decision", "denied"),
    [
        (authenticated(), None, Hide(), Deny(code=ErrorCode.NOT_AUTHENTICATED)),
        (authenticated(), Principal("ada"), Expose(), None),
        (require_grant("admin"), None, Hide(), Deny(code=ErrorCode.NOT_AUTHENTICATED)),
        (require_grant("admin"), Principal("ada", grants={"other"}), Hide(), Deny()),
        (require_grant("admin"), Principal("ada", grants={"admin"}), Expose(), None),
    ],
)
async def test_authority_hides_and_is_checked_again_at_the_call(
    policy: Policy, principal: Principal | None, decision: object, denied: Deny | None
) -> None:
    chain = Chain([policy])
    assert chain.discover(context(principal)).decision == decision
    assert (await chain.authorize(context(principal)))[0] == denied


def test_the_grants_of_an_agents_client_do_not_stand_in_for_the_persons() -> None:
    agent = Consumer("bot", kind="test", grants={"admin"})
    assert Chain([require_grant("admin")]).discover(context(Principal("ada"), agent)).decision == Hide()


async def test_require_confirmation_asks_always_or_when_told() -> None:
    always = Chain([require_confirmation(summary="Look twice")])
    many = Chain([require_confirmation(when=lambda ctx: len(str(ctx.input["text"])) > 3)])
    assert (await always.review(review()))[0] == Required(summary="Look twice")
    assert (await many.review(review(text="abcd")))[0] == Required()
    assert (await many.review(review(text="abc")))[0] is None
    denied, votes = await many.review(review())
    assert denied == Deny() and isinstance(votes[0].cause, KeyError)


def test_wrong_arguments_are_refused_where_they_are_written() -> None:
    async def later(ctx: ReviewContext) -> bool:
        return True

    with pytest.raises(TypeError, match="synchronous"):
        require_confirmation(when=later)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name of a grant"):
        require_grant("")
