"""The observer's responses about nginx's processes and the kernel's counters."""

import signal
import time
import types

import pytest

from images.netadmin.netadmin import observer as observer_module
from images.netadmin.netadmin.observer import Observer
from images.netadmin.netadmin.processes import PROC, WORKER
from tests.support.fake_kernel import IO, MASTER_LINE, SCHEDSTAT, STATUS, FakeDiag, Proc, remote
from tests.support.joined import refused
from tuneproof.explain.parse.counters import proc_net, softnet
from tuneproof.lab.protocol.observer import ProcessTexts


def test_the_counters_of_this_machine_are_returned_with_the_time() -> None:
    """The lab's parsers read the running kernel's files."""
    before_s = time.monotonic()
    answer = remote(Observer(FakeDiag().open, proc=PROC)).counters()
    assert before_s <= answer.at_s <= time.monotonic()
    (read,) = proc_net.snapshots(answer.counters)
    assert {"TcpExt.ListenDrops", "Tcp.CurrEstab"} <= read.counters.keys()
    (cpus,) = softnet.snapshots(answer.softnet)
    assert cpus.counters


def test_the_files_of_all_workers_are_returned(proc: Proc) -> None:
    """Workers are in ascending order, and the master's files are not needed: it may belong to another user."""
    proc.add_nginx()
    (proc.folder / "1" / "status").unlink()
    before_s = time.monotonic()
    answer = remote(Observer(FakeDiag().open, proc=proc.folder)).workers()
    assert before_s <= answer.at_s <= time.monotonic()
    assert answer.workers == tuple(
        ProcessTexts(pid=pid, title=WORKER, status=STATUS, schedstat=SCHEDSTAT, io=IO) for pid in (9, 12)
    )


def test_a_missing_nginx_and_a_missing_record_are_errors(proc: Proc) -> None:
    """An observer that finds no nginx is in another PID namespace; an empty list of workers would be wrong."""
    observer = remote(Observer(FakeDiag().open, proc=proc.folder))
    assert refused(observer.workers) == "no process here is titled 'nginx: master process'"
    proc.add_nginx()
    assert refused(observer.calls) == "RecordError: process 9 keeps no record"


def test_sockets_and_processes_are_returned_as_text(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of processes is that of the kernel's files. Sockets are printed by ss."""
    proc.add_nginx()
    ran: list[list[str]] = []

    def run(command: list[str], **_options: object) -> types.SimpleNamespace:
        ran.append(command)
        return types.SimpleNamespace(stdout=b"State\n")

    monkeypatch.setattr(observer_module, "subprocess", types.SimpleNamespace(run=run))
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert remote(observer).printed("sockets") == "State\n"
    assert ran == [["ss", "-ntmiao"]]
    assert remote(observer).printed("processes").count("VmRSS:") == 3


@pytest.mark.parametrize(
    ("name", "to", "reached", "error"),
    [
        ("STOP", "workers", [9, 12, 100], None),
        ("CONT", "workers", [9, 12, 100], None),
        ("TERM", "leaving", [100], None),
        ("HUP", "master", [1], None),
        ("DANCE", "workers", [], "KeyError: 'SIGDANCE'"),
        ("STOP", "backend", [], "KeyError: 'backend'"),
    ],
)
def test_a_signal_reaches_its_processes(
    name: str, to: str, reached: list[int], error: str | None, proc: Proc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that shuts down is a worker, too. A new worker has the master's title until it sets its own."""
    proc.add_nginx()
    proc.add(100, f"{WORKER} is shutting down\0")
    proc.add(10, "nginx: cache manager process\0")
    proc.add(11, f"grep\0{WORKER}\0")
    proc.add(2000, MASTER_LINE)
    sent: list[tuple[int, signal.Signals]] = []
    stand_in = types.SimpleNamespace(kill=lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(observer_module, "os", stand_in)
    observer = remote(Observer(FakeDiag().open, proc=proc.folder))
    if error is None:
        observer.signal(name, to)
    else:
        assert refused(observer.signal, name, to) == error
    assert sent == [(pid, signal.Signals[f"SIG{name}"]) for pid in reached]


def test_masters_wait_if_each_of_them_waits(proc: Proc) -> None:
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert remote(observer).masters_wait()
    masks = "SigPnd:\t0\nShdPnd:\t0\nSigBlk:\t{}\n"
    proc.add(1, MASTER_LINE, status=masks.format(0))
    assert remote(observer).masters_wait()
    proc.add(3, MASTER_LINE, status=masks.format(1))
    assert not remote(observer).masters_wait()
