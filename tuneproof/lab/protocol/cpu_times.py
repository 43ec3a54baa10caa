"""CPU time of the whole machine from /proc/stat (proc(5)), which is not namespaced."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_STEAL: Final = 7
_IDLE: Final = (3, 4)


@dataclass(frozen=True, kw_only=True)
class MachineShares:
    """The use of a machine's CPUs during a period, in percent of all CPU time."""

    busy_pct: float = 0.0
    steal_pct: float = 0.0  # taken by the hypervisor


@dataclass(frozen=True, kw_only=True)
class CpuTimes:
    """CPU time since boot over all CPUs, in units of USER_HZ: /proc/stat's first line without the guest columns."""

    jiffies: tuple[int, ...]

    @classmethod
    def read(cls) -> Self:
        """Read the machine's counters."""
        return cls.parse(Path("/proc/stat").read_text(encoding="ascii"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text of /proc/stat."""
        # Guest time is already included in user and nice.
        return cls(jiffies=tuple(int(column) for column in text.splitlines()[0].split()[1:9]))

    def since(self, earlier: Self) -> MachineShares:
        """Return the use of the CPUs between two readings; zeros if no time has passed."""
        deltas = [now - before for now, before in zip(self.jiffies, earlier.jiffies, strict=True)]
        total = sum(deltas)
        if total == 0:
            return MachineShares()
        idle = sum(deltas[column] for column in _IDLE)
        steal = deltas[_STEAL]
        return MachineShares(busy_pct=100 * (total - idle - steal) / total, steal_pct=100 * steal / total)
