"""The results that `audit` needs: each claim's verdict, figure and page."""

import re
from collections.abc import Mapping
from typing import Any, Final

from tuneproof.report.results.documents import Results
from tuneproof.report.results.machine import machine_line
from tuneproof.report.words import limit, measured

# A page's markers name the scenarios of its tables of verdicts.
_SHOWN: Final = re.compile(r"<!-- (?:verdicts|versions): ([\w, ]+) -->")


def recorded(results: Results, pages: Mapping[str, str]) -> dict[str, Any]:
    """Return the document for tuneproof/audit/recorded.json."""
    page_of = {
        name.strip(): path
        for path, text in pages.items()
        for names in _SHOWN.findall(text)
        for name in names.split(",")
    }
    machine_of = {cell_id: machine_line(run.host) for run in results.parts for cell_id in run.cells}
    machines = list(dict.fromkeys(machine_of.values()))
    cells: dict[str, dict[str, Any]] = {}
    for cell in results.cells:
        claim = cells.setdefault(
            f"{cell.scenario}/{cell.name}",
            {
                "claim": cell.claim,
                "page": page_of.get(cell.scenario, ""),
                "threshold": "; ".join(filter(None, (limit(cell), cell.why))),
                "versions": {},
            },
        )
        claim["versions"][cell.nginx] = {
            "verdict": cell.verdict,
            "effect": measured(cell),
            "machine": machines.index(machine_of[cell.id]),
        }
    return {"machines": machines, "cells": cells}
