"""What to do about a cause is said where it was found, and nowhere else."""

import re

from tests.support.canned_evidence import both_legs, lossy, spread
from tests.support.places import CHECKOUT
from tuneproof.explain.diagnosis.cause_texts import CAUSE_TEXTS
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.diagnosis.render import rows, summary, to_json


def test_every_cause_has_a_next_step_and_its_page_is_there() -> None:
    assert set(CAUSE_TEXTS) == set(Cause)
    pages = [page for text in CAUSE_TEXTS.values() for page in re.findall(r"docs/[\w-]+\.md", text.next_step)]
    assert pages
    assert all((CHECKOUT / page).is_file() for page in pages)


def test_the_first_screen_is_a_paragraph_for_others_to_read_in_json() -> None:
    """Cause and figure, what else it may be or is not, and what to do next."""
    diagnosis = diagnose(both_legs(lossy(0.03)))
    paragraph = summary(diagnosis)
    assert paragraph.startswith(
        "FOUND: Packets are lost. Why: 186 data segments of 10.0.0.2:8000 were sent again (3 %)"
    )
    assert "Not: refused, " in paragraph
    assert paragraph.endswith(f"Next: {CAUSE_TEXTS[Cause.PATH_LOSS].next_step}")
    assert "\n" not in paragraph
    assert to_json(diagnosis)["summary"] == paragraph


def test_each_further_cause_has_its_own_next_step() -> None:
    """In the order of the causes; in JSON it is empty with what was not found."""
    diagnosis = diagnose(both_legs(lossy(0.03), request_s=spread(0.05, 0.4)))
    assert [each.cause for each in diagnosis.found] == [Cause.PATH_LOSS, Cause.EVENT_LOOP_STALL]
    told = list(rows(diagnosis))
    assert next(row.text for row in told if row.label == "Also").startswith("nginx's event loop stalls: ")
    assert [row.text for row in told if row.label == "Next"] == [
        CAUSE_TEXTS[Cause.PATH_LOSS].next_step,
        CAUSE_TEXTS[Cause.EVENT_LOOP_STALL].next_step,
    ]
    steps = {each["cause"]: each["next"] for each in to_json(diagnosis)["assessments"]}
    assert [cause for cause, step in steps.items() if step] == ["path loss", "event-loop stall"]
