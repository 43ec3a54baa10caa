"""Golden files: the text of a page, a table or a chart when somebody last read it and found it right.

After an intended change, ``TUNEPROOF_RENEW_GOLDEN=1 pytest tests/unit/report`` writes them again. Read the difference
before committing it: the files are only right if somebody has checked them.
"""

import os
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parents[1] / "unit" / "report" / "golden"
_RENEW: Final = "TUNEPROOF_RENEW_GOLDEN"


def assert_golden(name: str, text: str) -> None:
    file = _FOLDER / name
    # Half of a surrogate pair, which a stranger may have written, cannot be in a file.
    text = text.encode("utf-8", errors="backslashreplace").decode("utf-8")
    if os.environ.get(_RENEW):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"{file.name} differs; if that is meant: {_RENEW}=1"
