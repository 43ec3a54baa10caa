"""``python3 -m netadmin.observer`` watches nginx from a container that shares its network and PID namespaces.

Every line of JSON on standard input names one task, and gets one line back. It runs as nginx's own user: another one
without capabilities may not read /proc/PID/io (proc_pid_io(5)). Times are CLOCK_MONOTONIC seconds (clock_gettime(2)).
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from . import calls, processes, snapshot, sockets, turns


class ObserverError(Exception):
    """A task that cannot be done now, or not here."""


class Watch:
    """Samples at a steady pace in a thread, from its making to :meth:`end`; the first sample is taken at once.

    Args:
        sampling: Opens what samples; it is entered and left in the thread.
        interval_s: Time from one sample to the next.
    """

    def __init__(self, sampling: Callable[[], AbstractContextManager[Callable[[], Any]]], *, interval_s: float) -> None:
        self._sampling = sampling
        self._interval_s = interval_s
        self._samples: list[Any] = []
        self._failure: Exception | None = None
        self._ended = threading.Event()
        # When the observer's input ends, nobody asks for the samples any more.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> list[Any]:
        """Return all samples.

        Raises:
            ObserverError: One of them could not be taken, with the reason.
        """
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise ObserverError(f"the watch ended early: {_told(self._failure)}") from self._failure
        return self._samples

    def _run(self) -> None:
        try:
            with self._sampling() as sample:
                self._sample_until_the_end(sample)
        except Exception as error:  # noqa: BLE001 - whatever it is, who asks for the samples must hear of it
            self._failure = error

    def _sample_until_the_end(self, sample: Callable[[], Any]) -> None:
        began_s = time.monotonic()
        tick = 0
        while True:
            self._samples.append(sample())
            passed_s = time.monotonic() - began_s
            # On schedule, however long a sample takes; those that were missed are not made up for.
            tick = max(tick, int(passed_s / self._interval_s)) + 1
            if self._ended.wait(tick * self._interval_s - passed_s):
                return


class Observer:
    """The tasks.

    Args:
        open_diag: Opens a socket for questions about sockets.
        proc: Where the process table is.
    """

    def __init__(self, open_diag: Callable[[], AbstractContextManager[sockets.Diag]], *, proc: Path) -> None:
        self._open_diag = open_diag
        self._proc = proc
        self._watch: Watch | None = None
        self._tasks: dict[str, Callable[..., Mapping[str, Any]]] = {
            "counters": self.counters,
            "sysctl": self.sysctl,
            "printed": self.printed,
            "workers": self.workers,
            "sockets": self.sockets,
            "watch": self.watch,
            "watched": self.watched,
            "turns": self.turns,
            "calls": self.calls,
            "signal": self.signal,
        }

    def serve(self, questions: Iterable[str], answers: IO[str]) -> None:
        """Answer until the input ends. A task that fails is answered, too."""
        for line in questions:
            answer: Mapping[str, Any]
            try:
                answer = self._answer(json.loads(line))
            except Exception as error:  # noqa: BLE001 - whatever it is, the one who waits for an answer must hear of it
                answer = {"error": _told(error)}
            answers.write(f"{json.dumps(answer)}\n")
            answers.flush()

    def counters(self) -> dict[str, Any]:
        """Return the counters of the network namespace, and those of each CPU; see snapshot.py."""
        at_s = time.monotonic()
        return {"counters": snapshot.network_counters(), "softnet": snapshot.softnet(), "at_s": at_s}

    def sysctl(self, name: str) -> dict[str, Any]:
        """Return the value of a sysctl in this network namespace; None where this kernel has none of that name."""
        return {"value": snapshot.sysctl(name)}

    def printed(self, what: str) -> dict[str, Any]:
        """Return what an engineer would have printed here, as text.

        Args:
            what: "counters", the files that nstat(8) reads; "sockets", by ss(8); or "processes", nginx's status files
                (proc_pid_status(5)).
        """
        if what == "sockets":
            # Options for numbers, TCP, memory, internals, all states, timers.
            done = subprocess.run(["ss", "-ntmiao"], capture_output=True, check=True)
            return {"text": done.stdout.decode("utf-8", errors="replace")}
        if what == "counters":
            paths = [self._proc / "net" / name for name in ("netstat", "snmp")]
        else:
            titles = (processes.MASTER, processes.WORKER)
            paths = [
                self._proc / str(pid) / "status" for title in titles for pid in processes.pids(title, proc=self._proc)
            ]
        return {"text": "".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)}

    def workers(self) -> dict[str, Any]:
        """Return the figures of nginx's workers, in ascending order of process id; see processes.py.

        Raises:
            ObserverError: There is no nginx: this is not its PID namespace, or it has ended.
        """
        at_s = time.monotonic()
        # Only looked for: it may be root's, which nobody else may look at.
        if not processes.pids(processes.MASTER, proc=self._proc):
            raise ObserverError(f"no process here is titled {processes.MASTER!r}")
        workers = processes.figures(processes.WORKER, proc=self._proc)
        return {"workers": [asdict(worker) for worker in workers], "at_s": at_s}

    def sockets(self, port: int) -> dict[str, Any]:
        """Return the figures of the TCP sockets around a port; see sockets.py."""
        # A kernel without IPv6 has no second one.
        tables = [path for name in ("tcp", "tcp6") if (path := self._proc / "net" / name).exists()]
        time_waits = sockets.time_waits(table.read_text(encoding="ascii") for table in tables)
        with self._open_diag() as diag:
            diag.bind()
            return sockets.figures(sockets.tcp_sockets(diag), time_waits=time_waits, port=port)

    def watch(self, port: int, interval_s: float) -> dict[str, Any]:
        """Sample the workers' memory and the port's queues from now on.

        Raises:
            ObserverError: That is done already, or the interval is none.
        """
        if self._watch is not None:
            raise ObserverError("a watch runs already")
        if interval_s <= 0:
            raise ObserverError(f"{interval_s} s is no time between two samples")
        self._watch = Watch(lambda: self._sampling(port), interval_s=interval_s)
        return {"watching": True}

    def watched(self) -> dict[str, Any]:
        """End the watch and return its samples.

        Raises:
            ObserverError: There is none, or it failed.
        """
        if self._watch is None:
            raise ObserverError("no watch was started")
        # A watch that failed is over, too.
        watch, self._watch = self._watch, None
        return {"samples": watch.end()}

    def turns(self, start_s: float, end_s: float) -> dict[str, Any]:
        """Wait for a time to pass; return what the workers did in the turns of their event loops that overlapped it.

        Raises:
            TurnsError: A worker keeps no record; see turns.py.
            ObserverError: There is no worker, or another one at the end.
        """
        pids = processes.pids(processes.WORKER, proc=self._proc)
        if not pids:
            raise ObserverError(f"no process here is titled {processes.WORKER!r}")
        answer = turns.over(pids, start_s=start_s, end_s=end_s, proc=self._proc)
        if (pids_now := processes.pids(processes.WORKER, proc=self._proc)) != pids:
            raise ObserverError(f"the workers were {pids}, and are {pids_now}")
        return answer

    def calls(self) -> dict[str, Any]:
        """Return the system calls that the workers have made, all of them together; see calls.py.

        Raises:
            CallsError: One of them does not count them.
        """
        return {"calls": calls.of(processes.pids(processes.WORKER, proc=self._proc), proc=self._proc)}

    def signal(self, name: str, to: str) -> dict[str, Any]:
        """Send a signal to nginx; its own user may, without any capability (kill(2)).

        Args:
            name: The signal's name without SIG: STOP, CONT, HUP (https://nginx.org/en/docs/control.html).
            to: "workers" or "master".
        """
        titles = {"workers": processes.WORKER, "master": processes.MASTER}
        pids = processes.pids(titles[to], proc=self._proc)
        if to == "master":
            # As above: the eldest.
            pids = pids[:1]
        for pid in pids:
            os.kill(pid, signal.Signals[f"SIG{name}"])
        return {"signalled": pids}

    @contextmanager
    def _sampling(self, port: int) -> Iterator[Callable[[], dict[str, Any]]]:
        def sample() -> dict[str, Any]:
            return {
                "at_s": time.monotonic(),
                "rss_bytes": processes.rss_bytes(processes.WORKER, proc=self._proc),
                "queued": sockets.queued(diag, port=port),
            }

        # One socket for the whole watch: what watches shall take little CPU time from what is watched.
        with self._open_diag() as diag:
            diag.bind()
            yield sample

    def _answer(self, question: dict[str, Any]) -> Mapping[str, Any]:
        name = question.pop("task")
        if name not in self._tasks:
            raise ObserverError(f"there is no task {name!r}")
        return self._tasks[name](**question)


def _told(error: Exception) -> str:
    """Return an error in words; one that was not expected with its name, which may say more than its message."""
    return str(error) if isinstance(error, ObserverError) else f"{type(error).__name__}: {error}"


def main() -> None:
    """Answer standard input's questions about the nginx of this container's namespaces."""
    from .rtnetlink import DiagSocket  # noqa: PLC0415 - only the image has pyroute2

    Observer(DiagSocket, proc=processes.PROC).serve(sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
