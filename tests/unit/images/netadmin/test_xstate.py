"""The library that lets a user-mode kernel restore only the registers that it supports, on CPUs with more registers."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the registers are those of x86-64")

# A tracer that reads a stopped child's extended state, writes back a given part, and prints the result.
TRACER = """
import ctypes, os, signal, sys
TRACEME, GETREGSET, SETREGSET, XSTATE = 0, 0x4204, 0x4205, 0x202
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
ptrace.restype = ctypes.c_long
child = os.fork()
if not child:
    ptrace(TRACEME, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
os.waitpid(child, 0)
state = ctypes.create_string_buffer(65536)
vector = Vector(ctypes.addressof(state), len(state))
assert ptrace(GETREGSET, child, XSTATE, ctypes.addressof(vector)) == 0
all_bytes = vector.length
vector.length -= int(sys.argv[1])
result = ptrace(SETREGSET, child, XSTATE, ctypes.addressof(vector))
os.kill(child, signal.SIGKILL)
print(result, all_bytes)
"""


def handed_back(less_bytes: int, library: str = "") -> bool:
    """Return whether the kernel accepted a child's extended state with this many bytes missing at its end."""
    command = [sys.executable, "-c", TRACER, str(less_bytes)]
    ran = subprocess.run(command, env={"LD_PRELOAD": library}, capture_output=True, text=True, check=True)
    result, all_bytes = map(int, ran.stdout.split())
    assert all_bytes > 64, "there should be something to leave out"
    return result == 0


def test_a_part_of_the_registers_is_accepted_only_with_the_library(tmp_path: Path) -> None:
    library = tmp_path / "xstate.so"
    subprocess.run(["sh", str(CHECKOUT / "images/netadmin/xstate/build.sh"), str(library)], check=True)
    assert [handed_back(less) for less in (0, 64)] == [True, False]
    assert [handed_back(less, str(library)) for less in (0, 64)] == [True, True]
