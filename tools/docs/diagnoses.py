"""How often diagnoses were right on recorded evidence, whole and with files missing, as ``tools.diagnoses`` counted."""

import json
from typing import Final

from tools.docs.gains import FOLDER
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import row

_PLACES: Final = {"nginx.pcap.gz": "at nginx", "client.pcap.gz": "at the client", "backend.pcap.gz": "at the backend"}
_HEAD: Final = ("built", "captured", "right", "left open", "wrong", "a file missing: right", "left open", "wrong")


def diagnoses_table(_results: Results, wanted: str) -> str:
    """Return the table, and where from.

    Args:
        wanted: Name of a file in docs/ that ``python -m tools.diagnoses --json`` wrote.
    """
    document = json.loads((FOLDER / wanted.strip()).read_text(encoding="utf-8"))
    found = {(each["built"], each["captured"], each["whole"]): each for each in document["sets"]}
    lines = [row(_HEAD), row(["---"] * len(_HEAD))]
    for built in dict.fromkeys(each["built"] for each in document["sets"]):
        for captured, place in _PLACES.items():
            numbers = [found[built, captured, whole] for whole in (True, False)]
            counts = [str(each[name]) for each in numbers for name in ("right", "nothing", "wrong")]
            lines.append(row([built, place, *counts]))
    return "\n".join([*lines, "", str(document["measured"])])
