"""Claims that must fall when their cause is taken away: an assertion that cannot fail proves nothing."""

import pytest

from fixtures.inference.verdicts import Verdict
from fixtures.network.profiles import BARE
from fixtures.pytest_plugin.measurements import Measure, decide
from fixtures.pytest_plugin.run_state import RunState
from fixtures.scenario.measurement import CellPlace
from fixtures.subject.snapshot import Snapshot
from tests.scenarios.reuseport_stall_claims import SCENARIO, TCP_RMEM, ReuseportStall

pytestmark = [pytest.mark.engine, pytest.mark.timing]


def test_without_bulk_downloads_no_worker_stalls(
    nginx: str, host_snapshot: Snapshot, measure: Measure, run_state: RunState
) -> None:
    """The pathology is taken away: claim 1 is refuted."""
    scenario = ReuseportStall(default_rmem=host_snapshot.triple(TCP_RMEM), bulk=False).scenario()
    claim = scenario.claim("loaded_worker_stalls").expecting(Verdict.REFUTED)
    place = CellPlace(scenario=f"{SCENARIO} without bulk downloads", nginx=nginx, network=BARE)
    with measure(place, scenario, [claim]) as measures:
        cell = decide(claim, measures, run_state)
    assert cell.verdict == Verdict.REFUTED


def test_with_tcp_rmem_left_alone_the_loop_is_not_restored(
    nginx: str, host_snapshot: Snapshot, measure: Measure, run_state: RunState
) -> None:
    """The remedy is taken away, the stall is there: claim 2 is refuted."""
    scenario = ReuseportStall(default_rmem=host_snapshot.triple(TCP_RMEM), remedy=False).scenario()
    claim = scenario.claim("small_rmem_restores_loop").expecting(Verdict.REFUTED)
    place = CellPlace(scenario=f"{SCENARIO} with tcp_rmem left alone", nginx=nginx, network=BARE)
    with measure(place, scenario, [claim]) as measures:
        cell = decide(claim, measures, run_state)
    assert cell.verdict == Verdict.REFUTED
