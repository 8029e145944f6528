import re
from typing import Any

import pytest

from remit._policy.chain import Chain
from remit._policy.decision import Deny, Expose
from remit._policy.policy import Policy, methods_of
from remit.errors import DefinitionCode, DefinitionError, ErrorCode


def refused(rule: str) -> Any:
    return pytest.raises(DefinitionError, match=rule)


def test_a_policy_without_methods_is_a_policy_that_never_objects() -> None:
    class Silent(Policy, name="silent"):
        pass

    assert methods_of(Silent()) == {}
    assert Silent.name == "silent"


def test_a_typo_in_a_method_opens_nothing_because_the_class_is_refused() -> None:
    with refused("`authorise` is none of discover, authorize, review, around") as caught:

        class Typo(Policy, name="typo"):
            async def authorise(self, ctx: object) -> None:
                return None

    assert caught.value.code is DefinitionCode.INVALID_DEFINITION
    assert caught.value.place is not None and "Typo" in caught.value.place


def test_a_public_method_of_a_mixin_is_refused_too() -> None:
    class Mixin:
        def allow(self) -> None:
            return None

    with refused("`allow`"):

        class Mixed(Mixin, Policy, name="mixed"):
            pass


def test_private_methods_and_plain_values_are_the_authors_own() -> None:
    class Own(Policy, name="own"):
        hours = (8, 18)

        def _inside(self) -> bool:
            return True

        def discover(self, ctx: object) -> Expose:
            return Expose()

    assert list(methods_of(Own())) == ["discover"]


def test_discover_is_synchronous() -> None:
    with refused("`discover` is synchronous"):

        class Slow(Policy, name="slow"):
            async def discover(self, ctx: object) -> Expose:
                return Expose()


@pytest.mark.parametrize("method", ["authorize", "review"])
def test_authorize_and_review_are_coroutine_functions(method: str) -> None:
    def answer(self: object, ctx: object) -> None:
        return None

    with refused(f"`{method}` is a coroutine function"):
        type("Quick", (Policy,), {method: answer}, name="quick")


def test_around_is_called_with_a_context_and_the_rest() -> None:
    with refused("`around` is called with self, ctx, call_next"):

        class Short(Policy, name="short"):
            async def around(self, ctx: object) -> None:
                return None


def test_a_class_method_is_no_plain_method() -> None:
    with refused("`discover` is no plain method"):

        class Shared(Policy, name="shared"):
            @classmethod
            def discover(cls, ctx: object) -> Expose:
                return Expose()


def test_a_policy_needs_a_name() -> None:
    with refused("a stable name"):

        class Nameless(Policy):
            pass


@pytest.mark.parametrize("name", ["", "Office Hours", "a" * 129, "x:", "x: y"])
def test_a_malformed_name_is_refused(name: str) -> None:
    with refused("a policy's name is"):
        type("Named", (Policy,), {}, name=name)


@pytest.mark.parametrize("name", ["x:\n", "x:\u202ey", "x:\ud800", "x:a\u200b", "x:a\x1b[31m"], ids=ascii)
def test_a_name_with_a_character_that_nobody_sees_is_refused(name: str) -> None:
    with refused("a policy's name holds the refused character"):
        type("Named", (Policy,), {}, name=name)


def test_an_instance_may_have_a_name_of_its_own_that_is_checked_when_it_is_used() -> None:
    class Parametrised(Policy, name="limit"):
        def __init__(self, what: str) -> None:
            self.name = what

    assert Chain([Parametrised("limit:Größe 3")]).names == ("limit:Größe 3",)
    with refused("a policy's name is"):
        Chain([Parametrised("No Name")])


def test_a_method_set_on_the_instance_is_refused() -> None:
    class Patched(Policy, name="patched"):
        def discover(self, ctx: object) -> Expose:
            return Expose()

    policy = Patched()
    setattr(policy, "discover", lambda ctx: Expose())  # noqa: B010 - what a type checker would refuse
    with refused("`discover` is set on the instance"):
        Chain([policy])


def test_a_class_in_place_of_an_instance_is_refused() -> None:
    class Silent(Policy, name="silent"):
        pass

    with refused(re.escape("write Silent()")):
        Chain([Silent])
    with refused("no Policy"):
        Chain([object()])


def test_deny_has_one_of_three_codes_and_a_time_when_it_limits() -> None:
    assert Deny("No").code is ErrorCode.NOT_AUTHORIZED
    assert Deny(code=ErrorCode.RATE_LIMITED, retry_after_ms=5).retry_after_ms == 5
    with pytest.raises(ValueError, match="one of NOT_AUTHENTICATED, NOT_AUTHORIZED, RATE_LIMITED"):
        Deny(code=ErrorCode.CANCELLED)
    with pytest.raises(ValueError, match="RATE_LIMITED needs it"):
        Deny(code=ErrorCode.RATE_LIMITED)
    with pytest.raises(ValueError, match="goes with RATE_LIMITED"):
        Deny(retry_after_ms=5)
