"""Accepting and holding connections as tuning lists have it: multi_accept, auto, and limits of connections.

Directives: https://nginx.org/en/docs/ngx_core_module.html.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import COPIED, Count, Setting, arms_of, both_ways, more, usual
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Connection, Flow
from tuneproof.lab.subject.written_config import written_config
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.backends import ASYNCIO, Backend
from tuneproof.proof.scenario.scenarios import Scenario

BACKEND: Final = Backend(kind=ASYNCIO)
BURST: Final = 200
VISITORS: Final = 100
NEARLY_ALL: Final = 0.9
SLOTS: Final = 64
NEWCOMERS: Final = 40
OPEN_FILES: Final = 60
READERS: Final = 50

_OK: Final = 'location / { return 200 "ok"; }'


def _spread(connections: Sequence[Connection]) -> Figures:
    workers = Counter(answer.worker for answer in answers_of(connections) if answer.status)
    share = max(workers.values()) / workers.total()
    return {"busiest_share": share, "nearly_all": float(share > NEARLY_ALL)}


def _burst(rig: Rig) -> Figures:
    """Let many clients wait in the accept queue, silently; count how many of them each wait for events brings."""
    calls = rig.behind_stopped_workers(BURST)
    accepts = calls["accept4"]
    return {
        "accepts_per_wait": (accepts.made - accepts.failed) / max(calls["epoll_wait"].made, 1),
        "accepts_in_vain": accepts.failed,
    }


def _slow_trickle(rig: Rig) -> Figures:
    """Let clients come one after the other, so that no worker ever is busy when the next one comes."""
    return _spread(rig.flow(Flow(connections=VISITORS, at_once=1, close=True)))


def _one_client(rig: Rig) -> Figures:
    """Let one client ask as often on one connection, which one worker has: what the share would show."""
    return _spread(rig.flow(Flow(requests=VISITORS)))


def _workers_on_one_cpu(rig: Rig) -> Figures:
    """Count the workers of an nginx that may use one CPU."""
    return _workers(rig, allowed_cpus=1)


def _workers_on_all_cpus(rig: Rig) -> Figures:
    """Count the workers of an nginx that may use every CPU."""
    return _workers(rig, allowed_cpus=rig.online_cpus())


def _workers(rig: Rig, *, allowed_cpus: int) -> Figures:
    # The last worker has been forked once the number rests.
    workers = rig.steady(lambda: len(rig.workers()))
    return {"workers": workers, "workers_per_cpu": workers / allowed_cpus, "online_cpus": rig.online_cpus()}


def _hold_many(rig: Rig) -> Figures:
    """Let more clients than there are slots ask for what is never finished; count those that are answered."""
    held = rig.flow(Flow(connections=2 * SLOTS, path="/hold", read_bytes_per_s=400, stays=True))
    return {"clients_served": statuses(held, 200)}


def _beside_idle(rig: Rig) -> Figures:
    """Let clients keep connections that rest, more than there is room for, and others come."""
    return _beside(rig, Flow(connections=2 * SLOTS, path="/ok", stays=True))


def _beside_busy(rig: Rig) -> Figures:
    """Let as many clients be in the middle of a download, and others come."""
    reading = Flow(
        connections=2 * SLOTS, path="/4000000.bin", read_bytes_per_s=4000, receive_buffer_bytes=4096, stays=True
    )
    return _beside(rig, reading)


def _beside(rig: Rig, first: Flow) -> Figures:
    # The others come when the first ones stand.
    done = rig.flows(first, Flow(connections=NEWCOMERS, path="/ok", close=True))
    refused = NEWCOMERS - statuses(done[1], 200)
    return {"refused_share": refused / NEWCOMERS, "first_ended": sum(one.closed_by_server for one in done[0])}


def _read_files(rig: Rig) -> Figures:
    """Let clients read large files slowly; each takes a socket and a file."""
    readers = rig.flow(
        Flow(connections=READERS, path="/4000000.bin", read_bytes_per_s=20_000, receive_buffer_bytes=4096, stays=True)
    )
    return {"served": statuses(readers, 200), "failed": READERS - statuses(readers, 200)}


def _two_workers(events: str, listen: str = "") -> str:
    return written_config(_OK, events=f"worker_connections 1024; {events}", listen=listen, workers="2")


_HELD: Final = f"location / {{ proxy_pass http://{BACKEND.upstream}; proxy_buffering off; }}"
_FILES_AND_OK: Final = 'sendfile on; location /ok { return 200 "ok"; }'
_FEW_SLOTS: Final = f"worker_connections {SLOTS};"


def _files_limit(limit: int) -> str:
    return written_config(
        "sendfile on;", main=f"worker_rlimit_nofile {limit};", events=f"worker_connections {OPEN_FILES};"
    )


ARMS: Final = arms_of(
    [
        Setting(
            name="multi-accept-on",
            config=_two_workers("multi_accept on;"),
            script=_burst,
            workers=2,
            counts_calls=True,
        ),
        Setting(
            name="multi-accept-off",
            config=_two_workers(""),
            script=_burst,
            workers=2,
            counts_calls=True,
        ),
        Setting(name="one-queue", config=_two_workers(""), script=_slow_trickle, workers=2),
        Setting(name="queue-per-worker", config=_two_workers("", "reuseport"), script=_slow_trickle, workers=2),
        Setting(name="one-client", config=_two_workers(""), script=_one_client, workers=2),
        Setting(name="auto-on-one-cpu", config=written_config(_OK, workers="auto"), script=_workers_on_one_cpu),
        Setting(
            name="auto-on-all-cpus",
            config=written_config(_OK, workers="auto"),
            script=_workers_on_all_cpus,
            every_cpu=True,
        ),
        Setting(
            name="proxied",
            config=written_config(_HELD, events=_FEW_SLOTS),
            script=_hold_many,
        ),
        Setting(
            name="static",
            config=written_config("sendfile on; location /hold { alias /srv/www/4000000.bin; }", events=_FEW_SLOTS),
            script=_hold_many,
        ),
        Setting(name="idle-clients", config=written_config(_FILES_AND_OK, events=_FEW_SLOTS), script=_beside_idle),
        Setting(name="busy-clients", config=written_config(_FILES_AND_OK, events=_FEW_SLOTS), script=_beside_busy),
        Setting(name="files-as-many-as-connections", config=_files_limit(OPEN_FILES), script=_read_files),
        Setting(name="files-three-times-as-many", config=_files_limit(3 * OPEN_FILES), script=_read_files),
    ]
)

CLAIMS: Final = (
    more(
        "multi_accept_takes_a_burst_in_one_turn",
        f"With multi_accept on, one worker accepts most of {BURST} queued connections in a single event-loop turn",
        source=f"{COPIED}: multi_accept on, to accept faster and share the load better",
        arms=("multi-accept-on", "multi-accept-off"),
        count=Count(figure="accepts_per_wait", what="connections accepted per wait for events"),
        threshold=5.0,
        why="one iteration that takes five times as many connections leaves the other workers next to nothing of a "
        "burst",
        at_least=1 / BURST,
        line="multi_accept on;",
    ),
    usual(
        "one_worker_takes_nearly_all",
        "Without reuseport, under light load one of two workers takes nearly all connections",
        source='"The Sad State of Linux Socket Balancing" (2017)',
        arm="one-queue",
        turned_by="queue-per-worker",
        figure="nearly_all",
        what="trials in which one worker of two takes more than 90 %",
        expired_since="1.21.6",
        expired_reason="nginx adds its listening sockets to epoll anew every 16 accepts",
        line="listen 80 reuseport;",
    ),
    usual(
        "a_worker_of_its_own_queue_takes_nearly_all",
        "With reuseport, under light load one of two workers takes nearly all connections",
        source="control of the one above",
        arm="queue-per-worker",
        turned_by="one-client",
        figure="nearly_all",
        what="trials in which one worker of two takes more than 90 %",
        expected=Verdict.REFUTED,
    ),
    more(
        "auto_ignores_the_cpuset",
        "worker_processes auto starts one worker per CPU of the host, even in a container pinned to one CPU",
        source='"Tuning NGINX": worker_processes auto',
        arms=("auto-on-one-cpu", "auto-on-all-cpus"),
        count=Count(figure="workers_per_cpu", what="workers per CPU that they may use"),
        threshold=1.5,
        why="with half as many workers again as they have CPUs, workers take turns on a CPU instead of having one each",
        line="worker_processes auto;",
    ),
    more(
        "proxied_clients_take_two_slots",
        f"{SLOTS} worker_connections serve half as many proxied clients as static-file clients",
        source=f"{COPIED}: max clients = worker_processes * worker_connections",
        arms=("static", "proxied"),
        count=Count(figure="clients_served", what="clients served at once"),
        threshold=1.6,
        why="two slots for each client halve what the formula promises; 1.6 is nearer to two than to one, and "
        "leaves room for the few slots that nginx itself takes",
        line="max clients = worker_processes * worker_connections",
    ),
    *both_ways(
        "idle_clients_use_up_connections",
        "Idle keepalive connections use up worker_connections, and new clients are turned away",
        control=(
            "busy_clients_use_up_connections",
            "Active connections use up worker_connections, and new clients are turned away",
        ),
        source=f"{COPIED}: a low keepalive_timeout, because idle clients use up worker_connections",
        arm="idle-clients",
        turned_by="busy-clients",
        figure="refused_share",
        what="trials in which more than half of the newcomers are refused",
        expected=Verdict.REFUTED,
        line="keepalive_timeout 30;",
    ),
    more(
        "files_need_descriptors_too",
        "With worker_rlimit_nofile equal to worker_connections, file downloads fail; with three times that, none do",
        source=f"{COPIED}: worker_rlimit_nofile 65535 beside worker_connections 65535",
        arms=("files-as-many-as-connections", "files-three-times-as-many"),
        count=Count(figure="failed", what="downloads that fail"),
        threshold=3.0,
        why="three failed downloads of fifty, where enough descriptors let none fail, are what somebody is called for",
        line="worker_rlimit_nofile = worker_connections",
    ),
)
SCENARIO: Final = Scenario(name="accepting", arms=ARMS, claims=CLAIMS, backends=(BACKEND,))

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
