"""What bpftrace has no command for: a map of a running program, and the kernel's account of what programs cost.

By bpf(2); structures and numbers from include/uapi/linux/bpf.h.
"""

import ctypes
import os
import re
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
_MAP_ID: Final = re.compile(r"^map_id:\s*(\d+)$", re.MULTILINE)
_RUNS: Final = re.compile(r"^(prog_id|run_time_ns|run_cnt):\s*(\d+)$", re.MULTILINE)
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Info(ctypes.Structure):
    """The beginning of struct bpf_map_info."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("key_size", ctypes.c_uint32),
        ("value_size", ctypes.c_uint32),
        ("max_entries", ctypes.c_uint32),
        ("map_flags", ctypes.c_uint32),
        ("name", ctypes.c_char * 16),
    )


class _OfObject(ctypes.Structure):
    """The attributes for BPF_OBJ_GET_INFO_BY_FD."""

    _fields_ = (("descriptor", ctypes.c_uint32), ("size", ctypes.c_uint32), ("info", ctypes.c_void_p))


class _OfEntry(ctypes.Structure):
    """The attributes for BPF_MAP_UPDATE_ELEM and BPF_MAP_DELETE_ELEM."""

    _fields_ = (
        ("descriptor", ctypes.c_uint32),
        ("_", ctypes.c_uint32),
        ("key", ctypes.c_void_p),
        ("value", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    )


class KernelMap:
    """A map of a program that another process has loaded."""

    def __init__(self, here: Architecture, *, owner: Path, name: str) -> None:
        """Find it.

        Args:
            here: Whose number of bpf(2) is used.
            owner: The folder of the owner's process in /proc.
            name: As in bpftrace's program, without the @.

        CannotRunHereError: The kernel does not hand it out, or there is none.
        """
        self._bpf = here.bpf
        for text in _descriptions(owner):
            if found := _MAP_ID.search(text):
                self._descriptor = self._call(_MAP_BY_ID, (ctypes.c_uint32 * 3)(int(found[1])))
                info = _Info()
                size = ctypes.sizeof(info)
                asked = _OfObject(descriptor=self._descriptor, size=size, info=ctypes.addressof(info))
                self._call(_INFO, asked)
                # bpftrace replaces the @, which the kernel does not take, by letters.
                if bytes(info.name).decode("ascii", "replace").endswith(name):
                    self._key_size, self._value_size = info.key_size, info.value_size
                    return
                os.close(self._descriptor)
        raise CannotRunHereError(f"bpftrace has made no map {name}.", remedy="another version of bpftrace")

    def put(self, key: int, value: int) -> None:
        """Set an entry. CannotRunHereError: The kernel refuses."""
        self._change(_MAP_UPDATE, key, value)

    def drop(self, key: int) -> None:
        """Remove an entry, if there is one."""
        with suppress(CannotRunHereError):
            self._change(_MAP_DELETE, key, 0)

    def close(self) -> None:
        """Give the map back; it lives on with its program."""
        os.close(self._descriptor)

    def _change(self, command: int, key: int, value: int) -> None:
        packed_key, packed_value = _packed(key, self._key_size), _packed(value, self._value_size)
        entry = _OfEntry(
            descriptor=self._descriptor, key=ctypes.addressof(packed_key), value=ctypes.addressof(packed_value)
        )
        self._call(command, entry)

    def _call(self, command: int, attributes: "ctypes.Structure | ctypes.Array[ctypes.c_uint32]") -> int:
        done: int = _LIBC.syscall(self._bpf, command, ctypes.byref(attributes), ctypes.sizeof(attributes))
        if done < 0:
            raise CannotRunHereError(
                f"The kernel does not let us choose the workers: {os.strerror(ctypes.get_errno())}.",
                remedy="on the host as root, or in a container with CAP_SYS_ADMIN",
            )
        return done


def _packed(number: int, size: int) -> "ctypes.Array[ctypes.c_char]":
    return ctypes.create_string_buffer(number.to_bytes(size, sys.byteorder), size)


class Accounting:
    """The kernel's account of BPF programs' run time (bpf_stats), kept as long as this is open; since Linux 5.8."""

    def __init__(self, here: Architecture) -> None:
        attributes = (ctypes.c_uint32 * 1)(0)
        self._descriptor: int = _LIBC.syscall(here.bpf, _ENABLE_STATS, ctypes.byref(attributes), 4)

    @property
    def works(self) -> bool:
        """Whether the kernel keeps it."""
        return self._descriptor >= 0

    def close(self) -> None:
        """End it."""
        if self.works:
            os.close(self._descriptor)
            self._descriptor = -1


def run_time_ns(owner: Path) -> int:
    """Return how long the programs of a process (its folder in /proc) have run while the kernel kept account."""
    programs: dict[int, int] = {}
    for text in _descriptions(owner):
        fields = {name: int(value) for name, value in _RUNS.findall(text)}
        if "prog_id" in fields:
            programs[fields["prog_id"]] = fields.get("run_time_ns", 0)
    return sum(programs.values())


def _descriptions(owner: Path) -> Iterator[str]:
    """Yield what the kernel says of each descriptor of a process."""
    with suppress(OSError):
        for each in (owner / "fdinfo").iterdir():
            with suppress(OSError):
                yield each.read_text(encoding="ascii")
