"""What one trial is asked to do: the JSON object that comes with ``prepare``."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """One trial.

    Attributes:
        address: IPv4 address of the subject.
        port: TCP port of the subject.
        trial: Label of the trial; sent as X-Trial with every request.
        workers: Number of nginx workers; all are found before the trial starts, unless nothing is asked of single ones.
        bulk_per_worker: Number of bulk downloads placed on each worker, in ascending order of process id.
        bulk_path: Path of the bulk file.
        fast_rate_hz: Fast requests started per second, each on a fresh connection; 0 for none.
        fast_path: Path of the small file.
        fast_timeout_s: Time limit of a fast request, connection included.
        baseline_s: Length of an unloaded phase before the bulk downloads, in which fast requests run one after another.
        probe_interval_s: Time between two probes of one worker.
        measure_s: Length of the window in which samples count.
        place_timeout_s: Longest time to find the connections to the wanted workers.
        probes: Whether this program probes the workers (default: yes); otherwise another one does meanwhile.
    """

    address: str
    port: int
    trial: str
    workers: int
    bulk_per_worker: tuple[int, ...]
    bulk_path: str
    fast_rate_hz: float
    fast_path: str
    fast_timeout_s: float
    baseline_s: float
    probe_interval_s: float
    measure_s: float
    place_timeout_s: float
    probes: bool = True

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "TrialSpec":
        """Build from a decoded JSON object; unknown or missing fields raise TypeError."""
        spec = cls(**fields)
        return replace(spec, bulk_per_worker=tuple(spec.bulk_per_worker))
