"""The observer's readings of nginx's processes in /proc."""

import resource
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from images.netadmin.netadmin import processes
from images.netadmin.netadmin.processes import WORKER
from tests.support.fake_kernel import STATM_RSS_BYTES, STATM_ZOMBIE, ZOMBIE, Proc
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.protocol.observer import WorkerTexts


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
@pytest.mark.parametrize("name", ["cmdline", "status", "schedstat", "io"])
def test_a_process_that_ends_while_it_is_read_is_left_out(
    name: str, error: type[OSError], proc: Proc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any of its files may disappear first, and the kernel reports this with one of two errors."""
    proc.add_nginx()
    read_text = Path.read_text

    def read(path: Path, **options: str) -> str:
        if path == proc.folder / "9" / name:
            shutil.rmtree(path.parent)
            raise error
        return read_text(path, **options)

    monkeypatch.setattr(Path, "read_text", read)
    assert [process.pid for process in processes.texts(WORKER, proc=proc.folder)] == [12]


def test_a_missing_kernel_feature_is_an_error_and_not_an_ended_process(proc: Proc) -> None:
    """A kernel without scheduler statistics must not look like an nginx without workers."""
    proc.add_nginx()
    (proc.folder / "9" / "schedstat").unlink()
    with pytest.raises(FileNotFoundError, match="schedstat"):
        processes.texts(WORKER, proc=proc.folder)


def test_the_memory_of_running_processes_is_read_without_other_figures(proc: Proc) -> None:
    proc.add(12, WORKER)
    proc.add(9, WORKER, statm="1000 7 6 1 0 5 0\n", io="")
    proc.add(10, WORKER, status=ZOMBIE, statm=STATM_ZOMBIE)
    assert processes.rss_bytes(WORKER, proc=proc.folder) == [7 * resource.getpagesize(), STATM_RSS_BYTES]


def test_the_files_of_this_kernel_have_the_expected_format() -> None:
    """The files of a real process are read by the lab's parsers."""
    title = "tuneproof: test process"
    sleep = shutil.which("sleep")
    assert sleep is not None
    with subprocess.Popen([title, "60"], executable=sleep) as process:
        try:
            # The process has loaded its libraries once it sleeps.
            deadline_s = time.monotonic() + 30
            read: tuple[WorkerFigures, ...] = ()
            while not any(one.is_asleep for one in read) and time.monotonic() < deadline_s:
                time.sleep(0.01)
                read = WorkerFigures.of(WorkerTexts(workers=processes.texts(title), at_s=12.5))
            (size_bytes,) = processes.rss_bytes(title)
        finally:
            process.kill()
    (found,) = read
    assert found.pid == process.pid
    assert 0 < found.rss_anon_bytes < found.rss_bytes
    assert size_bytes > found.rss_anon_bytes
    assert 0 <= found.run_s < 1
    assert found.write_bytes == 0


@pytest.mark.parametrize(("mask", "waits"), [("SigBlk", False), ("SigPnd", False), ("ShdPnd", False), ("SigIgn", True)])
def test_a_master_waits_if_it_blocks_no_signal_and_none_is_pending(mask: str, *, waits: bool) -> None:
    masks = dict.fromkeys(("SigPnd", "ShdPnd", "SigBlk", "SigIgn"), "0000000000000000") | {mask: "0000000000000001"}
    text = "Name:\tnginx\n" + "".join(f"{name}:\t{value}\n" for name, value in masks.items())
    assert processes.waits_for_signals(text) is waits
