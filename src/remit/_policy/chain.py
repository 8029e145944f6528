"""Several policies as one: strictest wins, the first reason is kept, whatever raises closes (SPEC 5.2 to 5.4)."""

import inspect
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, cast

from remit._policy.context import PolicyContext, ReviewContext
from remit._policy.decision import Decision, Deny, Disable, Expose, Hide, RequireConfirmation, Required
from remit._policy.meters import StoreUnavailable, Unmetered
from remit._policy.policy import decides_at_once, is_quick, methods_of
from remit.errors import Happened

CallNext = Callable[[], Awaitable[object]]
Watch = Callable[[Callable[[PolicyContext], object]], Callable[[PolicyContext], object]]

REMEMBERED: Final = 64
"""Verdicts of plain answers that a chain keeps ready; six policies have no more."""


class Vote:
    """What one method of one policy answered; `cause` is what it raised, for the operator only."""

    __slots__ = ("cause", "decision", "method", "policy", "reason")

    def __init__(
        self, policy: str, method: str, decision: str, reason: str | None = None, cause: BaseException | None = None
    ) -> None:
        self.policy = policy
        self.method = method
        self.decision = decision
        self.reason = reason
        self.cause = cause

    def __repr__(self) -> str:
        return f"Vote({self.policy!r}, {self.method!r}, {self.decision!r}, {self.reason!r}, {self.cause!r})"


Votes = tuple[Vote, ...]


class Verdict:
    """What all policies decided about seeing one capability, with every vote; shared and never changed."""

    __slots__ = ("decision", "votes")

    def __init__(self, decision: Decision, votes: Votes) -> None:
        self.decision = decision
        self.votes = votes


class PolicyFault(Exception):
    """An `around` policy raised, or did not return once what `call_next` gave: EXECUTION_FAILED (SPEC 5.2).

    `happened` is what is known of the effect: none if the call was never reached, done if it returned, else unknown.
    """

    def __init__(self, policy: str, rule: str, happened: Happened, cause: BaseException | None = None) -> None:
        super().__init__(f"{policy}: {rule}")
        self.policy = policy
        self.happened = happened
        self.cause = cause


class Chain:
    """The policies over one capability: the surface's, the component's, its own, in that order (SPEC 5.3).

    Built once per class and surface. A policy without a method costs nothing there, and when nobody objects no object
    is made. `prompt` says that no `authorize` waits for anything (see `authorize_at_once`). `watch` may wrap what runs
    inline, unless it is known to be quick. What is no `Policy` is a `DefinitionError`.
    """

    __slots__ = (
        "_around",
        "_at_once",
        "_authorize",
        "_authorized",
        "_discover",
        "_exposed",
        "_review",
        "_reviewed",
        "_verdicts",
        "empty",
        "has_around",
        "has_authorize",
        "has_discover",
        "has_review",
        "methods",
        "names",
        "prompt",
    )

    def __init__(self, policies: Sequence[object], watch: Watch | None = None) -> None:
        self._discover: list[tuple[str, Callable[[PolicyContext], object]]] = []
        self._authorize: list[tuple[str, Callable[[PolicyContext], Awaitable[object]]]] = []
        self._review: list[tuple[str, Callable[[ReviewContext], Awaitable[object]]]] = []
        self._around: list[tuple[str, Callable[[PolicyContext, CallNext], Awaitable[object]]]] = []
        names: list[str] = []
        answering: list[frozenset[str]] = []
        for policy in policies:
            methods = methods_of(policy)
            answering.append(frozenset(methods))
            name: str = getattr(policy, "name")  # noqa: B009 - checked by methods_of; the parameter is an object
            names.append(name)
            for method, slot in (
                ("discover", self._discover),
                ("authorize", self._authorize),
                ("review", self._review),
                ("around", self._around),
            ):
                if method in methods:
                    cast("list[tuple[str, object]]", slot).append((name, methods[method]))
        self.names = tuple(names)
        self.methods = tuple(answering)  # of each policy, by its place in `names`
        self.has_discover = bool(self._discover)
        self.has_authorize = bool(self._authorize)
        self.has_review = bool(self._review)
        self.has_around = bool(self._around)
        decides = [decides_at_once(policy) for policy in policies if hasattr(policy, "authorize")]
        self._at_once = [decide for decide in decides if decide is not None]
        if watch is not None:
            self._discover = [(name, method if is_quick(method) else watch(method)) for name, method in self._discover]
        self.prompt = len(self._at_once) == len(self._authorize)
        self.empty = not names
        self._exposed = Verdict(Expose(), tuple(Vote(name, "discover", "expose") for name, _ in self._discover))
        self._verdicts = {0: self._exposed}  # by which policies hid, one bit each; none of them said anything else
        self._authorized = tuple(Vote(name, "authorize", "allow") for name, _ in self._authorize)
        self._reviewed = tuple(Vote(name, "review", "allow") for name, _ in self._review)

    def discover(self, ctx: PolicyContext) -> Verdict:
        """Ask every `discover`, so that every vote is known: hide beats disable beats expose; a raising one hides.

        To hide takes as long as to expose: both go this whole way, and give a verdict that was made before.
        """
        hides, bit = 0, 1
        odd: dict[int, object] | None = None
        for _, method in self._discover:
            try:
                decision = method(ctx)
            except KeyboardInterrupt:
                raise
            except BaseException as cause:  # noqa: BLE001 - a policy is the application's code: it closes, and is told
                decision = cause
            kind = type(decision)
            if kind is Hide:
                hides |= bit
            elif kind is not Expose:
                odd = {bit: decision} if odd is None else {**odd, bit: decision}
            bit <<= 1
        verdict = self._verdicts.get(hides) if odd is None else None
        return self._weigh(hides, odd or _NOTHING_ODD) if verdict is None else verdict

    def _weigh(self, hides: int, odd: Mapping[int, object]) -> Verdict:
        """The verdict of answers of which some are in `odd`, each under its bit: of one that has words of its own."""
        votes: list[Vote] = []
        strictest: Decision = Expose()
        for place, (name, _) in enumerate(self._discover):
            bit = 1 << place
            answer = odd[bit] if bit in odd else _HIDE if hides & bit else _EXPOSE
            decision, vote = _discovered(name, answer)
            votes.append(vote)
            if _STRICTNESS[type(decision)] > _STRICTNESS[type(strictest)]:
                strictest = decision
        verdict = Verdict(strictest, tuple(votes))
        if not odd and len(self._verdicts) < REMEMBERED:
            self._verdicts[hides] = verdict
        return verdict

    async def authorize(self, ctx: PolicyContext) -> tuple[Deny | None, Votes]:
        """Ask every `authorize` in order, up to the first that denies; a raising one denies."""
        for place, (name, method) in enumerate(self._authorize):
            try:
                answer = await method(ctx)
            except (CancelledError, KeyboardInterrupt):
                raise
            except BaseException as cause:  # noqa: BLE001 - a policy is the application's code: it closes, and is told
                answer = cause
            if answer is not None:
                deny, vote = _denied(name, "authorize", answer)
                return deny, (*self._authorized[:place], vote)
        return None, self._authorized

    def authorize_at_once(self, ctx: PolicyContext) -> tuple[Deny | None, Votes]:
        """The same, without waiting; only for a `prompt` chain."""
        for place, decide in enumerate(self._at_once):
            try:
                answer = decide(ctx)
            except KeyboardInterrupt:
                raise
            except BaseException as cause:  # noqa: BLE001 - as above
                answer = cause
            if answer is not None:
                deny, vote = _denied(self._authorize[place][0], "authorize", answer)
                return deny, (*self._authorized[:place], vote)
        return None, self._authorized

    async def review(self, ctx: ReviewContext) -> tuple[Deny | Required | None, Votes]:
        """Ask every `review` in order, up to the first that denies; a raising one denies.

        When several ask for a person, the first summary is kept, and approvers add up.
        """
        votes: list[Vote] = []
        required: Required | None = None
        for place, (name, method) in enumerate(self._review):
            try:
                answer = await method(ctx if place == 0 else ctx.renewed())
            except (CancelledError, KeyboardInterrupt):
                raise
            except BaseException as cause:  # noqa: BLE001 - a policy is the application's code: it closes, and is told
                answer = cause
            if answer is None:
                votes.append(self._reviewed[place])
            elif isinstance(answer, RequireConfirmation):
                votes.append(Vote(name, "review", "require-confirmation", answer.summary))
                required = _added(required, answer)
            else:
                deny, vote = _denied(name, "review", answer)
                return deny, (*votes, vote)
        return required, tuple(votes)

    async def around(self, ctx: PolicyContext, call_next: CallNext) -> object:
        """Run the call inside every `around`, the first outermost; raises `PolicyFault`, or what the call raised."""
        return await self._inside(0, ctx, _Once(call_next, None))

    async def _inside(self, place: int, ctx: PolicyContext, run: "_Once") -> object:
        if place == len(self._around):
            return await run()
        name, method = self._around[place]
        once = _Once(lambda: self._inside(place + 1, ctx, run), run)
        try:
            given = await method(ctx, once)
        except (CancelledError, KeyboardInterrupt):
            raise
        except BaseException as cause:
            if cause is once.raised and not once.again:
                raise
            raise PolicyFault(name, "around raised", once.happened, cause) from cause
        if once.again:
            raise PolicyFault(name, "around awaited call_next more than once", once.happened)
        if not once.returned or given is not once.value:
            rule = "around did not return what call_next gave"
            raise PolicyFault(name, rule, once.happened, once.raised) from once.raised
        return given


class _Once:
    """`call_next` for one policy: runs once, and remembers what came of it; `run` is the call itself."""

    __slots__ = ("_next", "_run", "again", "called", "raised", "returned", "value")

    def __init__(self, call_next: CallNext, run: "_Once | None") -> None:
        self._next = call_next
        self._run = self if run is None else run
        self.called = False
        self.again = False
        self.returned = False
        self.raised: BaseException | None = None
        self.value: object = None

    @property
    def happened(self) -> Happened:
        if not self._run.called:
            return Happened.NONE
        return Happened.DONE if self._run.returned else Happened.UNKNOWN

    async def __call__(self) -> object:
        if self.called:
            self.again = True
            raise RuntimeError("call_next runs once")
        self.called = True
        try:
            self.value = await self._next()
        except BaseException as raised:
            self.raised = raised
            raise
        self.returned = True
        return self.value


_STRICTNESS: dict[type[Decision], int] = {Expose: 0, Disable: 1, Hide: 2}
_EXPOSE: Final = Expose()
_HIDE: Final = Hide()
_NOTHING_ODD: Final[Mapping[int, object]] = MappingProxyType({})


def _discovered(name: str, answer: object) -> tuple[Decision, Vote]:
    match answer:
        case Expose():
            return Expose(), Vote(name, "discover", "expose")
        case Disable(reason=reason) if isinstance(reason, str):
            return Disable(reason), Vote(name, "discover", "disable", reason)
        case Hide():
            return Hide(), Vote(name, "discover", "hide")
        case _:
            return Hide(), Vote(name, "discover", "hide", None, _as_cause(name, "discover", answer))


def _denied(name: str, method: str, answer: object) -> tuple[Deny, Vote]:
    if isinstance(answer, Deny):
        return answer, Vote(name, method, "deny", answer.reason)
    if isinstance(answer, StoreUnavailable):
        return Unmetered(), Vote(name, method, "deny", None, answer)
    return Deny(), Vote(name, method, "deny", None, _as_cause(name, method, answer))


def _as_cause(name: str, method: str, answer: object) -> BaseException:
    if isinstance(answer, BaseException):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    return TypeError(f"policy {name}: {method} returned {type(answer).__name__}, which is no answer of {method}")


def _added(so_far: Required | None, asked: RequireConfirmation) -> Required:
    summary = asked.summary if so_far is None or so_far.summary is None else so_far.summary
    approvers = () if so_far is None else so_far.approvers
    if asked.approver is not None and asked.approver not in approvers:
        approvers = (*approvers, asked.approver)
    return Required(summary=summary, approvers=approvers)
