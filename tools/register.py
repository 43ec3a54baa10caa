"""Enter into the registration file what decides each claim: ``python -m tools.register``.

A claim that has moved stands since today; what was measured before is not shown beside it any more. Where only its code
was rewritten and the same is decided as before, ``--same CLAIM`` (as ``scenario/claim``, repeatable; or ``--same all``)
keeps the date: git has who said so.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from tuneproof.catalogue import every_advice
from tuneproof.catalogue.registration import REGISTERED, fingerprints, registered


def main(arguments: Sequence[str]) -> int:
    """Write the file anew and say what moved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--same", action="append", default=[], metavar="CLAIM", help="decides the same as before")
    same = set(parser.parse_args(arguments).same)
    before = registered() if REGISTERED.exists() else {}
    today = datetime.now(UTC).date().isoformat()
    entries = {}
    for advice in every_advice():
        for name, found in fingerprints(advice).items():
            old = before.get(name)
            since = old.since if old is not None and (old.hash == found or {name, "all"} & same) else today
            entries[name] = {"hash": found, "since": since}
            if old is None or old.hash != found:
                sys.stdout.write(f"{name}: {'new' if old is None else 'moved'}, stands since {since}\n")
    REGISTERED.write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
