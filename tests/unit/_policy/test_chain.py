import asyncio
from collections.abc import Awaitable, Callable

import pytest

from remit._base.boundary import Json
from remit._base.clock import ManualClock
from remit._model.consumer import Consumer, Principal
from remit._policy.chain import Chain, PolicyFault
from remit._policy.context import Counters, PolicyContext, ReviewContext
from remit._policy.decision import Decision, Deny, Disable, Expose, Hide, RequireConfirmation, Required
from remit._policy.guard import Restrict
from remit._policy.meters import StoreUnavailable, _json
from remit._policy.policy import Policy, at_once
from remit.errors import Happened


def context(*, tenant: str | None = None, counters: Counters | None = None, charges: bool = True) -> PolicyContext:
    return PolicyContext(
        principal=Principal("ada", tenant=tenant),
        consumer=Consumer("bot", kind="test"),
        host=None,
        clock=ManualClock(),
        capability=None,
        instance=None,
        door="test",
        counters=counters,
        charges=charges,
    )


class Sees(Policy, name="sees"):
    def __init__(self, answer: object, name: str = "sees") -> None:
        self.name = name
        self._answer = answer

    def discover(self, ctx: PolicyContext) -> Decision:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[return-value]  # wrong answers are the point


class Asks(Policy, name="asks"):
    def __init__(self, answer: object, name: str = "asks") -> None:
        self.name = name
        self._answer = answer
        self.asked = 0

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        return self._say()  # type: ignore[return-value]

    async def review(self, ctx: ReviewContext) -> Deny | RequireConfirmation | None:
        return self._say()  # type: ignore[return-value]

    def _say(self) -> object:
        self.asked += 1
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class Wraps(Policy, name="wraps"):
    def __init__(self, inner: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]], name: str = "w") -> None:
        self.name = name
        self._inner = inner

    async def around(self, ctx: PolicyContext, call_next: Callable[[], Awaitable[object]]) -> object:
        return await self._inner(call_next)


def test_no_policies_expose_with_one_shared_verdict() -> None:
    chain = Chain(())
    assert chain.empty
    assert chain.discover(context()).decision == Expose()
    assert chain.discover(context()) is chain.discover(context())


def test_nobody_objecting_makes_no_object_and_still_has_every_vote() -> None:
    chain = Chain([Sees(Expose(), "one"), Asks(None), Sees(Expose(), "two")])
    first = chain.discover(context())
    assert first is chain.discover(context())
    assert [(vote.policy, vote.decision) for vote in first.votes] == [("one", "expose"), ("two", "expose")]


@pytest.mark.parametrize(
    ("answers", "decision"),
    [
        ([Expose(), Disable("first"), Disable("second"), Expose()], Disable("first")),
        ([Disable("first"), Hide(), Expose()], Hide()),
        ([Hide(), Disable("later")], Hide()),
    ],
)
def test_the_strictest_wins_and_the_first_reason_is_kept(answers: list[Decision], decision: Decision) -> None:
    verdict = Chain([Sees(answer) for answer in answers]).discover(context())
    assert verdict.decision == decision
    assert len(verdict.votes) == len(answers)


UNJUDGED = object.__new__(Disable)
object.__setattr__(UNJUDGED, "reason", 3)


@pytest.mark.parametrize("answer", [ValueError("secret"), None, True, "expose", UNJUDGED])
def test_a_discover_that_raises_or_answers_nonsense_hides_and_keeps_the_cause(answer: object) -> None:
    verdict = Chain([Sees(Expose()), Sees(answer), Sees(Expose())]).discover(context())
    assert verdict.decision == Hide()
    assert [vote.decision for vote in verdict.votes] == ["expose", "hide", "expose"]
    assert isinstance(verdict.votes[1].cause, type(answer) if isinstance(answer, Exception) else TypeError)


async def test_authorize_stops_at_the_first_deny() -> None:
    last = Asks(None)
    deny, votes = await Chain([Asks(None), Asks(Deny("no")), last]).authorize(context())
    assert deny == Deny("no")
    assert [(vote.decision, vote.reason) for vote in votes] == [("allow", None), ("deny", "no")]
    assert last.asked == 0


@pytest.mark.parametrize("answer", [ValueError("secret"), False, True, Expose(), RequireConfirmation()])
async def test_an_authorize_that_raises_or_answers_nonsense_denies(answer: object) -> None:
    deny, votes = await Chain([Asks(answer)]).authorize(context())
    assert deny == Deny()
    assert votes[0].cause is not None and "secret" not in (votes[0].reason or "")


async def test_a_cancelled_policy_is_a_cancelled_call() -> None:
    class Hangs(Policy, name="hangs"):
        async def authorize(self, ctx: PolicyContext) -> Deny | None:
            await asyncio.Event().wait()
            return None

    task = asyncio.ensure_future(Chain([Hangs()]).authorize(context()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_review_keeps_the_first_summary_and_every_approver() -> None:
    answers = [
        None,
        RequireConfirmation(summary="a"),
        RequireConfirmation(summary="b", approver="lead"),
        RequireConfirmation(approver="security"),
        RequireConfirmation(approver="lead"),
    ]
    required, votes = await Chain([Asks(answer) for answer in answers]).review(ReviewContext(context(), {}))
    assert required == Required(summary="a", approvers=("lead", "security"))
    assert [vote.decision for vote in votes] == ["allow", *["require-confirmation"] * 4]


@pytest.mark.parametrize("answer", [Deny("no"), ValueError("secret"), True])
async def test_a_denied_review_beats_a_required_confirmation(answer: object) -> None:
    denied, votes = await Chain([Asks(RequireConfirmation()), Asks(answer)]).review(ReviewContext(context(), {}))
    assert isinstance(denied, Deny)
    assert len(votes) == 2


async def test_a_review_can_change_neither_the_call_nor_what_the_next_policy_sees() -> None:
    seen: list[Json] = []

    class Greedy(Policy, name="greedy"):
        async def review(self, ctx: ReviewContext) -> None:
            ids = ctx.input["ids"]
            assert isinstance(ids, list)
            seen.append(list(ids))
            ids.append("z")
            with pytest.raises(TypeError):
                ctx.input["ids"] = []  # type: ignore[index]

    given: dict[str, Json] = {"ids": ["a"]}
    required, votes = await Chain([Greedy(), Greedy()]).review(ReviewContext(context(), given))
    assert (required, [vote.cause for vote in votes]) == (None, [None, None])
    assert seen == [["a"], ["a"]]
    assert given == {"ids": ["a"]}


async def run(*policies: Policy, call: Callable[[], Awaitable[object]]) -> object:
    return await Chain(policies).around(context(), call)


async def test_around_runs_the_call_inside_every_policy_the_first_outermost() -> None:
    steps: list[str] = []

    def noting(name: str) -> Policy:
        async def inner(call_next: Callable[[], Awaitable[object]]) -> object:
            steps.append(f"in {name}")
            given = await call_next()
            steps.append(f"out {name}")
            return given

        return Wraps(inner)

    async def call() -> object:
        steps.append("call")
        return 7

    assert await run(noting("a"), noting("b"), call=call) == 7
    assert steps == ["in a", "in b", "call", "out b", "out a"]


async def done() -> object:
    return {"ok": True}


async def fails() -> object:
    raise LookupError("the handler's own")


async def skip(call_next: Callable[[], Awaitable[object]]) -> object:
    return {"ok": True}


async def replace(call_next: Callable[[], Awaitable[object]]) -> object:
    await call_next()
    return {"ok": True}


async def twice(call_next: Callable[[], Awaitable[object]]) -> object:
    given = await call_next()
    try:
        await call_next()
    except RuntimeError:
        pass
    return given


async def swallow(call_next: Callable[[], Awaitable[object]]) -> object:
    try:
        return await call_next()
    except LookupError:
        return None


async def breaks(call_next: Callable[[], Awaitable[object]]) -> object:
    raise ValueError("secret")


async def translates(call_next: Callable[[], Awaitable[object]]) -> object:
    try:
        return await call_next()
    except LookupError as caught:
        raise ValueError("other") from caught


async def passes(call_next: Callable[[], Awaitable[object]]) -> object:
    return await call_next()


@pytest.mark.parametrize(
    ("policy", "call", "happened"),
    [
        (skip, done, Happened.NONE),
        (breaks, done, Happened.NONE),
        (replace, done, Happened.DONE),
        (twice, done, Happened.DONE),
        (swallow, fails, Happened.UNKNOWN),
        (translates, fails, Happened.UNKNOWN),
    ],
)
async def test_an_around_that_does_not_return_once_what_it_was_given_is_a_fault(
    policy: Callable[[Callable[[], Awaitable[object]]], Awaitable[object]],
    call: Callable[[], Awaitable[object]],
    happened: Happened,
) -> None:
    for policies in ([Wraps(policy, "bad")], [Wraps(passes), Wraps(policy, "bad"), Wraps(passes)]):
        with pytest.raises(PolicyFault) as caught:
            await run(*policies, call=call)
        assert (caught.value.policy, caught.value.happened) == ("bad", happened)


async def test_what_the_call_raises_passes_through_every_around_unchanged() -> None:
    with pytest.raises(LookupError, match="the handler's own"):
        await run(Wraps(passes), Wraps(passes), call=fails)


async def test_a_policy_around_a_faulty_one_cannot_hide_the_fault() -> None:
    async def hides(call_next: Callable[[], Awaitable[object]]) -> object:
        try:
            return await call_next()
        except Exception:  # noqa: BLE001 - a careless author
            return "fine"

    with pytest.raises(PolicyFault) as caught:
        await run(Wraps(hides, "outer"), Wraps(replace, "inner"), call=done)
    assert (caught.value.policy, caught.value.happened) == ("outer", Happened.DONE)


def test_counters_are_shared_by_calls_and_apart_by_tenant() -> None:
    counters = Counters(ManualClock())
    assert context(tenant="a", counters=counters).counter("k").add(2) == 2
    assert context(tenant="a", counters=counters).counter("k").add() == 3
    assert context(tenant="b", counters=counters).counter("k").value == 0


def test_a_second_check_of_the_same_call_does_not_charge() -> None:
    counters = Counters(ManualClock())
    assert context(counters=counters).counter("k").add() == 1
    assert context(counters=counters, charges=False).counter("k").add() == 1
    assert context(counters=counters).counter("k").value == 1


def test_counters_are_bounded_in_number_and_time() -> None:
    clock = ManualClock()
    counters = Counters(clock, capacity=2, idle_s=10)
    for key in "abc":
        counters.add(key, 1)
    assert [counters.value(key) for key in "abc"] == [0, 1, 1]
    clock.advance(11)
    assert counters.value("c") == 0


class Prompt(Policy, name="prompt"):
    """Decides without waiting."""

    @at_once
    def authorize(self, ctx: PolicyContext) -> Deny | None:
        return Deny("prompt") if ctx.principal is not None and ctx.principal.tenant == "refused" else None


class Waiting(Prompt, name="waiting"):
    """Overrides what decides at once."""

    async def authorize(self, ctx: PolicyContext) -> Deny | None:
        return Deny("waiting")


async def test_a_chain_whose_policies_decide_at_once_answers_the_same_with_and_without_waiting() -> None:
    chain = Chain([Prompt(), Prompt()])
    assert chain.prompt
    for tenant in (None, "refused"):
        ctx = context(tenant=tenant)
        deny, votes = await chain.authorize(ctx)
        at_once_deny, at_once_votes = chain.authorize_at_once(ctx)
        assert deny == at_once_deny
        assert [repr(vote) for vote in votes] == [repr(vote) for vote in at_once_votes]


async def test_an_override_of_what_decides_at_once_is_asked_and_makes_the_chain_wait() -> None:
    chain = Chain([Prompt(), Waiting()])
    assert not chain.prompt
    deny, _ = await chain.authorize(context())
    assert deny == Deny("waiting")


class Breaks(Policy, name="breaks"):
    """Raises where it is asked."""

    def __init__(self, cause: BaseException) -> None:
        self._cause = cause

    def discover(self, ctx: PolicyContext) -> Decision:
        raise self._cause

    @at_once
    def authorize(self, ctx: PolicyContext) -> Deny | None:
        raise self._cause


def test_what_decides_at_once_and_raises_denies_and_keeps_the_cause() -> None:
    cause = ValueError("secret")
    deny, votes = Chain([Prompt(), Breaks(cause), Prompt()]).authorize_at_once(context())
    assert deny == Deny()
    assert [(vote.policy, vote.decision, vote.cause) for vote in votes] == [
        ("prompt", "allow", None),
        ("breaks", "deny", cause),
    ]


def test_a_discover_that_raises_after_an_objection_hides_and_every_vote_is_known() -> None:
    cause = ValueError("secret")
    verdict = Chain([Sees(Disable("later"), "one"), Breaks(cause), Sees(Expose(), "two")]).discover(context())
    assert verdict.decision == Hide()
    assert [(vote.policy, vote.decision, vote.cause) for vote in verdict.votes] == [
        ("one", "disable", None),
        ("breaks", "hide", cause),
        ("two", "expose", None),
    ]


def test_whoever_interrupts_the_program_interrupts_a_listing_too() -> None:
    with pytest.raises(KeyboardInterrupt):
        Chain([Breaks(KeyboardInterrupt())]).discover(context())


def test_a_discover_that_gives_back_a_coroutine_hides_and_leaves_no_warning() -> None:
    async def never() -> None: ...

    verdict = Chain([Sees(never())]).discover(context())
    assert verdict.decision == Hide()
    assert str(verdict.votes[0].cause) == "policy sees: discover returned coroutine, which is no answer of discover"


def test_a_context_of_its_own_has_counters_of_its_own() -> None:
    one, other = context(tenant="a"), context(tenant="a")
    assert one.counter("n").add(2) == 2
    assert one.counter("n").value == 2
    assert other.counter("n").value == 0


def test_an_interruption_after_an_objection_or_of_what_decides_at_once_goes_through() -> None:
    chain = Chain([Sees(Hide(), "one"), Breaks(KeyboardInterrupt())])
    with pytest.raises(KeyboardInterrupt):
        chain.discover(context())
    with pytest.raises(KeyboardInterrupt):
        Chain([Breaks(KeyboardInterrupt())]).authorize_at_once(context())


async def test_without_a_store_a_shared_limit_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="no store is there to keep this limit"):
        await context().take("mine", calls=1, per_s=1)


def test_one_text_is_no_collection_of_what_to_hide() -> None:
    with pytest.raises(TypeError, match="takes several ids or patterns"):
        Restrict(hide="view:a.b")


@pytest.mark.parametrize("key", [["a"], ("a", b"b"), frozenset()])
def test_a_key_of_a_shared_limit_is_made_of_texts_and_numbers(key: object) -> None:
    with pytest.raises(TypeError, match="a key of a shared limit is text, a number, None or a tuple"):
        _json(key)
