"""Values that are neither shown nor kept: what stands in their place (SPEC 7.2)."""

from collections.abc import Collection, Mapping
from typing import Final

from remit._base.boundary import Json

MASK: Final = "withheld"


def masked(input: Mapping[str, Json], names: Collection[str]) -> dict[str, Json]:
    """An input with a fixed word in the place of each of these fields: not even the size of a value is told."""
    return {name: MASK if name in names else value for name, value in input.items()}
