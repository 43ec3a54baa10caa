"""Golden files: what a page, a table or a chart said when somebody last read it and found it right.

After a change that is meant, ``TUNEPROOF_RENEW_GOLDEN=1 pytest tests/unit/report`` writes them anew. Read the
difference before it is committed: the files assert nothing that nobody has looked at.
"""

import os
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parents[1] / "unit" / "report" / "golden"
_RENEW: Final = "TUNEPROOF_RENEW_GOLDEN"


def assert_golden(name: str, text: str) -> None:
    file = _FOLDER / name
    # Half of a surrogate pair, which a stranger may have written, is in no file.
    text = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if os.environ.get(_RENEW):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs; if that is meant: {_RENEW}=1"
