"""What `why` prints for a directive and for a claim."""

import pytest

from tuneproof.audit.why import named, to_do, why
from tuneproof.errors import BadInputError
from tuneproof.lines import every_line


def test_a_directive_has_its_rule_the_advice_and_the_verdicts() -> None:
    text = why("multi_accept")
    assert "ngx_event_core_module, in events" in text
    assert "\nmulti_accept on (workers share a queue): remove\n" in text
    assert "  nginx 1.30: holds" in text
    assert text.splitlines()[-1] == "  docs/accepting.md"


def test_a_directive_without_a_row_still_has_its_rule() -> None:
    assert why("proxy_bind").splitlines()[0] == "proxy_bind"


def test_a_claim_and_a_scenario_have_their_verdicts() -> None:
    alone = why("small_rmem_restores_loop")
    assert alone.startswith("reuseport_stall/small_rmem_restores_loop: ")
    assert "\n  threshold: above 5×; an iteration that reads a fifth " in alone  # noqa: RUF001 - a multiplication sign
    assert alone in why("reuseport_stall")


def test_a_misspelling_gets_a_suggestion() -> None:
    with pytest.raises(BadInputError) as caught:
        why("multi_acept")
    assert "did you mean multi_accept" in caught.value.remedy


def test_a_claim_without_results_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(line.claim for line in every_line() if line.arms)
    monkeypatch.setattr("tuneproof.audit.why.every_recorded", dict)
    with pytest.raises(BadInputError, match=f"{claim}: declared, not measured yet") as caught:
        why(claim)
    assert caught.value.remedy == f"./lab run -k {claim}"


def test_every_row_is_found_by_its_directive_with_its_advice() -> None:
    for line in every_line():
        for concern in line.audit:
            assert f": {to_do(concern)}" in why(named(concern)), concern
