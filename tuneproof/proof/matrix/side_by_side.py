"""Runs several scenarios at once if they only count: running in parallel does not change counts.

Each scenario is measured in a thread. Only the thread that requests the results writes to the terminal: while it waits,
it shows the progress of all scenarios.
"""

import queue
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any, Final, Protocol

from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.measurement import Decider
from tuneproof.proof.stopping import Stop
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.keys import Key

JOBS_PER_CPU: Final = 4
"""Parallel scenarios per CPU of an engine that has enough memory for them."""
JOB_BYTES: Final = 512 << 20
"""Memory for one such scenario; most need 300 MiB for their containers, proxy_buffering 1.2 GiB."""
MOST_JOBS: Final = 16
MOST_AHEAD: Final = 8
"""By default, an engine has addresses for 31 networks, and each lab takes one."""
_SHOWN_EVERY_S: Final = 0.2
_REMOVED_EVERY_S: Final = 1.0


class View(Protocol):
    """Shows progress: a line that is rewritten, and permanent lines."""

    def update(self, text: str) -> None:
        """Replace the last update's text."""

    def line(self, text: str) -> None:
        """Write a permanent line."""


class Starting(Protocol):
    """Returns the context in which the claims of a lab can be decided."""

    def __call__(self, *, beside: "SideBySide") -> AbstractContextManager[Decider]:
        """Start the lab, which ends with the context; its output goes to the view."""


def jobs_on(*, cpus: int, memory_bytes: int, patience: float) -> int:
    """Return how many scenarios an engine measures at once: limited by its CPUs and half of its memory, at least one.

    ``patience``: how many times longer than usual the engine takes. On slow, shared CPUs, nginx may time out before a
    trial's answer arrives: five scenarios at once on two emulated CPUs were too many; one per CPU worked.
    """
    for_cpus = max(cpus, int(JOBS_PER_CPU * cpus / patience))
    return max(1, min(MOST_JOBS, for_cpus, memory_bytes // 2 // JOB_BYTES))


def ahead_on(jobs: int, *, memory_bytes: int) -> int:
    """Return how many labs may wait on an engine while others are measured, within half of its memory."""
    return max(0, min(MOST_AHEAD, memory_bytes // 2 // JOB_BYTES - jobs))


class SideBySide:
    """The scenarios that are measured at once.

    Args:
        jobs: How many scenarios are measured at a time, in the order in which they were added.
        view: The user's view.
        show: Shows a decided claim soon after the decision.
        status: Returns the text before the names of the running scenarios.
    """

    def __init__(
        self, jobs: int, *, view: View, show: Callable[[Claim[Any], Cell], None], status: Callable[[], str]
    ) -> None:
        self._pool = ThreadPoolExecutor(max_workers=jobs)
        self._threads: list[Future[None]] = []
        self._ahead: list[Future[Decider]] = []
        self._view = view
        self._show_cell = show
        self._status = status
        self._news: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._under_way: list[str] = []
        self.stop = Stop()

    def add(self, lab: Key, claims: Collection[Claim[Any]], starting: Starting) -> Callable[[Key], Cell]:
        """Measure a lab as soon as possible; return a function that waits for the result of one of its claims.

        ``claims``: The claims to decide, in this order.
        """
        cells: dict[str, Future[Cell]] = {claim.name: Future() for claim in claims}

        def run() -> None:
            with self._shown(lab):
                self._measure(claims, cells, starting)

        self._threads.append(self._pool.submit(run))
        return lambda key: self._wait(cells[key.claim])

    def add_ahead(self, lab: Key, starting: Starting, labs: ExitStack) -> Future[Decider]:
        """Start a lab as soon as possible; return its decider for later.

        ``labs``: Removes the lab.
        """

        def start() -> Decider:
            with self._shown(lab):
                return labs.enter_context(starting(beside=self))

        self._ahead.append(self._pool.submit(start))
        return self._ahead[-1]

    def wait_for_ahead(self) -> None:
        """Wait until every lab that should start early has started or failed: none may start during a measurement."""
        while wait(self._ahead, timeout=_SHOWN_EVERY_S).not_done:
            self._show()

    def end(self, remove: Callable[[], None]) -> None:
        """Start nothing more, and end the running measurements.

        ``remove``: Removes every container of the run, so that no thread waits for one.
        """
        self.stop.ask()
        self._pool.shutdown(wait=False, cancel_futures=True)
        # wait() would wait forever for tasks that were cancelled before a thread took them.
        threads: list[Future[Any]] = [*self._threads, *self._ahead]
        begun = [thread for thread in threads if not thread.cancelled()]
        while wait(begun, timeout=_REMOVED_EVERY_S).not_done:
            remove()
        self._show()

    def update(self, text: str) -> None:
        """Do nothing: progress within a scenario is not shown while several run."""

    def line(self, text: str) -> None:
        """Show a line soon."""
        self._news.put(partial(self._view.line, text))

    def _measure(self, claims: Collection[Claim[Any]], cells: Mapping[str, Future[Cell]], starting: Starting) -> None:
        try:
            with starting(beside=self) as decider:
                for claim in claims:
                    try:
                        cell = decider.decide(claim)
                    except Exception as error:  # noqa: BLE001 - raised again when the claim's cell is requested
                        cells[claim.name].set_exception(error)
                    else:
                        self._news.put(partial(self._show_cell, claim, cell))
                        cells[claim.name].set_result(cell)
        except Exception as error:  # noqa: BLE001 - likewise for all cells that the lab cannot decide any more
            for waited in cells.values():
                if not waited.done():
                    waited.set_exception(error)

    def _show(self) -> None:
        while not self._news.empty():
            self._news.get()()
        if names := ", ".join(dict.fromkeys(self._under_way)):  # once if a scenario has several labs
            self._view.update(f"{self._status()}; {names}")

    def _wait(self, cell: Future[Cell]) -> Cell:
        while wait([cell], timeout=_SHOWN_EVERY_S).not_done:
            self._show()
        self._show()
        return cell.result()

    @contextmanager
    def _shown(self, lab: Key) -> Iterator[None]:
        self._under_way.append(lab.place)
        try:
            yield
        finally:
            self._under_way.remove(lab.place)
