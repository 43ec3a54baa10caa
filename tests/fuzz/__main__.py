"""``python -m tests.fuzz``: libFuzzer (atheris) mutates inputs that reach new code.

It begins with the seeds; pcap, pcapng and explain also get the files in tests/captures. Each parser runs in a separate
process, since libFuzzer ends its process. Failing inputs are written to a folder; ``--only FILE`` repeats one of them.
"""

import argparse
import gzip
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_CAPTURES: Final = Path("tests/captures")
_OF_CAPTURES: Final = frozenset({"pcap", "pcapng", "explain"})
_MOST_BYTES: Final = 16_384
_MEMORY_MIB: Final = 1024
_HANG_S: Final = 120  # wall-clock time, so this is generous: it is for inputs that never end


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help="names in tests/fuzz/parsers.py; default: all")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="per parser; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="libFuzzer's seed; default: %(default)s")
    kept = Path(tempfile.gettempdir(), "tuneproof-fuzz")
    parser.add_argument(
        "--keep", type=Path, default=kept, metavar="FOLDER", help="folder for failing inputs; default: %(default)s"
    )
    parser.add_argument("--only", type=Path, metavar="FILE", help="only this input")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.inside:
        _fuzz(chosen.parsers[0], chosen)
    from tests.fuzz.parsers import READERS  # noqa: PLC0415 - atheris must instrument this import

    if unknown := set(chosen.parsers) - READERS.keys():
        parser.error(f"no such parser: {', '.join(sorted(unknown))}")
    failed = []
    for name in chosen.parsers or READERS:
        command = [sys.executable, "-m", "tests.fuzz", "--inside", name, *_passed_on(chosen)]
        ran = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True, errors="replace")
        if ran.returncode:
            failed.append(name)
        shown = [line for line in ran.stderr.splitlines() if line.startswith("Done ") or ran.returncode]
        sys.stdout.write("\n  ".join([f"{name}: {'failed' if ran.returncode else 'no failure'}", *shown[-40:]]) + "\n")
        sys.stdout.flush()
    return int(bool(failed))


def _passed_on(chosen: argparse.Namespace) -> list[str]:
    only = ["--only", str(chosen.only)] if chosen.only else []
    return ["--seconds", str(chosen.seconds), "--seed", str(chosen.seed), "--keep", str(chosen.keep), *only]


def _fuzz(name: str, chosen: argparse.Namespace) -> None:
    """Fuzz one parser; this ends the process."""
    import atheris  # noqa: PLC0415 - no other program needs it

    with atheris.instrument_imports(include=["tuneproof"]):
        from tests.fuzz.parsers import is_parsed  # noqa: PLC0415 - instrumented
        from tests.fuzz.seeds import SEEDS  # noqa: PLC0415 - as above
    warnings.simplefilter("error")

    def read(content: bytes) -> None:
        is_parsed(name, content)

    chosen.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        captures = [gzip.decompress(path.read_bytes()) for path in sorted(_CAPTURES.glob("*.pcap.gz"))]
        found = [content[:_MOST_BYTES] for content in captures] if name in _OF_CAPTURES else []
        for number, content in enumerate([*SEEDS[name], *found]):
            Path(folder, str(number)).write_bytes(content)
        options = [
            f"-max_total_time={chosen.seconds}",
            f"-seed={chosen.seed}",
            f"-max_len={_MOST_BYTES}",
            f"-timeout={_HANG_S}",
            f"-rss_limit_mb={_MEMORY_MIB}",
            f"-artifact_prefix={chosen.keep}/{name}-",
        ]
        atheris.Setup([sys.argv[0], *options, str(chosen.only or folder)], read)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
