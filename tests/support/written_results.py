"""Results folders of invented runs, in the form of ``./lab run``."""

import json
from pathlib import Path
from typing import Any

from tuneproof.report.results.cells import Cell, Effect
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load

Json = dict[str, Any]

HOST: Json = {
    "kernel": "6.1.0-18",
    "architecture": "x86_64",
    "operating_system": "Debian GNU/Linux 12",
    "cpu_model": "A processor",
    "cpu_count": 2,
    "memory_bytes": 8 << 30,
    "engine": "27.1",
    "cgroup_version": "2",
    "security_module": "AppArmor",
    "sysctls": {"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_rmem": "4096 131072 6291456"},
}
OPTIONS: dict[str, Any] = {
    "nginx": ["1.22"],
    "network": ["bare"],
    "shaper": "auto",
    "depth": "quick",
    "strict_evidence": False,
}


LINK: dict[str, Any] = {
    "network": "wan",
    "link": "client",
    "direction": "egress",
    "shaper": "wire",
    "set": {"rtt_ms": 40.0, "rate_mbit": None},
    "measured": {"rtt_ms": 40.3, "loss_pct": 0},
    "tolerance": {"rtt_ms": 2.0, "rate_mbit": None},
}
"""A cell's record of one direction of a shaped link."""


def ratio(value: float = 134.0, low: float = 98.0, high: float = 180.0) -> Effect:
    return Effect(name="lag, loaded ÷ idle", unit="ratio", value=value, ci_low=low, ci_high=high)


def a_cell(claim: str = "stalls", *, scenario: str = "stall", nginx: str = "1.22", **changes: Any) -> Cell:
    """Return a claim's cell, with an id as in a run; by default, the claim holds."""
    values: dict[str, Any] = {
        "id": f"{scenario}/{claim}/nginx-{nginx}/bare",
        "name": claim,
        "scenario": scenario,
        "claim": f"The claim {claim}",
        "source": "an article",
        "nginx": nginx,
        "network": "bare",
        "verdict": "holds",
        "expected": "holds",
        "threshold": 10.0,
        "effect": ratio(),
        "arms": {"loaded": {"trials": 6}},
        "blocks": 6,
        "void_blocks": 0,
        "seconds": 12.0,
        "measuring_seconds": 9.0,
        "evidence": (),
        "reason": "",
    }
    return Cell(**(values | changes))


def unsupported(claim: str = "stalls", **changes: Any) -> Cell:
    values: dict[str, Any] = {
        "verdict": "unsupported",
        "effect": None,
        "blocks": 0,
        "seconds": 0.0,
        "reason": "one CPU",
    }
    return a_cell(claim, **(values | changes))


def write(folder: Path, *cells: Cell | Json, **changes: Any) -> Path:
    """Write a finished run; a change to None removes a key.

    Each piece of a :class:`Cell`'s evidence gets a file; for a cell in JSON, no file is written.
    """
    document = {
        "schema": 1,
        "started": "2026-11-20T09:36:16Z",
        "host": HOST,
        "seed": 7,
        "options": OPTIONS,
        "seconds": 60.0,
        "finished": True,
        **changes,
        "cells": [cell.to_json() if isinstance(cell, Cell) else cell for cell in cells],
    }
    folder.mkdir(parents=True, exist_ok=True)
    given = {name: value for name, value in document.items() if value is not None}
    (folder / "results.json").write_text(json.dumps(given), encoding="utf-8")
    for path in {path for cell in cells if isinstance(cell, Cell) for path in cell.evidence}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{folder.name}: {path}", encoding="utf-8")
    return folder


def written(folder: Path, *cells: Cell | Json, **changes: Any) -> Results:
    """Write a run, and read it back."""
    return load(write(folder, *cells, **changes))
