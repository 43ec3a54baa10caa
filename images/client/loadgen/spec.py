"""What one trial is asked to do: the JSON object given on the command line."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """One trial.

    Attributes:
        address: IPv4 address of the subject.
        port: TCP port of the subject.
        trial: Label of the trial; sent as X-Trial with every request.
        workers: Number of nginx workers; the trial finds one connection to each before it starts.
        bulk_per_worker: Number of bulk downloads placed on each worker, in ascending order of process id.
        bulk_path: Path of the bulk file.
        fast_rate_hz: Fast requests started per second, each on a fresh connection; 0 for none.
        fast_path: Path of the small file.
        fast_timeout_s: Time limit of a fast request, connection included.
        baseline_s: Length of an unloaded phase before the bulk downloads, in which fast requests run one after another.
        probe_interval_s: Time between two probes of one worker.
        settle_s: Time from the start of the bulk downloads to the start of the window.
        measure_s: Length of the window in which samples count.
        place_timeout_s: Longest time to find the connections to the wanted workers.
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
    settle_s: float
    measure_s: float
    place_timeout_s: float

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "TrialSpec":
        """Build from a decoded JSON object; unknown or missing fields raise TypeError."""
        spec = cls(**fields)
        return replace(spec, bulk_per_worker=tuple(spec.bulk_per_worker))
