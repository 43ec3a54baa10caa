"""The bench's containers as a docker-compose project, so that both tools start the same thing."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tuneproof.lab.topology.roles import RoleSpec


class Compose:
    """A docker-compose project in a folder of its own.

    Args:
        folder: The folder for its files. Uploaded files become bind mounts here: docker-compose has no upload.
        specs: The containers, in the order in which they need each other.
    """

    def __init__(self, folder: Path, specs: Sequence[RoleSpec]) -> None:
        self._folder = folder
        services = {spec.name: self._service(spec) for spec in specs}
        project = {"version": "2.4", "services": services, "networks": {"default": {"internal": True}}}
        # JSON is YAML, so no YAML library is needed to write it.
        (folder / "docker-compose.yml").write_text(json.dumps(project), encoding="utf-8")

    def up_and_down(self) -> None:
        """Start everything in the background, and remove it without waiting for anything to end by itself."""
        self._run("up", "--detach", "--no-build")
        self._run("down", "--timeout", "0", "--volumes")

    def _service(self, spec: RoleSpec) -> dict[str, Any]:
        service: dict[str, Any] = {
            "image": spec.image,
            "cap_drop": ["ALL"],
            "cap_add": list(spec.capabilities),
            "security_opt": ["no-new-privileges"],
            "sysctls": dict(spec.sysctls),
            "environment": dict(spec.environment),
            "cpuset": spec.cpuset,
        }
        if spec.joins:
            service["network_mode"] = f"service:{spec.joins}"
        for path, content in spec.files.items():
            copy = self._folder / f"{spec.name}-{Path(path).name}"
            copy.write_bytes(content)
            service.setdefault("volumes", []).append(f"{copy}:{path}:ro")
        if spec.after:
            service["depends_on"] = list(spec.after)
        return service

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            ["docker-compose", "--project-name", "tuneproof-bench", *arguments],
            cwd=self._folder,
            check=True,
            capture_output=True,
        )
