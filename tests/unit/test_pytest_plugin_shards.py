"""``--shard K/N`` through pytest itself: what is selected is shared out, once and whole."""

import json
from collections.abc import Sequence

import pytest

from tests.unit.inner_pytest import prepare

MODULE = """
    import pytest

    @pytest.mark.claim("one")
    def test_one(nginx, network):
        pass

    @pytest.mark.claim("two")
    def test_two(nginx, network):
        pass

    def test_without_a_claim():
        pass
"""
VERSIONS = ("--nginx", "1.22", "--nginx", "1.30", "--network", "bare", "--network", "wan")


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """Make three modules."""
    prepare(pytester, MODULE)
    pytester.makepyfile(test_b=MODULE, test_c=MODULE)
    return pytester


def selected(suite: pytest.Pytester, *arguments: str) -> list[str]:
    """Return the tests that a run would take."""
    result = suite.runpytest_inprocess("--collect-only", "-q", *VERSIONS, *arguments)
    return [line for line in result.outlines if "::" in line]


def shards(suite: pytest.Pytester, count: int, *arguments: str) -> list[list[str]]:
    """Return the tests of each shard."""
    return [selected(suite, "--shard", f"{number}/{count}", *arguments) for number in range(1, count + 1)]


@pytest.mark.parametrize("arguments", [(), ("-k", "two or without")], ids=["all", "some"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_shards_together_run_everything_once(suite: pytest.Pytester, count: int, arguments: Sequence[str]) -> None:
    """What -k leaves is shared out, and in the order of the whole run."""
    whole = selected(suite, *arguments)
    parts = shards(suite, count, *arguments)
    assert sorted(item for part in parts for item in part) == sorted(whole)
    assert all(part for part in parts)
    assert all(part == [item for item in whole if item in part] for part in parts)


def test_claims_that_share_a_lab_stay_together(suite: pytest.Pytester) -> None:
    """A module on one version and one network is never torn apart: its claims share blocks."""
    for part in shards(suite, 5):
        for item in part:
            for one, other in (("test_one", "test_two"), ("test_two", "test_one")):
                if f"::{one}[" in item:
                    assert item.replace(one, other) in part


def test_times_from_a_file_decide_the_split(suite: pytest.Pytester) -> None:
    """A scenario that takes longer than all others together gets a shard of its own."""
    cells = [
        {"id": f"b/{claim}/nginx-1.22/bare", "seconds": 1000.0 if claim == "one" else 1.0} for claim in ("one", "two")
    ]
    cells += [{"id": f"c/{claim}/nginx-1.22/bare", "seconds": 2.0} for claim in ("one", "two")]
    (suite.path / "times.json").write_text(
        json.dumps({"depth": "quick", "cells": cells, "shards": []}), encoding="utf-8"
    )
    narrow = ("--nginx", "1.22", "--network", "bare", "-k", "test_b or test_c")
    result = suite.runpytest_inprocess("--collect-only", "-q", "--shard", "1/2", "--shard-times", "times.json", *narrow)
    items = [line.partition("[")[0] for line in result.outlines if "::" in line and "without" not in line]
    assert items == ["test_b.py::test_one", "test_b.py::test_two"]


def test_a_scenario_is_known_by_its_declaration_before_its_file(pytester: pytest.Pytester) -> None:
    """The times are by the cells' ids, and those begin with the scenario's own name."""
    prepare(
        pytester,
        """
        import pytest

        from fixtures.matrix.items import planned
        from fixtures.scenario.scenarios import Scenario
        from tests.unit.fake_bench import arm, claim

        SCENARIO = Scenario(name="stall", arms=(arm("a"),), claims=(claim("one", "a"),))

        @pytest.mark.claim("one")
        def test_one(nginx, network, request):
            assert planned(request.node).cell_id == "stall/one/nginx-1.22/bare"
        """,
    )
    pytester.makepyfile(
        test_queue="""
        import pytest

        from fixtures.matrix.items import planned

        SCENARIO = "a name only"

        @pytest.mark.claim("one")
        def test_one(nginx, network, request):
            assert planned(request.node).cell_id == "queue/one/nginx-1.22/bare"

        def test_other(request):
            assert planned(request.node).group == ("queue", "", "")
            assert planned(request.node).claim == ""
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=3)


def test_the_run_says_how_much_of_the_whole_it_is(suite: pytest.Pytester) -> None:
    """And which split: shards with the same mark fit together."""
    lines = [
        line
        for number in (1, 2)
        for line in suite.runpytest_inprocess(*VERSIONS, "--shard", f"{number}/2").outlines
        if line.startswith("shard ")
    ]
    assert [line.split(":")[0] for line in lines] == ["shard 1/2", "shard 2/2"]
    assert sum(int(line.split()[2]) for line in lines) == 27
    assert all(" of 27 tests (split " in line for line in lines)
    assert len({line.partition("split ")[2] for line in lines}) == 1


DECIDES = """
    from fixtures.pytest_plugin.measurements import decide
    from tests.unit.fake_bench import claim
    from tests.unit.inner_pytest import Decided

    def test_claim(run_state):
        decide(claim("loaded", "loaded"), Decided(run_state), run_state)
"""


def document(pytester: pytest.Pytester) -> dict[str, object]:
    """Return results.json of the latest inner run."""
    found: dict[str, object] = json.loads((pytester.path / "results/latest/results.json").read_text(encoding="utf-8"))
    return found


def test_the_shard_is_recorded_with_its_split(pytester: pytest.Pytester) -> None:
    """A merge sees whether all are there and fit together."""
    prepare(pytester, DECIDES)
    pytester.runpytest_inprocess("--shard", "1/1").assert_outcomes(passed=1)
    options = document(pytester)["options"]
    assert isinstance(options, dict)
    assert options["shard"] == "1/1"
    assert len(options["shard_split"]) == 16


def test_a_shard_with_nothing_to_do_succeeds_and_leaves_empty_results(pytester: pytest.Pytester) -> None:
    """More shards than labs are no error, and a merge can tell an idle shard from a lost one."""
    prepare(pytester, DECIDES)
    result = pytester.runpytest_inprocess("--shard", "2/2", "--seed", "7")
    assert result.ret == pytest.ExitCode.OK
    found = document(pytester)
    assert (found["cells"], found["finished"], found["seed"]) == ([], True, 7)


@pytest.mark.parametrize(
    "arguments", [("--shard", "1/2", "-k", "misspelt"), ("--shard", "2/2", "--collect-only")], ids=["none", "collected"]
)
def test_nothing_selected_is_still_told_apart(pytester: pytest.Pytester, arguments: Sequence[str]) -> None:
    """A misspelt -k is no idle shard, and --collect-only leaves nothing behind."""
    prepare(pytester, DECIDES)
    result = pytester.runpytest_inprocess(*arguments)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (pytester.path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "3/2"], "--shard 3/2: no such shard"),
        (["--shard-times", "times.json"], "--shard-times times.json: there is no --shard"),
        (["--shard", "1/2", "--shard-times", "none.json"], "Results cannot be read: No such file or directory."),
    ],
    ids=["no-such", "times-alone", "times-missing"],
)
def test_a_wrong_shard_is_one_clear_usage_error(suite: pytest.Pytester, arguments: list[str], message: str) -> None:
    """Nothing is run, and no traceback is shown."""
    result = suite.runpytest_inprocess(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stderr.str() + result.stdout.str()
    assert message in said
    assert "Traceback" not in said


def test_results_that_cannot_be_written_are_told(pytester: pytest.Pytester) -> None:
    """An idle shard that leaves no trace would be taken for a lost one."""
    prepare(pytester, DECIDES)
    (pytester.path / "file").touch()
    result = pytester.runpytest_inprocess("--shard", "2/2", "--results=file")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "results folder cannot be used" in result.stderr.str() + result.stdout.str()
