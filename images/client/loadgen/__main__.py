"""``python3 -m loadgen`` runs the client's part of the lab, as tuneproof/lab/protocol/loadgen.py describes.

Anything that is held for later calls (connections, sessions) is released when the input ends.
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
        """Start connections at once; see crowds.py."""
        return crowds.storm((address, port), connections, wait_s)

    def start_slow_readers(self, asked: protocol.SlowReading) -> None:
        """Start slow readers; see crowds.py."""
        self._readers.start(asked)

    def end_slow_readers(self) -> protocol.SlowReadersSeen:
        """End the slow readers."""
        return self._readers.end()

    def hold(self, address: str, port: int, path: str, count: int, timeout_s: float = 10.0) -> protocol.Held:
        """Hold connections; see crowds.py."""
        return self._holder.hold((address, port), path, count, timeout_s)

    def release(self) -> None:
        """Release the held connections."""
        self._holder.release()

    def flows(
        self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = (), host: str = "lab"
    ) -> tuple[tuple[Connection, ...], ...]:
        """Run flows at once; see flows.py."""
        return flow_clients.run(flows, flow_clients.Server(address=address, port=port, sources=sources, host=host))

    def stand(self, address: str, port: int, flows: tuple[Flow, ...], sources: tuple[str, ...] = ()) -> None:
        """Run flows, and keep some of them open."""
        self._standing = flow_clients.Standing(flows, flow_clients.Server(address=address, port=port, sources=sources))
        self._standing.wait()

    def end_flows(self) -> tuple[tuple[Connection, ...], ...]:
        """End the open flows; CannotDoError: there are none."""
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
        """Resume their sessions."""
        return self._tls.resume((address, port), which, path=path, timeout_s=timeout_s)

    def http2(self, address: str, port: int, streams: int, path: str = "/", timeout_s: float = 10.0) -> tuple[int, ...]:
        """Send requests on one HTTP/2 connection; see http2.py."""
        from . import http2  # noqa: PLC0415 - only the image has the library

        return http2.run((address, port), streams, path=path, timeout_s=timeout_s)

    def open_streams(self, address: str, port: int, asked: tuple[Streams, ...]) -> None:
        """Request responses that stay open; see streams.py."""
        for streams_alike in asked:
            self._streams.open((address, port), streams_alike)

    def arrived(self) -> tuple[Arrived, ...]:
        """Read what has arrived."""
        return self._streams.arrived()

    def leave_streams(self) -> None:
        """Close the open responses."""
        self._streams.leave()

    def close(self) -> None:
        """Release everything that is held."""
        self._readers.close()
        self._holder.release()
        self._streams.leave()
        if self._standing is not None:
            self._standing.end()


def allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one (getrlimit(2)): every connection needs one, in tools, too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Answer the calls on standard input."""
    allow_many_files()
    loadgen = Loadgen()
    try:
        Answers(protocol.Loadgen, loadgen).serve(sys.stdin, sys.stdout)
    finally:
        loadgen.close()


if __name__ == "__main__":
    main()
