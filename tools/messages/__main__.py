"""``python -m tools.messages``: write docs/error-log.md; with --source, compare the rows to nginx's source."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.messages.coverage import missing
from tools.messages.page import page, verdicts_of
from tools.messages.source import written
from tuneproof.cli.output import say

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "docs" / "results.json"
PAGE: Final = ROOT / "docs" / "error-log.md"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or compare with a source; return 1 if it has messages with neither a row nor a reason."""
    parser = argparse.ArgumentParser(prog="python -m tools.messages", description=__doc__)
    parser.add_argument("--source", type=Path, help="the folder with nginx's source, which contains src/")
    options = parser.parse_args(arguments)
    if options.source is None:
        PAGE.write_text(page(verdicts_of(json.loads(RESULTS.read_text(encoding="utf-8"))["cells"])), encoding="utf-8")
        return 0
    left = list(missing(written(options.source)))
    for message in left:
        say(f"{message.file}: [{message.level}] {message.format}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
