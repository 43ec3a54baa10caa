"""``python -m tests.bench`` measures the costs of the recorder and of commands.

``--only NAME`` measures one of them; ``--times N`` sets how often each command runs.
"""

import argparse
import sys
from typing import Final

from tests.bench.runs import COMMANDS, measure_command
from tests.bench.turns import measure_turns

_TURNS: Final = "turns"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of each command (default: 3)")
    parts = (_TURNS, *COMMANDS)
    parser.add_argument(
        "--only", choices=parts, action="append", help="measure only this part; repeatable (default: all)"
    )
    asked = parser.parse_args()
    for name in asked.only or parts:
        for line in measure_turns() if name == _TURNS else measure_command(name, asked.times):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
