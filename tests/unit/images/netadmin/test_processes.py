"""What the observer reads of nginx's processes from /proc."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from images.netadmin.netadmin import processes
from images.netadmin.netadmin.processes import MASTER, WORKER, ProcessFigures, ProcessFileError
from tests.support.fake_kernel import FIGURES, IO, SCHEDSTAT, STATUS, ZOMBIE, Proc


def test_a_processs_figures_are_in_bytes_and_seconds() -> None:
    """/proc counts in kibibytes and nanoseconds; lines with similar names are not taken for each other."""
    assert ProcessFigures.from_text(9, status=STATUS, schedstat=SCHEDSTAT, io=IO) == ProcessFigures(pid=9, **FIGURES)


def test_a_zombie_has_ended() -> None:
    """Its files stand there until its parent has heard of it; its memory does not."""
    assert ProcessFigures.from_text(9, status=ZOMBIE, schedstat=SCHEDSTAT, io=IO) is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"status": STATUS.replace("RssAnon", "Anon")}, "process 9: its files in /proc have no line 'RssAnon'"),
        ({"io": "read_bytes: 5\n"}, "no line 'write_bytes'"),
        ({"status": STATUS.replace("1656 kB", "2 MB")}, "another format: a size in MB"),
        ({"status": STATUS.replace("1656 kB", "1656")}, "another format"),
        ({"schedstat": "0 0\n"}, "another format"),
    ],
    ids=["line", "io-line", "unit", "no-unit", "column"],
)
def test_a_file_in_another_format_is_an_error(changed: dict[str, str], message: str) -> None:
    """A wrong number would not be noticed."""
    texts = {"status": STATUS, "schedstat": SCHEDSTAT, "io": IO, **changed}
    with pytest.raises(ProcessFileError, match=message):
        ProcessFigures.from_text(9, **texts)


def test_processes_are_found_by_how_their_title_begins(proc: Proc) -> None:
    """In ascending order of number, not of text; a worker that shuts down is one, too, a cache manager is not."""
    proc.add_nginx()
    proc.add(100, f"{WORKER} is shutting down\0")
    proc.add(10, "nginx: cache manager process\0")
    proc.add(11, f"grep\0{WORKER}\0")
    assert processes.pids(WORKER, proc=proc.folder) == [9, 12, 100]
    assert processes.pids(MASTER, proc=proc.folder) == [1]


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
@pytest.mark.parametrize("name", ["cmdline", "status", "schedstat", "io"])
def test_a_process_that_ends_while_it_is_read_is_left_out(
    name: str, error: type[OSError], proc: Proc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file is the first that is gone, and whichever way the kernel says so."""
    proc.add_nginx()
    read_text = Path.read_text

    def read(path: Path, **options: str) -> str:
        if path == proc.folder / "9" / name:
            shutil.rmtree(path.parent)
            raise error
        return read_text(path, **options)

    monkeypatch.setattr(Path, "read_text", read)
    assert [process.pid for process in processes.figures(WORKER, proc=proc.folder)] == [12]


def test_what_the_kernel_does_not_count_is_an_error_and_no_end(proc: Proc) -> None:
    """A kernel without scheduler statistics would otherwise have no workers at all."""
    proc.add_nginx()
    (proc.folder / "9" / "schedstat").unlink()
    with pytest.raises(FileNotFoundError, match="schedstat"):
        processes.figures(WORKER, proc=proc.folder)


def test_memory_alone_is_read_of_those_that_live(proc: Proc) -> None:
    """In the order of process ids, without the other files."""
    proc.add(12, WORKER)
    proc.add(9, WORKER, status="VmRSS:\t 7 kB\n", io="")
    proc.add(10, WORKER, status=ZOMBIE)
    assert processes.rss_bytes(WORKER, proc=proc.folder) == [7 * 1024, 1656 * 1024]


def test_this_kernel_writes_the_files_as_expected() -> None:
    """A process of this machine, under a title of its own: it sleeps, in some memory, and writes nothing."""
    title = "tuneproof: test process"
    sleep = shutil.which("sleep")
    assert sleep is not None
    with subprocess.Popen([title, "60"], executable=sleep) as process:
        try:
            # The kernel lets the parent go on a moment before the title stands.
            deadline_s = time.monotonic() + 30
            while not processes.pids(title) and time.monotonic() < deadline_s:
                time.sleep(0.01)
            (found,) = processes.figures(title)
            (size_bytes,) = processes.rss_bytes(title)
        finally:
            process.kill()
    assert found.pid == process.pid
    assert 0 < found.rss_anon_bytes < found.rss_bytes
    assert size_bytes > found.rss_anon_bytes
    assert 0 <= found.run_s < 1
    assert found.write_bytes == 0
