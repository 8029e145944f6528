"""Which classes of change fail a gate: `--fail-on widening,breaking` (SPEC 13.6)."""

from typing import Final

import click

from remit.compiler import Drift

DEFAULT: Final = "widening,breaking"


class _Classes(click.ParamType[frozenset[Drift]]):
    """`all`, `none`, or classes with commas between them."""

    name = "CLASSES"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[Drift]:
        """Read the words; an unknown one is a usage error that lists the known ones."""
        words = [word.strip().lower() for word in str(value).split(",")]
        if words == ["all"]:
            return frozenset(Drift)
        if words == ["none"]:
            return frozenset()
        if alone := [word for word in words if word in ("all", "none")]:
            self.fail(f"all and none stand alone; {alone[0]!r} stands beside others", param, ctx)
        known = [each.value for each in Drift]
        if unknown := [word for word in words if word not in known]:
            self.fail(f"there is no class {unknown[0]!r}; use all, none, or some of {', '.join(known)}", param, ctx)
        return frozenset(Drift(word) for word in words)


fail_on_option = click.option(
    "--fail-on",
    "fails",
    type=_Classes(),
    default=DEFAULT,
    show_default=True,
    help="What fails besides a contract that does not equal the source: classes with commas, all, or none.",
)
