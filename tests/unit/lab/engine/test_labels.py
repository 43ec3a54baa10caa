"""The labels of a session's resources."""

import os

from tuneproof.lab.engine.labels import PROJECT, SESSION, Session


def test_everything_in_a_session_has_project_and_session() -> None:
    """The labels of a container lead to its process."""
    session = Session()
    assert session.labels == {PROJECT: "tuneproof", SESSION: session.id}
    assert session.id.startswith(f"{os.getpid()}-")
    assert Session().id != session.id
