"""``./lab upgrade --prove``: both versions side by side in the lab."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

import docker

from tuneproof.audit.auditing import version_of
from tuneproof.audit.upgrade import Upgrade, upgrade
from tuneproof.cli.output import in_users_folder, say
from tuneproof.conf.sources import Source
from tuneproof.errors import BadInputError
from tuneproof.lab.engine.daemon import ensure_engine
from tuneproof.lab.engine.own_image import OwnImage, look_at
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.subject.versions import MAINLINE, SUITES
from tuneproof.report.html import write_report
from tuneproof.report.results.run_file import ResultsWriter, load
from tuneproof.report.terminal.progress import ProgressLine
from tuneproof.wording import count
from tuneproof.yours.compared import reported
from tuneproof.yours.grounds import Grounds, grounds
from tuneproof.yours.proposal import DEFAULT_MAIN, Prepared, Wanted, prepare
from tuneproof.yours.routes import probes_of
from tuneproof.yours.two_versions import ROUNDS, Compared, Side, compare

_TIMEOUT_S: Final = 600


@dataclass(frozen=True, kw_only=True)
class Proven:
    """The outcome of running both versions."""

    files: Upgrade  # the changes found by reading the files
    text: str  # the report on the run
    document: dict[str, Any]
    is_refused: bool  # whether the new version does not start


@dataclass(frozen=True, kw_only=True)
class _Requested:
    """One of the two versions, as requested."""

    version: str
    image: str  # name of the image; empty for the project's own
    prepared: Prepared

    def side(self, here: Grounds) -> Side:
        return Side(
            version=self.version,
            image=self.image or here.subjects[self.version],
            prepared=self.prepared,
            # A mainline worker would have to be traced, and its reads would differ from those of an untraced worker.
            records_turns=not self.image and self.version != MAINLINE,
        )


def prove(options: argparse.Namespace, source: Source, *, seed: int, report: Callable[[Upgrade], None]) -> Proven:
    """Run both versions; ``report`` is called with the changes that the files show, before a version starts.

    Raises:
        BadInputError: A version or an image is not available, or the configuration cannot be started.
        TuneproofError: The lab failed.
    """
    old_version, new_version = _version(options.old, "--from"), _version(options.new, "--to")
    ensure_engine(report=say)
    # SIGTERM then ends the run as Ctrl-C does, without leftovers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(connect(timeout_s=_TIMEOUT_S)) as client:
        with in_users_folder():
            old = _requested(
                options, source, client, version=old_version, image=options.old_image, option="--from-image"
            )
            new = _requested(options, source, client, version=new_version, image=options.new_image, option="--to-image")
            files = upgrade(source, old=old.version, new=new.version)
        probes = probes_of(old.prepared.facts, location=options.location, host=options.host)
        report(files)
        began_s = time.monotonic()
        progress = ProgressLine(sys.stderr, interactive=sys.stderr.isatty())
        packages = {one.version: one.prepared.packages for one in (old, new) if not one.image}
        with grounds(client, packages=packages, report=say, trusts=options.trust) as here:
            writer = ResultsWriter.create(options.results, host=here.host, seed=seed, options=_recorded(options))
            try:
                found = compare(
                    old.side(here), new.side(here), probes, here, seed=seed, writer=writer, report=progress.update
                )
            finally:
                progress.close()
            writer.finish(time.monotonic() - began_s)
    if all(found.refused):
        raise BadInputError(
            "neither version starts with these files in the lab",
            remedy="read nginx's message; for further modules, name images that have them (--from-image, --to-image)",
            tail=found.refused[1],
        )
    page = write_report(load(writer.path), writer.folder)
    found = replace(found, shallow={} if any(found.refused) else old.prepared.left_out)
    lines = [*_head(found, old.version, new.version, seed), *_additions(old)]
    lines += [f"results: {writer.path}", f"report: {page}"]
    return Proven(
        files=files, text="\n".join(lines), document=_document(found, seed), is_refused=bool(found.refused[1])
    )


def _version(written: str, option: str) -> str:
    """Return a version of the lab; empty if an image has the version. BadInputError: The lab lacks it."""
    version = version_of(written, option=option) if written else ""
    if version and version not in SUITES:
        raise BadInputError(
            f"{option} {written} --prove: the lab has {', '.join(SUITES)}",
            remedy=f"use {option}-image IMAGE for others",
        )
    return version


def _requested(
    options: argparse.Namespace, source: Source, client: docker.DockerClient, *, version: str, image: str, option: str
) -> _Requested:
    own = look_at(client, image, option=option) if image else OwnImage(version=version, main=DEFAULT_MAIN)
    wanted = Wanted(
        configuration=options.configuration,
        version=own.version,
        image=image,
        image_option=option,
        main=own.main,
        host=options.host,
    )
    return _Requested(version=own.version, image=image, prepared=prepare(wanted, source))


def _recorded(options: argparse.Namespace) -> dict[str, Any]:
    named = ("old", "old_image", "new", "new_image", "configuration", "location", "host")
    return {"upgrade": {name: getattr(options, name) for name in named if getattr(options, name)}}


def _head(found: Compared, old: str, new: str, seed: int) -> list[str]:
    title = f"nginx {old} and {new} side by side on these files"
    if any(found.refused):
        which, words = next((v, w) for v, w in zip((old, new), found.refused, strict=True) if w)
        starts = "yes -> no" if found.refused[1] else "no -> yes"
        return [
            f"{title}: one version does not start, so nothing else was compared",
            "",
            f"starts: {starts}",
            f"  {which}: {words.strip()}",
            "",
        ]
    number = len(found.comparisons)
    compared = f"{title}: {count(number, 'comparison')} in {ROUNDS} rounds, --seed {seed}"
    differences = list(reported(found.comparisons)) or [f"no difference found in {count(number, 'comparison')}"]
    void = [f"a comparison at {where} was not possible: {why}" for where, why in found.void.items()]
    left = [f"  {where}: {why}" for where, why in found.shallow.items()]
    title = "Upstream connections, caches and slow readers were not compared at:"
    return [compared, "", *differences, "", *void, *([title, *left, ""] if left else [])]


def _additions(one: _Requested) -> list[str]:
    return ["Added for the lab:", *(f"  {line}" for line in one.prepared.notes), ""] if one.prepared.notes else []


def _document(found: Compared, seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "rounds": ROUNDS,
        "starts": [not words for words in found.refused],
        "comparisons": len(found.comparisons),
        "differences": [
            {"at": one.at, "what": one.what, "before": one.before, "after": one.after}
            for one in found.comparisons
            if one.differs
        ],
        "not_compared": {**found.shallow, **found.void},
    }
