"""Reports of every load tool that end early are read as far as they go."""

from collections.abc import Callable

import pytest

from tests.unit.explain.parse.load_tools import test_ab as of_ab
from tests.unit.explain.parse.load_tools import test_h2load as of_h2load
from tests.unit.explain.parse.load_tools import test_wrk as of_wrk
from tuneproof.explain.parse.load_tools import ab, h2load, wrk
from tuneproof.explain.parse.load_tools.run import LoadRun
from tuneproof.explain.parse.problems import MalformedEvidenceError

REPORTS = {
    "ab": (ab.parse, of_ab.REPORT),
    "wrk": (wrk.parse, of_wrk.WRK),
    "wrk2": (wrk.parse_wrk2, of_wrk.WRK2),
    "h2load": (h2load.parse, of_h2load.OLD),
}


def parse_or_error(parse: Callable[[str], LoadRun], text: str) -> LoadRun | MalformedEvidenceError:
    try:
        return parse(text)
    except MalformedEvidenceError as error:
        return error


@pytest.mark.parametrize(("parse", "report"), REPORTS.values(), ids=REPORTS)
def test_report_cut_off_anywhere_gives_an_answer_or_the_one_error(parse: Callable[[str], LoadRun], report: str) -> None:
    lines = report.splitlines(keepends=True)
    whole = parse(report)
    for kept in range(len(lines)):
        run = parse_or_error(parse, "".join(lines[:kept]))
        if isinstance(run, MalformedEvidenceError):
            # Nothing of the tool's is there yet.
            assert kept == 0
        else:
            assert run.requests is None or run.interrupted or run.requests == whole.requests
