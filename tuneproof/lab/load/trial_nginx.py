"""The nginx of a trial: its figures, its logs and its processes.

A method that waits, for example until nginx has handled a signal, raises :class:`VoidTrialError` if its time limit
expires.
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from tuneproof.errors import LabError
from tuneproof.explain.parse.sockets import ss_text
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.network.agent import owner_name
from tuneproof.lab.protocol.observer import Calls, SocketCounts
from tuneproof.lab.protocol.turns import Turns
from tuneproof.lab.subject.config import ACCESS_LOG_PATH, ERROR_LOG_PATH
from tuneproof.lab.subject.supervisor import Said, configuration_path

_PAUSE_S: Final = 0.01
_BETWEEN_READINGS_S: Final = 0.05
_SAME_READINGS: Final = 8

Read = TypeVar("Read")


class TrialNginx:
    """The nginx of a stage, which uses one of the subject's configurations."""

    def __init__(self, stage: Stage, *, configuration: str) -> None:
        self._stage = stage
        self._configuration = configuration

    def rest(self) -> None:
        """Wait until the workers have nothing left to do: all sleep, and none has run since the last reading."""
        before: list[float] = []

        def is_idle() -> bool:
            nonlocal before
            workers = self.workers()
            earlier, before = before, [worker.run_s for worker in workers]
            return earlier == before and all(worker.is_asleep for worker in workers)

        self.wait_until(is_idle, "did not become idle")

    def steady(self, read: Callable[[], Read], *, readings: int = _SAME_READINGS) -> Read:
        """Read a value until it stays the same over some readings while all workers sleep, and return it."""
        now, same = read(), 0

        def stays() -> bool:
            nonlocal now, same
            before, now = now, read()
            same = same + 1 if now == before and all(worker.is_asleep for worker in self.workers()) else 0
            return same >= readings

        self._stage.wait_until(
            stays, f"nginx container {self._stage.subject_name} did not become idle", pause_s=_BETWEEN_READINGS_S
        )
        return now

    def counters(self) -> Mapping[str, int]:
        """Return the kernel's counters of the subject's network namespace."""
        return self._stage.counters().counters

    def online_cpus(self) -> int:
        """Return how many CPUs the subject's machine has, whether or not the subject may use them."""
        return len(self._stage.counters().steered)

    def sysctl(self, name: str) -> str | None:
        """Return a sysctl of the subject's network namespace; None if the kernel has no such sysctl."""
        return self._stage.observer.sysctl(name)

    def sockets(self, port: int = 0) -> SocketCounts:
        """Count the subject's sockets at a port by their state (default: the subject's port)."""
        return self._stage.sockets(port)

    def udp_receive_buffers(self, port: int) -> tuple[int, ...]:
        """Return the receive buffer of each of the subject's UDP sockets on a port, in bytes: SO_RCVBUF (socket(7))."""
        netadmin = self._stage.lab[owner_name(self._stage.subject_name)]
        table = ss_text.parse(netadmin.run(["ss", "-uanm", f"sport = :{port}"]).decode())
        return tuple(entry.memory["rb"] for entry in table.entries)

    def workers(self) -> tuple[WorkerFigures, ...]:
        """Read the workers' figures."""
        return self._stage.workers()

    def calls(self, work: Callable[[], object]) -> "CallCounts":
        """Return the workers' system calls during an action, and until they have nothing left to do.

        For trials with ``counts_calls``.
        """
        self.rest()
        before = self._stage.observer.calls()
        work()
        return self._since(before)

    def _since(self, before: Mapping[str, Calls]) -> "CallCounts":
        self.rest()
        return CallCounts({name: calls.since(before[name]) for name, calls in self._stage.observer.calls().items()})

    def access_log(self) -> list[dict[str, str]]:
        """Return the lines of the log ``counted`` (see :mod:`tuneproof.lab.subject.written_config`)."""
        return [json.loads(line) for line in self._log(ACCESS_LOG_PATH).splitlines()]

    def logged(self, requests: int) -> list[dict[str, str]]:
        """Wait until the access log has this many lines, and return them: nginx logs a request after its response."""
        lines: list[dict[str, str]] = []

        def has_them() -> bool:
            nonlocal lines
            lines = self.access_log()
            return len(lines) >= requests

        self.wait_until(has_them, f"did not log {requests} requests")
        return lines

    def error_log(self) -> str:
        """Return the error log."""
        return self._log(ERROR_LOG_PATH)

    def _log(self, path: str) -> str:
        # The program that starts nginx also reads its logs; an nginx that runs as long as the lab has no such program.
        if self._configuration:
            return self._stage.supervisor.read(path.rpartition("/")[2])
        return self._stage.subject.fetch(path).decode("utf-8", errors="replace")

    def test(self) -> Said:
        """Return the result of ``nginx -t`` for the configuration, for trials that do not start nginx."""
        return self._stage.supervisor.test(self._configuration)

    def write(self, name: str, size_bytes: int) -> None:
        """Write a file to the folder for files that change."""
        self._stage.supervisor.write(name, size_bytes)

    def run(self, *command: str) -> str:
        """Run a command in nginx's container as nginx's user, and return what it prints (LabError: it fails)."""
        return self._stage.subject.run(command).decode("utf-8", errors="replace")

    def fresh_workers(self) -> None:
        """Replace all workers with the same number of new ones, since earlier trials leave data in their memory.

        Old workers get SIGTERM once they shut down. A full accept queue may have admitted connections late, when
        their clients had left: a worker would wait for requests on them for client_header_timeout, 60 s
        (https://nginx.org/en/docs/http/ngx_http_core_module.html#client_header_timeout).
        """
        old = {worker.pid for worker in self.workers()}

        def only_new_ones() -> bool:
            workers = self.workers()
            # Old workers are ended only once they shut down gracefully: before that, the master would replace them.
            if any(worker.is_leaving for worker in workers):
                self._stage.observer.signal("TERM", "leaving")
            now = {worker.pid for worker in workers}
            return len(now) == len(old) and not old & now

        self._stage.reload()
        self.wait_until(only_new_ones, "did not replace its workers")

    def signal(self, name: str) -> None:
        """Send a signal to nginx's master, or to the older one of two, and wait until the master has handled it."""
        self._stage.observer.signal(name, "master")
        self.until_master_waits(f"did not handle {name}")

    def until_master_waits(self, otherwise: str = "did not start all its workers") -> None:
        """Wait until nginx's master has nothing left to do."""
        self.wait_until(self._stage.observer.masters_wait, otherwise)

    def kill_workers(self, name: str) -> None:
        """Send nginx's workers a signal that ends them, and wait until the master has replaced them."""
        old = {worker.pid for worker in self.workers()}
        self._stage.observer.signal(name, "workers")

        def others_run() -> bool:
            new = self._worker_pids()
            return bool(new) and not new & old

        self.wait_until(others_run, f"did not replace its workers after {name}")

    def start_another(self) -> str:
        """Start a second nginx with the same configuration; return its error if it does not start, or an empty text."""
        path = configuration_path(self._configuration)
        try:
            self._stage.subject.run(["nginx", "-c", path])
        except LabError as error:
            return error.tail
        return ""

    def until_they_leave(self, pids: Collection[int]) -> None:
        """Wait until these workers have exited, or at least closed their idle connections."""

        def leave() -> bool:
            # A worker closes idle connections in the same loop iteration in which it changes its title.
            return all(worker.is_leaving and worker.is_asleep for worker in self.workers() if worker.pid in pids)

        self.wait_until(leave, "did not shut down its old workers")

    def until_they_are_gone(self, pids: Collection[int]) -> None:
        """Wait until none of these workers is left."""
        self.wait_until(
            lambda: not {worker.pid for worker in self.workers()} & set(pids), "did not end its old workers"
        )

    def stopped_workers(self) -> AbstractContextManager[Callable[[], None]]:
        """Stop the workers during a block; see :meth:`Stage.stopped_workers`."""
        return self._stage.stopped_workers()

    def edit(self, expression: str) -> None:
        """Change nginx's configuration with sed(1), for the next reload; the expression must not contain a space."""
        self._stage.supervisor.edit(expression)

    def turns(self, seconds: float) -> Turns:
        """Record the workers' loop iterations for this long, and return them."""
        now_s = self._stage.counters().at_s
        return self._stage.observer.turns(now_s, now_s + seconds)

    def settle(self, workers: int) -> None:
        """Wait until there are at least this many workers."""
        self.wait_until(lambda: len(self._worker_pids()) >= workers, f"did not start {workers} workers")

    def _worker_pids(self) -> set[int]:
        try:
            return {worker.pid for worker in self.workers()}
        except LabError:
            # nginx is in the background already, but its master has not set its title yet.
            return set()

    def wait_until(self, done: Callable[[], bool], what: str) -> None:
        """Wait until a condition is true; ``what`` is what the subject did not do in time, for the message.

        Raises VoidTrialError: it is not true in time; the message includes the end of nginx's log.
        """
        try:
            self._stage.wait_until(done, f"nginx container {self._stage.subject_name} {what}", pause_s=_PAUSE_S)
        except VoidTrialError as error:
            tail = self.error_log() if self._configuration else self._stage.subject.log_tail()
            raise VoidTrialError(error.what, tail=tail) from error


class CallCounts:
    """System calls by name."""

    def __init__(self, calls: Mapping[str, Calls]) -> None:
        self._calls = calls

    def __getitem__(self, name: str) -> Calls:
        return self._calls[name]

    def made(self, *names: str) -> int:
        """Return how many calls with these names were made; without names, how many in all."""
        return sum(self._calls[name].made for name in names or self._calls)
