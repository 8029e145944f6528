"""Containment of two schemas: does everything one accepts pass the other too (SPEC 13.6)?"""

from collections.abc import Mapping
from enum import StrEnum

import jsonschema_rs

from remit._base.boundary import Json, canonical


class Containment(StrEnum):
    """An answer that only `YES` proves; whoever gates on it treats `UNKNOWN` like `NO`."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def covers(wider: Mapping[str, Json], narrower: Mapping[str, Json]) -> Containment:
    """Say whether every value that `narrower` accepts is accepted by `wider`.

    `NO` means some value was ruled out, `UNKNOWN` that it cannot be told: a pattern against another, a schema that is
    none. Annotations, defaults and descriptions play no part.
    """
    if canonical(dict(wider)) == canonical(dict(narrower)):
        return Containment.YES
    try:
        answer = _canonical_schema(wider).covers(_canonical_schema(narrower))
    except ValueError:
        return Containment.UNKNOWN
    return Containment(answer.value)


def _canonical_schema(schema: Mapping[str, Json]) -> jsonschema_rs.CanonicalSchema:
    return jsonschema_rs.canonicalize(
        dict(schema),
        draft=jsonschema_rs.Draft202012,
        validate_formats=True,
        pattern_options=jsonschema_rs.RegexOptions(),
    )
