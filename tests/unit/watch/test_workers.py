"""Workers are found in /proc by title and parent, not by binary; descriptors are files, clients or upstreams."""

import os
from pathlib import Path

import pytest

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.watch import workers
from tuneproof.watch.program import CLOSED
from tuneproof.watch.workers import Worker, find

CONTAINER = "3f" * 32


class Proc:
    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, pid: int, title: str, *, parent: int = 1, container: str = "", namespace: str = "pid:[1]") -> None:
        folder = self.root / str(pid)
        (folder / "ns").mkdir(parents=True)
        (folder / "fd").mkdir()
        (folder / "net").mkdir()
        (folder / "cmdline").write_text(f"{title}\0\0")
        (folder / "comm").write_text(f"{title.partition(':')[0]}\n")
        # A name may contain brackets and blanks (proc_pid_stat(5)).
        (folder / "stat").write_text(f"{pid} (a) b) S {parent} 1 1")
        (folder / "cgroup").write_text(f"0::/system.slice/docker-{container}.scope\n" if container else "0::/\n")
        (folder / "ns" / "pid").symlink_to(namespace)
        (folder / "fd" / "0").symlink_to("anon_inode:[eventpoll]")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    """Return a process table with one nginx, which has two workers and a cache manager."""
    monkeypatch.setattr(workers, "PROC", tmp_path)
    made = Proc(tmp_path)
    made.add(10, "nginx: master process nginx -g daemon off;")
    made.add(11, "nginx: worker process", parent=10)
    made.add(12, "nginx: worker process is shutting down", parent=10)
    made.add(13, "nginx: cache manager process", parent=10)
    return made


def add_angie(proc: Proc) -> None:
    """Add another master, in a container."""
    proc.add(20, "angie: master process v1.7.0 #1", container=CONTAINER, namespace="pid:[2]")
    proc.add(21, "angie: worker process #1", parent=20, container=CONTAINER, namespace="pid:[2]")


def test_the_only_nginx_need_not_be_named(proc: Proc) -> None:
    """A worker that is shutting down is included, but not the cache manager, which has no clients."""
    assert proc.root
    assert find() == (Worker(pid=11, name="nginx"), Worker(pid=12, name="nginx"))


def test_one_of_several_nginx_must_be_named_or_all_requested(proc: Proc) -> None:
    add_angie(proc)
    with pytest.raises(BadInputError, match=r"Several nginx run here: 10 \(nginx\), 20 \(3f3f3f3f3f3f\)"):
        find()
    assert [each.pid for each in find(every=True)] == [11, 12, 21]
    assert find("20") == (Worker(pid=21, name="3f3f3f3f3f3f"),)


def test_only_the_first_eight_of_many_nginx_are_listed(proc: Proc) -> None:
    for pid in range(101, 140):
        proc.add(pid, "nginx: master process nginx")
    with pytest.raises(BadInputError, match=r" 101 \(nginx\), (?:\d+ \(nginx\), ){5}107 \(nginx\) and 32 more\."):
        find()


def test_a_binary_upgrade_is_still_one_nginx(proc: Proc) -> None:
    """SIGUSR2 starts a second master, a child of the first; both may have workers until the first one quits."""
    proc.add(40, "nginx: master process nginx -g daemon off;", parent=10)
    proc.add(41, "nginx: worker process", parent=40)
    assert [each.pid for each in find()] == [each.pid for each in find("10")] == [11, 12, 41]
    assert [each.pid for each in find("40")] == [41]


def test_a_name_chosen_by_a_process_is_plain_text(proc: Proc) -> None:
    proc.add(50, "\x1b[2Jnginx")
    assert find("50") == (Worker(pid=50, name=r"\x1b[2Jnginx"),)


def test_any_process_with_an_event_loop_may_be_named_directly(proc: Proc) -> None:
    """With master_process off, nginx is a single process."""
    proc.add(30, "nginx")
    assert find("11") == (Worker(pid=11, name="nginx"),)
    assert find("30") == (Worker(pid=30, name="nginx"),)
    assert find("13") == (Worker(pid=13, name="nginx"),)


def test_a_process_without_an_event_loop_is_refused(proc: Proc) -> None:
    """A shell that waits for input would look like a stalled worker."""
    proc.add(31, "bash")
    (proc.root / "31" / "fd" / "0").unlink()
    with pytest.raises(BadInputError, match=r"The process 31 \(bash\) has no event loop"):
        find("31")


def test_a_container_is_looked_up_in_an_engine(proc: Proc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The container's first process shows the PID namespace; the workers in it are watched."""
    add_angie(proc)
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text('#!/bin/sh\n[ "$5" = shop ] && echo 20 || exit 1\n')
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{engine.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(workers, "_ENGINES", ("docker",))
    assert find("shop") == (Worker(pid=21, name="shop"),)
    with pytest.raises(BadInputError, match="no running container blog"):
        find("blog")
    with pytest.raises(BadInputError, match=r"for a URL, write http://127.0.0.1:8080/$"):
        find("127.0.0.1:8080")


def test_an_unresponsive_engine_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = tmp_path / "docker"
    engine.write_text("#!/bin/sh\nexec sleep 60\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(workers, "_ASKING_S", 0.2)
    with pytest.raises(CannotRunHereError, match="docker does not answer"):
        find("shop")


@pytest.mark.usefixtures("proc")
def test_a_process_that_does_not_exist_is_reported() -> None:
    with pytest.raises(BadInputError, match="no process 99"):
        find("99")


def test_the_lack_of_any_nginx_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PROC", tmp_path)
    with pytest.raises(BadInputError, match="No nginx was found"):
        find()


def test_a_descriptor_is_a_file_or_a_peer(proc: Proc) -> None:
    """A socket on a listening port belongs to a client; a closed descriptor is left out.

    Workers in one network namespace share its table of sockets, which is read once.
    """
    folder = proc.root / "11"
    for number, link in {3: "/var/cache/nginx/1", 4: "socket:[400]", 5: "socket:[500]", 6: "socket:[600]"}.items():
        (folder / "fd" / str(number)).symlink_to(link)
    other = proc.root / "12"
    (other / "fd" / "4").symlink_to("socket:[700]")
    for each in (folder, other):
        (each / "ns" / "net").symlink_to("net:[1]")
    (folder / "net" / "tcp").write_text(
        "  sl  local_address rem_address   st\n"
        "   0: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 300 1\n"
        "   1: 0100007F:0050 0200000A:D431 01 00000000:00000000 00:00000000 00000000     0        0 400 1\n"
        "   2: 0100007F:9C40 0300000A:1F40 01 00000000:00000000 00:00000000 00000000     0        0 500 1\n"
        "   3: 0100007F:0050 0200000A:D432 01 00000000:00000000 00:00000000 00000000     0        0 700 1\n"
    )
    everything = {
        0: "anon_inode:[eventpoll]",
        3: "/var/cache/nginx/1",
        4: "client 10.0.0.2:54321",
        5: "upstream 10.0.0.3:8000",
        6: "socket:[600]",
    }
    assert workers.targets({11: None, 12: {4}}) == {11: everything, 12: {4: "client 10.0.0.2:54322"}}
    assert workers.targets({11: {5, 7}}) == {11: {5: everything[5]}}


@pytest.mark.parametrize(
    ("sockaddr", "now", "expected"),
    [
        (0x0300000A401F0002, "client 10.0.0.2:54321", "upstream 10.0.0.3:8000"),
        (0x030000C0401F0002 - (1 << 64), "", "upstream 192.0.0.3:8000"),
        (0x0200000A31D48002, "", "client 10.0.0.2:54321"),
        (0x00000000401F000A, "upstream [2001:db8::1]:8000", "upstream [2001:db8::1]:8000"),
        (0x00000000401F000A, "client 10.0.0.2:54321", "upstream [?]:8000"),
        (0x00000000401F800A, "upstream 10.0.0.3:8000", "client [?]:8000"),
        (0x722F7261762F0001, "socket:[9]", "upstream unix:"),
        (CLOSED, "client 10.0.0.2:54321", ""),
        (CLOSED, "/var/cache/nginx/1", "/var/cache/nginx/1"),
    ],
)
def test_an_address_from_connect_or_accept_is_kept_after_its_descriptor_is_closed(
    sockaddr: int, now: str, expected: str
) -> None:
    """For IPv6, only the port is known: the address is shown while the descriptor is still the same."""
    assert workers.peer(sockaddr, now) == expected


def test_ipv6_and_mapped_addresses_are_read() -> None:
    assert workers.address("B80D0120000000000000000001000000:0050") == "[2001:db8::1]:80"
    assert workers.address("0000000000000000FFFF00000300000A:1F40") == "10.0.0.3:8000"
