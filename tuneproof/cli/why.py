"""``./lab why``: what is known about a directive, a claim or an error message."""

from collections.abc import Sequence

from tuneproof.audit.why import why
from tuneproof.cli import output
from tuneproof.cli.output import show

DESCRIPTION = """\
Print what is known about a directive, a scenario or a claim: keep, change or remove it; the verdict on each version of
nginx that was measured; and the page with the details.
"""
EPILOG = """\
examples:
  ./lab why multi_accept
  ./lab why keepalive_timeout
  ./lab why small_rmem_restores_loop
"""


def main(arguments: Sequence[str]) -> int:
    """Print what is known by a name; return the exit status 0.

    BadInputError: Nothing is known by that name.
    """
    parser = output.parser("why", DESCRIPTION, EPILOG)
    parser.add_argument("word", nargs="+", metavar="WORD", help="a directive, a scenario, or a claim")
    show(why(" ".join(parser.parse_args(arguments).word)))
    return 0
