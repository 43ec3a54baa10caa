"""An unusable results file is rejected with its name and the place in it, without a traceback."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.written_results import LINK, a_cell
from tuneproof.errors import BadInputError
from tuneproof.report.results.run_file import load
from tuneproof.report.results.schema import _schema

# Files from before links were shaped contain such cells: they have only the required properties.
CELL: dict[str, Any] = {
    name: value
    for name, value in a_cell("stall", arms={"a/b~c": {"lag_p99_ms": 1}}, threshold=None).to_json().items()
    if name in _schema()["$defs"]["cell"]["required"]
} | {"id": "stall"}


def a_document(**changes: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "started": "2026-11-20T09:36:16Z",
        "host": {},
        "seed": 1,
        "options": {},
        "cells": [CELL | changes],
    }


def refusal(tmp_path: Path, text: str) -> BadInputError:
    """Return the error for a results file with this text."""
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(BadInputError) as raised:
        load(path)
    assert str(path) in raised.value.where
    assert raised.value.remedy
    return raised.value


def test_a_valid_document_is_accepted(tmp_path: Path) -> None:
    """This document is from before links were shaped, which did not change the format's version."""
    (tmp_path / "results.json").write_text(json.dumps(a_document()), encoding="utf-8")
    assert load(tmp_path) == load(tmp_path / "results.json")
    assert load(tmp_path).cells[0].arms == {"a/b~c": {"lag_p99_ms": 1}}
    assert load(tmp_path).cells[0].links == ()


RUN: dict[str, Any] = {
    "started": "2026-11-20T09:36:16Z",
    "host": {"kernel": "6.1"},
    "options": {"shard": "1/1"},
    "cells": ["stall"],
    "seconds": 3.5,
    "finished": True,
}


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        *(
            (a_document(**changes), f"/cells/0{pointer}")
            for changes, pointer in (
                ({"verdict": "maybe"}, "/verdict"),
                ({"expected": "maybe"}, "/expected"),
                ({"expected": 0}, "/expected"),
                ({"effect": None}, "/effect"),
                ({"effect": {**CELL["effect"], "unit": "ms"}}, "/effect/unit"),
                ({"effect": {**CELL["effect"], "value": "134"}}, "/effect/value"),
                ({"verdict": "inconclusive"}, "/reason"),
                ({"verdict": "unsupported", "effect": None}, "/reason"),
                ({"arms": {"a/b~c": {"lag_p99_ms": "fast"}}}, "/arms/a~1b~0c/lag_p99_ms"),
                ({"blocks": 1.5}, "/blocks"),
                ({"void_blocks": -1}, "/void_blocks"),
                ({"evidence": ["/etc/passwd"]}, "/evidence/0"),
                ({"evidence": ["ok", "evidence/../.."]}, "/evidence/1"),
                ({"evidence": ["."]}, "/evidence/0"),
                ({"surprise": 1}, ""),
                ({"links": None}, "/links"),
                ({"links": [LINK, {**LINK, "network": ""}]}, "/links/1/network"),
                ({"links": [{**LINK, "link": "up"}]}, "/links/0/link"),
                ({"links": [{**LINK, "direction": "both"}]}, "/links/0/direction"),
                ({"links": [{**LINK, "shaper": "auto"}]}, "/links/0/shaper"),
                ({"links": [{**LINK, "set": None}]}, "/links/0/set"),
                ({"links": [{**LINK, "measured": {"rtt_ms": "40"}}]}, "/links/0/measured/rtt_ms"),
                ({"links": [{**LINK, "tolerance": {"rtt_ms": True}}]}, "/links/0/tolerance/rtt_ms"),
                ({"links": [{**LINK, "noise": 1}]}, "/links/0"),
                ({"links": [{name: value for name, value in LINK.items() if name != "set"}]}, "/links/0"),
                ({"verdict": "inconclusive", "reason": "  "}, "/reason"),
                ({"blocks": True}, "/blocks"),
                ({"measuring_seconds": -0.1}, "/measuring_seconds"),
                ({"effect": {**CELL["effect"], "form": "less"}}, "/effect/form"),
                ({"effect": {**CELL["effect"], "count": 0, "of": 0.5}}, "/effect/of"),
                # Rules that a schema cannot express.
                ({"links": [{**LINK, "measured": {"rtt_ms": 10**400}}]}, "/links/0/measured/rtt_ms"),
            )
        ),
        ({name: value for name, value in a_document().items() if name != "seed"}, ""),
        ({name: value for name, value in a_document().items() if name != "schema"}, ""),
        ({**a_document(), "cells": [{name: value for name, value in CELL.items() if name != "claim"}]}, "/cells/0"),
        *(
            ({**a_document(), **changes}, pointer)
            for changes, pointer in (
                ({"extra": 1}, ""),
                ({"started": "yesterday"}, "/started"),
                ({"cells": {}}, "/cells"),
                ({"seconds": 10**400}, "/seconds"),
                ({"schema": 2}, "/schema"),
                ({"schema": [1]}, "/schema"),
                ({"schema": True}, "/schema"),
                ({"options": {"nginx": 1.3}}, "/options/nginx"),
                ({"options": {"network": [["bare"]]}}, "/options/network/0"),
                # Each cell belongs to exactly one run.
                ({"runs": [RUN | {"cells": []}]}, "/runs"),
                ({"runs": [RUN, RUN]}, "/runs"),
                ({"runs": [RUN | {"cells": ["stall", "other"]}]}, "/runs"),
                ({"runs": [RUN | {"seconds": 10**400}]}, "/runs/0/seconds"),
                ({"runs": [RUN | {"seconds": -1}]}, "/runs/0/seconds"),
                ({"runs": [RUN, {**RUN, "extra": 1}]}, "/runs/1"),
                ({"runs": [{**RUN, "started": "today"}]}, "/runs/0/started"),
                ({"runs": [{"cells": ["stall"]}]}, "/runs/0"),
                ({"runs": None}, "/runs"),
                ({"runs": [RUN | {"options": {"nginx": None}}]}, "/runs/0/options/nginx"),
            )
        ),
    ],
)
def test_a_broken_document_is_rejected_with_a_pointer(tmp_path: Path, document: dict[str, Any], pointer: str) -> None:
    assert refusal(tmp_path, json.dumps(document)).where == f"{tmp_path}/results.json#{pointer}"


@pytest.mark.parametrize(
    ("version", "remedy"),
    [
        (0, "They are from an older Tuneproof: show them with the checkout that wrote them"),
        (2, "They are from a newer Tuneproof: update this checkout"),
    ],
)
def test_results_in_another_format_version_are_not_called_damaged(tmp_path: Path, version: int, remedy: str) -> None:
    error = refusal(tmp_path, json.dumps({"schema": version, "anything": "else"}))
    assert error.what == f"Results of format version {version} cannot be read: only version 1 is known."
    assert error.remedy.startswith(remedy)


def test_merged_results_record_which_run_decided_which_cell(tmp_path: Path) -> None:
    cut = {name: value for name, value in RUN.items() if name != "seconds"} | {"cells": [], "finished": False}
    text = json.dumps(a_document() | {"runs": [RUN, cut]})
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    results = load(tmp_path)
    assert [(run.cells, run.seconds, run.finished, run.path) for run in results.runs] == [
        (("stall",), 3.5, True, ""),
        ((), None, False, ""),
    ]
    assert results.to_json()["runs"] == [RUN, cut]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "not JSON: Expecting value", ""),
        ('{"schema": 1,\n "cells": [', "not JSON", ""),
        # If the text is not JSON, there is no pointer, but there is a line.
        ('{"schema": 1,\n  oops}', "not JSON", ", line 2 column 3"),
        ("[]", "is not of type 'object'", ""),
        ('{"schema": 1, "seconds": NaN}', "NaN is not a JSON number", ""),
        ("[" * 100_000, "not usable JSON", ""),
        ("9" * 5_000, "not usable JSON", ""),
        # The first bytes of a packet capture, given by mistake.
        ("\udcd4\udcc3", "not UTF-8 text", ""),
    ],
    ids=range(8),
)
def test_text_that_is_not_a_results_document_is_rejected(tmp_path: Path, text: str, message: str, place: str) -> None:
    error = refusal(tmp_path, text)
    assert message in error.what
    assert error.where.endswith(place)


@pytest.mark.parametrize("name", ["missing", "", "file/below"])
def test_missing_results_are_bad_input(tmp_path: Path, name: str) -> None:
    """For a wrong path, a folder without results, or a path through a file, the message suggests ./lab run."""
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match=r"(?s)cannot be read.*\./lab run"):
        load(tmp_path / name)


def objects_in(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the types of objects in a schema, without the conditions on a cell."""
    if isinstance(schema, list):
        yield from (found for part in schema for found in objects_in(part))
    elif isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        yield from (found for name, part in schema.items() if name != "allOf" for found in objects_in(part))


def test_every_key_of_the_format_is_described() -> None:
    """The schema is the format's documentation: every property or its type has a description."""
    schema = _schema()
    definitions = {f"#/$defs/{name}": definition for name, definition in schema["$defs"].items()}
    undescribed = [
        name
        for described in objects_in(schema)
        for name, definition in described["properties"].items()
        if "description" not in definition and "description" not in definitions.get(definition.get("$ref"), {})
    ]
    assert undescribed == []
    closed = [described for described in objects_in(schema) if described is not schema["$defs"]["options"]]
    assert all(described["additionalProperties"] is False for described in closed)
