"""The output of `why` for a directive and for a claim."""

import pytest

from tests.support.tables import table
from tuneproof.audit.why import named, to_do, why
from tuneproof.errors import BadInputError
from tuneproof.lines import every_line


def test_the_answer_for_a_directive_contains_its_rule_advice_and_verdicts() -> None:
    text = why("multi_accept")
    assert "ngx_event_core_module, in events" in text
    assert "\nmulti_accept on (workers share a queue): remove\n" in text
    assert "  nginx 1.30: holds" in text
    assert text.splitlines()[-1] == "  docs/accepting.md"


@pytest.mark.parametrize(
    ("name", "mentioned"),
    [
        ("proxy_bind", "ephemeral_ports/second_local_address_lasts_longer"),
        ("keepalive", "upstream_keepalive/keepalive_raises_throughput"),
        ("if", ""),
    ],
)
def test_a_directive_without_a_row_is_found_with_the_claims_that_mention_it(name: str, mentioned: str) -> None:
    facts, _, claims = why(name).partition(f"\n\nClaims that mention {name}:\n")
    assert facts.splitlines()[0] == name
    assert f"  {mentioned}: " in claims if mentioned else not claims


def test_the_verdicts_of_a_claim_and_of_a_scenario_are_shown() -> None:
    alone = why("small_rmem_restores_loop")
    assert alone.startswith("reuseport_stall/small_rmem_restores_loop: ")
    assert "\n  threshold: above 5×; an iteration that reads a fifth " in alone  # noqa: RUF001 - a multiplication sign
    assert alone in why("reuseport_stall")


@pytest.mark.parametrize("line", ["multi_accept on;", "multi_accept on", "multi_accept;"])
def test_a_line_from_a_configuration_means_its_directive(line: str) -> None:
    assert why(line) == why("multi_accept")


@pytest.mark.parametrize(("word", "part"), table("why"))
def test_the_answer_for_a_word_contains_its_advice_source_and_changes(word: str, part: str) -> None:
    assert part.replace("\\n", "\n") in why(word)


@pytest.mark.parametrize("word", ["tcp_rmem", "net.ipv4.tcp_rmem", "TCP_RMEM", "reuseport"])
def test_any_other_word_finds_the_claims_that_contain_it(word: str) -> None:
    found = why(word).splitlines()
    assert found[0].lower() == f"claims that mention {word.rpartition('.')[2].lower()}:"
    assert any(line.startswith("  reuseport_stall/") for line in found)
    assert found[-1].startswith("  and ")


@pytest.mark.parametrize(
    ("word", "what", "remedy"),
    [
        # A claim mentions this variable.
        ("$host", "variables are not looked up", "name the directive that contains it"),
        ("qqqq", "no directive, claim or message", "docs/README.md finds pages by symptom, directive and tool"),
        ("multi_acept", "no directive, claim or message", "did you mean multi_accept or limit_except?"),
        ("multi_acept on;", "no directive, claim or message", "did you mean multi_accept?"),
    ],
)
def test_a_word_without_an_answer_is_an_error_with_a_suggestion(word: str, what: str, remedy: str) -> None:
    with pytest.raises(BadInputError) as caught:
        why(word)
    assert (caught.value.what, caught.value.remedy) == (f"{word}: {what}", remedy)


def test_a_claim_without_results_is_reported_as_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(line.claim for line in every_line() if line.arms)
    monkeypatch.setattr("tuneproof.audit.why.every_recorded", dict)
    with pytest.raises(BadInputError, match=f"{claim}: declared, not measured yet") as caught:
        why(claim)
    assert caught.value.remedy == f"./lab run -k {claim}"


def test_the_advice_of_each_row_is_found_by_its_directive() -> None:
    for line in every_line():
        for concern in line.audit:
            assert f": {to_do(concern)}" in why(named(concern)), concern
