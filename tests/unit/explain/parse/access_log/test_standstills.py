"""A log shows a stalled worker only if it shows every sign; each other explanation of late connects lacks one."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tuneproof.explain.parse.access_log.records import LogRecord
from tuneproof.explain.parse.access_log.standstills import SILENT_MS, StandstillCounts, Standstills

STILL, OTHER = 12, 11
SERVER = "10.0.1.3:9000"
_START_MS = 1_790_000_000_000


def request(
    worker: int, read_ms: int, connect_ms: int | None, took_ms: int, client: int, **values: object
) -> LogRecord:
    """Return a request that was proxied at once, with a fast client."""
    ended_s = (_START_MS + read_ms + took_ms) / 1000
    record = LogRecord(
        time_s=ended_s,
        request_time_s=took_ms / 1000,
        worker_pid=worker,
        connection=client,
        upstream_addr=(SERVER,),
        upstream_connect_time_s=(None if connect_ms is None else connect_ms / 1000,),
        upstream_response_time_s=(took_ms / 1000,),
    )
    return replace(record, **values)  # type: ignore[arg-type]  # a field of each name


def seconds(*numbers: int, **changes: dict[str, object]) -> Iterable[LogRecord]:
    """Yield the requests of these seconds, in each of which worker 12 is stalled from 100 ms to 400 ms.

    The stall delays a connection, two more requests are read at its end, and worker 11 connects three times during it.

    ``changes``: fields of the delayed request ("late"), of the two after it ("beside") and of worker 11's ("other").
    """
    for number in numbers:
        at_ms = 1000 * number
        # Both workers are busy before and after the stall.
        for quiet_ms in (10, 40, 70, 95, 500, 600, 700, 800, 900):
            yield request(STILL, at_ms + quiet_ms, 1, 3, 8 * number)
            yield request(OTHER, at_ms + quiet_ms, 1, 3, 8 * number + 1)
        yield request(STILL, at_ms + 100, 300, 305, 8 * number + 2, **changes.get("late", {}))
        for client in (3, 4):
            yield request(STILL, at_ms + 400, 0, 2, 8 * number + client, **changes.get("beside", {}))
        for other_ms in (150, 250, 350):
            yield request(OTHER, at_ms + other_ms, 1, 3, 8 * number + 5, **changes.get("other", {}))


def found(records: Iterable[LogRecord]) -> dict[int, tuple[int, int]]:
    """Return the number of moments for each worker: those after a stall, and all."""
    counts = StandstillCounts()
    for record in records:
        counts.add(record)
    return {each.worker_pid: (each.alone, each.moments) for each in counts.found()}


def test_a_worker_that_continues_with_all_waiting_requests_had_stalled() -> None:
    counts = StandstillCounts()
    for record in seconds(0, 1, 2):
        counts.add(record)
    assert counts.found() == (
        Standstills(worker_pid=STILL, server=SERVER, alone=3, moments=3, delayed=9, longest_s=0.3),
    )


WITHOUT_A_SIGN = {
    # The same client's requests wait for each other.
    "one client": ({"beside": {"connection": 2}}, (0, 1)),
    # The worker read a request while the connection was delayed.
    "the worker was awake": ({"beside": {"request_time_s": 0.04}}, (0, 1)),
    # No other worker connected to the same server during the delay, or none was faster.
    "another server": ({"other": {"upstream_addr": ("10.0.9.9:9000",)}}, None),
    "reused": ({"other": {"upstream_connect_time_s": (0.0,)}}, None),
    "all are late": ({"other": {"upstream_connect_time_s": (0.3,)}}, None),
    "alone": ({"other": {"worker_pid": STILL}}, None),
    # It is unknown whether nginx began to connect when it read the request.
    "a body came slowly": ({"late": {"upstream_response_time_s": (0.2,)}}, None),
    "a second server": ({"late": {"upstream_connect_time_s": (0.3, 0.001), "upstream_addr": (SERVER, SERVER)}}, None),
    "no address": ({"late": {"upstream_addr": ()}}, None),
    "no worker": ({"late": {"worker_pid": None}}, None),
}


@pytest.mark.parametrize(("changes", "moments"), WITHOUT_A_SIGN.values(), ids=WITHOUT_A_SIGN)
def test_a_delay_without_one_of_the_signs_is_not_a_stall(
    changes: dict[str, dict[str, object]], moments: tuple[int, int] | None
) -> None:
    assert found(seconds(0, **changes)).get(STILL) == moments


def test_a_pause_of_the_machine_is_not_a_stall() -> None:
    """The other worker connects before the pause, and does nothing until its end."""
    awake = [each for each in seconds(0) if each.worker_pid == STILL or not 0.2 < (each.time_s or 0) % 1 < 0.4]
    assert found(awake) == {STILL: (0, 1)}


def test_a_short_silence_is_not_a_stall() -> None:
    """Workers are sometimes silent by chance, and for longer if they have little to do."""
    busy = [request(worker, at_ms, 0, 0, 6) for worker in (STILL, OTHER) for at_ms in range(410, 1000, 2)]
    others = [request(OTHER, at_ms, 0, 0, 6) for at_ms in range(340, 400, 10)]
    woken, later = (request(STILL, 400 - SILENT_MS + late_ms, 0, 0, 7) for late_ms in (0, 1))
    assert found([*seconds(0), *busy, *others, woken]) == {STILL: (1, 1)}
    assert found([*seconds(0), *busy, *others, later]) == {STILL: (0, 1)}
    assert found([*seconds(0), *others, woken]) == {STILL: (0, 1)}


def test_a_worker_of_another_host_does_not_count() -> None:
    """Its host may be nearer to the server; both logs may be in one file."""
    far = [
        replace(each, upstream_connect_time_s=(0.06,), upstream_response_time_s=(0.062,), request_time_s=0.062)
        if each.worker_pid == STILL and each.upstream_connect_time_s == (0.001,)
        else each
        for each in seconds(0)
    ]
    assert found(far) == {}


def test_a_log_in_whole_seconds_shows_nothing() -> None:
    whole = [replace(each, time_s=float(int(each.time_s or 0))) for each in seconds(0)]
    assert found(whole) == {}
