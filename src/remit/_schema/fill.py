"""Defaults as a plan: computed once from a schema, applied once to a value (SPEC 3.6)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from remit._base.boundary import Json, canonical, loads
from remit._schema.judge import compile_schema

_Choice: TypeAlias = "tuple[Callable[[Json], bool], Plan]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where defaults are missing from a value: by property, in the items of a list, in the branch that fits."""

    defaults: Mapping[str, bytes] = field(default_factory=dict)
    properties: "Mapping[str, Plan]" = field(default_factory=dict)
    items: "Plan | None" = None
    reference: "Plan | None" = None
    choices: tuple[_Choice, ...] = ()


def plan_of(schema: Mapping[str, Json]) -> Plan | None:
    """Return the plan of a schema of the subset, or `None` if it has no default to fill in."""
    definitions = schema.get("$defs")
    return _Planner(definitions if isinstance(definitions, dict) else {}).plan(dict(schema))


def fill_in(plan: Plan, value: Json) -> Json:
    """Return `value` with what the plan adds; the same object if that is nothing, never a changed one."""
    if plan.reference is not None:
        value = fill_in(plan.reference, value)
    if isinstance(value, dict):
        value = _fill_object(plan, value)
    elif isinstance(value, list) and plan.items is not None:
        value = _fill_list(plan.items, value)
    for fits, branch in plan.choices:
        # The branches were tried in order when the value was judged; the first that fits is the one meant.
        if fits(value):
            return fill_in(branch, value)
    return value


def _fill_object(plan: Plan, value: dict[str, Json]) -> dict[str, Json]:
    changed: dict[str, Json] = {}
    for name, inner in plan.properties.items():
        if name in value:
            filled = fill_in(inner, value[name])
            if filled is not value[name]:
                changed[name] = filled
    for name, default in plan.defaults.items():
        if name not in value:
            changed[name] = loads(default)
    return {**value, **changed} if changed else value


def _fill_list(plan: Plan, value: list[Json]) -> list[Json]:
    filled = [fill_in(plan, item) for item in value]
    same = all(new is old for new, old in zip(filled, value, strict=True))
    return value if same else filled


class _Planner:
    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._definitions = definitions
        self._known: dict[str, Plan | None] = {}

    def plan(self, node: Json) -> Plan | None:
        if not isinstance(node, dict):
            return None
        defaults, properties = self._object(node)
        plan = Plan(
            defaults=defaults,
            properties=properties,
            items=self.plan(node.get("items")),
            reference=self._reference(node.get("$ref")),
            choices=self._choices(node.get("anyOf")),
        )
        return None if plan == Plan() else plan

    def _object(self, node: dict[str, Json]) -> tuple[dict[str, bytes], dict[str, Plan]]:
        defaults: dict[str, bytes] = {}
        plans: dict[str, Plan] = {}
        children = node.get("properties")
        for name, child in children.items() if isinstance(children, dict) else ():
            inner = self.plan(child)
            if inner is not None:
                plans[name] = inner
            if isinstance(child, dict) and "default" in child:
                default = child["default"]
                defaults[name] = canonical(default if inner is None else fill_in(inner, default))
        return defaults, plans

    def _reference(self, reference: Json) -> Plan | None:
        if not isinstance(reference, str):
            return None
        name = reference.removeprefix("#/$defs/")
        if name not in self._known:
            self._known[name] = None  # a recursive schema is outside the subset; it must not hang here all the same
            self._known[name] = self.plan(self._definitions.get(name))
        return self._known[name]

    def _choices(self, branches: Json) -> tuple[_Choice, ...]:
        if not isinstance(branches, list):
            return ()
        plans = [self.plan(branch) for branch in branches]
        if all(plan is None for plan in plans):
            return ()
        choices: list[_Choice] = []
        for branch, plan in zip(branches, plans, strict=True):
            judged: dict[str, Json] = dict(branch) if isinstance(branch, dict) else {}
            judged["$defs"] = dict(self._definitions)
            choices.append((compile_schema(judged).is_valid, plan or Plan()))
        return tuple(choices)
