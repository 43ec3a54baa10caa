"""Scripts for trials of a server that fails, works again, and gets requests after its fail_timeout."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tuneproof.catalogue.load_balancing_scripts import by_server, last
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step, Streams

WORKERS: Final = 4
REQUESTS: Final = 40
LONG: Final = 10
KEYS: Final = 40
FAIL_TIMEOUT_S: Final = 1
RETURNING: Final = "127.0.0.1:9002"
# The server fails once the first of these files exists, and works again once the second one exists, too.
DOWN: Final = "down"
BACK: Final = "back"
# Enough for each worker to reach the server that fails: connections are distributed at random.
_FINDING_OUT: Final = 100
# nginx counts in whole seconds: it tries a server again once more than fail_timeout has passed.
_LATER_S: Final = FAIL_TIMEOUT_S + 1.1
# After this many requests, nginx has noticed that a server works again.
_CHECKING: Final = 8
_SERVED: Final = 200
_HELD: Final = Flow(connections=REQUESTS, path="/hold", read_bytes_per_s=1000, then=(Step.STAY,))
_SHORT: Final = Flow(requests=REQUESTS)

Lines = Iterable[Mapping[str, str]]


def _fail(rig: Rig, workers: int) -> int:
    """Let the server fail; return how many requests were sent to make workers notice."""
    rig.write(DOWN, 0)
    rig.ok(rig.flow(Flow(connections=_FINDING_OUT, at_once=WORKERS)), requests=_FINDING_OUT)
    tried = {line["pid"] for line in rig.logged(_FINDING_OUT) if RETURNING in line["upstream"]}
    rig.must(len(tried) >= workers, f"{len(tried)} of {workers} workers tried the server that fails")
    return _FINDING_OUT


def _return(rig: Rig) -> None:
    rig.write(BACK, 0)
    rig.wait(_LATER_S)


def _got(lines: Lines) -> int:
    return by_server(lines)[RETURNING]


def _returned(flow: Flow, workers: int) -> Callable[[Rig], Figures]:
    """Return the script that counts how many of the first requests a server gets once it works again.

    workers: how many of nginx's workers must have tried the failed server before; with a zone, one is enough.
    """

    def script(rig: Rig) -> Figures:
        before = _fail(rig, workers)
        _return(rig)
        with rig.before(FAIL_TIMEOUT_S, "nginx tries a server again"):
            rig.flow(flow)
        got = _got(rig.logged(before + REQUESTS)[before:])
        return {"returned": got, "returned_share": 2 * got / REQUESTS}

    return script


def long_requests(workers: int) -> Callable[[Rig], Figures]:
    """Return the script of :func:`_returned` with requests that do not end."""
    return _returned(_HELD, workers)


def short_requests(workers: int) -> Callable[[Rig], Figures]:
    """Return the script of :func:`_returned` with requests one after the other."""
    return _returned(_SHORT, workers)


def beside_long_requests(rig: Rig) -> Figures:
    """Send long requests while a server fails, and as many once it works again; count the later ones that it gets."""
    before = _fail(rig, 1)
    rig.open_streams(Streams(count=LONG, path="/hold/before"))
    _until_begun(rig, LONG)
    _return(rig)
    rig.ok(rig.flow(Flow(requests=_CHECKING)), requests=_CHECKING)
    rig.must(_got(rig.logged(before + _CHECKING)[before:]) > 0, "the server that works again got no request")
    rig.open_streams(Streams(count=LONG, path="/hold/after"))
    _until_begun(rig, 2 * LONG)
    rig.leave_streams()
    lines = rig.logged(before + _CHECKING + 2 * LONG)
    return {"returned_long": _got(line for line in lines if line["uri"] == "/hold/after")}


def _until_begun(rig: Rig, streams: int) -> None:
    def begun() -> bool:
        return sum(one.status == _SERVED for one in rig.arrived()) == streams

    rig.wait_until(begun, f"did not begin {streams} responses")


def keys(*, comes_back: bool) -> Callable[[Rig], Figures]:
    """Return the script: a server fails; count the share of its keys that go elsewhere after fail_timeout.

    comes_back: whether the server works again by then.
    """
    flow = Flow(requests=KEYS, path="/?k={n}")

    def asked(rig: Rig, before: int) -> dict[str, str]:
        rig.ok(rig.flow(flow), requests=KEYS)
        return {line["key"]: last(line) for line in rig.logged(before + KEYS)[before:]}

    def script(rig: Rig) -> Figures:
        own = {key for key, server in asked(rig, 0).items() if server == RETURNING}
        rig.must(bool(own), "no key belongs to the server")
        rig.write(DOWN, 0)
        moved = asked(rig, KEYS)
        rig.must(all(moved[key] != RETURNING for key in own), "keys of a server that fails did not move")
        if comes_back:
            rig.write(BACK, 0)
        rig.wait(_LATER_S)
        now = asked(rig, 2 * KEYS)
        return {"elsewhere_share": sum(now[key] != RETURNING for key in own) / len(own)}

    return script
