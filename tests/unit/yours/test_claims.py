"""Claims about a user's own nginx are decided by the figures of trials."""

from pathlib import Path

import pytest

from tests.support.own_configurations import http, opened
from tuneproof.lab.load.counted import CountedObservation
from tuneproof.report.results.cells import Remedy
from tuneproof.yours import claims
from tuneproof.yours.routes import Route, routes_of
from tuneproof.yours.trials import MIB

CHANGE = Remedy(what="a change", patch="+ it")
ARMS = ("before", "after")


def seen(**figures: float) -> CountedObservation:
    return CountedObservation(measuring_s=0.1, figures=figures)


@pytest.fixture
def route(tmp_path: Path) -> Route:
    zone = "limit_req_zone $remote_addr zone=a:1m rate=1r/s;\n"
    text = f"{zone}server {{ listen 80; limit_req zone=a; location / {{ proxy_pass http://b; }} }}"
    found, _ = opened(tmp_path, http(text))
    (one,) = routes_of(found.facts)
    assert isinstance(one, Route)
    return one


def asked(connects: float, *, answered: float = 32, from_cache: float = 0, **others: float) -> CountedObservation:
    return seen(asked=32, answered=answered, upstream_connects=connects, from_cache=from_cache, **others)


def test_connects_are_counted_for_each_uncached_response(route: Route) -> None:
    """Each trial counts as one yes or no, since its requests share connections. Cached responses need no connection."""
    claim = claims.connects("root", route, "yours")
    assert float(claim.effect({"yours": asked(32)})) == 1
    assert float(claim.effect({"yours": asked(4)})) == 0
    assert float(claim.effect({"yours": asked(16)})) == 0
    assert float(claim.effect({"yours": asked(17)})) == 1
    assert float(claim.effect({"yours": asked(8, from_cache=24)})) == 1


def test_a_route_without_responses_names_the_possible_reasons(route: Route) -> None:
    claim = claims.connects("root", route, "yours")
    with pytest.raises(ValueError, match=r"32 times 503, perhaps by limit_req \(.*nginx.conf:5\)"):
        claim.effect({"yours": asked(0, answered=0, status_503=32)})
    with pytest.raises(ValueError, match=r"28 of 32 requests to .* got no response at all"):
        claim.effect({"yours": asked(4, answered=4, status_0=28)})
    assert claim.moderator is not None
    assert claim.moderator({"yours": asked(10, answered=10, status_503=22).figures}).startswith("22 of 32 requests")
    assert claim.moderator({"yours": asked(32).figures}) == ""


def test_the_gain_of_a_patch_is_a_ratio_of_connects(route: Route) -> None:
    claim = claims.keeps_connections("root", route, ARMS, CHANGE)
    assert float(claim.effect({"before": asked(32), "after": asked(4)})) == 8
    assert float(claim.effect({"before": asked(4), "after": asked(4)})) == 1
    assert claim.remedy is not None
    assert (claim.figure, claim.remedy.patch) == ("upstream_connects", "+ it")
    with pytest.raises(ValueError, match="no request"):
        claim.effect({"before": asked(32), "after": asked(0, answered=0)})


def streamed(events: float, *, answered: float = 2, **others: float) -> CountedObservation:
    return seen(asked=2, answered=answered, arrived_events=events, **others)


def test_a_stream_is_delivered_if_each_event_arrives(route: Route) -> None:
    """A trial with a late event counts as no; a patch's gain is the ratio of arrived events (zero counts as one)."""
    claim = claims.streams("root", route, "yours")
    assert float(claim.effect({"yours": streamed(20)})) == 1
    assert float(claim.effect({"yours": streamed(19)})) == 0
    assert claim.moderator is not None
    over = {"arrived_over_http1": 10, "arrived_over_http2": 20}
    assert claim.moderator({"yours": streamed(10, **over).figures}) == (
        "events that arrive: 10 of 20 over HTTP/1.1, 20 of 20 over HTTP/2"
    )
    assert claim.moderator({"yours": streamed(20, arrived_over_http1=20).figures}) == ""
    patch = claims.delivers_events("root", route, ARMS, CHANGE)
    assert float(patch.effect({"before": streamed(0), "after": streamed(20)})) == 20
    assert float(patch.effect({"before": streamed(20), "after": streamed(20)})) == 1
    with pytest.raises(ValueError, match=r"no stream .* came from a stand-in: 1 times 503, perhaps by limit_req"):
        claim.effect({"yours": streamed(3, answered=1, status_503=1)})


def test_the_memory_for_a_slow_reader_is_compared_with_the_sum_of_the_directives(route: Route) -> None:
    claim = claims.holds_what_is_computed("root", route, "yours", MIB)
    assert float(claim.effect({"yours": seen(grown_bytes=MIB)})) > 1
    assert float(claim.effect({"yours": seen(grown_bytes=2 * MIB)})) < 1
    less = claims.holds_less("root", route, ARMS, CHANGE)
    assert float(less.effect({"before": seen(grown_bytes=64 * MIB), "after": seen(grown_bytes=MIB)})) == 64


def test_loop_iterations_are_compared_by_the_bytes_that_they_read(route: Route) -> None:
    stall = claims.keeps_loop_busy("root", route, "yours")
    assert float(stall.effect({"yours": seen(turn_bytes=12 * MIB)})) == 12
    with pytest.raises(ValueError, match="no large response"):
        stall.effect({"yours": seen(turn_bytes=0)})
    short = claims.shortens_turns("root", route, ARMS, CHANGE, by="small_rmem")
    assert float(short.effect({"before": seen(turn_bytes=12 * MIB), "after": seen(turn_bytes=MIB / 16)})) == 192


def test_queues_are_compared_by_the_connections_that_they_hold() -> None:
    claim = claims.queues_more(80, 1500, ARMS, CHANGE)
    assert float(claim.effect({"before": seen(queued=512), "after": seen(queued=1500)})) == 1500 / 512


def test_repeated_names_are_numbered() -> None:
    """Two servers may have locations of the same name."""
    assert claims.unique(["root", "api", "root"]) == ["root", "api", "root_2"]
