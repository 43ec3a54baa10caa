"""``python3 -m loadgen`` does what the lab asks of its client on standard input; tuneproof/lab/protocol says what.

What is held for later questions (connections, sessions) is let go at the end of the input.
"""

import resource
import sys

from tuneproof.lab.protocol import connections, exchanges, requests, stall
from tuneproof.lab.protocol.serving import Answers

from . import connect_storm, flows, gaps, one_by_one, tls, tools, trial
from .hold import Holder
from .slow_readers import InBackground


def answers(holder: Holder, readers: InBackground) -> Answers:
    """Return what this program can do."""
    tls_client, rehearsed = tls.Client(), trial.Trials()
    able = Answers()
    able.to(stall.Prepare, rehearsed.prepare)
    able.to(stall.Go, rehearsed.go)
    able.to(requests.RunTool, tools.run)
    able.to(requests.RequestOneByOne, one_by_one.run)
    able.to(requests.LookForGaps, gaps.run)
    able.to(connections.StartStorm, connect_storm.run)
    able.to(connections.StartSlowReaders, readers.start)
    able.to(connections.EndSlowReaders, lambda _: readers.end())
    able.to(connections.Hold, holder.hold)
    able.to(connections.Release, lambda _: holder.release())
    able.to(exchanges.RunFlows, flows.run)
    able.to(exchanges.TlsConnect, tls_client.connect)
    able.to(exchanges.TlsResume, tls_client.resume)
    able.to(exchanges.Http2Streams, _http2)
    return able


def _http2(asked: exchanges.Http2Streams) -> exchanges.Http2Statuses:
    from . import http2  # noqa: PLC0415 - only the image has its library

    return http2.run(asked)


def allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one (getrlimit(2)): every connection is one, in the tools, too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Answer standard input's questions."""
    allow_many_files()
    holder, readers = Holder(), InBackground()
    try:
        answers(holder, readers).serve(sys.stdin, sys.stdout)
    finally:
        readers.close()
        holder.release()


if __name__ == "__main__":
    main()
