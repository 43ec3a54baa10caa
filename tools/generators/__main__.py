"""``python -m tools.generators [--measure]``: write docs/generators/ from its descriptions."""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from tools.docs.__main__ import without_paths, write_json
from tools.generators.described import FOLDER, Generator, every_generator
from tools.generators.page import write
from tuneproof.cli.output import say
from tuneproof.report.results.run_file import load

ROOT: Final = FOLDER.parents[1]
LATEST: Final = ROOT / "results" / "latest"


def main(arguments: Sequence[str]) -> int:
    """Write the configurations and the pages; measure first if asked."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.generators", description="Write docs/generators/ from its descriptions."
    )
    parser.add_argument("--measure", action="store_true", help="run each configuration in the lab first")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these generators, such as h5bp")
    options = parser.parse_args(arguments)
    for generator in every_generator():
        if options.names and generator.slug not in options.names:
            continue
        write(generator)
        if options.measure:
            _measure(generator)
            write(generator)
        say(f"written: docs/generators/{generator.slug}.md")
    return 0


def _measure(generator: Generator) -> None:
    command = [str(ROOT / "lab"), "run", "--nginx-conf", str(generator.file.relative_to(ROOT))]
    subprocess.run([*command, "--nginx", generator.nginx], cwd=ROOT, check=True)
    write_json(generator.results, without_paths(load(LATEST)).to_json())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
