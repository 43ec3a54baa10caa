"""nginx -t, asked about many configurations in one container."""

import io
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import docker

from tuneproof.lab.engine.labels import Session

# Both CPUs of a small host; a configuration with its answer on a line, as far as nginx refuses it.
_ASK: Final = r"""
cd /asked && ls | xargs -P 2 -n 100 sh -c '
for file; do
    printf "%s\t%s\n" "$file" "$(nginx -t -c "/asked/$file" 2>&1 | tr "\n" " ")"
done' ask
"""


@contextmanager
def container(
    engine: docker.DockerClient, image: str, files: Mapping[str, str], session: Session, **more: Any
) -> Iterator[Any]:
    """Run a container that has some files, by path without the leading slash."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    made = engine.containers.create(image, ["sleep", "600"], labels=session.labels, **more)
    try:
        made.put_archive("/", packed.getvalue())
        made.start()
        yield made
    finally:
        made.remove(force=True)


def answers(
    engine: docker.DockerClient, image: str, configurations: Mapping[str, str], session: Session
) -> dict[str, str]:
    """Return what nginx says about each configuration; it has no network, so that no name keeps it waiting."""
    files = {f"asked/{name}": text for name, text in configurations.items()}
    with container(engine, image, files, session, user="0:0", network_mode="none") as made:
        said = made.exec_run(["sh", "-c", _ASK]).output.decode()
    found = dict(line.split("\t", 1) for line in said.splitlines())
    assert found.keys() == configurations.keys()
    return found
