"""From a scenario's declarations to cells, through the plugins, with a lab that is not there."""

import json
from typing import Any, cast

import pytest

from tests.unit.inner_pytest import prepare

LAB = """
    import types

    import pytest

    from fixtures.errors import EngineUnavailableError
    from fixtures.pytest_plugin import measurements
    from fixtures.scenario.preconditions import PreconditionError
    from fixtures.scenario.scenarios import Scenario
    from tests.unit.canned_trials import raw_trial
    from tests.unit.fake_bench import FakeBench, arm, claim

    DECLARED = Scenario(
        name="stall", arms=(arm("loaded"), arm("unused")), claims=(claim("loaded_stalls", "loaded"),)
    )
    {scenario}

    class Lab:
        def __init__(self, session):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            print("lab removed")

    class Bench(FakeBench):
        def __init__(self, lab, *, scenario, arms, placement, **_):
            assert scenario is DECLARED
            assert [arm.name for arm in arms] == ["loaded"]
            super().__init__(lambda arm, number: raw_trial(lags_ms=([20.0 + number % 3], [1.0])))

        def prepare(self):
            {prepare}

    @pytest.fixture(scope="session")
    def engine():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measurements, "Lab", Lab)
            patch.setattr(measurements, "Bench", Bench)
            yield types.SimpleNamespace(info=lambda: {{"NCPU": {cpus}}})

    @pytest.fixture(scope="session")
    def lab_session():
        return None

    @pytest.fixture(scope="session")
    def ensure():
        return lambda specs: None

    @pytest.fixture(scope="session")
    def role_images():
        return {{"backend": "b", "client": "c", "netadmin": "n"}}

    @pytest.fixture(scope="session")
    def host_facts():
        return {{"kernel": "6.1"}}

    @pytest.mark.claim("loaded_stalls")
    def test_claim(prove):
        assert prove().verdict == "holds"

    def test_next():
        pass
"""


# A scenario that needs nothing of the host or the network is the module's; any other one is a fixture.
AS_CONSTANT = "SCENARIO = DECLARED"
AS_FIXTURE = """
    @pytest.fixture(scope="module")
    def scenario(host_facts, network):
        return DECLARED
"""


def run_lab(
    pytester: pytest.Pytester,
    *,
    prepared: str = "pass",
    cpus: int = 2,
    scenario: str = AS_CONSTANT,
) -> pytest.RunResult:
    """Decide one claim in a stand-in lab, then run another test."""
    prepare(pytester, LAB.format(prepare=prepared, cpus=cpus, scenario=scenario))
    return pytester.runpytest_inprocess("-rsP", "--seed", "1")


def cells(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    """Return the cells of the inner run's results."""
    document = json.loads((pytester.path / "results/latest/results.json").read_text(encoding="utf-8"))
    assert document["host"] == {"kernel": "6.1"}
    return cast("list[dict[str, Any]]", document["cells"])


@pytest.mark.parametrize("scenario", [AS_CONSTANT, AS_FIXTURE], ids=["constant", "fixture"])
def test_a_claim_goes_from_the_lab_to_results_and_table(pytester: pytest.Pytester, scenario: str) -> None:
    """Progress is shown while output is captured; only the arms that the claim needs are measured."""
    result = run_lab(pytester, scenario=scenario)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "stall, nginx 1.22: starting 1 subjects",
            "stall, nginx 1.22: block 1 done",
            "*loaded_stalls: 1/5 blocks, 21×",  # noqa: RUF001 - as it is shown
            "*loaded_stalls: 5 blocks, * → holds",
            "*lab removed*",
            "*= verdicts =*",
        ]
    )
    (cell,) = cells(pytester)
    assert (cell["verdict"], cell["blocks"], list(cell["arms"])) == ("holds", 5, ["loaded"])
    assert cell["id"] == "stall/loaded_stalls/nginx-1.22/bare"


@pytest.mark.parametrize(
    ("lab", "reason"),
    [
        ({"cpus": 1}, "this engine has 1 CPU; timing claims need at least 2 give the virtual machine"),
        ({"prepared": "raise PreconditionError('the probe cannot tell')"}, "the probe cannot tell"),
    ],
    ids=["one-cpu", "not-prepared"],
)
def test_a_failed_precondition_is_unsupported_and_never_a_failed_claim(
    pytester: pytest.Pytester, lab: dict[str, Any], reason: str
) -> None:
    """The cell says why; the lab is removed all the same, and the run goes on."""
    result = run_lab(pytester, **lab)
    result.assert_outcomes(skipped=1, passed=1)
    result.stdout.fnmatch_lines([f"*reason: {reason}*"])
    (cell,) = cells(pytester)
    assert (cell["verdict"], cell["effect"], cell["blocks"]) == ("unsupported", None, 0)
    assert cell["reason"].startswith(reason)


def test_an_engine_that_goes_away_is_no_property_of_the_host(pytester: pytest.Pytester) -> None:
    """It would make the same claim unsupported here and supported tomorrow: the run ends instead."""
    result = run_lab(pytester, prepared="raise EngineUnavailableError('the engine is gone')")
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["the engine is gone", "*the engine is gone; the run ends here*"])
    assert cells(pytester) == []


def test_only_the_claims_of_the_selected_tests_are_measured(pytester: pytest.Pytester) -> None:
    """Those of this module and this version: a claim that nobody asked for costs no trials."""
    prepare(
        pytester,
        """
        from contextlib import contextmanager

        import pytest

        from fixtures.scenario.scenarios import Scenario
        from tests.unit.fake_bench import arm, claim

        NAMES = ("one", "two", "three")
        SCENARIO = Scenario(name="stall", arms=(arm("a"),), claims=tuple(claim(name, "a") for name in NAMES))

        @pytest.fixture(scope="session")
        def measure():
            @contextmanager
            def start(place, scenario, claims):
                assert scenario is SCENARIO
                print(f"{place.scenario} on {place.nginx} measures {[claim.name for claim in claims]}")
                yield None

            return start

        @pytest.mark.claim("one")
        def test_one(measures):
            pass

        @pytest.mark.claim("two")
        def test_two(measures):
            pass

        @pytest.mark.claim("three")
        def test_three(measures):
            pass
        """,
    )
    pytester.makepyfile(
        test_elsewhere="""
        import pytest

        @pytest.mark.claim("of_another_scenario")
        def test_other(nginx):
            pass
        """
    )
    result = pytester.runpytest_inprocess(
        "-s", "--nginx", "1.22", "--nginx", "1.30", "-k", "not three and not (two and 1.30)"
    )
    result.assert_outcomes(passed=5, deselected=3)
    result.stdout.fnmatch_lines(["*stall on 1.22 measures [[]'one', 'two'[]]", "*stall on 1.30 measures [[]'one'[]]"])
