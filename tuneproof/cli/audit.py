"""``./lab audit``: check an nginx configuration against measured advice. Needs neither nginx nor root."""

import argparse
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tuneproof.audit.auditing import Audit, audit
from tuneproof.audit.findings import (
    Finding,
    annotations,
    baseline_text,
    findings,
    read_baseline,
    sarif,
    states_of,
    without_old,
)
from tuneproof.audit.render import render
from tuneproof.cli import output
from tuneproof.cli.budget import bounded
from tuneproof.cli.output import in_users_folder, say, show, show_json
from tuneproof.conf.sources import INPUT_NAME
from tuneproof.errors import BadInputError
from tuneproof.user_files import read_text, write_text
from tuneproof.wording import count

FOUND: Final = 1
BROKEN: Final = 2
_TEXT: Final = "text"
DESCRIPTION = """\
Check an nginx configuration against measured advice. Each finding names the file and the line, with the measured result
or nginx's documentation, and with a patch if the change is certain. The states are: harmful, without effect, missing
(shown as "consider"), expired, cannot tell ("depends"), in effect.

CONF is an nginx.conf (includes are followed), a folder such as /etc/nginx, the output of `nginx -T`, a fragment such as
a site's file, or - for standard input.
"""
EPILOG = """\
examples:
  ./lab audit /etc/nginx
  ssh HOST nginx -T 2>/dev/null | ./lab audit -
  ./lab audit --patch nginx.patch deploy/nginx
  ./lab audit --fail-on harmful,without-effect --format github deploy/nginx      in CI, see docs/ci.md

exit status: 0 the configuration was read; 1 a finding that is not in the baseline has a state listed in --fail-on;
2 the configuration is unreadable or a template without values, or nginx would not start with it.
"""


def main(arguments: Sequence[str]) -> int:
    """Audit the given configuration; return the exit status, as above.

    BadInputError: An option is wrong, or the files are unreadable, lack values of a template, or take too long.
    """
    options = _parser().parse_args(arguments)
    with in_users_folder(), bounded():
        return _audit(options)


def _parser() -> argparse.ArgumentParser:
    parser = output.parser("audit", DESCRIPTION, EPILOG)
    output.add_configuration(parser)
    parser.add_argument(
        "--nginx",
        metavar="VERSION",
        help="your version of nginx (default: the installed one, or all lab versions that know the directives)",
    )
    parser.add_argument("--details", action="store_true", help="also show passing checks in full")
    parser.add_argument(
        "--patch", type=Path, metavar="FILE", help="write all changes to FILE as one patch for `git apply`"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--format",
        choices=(_TEXT, "json", "sarif", "github"),
        default=_TEXT,
        help="output: text; JSON (tuneproof/audit/schema.json); SARIF; GitHub annotations (default: %(default)s)",
    )
    form.add_argument("--json", action="store_const", dest="format", const="json", help="same as --format json")
    gate = parser.add_argument_group("in CI")
    gate.add_argument(
        "--fail-on",
        default="",
        metavar="STATES",
        help="exit with 1 if a finding has one of these states, such as harmful,without-effect",
    )
    gate.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="do not report the known findings in this file, and do not fail because of them",
    )
    gate.add_argument("--write-baseline", type=Path, metavar="FILE", help="write the current findings as a baseline")
    return parser


def _audit(options: argparse.Namespace) -> int:
    fails_on = states_of(options.fail_on) if options.fail_on else frozenset()
    known = read_baseline(_read(options.baseline), name=str(options.baseline)) if options.baseline else None
    audited = audit(
        options.configuration,
        version=options.nginx,
        prefix=options.prefix,
        values=output.template_values(options),
    )
    found = findings(audited, known)
    if options.format == _TEXT:
        new = without_old(audited, found)
        show(render(new, width=shutil.get_terminal_size().columns, details=options.details, patches=not options.patch))
        if old := sum(not one.is_new for one in found):
            show(f"\n{count(old, 'more finding')} in {options.baseline}.")
    else:
        _show_as(options.format, audited, found, has_baseline=known is not None)
    if options.patch:
        write_patch(options.patch, audited.whole_patch(), audited)
    if options.write_baseline:
        write_text(options.write_baseline, baseline_text(found), inputs=audited.facts.configuration.texts)
        say(f"{count(len(found), 'finding')} written to {options.write_baseline}")
    if audited.facts.configuration.is_broken:
        return BROKEN
    return FOUND if any(one.is_new and one.state in fails_on for one in found) else 0


def _show_as(form: str, audited: Audit, found: Sequence[Finding], *, has_baseline: bool) -> None:
    from tuneproof.audit.document import document  # noqa: PLC0415 - imports jsonschema, which takes a fifth of the time to start

    here = Path.cwd()
    if form == "json":
        show_json(document(audited))
    elif form == "sarif":
        show_json(sarif(audited, found, has_baseline=has_baseline, below=here))
    else:
        for line in annotations(audited, found, below=here):
            show(line, styled=True)


def write_patch(file: Path, patch: str, audited: Audit) -> None:
    """Write a patch for the audited files, and print the command that applies it.

    BadInputError: It cannot be written.
    """
    if not patch:
        say("nothing to patch")
        return
    write_text(file, patch, inputs=audited.facts.configuration.texts)
    if INPUT_NAME in audited.facts.configuration.texts:
        say(f"to apply it: patch FILE < {shlex.quote(str(file))}")
        return
    folder = audited.patched_from
    command = (
        ["git", "-C", folder, "apply", os.path.normpath(file.absolute())] if folder else ["git", "apply", str(file)]
    )
    say(f"to apply it: {shlex.join(command)}")


def _read(file: Path) -> str:
    try:
        return read_text(file)
    except OSError as error:
        raise BadInputError(
            f"{file} cannot be read: {error.strerror}", remedy=f"create it with --write-baseline {file}"
        ) from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from error
