"""The base class of every policy, built in or written by a user (SPEC 5.2)."""

import inspect
import re
from collections.abc import Callable, Coroutine, Iterator
from functools import partial, wraps
from typing import Any, Final, NoReturn, TypeVar

from remit._base.text import first_bad
from remit._policy.context import PolicyContext
from remit._policy.decision import Decision, Deny
from remit.errors import DefinitionCode, DefinitionError

METHODS: Final = ("discover", "authorize", "review", "around")
P = TypeVar("P", bound="Policy")
_AT_ONCE: Final = "__remit_at_once__"
_QUICK: Final = "__remit_quick__"

_NAME = re.compile(r"[a-z][a-z0-9-]*(?::[^\x00-\x20\x7f-\xa0][^\x00-\x1f\x7f-\x9f]*)?")
_MAX_NAME = 128


class Policy:
    """Decides what a consumer may see and do; subclass it with a stable name: `class P(Policy, name="office-hours")`.

    It has any of four methods, and no other public one (a `DefinitionError`, so that a typo opens nothing):

    * `def discover(self, ctx: PolicyContext) -> Expose | Disable | Hide`: synchronous and cheap, runs for every listing
      and again for every call;
    * `async def authorize(self, ctx: PolicyContext) -> None | Deny`;
    * `async def review(self, ctx: ReviewContext) -> None | Deny | RequireConfirmation`: sees the effective input;
    * `async def around(self, ctx: PolicyContext, call_next) -> object`: awaits `call_next()` once and returns what it
      gave.

    What raises, or answers anything else, closes: `discover` hides, `authorize` and `review` deny, `around` fails the
    call; the cause goes to the operator. A policy is shared by all calls: it keeps no state of one call on itself.
    """

    name: str
    """The stable name the contract records; an instance with parameters sets its own, like `require-grant:admin`."""

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if name is None:
            _refuse(cls, "a policy needs a stable name", f'class {cls.__name__}(Policy, name="…")')
        _check_name(cls, name)
        cls.name = name
        for attribute, value in _public_methods(cls):
            if attribute not in METHODS:
                rule = f"the public method `{attribute}` is none of {', '.join(METHODS)}"
                _refuse(cls, rule, f"correct its name, or begin it with an underscore: _{attribute}")
            _check_method(cls, attribute, value)


def methods_of(policy: object) -> dict[str, Callable[..., object]]:
    """Return the bound methods that a policy has; raise INVALID_DEFINITION for what is no usable policy."""
    if not isinstance(policy, Policy):
        kind = policy if isinstance(policy, type) else type(policy)
        if isinstance(policy, type):
            what, do = "a policy class stands where an instance is needed", f"write {kind.__name__}()"
        elif inspect.isfunction(policy):
            what, do = f"the function {policy.__name__} is no Policy", f"call it, if it makes one: {policy.__name__}()"
        else:
            what, do = "no Policy", "subclass remit.policies.Policy"
        _refuse(kind, what, do)
    _check_name(type(policy), getattr(policy, "name", None))
    shadowed = [method for method in METHODS if method in getattr(policy, "__dict__", {})]
    if shadowed:
        _refuse(type(policy), f"`{shadowed[0]}` is set on the instance", "define it in the class")
    return {method: getattr(policy, method) for method in METHODS if hasattr(policy, method)}


def at_once(
    decide: Callable[[P, PolicyContext], Deny | None],
) -> Callable[[P, PolicyContext], Coroutine[Any, Any, Deny | None]]:
    """Make an `authorize` of a function that waits for nothing, so that a chain may ask it without a task.

    A subclass that overrides `authorize`, or wraps this one, is asked like any other policy.
    """

    @wraps(decide)
    async def authorize(self: P, ctx: PolicyContext) -> Deny | None:
        return decide(self, ctx)

    setattr(authorize, _AT_ONCE, (authorize, decide))
    return authorize


def decides_at_once(policy: object) -> Callable[[PolicyContext], object] | None:
    """The plain function behind an `authorize` made by `at_once`; None for every other one."""
    authorize = getattr(type(policy), "authorize", None)
    made, decide = getattr(authorize, _AT_ONCE, (None, None))
    return partial(decide, policy) if decide is not None and made is authorize else None


def quick(discover: Callable[[P, PolicyContext], Decision]) -> Callable[[P, PolicyContext], Decision]:
    """Say of a `discover` that it compares what it is given and runs no code of the application: nobody measures it.

    A subclass that overrides `discover`, or wraps this one, is measured like any other policy.
    """
    setattr(discover, _QUICK, discover)
    return discover


def is_quick(discover: Callable[..., object]) -> bool:
    """Whether this bound method is one that `quick` made."""
    function = getattr(discover, "__func__", None)
    return function is not None and getattr(function, _QUICK, None) is function


def _public_methods(cls: type) -> Iterator[tuple[str, object]]:
    for owner in cls.__mro__:
        if owner in (Policy, object):
            continue
        for attribute, value in vars(owner).items():
            if attribute.startswith("_"):
                continue
            routine = callable(value) or isinstance(value, staticmethod | classmethod)
            if attribute in METHODS or (routine and not isinstance(value, type)):
                yield attribute, value


def _check_method(cls: type, attribute: str, value: object) -> None:
    if not inspect.isfunction(value):
        _refuse(cls, f"`{attribute}` is no plain method", f"write def {attribute}(self, ctx)")
    given = ("self", "ctx", "call_next") if attribute == "around" else ("self", "ctx")
    if attribute == "discover":
        if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
            _refuse(cls, "`discover` is synchronous: it decides, it does not wait", "def discover(self, ctx)")
    elif not inspect.iscoroutinefunction(value):
        _refuse(cls, f"`{attribute}` is a coroutine function", f"async def {attribute}({', '.join(given)})")
    try:
        inspect.signature(value).bind(*given)
    except TypeError:
        waits = "" if attribute == "discover" else "async "
        _refuse(cls, f"`{attribute}` is called with {', '.join(given)}", f"{waits}def {attribute}({', '.join(given)})")


def named(what: str, name: str) -> str:
    """The name that a built-in policy makes of its parameters; DefinitionError at `what` for what no name can hold."""
    if (rule := _wrong(name)) is not None:
        raise DefinitionError(DefinitionCode.INVALID_DEFINITION, what, rule, do="write short plain text on one line")
    return name


def _check_name(cls: type, name: object) -> None:
    if (rule := _wrong(name)) is not None:
        _refuse(cls, rule, 'write for example name="office-hours"')


def _wrong(name: object) -> str | None:
    """Why this is no name of a policy: reviewers read it, so it holds no character that is not seen (SPEC 3.2)."""
    if isinstance(name, str) and (bad := first_bad(name)) is not None:
        return f"a policy's name holds the refused character {bad}"
    if not isinstance(name, str) or len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        return f"a policy's name is [a-z][a-z0-9-]*, then at most one `:parameter`; at most {_MAX_NAME} characters"
    return None


def _refuse(cls: type, rule: str, do: str) -> NoReturn:
    place = f"{cls.__module__}.{cls.__qualname__}"
    raise DefinitionError(DefinitionCode.INVALID_DEFINITION, cls.__name__, rule, place=place, do=do)
