"""What must come of a call, said as plainly as possible: plain data in, a code and its reason out (DESIGN 1.4).

It shares nothing with the product but ids and enums (a gate holds that), so that a mistake has to be made twice.
Numbers beside the checks are the steps of SPEC 6.2. Nothing here changes anything.
"""

from remit._model.effects import Confirmation, Effect, Kind
from remit.errors import ErrorCode, Happened
from tests.oracle.world import Asked, Capability, Consumer, Registration, Verdict, World

IN_PROCESS = ("embedded", "test")
ASKS = (Confirmation.REQUIRED, Confirmation.ALWAYS)
TOMBSTONE_S, FINAL_S, UNANSWERED = 300, 600, 3


class No(Exception):
    """A step refuses."""

    def __init__(self, step: int, code: ErrorCode, detail: object = None, *, runs: bool = False) -> None:
        super().__init__(code)
        self.verdict = Verdict(code, detail, runs, step)


def decide(world: World, who: Consumer, asked: Asked, after: World | None = None) -> Verdict:
    """What must come of this call; `after` is the world that the author's check left behind, if it changed it."""
    try:
        return _decide(world, who, asked, after or world)
    except No as no:
        return no.verdict


def _decide(world: World, who: Consumer, asked: Asked, after: World) -> Verdict:
    if not asked.form:
        raise No(1, ErrorCode.INVALID_INPUT, ())
    stored = _repeated(world, who, asked)
    place, what = _resolve(world, who, asked)
    _available(world, who, place, what, 5)
    _authorized(world, what, 6)
    if stored is not None:
        return Verdict(stored.code, stored.detail, step=6, repeats=True)
    _record(place, what, asked, 7)
    effective = _effective_input(place, what, asked)
    person = _reviewed(world, who, what)
    objection = place.preconditions.get(what.id)
    if objection == "raise":
        raise No(10, ErrorCode.EXECUTION_FAILED, ("handler-error", Happened.NONE))
    if objection is not None:
        raise No(10, ErrorCode.PRECONDITION_FAILED, objection)
    left = next((each for each in after.live if each.id == place.id), None)
    if left is None:
        raise No(13, ErrorCode.COMPONENT_UNMOUNTED, "mid-flight")
    spends = _evidence(after, who, asked, (place.id, what.id, who.id, effective)) if person else None
    if who.id in after.out:
        raise No(13, ErrorCode.NOT_AUTHORIZED)
    if see(after, who, left, what)[0] == "hidden":
        raise No(13, ErrorCode.CAPABILITY_NOT_FOUND)
    _available(after, who, left, what, 13)
    _authorized(after, what, 13)
    _record(left, what, asked, 13)
    ended = _executed(after, what)
    return Verdict(ended.code, ended.detail, True, 14, spends)


def _repeated(world: World, who: Consumer, asked: Asked) -> Verdict | None:
    name = asked.invocation
    request = world.requests.get(asked.evidence or "")
    if name is None and request and request.consumer == who.id and request.fingerprint == asked.fingerprint:
        name = request.invocation
    fingerprint, verdict, until = world.stored.get((who.id, name or ""), (None, None, 0.0))
    if verdict is None or until <= world.time:
        return None
    if fingerprint != asked.fingerprint:
        raise No(2, ErrorCode.INVOCATION_CONFLICT, "different-call")
    return verdict


def _resolve(world: World, who: Consumer, asked: Asked) -> tuple[Registration, Capability]:
    if who.id in world.out:
        raise No(3, ErrorCode.NOT_AUTHORIZED)
    offered = [(place, what) for place in world.live for what in place.capabilities if what.id == asked.capability]
    seen = [pair for pair in offered if see(world, who, *pair)[0] != "hidden"]
    fitting = [pair for pair in seen if asked.instance in (None, pair[0].instance, _address(*pair))]
    if not fitting:
        told = [stone for stone in world.gone if _told(world, who, asked, stone)]
        if asked.capability not in world.off and any(reaches(world, who, stone, asked.capability) for stone in told):
            raise No(3, ErrorCode.COMPONENT_UNMOUNTED, "resolve")
        raise No(3, ErrorCode.CAPABILITY_NOT_FOUND)
    if asked.surface not in (None, world.id):
        raise No(4, ErrorCode.STALE_CAPABILITY, "surface-reloaded")
    if asked.registration is not None:
        fitting = [pair for pair in fitting if pair[0].id == asked.registration]
        if not fitting:
            raise No(4, ErrorCode.STALE_CAPABILITY, "registration-replaced")
    if len(fitting) > 1:
        raise No(4, ErrorCode.AMBIGUOUS_INSTANCE, tuple(sorted(_address(*pair) for pair in fitting)))
    place, what = fitting[0]
    grave = what.effect in (Effect.DESTRUCTIVE, Effect.EXTERNAL_SIDE_EFFECT)
    request = world.requests.get(asked.evidence or "")
    matching = request is not None and request.consumer == who.id and request.fingerprint == asked.fingerprint
    if grave and not matching and asked.version not in (None, world.versions[who.id]):
        raise No(4, ErrorCode.STALE_CAPABILITY, "surface-version-mismatch")
    return place, what


def _told(world: World, who: Consumer, asked: Asked, stone: Registration) -> bool:
    refers = asked.capability.startswith("domain:")
    return (
        world.time < stone.gone_at + TOMBSTONE_S
        and (who.id, asked.capability) in stone.shown
        and asked.registration in (None, stone.id)
        and (
            asked.instance in (None, stone.instance) or (refers and asked.instance == f"{stone.type}/{stone.instance}")
        )
    )


def _address(place: Registration, what: Capability) -> str:
    return f"{place.type}/{place.instance}" if what.kind is Kind.REFERENCE else place.instance


def see(world: World, who: Consumer, place: Registration, what: Capability) -> tuple[str, str | None, bool]:
    """Hidden, unavailable or available; the reason; and whether a version counts it as lowered (SPEC 4.6, 4.7, 2.6)."""
    hidden = ("hidden", None, True)
    open_door = what.doors is None or who.kind in what.doors
    if what.derived and not fits(world.exposure.get("derived", ()), what.id):
        return hidden
    if who.id in world.out or what.id in world.off or not open_door:
        return hidden
    if not reaches(world, who, place, what.id, named_by_author=what.doors is not None):
        return hidden
    names = world.policies + what.policies
    answers = [world.stance(name, what.id).discover for name in names]
    if "hide" in answers or "raise" in answers:
        return hidden
    if "disable" in answers:
        return "unavailable", f"{names[answers.index('disable')]} disables", True
    reason = place.blocked or place.pushed.get(what.id)
    if reason is None and what.confirmation in ASKS and not world.channel:
        reason = "nobody can confirm"
    if reason is not None:
        return "unavailable", reason, True
    answer = place.predicates.get(what.id, True)
    return ("available", None, False) if answer is True else ("unavailable", str(answer or "when-error"), False)


def reaches(
    world: World, who: Consumer, place: Registration, capability: str, *, named_by_author: bool = False
) -> bool:
    """Whether exposure, the surface's narrowing of it, and the consumer's scope let it through (SPEC 4.8, 11.2)."""
    inside = who.kind in IN_PROCESS
    exposed = inside or named_by_author or fits(world.exposure.get(who.kind, ()), capability)
    narrow = None if world.narrowed is None else world.narrowed.get(who.kind)
    kept = inside or world.narrowed is None if narrow is None else fits(narrow, capability)
    held = inside if who.scope is None else fits(who.scope, capability) or fits(who.scope, place.region, "/")
    return exposed and kept and held


def fits(patterns: tuple[str, ...], name: str, cut: str = ".") -> bool:
    """Whole segments: `*` is one, a last `**` is one or more (SPEC 11.2)."""
    for pattern in patterns:
        wanted, given = (each.replace(":", f":{cut}").split(cut) for each in (pattern, name))
        if wanted[-1] == "**" and len(given) >= len(wanted):
            wanted, given = wanted[:-1], given[: len(wanted) - 1]
        if len(wanted) == len(given) and all(want in ("*", has) for want, has in zip(wanted, given, strict=True)):
            return True
    return False


def _available(world: World, who: Consumer, place: Registration, what: Capability, step: int) -> None:
    state, reason, _ = see(world, who, place, what)
    if state == "unavailable":
        raise No(step, ErrorCode.CAPABILITY_NOT_AVAILABLE, reason)


def _authorized(world: World, what: Capability, step: int) -> None:
    for name in world.policies + what.policies:
        match world.stance(name, what.id).authorize:
            case "deny":
                raise No(step, ErrorCode.NOT_AUTHORIZED, f"{name} denies")
            case "raise":
                raise No(step, ErrorCode.NOT_AUTHORIZED)
            case "sign-in":
                raise No(step, ErrorCode.NOT_AUTHENTICATED)
            case "slow":
                raise No(step, ErrorCode.RATE_LIMITED, "rate")
            case _:
                pass


def _record(place: Registration, what: Capability, asked: Asked, step: int) -> None:
    """By type and value, and nothing else of the input matters (SPEC 11.6)."""
    if what.record and not any(type(row) is type(asked.record) and row == asked.record for row in place.rows):
        raise No(step, ErrorCode.RECORD_UNAVAILABLE)


def _effective_input(place: Registration, what: Capability, asked: Asked) -> tuple[object, ...]:
    if asked.names_target or asked.n is None:
        raise No(7, ErrorCode.INVALID_INPUT, (what.bound,) if asked.names_target and what.bound else ())
    if what.bound and place.target is None:
        raise No(7, ErrorCode.PRECONDITION_FAILED, "binding-failed")
    return (asked.n, place.target if what.bound else None, asked.record if what.record else None)


def _reviewed(world: World, who: Consumer, what: Capability) -> bool:
    asks = what.confirmation in ASKS or what.effect is Effect.DESTRUCTIVE
    asks = asks or what.effect in who.confirm or fits(tuple(each for each in who.confirm if ":" in each), what.id)
    for name in world.policies + what.policies:
        answer = world.stance(name, what.id).review
        if answer in ("deny", "raise"):
            raise No(9, ErrorCode.NOT_AUTHORIZED, f"{name} denies" if answer == "deny" else None)
        asks = asks or answer == "ask"
    return asks


def _evidence(world: World, who: Consumer, asked: Asked, call: tuple[object, ...]) -> str:
    """The id of the approved request that covers the call."""
    if asked.evidence is None:
        id = _request(world, who, asked, call)
    else:
        id = asked.evidence
        given = world.requests.get(id)
        if given is None or given.consumer != who.id:
            raise No(11, ErrorCode.CONFIRMATION_INVALID, "mismatch")
        ended = given.status == "cancelled" and given.capability == asked.capability
        if given.call != call and not ended:
            raise No(11, ErrorCode.CONFIRMATION_INVALID, "mismatch")
    request = world.requests[id]
    if request.status == "pending":
        raise No(11, ErrorCode.CONFIRMATION_REQUIRED, id)
    if request.status != "approved":
        raise No(11, ErrorCode.CONFIRMATION_INVALID, request.status)
    return id


def _request(world: World, who: Consumer, asked: Asked, call: tuple[object, ...]) -> str:
    """The open request for this very call; without one, why none is made, or that one is made ("new")."""
    if not world.channel:
        raise No(11, ErrorCode.CONFIRMATION_INVALID, "no-decider")
    for id, request in world.requests.items():
        if request.call == call and request.status in ("pending", "approved"):
            return id
    if call in world.denied and world.time < world.denied[call] + FINAL_S:
        raise No(11, ErrorCode.CONFIRMATION_INVALID, "denied")
    if (asked.capability, who.id) in world.denied_often:
        raise No(11, ErrorCode.RATE_LIMITED, "denied-often")
    if world.unanswered.get(who.id, 0) >= UNANSWERED:
        raise No(11, ErrorCode.RATE_LIMITED, "unanswered")
    pending = [request.consumer for request in world.requests.values() if request.status == "pending"]
    if pending.count(who.id) >= world.per_consumer or len(pending) >= world.per_surface:
        raise No(11, ErrorCode.RATE_LIMITED, "queue-full")
    raise No(11, ErrorCode.CONFIRMATION_REQUIRED, "new")


def _executed(world: World, what: Capability) -> Verdict:
    match world.handlers.get(what.id):
        case "refuse":
            return Verdict(ErrorCode.PRECONDITION_FAILED, "the handler says no")
        case "raise":
            reads = what.effect in (Effect.READ, Effect.SERVER_QUERY)
            blame = "transport" if what.kind is Kind.REFERENCE else "handler-error"
            return Verdict(ErrorCode.EXECUTION_FAILED, (blame, Happened.NONE if reads else Happened.UNKNOWN))
        case _:
            return Verdict(None)
