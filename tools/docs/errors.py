"""How often replayed decisions erred, as ``tools.replay`` counted."""

import json

from tools.docs.gains import FOLDER
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import row


def errors_table(_results: Results, wanted: str) -> str:
    """Return the table; ``wanted`` is the name of a file in docs/ that ``python -m tools.replay`` wrote."""
    file = FOLDER / wanted.strip()
    if not file.exists():
        return "Not replayed since the rule stands as it does: `python -m tools.replay RESULTS` does it."
    document = json.loads(file.read_text(encoding="utf-8"))
    lines = [row(("form", "replayed", "wrongly *holds*", "wrongly *refuted*", "of")), row(["---"] * 5)]
    for rate in document["rates"]:
        wrong = (rate["wrong_holds"], rate["wrong_refuted"])
        cells = [f"{count} (at most {limit:.1%})" for count, limit in zip(wrong, rate["upper_limits"], strict=True)]
        lines.append(row([rate["form"], rate["replay"], *cells, str(rate["experiments"])]))
    source = f"{document['blocks']} blocks of {document['cells']} recorded cells. {document['measured']}"
    return "\n".join([*lines, "", source])
