"""Every cell has one place in the matrix and one page."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.canned_results import cell, effect
from tuneproof.report.html.matrix import matrix, what_matters
from tuneproof.report.results.cells import Cell


def a_cell(name: str, **changes: Any) -> Cell:
    return Cell.from_json(cell(name, **changes))


def test_claims_are_rows_and_versions_and_networks_are_columns() -> None:
    """The reading order is row by row."""
    cells = [
        a_cell("stalls", nginx="1.9"),
        a_cell("stalls", nginx="1.30", network="wan"),
        a_cell("stalls", nginx="1.30"),
        a_cell("recovers", nginx="1.9"),
        a_cell("drops", scenario="listen_queue", nginx="1.30"),
    ]
    table = matrix(cells)
    assert [column.label for column in table.columns] == ["nginx 1.9 · bare", "nginx 1.30 · bare", "nginx 1.30 · wan"]
    assert [(group.scenario, len(group.rows)) for group in table.groups] == [
        ("reuseport_stall", 2),
        ("listen_queue", 1),
    ]
    assert [[len(slot) for slot in row.slots] for row in table.rows] == [[1, 1, 1], [1, 0, 0], [0, 1, 0]]
    assert [entry.cell for entry in table.entries] == [cells[at] for at in (0, 2, 1, 3, 4)]


@given(st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=20))
def test_no_two_cells_share_a_page(ids: list[str]) -> None:
    """Ids may be any text; the pages' names are safe file names, and differ even without regard to case."""
    cells = [Cell.from_json(cell("stalls") | {"id": text}) for text in ids]
    slugs = [entry.slug for entry in matrix(cells).entries]
    assert len(slugs) == len(cells)
    assert len({text.casefold() for text in slugs}) == len(cells)
    assert all(text and not set(text) & set('/\\ #?%"<>\0') and not text.startswith(".") for text in slugs)


def test_two_cells_in_one_place_are_both_shown() -> None:
    cells = [Cell.from_json(cell("stalls") | {"id": text, "claim": "The same"}) for text in ("one", "two")]
    (row,) = matrix(cells).rows
    assert [entry.cell.id for entry in row.slots[0]] == ["one", "two"]


def test_rows_are_ranked_by_the_attention_that_they_need() -> None:
    undecided = {"reason": "because"}
    rows = matrix(
        [
            a_cell("contradicts", verdict="refuted"),
            a_cell("inconclusive", verdict="inconclusive", **undecided),
            a_cell("unsupported", verdict="unsupported", **undecided),
            a_cell("refuted", verdict="refuted", expected="refuted"),
            a_cell("unclaimed", verdict="refuted", expected=None),
            a_cell("holds"),
        ]
    ).rows
    assert [row.attention for row in rows] == [0, 1, 2, 3, 3, 4]


def test_effects_are_sorted_by_their_size_in_either_direction() -> None:
    """A tenth is as large as ten times, and every ratio comes before every difference between shares.

    An infinite ratio comes first, as a finite number: JSON for the pages' script cannot contain infinity.
    """
    rows = matrix(
        [
            a_cell("unbounded", effect=effect(math.inf, 9.0, math.inf)),
            a_cell("ten", effect=effect(10.0, 9.0, 11.0)),
            a_cell("tenth", effect=effect(0.1, 0.09, 0.11)),
            a_cell("none", effect=effect(1.0, 0.9, 1.1)),
            a_cell("all", effect=effect(-1.0, -1.0, -1.0, "share")),
            a_cell("unsupported", effect=None, verdict="unsupported", reason="because"),
        ]
    ).rows
    unbounded, ten, tenth, none, everything, nothing = (row.effect_size for row in rows)
    assert math.inf > unbounded > ten == tenth > none > everything > nothing


def test_the_results_that_matter_most_are_listed_first() -> None:
    """Effects are ranked by their lower limits, one for each claim; shares and margins are left out."""
    undecided = {"verdict": "inconclusive", "reason": "because"}
    places = matrix(
        [
            a_cell("twice", effect=effect(3.0, 2.0, 4.0)),
            a_cell("twice", nginx="1.30", effect=effect(9.0, 8.0, 10.0)),
            a_cell("unsure", effect=effect(90.0, 1.5, 200.0)),
            a_cell("alike", effect=effect(1.0, 1.0, 1.0) | {"form": "same"}),
            a_cell("share", effect=effect(1.0, 1.0, 1.0, "share")),
            a_cell("wrong", verdict="refuted"),
            *(a_cell(f"open{number:02}", **undecided) for number in range(12)),
        ]
    )
    lists = {item.title: item for item in what_matters(places)}
    assert list(lists) == ["Not as expected", "Not decided", "The largest effects"]
    assert [entry.cell.name for entry in lists["Not as expected"].entries] == ["wrong"]
    assert [(entry.cell.name, entry.cell.nginx) for entry in lists["The largest effects"].entries] == [
        ("twice", "1.30"),
        ("unsure", "1.22"),
    ]
    assert (len(lists["Not decided"].entries), lists["Not decided"].more) == (10, 2)
    assert what_matters(matrix([])) == []
    assert places.groups[0].summary == "5 holds, 1 refuted, 12 inconclusive"
