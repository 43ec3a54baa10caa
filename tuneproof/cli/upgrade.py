"""``./lab upgrade``: what changes for a configuration with another version of nginx.

Reading the files needs no Docker; with ``--prove`` both versions run side by side in the lab.
"""

import argparse
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tuneproof.audit.render import render_upgrade
from tuneproof.audit.upgrade import Upgrade, as_document, upgrade
from tuneproof.cli import output
from tuneproof.cli.audit import write_patch
from tuneproof.cli.budget import bounded
from tuneproof.cli.output import in_users_folder, show, show_json
from tuneproof.conf.sources import Source, open_source
from tuneproof.errors import BadInputError, CannotRunHereError

REFUSED = 1
BROKEN = 2
_SEEDS: Final = 1 << 31
_ONLY_WITH_PROVE: Final = ("location", "host", "trust", "seed", "results")
DESCRIPTION = """\
Report what changes for a configuration between two versions of nginx: removed, ignored or deprecated directives,
different defaults, and advice that expires; each with the file and the line, and with a patch if the change is certain.
CONF is as for `audit`.

With --prove, both versions run side by side in the lab with these files, and the differences are reported: start-up,
warnings, status and headers of every location, upstream connections, memory, bytes per loop iteration, HTTP/2, TLS,
reloads.
"""
EPILOG = """\
examples:
  ./lab upgrade --from 1.26 --to 1.30 /etc/nginx
  ./lab upgrade --from 1.22 --to 1.30 --patch nginx.patch deploy/nginx
  ./lab upgrade --from 1.22 --to 1.30 --prove /etc/nginx
  ./lab upgrade --from 1.26 --to-image registry.example/nginx:next --prove /etc/nginx

exit status: 0 the new version starts with the configuration (as the files show, or with --prove, as a start shows);
1 it does not; 2 the configuration is unreadable or a template without values, or neither version would start with it.
"""


def main(arguments: Sequence[str]) -> int:
    """Print what changes; return the exit status, as above.

    BadInputError: The configuration cannot be read, or a version is invalid. CannotRunHereError: There is no checkout.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    proves = options.prove or options.old_image or options.new_image
    for name in () if proves else _ONLY_WITH_PROVE:
        if getattr(options, name) != parser.get_default(name):
            raise BadInputError(f"--{name} has no effect without --prove", remedy=f"add --prove, or leave out --{name}")
    with in_users_folder():
        source = open_source(options.configuration, prefix=options.prefix, values=output.template_values(options))
        if not proves:
            with bounded():
                found = upgrade(source, old=options.old, new=options.new)
            return _print(options, found)
    return _prove(options, source)


def _parser() -> argparse.ArgumentParser:
    parser = output.parser("upgrade", DESCRIPTION, EPILOG)
    output.add_configuration(parser)
    old = parser.add_mutually_exclusive_group(required=True)
    old.add_argument("--from", dest="old", metavar="VERSION", default="", help="current version")
    old.add_argument(
        "--from-image", dest="old_image", metavar="IMAGE", default="", help="or the image with the current version"
    )
    new = parser.add_mutually_exclusive_group(required=True)
    new.add_argument("--to", dest="new", metavar="VERSION", default="", help="new version")
    new.add_argument(
        "--to-image", dest="new_image", metavar="IMAGE", default="", help="or the image with the new version"
    )
    parser.add_argument(
        "--patch", type=Path, metavar="FILE", help="write the changes that the new version needs, for `git apply`"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    proof = parser.add_argument_group("in the lab")
    proof.add_argument("--prove", action="store_true", help="run both versions side by side (implied by an image)")
    proof.add_argument("--location", default="", metavar="PATH", help="path to request (default: one per location)")
    proof.add_argument("--host", default="", metavar="NAME", help="server name to request (default: all)")
    proof.add_argument("--trust", action="store_true", help="run them even if the lab's network is not isolated")
    proof.add_argument("--seed", type=int, default=None, help="seed of the random order (default: a new one, printed)")
    proof.add_argument(
        "--results",
        type=Path,
        default=Path("results"),
        metavar="FOLDER",
        help="folder for results, relative to the checkout (default: results)",
    )
    return parser


def _print(options: argparse.Namespace, found: Upgrade, *, proof: dict[str, Any] | None = None) -> int:
    """Print the changes that the files show; return the exit status."""
    if options.json:
        show_json(as_document(found) | ({} if proof is None else {"proof": proof}))
    else:
        show(render_upgrade(found, width=shutil.get_terminal_size().columns))
    if options.patch:
        write_patch(options.patch, found.patch(defaults=False), found.before)
    if found.before.facts.configuration.is_broken and found.after.facts.configuration.is_broken:
        return BROKEN
    return REFUSED if found.is_refused else 0


def _prove(options: argparse.Namespace, source: Source) -> int:
    """Print the changes that the files and a run of both versions show; return the exit status."""
    if output.program() != "./lab":
        raise CannotRunHereError(
            "--prove needs the images in a checkout",
            remedy="clone Tuneproof's repository, and use its ./lab instead",
        )
    # Imported here, since nothing else in this command needs Docker.
    from tuneproof.cli.upgrade_proof import prove  # noqa: PLC0415 - see above

    seed = secrets.randbelow(_SEEDS) if options.seed is None else options.seed
    if seed < 0:
        raise BadInputError(f"--seed {seed}: a seed is not negative", remedy="give any whole number from 0 up")

    def report(found: Upgrade) -> None:
        if not options.json:
            with in_users_folder():
                _print(options, found)

    proven = prove(options, source, seed=seed, report=report)
    if options.json:
        with in_users_folder():
            _print(options, proven.files, proof=proven.document)
    else:
        show(f"\n{proven.text}")
    return REFUSED if proven.is_refused else 0
