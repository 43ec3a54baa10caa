"""Configurations in files, as a user has them."""

from collections.abc import Mapping
from pathlib import Path

from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.conf.sources import Source, open_source

HEAD = "user nginx;\nevents { }\n"


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder; return the path of the first one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def opened(folder: Path, files: Mapping[str, str], *, version: str = "1.22") -> tuple[Audit, Source]:
    """Write files below a folder, and audit the first one."""
    source = open_source(str(written(folder, files)))
    return audit_source(source, version=version), source


def http(text: str) -> dict[str, str]:
    """Return a whole configuration in one file."""
    return {"nginx.conf": f"{HEAD}http {{\n{text}\n}}\n"}
