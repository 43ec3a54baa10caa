"""``python3 -m netadmin.observer`` watches nginx from a container that shares its network and PID namespaces.

It implements tuneproof/lab/protocol/observer.py, and runs as nginx's own user: another one without capabilities may not
read /proc/PID/io (proc_pid_io(5)). Times are CLOCK_MONOTONIC seconds (clock_gettime(2)).
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from tuneproof.lab.protocol import observer as protocol
from tuneproof.lab.protocol.serving import Answers, CannotDoError
from tuneproof.lab.protocol.turns import Turns

from . import processes, recorder, snapshot, sockets

Sample = Callable[[], protocol.WatchSample]

_SAMPLE_EVERY_S: Final = 0.05


class Watch:
    """Samples at a steady rate in a thread, from its creation to :meth:`end`; the first sample is taken at once."""

    def __init__(self, sampling: Callable[[], AbstractContextManager[Sample]]) -> None:
        self._sampling = sampling
        self._samples: list[protocol.WatchSample] = []
        self._failure: Exception | None = None
        self._ended = threading.Event()
        # When the observer's input ends, the samples are no longer needed.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> list[protocol.WatchSample]:
        """Return all samples (CannotDoError: one of them could not be taken, with the reason)."""
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            failure = self._failure
            raise CannotDoError(f"the watch ended early: {type(failure).__name__}: {failure}") from failure
        return self._samples

    def _run(self) -> None:
        try:
            with self._sampling() as sample:
                self._sample_until_the_end(sample)
        except Exception as error:  # noqa: BLE001 - the caller must learn of any error
            self._failure = error

    def _sample_until_the_end(self, sample: Sample) -> None:
        began_s = time.monotonic()
        tick = 0
        while True:
            self._samples.append(sample())
            passed_s = time.monotonic() - began_s
            # Samples are on schedule even if one takes long; missed ones are not taken later.
            tick = max(tick, int(passed_s / _SAMPLE_EVERY_S)) + 1
            if self._ended.wait(tick * _SAMPLE_EVERY_S - passed_s):
                return


class Observer(protocol.Observer):
    """The observer's methods."""

    def __init__(self, open_diag: Callable[[], AbstractContextManager[sockets.Diag]], *, proc: Path) -> None:
        self._open_diag = open_diag
        self._proc = proc
        self._watch: Watch | None = None

    def counters(self) -> protocol.CounterTexts:
        """Return the counters of the network namespace, and those of each CPU."""
        at_s = time.monotonic()
        return protocol.CounterTexts(
            counters=self._net("netstat", "snmp"), softnet=self._net("softnet_stat"), at_s=at_s
        )

    def sysctl(self, name: str) -> str | None:
        """Return the value of a sysctl in this network namespace."""
        return snapshot.sysctl(name)

    def printed(self, what: str) -> str:
        """Return the output of ss(8) for "sockets", or else the status files of nginx's processes."""
        if what == "sockets":
            # Options: numbers, TCP, memory, internals, all states, timers.
            done = subprocess.run(["ss", "-ntmiao"], capture_output=True, check=True)
            return done.stdout.decode("utf-8", errors="replace")
        pids = [pid for title in (processes.MASTER, processes.WORKER) for pid in processes.pids(title, proc=self._proc)]
        return "".join(_text(self._proc / str(pid) / "status") for pid in pids)

    def workers(self) -> protocol.WorkerTexts:
        """Return nginx's workers by ascending process id (CannotDoError: no nginx in this PID namespace)."""
        at_s = time.monotonic()
        # This only checks that a master exists: it may be root's, and no other user may read its I/O counts.
        if not processes.pids(processes.MASTER, proc=self._proc):
            raise CannotDoError(f"no process here is titled {processes.MASTER!r}")
        return protocol.WorkerTexts(workers=processes.texts(processes.WORKER, proc=self._proc), at_s=at_s)

    def sockets(self, port: int) -> protocol.SocketCounts:
        """Return the figures of the TCP sockets at a port; see sockets.py."""
        are_many = sockets.ended(self._net("sockstat")) >= sockets.MANY_ENDED
        # A kernel without IPv6 lacks the second table.
        tables = [path for name in ("tcp", "tcp6") if (path := self._proc / "net" / name).exists()] if are_many else []
        time_waits = sockets.time_waits(table.read_text(encoding="ascii") for table in tables)
        with self._open_diag() as diag:
            diag.bind()
            found = sockets.tcp_sockets(diag, states=sockets.UNENDED if are_many else sockets.EVERY)
            return sockets.figures(found, time_waits=time_waits, port=port)

    def watch(self, port: int) -> None:
        """Sample the workers' memory and the port's queues from now on (CannotDoError: sampling already started)."""
        if self._watch is not None:
            raise CannotDoError("a watch runs already")
        self._watch = Watch(lambda: self._sampling(port))

    def watched(self) -> tuple[protocol.WatchSample, ...]:
        """End the watch and return its samples (CannotDoError: there is none, or it failed)."""
        if self._watch is None:
            raise CannotDoError("no watch was started")
        # A failed watch has ended, too.
        watch, self._watch = self._watch, None
        return tuple(watch.end())

    def turns(self, start_s: float, end_s: float) -> Turns:
        """Wait for a period to pass; return what the workers did in the event loop iterations that overlapped it."""
        pids = processes.pids(processes.WORKER, proc=self._proc)
        if not pids:
            raise CannotDoError(f"no process here is titled {processes.WORKER!r}")
        found = recorder.turns_over(pids, start_s=start_s, end_s=end_s, proc=self._proc)
        if (pids_now := processes.pids(processes.WORKER, proc=self._proc)) != pids:
            raise CannotDoError(f"the workers were {pids}, and are {pids_now}")
        return found

    def calls(self) -> Mapping[str, protocol.Calls]:
        """Return the system calls of all workers together (RecordError: one of them keeps no record)."""
        return recorder.calls_of(processes.pids(processes.WORKER, proc=self._proc), proc=self._proc)

    def signal(self, name: str, to: str) -> None:
        """Send a signal to nginx."""
        leaving = f"{processes.WORKER}{protocol.LEAVING}"
        titles = {"workers": processes.WORKER, "leaving": leaving, "master": processes.MASTER}
        pids = processes.pids(titles[to], proc=self._proc)
        # A binary upgrade has two masters: the older one gets the signal.
        for pid in pids[:1] if to == "master" else pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.Signals[f"SIG{name}"])

    def masters_wait(self) -> bool:
        """Return whether every master has handled its signals; false if one ends meanwhile."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            pids = processes.pids(processes.MASTER, proc=self._proc)
            return all(processes.waits_for_signals(_text(self._proc / str(pid) / "status")) for pid in pids)
        return False

    def _net(self, *names: str) -> str:
        return "".join(_text(self._proc / "net" / name) for name in names)

    @contextmanager
    def _sampling(self, port: int) -> Iterator[Sample]:
        def sample() -> protocol.WatchSample:
            return protocol.WatchSample(
                at_s=time.monotonic(),
                rss_bytes=tuple(processes.rss_bytes(processes.WORKER, proc=self._proc)),
                queued=sockets.queued(diag, port=port),
            )

        # One socket for the whole watch: watching should take little CPU time from what is watched.
        with self._open_diag() as diag:
            diag.bind()
            yield sample


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def main() -> None:
    """Answer the calls on standard input about the nginx in this container's namespaces."""
    from .sock_diag import DiagSocket  # noqa: PLC0415 - only the image has pyroute2

    Answers(protocol.Observer, Observer(DiagSocket, proc=processes.PROC)).serve(sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
