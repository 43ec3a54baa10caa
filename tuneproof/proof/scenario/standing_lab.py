"""The lab of a scenario, which is replaced when it fails: a single fault of the engine or of nginx costs one block."""

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from tuneproof.errors import EngineUnavailableError, LabError, TuneproofError
from tuneproof.lab.topology.lab import Lab, LabRemover
from tuneproof.proof.scenario.bench import Bench
from tuneproof.proof.scenario.containers import OwnNginxError


class StandingLab:
    """A context manager: inside it, :meth:`start` returns benches; at its end, the last bench's lab is removed.

    Args:
        remover: Makes the labs, and removes them.
        begin: Starts the scenario's containers in a new lab.
        settle: Waits until nothing else keeps the CPUs busy, before anything is measured; default: no wait.
        recover: Waits until the engine can be used again, or raises the error that ends the run.
    """

    def __init__(
        self,
        remover: LabRemover,
        *,
        begin: Callable[[Lab], Bench],
        recover: Callable[[TuneproofError], object],
        settle: Callable[[], object] | None = None,
    ) -> None:
        self._remover = remover
        self._begin = begin
        self._settle = settle
        self._recover = recover
        self._lab = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lab.__exit__(exc_type, exc, traceback)

    def start(self) -> Bench:
        """Start a lab; if that fails, try once more.

        LabError: Both failed. OwnNginxError: A user's own nginx does not start. CannotRunHereError: The host lacks
        something. EngineUnavailableError: The engine does not come back.
        """
        try:
            return self._start()
        except OwnNginxError:
            raise
        except (LabError, EngineUnavailableError) as error:
            return self.renew(error)

    def renew(self, error: TuneproofError) -> Bench:
        """Remove a failed lab, wait for the engine if that is the cause, and start a lab; errors: as ``start``."""
        # Leftovers are removed with the session, as after any error.
        self._lab.__exit__(type(error), error, error.__traceback__)
        self._recover(error)
        return self._start()

    def _start(self) -> Bench:
        bench = self._begin(self._lab.enter_context(self._remover.lab()))
        if self._settle is not None:
            self._settle()
        bench.prepare()
        return bench
