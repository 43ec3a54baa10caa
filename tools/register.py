"""Write what decides each claim to the registration file: ``python -m tools.register``.

A claim with changed declared data is registered as of today; earlier measurements are no longer shown with it. If it
still decides the same, ``--same CLAIM`` (as ``scenario/claim``, repeatable; or ``--same all``) keeps the date, and git
records who decided that. If only code has changed, its author must decide: raise the claim's revision in
``tuneproof/catalogue/revisions.toml`` if the code does something else, or use ``--same``.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from tuneproof.catalogue import every_advice
from tuneproof.catalogue.registration import REGISTERED, Registration, fingerprints, registered


def main(arguments: Sequence[str]) -> int:
    """Write the file again, and print what has changed.

    Returns: 0; 1 if changed code has neither a new revision nor ``--same``, so that its claims keep their entries.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--same", action="append", default=[], metavar="CLAIM", help="this claim decides the same as before"
    )
    same = set(parser.parse_args(arguments).same)
    before = registered() if REGISTERED.exists() else {}
    today = datetime.now(UTC).date().isoformat()  # noqa: TID251 - a date
    entries = {}
    unsaid = []
    for advice in every_advice():
        for name, found in fingerprints(advice).items():
            old = before.get(name)
            is_same = bool({name, "all"} & same)
            if old is not None and old.hash == found.hash and old.code != found.code and not is_same:
                unsaid.append(name)
                entries[name] = old
                continue
            since = old.since if old is not None and (old.hash == found.hash or is_same) else today
            entries[name] = Registration(hash=found.hash, code=found.code, since=since)
            if old is None or old.hash != found.hash:
                sys.stdout.write(f"{name}: {'new' if old is None else 'changed'}, registered since {since}\n")
    document = {name: asdict(entry) for name, entry in sorted(entries.items())}
    REGISTERED.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for name in unsaid:
        sys.stdout.write(f"{name}: its code has changed; raise its revision, or add --same {name}\n")
    return 1 if unsaid else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
