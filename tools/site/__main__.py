"""Writes the page that audits a pasted configuration in the browser: ``python -m tools.site FOLDER``.

It needs ``npm ci`` in tools/site, which installs Pyodide (https://pyodide.org), a Python for browsers. The page is
static: any web server can serve the folder, and pasted text stays in the browser.
"""

import argparse
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
PACKAGE: Final = HERE.parents[1] / "tuneproof"
PYODIDE: Final = HERE / "node_modules" / "pyodide"
RUNTIME: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
_ROOMS: Final = ("audit", "conf", "lines")
"""The packages in tuneproof/ that an audit needs."""


def packed() -> Iterator[tuple[Path, str]]:
    """Yield the files in Tuneproof that an audit needs, with their names in the archive."""
    files = [*PACKAGE.glob("*.py"), *(path for room in _ROOMS for path in (PACKAGE / room).rglob("*"))]
    for path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path, str(path.relative_to(PACKAGE.parent))


def write(folder: Path) -> int:
    """Write the page and everything that it loads; return its size in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (HERE / "audit").iterdir():
        shutil.copy(path, folder)
    for name in RUNTIME:
        shutil.copy(PYODIDE / name, folder)
    with zipfile.ZipFile(folder / "tuneproof.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, name in packed():
            archive.write(path, name)
    return sum(path.stat().st_size for path in folder.iterdir())


def main(arguments: Sequence[str]) -> int:
    """Write the page to the given folder; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    if not PYODIDE.is_dir():
        parser.exit(3, f"no Pyodide in {PYODIDE}; fix: npm ci --prefix {HERE}\n")
    print(f"{folder}: {write(folder) / 1e6:.1f} MB")  # noqa: T201 - the command's output
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
