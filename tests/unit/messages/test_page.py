"""docs/error-log.md is generated from the rows and from the verdicts in results.json."""

import json

from tests.support.places import CHECKOUT
from tools.messages.page import page, verdicts_of
from tuneproof.messages.rows import messages


def test_the_page_is_up_to_date() -> None:
    """`python -m tools.messages` updates it."""
    cells = json.loads((CHECKOUT / "docs" / "results.json").read_text(encoding="utf-8"))["cells"]
    assert (CHECKOUT / "docs" / "error-log.md").read_text(encoding="utf-8") == page(verdicts_of(cells))


def test_an_entry_shows_the_verdicts_of_its_claims() -> None:
    verdicts = {
        ("upstream_refused_appears", "1.22"): "holds",
        ("upstream_refused_appears", "1.30"): "holds",
        ("read_timeout_ends_upstream_refused", "1.30"): "refuted",
    }
    cells = [
        {"scenario": "error_messages", "id": f"error_messages/{claim}-{nginx}-bare", "nginx": nginx, "verdict": verdict}
        for (claim, nginx), verdict in verdicts.items()
    ]
    other = {"scenario": "other", "id": "other/x-1.30-bare", "nginx": "1.30", "verdict": "holds"}
    text = page(verdicts_of([*cells, other]))
    assert "- `upstream_refused_appears`: 1.22 holds, 1.30 holds\n" in text
    assert "- `read_timeout_ends_upstream_refused`: 1.30 refuted\n" in text
    assert all(f"### {row.name}\n" in text for row in messages().values())
