"""How the observer answers what it is asked of nginx's processes and of the kernel's counters."""

import os
import signal
import subprocess
import time
import types

import pytest

from images.netadmin.netadmin import observer as observer_module
from images.netadmin.netadmin.observer import Observer
from images.netadmin.netadmin.processes import PROC, WORKER
from tests.support.fake_kernel import IO, MASTER_LINE, SCHEDSTAT, STATUS, FakeDiag, Proc, asked, refused
from tuneproof.explain.parse.counters import proc_net, softnet
from tuneproof.lab.protocol.messages import call
from tuneproof.lab.protocol.observer import Observer as Program
from tuneproof.lab.protocol.observer import ProcessTexts


def test_counters_of_this_machine_are_answered_with_their_time() -> None:
    """The running kernel's files are as the library reads them."""
    before_s = time.monotonic()
    answer = asked(Observer(FakeDiag().open, proc=PROC), call(Program.counters))
    assert before_s <= answer.at_s <= time.monotonic()
    (read,) = proc_net.snapshots(answer.counters)
    assert {"TcpExt.ListenDrops", "Tcp.CurrEstab"} <= read.counters.keys()
    (cpus,) = softnet.snapshots(answer.softnet)
    assert cpus.counters


def test_workers_are_answered(proc: Proc) -> None:
    """In ascending order; the master may be another user's, whom nobody may look at."""
    proc.add_nginx()
    before_s = time.monotonic()
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), call(Program.workers))
    assert before_s <= answer.at_s <= time.monotonic()
    assert answer.workers == tuple(
        ProcessTexts(pid=pid, title=WORKER, status=STATUS, schedstat=SCHEDSTAT, io=IO) for pid in (9, 12)
    )


def test_a_process_table_without_nginx_is_an_error(proc: Proc) -> None:
    """It belongs to another namespace: no workers there would mean nothing."""
    error = refused(Observer(FakeDiag().open, proc=proc.folder), call(Program.workers))
    assert error == "no process here is titled 'nginx: master process'"


def test_what_an_engineer_would_print_is_answered_as_text(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters and status files as they are; sockets as ss prints them."""
    proc.add_nginx()
    (proc.folder / "net").mkdir(exist_ok=True)
    for name in ("netstat", "snmp"):
        (proc.folder / "net" / name).write_text(f"{name}\n", encoding="ascii")
    ran: list[list[str]] = []

    def run(command: list[str], **_options: object) -> types.SimpleNamespace:
        ran.append(command)
        return types.SimpleNamespace(stdout=b"State\n")

    monkeypatch.setattr(observer_module, "subprocess", types.SimpleNamespace(run=run))
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert asked(observer, call(Program.printed, "counters")) == "netstat\nsnmp\n"
    assert asked(observer, call(Program.printed, "sockets")) == "State\n"
    assert ran == [["ss", "-ntmiao"]]
    assert asked(observer, call(Program.printed, "processes")).count("VmRSS:") == 3


def test_a_sysctl_is_answered_or_none(proc: Proc) -> None:
    """A kernel may have none of that name."""
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert asked(observer, call(Program.sysctl, "net.ipv4.tcp_no_such_thing")) is None


def test_calls_of_workers_that_do_not_count_them_are_an_error(proc: Proc) -> None:
    proc.add_nginx()
    error = refused(Observer(FakeDiag().open, proc=proc.folder), call(Program.calls))
    assert error == "RecordError: process 9 keeps no record"


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
    assert asked(Observer(FakeDiag().open, proc=proc.folder), call(Program.signal, name, "workers")) is None
    assert signalled == [(9, number), (12, number), (100, number)]
    asked(Observer(FakeDiag().open, proc=proc.folder), call(Program.signal, "TERM", "leaving"))
    assert signalled[3:] == [(100, signal.SIGTERM)]


def test_a_signal_to_the_master_reaches_the_eldest_alone(
    proc: Proc, signalled: list[tuple[int, signal.Signals]]
) -> None:
    """A worker that was just forked has the master's title until it sets its own."""
    proc.add_nginx()
    proc.add(2000, MASTER_LINE)
    assert asked(Observer(FakeDiag().open, proc=proc.folder), call(Program.signal, "HUP", "master")) is None
    assert signalled == [(1, signal.SIGHUP)]


@pytest.mark.parametrize(
    ("name", "to", "error"),
    [("DANCE", "workers", "KeyError: 'SIGDANCE'"), ("STOP", "backend", "KeyError: 'backend'")],
    ids=["signal", "receiver"],
)
def test_a_signal_that_there_is_not_reaches_nobody(
    name: str, to: str, error: str, proc: Proc, signalled: list[tuple[int, signal.Signals]]
) -> None:
    proc.add_nginx()
    assert refused(Observer(FakeDiag().open, proc=proc.folder), call(Program.signal, name, to)) == error
    assert signalled == []


def test_a_stopped_process_does_nothing_until_it_is_continued(proc: Proc) -> None:
    """A child of this test under a worker's entry: the kernel tells its parent of both (waitpid(2))."""
    observer = Observer(FakeDiag().open, proc=proc.folder)
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            proc.add(child.pid, WORKER)
            asked(observer, call(Program.signal, "STOP", "workers"))
            _, stopped = os.waitpid(child.pid, os.WUNTRACED)
            asked(observer, call(Program.signal, "CONT", "workers"))
            _, continued = os.waitpid(child.pid, os.WCONTINUED)
        finally:
            child.kill()
    assert os.WIFSTOPPED(stopped)
    assert os.WIFCONTINUED(continued)


def test_what_the_kernel_refuses_is_answered_and_the_next_question_is_taken(proc: Proc) -> None:
    """Nobody waits for an answer that does not come."""
    proc.add_nginx()
    diag = FakeDiag()
    diag.error = OSError("no buffer space")
    observer = Observer(diag.open, proc=proc.folder)
    assert refused(observer, call(Program.sockets, 8000)) == "OSError: no buffer space"
    assert [worker.pid for worker in asked(observer, call(Program.workers)).workers] == [9, 12]


def test_masters_wait_when_each_of_them_does(proc: Proc) -> None:
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert asked(observer, call(Program.masters_wait))
    masks = "SigPnd:\t0\nShdPnd:\t0\nSigBlk:\t{}\n"
    proc.add(1, MASTER_LINE, status=masks.format(0))
    assert asked(observer, call(Program.masters_wait))
    proc.add(3, MASTER_LINE, status=masks.format(1))
    assert not asked(observer, call(Program.masters_wait))
