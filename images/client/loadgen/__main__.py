"""``python3 -m loadgen`` does what the lab asks of its client; tuneproof/lab/protocol/loadgen.py says what.

What is held for later calls (connections, sessions) is let go at the end of the input.
"""

import resource
import sys

from tuneproof.lab.protocol import loadgen as protocol
from tuneproof.lab.protocol.exchanges import Arrived, Connection, Flow, Streams, TlsConnection
from tuneproof.lab.protocol.serving import Answers, CannotDoError
from tuneproof.lab.protocol.stall import Trial, Went

from . import crowds, gaps, one_by_one, streams, tls, tools, trial
from . import flows as flow_clients


class Loadgen(protocol.Loadgen):
    """The load generators."""

    gaps = staticmethod(gaps.run)
    one_by_one = staticmethod(one_by_one.run)
    run_tool = staticmethod(tools.run)

    def __init__(self) -> None:
        self._trials = trial.Trials()
        self._readers = crowds.SlowReaders()
        self._holder = crowds.Holder()
        self._tls = tls.Client()
        self._standing: flow_clients.Standing | None = None
        self._streams = streams.OpenStreams()

    def prepare(self, trial: Trial) -> float:
        """Prepare a trial; see trial.py."""
        return self._trials.prepare(trial)

    def go(self, start_s: float) -> Went:
        """Run its window; see trial.py."""
        return self._trials.go(start_s)

    def storm(self, address: str, port: int, connections: int, wait_s: float) -> protocol.StormSeen:
        """Begin connections at once; see crowds.py."""
        return crowds.storm((address, port), connections, wait_s)

    def start_slow_readers(self, asked: protocol.SlowReading) -> None:
        """Begin slow readers; see crowds.py."""
        self._readers.start(asked)

    def end_slow_readers(self) -> protocol.SlowReadersSeen:
        """End them."""
        return self._readers.end()

    def hold(self, address: str, port: int, path: str, count: int, timeout_s: float = 10.0) -> protocol.Held:
        """Hold connections; see crowds.py."""
        return self._holder.hold((address, port), path, count, timeout_s)

    def release(self) -> None:
        """Let them go."""
        self._holder.release()

    def flows(
        self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = (), host: str = "lab"
    ) -> tuple[tuple[Connection, ...], ...]:
        """Run flows at once; see flows.py."""
        return flow_clients.run(flows, flow_clients.Server(address=address, port=port, sources=sources, host=host))

    def stand(self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()) -> None:
        """Let some of them stay."""
        self._standing = flow_clients.Standing(flows, flow_clients.Server(address=address, port=port, sources=sources))
        self._standing.wait()

    def end_flows(self) -> tuple[tuple[Connection, ...], ...]:
        """End them; an error if there are none."""
        if self._standing is None:
            raise CannotDoError("no connections stay")
        standing, self._standing = self._standing, None
        return standing.end()

    def tls_connect(
        self, address: str, port: int, count: int, path: str = "/", version: str = "", timeout_s: float = 10.0
    ) -> tuple[TlsConnection, ...]:
        """Make TLS connections; see tls.py."""
        return self._tls.connect((address, port), count, path=path, version=version, timeout_s=timeout_s)

    def tls_resume(
        self, address: str, port: int, which: tuple[int, ...], path: str = "/", timeout_s: float = 10.0
    ) -> tuple[TlsConnection, ...]:
        """Go on with their sessions."""
        return self._tls.resume((address, port), which, path=path, timeout_s=timeout_s)

    def http2(self, address: str, port: int, streams: int, path: str = "/", timeout_s: float = 10.0) -> tuple[int, ...]:
        """Ask on one connection of HTTP/2; see http2.py."""
        from . import http2  # noqa: PLC0415 - only the image has its library

        return http2.run((address, port), streams, path=path, timeout_s=timeout_s)

    def open_streams(self, address: str, port: int, asked: tuple[Streams, ...]) -> None:
        """Ask for responses that stay open; see streams.py."""
        for streams_alike in asked:
            self._streams.open((address, port), streams_alike)

    def arrived(self) -> tuple[Arrived, ...]:
        """Read what is there."""
        return self._streams.arrived()

    def leave_streams(self) -> None:
        """Leave them."""
        self._streams.leave()

    def close(self) -> None:
        """Let go of all that is held."""
        self._readers.close()
        self._holder.release()
        self._streams.leave()
        if self._standing is not None:
            self._standing.end()


def allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one (getrlimit(2)): every connection is one, in the tools, too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Answer standard input's calls."""
    allow_many_files()
    loadgen = Loadgen()
    try:
        Answers(protocol.Loadgen, loadgen).serve(sys.stdin, sys.stdout)
    finally:
        loadgen.close()


if __name__ == "__main__":
    main()
