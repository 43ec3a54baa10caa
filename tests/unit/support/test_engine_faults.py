"""A series of engine faults: each fault hits a call that the command really makes."""

from tests.lab.engine_faults import Drawn, Outcome, Point, hit
from tests.lab.engine_proxy import Fault


def test_a_point_after_a_runs_last_call_moves_to_the_same_share_of_its_calls() -> None:
    """The number of calls varies: the run without a fault may make more of them."""
    tried = []

    def measured(point: Point) -> Outcome:
        tried.append(point.at)
        return Outcome(calls=("GET /info",) * 20, decided=1, status=0, output="", left=())

    point, outcome = hit(Drawn(command=("run",), fault=Fault.LOST, share=0.9), measured, calls=30)
    assert (tried, point.at, len(outcome.calls)) == ([28, 19], 19, 20)
