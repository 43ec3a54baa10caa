"""What to do about a cause is said where it was found, and nowhere else."""

import re

from tests.support.canned_evidence import both_legs, evidence, log, lossy, spread
from tests.support.places import CHECKOUT
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.diagnosis.next_steps import NEXT_STEPS
from tuneproof.explain.diagnosis.render import lines, to_json


def test_every_cause_has_a_next_step_and_its_page_is_there() -> None:
    """A page that moves takes the sentence along."""
    assert set(NEXT_STEPS) == set(Cause)
    pages = [page for step in NEXT_STEPS.values() for page in re.findall(r"docs/[\w-]+\.md", step)]
    assert pages
    assert all((CHECKOUT / page).is_file() for page in pages)


def test_the_next_step_follows_the_reasons_of_what_was_found() -> None:
    """One for each cause; in JSON it is empty with the others."""
    given = both_legs(lossy(0.03))
    diagnosis = diagnose(given)
    told = [line for line in lines(diagnosis, given) if "Next:" in line]
    assert told == [f"  Next: {NEXT_STEPS[Cause.PATH_LOSS]}"]
    steps = {each["cause"]: each["next"] for each in to_json(diagnosis)["assessments"]}
    assert [cause for cause, step in steps.items() if step] == ["path loss"]


def test_what_is_only_possible_has_commands_that_decide_and_no_next_step() -> None:
    """Nobody should change anything yet."""
    given = evidence(access_logs=[log(connect_time_s=spread(0.001, 0.25))])
    told = list(lines(diagnose(given), given))
    assert any("Would decide:" in line for line in told)
    assert not any("Next:" in line for line in told)
