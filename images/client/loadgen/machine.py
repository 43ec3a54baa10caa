"""What the whole machine did during the window: CPU time from /proc/stat (proc(5)), as a share of all CPU time.

/proc/stat is not namespaced: a container sees the machine's figures.
"""

from dataclasses import dataclass
from pathlib import Path

_STEAL = 7
_IDLE = (3, 4)


@dataclass(frozen=True, kw_only=True)
class CpuTimes:
    """Jiffies since boot over all CPUs, in the order of /proc/stat's first line without the guest columns."""

    jiffies: tuple[int, ...]

    @classmethod
    def read(cls) -> "CpuTimes":
        """Read the machine's counters."""
        return cls.parse(Path("/proc/stat").read_text(encoding="ascii"))

    @classmethod
    def parse(cls, text: str) -> "CpuTimes":
        """Parse the text of /proc/stat."""
        # Guest time is already contained in user and nice.
        return cls(jiffies=tuple(int(column) for column in text.splitlines()[0].split()[1:9]))

    def since(self, earlier: "CpuTimes") -> dict[str, float]:
        """Return the busy and the stolen share of the time between two readings, in percent."""
        deltas = [now - before for now, before in zip(self.jiffies, earlier.jiffies, strict=True)]
        total = sum(deltas)
        if total == 0:
            return {"busy_pct": 0.0, "steal_pct": 0.0}
        idle = sum(deltas[column] for column in _IDLE)
        steal = deltas[_STEAL]
        return {"busy_pct": 100 * (total - idle - steal) / total, "steal_pct": 100 * steal / total}
