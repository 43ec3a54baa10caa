"""How the observer answers what it is asked of nginx's processes and of the kernel's counters."""

import os
import signal
import subprocess
import time
import types

import pytest

from images.netadmin.netadmin import observer as observer_module
from images.netadmin.netadmin import snapshot
from images.netadmin.netadmin.observer import Observer
from images.netadmin.netadmin.processes import WORKER
from tests.support.fake_kernel import FIGURES, MASTER_LINE, FakeDiag, Proc, asked, served


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


def test_workers_are_answered(proc: Proc) -> None:
    """In ascending order; the master may be another user's, whom nobody may look at."""
    proc.add_nginx()
    before_s = time.monotonic()
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "workers")
    assert before_s <= answer.pop("at_s") <= time.monotonic()
    assert answer == {"workers": [{"pid": 9, **FIGURES}, {"pid": 12, **FIGURES}]}


def test_a_process_table_without_nginx_is_an_error(proc: Proc) -> None:
    """It belongs to another namespace: no workers there would mean nothing."""
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "workers")
    assert answer == {"error": "no process here is titled 'nginx: master process'"}


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
    assert asked(observer, "printed", what="counters") == {"text": "netstat\nsnmp\n"}
    assert asked(observer, "printed", what="sockets") == {"text": "State\n"}
    assert ran == [["ss", "-ntmiao"]]
    assert asked(observer, "printed", what="processes")["text"].count("VmRSS:") == 3


def test_a_sysctl_is_answered_or_none(proc: Proc) -> None:
    """A kernel may have none of that name."""
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert asked(observer, "sysctl", name="net.ipv4.tcp_no_such_thing") == {"value": None}


def test_calls_of_workers_that_do_not_count_them_are_an_error(proc: Proc) -> None:
    """And not none."""
    proc.add_nginx()
    answer = asked(Observer(FakeDiag().open, proc=proc.folder), "calls")
    assert answer == {"error": "CallsError: process 9 does not count its calls"}


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
