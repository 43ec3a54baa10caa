"""The labels of a session's resources."""

import os

from tuneproof.lab.engine.labels import PROJECT, SESSION, Session


def test_a_sessions_labels_name_the_project_and_the_session() -> None:
    """The id begins with the process id, so a container's labels identify the process that made it."""
    session = Session()
    assert session.labels == {PROJECT: "tuneproof", SESSION: session.id}
    assert session.id.startswith(f"{os.getpid()}-")
    assert Session().id != session.id
