"""The nginx in a user's image: its version, and the path of its configuration."""

import re
from dataclasses import dataclass
from typing import Final

import docker
from docker.errors import APIError, ContainerError, ImageNotFound

from tuneproof.errors import BadInputError
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.session import session_on

_ASK: Final = "for name in nginx angie openresty; do command -v $name >/dev/null && exec $name -V 2>&1; done; exit 127"
_MEMORY_BYTES: Final = 256 << 20
_PROCESSES: Final = 64
_NUMBERS: Final = r"(\d+\.\d+\.\d+)"
# Forks of nginx print their own version first, and OpenResty appends a number to nginx's version.
_VERSIONS: Final = (re.compile(rf"\bnginx/{_NUMBERS}"), re.compile(rf"\w+/{_NUMBERS}"))
_CONF_PATH: Final = re.compile(r"--conf-path=(\S+)")
_PREFIX: Final = re.compile(r"--prefix=(\S+)")


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """The facts about a user's image."""

    version: str  # Version of its nginx, such as "1.25.3"
    main: str  # Path of its nginx.conf

    @classmethod
    def from_text(cls, text: str) -> "OwnImage | None":
        """Parse the output of ``nginx -V`` (https://nginx.org/en/docs/switches.html); None if it is something else."""
        version = next((found[1] for pattern in _VERSIONS if (found := pattern.search(text))), "")
        if not version:
            return None
        conf, prefix = _CONF_PATH.search(text), _PREFIX.search(text)
        folder = prefix[1] if prefix else "/usr/local/nginx"
        return cls(version=version, main=conf[1] if conf else f"{folder}/conf/nginx.conf")


def look_at(client: docker.DockerClient, image: str, *, option: str = "--nginx-image") -> OwnImage:
    """Query an image's nginx in a temporary container (BadInputError: there is no such image, or no nginx in it)."""
    with engine_errors(f"inspecting image {image}"), session_on({"": client}) as session:
        _ensure(client, image, option)
        try:
            printed = client.containers.run(
                image,
                entrypoint=["sh", "-c", _ASK],
                remove=True,
                network_disabled=True,
                labels=session.labels,
                user="0:0",
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                read_only=True,
                mem_limit=_MEMORY_BYTES,
                memswap_limit=_MEMORY_BYTES,
                pids_limit=_PROCESSES,
            )
        except (ContainerError, APIError) as error:
            raise BadInputError(
                f"{option} {image}: there is no nginx in it that a shell can start",
                remedy="name an image with sh and nginx, such as nginx:1.27",
            ) from error
    found = OwnImage.from_text(bytes(printed).decode("utf-8", errors="replace"))
    if found is None:
        raise BadInputError(f"{option} {image}: its nginx does not print its version")
    return found


def _ensure(client: docker.DockerClient, image: str, option: str) -> None:
    """Pull an image that the engine lacks (BadInputError: the registry does not provide it)."""
    try:
        client.images.get(image)
    except ImageNotFound:
        try:
            client.images.pull(image)
        except APIError as error:
            raise BadInputError(
                f"{option} {image}: the engine has no such image, and none can be pulled",
                remedy=f"run docker pull {image}, or docker load",
            ) from error
