"""Functions on individual requests with their responses."""

from collections.abc import Iterable, Iterator

from tuneproof.lab.protocol.exchanges import Answer, Connection


def answers_of(connections: Iterable[Connection]) -> Iterator[Answer]:
    """Return the answers of all connections."""
    return (answer for connection in connections for answer in connection.answers)


def statuses(connections: Iterable[Connection], status: int) -> int:
    """Count the answers with a status; a missing answer has status 0."""
    return sum(answer.status == status for answer in answers_of(connections))
