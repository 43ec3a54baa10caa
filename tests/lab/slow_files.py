"""Makes a file slow to open or read: the kernel waits for this process's permission, as for a virus scanner's."""

import ctypes
import os
import select
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

OPEN: Final = 0x10000  # FAN_OPEN_PERM
READ: Final = 0x20000  # FAN_ACCESS_PERM
_CLASS_CONTENT: Final = 4
_MARK_ADD: Final = 1
_AT_FDCWD: Final = -100
_ALLOW: Final = 1
# struct fanotify_event_metadata
_EVENT: Final = struct.Struct("IBBHQii")
_POLL_S: Final = 0.1


@contextmanager
def slow(file: Path, *, at: int, delay_s: float) -> Iterator[None]:
    """Make each open or read of a file take this long, in any process. OSError: fanotify(7) is not available here."""
    libc = ctypes.CDLL(None, use_errno=True)
    asked = libc.fanotify_init(_CLASS_CONTENT, os.O_RDONLY)
    if asked < 0 or libc.fanotify_mark(asked, _MARK_ADD, ctypes.c_uint64(at), _AT_FDCWD, os.fsencode(file)) < 0:
        raise OSError(ctypes.get_errno(), "fanotify")
    over = threading.Event()

    def answer() -> None:
        while not over.is_set():
            if not select.select([asked], [], [], _POLL_S)[0]:
                continue
            for _, _, _, _, _, descriptor, _ in _EVENT.iter_unpack(os.read(asked, 64 * _EVENT.size)):
                time.sleep(delay_s)
                os.write(asked, struct.pack("iI", descriptor, _ALLOW))
                os.close(descriptor)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        # This lets all waiting processes continue.
        os.close(asked)
