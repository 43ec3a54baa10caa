"""Runs containers with files for tests of nginx alone, and ``nginx -t`` for many configurations in one container."""

import io
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import docker

from tuneproof.lab.engine.labels import Session

# Four processes, since some configurations wait for DNS queries that fail. The script prints each configuration's name
# and nginx's messages on one line.
_ASK: Final = r"""
cd /asked && ls | xargs -P 4 -n 20 sh -c '
for file; do
    printf "%s\t%s\n" "$file" "$(nginx -t -c "/asked/$file" 2>&1 | tr "\n" " ")"
done' ask
"""


def put(made: Any, files: Mapping[str, str | bytes]) -> None:
    """Write files into a container, by path."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(path.lstrip("/"))
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    made.put_archive("/", packed.getvalue())


@contextmanager
def container(
    engine: docker.DockerClient, image: str, files: Mapping[str, str | bytes], session: Session, **more: Any
) -> Iterator[Any]:
    """Run a container with these files, by path, until the context ends."""
    made = engine.containers.create(image, ["sleep", "1200"], labels=session.labels, **more)
    try:
        put(made, files)
        made.start()
        yield made
    finally:
        made.remove(force=True)


def output(made: Any, script: str, *, by: str = "sh") -> str:
    """Return the output of a script in a container; the script must succeed."""
    status, said = made.exec_run([by, "-c", script])
    assert status == 0, said[-2000:].decode(errors="replace")
    return str(said.decode(errors="replace"))


def answers(
    engine: docker.DockerClient, image: str, configurations: Mapping[str, str], session: Session
) -> dict[str, str]:
    """Return nginx's messages about each configuration, by name. DNS queries fail: there is no network."""
    files = {f"asked/{name}": text for name, text in configurations.items()}
    # By default, musl waits five seconds for each query.
    dns = ["timeout:1", "attempts:1"]
    with container(engine, image, files, session, user="0:0", network_mode="none", dns_opt=dns) as made:
        said = output(made, _ASK)
    found = dict(line.split("\t", 1) for line in said.splitlines())
    assert found.keys() == configurations.keys()
    return found
