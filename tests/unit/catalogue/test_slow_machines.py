"""On a slow machine, a trial is void if a timer of nginx or the kernel would decide its result."""

import types
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.support.exchanged import answered, seen
from tuneproof.catalogue import (
    dying_connections_scripts,
    kernel_settings,
    load_balancing,
    proxy_cache,
    request_limits_scripts,
    serving_files_scripts,
    tls_settings,
    upstream_names,
    upstream_peers,
)
from tuneproof.lab.load import rig as module
from tuneproof.lab.load.counted import Counted, CountedObservation, Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.cpu_times import MachineShares
from tuneproof.lab.protocol.exchanges import Answer, Connection, Flow, TlsConnection
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.observer import SocketCounts
from tuneproof.lab.topology.program import Answered, Call, remote
from tuneproof.proof.scenario.arms import Arm

if TYPE_CHECKING:
    from tuneproof.lab.load.stage import Stage

OK = answered(200)
NO_SOCKETS = SocketCounts(listeners=(), local={}, others={}, send_queue_bytes=0, unread_bytes=())
BACKEND = types.SimpleNamespace(**dict.fromkeys(("play", "seen", "name", "end_connections"), lambda *_: seen()))


class Machine(Rig):
    """A rig with a client that takes ``takes_s`` for every call; every request gets the same response."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes_s: float, *, answer: Answer = OK) -> None:
        stage = types.SimpleNamespace(
            address="172.18.0.4",
            port=8000,
            clients=iter(()),
            addresses=defaultdict(str),
            supervisor=types.SimpleNamespace(write=lambda *_: None),
            client=remote(Loadgen, self),
            sockets=lambda _port: NO_SOCKETS,
            programs=types.SimpleNamespace(of=lambda _name, _interface: BACKEND),
        )
        super().__init__(cast("Stage", stage), configuration="arm")
        self.takes_s = takes_s
        self.now_s = 100.0
        self.answer = answer
        self.log: list[dict[str, str]] = []
        monkeypatch.setattr(module, "time", types.SimpleNamespace(monotonic=lambda: self.now_s, sleep=lambda _: None))

    def ask(self, call: Call) -> Answered[Any]:
        self.now_s += self.takes_s
        resumed = TlsConnection(hellos=1, records=1, largest_record_bytes=1, body_bytes=1, resumed=True)
        answers = {
            "tls_resume": [resumed] * len(call.arguments.get("which", ())),
            "flows": [self._became(flow) for flow in call.arguments.get("flows", ())],
        }
        return Answered(answer=answers.get(call.function, []), took_s=self.takes_s, machine=MachineShares())

    def _became(self, flow: Flow) -> tuple[Connection, ...]:
        answers = (self.answer,) * flow.requests
        return (Connection(answers=answers, error="", closed_by_server=False, open_s=self.takes_s),) * flow.connections

    def flows_behind_stopped_workers(
        self, *flows: Flow, then: Callable[[], object] = lambda: None
    ) -> list[tuple[Connection, ...]]:
        then()
        return self.flows(*flows)

    def rest(self) -> None: ...

    def fresh_workers(self) -> None: ...

    def access_log(self) -> list[dict[str, str]]:
        return self.log


Script = Callable[[Rig], Figures]


def script_of(arms: Sequence[Arm[CountedObservation]], name: str) -> Script:
    (plan,) = [arm.plan for arm in arms if arm.name == name]
    assert isinstance(plan, Counted)
    return plan.script


# By name: a script, the time in seconds that each call to the client may take, and the consequence of a longer time.
SCRIPTS: Mapping[str, tuple[Script, float, str]] = {
    "dying_connections": (dying_connections_scripts.asked_in_turn(), 10, "nginx tries a failed server again"),
    "failed_requests": (script_of(upstream_peers.ARMS, "5xx-listed"), 5, "nginx tries a failed server again"),
    "dead_peer": (script_of(upstream_peers.ARMS, "with-zone"), 60, "nginx tries a failed server again"),
    "grown_file": (serving_files_scripts.grow, 15, "nginx looks at a file again"),
    "time_wait": (script_of(kernel_settings.ARMS, "none-closed"), 60, "the kernel forgets TIME-WAIT"),
    "sessions": (script_of(tls_settings.ARMS, "reloaded"), 150, "nginx forgets sessions"),
    "many_sessions": (script_of(tls_settings.ARMS, "cache-tls-1.2"), 150, "nginx forgets sessions"),
    "microcache": (script_of(proxy_cache.ARMS, "microcache"), 5, "a tenth of them may have found the page expired"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_trial_that_is_slower_than_a_timer_allows_is_void(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script, limit_s, words = SCRIPTS[name]
    assert script(Machine(monkeypatch, 0.99 * limit_s))
    with pytest.raises(VoidTrialError, match=words):
        script(Machine(monkeypatch, 1.01 * limit_s))


def test_a_page_requested_too_slowly_shows_nothing_about_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 0.9 s, the burst and the rate admit more than half of the objects, so the page would not seem to break."""
    rejected = answered(503)
    assert request_limits_scripts.page(Machine(monkeypatch, 0.7, answer=rejected)) == {"rejected_share": 1.0}
    with pytest.raises(VoidTrialError, match=r"the requests took 0\.9 s, in which the rate admits"):
        request_limits_scripts.page(Machine(monkeypatch, 0.9, answer=rejected))


def test_a_download_that_is_half_done_before_others_begin_shows_nothing_about_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for come, is_void in ((499_999, False), (500_000, True)):
        machine = Machine(monkeypatch, 1, answer=answered(200, body_bytes=come))
        if is_void:
            with pytest.raises(VoidTrialError, match="a download had reached 500000 bytes"):
                request_limits_scripts.slow_downloads(machine)
        else:
            assert request_limits_scripts.slow_downloads(machine) == {"ended_share": 0}


def test_lateness_is_read_from_nginxs_log_and_a_late_upstream_voids_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's time for sending and receiving does not matter."""
    path = f"/wait/{proxy_cache.ANSWER_MS}"
    own, waited = ({"uri": path, "upstream": upstream, "took_s": "0.5"} for upstream in ("10.0.0.2:8000", ""))
    machine, stampede = Machine(monkeypatch, 9), script_of(proxy_cache.ARMS, "new-key-locked")
    machine.log = [{**own, "took_s": "0.2"}, *[waited] * 29]
    assert stampede(machine) == {"upstream_requests": 1, "late_share": 29 / 30, "ok": 30}
    machine.log = [own, *[waited] * 29]
    with pytest.raises(VoidTrialError, match=r"the upstream took longer than 0.45 s for 1 of its answers"):
        stampede(machine)


def test_slow_requests_void_the_trial_with_one_dns_query_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """At one query per second, twenty requests in ten seconds would cause only one query for every two requests."""
    script = upstream_names.moved(later_s=0)
    with pytest.raises(VoidTrialError, match="requests went elsewhere"):
        script(Machine(monkeypatch, 9.9))
    with pytest.raises(VoidTrialError, match="one query per second"):
        script(Machine(monkeypatch, 10.1))


def test_a_trial_in_which_nginx_may_try_a_dead_server_again_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    script = script_of(load_balancing.ARMS, "max-fails-3")
    monkeypatch.setattr(Machine, "wait_until", lambda machine, done, what: machine.must(done(), what))
    tried, spared = {"upstream": "127.0.0.1:9, 127.0.0.1:9001"}, {"upstream": "127.0.0.1:9001"}

    def asked(takes_s: float, *, again: int) -> Figures:
        machine = Machine(monkeypatch, takes_s)
        first, second = [tried] * 3 + [spared] * 17, [tried] * again + [spared] * (20 - again)
        logs = iter([first, first + second])
        monkeypatch.setattr(Machine, "access_log", lambda _: next(logs))
        return script(machine)

    assert asked(0.99, again=1) == {"tried_share": 0.1}
    assert asked(0.99, again=10) == {"tried_share": 1}
    with pytest.raises(VoidTrialError, match="after 1 s nginx tries a failed server again"):
        asked(1.01, again=1)


def test_keys_of_a_removed_server_do_not_count_as_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, 0)
    monkeypatch.setattr(Machine, "wait_until", lambda machine, done, what: machine.must(done(), what))
    before, after = ["one", "one", "two", "gone"] * 50, ["one", "two", "dead, two", "one"] * 50
    machine.log = [
        {"uri": uri, "key": str(number), "upstream": server}
        for uri, servers in (("/before", before), ("/after", after))
        for number, server in enumerate(servers)
    ]
    assert script_of(load_balancing.ARMS, "hash-failed")(machine) == {"moved_keys": 50, "moved_share": 1 / 3}
