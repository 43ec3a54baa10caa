"""The labels of a session's resources."""

import os

from tuneproof.lab.engine.labels import PROJECT, SESSION, Session


def test_all_resources_of_a_session_have_labels_for_project_and_session() -> None:
    """A container's labels identify the process that made it."""
    session = Session()
    assert session.labels == {PROJECT: "tuneproof", SESSION: session.id}
    assert session.id.startswith(f"{os.getpid()}-")
    assert Session().id != session.id
