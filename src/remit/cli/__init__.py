"""The command line: `remit compile`, `inspect`, `check` and `diff` (SPEC 13.1).

Exit codes: 0 clean, 1 findings, 2 could not run.
"""

import click

from remit.cli.check import check
from remit.cli.compile import compile_
from remit.cli.diff import diff
from remit.cli.inspect import inspect


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="remit", prog_name="remit", message="%(prog)s %(version)s")
def main() -> None:
    """Compile, read and check what a program lets agents see and do."""


main.add_command(check)
main.add_command(compile_)
main.add_command(diff)
main.add_command(inspect)
