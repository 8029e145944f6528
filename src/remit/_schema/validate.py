"""The judge of values, the issues it names, and the defaults it fills in (SPEC 3.6, 6.12, 8.3)."""

from collections.abc import Callable, Mapping
from typing import Final

from remit._base.boundary import Json
from remit._schema.fill import Plan, fill_in, plan_of
from remit._schema.issues import issues_of
from remit._schema.judge import compile_schema
from remit._schema.repair import Repair, repair
from remit.errors import DefinitionCode, DefinitionError, Issue

_VALUE: Final = "schema"


class Validator:
    """A schema of the subset, compiled once: `is_valid` judges, `issues` explains, `fill` completes.

    Values must have come through the boundary; a foreign one (a tuple, a set, a cycle) is not recognised here.
    A schema that cannot be compiled, or whose pattern is not linear, is a `DefinitionError(UNSUPPORTED_SCHEMA)`.
    """

    __slots__ = ("_engine", "_plan", "_schema", "is_valid")

    is_valid: Callable[[Json], bool]
    """Say whether a value is valid, at the speed of the compiled engine."""

    def __init__(self, schema: Mapping[str, Json], *, subject: str = _VALUE) -> None:
        try:
            self._engine = compile_schema(schema)
        except ValueError as problem:
            raise DefinitionError(
                DefinitionCode.UNSUPPORTED_SCHEMA,
                subject,
                "the schema cannot be compiled",
                do="write JSON Schema 2020-12 with patterns that match in linear time",
            ) from problem
        self._schema = dict(schema)
        self._plan: Plan | None = plan_of(self._schema)
        self.is_valid = self._engine.is_valid

    def issues(self, value: Json, *, beside: tuple[str, ...] = ()) -> tuple[Issue, ...]:
        """Name what is wrong, at most 20 problems: field, rule and allowed values, never the value; empty if valid.

        `beside` are keys that whoever sent the value may send and that were taken out of it: they are named with those
        of the schema where a key is unknown.
        """
        schema = self._schema
        if beside:
            own = schema.get("properties")
            schema = {**schema, "properties": {**dict.fromkeys(beside, True), **(own if isinstance(own, dict) else {})}}
        return issues_of(self._engine, schema, value)

    def repair(self, value: Json, most: int) -> tuple[Json, tuple[Repair, ...]]:
        """Return an invalid value repaired, and what was done; the same value and () unless that makes it valid.

        The table is that of `_schema.repair`; at most `most` places are repaired, 0 repairs nothing (SPEC 6.12). What
        changes is copied.
        """
        if most < 1 or self.is_valid(value):
            return value, ()
        repaired, done = repair(self._schema, value, most)
        return (repaired, done) if done and self.is_valid(repaired) else (value, ())

    def fill(self, value: Json) -> Json:
        """Return a valid value with its missing defaults, nested ones too.

        The same object comes back if nothing is missing; else what changes is copied, and the given value stays as it
        is. Each call gets fresh copies of the defaults.
        """
        return value if self._plan is None else fill_in(self._plan, value)
