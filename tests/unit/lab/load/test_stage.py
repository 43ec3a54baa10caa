"""The stage for a load: one of several nginx containers, and programs that start when they are needed."""

import types
from typing import TYPE_CHECKING, Any, cast

from tests.support.fake_netadmin import FakeLab
from tests.support.joined import Joined
from tuneproof.lab.load.stage import Programs, Stage
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.scripted import Scripted

if TYPE_CHECKING:
    from tuneproof.lab.topology.lab import Lab

LOADGEN = ["python3", "-m", "loadgen"]
OBSERVER = ["python3", "-m", "netadmin.observer"]


class StandInLab:
    """A lab that records the programs that start in it."""

    def __init__(self) -> None:
        self.started: list[tuple[str, list[str], str]] = []  # container, command, user
        self.conversations: list[Joined] = []

    @property
    def lab(self) -> "Lab":
        return cast("Lab", self)

    def __getitem__(self, name: str) -> types.SimpleNamespace:
        def converse(command: list[str], *, user: str = "") -> Joined:
            self.started.append((name, command, user))
            self.conversations.append(Joined(Loadgen, self))
            return self.conversations[-1]

        return types.SimpleNamespace(name=name, converse=converse, attach=lambda: converse(["its own program"]))

    def programs(self, *, prober: bool = True) -> Programs:
        return Programs(self.lab, prober=prober)


def test_a_program_starts_at_its_first_call_and_again_after_a_restart() -> None:
    """Old programs may have ended, or may keep a trial's connections open.

    An observer runs as nginx's user, which may read the files of nginx's processes (proc(5)).
    """
    stand_in = StandInLab()
    programs = stand_in.programs()

    def all_programs() -> list[object]:
        loads: list[object] = [programs.client, programs.prober]
        return [*loads, programs.observer("default"), programs.observer("default", part="witness")]

    assert stand_in.started == []
    old = all_programs()
    assert all_programs() == old
    assert len(set(old)) == 4, "the witness and the observer should be different programs"
    started = [("client", LOADGEN, ""), ("prober", LOADGEN, "")]
    started += [(name, OBSERVER, "www-data") for name in ("netadmin-default", "netadmin-default")]
    assert stand_in.started == started
    programs.restart()
    assert stand_in.started == started, "no program should start before it is needed"
    assert len({*old, *all_programs()}) == 8
    assert stand_in.started == started * 2
    assert [conversation.closed for conversation in stand_in.conversations] == [True] * 4 + [False] * 4
    assert stand_in.programs(prober=False).prober is None, "a lab without a prober has no such program"


def test_a_containers_own_program_is_not_restarted() -> None:
    """A backend continues to number its responses."""
    stand_in = StandInLab()
    programs = stand_in.programs()
    programs.of("backend", Scripted)
    programs.restart()
    assert stand_in.started == [("backend", ["its own program"], "")]
    assert not stand_in.conversations[0].closed


def test_a_capture_is_read_from_the_container_that_recorded_it() -> None:
    lab = FakeLab()
    programs = Programs(lab.lab, prober=False)
    programs.agent("client").start_capture("tcp port 8000")
    assert programs.stop_capture("client") == b"content of /var/log/link.pcap"
    assert lab.programs["client"].of("start_capture") == [{"filter_": "tcp port 8000", "snap_bytes": 192}]


def test_a_stage_belongs_to_one_of_several_nginx_containers() -> None:
    stand_in = StandInLab()
    addresses = {"default": "172.18.0.3", "small": "172.18.0.4"}
    programs = stand_in.programs()
    stage = Stage(lab=stand_in.lab, programs=programs, subject_name="small", port=8080, addresses=addresses)
    assert stage.address == "172.18.0.4"
    assert cast("Any", stage.subject).name == "small"
    assert stage.observer == programs.observer("small")
    assert stand_in.started == [("netadmin-small", OBSERVER, "www-data")]
