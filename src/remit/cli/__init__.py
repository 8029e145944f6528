"""The command line: `remit compile`, `inspect`, `catalogue`, `check`, `conformance`, `diff`, and so on (SPEC 13).

Exit codes: 0 clean, 1 findings, 2 could not run.
"""

import os

import click

from remit.cli.catalogue import catalogue
from remit.cli.check import check
from remit.cli.compile import compile_
from remit.cli.conformance import conformance
from remit.cli.derive import derive
from remit.cli.dev import dev
from remit.cli.diff import diff
from remit.cli.doctor import doctor
from remit.cli.init import init
from remit.cli.inspect import inspect
from remit.cli.keys import keys
from remit.cli.migrate import migrate


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="remit", prog_name="remit", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Compile, read and check what a program lets agents see and do.

    Exit codes: 0 clean, 1 findings, 2 could not run. Colour only repeats a word; NO_COLOR, or a pipe, turns it off.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False


main.add_command(catalogue)
main.add_command(check)
main.add_command(compile_)
main.add_command(conformance)
main.add_command(derive)
main.add_command(dev)
main.add_command(diff)
main.add_command(doctor)
main.add_command(init)
main.add_command(inspect)
main.add_command(keys)
main.add_command(migrate)
