"""Whatever was done to a text of counters, the answer is counters or the one error, in bounded time."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.canned_counters import NETSTAT, NETSTAT_S, NSTAT, NSTAT_JSON, SNMP, SOFTNET
from tests.support.mutations import mutated
from tuneproof.explain.parse.counters import netstat_s, nstat, proc_net, softnet
from tuneproof.explain.parse.counters.delta import delta, total
from tuneproof.explain.parse.counters.figures import figures
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot
from tuneproof.explain.parse.lines import lines
from tuneproof.explain.parse.problems import MalformedEvidenceError


@pytest.mark.parametrize(
    ("recorded", "read"),
    [
        (NETSTAT + SNMP, proc_net.snapshots),
        (NSTAT, nstat.snapshots),
        (NSTAT_JSON, nstat.snapshots),
        (NETSTAT_S, netstat_s.snapshots),
        (SOFTNET, softnet.snapshots),
    ],
    ids=["proc", "nstat", "nstat --json", "netstat -s", "softnet"],
)
def test_a_mutated_text_is_answered(recorded: str, read: Callable[[str], tuple[CounterSnapshot, ...]]) -> None:
    """Also what is computed from the answer works: differences are no less than zero, figures are few."""

    @settings(max_examples=200, derandomize=True, database=None)
    @given(mutated(recorded * 2))
    def check(text: str) -> None:
        try:
            found = read(text)
        except MalformedEvidenceError as error:
            assert error.line is not None  # noqa: PT017 - the place is the claim, whichever text it was
            assert error.column is None or error.column >= 1  # noqa: PT017
            return
        assert found
        unmatched = sum(each.unmatched_lines for each in found)
        assert unmatched <= sum(1 for _ in lines(text))
        change = delta(found[0], found[-1])
        assert all(value >= 0 for value in change.increments.values())
        assert len(figures(change)) <= 25
        if len(found) > 1:
            assert all(value >= 0 for value in total(found).increments.values())

    check()


@settings(max_examples=200, derandomize=True, database=None)
@given(
    st.dictionaries(st.sampled_from(("Tcp.A", "Tcp.B", "IpExt.C")), st.integers(0, 2**33)),
    st.dictionaries(st.sampled_from(("Tcp.A", "Tcp.B", "IpExt.C")), st.integers(0, 2**33)),
)
def test_increments_lead_from_the_earlier_to_the_later(earlier: dict[str, int], later: dict[str, int]) -> None:
    """Without a reset the earlier value and its increment are the later value, full turns of 32 bits aside."""
    change = delta(CounterSnapshot(source="proc", counters=earlier), CounterSnapshot(source="proc", counters=later))
    for name, increment in change.increments.items():
        if change.reset:
            assert increment == later[name]
        else:
            turn = 2**32 if name in change.wrapped else 0
            assert earlier[name] + increment == later[name] + turn
