"""From a cell to a test's outcome, and from an error to one clear message, as a user sees them."""

import json
from typing import Any

import pytest

from tests.unit.inner_pytest import prepare


def run_claim(pytester: pytest.Pytester, *arguments: str, **changes: Any) -> pytest.RunResult:
    """Run one test of a claim whose cell is decided beforehand."""
    prepare(
        pytester,
        f"""
        from fixtures.pytest_plugin.measurements import decide
        from tests.unit.fake_bench import claim
        from tests.unit.inner_pytest import Decided

        def test_claim(run_state):
            decide(claim("loaded", "loaded"), Decided(run_state, **{changes!r}), run_state)
        """,
    )
    return pytester.runpytest_inprocess("-rs", *arguments)


def document(pytester: pytest.Pytester) -> dict[str, Any]:
    """Return results.json of the inner run."""
    loaded: dict[str, Any] = json.loads((pytester.path / "results/latest/results.json").read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("verdict", ["holds", "refuted"])
def test_a_claim_that_meets_its_expectation_passes(pytester: pytest.Pytester, verdict: str) -> None:
    """Advice that is expected to be refuted, and is, is as good as one that holds."""
    run_claim(pytester, verdict=verdict, expected=verdict).assert_outcomes(passed=1)


def test_a_contradicted_expectation_fails_with_everything_that_decided_it(pytester: pytest.Pytester) -> None:
    """Claim, expectation, observation, interval, threshold, blocks and the evidence's place; no traceback."""
    result = run_claim(pytester, verdict="refuted")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "A loaded worker stalls: refuted, expected holds",
            "  observed: median lag, loaded ÷ idle 134× [[]98–180[]]",  # noqa: RUF001 - as it is shown
            "  holds with the whole interval above 10×",  # noqa: RUF001 - as it is shown
            "  blocks: 6 valid, 1 void; nginx 1.22, network bare",
            "  evidence: results/*/evidence/stall",
        ]
    )
    assert "inner_pytest.py" not in result.stdout.str()
    assert "def test_claim" not in result.stdout.str()


def test_an_inconclusive_cell_is_skipped_with_its_reason(pytester: pytest.Pytester) -> None:
    """Nothing was decided, so nothing was contradicted."""
    result = run_claim(pytester, verdict="inconclusive", reason="the interval contains the threshold")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*reason: the interval contains the threshold*"])


def test_an_inconclusive_cell_fails_under_strict_evidence(pytester: pytest.Pytester) -> None:
    """Whoever guards a configuration wants an answer."""
    result = run_claim(pytester, "--strict-evidence", verdict="inconclusive", reason="the interval is wide")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["A loaded worker stalls: inconclusive, expected holds", "  reason: the interval is wide"]
    )


@pytest.mark.parametrize("arguments", [[], ["--strict-evidence"]], ids=["usual", "strict"])
def test_an_unsupported_cell_is_skipped_in_any_case(pytester: pytest.Pytester, arguments: list[str]) -> None:
    """This host cannot put the question: no evidence would change that."""
    result = run_claim(pytester, *arguments, verdict="unsupported", effect=None, arms={}, reason="one CPU is too few")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*reason: one CPU is too few*"])


@pytest.mark.parametrize("arguments", [[], ["--strict-evidence"]], ids=["usual", "strict"])
@pytest.mark.parametrize("verdict", ["holds", "refuted"])
def test_whatever_is_decided_passes_where_nothing_is_expected(
    pytester: pytest.Pytester, verdict: str, arguments: list[str]
) -> None:
    """Nobody has claimed anything about this network, so nothing is contradicted."""
    run_claim(pytester, *arguments, verdict=verdict, expected=None).assert_outcomes(passed=1)


@pytest.mark.parametrize("verdict", ["inconclusive", "unsupported"])
def test_an_undecided_cell_without_an_expectation_is_skipped(pytester: pytest.Pytester, verdict: str) -> None:
    """A pass would say that something was found out."""
    result = run_claim(pytester, verdict=verdict, expected=None, reason="the host is noisy")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*reason: the host is noisy*"])
    assert f"{verdict}, no expectation here" in result.stdout.str()


@pytest.mark.parametrize(("verdict", "outcome"), [("inconclusive", "failed"), ("unsupported", "skipped")])
def test_strict_evidence_wants_an_answer_also_where_nothing_is_expected(
    pytester: pytest.Pytester, verdict: str, outcome: str
) -> None:
    """Whoever asked for another network wants to know what happens there; but no evidence changes the host."""
    result = run_claim(pytester, "--strict-evidence", verdict=verdict, expected=None, reason="the host is noisy")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([f"*A loaded worker stalls: {verdict}, no expectation here*"])
    assert "expected None" not in result.stdout.str()


def run_failing(pytester: pytest.Pytester, error: str, *, where: str = "test") -> pytest.RunResult:
    """Run two tests; an error comes from the first one, its fixture, or the end of the fixture."""
    prepare(
        pytester,
        f"""
        import pytest
        from fixtures.errors import BadInputError, EngineUnavailableError, LabError
        from fixtures.scenario.preconditions import PreconditionError

        def fail(place):
            if place == {where!r}:
                raise {error}

        @pytest.fixture
        def lab():
            fail("fixture")
            yield
            fail("end")

        def test_one(lab):
            fail("test")

        def test_two():
            pass
        """,
    )
    return pytester.runpytest_inprocess("-rs")


@pytest.mark.parametrize("where", ["test", "fixture", "end"])
def test_an_error_of_the_project_is_shown_as_its_message(pytester: pytest.Pytester, where: str) -> None:
    """What, where, what to do and the log's end, without the program's own lines; the next test runs."""
    result = run_failing(
        pytester, "LabError('nginx did not start', where='subject', remedy='mend it', tail='emerg: no')", where=where
    )
    result.stdout.fnmatch_lines(
        ["nginx did not start", "  where: subject", "  to do: mend it", "  log:", "    emerg: no"], consecutive=True
    )
    assert "raise LabError" not in result.stdout.str()
    assert "::test_two" not in result.stdout.str()
    assert result.parseoutcomes()["passed"] == (2 if where == "end" else 1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("where", ["test", "fixture"])
def test_an_engine_that_is_gone_ends_the_run(pytester: pytest.Pytester, where: str) -> None:
    """Every further test would only wait for the same answer."""
    result = run_failing(pytester, "EngineUnavailableError('the engine is gone', remedy='start it')", where=where)
    result.stdout.fnmatch_lines(["the engine is gone", "  to do: start it", "*the engine is gone; the run ends here*"])
    assert "passed" not in result.parseoutcomes()
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("where", ["test", "fixture"])
def test_an_unmet_precondition_is_a_skip_with_its_reason(pytester: pytest.Pytester, where: str) -> None:
    """This host cannot put the question; that contradicts no claim."""
    result = run_failing(pytester, "PreconditionError('one listener, wanted two')", where=where)
    result.stdout.fnmatch_lines(["*SKIPPED*unsupported here: one listener, wanted two*"])
    assert result.ret == pytest.ExitCode.OK


def test_a_fault_of_the_program_keeps_its_traceback(pytester: pytest.Pytester) -> None:
    """Whoever mends it needs the lines."""
    result = run_failing(pytester, "KeyError('x')")
    result.stdout.fnmatch_lines(["*raise KeyError*", "E*KeyError: 'x'"])


def test_errors_that_come_together_are_all_shown_once(pytester: pytest.Pytester) -> None:
    """Several fixtures may fail at their end, which makes one group of them; equal messages are one."""
    errors = "LabError('no network'), LabError('no network'), BadInputError('no folder')"
    result = run_failing(pytester, f"ExceptionGroup('at the end', [{errors}])")
    result.stdout.fnmatch_lines(["*_ test_one _*", "no network", "no folder"], consecutive=True)


def test_a_fault_of_the_program_is_not_hidden_among_others(pytester: pytest.Pytester) -> None:
    """A group that holds one keeps its traceback."""
    result = run_failing(pytester, "ExceptionGroup('at the end', [LabError('no network'), KeyError('x')])")
    result.stdout.fnmatch_lines(["*KeyError: 'x'"])


def test_the_run_ends_with_the_table_of_verdicts_and_where_they_are(pytester: pytest.Pytester) -> None:
    """One row per cell, contradicted or not."""
    result = run_claim(pytester, verdict="refuted")
    result.stdout.fnmatch_lines(
        ["*= verdicts =*", "*A loaded*", "*measuring: 9.0 s of * s (*)", "results: results/*/results.json"]
    )
    assert document(pytester)["finished"] is True


def test_without_a_cell_there_is_no_table(pytester: pytest.Pytester) -> None:
    """The project's own tests decide no claim."""
    prepare(pytester, "def test_nothing():\n    pass\n")
    result = pytester.runpytest_inprocess()
    assert "verdicts" not in result.stdout.str()
    assert not (pytester.path / "results").exists()


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("raise KeyboardInterrupt", 2),
        ("os.kill(os.getpid(), signal.SIGTERM)", 143),
        ("raise EngineUnavailableError('gone')", 1),
    ],
    ids=["ctrl-c", "sigterm", "engine-gone"],
)
def test_an_interrupted_run_keeps_what_was_decided_and_is_not_called_finished(
    pytester: pytest.Pytester, end: str, status: int
) -> None:
    """A reader of the results must know that cells are missing."""
    prepare(
        pytester,
        f"""
        import os
        import signal
        from fixtures.errors import EngineUnavailableError
        from fixtures.pytest_plugin.measurements import decide
        from tests.unit.fake_bench import claim
        from tests.unit.inner_pytest import Decided

        def test_one(run_state):
            decide(claim("loaded", "loaded"), Decided(run_state), run_state)

        def test_two():
            {end}

        def test_three(run_state):
            decide(claim("loaded", "loaded"), Decided(run_state), run_state)
        """,
    )
    result = pytester.runpytest_inprocess(no_reraise_ctrlc=True)
    assert result.ret == status
    assert len(document(pytester)["cells"]) == 1
    assert "finished" not in document(pytester)
