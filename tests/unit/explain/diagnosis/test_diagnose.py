"""The diagnosis of all causes together: what is found, in which order, and how it is shown."""

import json
import re

import pytest

from tests.support.canned_evidence import (
    both_legs,
    causes,
    established,
    grown,
    healthy_evidence,
    legs,
    log,
    lossy,
    repeated_syns,
    seen,
    service,
    spread,
    table,
)
from tests.support.places import CHECKOUT
from tuneproof.explain.diagnosis.cause_texts import CAUSE_TEXTS, label
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.diagnosis.render import details, headline, rows, summary, to_json


def test_healthy_evidence_rules_every_cause_out() -> None:
    diagnosis = diagnose(healthy_evidence())
    assert [(each.cause, each.verdict) for each in diagnosis.assessments] == [
        (cause, CauseVerdict.RULED_OUT) for cause in Cause
    ]
    assert diagnosis.healthy
    assert (diagnosis.found, diagnosis.consequences) == ((), ())


@pytest.mark.parametrize(
    "kind", ["captures", "access_logs", "counters", "sockets", "softnet", "processes", "pidstat", "load_runs"]
)
def test_each_kind_of_healthy_evidence_alone_shows_no_cause(kind: str) -> None:
    """The diagnosis is healthy only if the evidence shows requests and their times."""
    diagnosis = diagnose(EvidenceSet(**{kind: getattr(healthy_evidence(), kind)}))
    assert diagnosis.healthy == (kind in {"captures", "access_logs", "load_runs"})
    assert diagnosis.found == ()


@pytest.mark.parametrize(
    "given", [grown()[:1], table(*[established(retransmits=(0, 5))] * 100)], ids=["one reading", "retransmissions"]
)
def test_too_little_evidence_is_not_healthy(given: object) -> None:
    diagnosis = diagnose(seen(given))
    assert (diagnosis.healthy, diagnosis.found, diagnosis.possible) == (False, (), ())
    assert headline(diagnosis) == "These files show too little to say whether all is well."


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        (log(request_time_s=None), "how long requests take"),
        (service(requests=0, response_s=None, tls_flows=200), "whether requests fail or how long they take"),
        (grown(), "whether requests fail or how long they take"),
    ],
    ids=["log without times", "TLS", "counters"],
)
def test_the_headline_names_symptoms_that_the_files_could_not_show(given: object, unknown: str) -> None:
    diagnosis = diagnose(seen(given))
    assert not diagnosis.healthy
    assert headline(diagnosis) == f"No problem found in these files, but they do not show {unknown}."
    assert [row.text[:14] for row in rows(diagnosis) if row.label == "Confirm"] == ["the access log"]


def test_without_evidence_nothing_is_healthy_and_no_cause_is_seen() -> None:
    diagnosis = diagnose(EvidenceSet())
    assert not diagnosis.healthy
    assert [(each.cause, each.verdict) for each in diagnosis.assessments] == [
        (cause, CauseVerdict.NOT_SEEN) for cause in Cause
    ]
    assert headline(diagnosis) == "These files show too little to say whether all is well."


def test_the_finding_that_explains_most_comes_first() -> None:
    """A slow backend delays more requests than a loss of 2 % of the segments, but fewer than a loss of 8 %."""
    for lost, in_order in (
        (0.02, [Cause.BACKEND_SLOW, Cause.PATH_LOSS]),
        (0.08, [Cause.PATH_LOSS, Cause.BACKEND_SLOW]),
    ):
        assert causes(diagnose(both_legs(front=lossy(lost), backend_s=spread(0.3)))) == in_order


def test_a_stall_comes_before_the_overflow_that_follows_from_it() -> None:
    diagnosis = diagnose(
        seen(legs(request_s=spread(0.05, 0.4)), grown(ListenOverflows=900, ListenDrops=1000, TCPReqQFullDrop=100))
    )
    assert causes(diagnosis) == [Cause.EVENT_LOOP_STALL, Cause.ACCEPT_QUEUE_OVERFLOW, Cause.SYN_QUEUE_DROP]
    assert (Cause.ACCEPT_QUEUE_OVERFLOW, Cause.EVENT_LOOP_STALL) in [
        (each.cause, each.of) for each in diagnosis.consequences
    ]


def test_a_full_syn_queue_comes_after_a_full_accept_queue_if_most_drops_are_overflows() -> None:
    """Otherwise, the SYN queue comes first, and neither is a consequence."""
    both = seen(grown(ListenOverflows=900, ListenDrops=1000, TCPReqQFullDrop=100))
    assert causes(diagnose(both)) == [Cause.ACCEPT_QUEUE_OVERFLOW, Cause.SYN_QUEUE_DROP]
    flood = seen(grown(ListenOverflows=100, ListenDrops=1000, TCPReqQFullDrop=900))
    assert causes(diagnose(flood)) == [Cause.SYN_QUEUE_DROP, Cause.ACCEPT_QUEUE_OVERFLOW]
    assert diagnose(flood).consequences == ()


def test_evidence_of_a_possible_cause_is_not_healthy_and_has_no_next_step() -> None:
    """Instead, the screen names the evidence that would confirm the cause."""
    diagnosis = diagnose(seen(service(**repeated_syns())))
    assert not diagnosis.healthy
    assert diagnosis.found == ()
    assert headline(diagnosis).startswith("POSSIBLE: ")
    labels = {row.label for row in rows(diagnosis)}
    assert labels >= {"Why", "Open", "Confirm"}
    assert "Next" not in labels


def test_the_possible_cause_that_could_explain_most_comes_first() -> None:
    """Clients that leave come last, since any other cause may be why they leave."""
    late = log(connect_time_s=spread(0.001, 0.308), client_closed_499=40)
    front = lossy(0.009, served_gone_client_flows=40)
    given = seen(late, service(**front))
    diagnosis = diagnose(given)
    assert [each.cause for each in diagnosis.possible] == [Cause.EVENT_LOOP_STALL, Cause.PATH_LOSS, Cause.CLIENT_GONE]
    assert [round(each.touched, 3) for each in diagnosis.possible[:2]] == [0.2, 0.009]


def test_the_screen_shows_each_sentence_and_each_command_once() -> None:
    given = seen(
        log(connect_time_s=spread(0.001, 0.25), client_closed_499=40, header_minus_connect_s=spread(0.3)),
        service(**repeated_syns()),
    )
    texts = [row.text for row in rows(diagnose(given))]
    assert len(texts) == len(set(texts))
    assert sum("tcpdump -ni any -s 256 -w both.pcap" in text for text in texts) == 1
    assert sum("40 of 200" in text and "abandoned" in text for text in texts) == 1


def test_causes_without_evidence_are_listed_as_not_checked() -> None:
    """Most servers do not use QUIC, so the list omits it."""
    assert headline(diagnose(seen(log()))) == "No problem found in these files; other evidence may still show one."
    diagnosis = diagnose(seen(grown()))
    checked = [Cause.SYN_QUEUE_DROP, Cause.ACCEPT_QUEUE_OVERFLOW, Cause.PATH_LOSS]
    not_listed = [*checked, Cause.QUIC_UNANSWERED]
    assert [(row.label, row.text) for row in rows(diagnosis)][:-1] == [
        ("Open", f"not checked: {', '.join(label(cause) for cause in Cause if cause not in not_listed)}"),
        ("Not", ", ".join(checked)),
    ]
    assert "  Against: No accept queue overflowed (ListenOverflows did not grow). (counters 1)" in list(
        details(diagnosis)
    )


def test_the_details_begin_with_the_primary_cause_and_name_its_consequences() -> None:
    text = list(details(diagnose(seen(legs(request_s=spread(0.05, 0.4)), log(client_closed_499=40)))))
    assert text[0] == "Found: nginx's event loop stalls."
    assert text[1].startswith("  For: nginx holds a request for 50 ms (median), 400 ms (p90)")
    assert text[1].endswith("(captures 1)")
    assert (
        "Clients disconnect early: follows from event-loop stall. "
        "Clients disconnect when they have waited for too long." in text
    )


def test_a_diagnosis_in_json_contains_the_verdicts_with_their_reasons() -> None:
    given = seen(grown(ListenOverflows=9, ListenDrops=9))
    made = json.loads(json.dumps(to_json(diagnose(given))))
    assert (made["healthy"], made["found"], made["consequences"]) == (False, ["accept-queue overflow"], [])
    assert [each["verdict"] for each in made["assessments"]].count("found") == 1
    (overflow,) = (each for each in made["assessments"] if each["cause"] == "accept-queue overflow")
    assert overflow["for"] == [
        {"text": "9 packets met a full accept queue (ListenOverflows grew).", "file": "counters 1"}
    ]


def test_every_cause_has_texts_and_the_pages_in_them_exist() -> None:
    assert set(CAUSE_TEXTS) == set(Cause)
    pages = [page for text in CAUSE_TEXTS.values() for page in re.findall(r"docs/[\w-]+\.md", text.next_step)]
    assert pages
    assert all((CHECKOUT / page).is_file() for page in pages)


def test_the_first_screen_is_also_a_paragraph_in_json() -> None:
    diagnosis = diagnose(both_legs(lossy(0.03)))
    paragraph = summary(diagnosis)
    assert paragraph.startswith(
        "FOUND: Packets are lost. Why: 186 of 6200 data segments to and from 10.0.0.2:8000 were retransmitted (3 %)"
    )
    assert "Not: refused, " in paragraph
    assert paragraph.endswith(f"Next: {CAUSE_TEXTS[Cause.PATH_LOSS].next_step}")
    assert "\n" not in paragraph
    assert to_json(diagnosis)["summary"] == paragraph


def test_each_found_cause_has_its_own_next_step() -> None:
    """The steps are in the order of the causes; in JSON, the other causes have an empty step."""
    diagnosis = diagnose(both_legs(lossy(0.03), request_s=spread(0.05, 0.4)))
    assert [each.cause for each in diagnosis.found] == [Cause.PATH_LOSS, Cause.EVENT_LOOP_STALL]
    screen = list(rows(diagnosis))
    assert next(row.text for row in screen if row.label == "Also").startswith("nginx's event loop stalls: ")
    assert [row.text for row in screen if row.label == "Next"] == [
        CAUSE_TEXTS[Cause.PATH_LOSS].next_step,
        CAUSE_TEXTS[Cause.EVENT_LOOP_STALL].next_step,
    ]
    steps = {each["cause"]: each["next"] for each in to_json(diagnosis)["assessments"]}
    assert [cause for cause, step in steps.items() if step] == ["path loss", "event-loop stall"]
