"""The recorder and the tracer count a program's system calls and loop iterations."""

import json
from pathlib import Path
from typing import Any

import pytest

from images.netadmin.netadmin.recorder import COUNTERS
from tests.support import recorder


class Recorded:
    """Runs programs under the recorder or the tracer (files: the folder for their records)."""

    def __init__(self, library: Path, folder: Path, *, traces: bool) -> None:
        self._library = library
        self._traces = traces
        self._proc = folder / "proc"
        self.files = folder / "files"
        for each in (self._proc, self.files):
            each.mkdir()

    def lines(self, program: str) -> list[Any]:
        text = recorder.run(self._library, program, folder=self.files, proc=self._proc, traces=self._traces)
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorder.build(tmp_path_factory.mktemp("recorder"))


@pytest.fixture(params=["library", "tracer"])
def recorded(library: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Recorded:
    return Recorded(library, tmp_path, traces=request.param == "tracer")


def counters(record: dict[str, Any]) -> dict[str, int]:
    """Return the counters of a record that do not depend on the machine: all except times."""
    return {name: record[name] for name in COUNTERS if not name.endswith("_ns")}


CALLS = """
import ctypes
c = ctypes.CDLL(None)
ours, theirs = socket.socketpair()
temporary = tempfile.TemporaryFile()
before = read().calls
ours.send(b"before the first turn")
theirs.recv(100)
poller.register(theirs, select.EPOLLIN)
poller.poll(0)                                  # returns no event: the first iteration begins
ours.send(b"a" * 1000)
os.writev(ours.fileno(), [b"b" * 300, b"c" * 200])
assert len(poller.poll(0)) == 1                 # the second iteration begins
theirs.recv(10, socket.MSG_PEEK)                # reads no bytes
theirs.recv(1200)                               # reads 1200 bytes
os.readv(theirs.fileno(), [bytearray(200), bytearray(800)])  # reads 300 bytes
theirs.setblocking(False)
try:
    theirs.recv(1)                              # fails
except BlockingIOError:
    pass
os.pwrite(temporary.fileno(), b"d" * 4096, 0)   # writes 4096 bytes to a file
address = lambda text: ctypes.cast(text, ctypes.c_void_p).value
parts = (ctypes.c_void_p * 4)(address(b"e" * 10), 10, address(b"f" * 20), 20)
assert c.pwritev64(temporary.fileno(), parts, 2, ctypes.c_int64(4096)) == 30  # writes 30 bytes to a file
os.sendfile(ours.fileno(), temporary.fileno(), 0, 4000)
poller.poll(0)                                  # the third iteration begins
record = read()
tell(record)
added = {name: calls.since(before[name]) for name, calls in record.calls.items()}
print(json.dumps(to_plain({name: added[name] for name in ("send", "writev", "recv", "readv", "pwrite", "pwritev",
    "sendfile", "epoll_wait")})))
"""


def test_calls_are_counted_anywhere_and_bytes_only_inside_iterations(recorded: Recorded) -> None:
    """Two iterations are complete, and one is open."""
    record, calls = recorded.lines(CALLS)
    assert {name: tuple(row.values()) for name, row in calls.items()} == {
        "send": (2, 0),
        "writev": (1, 0),
        "recv": (4, 1),
        "readv": (1, 0),
        "pwrite": (1, 0),
        "pwritev": (1, 0),
        "sendfile": (1, 0),
        "epoll_wait": (3, 0),
    }
    assert record["begun"] == 3
    assert counters(record) == {"turns": 2, "read_bytes": 1500, "file_write_bytes": 4126}
    # 1500 is in the bucket from 1408 to 1535: 2^10 plus three eighths of it, up to four eighths.
    assert record["histograms"]["read_bytes"] == [[0, 1, 0], [67, 1, 1500]]
    for name in ("read_bytes", "cpu_ns", "wall_ns"):
        buckets = record["histograms"][name]
        assert sum(count for _, count, _ in buckets) == 2
        assert sum(total for _, _, total in buckets) == record[name]
    assert 0 < record["cpu_ns"] <= record["wall_ns"]


def test_waiting_for_events_does_not_count_as_part_of_an_iteration(recorded: Recorded) -> None:
    """A sleep inside an iteration counts as wall time, but not as CPU time."""
    record, outside = recorded.lines("""
first_ns = time.monotonic_ns()
poller.poll(0)
began_ns = time.monotonic_ns()
time.sleep(0.2)
waiting_ns = time.monotonic_ns()
poller.poll(0.3)
poller.poll(0)
ended_ns = time.monotonic_ns()
tell(read())
print(json.dumps([waiting_ns - began_ns, ended_ns - first_ns]))
""")
    slept_ns, whole_ns = outside
    assert record["turns"] == 2
    assert record["wall_ns"] >= slept_ns
    assert record["wall_ns"] <= whole_ns - 3e8
    assert record["cpu_ns"] <= record["wall_ns"] - 2e8


def test_an_error_from_a_call_reaches_the_program_unchanged(recorded: Recorded) -> None:
    (numbers,) = recorded.lines("""
import ctypes
c = ctypes.CDLL(None, use_errno=True)
numbers = []
for call in (
    lambda: c.epoll_wait(-1, None, 1, 0), lambda: c.epoll_wait(0x7ffffff, None, 1, 0), lambda: c.recv(-1, None, 0, 0),
    lambda: c.writev(-1, None, 0), lambda: c.epoll_wait(poller.fileno(), None, 0, 0),
):
    ctypes.set_errno(0)
    assert call() == -1
    numbers.append(ctypes.get_errno())
print(json.dumps(numbers))
""")
    assert numbers == [9, 9, 9, 9, 22]


def test_a_child_has_a_separate_record(recorded: Recorded) -> None:
    parent, child = recorded.lines("""
for _ in range(5):
    poller.poll(0)
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    entry()
    own, other = socket.socketpair()
    own.send(b"not in an iteration: this process has not waited yet")
    other.recv(100)
    poller.poll(0)
    own.send(b"abc")
    other.recv(100)
    poller.poll(0)
    theirs.send(b"over")
    time.sleep(60)
while ours.recv(1000)[-4:] != b"over":
    pass
tell(read())
tell(read(child))
""")
    assert (parent["turns"], parent["begun"]) == (4, 5)
    assert (child["turns"], child["read_bytes"]) == (1, 3)


def test_calls_of_other_threads_are_not_counted(recorded: Recorded) -> None:
    """The threads of a pool read and write, and may wait for events, too."""
    (record,) = recorded.lines("""
poller.poll(0)
ours, theirs = socket.socketpair()
def pool():
    own = select.epoll()
    for _ in range(100):
        ours.send(b"x")
        theirs.recv(1)
        own.poll(0)
threads = [threading.Thread(target=pool) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ours.send(b"y")
theirs.recv(1)
poller.poll(0)
tell(read())
""")
    assert counters(record) == {"turns": 1, "read_bytes": 1, "file_write_bytes": 0}


def test_a_record_that_cannot_be_created_does_not_affect_the_program(recorded: Recorded) -> None:
    recorded.files.rmdir()
    assert recorded.lines("""
poller.poll(0)
poller.poll(0)
try:
    read()
except recorder.RecordError as error:
    print(json.dumps(str(error).replace(str(os.getpid()), "PID")))
""") == ["process PID keeps no record"]


def test_a_record_replaces_that_of_an_ended_process_with_the_same_id(recorded: Recorded) -> None:
    """Nothing is added to the old record, and a planted symbolic link is not followed."""
    lines = recorded.lines("""
name = FOLDER / f"tuneproof.{os.getpid()}"
if len(sys.argv) == 1:
    name.unlink()
    name.write_bytes(b"old" * 10000)
    (FOLDER / f"{name.name}.new").symlink_to(FOLDER / "elsewhere")
    # For the recorder, the next program of this process is a new process with the same id.
    os.execv(sys.executable, [*sys.orig_argv, "again"])
poller.poll(0)
poller.poll(0)
tell(read())
print(json.dumps(sorted(each.name.replace(str(os.getpid()), "PID") for each in FOLDER.iterdir())))
""")
    assert lines[0]["turns"] == 1
    assert lines[1] == ["tuneproof.PID"]


def test_a_reader_sees_only_whole_iterations(recorded: Recorded) -> None:
    """Every reading is consistent, even while the other process iterates as fast as it can."""
    (readings,) = recorded.lines("""
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    entry()
    while True:
        poller.poll(0)
        theirs.send(b"abc")
        ours.recv(2)
        ours.recv(1)
ours.recv(1, socket.MSG_PEEK)
time.sleep(0.1)
readings = []
# The child may get little CPU time.
while len(readings) < 500 or len(set(readings)) < 10:
    record = read(child)
    counters, histogram = record.counters, record.histograms["read_bytes"]
    assert counters["read_bytes"] == 3 * counters["turns"], counters
    assert histogram == {3: (counters["turns"], counters["read_bytes"])}, (histogram, counters)
    assert record.begun in (counters["turns"], counters["turns"] + 1), (record.begun, counters)
    readings.append(counters["turns"])
print(json.dumps(readings))
""")
    assert readings == sorted(readings)
