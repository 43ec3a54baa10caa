"""Clients of which some leave: what the client is asked for, and what became of them."""

from typing import Any

from tests.support.fake_stage import FakeStage
from tuneproof.lab.load.impatient_clients import ImpatientClients


def connection(*, complete: bool) -> dict[str, Any]:
    """Return a connection with an answer, or with none."""
    answer = {
        "status": 200 if complete else 0,
        "worker": 7,
        "numbered": "",
        "body_bytes": 612,
        "complete": complete,
        "first_byte_s": 0.04,
        "total_s": 0.04,
    }
    return {"answers": [answer], "error": "" if complete else "TIMEOUT", "closed_by_server": False, "open_s": 0.04}


def test_some_have_all_the_patience_and_some_have_none() -> None:
    """On connections of their own, for an answer that comes fast."""
    fake = FakeStage()
    fake.answers["exchanges"] = {"flows": []}
    ImpatientClients(patient=3, impatient=2, answer_ms=40, patience_s=0.01).run(fake.stage, label="b1")
    patient, impatient = fake.jobs[0]["flows"]
    assert (patient["connections"], impatient["connections"]) == (3, 2)
    assert patient["path"] == impatient["path"] == "/wait/40"
    assert impatient["timeout_s"] == 0.01 < patient["timeout_s"]


def test_who_got_an_answer_stayed() -> None:
    """Whoever was meant to leave."""
    raw = {"flows": [[connection(complete=True)] * 3, [connection(complete=False), connection(complete=True)]]}
    observation = ImpatientClients().observe({**raw, "trial": "b1", "took_s": 1.0, "machine": {"steal_pct": 0.0}})
    assert (observation.answered, observation.left, observation.faults) == (4, 1, ())


def test_a_trial_in_which_nobody_left_shows_nothing() -> None:
    """Nor one in which everybody did."""
    raw = {"flows": [[connection(complete=True)]], "trial": "b1", "took_s": 1.0, "machine": {"steal_pct": 0.0}}
    assert ImpatientClients().observe(raw).faults == ("1 clients stayed, 0 left",)
