"""``python3 -m loadgen`` runs the client's part of the lab, as tuneproof/lab/protocol/loadgen.py describes.

Connections and sessions that are held for later calls are released when the input ends.
"""

import resource
import sys

from tuneproof.lab.protocol import loadgen as protocol
from tuneproof.lab.protocol.serving import Answers

from . import crowds, flows, gaps, one_by_one, streams, tls, tools, trial


class Loadgen:
    """The load generators, under the names that the protocol defines."""

    gaps = staticmethod(gaps.run)
    one_by_one = staticmethod(one_by_one.run)
    run_tool = staticmethod(tools.run)
    storm = staticmethod(crowds.storm)

    def __init__(self) -> None:
        trials, readers, holder = trial.Trials(), crowds.SlowReaders(), crowds.Holder()
        standing, clients, responses = flows.Flows(), tls.Client(), streams.OpenStreams()
        self.prepare, self.go = trials.prepare, trials.go
        self.start_slow_readers, self.end_slow_readers = readers.start, readers.end
        self.hold, self.release = holder.hold, holder.release
        self.flows, self.start_flows, self.end_flows = standing.run, standing.start, standing.end
        self.tls_connect, self.tls_resume = clients.connect, clients.resume
        self.open_streams, self.arrived, self.leave_streams = responses.open, responses.arrived, responses.leave
        self._closing = (readers.close, holder.release, responses.leave, standing.close)

    def http2(self, address: str, port: int, streams: int, path: str = "/") -> tuple[int, ...]:
        """Send requests on one HTTP/2 connection; see http2.py."""
        from . import http2  # noqa: PLC0415 - only the image has the library

        return http2.run(address, port, streams, path)

    def close(self) -> None:
        """Release everything that is held."""
        for close in self._closing:
            close()


def allow_many_files() -> None:
    """Raise the soft limit on open files to the hard limit (getrlimit(2)); tools that are started later inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Answer the calls on standard input."""
    allow_many_files()
    loadgen = Loadgen()
    implemented: protocol.Loadgen = loadgen
    try:
        Answers(protocol.Loadgen, implemented).serve(sys.stdin, sys.stdout)
    finally:
        loadgen.close()


if __name__ == "__main__":
    main()
