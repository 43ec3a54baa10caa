"""``./lab upgrade``: what of a configuration means something else on another version of nginx. It needs no Docker."""

import contextlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from tuneproof.audit.render import render_upgrade
from tuneproof.audit.sources import open_source
from tuneproof.audit.upgrade import as_document, upgrade
from tuneproof.cli import output
from tuneproof.cli.output import called_from, say, show

REFUSED = 1
BROKEN = 2
DESCRIPTION = """\
Say what changes for a configuration between two versions of nginx: directives that are gone, ignored or deprecated,
defaults that moved, advice that expires; with file, line and patch. CONF is what `audit` takes.
"""
EPILOG = """\
examples:
  ./lab upgrade --from 1.26 --to 1.30 /etc/nginx
  ./lab upgrade --from 1.22 --to 1.30 --patch nginx.patch deploy/nginx

exit status: 0 the new version starts with it, as far as files tell; 1 it does not; 2 it cannot be read, is a template,
or neither version would start with it.
"""


def main(arguments: Sequence[str]) -> int:
    """Print what changes; return the exit status, as above.

    BadInputError: The configuration cannot be read, or a version is none.
    """
    parser = output.parser("upgrade", DESCRIPTION, EPILOG)
    output.add_configuration(parser)
    parser.add_argument("--from", dest="old", required=True, metavar="VERSION", help="the version that runs now")
    parser.add_argument("--to", dest="new", required=True, metavar="VERSION", help="the version that will")
    parser.add_argument("--patch", type=Path, metavar="FILE", help="write what the new version wants, for `git apply`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    with contextlib.chdir(called_from()):
        found = upgrade(open_source(options.configuration, prefix=options.prefix), old=options.old, new=options.new)
        if options.json:
            show(json.dumps(as_document(found), indent=2))
        else:
            show(render_upgrade(found, width=shutil.get_terminal_size().columns))
        if options.patch:
            patch = found.patch(defaults=False)
            if patch:
                options.patch.write_text(patch, encoding="utf-8", newline="")
            say(f"written to {options.patch}" if patch else "nothing to patch")
    if found.before.facts.configuration.is_broken:
        return BROKEN
    return REFUSED if found.is_refused else 0
