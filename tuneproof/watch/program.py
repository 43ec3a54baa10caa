"""The program that bpftrace runs, and its output format.

From when ``epoll_wait`` returns until it is called again, new events wait: that is one iteration of the event loop. The
program adds up iterations in the kernel and prints once a second; it prints each iteration of 5 ms or longer
separately, so one worker causes at most 200 such lines a second. It needs system-call tracepoints, sched_switch, and
the thread ids in the kernel's own PID namespace, but no symbols.

The watched threads are not in the program's text: they are the keys of the map ``@watched``, which the caller changes
while the program runs. The program's size is therefore the same for 1 worker and for 128.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from string import Template
from types import MappingProxyType
from typing import Final

LONG_NS: Final = 5_000_000
"""The duration from which an iteration is printed separately. A request takes several iterations, so its client may
wait for several long ones."""
_YOUNG_NS: Final = 200_000
"""Up to this duration, only the bytes of an iteration's calls are recorded, since a short one needs no explanation."""
_GAP_NS: Final = 200_000


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Numbers of system calls in which a worker may spend its time; others are shown by number.

    The numbers are from the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; the
    selection covers nginx's src/os/unix, src/event and src/core, and the Lua and Perl modules.
    """

    bpf: int
    waits: tuple[int, ...]
    names: Mapping[int, str]

    def numbers(self, names: Collection[str]) -> frozenset[int]:
        """Return the numbers of calls."""
        return frozenset(number for number, name in self.names.items() if name in names)

    @property
    def path_calls(self) -> frozenset[int]:
        """The calls on a path."""
        return self.numbers(_FIRST_IS_PATH | _SECOND_IS_PATH)

    @property
    def file_calls(self) -> frozenset[int]:
        """The calls on a descriptor."""
        return self.numbers(READS | WRITES | _OTHERS_ON_FILES)


X86_64: Final = Architecture(
    bpf=321,
    waits=(232, 281),
    names=MappingProxyType(
        {
            0: "read", 1: "write", 2: "open", 3: "close", 4: "stat", 5: "fstat", 7: "poll", 9: "mmap", 11: "munmap",
            12: "brk", 16: "ioctl", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev", 28: "madvise",
            35: "nanosleep", 40: "sendfile", 42: "connect", 44: "sendto", 45: "recvfrom", 46: "sendmsg",
            47: "recvmsg", 74: "fsync", 77: "ftruncate", 82: "rename", 83: "mkdir", 87: "unlink", 202: "futex",
            206: "io_setup", 209: "io_submit", 217: "getdents64", 230: "clock_nanosleep", 257: "openat",
            262: "newfstatat", 263: "unlinkat", 271: "ppoll", 288: "accept4", 295: "preadv", 296: "pwritev",
            318: "getrandom", 332: "statx",
        }
    ),
)  # fmt: skip
AARCH64: Final = Architecture(
    bpf=280,
    waits=(22,),
    names=MappingProxyType(
        {
            2: "io_submit", 29: "ioctl", 34: "mkdirat", 35: "unlinkat", 38: "renameat", 46: "ftruncate", 56: "openat",
            57: "close", 61: "getdents64", 63: "read", 64: "write", 65: "readv", 66: "writev", 67: "pread64",
            68: "pwrite64", 69: "preadv", 70: "pwritev", 71: "sendfile", 73: "ppoll", 79: "newfstatat", 80: "fstat",
            82: "fsync", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep", 203: "connect", 206: "sendto",
            207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 214: "brk", 215: "munmap", 222: "mmap", 233: "madvise",
            242: "accept4", 276: "renameat2", 278: "getrandom", 291: "statx",
        }
    ),
)  # fmt: skip
ARCHITECTURES: Final = MappingProxyType({"x86_64": X86_64, "aarch64": AARCH64})
READS: Final = frozenset({"recvfrom", "readv", "read", "recvmsg", "pread64", "preadv"})
WRITES: Final = frozenset({"sendto", "writev", "write", "sendmsg", "sendfile", "pwrite64", "pwritev"})
_OTHERS_ON_FILES: Final = frozenset(
    {"close", "fstat", "ioctl", "fsync", "ftruncate", "connect", "accept4", "getdents64"}
)
_FIRST_IS_PATH: Final = frozenset({"open", "stat", "unlink", "rename", "mkdir"})
_SECOND_IS_PATH: Final = frozenset({"openat", "newfstatat", "unlinkat", "renameat", "renameat2", "mkdirat", "statx"})
WATCHED: Final = "watched"
"""The name of the map of watched threads, without bpftrace's @."""
STARTS: Final = "start"
"""The name of the map with the starts of threads' iterations; the caller removes threads that it no longer watches."""


class Level(Enum):
    """The levels of detail."""

    CALLS = "every iteration is counted and system calls after its first 0.2 ms are timed"
    ITERATIONS = "one in 16 iterations under 5 ms is counted and no system call is timed"

    @property
    def every(self) -> int:
        """The number of iterations of which the histogram counts one; a power of two."""
        return 1 if self is Level.CALLS else 16


_HEAD: Final = Template("""\
BEGIN {
    @watched[(uint64)0] = (uint64)0;
    // Without these, a program that times no calls would have maps without a type.
    @paused[0] = (uint64)0;
    @enter[0] = ((uint64)0, (uint64)0, (uint64)0, (uint64)0);
    @which[0] = (int64)0;
    @on[0] = (uint64)0;
    @read[0] = sum((uint64)0);
    @written[0] = sum((uint64)0);
    @sockaddr[0, (uint64)0] = (uint64)0;
    @full[0] = (uint64)0;
    @of[0] = (uint64)0;
    @calls_ns[0, (int64)0, (uint64)0, (uint64)0] = sum((uint64)0);
    @calls_bytes[0, (int64)0, (uint64)0, (uint64)0] = sum((uint64)0);
    printf("began %d", pid);
}

tracepoint:syscalls:sys_exit_epoll_wait, tracepoint:syscalls:sys_exit_epoll_pwait / @watched[tid] / {
    @start[tid] = (nsecs, (uint64)args->ret);
}

tracepoint:syscalls:sys_enter_epoll_wait, tracepoint:syscalls:sys_enter_epoll_pwait {
    // Threads that are not watched have no entry.
    $$began = @start[tid];
    $$start = $$began.0;
    if ($$start == 0) { return; }
    // Zero during epoll_wait, since what happens there does not belong to an iteration.
    @start[tid] = ((uint64)0, (uint64)0);
    $$took = nsecs - $$start;
    if ((($$start >> 4) & $mask) == 0) {
        @took[tid] = hist($$took);
        @busy[tid] = sum($$took);
    }
    if ($$took < $young) { return; }
    if ($$took >= $long) {
        $$gaps = (uint64)(@gaps_of[tid] == $$start);
        printf("long %d %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %d %llu %llu", tid,
            $$start, $$took, $$began.1, $$gaps * @waited[tid], $$gaps * @blocked[tid], $$gaps * @stopped[tid],
            @called[tid], @read_late[tid], @written_late[tid], @longest[tid], @which[tid], @on[tid], @of[tid]);
    }
    if (@called[tid]) {
        @called[tid] = (uint64)0;
        @read_late[tid] = (uint64)0;
        @written_late[tid] = (uint64)0;
        @longest[tid] = (uint64)0;
    }
}

tracepoint:sched:sched_switch {
    if (@start[(uint64)args->prev_pid].0) {
        @off[(uint64)args->prev_pid] = (nsecs, (uint64)args->prev_state);
    }
    $$it = (uint64)args->next_pid;
    $$start = @start[$$it].0;
    if ($$start) {
        $$left = @off[$$it];
        @off[$$it] = ((uint64)0, (uint64)0);
        $$gap = nsecs - $$left.0;
        if ($$left.0 == 0 || $$gap < $least_gap) { return; }
        // Gaps of an earlier iteration are not this one's.
        if (@gaps_of[$$it] != $$start) {
            @gaps_of[$$it] = $$start;
            @waited[$$it] = (uint64)0;
            @blocked[$$it] = (uint64)0;
            @stopped[$$it] = (uint64)0;
        }
        if ($$left.1 & 0xc) {
            @stopped[$$it] += $$gap;
            @paused[$$it] += $$gap;
        } else if ($$left.1 & 0xff) {
            @blocked[$$it] += $$gap;
        } else {
            @waited[$$it] += $$gap;
            @paused[$$it] += $$gap;
        }
    }
}

interval:s:1 {
    print(@start);
    print(@off);
    print(@gaps_of);
    print(@waited);
    print(@blocked);
    print(@stopped);
    print(@called);
    print(@took);
    print(@busy);
    print(@full);
    print(@read);
    print(@written);
    print(@calls_ns);
    print(@calls_bytes);
    clear(@calls_ns);
    clear(@calls_bytes);
    printf("second %llu", nsecs);
}
""")
_CALLS: Final = Template("""
// Before the other probe, since probes are removed in order: without sys_enter, an exit would be an earlier call's.
tracepoint:raw_syscalls:sys_exit / @watched[tid] / {
    $$id = args->id;
    if ($waits) { return; }
    $$start = @start[tid].0;
    $$ret = args->ret;
    if ($replaces) {
        // From here on, the descriptor is another one: a client's, an upstream's, or none.
        $$by = @enter[tid];
        if ($$by.0 == 0) { return; }
        $$of = (uint64)$closed;
        $$on = $$by.2;
        if ($accepts) {
            $$of = *(uint64 *)uptr($$by.3) | $accepted;
            $$on = (uint64)$$ret;
        } else if ($connects) {
            $$of = *(uint64 *)uptr($$by.3);
        }
        if ($$ret >= 0 || !($accepts)) {
            @sockaddr[tid, $$on] = $$of;
            // A full map does not take a new descriptor: without this, the collector would report the one before it.
            if (@sockaddr[tid, $$on] != $$of) { @full[tid] = (uint64)1; }
        }
    }
    if ($$start == 0) { return; }
    $$moved = (uint64)0;
    $$reads = $reads;
    $$writes = $writes;
    if ($$ret > 0 && ($$reads || $$writes)) {
        $$moved = (uint64)$$ret;
        if ($$reads) {
            @read[tid] = sum($$moved);
        } else {
            @written[tid] = sum($$moved);
        }
    }
    $$now = nsecs;
    if ($$now - $$start >= $young) {
        $$by = @enter[tid];
        if ($$by.0 < $$start) { return; }
        $$took = $$now - $$by.0 - ((uint64)@paused[tid] - $$by.1);
        $$on = $$by.2;
        if ($second) { $$on = $$by.3; }
        $$of = @sockaddr[tid, $$on];
        @called[tid] += $$took;
        if ($$took > @longest[tid]) {
            @longest[tid] = $$took;
            @which[tid] = $$id;
            @on[tid] = $$on;
            @of[tid] = $$of;
        }
        if ($paths) {
            if ($$took >= $late_path) { printf("path %d %d %llu %s", tid, $$id, $$took, str(uptr($$on))); }
            $$on = (uint64)0;
        }
        if ($$reads) { @read_late[tid] += $$moved; }
        if ($$writes) { @written_late[tid] += $$moved; }
        @calls_ns[tid, $$id, $$on, $$of] = sum($$took);
        @calls_bytes[tid, $$id, $$on, $$of] = sum($$moved);
    }
}

tracepoint:raw_syscalls:sys_enter / @watched[tid] / {
    $$id = args->id;
    if ($waits) { return; }
    $$start = @start[tid].0;
    // Descriptors are tracked even in an iteration that began before this program.
    if ($$start == 0 && !($replaces)) { return; }
    @enter[tid] = (nsecs, (uint64)@paused[tid], (uint64)args->args[0], (uint64)args->args[1]);
}
""")
_LATE_PATH_NS: Final = 1_000_000
ACCEPTED: Final = 0x8000
"""A bit added to the family, in the first eight bytes of a socket's address, if the socket is a client's."""
CLOSED: Final = 0xFFFF
"""A mark instead of an address, if the descriptor was closed and has had no address since."""


def program(here: Architecture, level: Level) -> str:
    """Return the program's text for an architecture and a level of detail."""
    text = _HEAD.substitute(mask=level.every - 1, young=_YOUNG_NS, long=LONG_NS, least_gap=_GAP_NS)
    if level is Level.ITERATIONS:
        return text

    def one_of(numbers: Collection[int]) -> str:
        return " || ".join(f"$id == {each}" for each in sorted(numbers))

    return text + _CALLS.substitute(
        waits=one_of(here.waits),
        reads=one_of(here.numbers(READS)),
        writes=one_of(here.numbers(WRITES)),
        second=one_of(here.numbers(_SECOND_IS_PATH | {"sendfile"})),
        paths=one_of(here.path_calls),
        replaces=one_of(here.numbers({"accept4", "connect", "close"})),
        accepts=one_of(here.numbers({"accept4"})),
        connects=one_of(here.numbers({"connect"})),
        accepted=ACCEPTED,
        closed=CLOSED,
        young=_YOUNG_NS,
        late_path=_LATE_PATH_NS,
    )
