"""The series of faults: each point hits a call that is really made."""

from tests.lab.engine_faults import Cost, Drawn, Point, hit
from tests.lab.engine_proxy import Fault


def test_a_point_beyond_a_runs_calls_moves_to_the_same_share_of_them() -> None:
    """The run without a fault waited for the engine's lock, and made more calls than the others."""
    tried = []

    def measured(point: Point) -> Cost:
        tried.append(point.at)
        return Cost(calls=("GET /info",) * 20, decided=1, status=0, output="", left=())

    point, cost = hit(Drawn(command=("run",), fault=Fault.LOST, share=0.9), measured, calls=30)
    assert (tried, point.at, len(cost.calls)) == ([28, 19], 19, 20)
