"""What a reference leaves to an agent: the operation's schema without what the view fills (SPEC 10.3)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from remit._base.boundary import Json, TooLarge, take
from remit._base.nested import holds, steps_of
from remit._contract.options import LIMITS, Place
from remit._contract.reference import Reference, checked_overridable
from remit.errors import DefinitionCode, DefinitionError

Schema = dict[str, Json]
_DEFINITIONS: Final = "#/$defs/"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """A bound path, and whether an agent may fill it all the same; `steps` is what is left of it from here on."""

    path: str
    steps: tuple[str, ...]
    overridable: bool


def heads(paths: Iterable[str]) -> frozenset[str]:
    """The fields of the root in which some part is bound."""
    return frozenset(steps_of(path)[0] for path in paths)


def unbound(reference: Reference, schema: Mapping[str, Json]) -> Json:
    """The agent's schema: what the view fills has left it, or has become optional (SPEC 10.3).

    An object on the way to a bound field is always there when the operation runs. So an agent owes it exactly when it
    owes something inside, and one of which the view fills everything has left with it. DefinitionError for a path that
    leads through anything but one object a step.
    """
    overridable = checked_overridable(reference)
    bound = [_Bound(path=path, steps=steps_of(path), overridable=path in overridable) for path in reference.bindings]
    agent = _Walk(reference.at, schema).without(dict(schema), bound, top=True)
    left = without_unused_definitions(agent)
    try:
        take(left, max_bytes=LIMITS.schema_bytes)
    except TooLarge:
        raise reference.at.wrong(
            f"what is left of the input has more than {LIMITS.schema_bytes:,} bytes of schema",
            code=DefinitionCode.LIMIT_EXCEEDED,
            do="bind whole fields instead of parts of them",
        ) from None
    return left


class _Walk:
    """Goes down the schema of one operation; whatever is shared is copied where something leaves it."""

    def __init__(self, at: Place, schema: Mapping[str, Json]) -> None:
        self._at = at
        self._definitions = cast(Schema, schema.get("$defs", {}))

    def without(self, node: Schema, bound: Collection[_Bound], *, top: bool = False) -> Schema:
        """An object's schema without what is bound in it."""
        properties = dict(cast("dict[str, Schema]", node.get("properties", {})))
        required = cast("list[str]", node.get("required", []))
        owed = dict.fromkeys(required)
        for name in dict.fromkeys(each.steps[0] for each in bound):
            inside = [each for each in bound if each.steps[0] == name]
            if name not in properties:
                raise self._no_field(inside[0], properties)
            kept = self._part(properties.pop(name), inside)
            owed.pop(name, None)
            if kept is not None:
                properties[name] = kept
                if kept.get("required") and "default" not in kept and not _is_bound_itself(inside):
                    owed[name] = None
        agent: Schema = {**node, "properties": cast(Json, properties)}
        agent.pop("required", None)
        if owed:
            first = [name for name in required if name in owed]
            agent["required"] = list[Json]([*first, *(name for name in owed if name not in first)])
        return agent if top else _without_values(agent, bound)

    def _part(self, field: Schema, inside: Collection[_Bound]) -> Schema | None:
        """What is left of one field; None where nothing is."""
        if _is_bound_itself(inside):
            if not next(iter(inside)).overridable:
                return None
            # Without its default: what an agent leaves out is the view's to fill.
            return {keyword: value for keyword, value in field.items() if keyword != "default"}
        deeper = [_Bound(path=each.path, steps=each.steps[1:], overridable=each.overridable) for each in inside]
        left = self.without(self._object(field, deeper[0]), deeper)
        return left if left["properties"] or left.get("additionalProperties") is not False else None

    def _object(self, field: Schema, bound: _Bound) -> Schema:
        """The one object that a field is, written out where the field refers to it."""
        node = field
        while isinstance(target := node.get("$ref"), str):
            beside = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
            named = cast(Schema, self._definitions[target.removeprefix(_DEFINITIONS)])
            node = {**named, **beside}  # beside a reference the subset has texts and nothing else
        if "anyOf" in node:
            raise self._wrong(bound, "has several forms, so that it may have no such field")
        if node.get("type") == "array" or "items" in node:
            raise self._wrong(bound, "is a list, whose items have no name")
        if node.get("type") != "object":
            raise self._wrong(bound, "is not an object, or may be something else instead")
        return node

    def _wrong(self, bound: _Bound, why: str) -> DefinitionError:
        steps = steps_of(bound.path)
        outer = ".".join(steps[: len(steps) - len(bound.steps)])
        return self._at.wrong(
            f"binds {bound.path!r}, and {outer!r} {why}", do=f"bind {outer!r} as a whole: the view gives all of it"
        )

    def _no_field(self, bound: _Bound, properties: Mapping[str, Json]) -> DefinitionError:
        steps = steps_of(bound.path)
        outer = steps[: len(steps) - len(bound.steps)]
        named = [".".join((*outer, name)) for name in properties]
        return self._at.wrong(
            f"binds {bound.path!r}, which the operation does not take",
            do=f"bind one of {', '.join(named) or '(no field)'}",
        )


def _is_bound_itself(inside: Collection[_Bound]) -> bool:
    return any(len(each.steps) == 1 for each in inside)


def _without_values(node: Schema, bound: Collection[_Bound]) -> Schema:
    """An object on the way to a bound field: its default says nothing of that field, and an example would show it."""
    default = node.get("default")
    rest = {keyword: value for keyword, value in node.items() if keyword not in {"default", "examples"}}
    if isinstance(default, dict):
        left = default
        for each in bound:
            left = _removed(left, each.steps)
        rest["default"] = left
    return rest


def _removed(value: Schema, steps: tuple[str, ...]) -> Schema:
    name, *rest = steps
    if not holds(value, ".".join(steps)):
        return value
    if not rest:
        return {key: each for key, each in value.items() if key != name}
    return {**value, name: _removed(cast(Schema, value[name]), tuple(rest))}


def without_unused_definitions(schema: Schema) -> Json:
    """The schema with the definitions that something in it refers to."""
    definitions = cast("dict[str, Json]", schema.get("$defs", {}))
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    used: set[str] = set()
    pending: list[Json] = [rest]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            target = node.get("$ref")
            name = target.removeprefix("#/$defs/") if isinstance(target, str) else None
            if name in definitions and name not in used:
                used.add(name)
                pending.append(definitions[name])
            pending.extend(node.values())
    kept = {name: value for name, value in definitions.items() if name in used}
    return take({**rest, "$defs": kept} if kept else rest)[0]


def field_schema(schema: Mapping[str, Json], name: str) -> dict[str, Json]:
    """The schema of one field, to be read alone: with the definitions it uses."""
    field = cast("dict[str, dict[str, Json]]", schema["properties"])[name]
    alone = {**field, "$defs": schema["$defs"]} if "$defs" in schema else dict(field)
    return cast("dict[str, Json]", without_unused_definitions(alone))
