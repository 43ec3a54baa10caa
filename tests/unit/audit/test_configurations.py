"""What an audit says of configurations after the shapes of real ones."""

from pathlib import Path

import pytest

from tests.support.configurations import CASES, Case
from tuneproof.audit.auditing import audit
from tuneproof.audit.document import document


def written(case: Case, folder: Path) -> Path:
    """Write a case's files; return the first one's path."""
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / next(iter(case.files))


@pytest.mark.parametrize("name", CASES)
def test_an_audit_says_what_nginx_would_do(name: str, tmp_path: Path) -> None:
    """Facts, problems, and whether connections are kept, place by place."""
    case = CASES[name]
    told = document(audit(str(written(case, tmp_path)), version=case.version))
    proxied = [
        (item["location"], item["keepalive"], item["buffering"], item["reader_bytes"]) for item in told["proxied"]
    ]
    assert proxied == list(case.proxied), [item["why"] for item in told["proxied"]]
    assert [(item["line"], item["message"]) for item in told["problems"]] == list(case.problems)
    assert {name: told[name] for name in case.expects} == dict(case.expects)


def test_there_are_enough() -> None:
    """Each of another shape."""
    assert len({tuple(case.files.values()) for case in CASES.values()} | {case.version for case in CASES.values()}) > 50
