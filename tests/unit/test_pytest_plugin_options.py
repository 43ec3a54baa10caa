"""What a user types, and what pytest makes of it: one clear message, or the right cells."""

import json
from pathlib import Path

import pytest

from fixtures.pytest_plugin.options import FULL, LOOKS, QUICK
from tests.unit.inner_pytest import prepare

PER_VERSION = """
    def test_claim(nginx):
        pass
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nginx", "1.23"], "--nginx 1.23: no such version\n  to do: one of: 1.18, 1.22, 1.26, 1.30, all"),
        (["--nginx", "1.22", "--nginx", "latest"], "--nginx latest: no such version"),
        (["--network", "moon"], "--network moon: no such network\n  to do: one of: bare, lan, wan, "),
        (
            ["--network", "wan", "--network", "delay=1"],
            "--network delay=1: delay=1: 1 needs one of the units us, ms, s",
        ),
        (["--shaper", "tc"], "argument --shaper: invalid choice: 'tc'"),
        (["--depth", "deep"], "argument --depth: invalid choice: 'deep'"),
        (["--seed", "-1"], "--seed -1: a seed is not negative"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
    ],
    ids=["version", "second-version", "network", "second-network", "shaper", "depth", "negative-seed", "seed"],
)
def test_a_wrong_option_is_one_clear_usage_error(pytester: pytest.Pytester, arguments: list[str], message: str) -> None:
    """Status 4 is pytest's for usage; there is no traceback, and no test has run."""
    prepare(pytester, PER_VERSION)
    result = pytester.runpytest_inprocess(*arguments)
    assert int(result.ret) == 4
    errors = result.stderr.str()
    assert errors.count(message) == 1
    assert "Traceback" not in errors + result.stdout.str()
    assert "passed" not in result.stdout.str()


@pytest.mark.parametrize(
    ("arguments", "versions"),
    [
        ([], ["1.22"]),
        (["--nginx", "1.30", "--nginx", "1.18"], ["1.18", "1.30"]),
        (["--nginx", "all"], ["1.18", "1.22", "1.26", "1.30"]),
        (["--depth", "full"], ["1.18", "1.22", "1.26", "1.30"]),
        (["--depth", "full", "--nginx", "1.26"], ["1.26"]),
    ],
    ids=["default", "two", "all", "full", "full-of-one"],
)
def test_a_test_that_takes_an_nginx_is_spread_over_the_versions(
    pytester: pytest.Pytester, arguments: list[str], versions: list[str]
) -> None:
    """One item per version, named after it; a full run takes all unless it is told otherwise."""
    prepare(pytester, PER_VERSION)
    result = pytester.runpytest_inprocess("--collect-only", "-q", *arguments)
    items = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert items == [f"test_claim[nginx-{version}]" for version in versions]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["bare"]),
        (["--depth", "full", "--nginx", "1.22"], ["bare"]),
        (["--network", "wan", "--network", "lan"], ["wan", "lan"]),
        (["--network", "delay=3ms, loss=1%"], ["delay=3ms,loss=1%"]),
    ],
    ids=["default", "full", "two", "own"],
)
def test_a_test_that_takes_a_network_is_spread_over_the_profiles(
    pytester: pytest.Pytester, arguments: list[str], names: list[str]
) -> None:
    """One item per profile, named after it, that gets the profile itself; a full run has no more of them."""
    prepare(
        pytester,
        """
        def test_claim(nginx, network, request):
            assert request.node.name == f"test_claim[nginx-{nginx}-{network.name}]"
            assert network.shapes == (network.name != "bare")

        def test_elsewhere():
            pass
        """,
    )
    result = pytester.runpytest_inprocess("-v", *arguments)
    result.assert_outcomes(passed=len(names) + 1)
    items = [line.partition("::")[2].rpartition(" PASSED")[0] for line in result.outlines if " PASSED" in line]
    assert items == [f"test_claim[nginx-1.22-{name}]" for name in names] + ["test_elsewhere"]


def test_help_names_the_networks_and_an_example(pytester: pytest.Pytester) -> None:
    """A percent sign is one there, too."""
    prepare(pytester, PER_VERSION)
    text = " ".join(pytester.runpytest_inprocess("--help").stdout.str().split())
    assert "network profile, repeatable: bare, lan, wan, lossy, " in text
    assert "or settings such as delay=20ms,loss=1%,rate=50mbit (default: bare)" in text
    assert "--shaper={auto,native,wire}" in text


def test_a_test_is_found_by_the_name_of_its_claim(pytester: pytest.Pytester) -> None:
    """results.json and the progress line use that name, so a user will type it."""
    prepare(
        pytester,
        """
        import pytest

        @pytest.mark.claim("loaded_worker_stalls")
        def test_one():
            pass

        @pytest.mark.claim("other")
        def test_two():
            pass
        """,
    )
    pytester.runpytest_inprocess("-k", "loaded_worker_stalls").assert_outcomes(passed=1, deselected=1)


def test_the_run_is_headed_by_what_a_repetition_needs(pytester: pytest.Pytester) -> None:
    """Versions, depth and seed, and networks other than the bare one; a seed that was not given is drawn anew."""
    prepare(pytester, PER_VERSION)
    given = pytester.runpytest_inprocess("--seed", "42")
    given.stdout.fnmatch_lines(["tuneproof: nginx 1.22; depth quick; --seed 42"])
    shaped = pytester.runpytest_inprocess("--seed", "42", "--network", "wan", "--network", "bare")
    shaped.stdout.fnmatch_lines(["tuneproof: nginx 1.22; network wan, bare; depth quick; --seed 42"])
    drawn = {
        line
        for _ in range(2)
        for line in pytester.runpytest_inprocess("--collect-only").outlines
        if line.startswith("tuneproof: ")
    }
    assert len(drawn) == 2


def test_the_options_are_recorded_with_the_results(pytester: pytest.Pytester, tmp_path: Path) -> None:
    """In the folder that was named; the seed stands beside them."""
    prepare(
        pytester,
        """
        from fixtures.pytest_plugin.measurements import decide
        from tests.unit.fake_bench import claim
        from tests.unit.inner_pytest import Decided

        def test_claim(run_state, nginx):
            decide(claim("loaded", "loaded"), Decided(run_state), run_state)
        """,
    )
    folder = tmp_path / "there"
    result = pytester.runpytest_inprocess(
        "--results", str(folder), "--seed", "42", "--strict-evidence", "--network", "wan", "--shaper", "wire"
    )
    result.assert_outcomes(passed=1)
    document = json.loads((folder / "latest" / "results.json").read_text(encoding="utf-8"))
    assert document["seed"] == 42
    assert document["options"] == {
        "nginx": ["1.22"],
        "network": ["wan"],
        "shaper": "wire",
        "depth": "quick",
        "strict_evidence": True,
    }


def test_a_full_run_looks_later_and_longer_than_a_quick_one() -> None:
    """Both are declared before anything is measured, with the same error rate."""
    quick, full = LOOKS[QUICK], LOOKS[FULL]
    assert full.blocks[0] > quick.last
    assert len(full.blocks) > len(quick.blocks)
    assert quick.error_rate == full.error_rate
