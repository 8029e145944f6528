"""A field inside of objects, by the names on the way there: `filter.region` (SPEC 10.3)."""

from collections.abc import Mapping, Sequence

from remit._base.boundary import Json


def steps_of(path: str) -> tuple[str, ...]:
    """The names on the way to a field, itself the last."""
    return tuple(path.split("."))


def holds(value: object, path: str) -> bool:
    """True where the field is there, whatever its value."""
    name, more, rest = path.partition(".")
    if not isinstance(value, Mapping) or name not in value:
        return False
    return not more or holds(value[name], rest)


def with_field(value: Mapping[str, Json], steps: Sequence[str], field: Json) -> dict[str, Json] | None:
    """A copy with the field in it, objects on the way made where they are missing; None where something else is there.

    What is not on the way is shared with the original, which is not changed.
    """
    name, *rest = steps
    if not rest:
        return {**value, name: field}
    inner = value.get(name, {})
    made = with_field(inner, rest, field) if isinstance(inner, dict) else None
    return None if made is None else {**value, name: made}
