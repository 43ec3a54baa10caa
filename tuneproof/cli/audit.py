"""``./lab audit``: what the proven advice comes to in a configuration of nginx. It needs neither nginx nor root."""

import argparse
import contextlib
import json
import shutil
from collections.abc import Sequence

from tuneproof.audit.auditing import NEWEST, audit
from tuneproof.audit.render import render
from tuneproof.cli.output import called_from, program, show

DESCRIPTION = """\
Say what advice comes to in a configuration of nginx: in effect, missing, without effect (and why), expired, harmful,
or cannot tell; with file and line, the recorded verdict, and a patch.

CONF is an nginx.conf (its includes are read), a folder such as /etc/nginx, what `nginx -T` printed, a fragment such as
a site's own file, or - for standard input.
"""
EPILOG = """\
examples:
  ./lab audit /etc/nginx
  ssh HOST nginx -T 2>/dev/null | ./lab audit -
  ./lab audit --json site.conf | jq .advice

exit status: 0 it was read, whatever was found; 2 it cannot be read, or is a template.
"""


def main(arguments: Sequence[str]) -> int:
    """Audit the configuration that is named.

    Returns:
        0.

    Raises:
        BadInputError: It cannot be read, or is a template.
    """
    parser = argparse.ArgumentParser(
        prog=f"{program()} audit",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("configuration", metavar="CONF", help="a file, a folder, or - for standard input")
    parser.add_argument(
        "--nginx", default=NEWEST, metavar="VERSION", help="the version that it is for (default: %(default)s)"
    )
    parser.add_argument(
        "--prefix", default="", metavar="FOLDER", help="where nginx.conf's folder is on its own machine: /etc/nginx"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, as in tuneproof/audit/schema.json")
    parser.add_argument("--details", action="store_true", help="tell in full what needs no action, too")
    options = parser.parse_args(arguments)
    # There, so that files are called what they are called there, in patches as well.
    with contextlib.chdir(called_from()):
        found = audit(options.configuration, version=options.nginx, prefix=options.prefix)
    if options.json:
        from tuneproof.audit.document import document  # noqa: PLC0415 - brings jsonschema: a fifth of every start

        show(json.dumps(document(found), indent=2))
    else:
        show(render(found, width=shutil.get_terminal_size().columns, details=options.details))
    return 0
