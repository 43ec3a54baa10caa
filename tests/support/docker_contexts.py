"""Contexts of the docker command, in the files of its configuration folder."""

import hashlib
import json
from pathlib import Path


def write_context(folder: Path, name: str, host: str, *, certificates: bool = False, **endpoint: object) -> None:
    """Write a context as `docker context create` does; the folder's name is the hash of the context's name."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts/meta" / digest / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host, **endpoint}}}), encoding="utf-8")
    if certificates:
        (folder / "contexts/tls" / digest / "docker").mkdir(parents=True)
