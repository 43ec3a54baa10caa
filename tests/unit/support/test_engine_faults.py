"""The series of faults: each point hits a call that is really made."""

from pathlib import Path

from tests.lab.engine_faults import Cost, Drawn, Point, hit
from tests.lab.engine_proxy import Fault, FaultyEngine


def test_a_point_beyond_a_runs_calls_is_tried_at_the_same_share_of_them() -> None:
    """The run without a fault waited for its turn on the engine, and asked ten times more than the others."""
    tried = []

    def measured(point: Point) -> Cost:
        tried.append(point.at)
        return Cost(calls=("GET /info",) * 20, decided=1, status=0, output="", left=())

    point, cost = hit(Drawn(command=("run",), fault=Fault.LOST, share=0.9), measured, calls=30)
    assert (tried, point.at, len(cost.calls)) == ([28, 19], 19, 20)


def test_a_wait_for_the_engines_lock_is_counted_once(tmp_path: Path) -> None:
    """However long it lasts, the calls after it have the same numbers."""
    proxy = FaultyEngine("", tmp_path / "socket", fault=Fault.LOST, at=5)
    wait = ["POST /v1.41/containers/create?name=tuneproof-turn", "GET /v1.41/containers/tuneproof-turn/json"]
    wait += ["GET /v1.41/containers/json?filters=x"]
    start = "POST /v1.41/containers/1/start"
    hit = [proxy.counted(call) for call in (*wait, *wait, *wait, start, start)]
    assert proxy.calls == [*wait, start, start]
    assert hit == [None] * 10 + [Fault.LOST]
