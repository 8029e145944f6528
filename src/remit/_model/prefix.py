"""Prefixes by which a part of a listing is asked for, in whole segments (SPEC 4.9)."""

from remit._model.listing import Listed


def begins(listed: Listed, prefix: str) -> bool:
    """Whether a capability falls under a prefix: with a plane held against its id, without against its component."""
    return _under(listed.id if ":" in prefix else listed.descriptor.component, prefix)


def disjoint(one: str, other: str) -> bool:
    """Whether no capability whatever can fall under both; said from the prefixes alone, so it discloses no listing.

    A view's id starts with the type of its component; where a reference is offered, its id does not say.
    """
    if ":" not in one and ":" not in other:
        return not (_under(one, other) or _under(other, one))
    if one.startswith("domain:") != other.startswith("domain:"):
        # `domain:devices` and `devices` may meet: a reference is found under its component, too.
        return ":" in one and ":" in other
    if one.startswith("domain:"):
        return not (_under(one, other) or _under(other, one))
    bare, longer = one.removeprefix("view:"), other.removeprefix("view:")
    return not (_under(bare, longer) or _under(longer, bare))


def _under(text: str, prefix: str) -> bool:
    return text == prefix or text.startswith(prefix + ".")
