"""What happened in a trial's course: loop lag, memory and queues over time; and what the kernel counted in it."""

from tests.support.canned_charts import cell, files, http, memory, named, names, only, rows, stall, storm, trial


def test_the_loop_lag_is_shown_over_the_first_valid_trial_of_each_arm() -> None:
    """One curve per arm and worker; a void trial does not count as the first."""
    evidence = files(
        trial("a", 1, stall([9.0], [9.0]), "stolen CPU"),
        trial("a", 3, stall([7.0], [7.0])),
        trial("a", 2, stall([30.0, 50.0, 31.0], [0.1])),
    )
    chart = named("series-loop-lag", cell(), evidence)
    loaded, idle = only(chart, xaxis="x"), only(chart, xaxis="x2")
    assert (loaded["x"], loaded["y"]) == ([0.0, 10.0, 20.0], [30.0, 50.0, 31.0])
    assert idle["y"] == [0.1]
    assert rows(chart) == [("a", "worker 1", 2, 3, 3, 31.0, 50.0), ("a", "worker 2", 2, 1, 3, 0.1, 0.1)]


def test_memory_is_the_sum_of_all_workers_since_the_first_sample() -> None:
    """A worker that is killed is missing from the sum."""
    evidence = files(trial("a", 1, memory([1000, 500], [4000, 500], [500])))
    chart = named("series-memory", cell(), evidence)
    curve = only(chart, name="a")
    assert (curve["x"], curve["y"]) == ([0.0, 0.1, 0.2], [1500, 4500, 500])
    assert rows(chart) == [("a", 1, 3, 1500, 4500, 500)]


def test_queues_are_shown_where_they_were_sampled() -> None:
    """A record may have samples of the accept queues."""
    samples = [{"at_s": 7.0, "queued": 0}, {"at_s": 7.5, "queued": 129}, {"at_s": "8", "queued": 1}]
    chart = named("series-queue", cell(), files(trial("a", 1, {"queue_samples": samples})))
    assert (only(chart, name="a")["x"], only(chart, name="a")["y"]) == ([0.0, 0.5], [0, 129])
    assert rows(chart) == [("a", 1, 2, 0, 129, 129)]


def test_counters_are_the_medians_of_the_trials_with_their_spread() -> None:
    """Bars differ by pattern; the figures stand at their ends and in the table."""
    evidence = files(
        *[trial("a", block, storm([1.0], connections=9, overflows=count)) for block, count in enumerate([5, 9, 6], 1)],
        trial("b", 1, storm([1.0], connections=9, overflows=0)),
    )
    chart = named("counters", cell(), evidence)
    overflows, drops = (only(chart, name=f"TcpExt.Listen{name}") for name in ("Overflows", "Drops"))
    assert (overflows["x"], overflows["y"], overflows["text"]) == ([6, 0], [0, 1], ["6 (5 to 9)", "0"])
    assert overflows["marker"]["pattern"]["shape"] != drops["marker"]["pattern"]["shape"]
    assert ("a", "TcpExt.ListenDrops", 3, 6, 5, 9) in rows(chart)


def test_counters_that_stayed_at_zero_are_shown_where_queues_are_the_question() -> None:
    """That nothing was dropped is the answer of a storm, and beside the point of a load."""
    assert "counters" in names(cell(), files(trial("a", 1, storm([1.0], connections=9))))
    assert "counters" not in names(cell(), files(trial("a", 1, http(connect=None, total={"p50": 1.0}))))
    assert "counters" in names(cell(), files(trial("a", 1, http(connect=None, total={"p50": 1.0}, drops=4))))
