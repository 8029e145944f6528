"""A guard, as the page about the surface shows it."""

from remit import Accept, Candidate, Effect, Reject, Restrict
from remit.policies import read_only


def first_party_only(candidate: Candidate) -> Accept | Reject | Restrict:
    if candidate.origin == "first-party":
        return Accept()
    if any(effect is Effect.DESTRUCTIVE for effect in candidate.effects.values()):
        return Reject("a component from outside may destroy nothing")
    return Restrict(hide=["domain:**"], policies=[read_only()])


def candidate(origin: str, effect: Effect) -> Candidate:
    return Candidate(
        origin=origin, type="map", instance="default", capabilities=("view:map.do",), effects={"view:map.do": effect}
    )


assert first_party_only(candidate("first-party", Effect.DESTRUCTIVE)) == Accept()
assert isinstance(first_party_only(candidate("acme-maps", Effect.DESTRUCTIVE)), Reject)
assert isinstance(first_party_only(candidate("acme-maps", Effect.READ)), Restrict)
