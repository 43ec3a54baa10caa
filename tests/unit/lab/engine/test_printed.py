"""A container's output is read until it is sufficient, with a simulated engine."""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.growth import assert_grows_with_its_size
from tuneproof.lab.engine.printed import printed

if TYPE_CHECKING:
    import docker


class Stream:
    """A log that arrives in parts, and then ends or is silent until it is closed."""

    def __init__(self, *parts: bytes, ends: bool) -> None:
        self._parts = parts
        self._ends = ends
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        if not self._ends:
            assert self.closed.wait(60)

    def close(self) -> None:
        self.closed.set()


class Engine:
    """An engine that returns these streams of a container's log in turn; before the last one, the container ends."""

    def __init__(self, *streams: Stream) -> None:
        self.streams = list(streams)
        self.inspections = 0

    @property
    def api(self) -> "docker.APIClient":
        return cast("docker.APIClient", self)

    def logs(self, container: str, *, stream: bool, follow: bool) -> Stream:
        assert (container, stream, follow) == ("c0ffee", True, True)
        return self.streams.pop(0)

    def inspect_container(self, container: str) -> dict[str, Any]:
        assert container == "c0ffee"
        self.inspections += 1
        return {"State": {"Running": len(self.streams) > 1}}


def until_ready_twice(engine: Engine, within_s: float = 60) -> str:
    return printed(engine.api, "c0ffee", "ready", times=2, within_s=within_s)


@pytest.mark.parametrize(
    "parts",
    [
        (b"rea", b"dy\nready\n"),
        (b"ready\nready\n",),
        (b"ready\n", b"r", b"eady\n"),
        (*(b"%c" % each for each in b"readyready"),),
    ],
    ids=["first-in-two-parts", "one-part", "second-in-two-parts", "bytes"],
)
def test_a_log_is_read_until_it_is_sufficient(parts: tuple[bytes, ...]) -> None:
    stream = Stream(*parts, b"more\n", ends=False)
    engine = Engine(stream)
    assert until_ready_twice(engine) == b"".join(parts).decode()
    assert stream.closed.is_set()
    assert engine.inspections == 0


def test_all_output_before_a_containers_end_is_returned() -> None:
    engine = Engine(Stream(b"ready\n", ends=True), Stream(b"ready\n", b"failed\n", ends=True))
    assert until_ready_twice(engine) == "ready\nfailed\n"


def test_a_log_is_followed_again_after_its_connection_breaks() -> None:
    engine = Engine(Stream(b"ready\n", ends=True), Stream(b"ready\nready\n", ends=False), Stream(ends=True))
    assert until_ready_twice(engine) == "ready\nready\n"


@pytest.mark.parametrize("within_s", [0.0, 0.05])
def test_the_wait_for_missing_output_is_limited(within_s: float) -> None:
    stream = Stream(b"ready\n", ends=False)
    engine = Engine(stream)
    assert until_ready_twice(engine, within_s) == "ready\n"
    assert engine.streams == []


def test_the_time_to_search_a_log_is_not_quadratic_in_its_size() -> None:
    assert_grows_with_its_size(
        lambda parts: until_ready_twice(Engine(Stream(*[b"nothing\n" * 64] * parts, b"ready\nready", ends=False))),
        size=500,
    )
