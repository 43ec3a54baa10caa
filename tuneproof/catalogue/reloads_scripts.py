"""Scripts for trials of reloads, upgrades and stops; each step begins when the previous one has ended."""

from collections.abc import Callable, Collection
from typing import Final

from tuneproof.catalogue.streams_scripts import settle
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step, Streams
from tuneproof.lab.protocol.scripted import Reply
from tuneproof.lab.subject.written_config import PORT

CLIENTS: Final = 20
DOWNLOADS: Final = 5
WEBSOCKETS: Final = 5
QUEUED: Final = 40
RELOADS: Final = 5
PAGE: Final = "/page"
# During the action, clients read far less than the whole file; they read the rest at once afterwards.
SLOW_BYTES_PER_S: Final = 20_000
HALF_A_HEAD: Final = 10
SWITCHING_PROTOCOLS: Final = 101

Action = Callable[[Rig], None]
Script = Callable[[Rig], Figures]


def reload(rig: Rig) -> None:
    """Reload nginx; the old workers stay as long as their connections do."""
    old = _workers(rig)
    rig.signal("HUP")
    rig.until_they_leave(old)


def reload_and_wait(rig: Rig) -> None:
    """Reload nginx, and wait until its old workers are gone."""
    old = _workers(rig)
    rig.signal("HUP")
    rig.until_they_are_gone(old)


def start_binary(rig: Rig) -> None:
    """Start the binary again; then the workers of both masters serve requests."""
    old = _workers(rig)
    rig.signal("USR2")
    rig.settle(2 * len(old))


def upgrade(rig: Rig) -> None:
    """Start the binary again while the old nginx runs, then end the old workers and the old master."""
    old = _workers(rig)
    start_binary(rig)
    rig.signal("WINCH")
    rig.signal("QUIT")
    rig.until_they_leave(old)


def stop(signal: str) -> Action:
    """Return the action that stops nginx with a signal."""

    def action(rig: Rig) -> None:
        rig.signal(signal)
        rig.wait_until(lambda: not rig.sockets().listeners, f"did not stop listening after {signal}")

    return action


def downloads(action: Action) -> Script:
    """Return the script that counts the downloads that an action interrupts."""
    flow = Flow(
        connections=DOWNLOADS,
        path="/4000000.bin",
        read_bytes_per_s=SLOW_BYTES_PER_S,
        receive_buffer_bytes=16_384,
        then=(Step.STAY, Step.ASK),
    )

    def script(rig: Rig) -> Figures:
        with rig.standing(flow) as results:
            action(rig)
        rig.must(statuses(results[0], 200) == DOWNLOADS, "not all downloads began")
        return _cut(sum(not answer.complete for answer in answers_of(results[0])), of=DOWNLOADS)

    return script


def websockets(action: Action) -> Script:
    """Return the script that counts the WebSockets that carry no more data after an action."""

    def script(rig: Rig) -> Figures:
        _open_websockets(rig, WEBSOCKETS)
        action(rig)
        before = [it.body_bytes for it in rig.arrived()]
        rig.backend().send("hello", 1)
        settle(rig, {"plain": PORT})
        live = sum(it.body_bytes > earlier for it, earlier in zip(rig.arrived(), before, strict=True))
        rig.leave_streams()
        return _cut(WEBSOCKETS - live, of=WEBSOCKETS)

    return script


def idle(action: Action, *, asked: int) -> Script:
    """Return the script that sends requests on each connection, leaves it idle during an action, and sends one more.

    The last request is sent even if nginx has closed the connection, as if it crossed the close.
    """

    def script(rig: Rig) -> Figures:
        flow = Flow(connections=CLIENTS, requests=asked, path=PAGE, then=(Step.STAY, Step.ASK))
        with rig.standing(flow, Flow(path=PAGE, close=True)) as results:
            rig.rest()
            action(rig)
        before = [answer for one in results[0] for answer in one.answers[:asked]]
        rig.must(sum(answer.status == 200 for answer in before) == CLIENTS * asked, "earlier requests failed")  # noqa: PLR2004 - OK
        announced = sum(answer.says_close for answer in answers_of(results[0]))
        lost = _lost(CLIENTS * (asked + 1) - statuses(results[0], 200), of=CLIENTS)
        return {**lost, "told_share": announced / CLIENTS}

    return script


def half_asked(rig: Rig) -> Figures:
    """Send half a request before a reload, and the rest afterwards."""
    flow = Flow(connections=CLIENTS, path=PAGE, head_bytes=HALF_A_HEAD, then=(Step.STAY, Step.ASK))
    with rig.standing(flow, Flow(path=PAGE, close=True)) as results:
        rig.rest()
        reload(rig)
    announced = sum(answer.says_close for answer in answers_of(results[0])) / CLIENTS
    lost = _lost(CLIENTS - statuses(results[0], 200), of=CLIENTS)
    return {**lost, "told_share": announced, "untold_share": 1 - announced}


def load(action: Action, *, keeps: bool) -> Script:
    """Return the script of an action under load.

    Clients send requests until the action is done, and then once more, when only new workers can answer. ``keeps``:
    whether they keep their connections instead of opening a new one for each request.
    """
    flow = Flow(connections=CLIENTS, path=PAGE, close=not keeps, then=(Step.REPEAT,))

    def script(rig: Rig) -> Figures:
        old = _workers(rig)
        with rig.standing(flow) as results:
            action(rig)
        answers = list(answers_of(results[0]))
        lost = sum(not answer.complete for answer in answers)
        # A client that cannot connect has no answer that could be incomplete.
        lost += sum(bool(one.error) and not one.answers for one in results[0])
        new = sum(bool(answer.worker) and answer.worker not in old for answer in answers)
        rig.must(lost + new >= CLIENTS, "the load ended too early")
        return {**_lost(lost, of=CLIENTS), "by_new_workers": new}

    return script


def queue(*, edit: str = "", needs: str = "") -> Script:
    """Return the script that reloads while connections wait in the accept queues of stopped workers.

    edit: a change to the configuration before the reload.
    needs: a sysctl that the kernel must have.
    """

    def script(rig: Rig) -> Figures:
        rig.must(not needs or rig.sysctl(needs) is not None, f"this kernel has no {needs}")
        old = _workers(rig)
        rig.rest()
        flow = Flow(connections=QUEUED, path=PAGE, requests=0, then=(Step.STAY, Step.ASK))
        with rig.stopped_workers() as go_on, rig.standing(flow) as results:
            rig.wait_until(lambda: _queued(rig) == QUEUED, f"did not queue {QUEUED} connections")
            if edit:
                rig.edit(edit)
            rig.signal("HUP")
            go_on()
            rig.until_they_leave(old)
            rig.rest()
        return _lost(QUEUED - statuses(results[0], 200), of=QUEUED)

    return script


def reload_often(opens_before: Collection[int], *, waits: bool = False) -> Script:
    """Return the script that counts the workers after several reloads, with a new WebSocket before some of them.

    waits: whether all old workers must have exited before the count.
    """

    def script(rig: Rig) -> Figures:
        old: set[int] = set()
        for count in range(RELOADS):
            if count in opens_before:
                _open_websockets(rig, 1)
            old |= _workers(rig)
            reload(rig)
        if waits:
            rig.until_they_are_gone(old)
        rig.rest()
        workers = rig.workers()
        rig.leave_streams()
        return {"workers": len(workers), "memory_bytes": sum(worker.rss_anon_bytes for worker in workers)}

    return script


def _open_websockets(rig: Rig, count: int) -> None:
    open_before = len(rig.arrived())
    if not open_before:
        rig.backend().play((Reply(status=SWITCHING_PROTOCOLS, streams=True),))
    rig.open_streams(Streams(count=count, headers={"Upgrade": "websocket", "Connection": "Upgrade"}))

    def are_open() -> bool:
        return sum(it.status == SWITCHING_PROTOCOLS for it in rig.arrived()) == open_before + count

    rig.wait_until(are_open, "did not pass the upgrades on")


def _workers(rig: Rig) -> set[int]:
    return {worker.pid for worker in rig.workers()}


def _queued(rig: Rig) -> int:
    return sum(listener.queued for listener in rig.sockets().listeners)


def _lost(requests: int, *, of: int) -> Figures:
    return {
        "lost": requests,
        "lost_share": requests / of,
        "any_lost": float(requests > 0),
        "none_lost": float(not requests),
    }


def _cut(connections: int, *, of: int) -> Figures:
    return {"cut": connections, "cut_share": connections / of, "none_cut": float(not connections)}
