"""Functions that bpftrace lacks: changing a running program's map, and measuring the cost of programs.

They call bpf(2), with numbers and structures from include/uapi/linux/bpf.h.
"""

import ctypes
import os
import re
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tuneproof.errors import CannotRunHereError
from tuneproof.watch.program import Architecture

_MAP_UPDATE: Final = 2
_MAP_DELETE: Final = 3
_MAP_BY_ID: Final = 14
_INFO: Final = 15
_ENABLE_STATS: Final = 32
_MAP: Final = re.compile(
    r"^key_size:\s*(?P<key_size>\d+)$.*^value_size:\s*(?P<value_size>\d+)$.*^map_id:\s*(?P<number>\d+)$",
    re.MULTILINE | re.DOTALL,
)
_RUNS: Final = re.compile(r"^(prog_id|run_time_ns):\s*(\d+)$", re.MULTILINE)
# struct bpf_map_info: six numbers, then the name.
_INFO_BYTES: Final = 40
_NAME_AT: Final = 24
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class KernelMap:
    """A map in a program that another process has loaded."""

    def __init__(self, here: Architecture, *, owner: Path, name: str) -> None:
        """Find the map.

        Args:
            here: The architecture, which has the number of bpf(2).
            owner: The folder in /proc of the process that owns the map.
            name: The map's name in bpftrace's program, without the @.

        CannotRunHereError: The kernel denies access, or there is no such map.
        """
        self._here = here
        for text in _descriptions(owner):
            if found := _MAP.search(text):
                self._sizes = int(found["key_size"]), int(found["value_size"])
                self._descriptor = _checked(_bpf(here, _MAP_BY_ID, "3I", int(found["number"]), 0, 0))
                info = ctypes.create_string_buffer(_INFO_BYTES)
                _checked(_bpf(here, _INFO, "IIQ", self._descriptor, _INFO_BYTES, ctypes.addressof(info)))
                # bpftrace replaces the @ with letters, since the kernel rejects it.
                if info.raw[_NAME_AT:].rstrip(b"\0").endswith(name.encode("ascii")):
                    return
                self.close()
        raise CannotRunHereError(f"bpftrace did not create the map {name}.", remedy="install another bpftrace version")

    def put(self, key: int, value: int) -> None:
        """Set an entry. CannotRunHereError: The kernel refuses."""
        _checked(self._change(_MAP_UPDATE, key, value))

    def drop(self, key: int) -> None:
        """Remove an entry, if there is one."""
        self._change(_MAP_DELETE, key, 0)

    def close(self) -> None:
        """Close the descriptor; the map remains in its program."""
        os.close(self._descriptor)

    def _change(self, command: int, *entry: int) -> int:
        # bpf(2) gets the addresses of both objects, which must outlive the call.
        key, value = (
            ctypes.create_string_buffer(number.to_bytes(size, sys.byteorder), size)
            for number, size in zip(entry, self._sizes, strict=True)
        )
        addresses = ctypes.addressof(key), ctypes.addressof(value)
        return _bpf(self._here, command, "IIQQQ", self._descriptor, 0, *addresses, 0)


def _bpf(here: Architecture, command: int, layout: str, *attributes: int) -> int:
    packed = struct.pack(layout, *attributes)
    done: int = _LIBC.syscall(here.bpf, command, packed, len(packed))
    return done


def _checked(done: int) -> int:
    if done < 0:
        raise CannotRunHereError(
            f"The kernel refuses access to bpftrace's map of workers: {os.strerror(ctypes.get_errno())}.",
            remedy="run this on the host as root, or in a container with CAP_SYS_ADMIN",
        )
    return done


class Accounting:
    """The kernel's accounting of BPF programs' run time (bpf_stats) while this is open; since Linux 5.8."""

    def __init__(self, here: Architecture) -> None:
        self._descriptor = _bpf(here, _ENABLE_STATS, "I", 0)

    @property
    def works(self) -> bool:
        """Whether the accounting is on."""
        return self._descriptor >= 0

    def close(self) -> None:
        """End the accounting."""
        if self.works:
            os.close(self._descriptor)
            self._descriptor = -1


def run_time_ns(owner: Path) -> int:
    """Return how long a process's BPF programs have run while accounting was on; ``owner``: its folder in /proc."""
    programs: dict[int, int] = {}
    for text in _descriptions(owner):
        fields = {name: int(value) for name, value in _RUNS.findall(text)}
        if "prog_id" in fields:
            programs[fields["prog_id"]] = fields.get("run_time_ns", 0)
    return sum(programs.values())


def _descriptions(owner: Path) -> Iterator[str]:
    with suppress(OSError):
        for each in (owner / "fdinfo").iterdir():
            with suppress(OSError):
                yield each.read_text(encoding="ascii")
