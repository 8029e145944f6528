"""The command line: `remit compile`, `remit inspect`, `remit check` (SPEC 13.1)."""

from remit.cli.entry import main

__all__ = ["main"]
