"""What the observer reads from /proc and from the kernel's list of sockets, and how it answers."""

import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from images.netadmin.netadmin import observer as observer_module
from images.netadmin.netadmin import processes, snapshot, sockets
from images.netadmin.netadmin.observer import Observer, Watch
from images.netadmin.netadmin.processes import MASTER, WORKER, ProcessFigures, ProcessFileError

# The lines that count, and neighbours with similar names.
STATUS = """\
Name:\tnginx
State:\tS (sleeping)
VmHWM:\t   60000 kB
VmRSS:\t    1656 kB
RssAnon:\t     112 kB
RssFile:\t    1544 kB
voluntary_ctxt_switches:\t17
nonvoluntary_ctxt_switches:\t3
"""
ZOMBIE = "Name:\tnginx\nState:\tZ (zombie)\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n"
SCHEDSTAT = "1500000000 250000 4711\n"
IO = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n"
FIGURES: dict[str, Any] = {
    "rss_bytes": 1656 * 1024,
    "rss_anon_bytes": 112 * 1024,
    "voluntary_switches": 17,
    "nonvoluntary_switches": 3,
    "run_s": 1.5,
    "wait_s": 0.00025,
    "write_bytes": 8192,
}
# As nginx leaves it: the title, and zeros over the rest of what it was called with.
MASTER_LINE = f"{MASTER} nginx -c /etc/subject/nginx.conf\0\0\0"
PORT = 8000
ESTAB, SYN_RECV, TIME_WAIT, LISTEN = 1, 3, 6, 10


class Proc:
    """A process table of files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # What else stands there.
        (folder / "self").mkdir()
        self.add(200, "python3\0-m\0netadmin.observer\0")
        self.add(2, "")

    def add(self, pid: int, command_line: str, **files: str) -> None:
        """Add a process; files that are not given are the usual ones."""
        (self.folder / f"{pid}").mkdir()
        for name, text in {
            "status": STATUS,
            "schedstat": SCHEDSTAT,
            "io": IO,
            "cmdline": command_line,
            **files,
        }.items():
            (self.folder / f"{pid}" / name).write_text(text, encoding="ascii")

    def add_nginx(self) -> None:
        """Add a master and two workers."""
        self.add(1, MASTER_LINE)
        self.add(12, f"{WORKER}\0\0")
        self.add(9, f"{WORKER}\0\0")


class FakeDiag:
    """Answers as the kernel does for a list of sockets.

    Attributes:
        asked: Every question, as (family, states).
        error: What is raised instead.
    """

    def __init__(self, *entries: Mapping[str, int]) -> None:
        self._entries = entries
        self._bound = False
        self.asked: list[tuple[int, int]] = []
        self.error: Exception | None = None

    def bind(self) -> None:
        """Get ready."""
        self._bound = True

    def get_sock_stats(self, *, family: int, states: int) -> list[Mapping[str, Any]]:
        """Return those of a family in one of the states."""
        assert self._bound
        self.asked.append((family, states))
        if self.error is not None:
            raise self.error
        wanted = [entry for entry in self._entries if states >> entry["idiag_state"] & 1]
        return [entry for entry in wanted if entry["idiag_family"] == family]

    @contextmanager
    def open(self) -> Iterator["FakeDiag"]:
        """Stand in for a socket that is opened and closed."""
        yield self
        self._bound = False


def entry(state: int, port: int, *, receive: int = 0, send: int = 0, family: int = 2) -> dict[str, int]:
    """Return what the kernel says of a socket."""
    return {
        "idiag_family": family,
        "idiag_state": state,
        "idiag_sport": port,
        "idiag_rqueue": receive,
        "idiag_wqueue": send,
    }


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    """A process table without nginx."""
    return Proc(tmp_path)


def served(observer: Observer, *lines: str) -> list[dict[str, Any]]:
    """Return the answers to lines."""
    answers = io.StringIO()
    observer.serve(lines, answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def asked(observer: Observer, task: str, **arguments: object) -> dict[str, Any]:
    """Return the answer to one task."""
    (answer,) = served(observer, json.dumps({"task": task, **arguments}))
    return answer


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
            deadline_s = time.monotonic() + 10
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


def test_each_cpu_has_a_row_of_hexadecimal_numbers() -> None:
    """Only the first three columns are what is asked for, however many there are; a column may use all 32 bits."""
    text = "fcde1189 00000000 0000002d 00000000 00000007\n0000000f 00000010 00000001\n"
    assert snapshot._softnet(text) == [
        {"processed": 0xFCDE1189, "dropped": 0, "squeezed": 45},
        {"processed": 15, "dropped": 16, "squeezed": 1},
    ]


def test_counters_of_this_machine_are_answered_with_their_time(proc: Proc) -> None:
    """The running kernel's files are in the format."""
    before_s = time.monotonic()
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "counters")
    assert before_s <= answer["at_s"] <= time.monotonic()
    assert "TcpExt.ListenDrops" in answer["counters"]
    assert "Tcp.CurrEstab" in answer["counters"]
    assert answer["softnet"]
    assert all(set(cpu) == {"processed", "dropped", "squeezed"} for cpu in answer["softnet"])


def test_workers_and_master_are_answered(proc: Proc) -> None:
    """Workers in ascending order, the master by itself."""
    proc.add_nginx()
    before_s = time.monotonic()
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "workers")
    assert before_s <= answer.pop("at_s") <= time.monotonic()
    assert answer == {"workers": [{"pid": 9, **FIGURES}, {"pid": 12, **FIGURES}], "master": {"pid": 1, **FIGURES}}


def test_a_process_table_without_nginx_is_an_error(proc: Proc) -> None:
    """It belongs to another namespace: no workers there would mean nothing."""
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "workers")
    assert answer == {"error": "no process here is titled 'nginx: master process'"}


def test_of_two_processes_with_the_masters_title_the_elder_is_the_master(proc: Proc) -> None:
    """A worker that was just forked has that title until it sets its own."""
    proc.add_nginx()
    proc.add(2000, MASTER_LINE)
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "workers")
    assert answer["master"]["pid"] == 1
    assert [worker["pid"] for worker in answer["workers"]] == [9, 12]


def test_sockets_are_counted_by_state_and_by_whether_they_are_the_ports(proc: Proc) -> None:
    """Of both address families; the listeners' queues are no bytes to send, nor are those of other sockets."""
    diag = FakeDiag(
        entry(LISTEN, PORT, receive=3, send=511),
        entry(LISTEN, PORT, receive=4, send=511, family=10),
        entry(LISTEN, 9000, receive=50, send=5),
        entry(ESTAB, PORT, receive=10, send=1000),
        entry(ESTAB, PORT, send=234, family=10),
        entry(TIME_WAIT, PORT),
        entry(SYN_RECV, PORT, send=77),
        entry(ESTAB, 40000, send=99),
        entry(TIME_WAIT, 40001, family=10),
    )
    assert asked(Observer(diag.open, proc=proc.folder), "sockets", port=PORT) == {
        "listeners": [{"queued": 3, "backlog": 511}, {"queued": 4, "backlog": 511}],
        "local": {"LISTEN": 2, "ESTAB": 2, "TIME-WAIT": 1, "SYN-RECV": 1},
        "others": {"LISTEN": 1, "ESTAB": 1, "TIME-WAIT": 1},
        "send_queue_bytes": 1234,
    }


def test_every_state_is_asked_for_and_has_a_name(proc: Proc) -> None:
    """The kernel's numbers begin with 1."""
    diag = FakeDiag(*(entry(number, PORT) for number in range(1, 12)))
    answer = asked(Observer(diag.open, proc=proc.folder), "sockets", port=PORT)
    assert answer["local"] == dict.fromkeys(sockets.STATES.values(), 1)
    assert len(answer["local"]) == 11
    assert diag.asked == [(2, 0b1111_1111_1110), (10, 0b1111_1111_1110)]


def test_queues_are_those_of_the_ports_listeners_alone() -> None:
    """The kernel is asked for listening sockets only: a watch shall cost little beside thousands of connections."""
    diag = FakeDiag(
        entry(LISTEN, PORT, receive=3), entry(LISTEN, PORT, receive=4, family=10), entry(LISTEN, 9, receive=50)
    )
    diag.bind()
    assert sockets.queued(diag, port=PORT) == 7
    assert diag.asked == [(2, 1 << LISTEN), (10, 1 << LISTEN)]


def test_a_watch_samples_from_its_start_to_its_end(proc: Proc) -> None:
    """Memory and queues with their times; then another may start, with another port."""
    proc.add_nginx()
    diag = FakeDiag(entry(LISTEN, PORT, receive=3))
    observer = Observer(diag.open, proc=proc.folder)
    before_s = time.monotonic()
    assert asked(observer, "watch", port=PORT, interval_s=0.001) == {"watching": True}
    # Each sample asks for both address families.
    while len(diag.asked) < 2 * 3 and time.monotonic() < before_s + 10:
        time.sleep(0.001)
    samples = asked(observer, "watched")["samples"]
    times_s = [sample.pop("at_s") for sample in samples]
    assert len(samples) >= 3
    assert times_s == sorted(times_s)
    assert before_s <= times_s[0]
    assert times_s[-1] <= time.monotonic()
    assert all(sample == {"rss_bytes": [1656 * 1024] * 2, "queued": 3} for sample in samples)
    asked(observer, "watch", port=9000, interval_s=60)
    (sample,) = asked(observer, "watched")["samples"]
    assert sample["queued"] == 0


@pytest.fixture
def signalled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, signal.Signals]]:
    """Signals by process id; no process gets any."""
    sent: list[tuple[int, signal.Signals]] = []
    stand_in = types.SimpleNamespace(kill=lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(observer_module, "os", stand_in)
    return sent


@pytest.mark.parametrize(("name", "number"), [("STOP", signal.SIGSTOP), ("CONT", signal.SIGCONT)])
def test_a_signal_to_the_workers_reaches_each_of_them(
    name: str, number: signal.Signals, proc: Proc, signalled: list[tuple[int, signal.Signals]]
) -> None:
    """One that shuts down is a worker, too; the master and the cache manager go on."""
    proc.add_nginx()
    proc.add(100, f"{WORKER} is shutting down\0")
    proc.add(10, "nginx: cache manager process\0")
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "signal", name=name, to="workers")
    assert answer == {"signalled": [9, 12, 100]}
    assert signalled == [(9, number), (12, number), (100, number)]


def test_a_signal_to_the_master_reaches_the_eldest_alone(
    proc: Proc, signalled: list[tuple[int, signal.Signals]]
) -> None:
    """A worker that was just forked has the master's title until it sets its own."""
    proc.add_nginx()
    proc.add(2000, MASTER_LINE)
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "signal", name="HUP", to="master")
    assert answer == {"signalled": [1]}
    assert signalled == [(1, signal.SIGHUP)]


@pytest.mark.parametrize(
    ("name", "to", "error"),
    [("DANCE", "workers", "KeyError: 'SIGDANCE'"), ("STOP", "backend", "KeyError: 'backend'")],
    ids=["signal", "receiver"],
)
def test_a_signal_that_there_is_not_reaches_nobody(
    name: str, to: str, error: str, proc: Proc, signalled: list[tuple[int, signal.Signals]]
) -> None:
    """The answer says which word was not known."""
    proc.add_nginx()
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "signal", name=name, to=to)
    assert answer == {"error": error}
    assert signalled == []


def test_a_stopped_process_does_nothing_until_it_is_continued(proc: Proc) -> None:
    """A child of this test under a worker's entry: the kernel tells its parent of both (waitpid(2))."""
    observer = Observer(FakeDiag().open, proc=proc.folder)
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            proc.add(child.pid, WORKER)
            assert asked(observer, "signal", name="STOP", to="workers") == {"signalled": [child.pid]}
            _, stopped = os.waitpid(child.pid, os.WUNTRACED)
            asked(observer, "signal", name="CONT", to="workers")
            _, continued = os.waitpid(child.pid, os.WCONTINUED)
        finally:
            child.kill()
    assert os.WIFSTOPPED(stopped)
    assert os.WIFCONTINUED(continued)


def watch_of(sample: Callable[[], Any], *, interval_s: float) -> Watch:
    """Return a watch that samples so."""

    @contextmanager
    def sampling() -> Iterator[Callable[[], Any]]:
        yield sample

    return Watch(sampling, interval_s=interval_s)


class FakeTime:
    """A clock that only moves when somebody waits, and the event that a watch waits for.

    Args:
        early_s: How much too early each wait ends.
        waits: After how many waits the event happens.
    """

    def __init__(self, *, waits: int, early_s: float = 0.0) -> None:
        self.now_s = 100.0
        self._early_s = early_s
        self._waits_left = waits

    def monotonic(self) -> float:
        """Tell the time."""
        return self.now_s

    def wait(self, timeout_s: float) -> bool:
        """Let time pass."""
        assert timeout_s > 0
        self.now_s += timeout_s - self._early_s
        self._waits_left -= 1
        return self._waits_left == 0

    def set(self) -> None:
        """Do nothing: the event happens on its own."""


@pytest.mark.parametrize(
    ("early_s", "durations_s", "times_s"),
    [
        (0.0, [0.01, 0.03, 0.0, 0.01], [0.0, 0.05, 0.1, 0.15]),
        (0.0, [0.0, 0.12, 0.0, 0.0], [0.0, 0.05, 0.2, 0.25]),
        (0.001, [0.0, 0.0, 0.0, 0.0], [0.0, 0.049, 0.099, 0.149]),
    ],
    ids=["steady", "slow-sample", "early-waits"],
)
def test_a_watch_keeps_its_schedule(
    early_s: float, durations_s: list[float], times_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a sample takes does not move the next ones; those that were missed come in no burst."""
    fake = FakeTime(waits=len(times_s), early_s=early_s)
    monkeypatch.setattr(observer_module, "time", fake)
    threads = types.SimpleNamespace(Event=lambda: fake, Thread=threading.Thread)
    monkeypatch.setattr(observer_module, "threading", threads)
    durations = iter(durations_s)

    def sample() -> float:
        at_s = fake.now_s - 100.0
        fake.now_s += next(durations)
        return at_s

    assert watch_of(sample, interval_s=0.05).end() == pytest.approx(times_s)


def test_a_watch_that_ends_at_once_has_one_sample() -> None:
    """There is always one to look at, and nobody waits for the next."""
    began_s = time.monotonic()
    assert watch_of(itertools.count(7).__next__, interval_s=60).end() == [7]
    assert time.monotonic() - began_s < 30


def test_there_is_one_watch_at_a_time(proc: Proc) -> None:
    """The first goes on when a second is refused."""
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert asked(observer, "watched") == {"error": "no watch was started"}
    asked(observer, "watch", port=PORT, interval_s=60)
    assert asked(observer, "watch", port=PORT, interval_s=60) == {"error": "a watch runs already"}
    assert len(asked(observer, "watched")["samples"]) == 1
    assert asked(observer, "watched") == {"error": "no watch was started"}


@pytest.mark.parametrize("interval_s", [0, -0.05])
def test_a_watch_without_an_interval_is_refused(interval_s: float, proc: Proc) -> None:
    """It would leave the subject no CPU."""
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert asked(observer, "watch", port=PORT, interval_s=interval_s) == {
        "error": f"{interval_s} s is no time between two samples"
    }
    assert asked(observer, "watched") == {"error": "no watch was started"}


def test_a_watch_that_failed_says_so_at_its_end(proc: Proc) -> None:
    """Half of the samples would look like all of them; the next watch starts anew."""
    diag = FakeDiag()
    diag.error = OSError("no buffer space")
    observer = Observer(diag.open, proc=proc.folder)
    assert asked(observer, "watch", port=PORT, interval_s=60) == {"watching": True}
    assert asked(observer, "watched") == {"error": "the watch ended early: OSError: no buffer space"}
    diag.error = None
    asked(observer, "watch", port=PORT, interval_s=60)
    assert len(asked(observer, "watched")["samples"]) == 1


def test_a_watch_that_cannot_even_begin_says_so(proc: Proc) -> None:
    """Whatever opens the socket may fail, too."""

    def refuse() -> AbstractContextManager[FakeDiag]:
        raise PermissionError("not here")

    observer = Observer(refuse, proc=proc.folder)
    asked(observer, "watch", port=PORT, interval_s=60)
    assert asked(observer, "watched") == {"error": "the watch ended early: PermissionError: not here"}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"task": "dance"}', "there is no task 'dance'"),
        ("{}", "KeyError: 'task'"),
        ('{"task": "sockets"}', "TypeError: "),
        ("{", "JSONDecodeError: "),
        ('{"task": "sockets", "port": 8000}', "OSError: no buffer space"),
    ],
    ids=["unknown", "no-task", "arguments", "no-json", "kernel"],
)
def test_a_task_that_fails_is_answered_and_the_next_one_is_taken(line: str, error: str, proc: Proc) -> None:
    """Nobody waits for an answer that does not come."""
    proc.add_nginx()
    diag = FakeDiag()
    diag.error = OSError("no buffer space")
    failed, answered = served(Observer(diag.open, proc=proc.folder), line, '{"task": "workers"}')
    assert set(failed) == {"error"}
    assert failed["error"].startswith(error)
    assert [worker["pid"] for worker in answered["workers"]] == [9, 12]
