"""The recorder, built by this machine's compiler, and programs that run under it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT
from tuneproof.lab.engine.images import IMAGES_FOLDER

FOLDER = IMAGES_FOLDER / "subject/recorder"


def build(into: Path) -> Path:
    """Return the library, built as in the image, with the tracer next to it; skip if this machine cannot build it."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here (cc)")
    library = into / "recorder.so"
    subprocess.run(["sh", str(FOLDER / "build.sh"), str(into)], check=True)
    return library


def run(library: Path, program: str, *, folder: Path, proc: Path, traces: bool = False) -> str:
    """Run a Python program under the recorder and return its output; at its end, its children are killed.

    proc: an empty folder for a process table. traces: whether the tracer records the program, in place of the library.
    """
    environment = {
        **os.environ,
        **({} if traces else {"LD_PRELOAD": str(library)}),
        "TUNEPROOF_RECORDER_FOLDER": str(folder),
        "TUNEPROOF_TRACER_FOLDER": str(folder),
        # As in the image: its own packages, and those that it shares with the lab.
        "PYTHONPATH": f"{IMAGES_FOLDER / 'netadmin'}{os.pathsep}{CHECKOUT}",
    }
    prologue = _PROLOGUE.format(proc=str(proc), folder=str(folder))
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        running = subprocess.Popen(
            [*([str(library.with_name("tracer"))] if traces else []), sys.executable, "-c", f"{prologue}\n{program}"],
            env=environment,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        # Children of the program may never end, so they are killed once the program itself has ended.
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        os.killpg(running.pid, signal.SIGKILL)
        status = running.wait()
        _end_traced(folder)
        output.seek(0)
        errors.seek(0)
        assert status == 0, errors.read()
        return output.read()


def _end_traced(folder: Path) -> None:
    """Kill the tracers that keep their records in a folder, and the programs that they trace."""
    setting = f"TUNEPROOF_TRACER_FOLDER={folder}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # the process ended meanwhile, or belongs to another user
            if setting in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGKILL)


# A reader opens /proc/PID/stat, and the recorder's files in /proc/PID/root/dev/shm.
_PROLOGUE = """\
import json, os, pathlib, select, socket, sys, tempfile, threading, time
from netadmin import recorder
from tuneproof.lab.protocol.codec import to_plain

PROC, FOLDER = pathlib.Path({proc!r}), pathlib.Path({folder!r})

def entry():
    place = PROC / str(os.getpid())
    if place.exists():
        return
    (place / "root/dev").mkdir(parents=True)
    (place / "root/dev/shm").symlink_to(FOLDER)
    (place / "stat").symlink_to(f"/proc/{{os.getpid()}}/stat")

def read(pid=None):
    reader = recorder.Reader(pid or os.getpid(), proc=PROC)
    record = reader.read()
    reader.close()
    return record

def tell(record):
    print(json.dumps({{"begun": record.begun, **to_plain(record.of_worker(os.getpid(), unfinished=False))}}))

entry()
poller = select.epoll()
"""
