"""A load is recorded in files before, during and after it, and the diagnosis uses only the files."""

import gzip
import json
import types
from typing import TYPE_CHECKING, cast

import pytest

from tuneproof.catalogue import recorded
from tuneproof.catalogue.recorded import BACKENDS_CAPTURE_FILE, CAPTURE_FILE, CLIENTS_CAPTURE_FILE, Recorded, views_of
from tuneproof.errors import LabError
from tuneproof.lab.load.base import Load, Observation, Outcome
from tuneproof.lab.protocol.codec import to_plain

if TYPE_CHECKING:
    from tuneproof.lab.load.stage import Stage

PCAP = bytes.fromhex("4d3cb2a1020004000000000000000000ff00000001000000")
NAMES = "TcpExt: ListenDrops ListenOverflows"
LOG_LINE = (
    '172.18.0.3 [20/Nov/2025:10:00:00 +0000] "GET /{} HTTP/1.1" status=200 body_bytes_sent=2 '
    'rt=0.010 uct="0.000" uht="0.001" urt="0.010" pid=11 connection=1 trial="b1"\n'
)


class Inner(Load[str, Observation]):
    """A load that only records its call, and may fail."""

    def __init__(self, did: list[str], error: LabError | None = None) -> None:
        self._did = did
        self._error = error

    def run(self, stage: "Stage", *, label: str) -> Outcome[str]:
        del stage
        self._did.append("load")
        if self._error:
            raise self._error
        return Outcome(record=label, measuring_s=0.7, steal_pct=1.5)

    def observe(self, outcome: Outcome[str]) -> Observation:
        raise NotImplementedError


class Around:
    """The parts of a stage that a recording uses; ``did`` lists their calls in order."""

    def __init__(self, *, filter_: str = "tcp") -> None:
        self._filter = filter_
        self.did: list[str] = []
        self._drops = iter((100, 400))
        self._times = iter(({7: "1000000 2000000 3\n"}, {7: "9000000 902000000 4\n", 8: "5 6 7\n"}))
        self._logs = iter((LOG_LINE.format("old"), LOG_LINE.format("old") + LOG_LINE.format("new")))

    @property
    def stage(self) -> "Stage":
        stage = types.SimpleNamespace(
            programs=types.SimpleNamespace(agent=self._agent, stop_capture=self._stop_capture, observer=self._observer),
            addresses={"files": "172.18.0.5"},
            subject_name="subject",
            subject=types.SimpleNamespace(fetch=lambda _: next(self._logs).encode()),
            address="172.18.0.4",
            port=8000,
        )
        return cast("Stage", stage)

    def _observer(self, _subject: str, *, part: str) -> types.SimpleNamespace:
        assert part == "witness"
        return types.SimpleNamespace(counters=self._counters, printed=self._printed, workers=self._workers)

    def _agent(self, role: str) -> types.SimpleNamespace:
        return types.SimpleNamespace(
            start_capture=self._start_capture,
            street=lambda part, address="": self.did.append(f"{role} is {part} for {address or 'nobody'}"),
        )

    def _workers(self) -> types.SimpleNamespace:
        times = next(self._times)
        return types.SimpleNamespace(workers=[types.SimpleNamespace(pid=pid, schedstat=times[pid]) for pid in times])

    def _start_capture(self, filter_: str, snap_bytes: int) -> None:
        assert filter_ == self._filter
        assert snap_bytes > 0
        self.did.append("start")

    def _stop_capture(self, _role: str) -> bytes:
        self.did.append("stop")
        return PCAP

    def _printed(self, what: str) -> str:
        if what == "sockets":
            return "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n\n"
        return "Name:\tnginx\nPid:\t7\n"

    def _counters(self) -> types.SimpleNamespace:
        self.did.append("counters")
        return types.SimpleNamespace(counters=f"{NAMES}\nTcpExt: {next(self._drops)} 0\n")


def test_the_capture_and_the_readings_of_the_counters_surround_the_load() -> None:
    around = Around()
    Recorded(load=Inner(around.did)).run(around.stage, label="a-b1")
    assert (set(around.did[:2]), around.did[2], set(around.did[3:])) == (
        {"counters", "start"},
        "load",
        {"stop", "counters"},
    )


def test_the_files_are_those_that_an_engineer_would_collect() -> None:
    around = Around()
    files = Recorded(load=Inner(around.did)).run(around.stage, label="a-b1").files
    assert sorted(files) == ["access.log", "netstat.1-before", "netstat.2-after", CAPTURE_FILE, "processes", "sockets"]
    assert gzip.decompress(files[CAPTURE_FILE]) == PCAP
    assert files["access.log"].decode() == LOG_LINE.format("new")
    assert files["processes"] == b"Name:\tnginx\nPid:\t7\n"


def test_the_workers_times_are_recorded_along_with_an_error_log() -> None:
    """With them, explain can distinguish a stall from a lack of CPU."""
    around = Around()
    plan = Recorded(load=Inner(around.did), access_log=False, error_log=True)
    outcome = plan.run(around.stage, label="a-b1")
    assert outcome.files["schedstat.7"] == b"1000000 2000000 3\n9000000 902000000 4\n"
    assert outcome.files["schedstat.8"] == b"5 6 7\n"
    assert not {"schedstat.7", "schedstat.8"} & set(outcome.record.unread)
    assert "access.log" not in outcome.files, "a log that is switched off was fetched"


def test_the_observation_is_read_from_the_files() -> None:
    """The counters show drops without overflows, so a full SYN queue is possible, but not certain."""
    around = Around()
    plan = Recorded(load=Inner(around.did))
    outcome = plan.run(around.stage, label="a-b1")
    observation = plan.observe(outcome)
    assert observation.found == ()
    assert observation.possible == ("SYN-queue drop",)
    assert (observation.listen_drops, observation.listen_overflows) == (300, 0)
    assert (outcome.record.load, outcome.steal_pct) == ("a-b1", 1.5)
    assert observation.measuring_s == 0.7
    assert json.loads(json.dumps(to_plain(outcome.record)))["load"] == "a-b1"


def test_background_traffic_runs_during_the_load_and_is_captured_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The captures contain all traffic, not only TCP."""
    monkeypatch.setattr(recorded, "_STREET_S", 0.0)
    around = Around(filter_="")
    outcome = Recorded(load=Inner(around.did), street_to="files").run(around.stage, label="a-b1")
    assert around.did.count("start") == around.did.count("stop") == 3
    assert [what for what in around.did if " is " in what or what == "load"] == [
        "files is provider for nobody",
        "subject is machine for 172.18.0.5",
        "client is strangers for 172.18.0.4",
        "load",
        "client is strangers for nobody",
        "subject is machine for nobody",
    ]
    assert {CAPTURE_FILE, CLIENTS_CAPTURE_FILE, BACKENDS_CAPTURE_FILE} <= set(outcome.files)


def test_captures_and_background_traffic_end_with_a_load_that_failed() -> None:
    """Otherwise, the traffic would continue into the next trial."""
    around = Around(filter_="")
    with pytest.raises(LabError, match="no connection"):
        Recorded(load=Inner(around.did, LabError("no connection")), street_to="files").run(around.stage, label="a-b1")
    assert {"client is strangers for nobody", "subject is machine for nobody"} <= set(around.did)
    assert around.did.count("start") == around.did.count("stop") == 3


def test_each_place_has_its_own_capture_and_all_other_files() -> None:
    files = {"access.log": b"1", CAPTURE_FILE: b"2", CLIENTS_CAPTURE_FILE: b"3"}
    assert views_of(files) == {
        CAPTURE_FILE: {"access.log": b"1", CAPTURE_FILE: b"2"},
        CLIENTS_CAPTURE_FILE: {"access.log": b"1", CLIENTS_CAPTURE_FILE: b"3"},
    }
