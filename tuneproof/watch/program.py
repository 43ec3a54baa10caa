"""The program that bpftrace runs, and what its lines say.

Between the return of ``epoll_wait`` and the next call to it a worker serves nobody else: that is one iteration of its
event loop. The program adds up iterations in the kernel and prints once a second; an iteration of 5 ms or longer is
printed by itself, so that one worker causes 200 such lines a second at most. It needs system-call tracepoints and
sched_switch, no symbols, and the thread ids of the kernel's own PID namespace.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from string import Template
from types import MappingProxyType
from typing import Final

LONG_NS: Final = 5_000_000
"""From here on an iteration is printed by itself. A request takes several iterations, so that its client waits for
several of these: half of 5 ms ten times is what a person begins to notice."""
_YOUNG_NS: Final = 200_000
"""Until here nothing is noted of an iteration's calls but their bytes: what ends soon needs no explanation."""
_GAP_NS: Final = 200_000


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Numbers of system calls that a worker may spend its time in; others are told by number.

    From the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; the choice from
    nginx's src/os/unix, src/event and src/core, and what modules of Lua and Perl do.
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
_HEAD: Final = Template("""\
BEGIN {
    // Without these a program that times no calls would have maps of no type.
    @paused[0] = (uint64)0;
    @enter[0] = ((uint64)0, (uint64)0, (uint64)0, (uint64)0);
    @which[0] = (int64)0;
    @on[0] = (uint64)0;
    @made[0] = count();
    @read[0] = sum((uint64)0);
    @written[0] = sum((uint64)0);
    @sockaddr[0, (uint64)0] = (uint64)0;
    @of[0] = (uint64)0;
    @calls_ns[0, (int64)0, (uint64)0, (uint64)0] = sum((uint64)0);
    @calls_bytes[0, (int64)0, (uint64)0, (uint64)0] = sum((uint64)0);
    printf("began %d %llu", pid, nsecs);
}

tracepoint:syscalls:sys_exit_epoll_wait, tracepoint:syscalls:sys_exit_epoll_pwait / $watched / {
    @start[tid] = (nsecs, (uint64)args->ret);
}

tracepoint:syscalls:sys_enter_epoll_wait, tracepoint:syscalls:sys_enter_epoll_pwait / $watched / {
    $$began = @start[tid];
    // Zero in epoll_wait: what happens there is no iteration's.
    @start[tid] = ((uint64)0, (uint64)0);
    $$start = $$began.0;
    if ($$start == 0) { return; }
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

tracepoint:sched:sched_switch / $leaves || $comes / {
    if (($leaves) && @start[args->prev_pid].0) {
        @off[args->prev_pid] = (nsecs, (uint64)args->prev_state);
    }
    if ($comes) {
        $$it = args->next_pid;
        $$start = @start[$$it].0;
        if ($$start == 0) { return; }
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
    print(@made);
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
// Before the other one, since probes are taken away in their order: without that one an exit is an earlier call's.
tracepoint:raw_syscalls:sys_exit / $detailed / {
    $$id = args->id;
    if ($waits) { return; }
    $$start = @start[tid].0;
    $$ret = args->ret;
    if ($replaces) {
        // From here on the descriptor is another one: a client, an upstream, or none.
        $$by = @enter[tid];
        if ($$by.0 == 0) { return; }
        if ($accepts) {
            if ($$ret >= 0) { @sockaddr[tid, (uint64)$$ret] = *(uint64 *)uptr($$by.3) | $accepted; }
        } else if ($connects) {
            @sockaddr[tid, $$by.2] = *(uint64 *)uptr($$by.3);
        } else {
            @sockaddr[tid, $$by.2] = (uint64)$closed;
        }
    }
    if ($$start == 0 || (($$start >> 4) & $untimed)) { return; }
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

tracepoint:raw_syscalls:sys_enter / $detailed / {
    $$id = args->id;
    if ($waits) { return; }
    $$start = @start[tid].0;
    // What a descriptor becomes is noted in an iteration that began before this program, too.
    if (($$start == 0 || (($$start >> 4) & $untimed)) && !($replaces)) { return; }
    @made[tid] = count();
    @enter[tid] = (nsecs, (uint64)@paused[tid], (uint64)args->args[0], (uint64)args->args[1]);
}
""")
_LATE_PATH_NS: Final = 1_000_000
ACCEPTED: Final = 0x8000
"""Beside the family, in the first eight bytes of a socket's address: it is a client's."""
CLOSED: Final = 0xFFFF
"""In place of an address: the descriptor was closed, and has no address since."""
PROGRAMS_OF_ITERATIONS: Final = 4
"""How many of the programs, the first ones, run at everybody's epoll_wait; an iteration runs two."""
PROGRAM_OF_SWITCHES: Final = 4
"""Which of the programs runs at every context switch of every process."""
PROGRAMS_OF_CALLS: Final = 2
"""How many of the programs, the last ones, run at every system call of every process."""


def program(
    here: Architecture, *, watched: Collection[int], detailed: Collection[int], every: int = 1, timed: int = 1
) -> str:
    """Return the program for some workers.

    Args:
        here: The architecture that it runs on.
        watched: Thread ids of workers in the kernel's own PID namespace; at least one.
        detailed: Those among them whose calls are timed.
        every: A power of two: of as many iterations shorter than :data:`LONG_NS` about one is counted.
        timed: A power of two: in one of as many iterations calls are timed.
    """
    text = _HEAD.substitute(
        watched=_any("tid", watched),
        leaves=_any("args->prev_pid", watched),
        comes=_any("args->next_pid", watched),
        mask=every - 1,
        young=_YOUNG_NS,
        long=LONG_NS,
        least_gap=_GAP_NS,
    )
    if not detailed:
        return text

    def one_of(names: Collection[str]) -> str:
        return _any("$id", here.numbers(names))

    return text + _CALLS.substitute(
        detailed=_any("tid", detailed),
        waits=_any("$id", here.waits),
        reads=one_of(READS),
        writes=one_of(WRITES),
        second=one_of(_SECOND_IS_PATH | {"sendfile"}),
        paths=one_of(_FIRST_IS_PATH | _SECOND_IS_PATH),
        replaces=one_of({"accept4", "connect", "close"}),
        accepts=one_of({"accept4"}),
        connects=one_of({"connect"}),
        accepted=ACCEPTED,
        closed=CLOSED,
        untimed=timed - 1,
        young=_YOUNG_NS,
        late_path=_LATE_PATH_NS,
    )


def _any(what: str, ids: Collection[int]) -> str:
    return " || ".join(f"{what} == {each}" for each in sorted(ids)) or "0"
