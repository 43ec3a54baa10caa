"""The JSON document matches its schema, and the schema lists every kind, cause and verdict."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from tuneproof.explain import document as document_module
from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.diagnose import diagnose
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause, CauseVerdict
from tuneproof.explain.diagnosis.render import to_json
from tuneproof.explain.document import document
from tuneproof.explain.found import Found
from tuneproof.explain.parse.figures import Figure

SCHEMA: dict[str, Any] = json.loads(Path(document_module.__file__).with_name("schema.json").read_text(encoding="utf-8"))
DIAGNOSIS = to_json(diagnose(EvidenceSet()))


def test_a_document_contains_files_and_a_diagnosis() -> None:
    found = Found(
        name="a", kind=Kind.SS, figures=(Figure(key="rtt_ms", name="rtt", value=1.5, unit="ms"),), warnings=("odd",)
    )
    assert document([found, Found(name="b", kind=None, error="not recognised")], DIAGNOSIS) == {
        "schema": 4,
        "files": [
            {
                "name": "a",
                "kind": "sockets (ss)",
                "figures": [{"key": "rtt_ms", "name": "rtt", "value": 1.5, "unit": "ms", "of": ""}],
                "warnings": ["odd"],
                "error": None,
            },
            {"name": "b", "kind": None, "figures": [], "warnings": [], "error": "not recognised"},
        ],
        "diagnosis": DIAGNOSIS,
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_rejected(value: float) -> None:
    """JSON has no such numbers, but Python's json module writes them by default."""
    found = Found(name="a", kind=Kind.SS, figures=(Figure(key="some", name="rtt", value=value),))
    with pytest.raises(ValueError, match="not JSON compliant"):
        document([found], DIAGNOSIS)


@pytest.mark.parametrize("diagnosis", [{}, DIAGNOSIS | {"healthy": None}, DIAGNOSIS | {"more": 1}])
def test_a_document_that_violates_the_schema_is_rejected(diagnosis: dict[str, Any]) -> None:
    """Programs that read the document may rely on the schema."""
    with pytest.raises(ValidationError):
        document([], diagnosis)


def test_the_schema_names_every_kind_cause_and_verdict() -> None:
    definitions = SCHEMA["$defs"]
    assert definitions["file"]["properties"]["kind"]["enum"] == [*Kind, None]
    assert definitions["cause"]["enum"] == list(Cause)
    assessment = definitions["diagnosis"]["properties"]["assessments"]["items"]
    assert sorted(assessment["properties"]["verdict"]["enum"]) == sorted(CauseVerdict)
