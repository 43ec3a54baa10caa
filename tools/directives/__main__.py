"""`python -m tools.directives NGINX DOCUMENTATION` writes the tables of nginx's directives and variables."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.directives.history import Span, spans
from tools.directives.modules import Declared, declared
from tools.directives.rows import Row, Sources, rows
from tools.directives.sources import Repository
from tools.directives.variables import KINDS, variables
from tuneproof.conf import directives
from tuneproof.wording import as_numbers

TABLE: Final = Path(directives.__file__).with_suffix(".tsv")
VARIABLES: Final = TABLE.with_name("variables.tsv")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both tables."""
    parser = argparse.ArgumentParser(prog="tools.directives", description=__doc__)
    parser.add_argument("nginx", type=Path, help="a checkout or git directory of nginx, with tags for its releases")
    parser.add_argument(
        "documentation",
        type=Path,
        help="a checkout or git directory of nginx.org, which names other modules' directives",
    )
    parser.add_argument(
        "--unreleased",
        default="",
        metavar="REVISION",
        help="a revision that counts as the version in its src/core/nginx.h",
    )
    parser.add_argument("--output", type=Path, default=TABLE, help="(default: %(default)s)")
    chosen = parser.parse_args(arguments)
    repository = Repository(chosen.nginx)
    parsed: dict[str, Declared] = {}
    by_version: dict[str, list[Row]] = {}
    for version, revision in repository.versions(unreleased=chosen.unreleased).items():
        blobs = list(repository.blobs(revision))
        for blob in blobs:
            if blob not in parsed:
                parsed[blob] = declared(repository.text(blob))
        by_version[version] = list(rows(Sources(parsed[blob] for blob in blobs), version))
    documentation = Repository(chosen.documentation)
    names = {pair for blob in parsed for pair in variables(repository.text(blob))}
    names |= {(kind, name) for kind in KINDS for name in documentation.documented_variables(kind)}
    listed = "".join(f"{kind}\t{name}\n" for kind, name in sorted(names))
    chosen.output.with_name(VARIABLES.name).write_text(listed, encoding="utf-8")
    found = sorted(spans(by_version), key=_place)
    own = {span.row.name for span in found}
    others = sorted(set(documentation.documented()) - own)
    lines = [list(by_version)[-1], "\t".join(directives.COLUMNS), *map(_line, found), *others]
    chosen.output.write_text("\n".join([*lines, ""]), encoding="utf-8")
    sys.stdout.write(f"{chosen.output}: {len(found)} rows from {len(by_version)} versions, {len(others)} other names\n")
    return 0


def _place(span: Span) -> tuple[str, str, tuple[int, ...]]:
    return span.row.name, span.row.module, as_numbers(span.since or "0")


def _line(span: Span) -> str:
    row = span.row
    cells = (row.name, row.module, ",".join(row.contexts), row.arguments, row.kind, row.inheritance, row.default)
    return "\t".join((*cells, span.since, span.until))


if __name__ == "__main__":
    raise SystemExit(main())
