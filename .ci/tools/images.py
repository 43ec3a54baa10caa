# ruff: noqa: INP001 - a script, not a package
"""Builds every image that this checkout can ask for, and prints their names: what CI keeps from one job to the next.

From the checkout: ``PYTHONPATH=. .venv/bin/python .ci/tools/images.py [NGINX]...``; versions of nginx leave the others
out. An engine that is missing is set up as for ``./lab run``. Names on stdout, one per line; progress on stderr.
"""

import contextlib
import sys
from collections.abc import Sequence

from tuneproof.cli.output import say, show
from tuneproof.errors import TuneproofError
from tuneproof.lab.engine.daemon import ensure_engine
from tuneproof.lab.engine.images import IMAGES_FOLDER, ImageSpec, ensure_images
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.subject.images import ROLES_SUITE, subject_images
from tuneproof.lab.subject.versions import SUITES, choose_versions

SUBJECT = "subject"
TIMEOUT_S = 600  # installing a package keeps one call of the engine waiting


def specs(versions: Sequence[str]) -> list[ImageSpec]:
    """Return the subject once per nginx version, and each other image once."""
    others = sorted({path.parent.name for path in IMAGES_FOLDER.glob("*/Dockerfile")} - {SUBJECT})
    return [
        *subject_images(versions).values(),
        *(ImageSpec(name=name, suite=ROLES_SUITE) for name in others),
    ]


def main(versions: Sequence[str]) -> int:
    """Build what is missing.

    Args:
        versions: nginx versions of the subject; none: all.

    Returns:
        0; another status after a message where no engine answers, or an image cannot be built.
    """
    try:
        wanted = specs(choose_versions(versions) if versions else tuple(SUITES))
        ensure_engine(report=say)
        with contextlib.closing(connect(timeout_s=TIMEOUT_S)) as client:
            ensure_images(client, wanted, report=say)
    except TuneproofError as error:
        say(str(error))
        return error.exit_status
    show("\n".join(spec.tag for spec in wanted))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
