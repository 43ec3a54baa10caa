"""Kills the user-mode kernels of a session's wires."""

import docker

from tuneproof.lab.engine.labels import ROLE, SESSION, Session

_END = (
    "import os, pathlib, signal\n"
    "for entry in pathlib.Path('/proc').iterdir():\n"
    "    if entry.name.isdigit() and (entry / 'comm').read_text().startswith('linux'):\n"
    "        os.kill(int(entry.name), signal.SIGKILL)\n"
)


def end_wires(client: docker.DockerClient, session: Session) -> None:
    labels = [f"{SESSION}={session.id}", f"{ROLE}=netadmin"]
    for container in client.containers.list(filters={"label": labels}):
        if container.attrs["Config"]["Cmd"][-1] == "wire":
            container.exec_run(["python3", "-c", _END])
