"""Runs on disk for tests of the pages: a small run with every case, and a large run."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.canned_charts import files, stall, trial
from tests.support.written_results import HOST, LINK, Json, a_cell, written
from tuneproof.report.results.files import slug
from tuneproof.report.results.run_file import Results

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'single' {{ 7 * 7 }} \x1b[31m </script> \ud800"
"""Untrusted text that the project's output repeats: markup, a template, an escape sequence, half a surrogate pair."""
_ARMS = {
    "default": {"trials": 5, "lag_p50_ms": 56.52367250149837, "bulk_bytes_per_s": 192870586.6666667, "kept": None},
    "small-rmem": {"trials": 5, "lag_p50_ms": 0.5707069994969061, "bulk_bytes_per_s": 270232640.0, "kept": None},
}
_CONFIG = "worker_processes 2;\nhttp {\n    server {\n        listen 80 reuseport;\n    }\n}\n"


def cell(
    name: str, *, scenario: str = "reuseport_stall", nginx: str = "1.22", network: str = "bare", **changes: Any
) -> Json:
    """Return one cell of results.json: a claim that holds as expected, except for the changes."""
    return {
        **a_cell(name, scenario=scenario, nginx=nginx).to_json(),
        "id": f"{scenario}/{name}/nginx-{nginx}/{network}",
        "claim": f"A loaded worker stalls ({name})",
        "source": "An article (2023): requests jump between 38 ms and 1010 ms",
        "network": network,
        "threshold": 5.0,
        "effect": effect(80.12345678901234, 52.9, 112.0),
        "arms": _ARMS,
        "blocks": 5,
        "void_blocks": 1,
        "seconds": 12.345678901234567,
        "measuring_seconds": 4.5,
        **changes,
    }


def effect(value: float, low: float, high: float, unit: str = "ratio") -> Json:
    return {"name": "median loop lag, default ÷ small", "unit": unit, "value": value, "ci_low": low, "ci_high": high}


def with_evidence(folder: Path, of: Json, contents: Mapping[str, str]) -> Json:
    place = f"evidence/{slug(of['id'])}"
    for name, text in contents.items():
        (folder / place / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / place / name).write_text(text, encoding="utf-8")
    return of | {"evidence": [*of["evidence"], *(f"{place}/{name}" for name in contents)]}


def stall_evidence(blocks: int = 5, *, seed: int = 1) -> dict[str, str]:
    """Return the files of a stall cell: two arms, with random loop lags of the workers."""
    dice = random.Random(seed)  # noqa: S311 - a test's data, not secret
    lags_ms = {"default": 50.0, "small-rmem": 0.5}
    trials = [
        trial(arm, block, stall(*_drawn(dice, lag_ms), bulk_bytes=(80_000_000, 0)))
        for block in range(1, blocks + 1)
        for arm, lag_ms in lags_ms.items()
    ]
    preconditions = {
        "workers": 2,
        "sysctls": {"net.core.somaxconn": "4096", "net.ipv4.tcp_rmem": "4096 131072 6291456"},
    }
    small = {**preconditions, "sysctls": {**preconditions["sysctls"], "net.ipv4.tcp_rmem": "40960"}}  # type: ignore[dict-item]
    return {
        **files(*trials, effects=[dice.uniform(50, 110) for _ in range(blocks)]),
        "host.json": json.dumps(HOST),
        "default.nginx.conf": _CONFIG,
        "default.preconditions.json": json.dumps(preconditions),
        "default.access.log": "a line\n",
        "default.access.json": "{}",
        "small-rmem.nginx.conf": _CONFIG.replace(" reuseport", ""),
        "small-rmem.preconditions.json": json.dumps(small),
        "small-rmem.access.log": "a line\n",
        "small-rmem.access.json": "{}",
    }


def write_small_run(folder: Path) -> Results:
    """Write a run with everything: each verdict, gaps, a shaped link, lost and oddly named evidence, hostile texts."""
    cells = [
        with_evidence(folder, cell("restores_loop"), stall_evidence()),
        cell("restores_loop", nginx="1.30", verdict="refuted", effect=effect(0.9, 0.7, 1.1)),
        cell(
            "herd",
            nginx="1.30",
            verdict="refuted",
            expected="refuted",
            effect=effect(-0.001, -0.02, 0.01, "share"),
            threshold=0.1,
            expired_since="1.11.3",
            reason="expired since nginx 1.11.3: EPOLLEXCLUSIVE wakes one worker per connection",
        ),
        cell("twins", verdict="inconclusive", reason="too few of 9 rounds agree"),
        with_evidence(
            folder,
            cell(
                "over_a_link",
                scenario="network_quality",
                network="wan",
                expected=None,
                links=[LINK | {"shaper": "native"}],
            ),
            {"100% odd #name?.log": "odd\n", "effects.json": "not JSON"},
        ),
        cell(
            "steering",
            scenario="softirq_steering",
            verdict="unsupported",
            effect=None,
            arms={},
            blocks=0,
            reason="rps_cpus cannot be written here",
            evidence=["evidence/gone/samples.jsonl"],
        ),
        with_evidence(
            folder,
            cell("hostile", scenario="hostile", claim=HOSTILE, source=HOSTILE, arms={HOSTILE: {HOSTILE: 1.5}})
            | {"reason": HOSTILE, "id": f"hostile/{HOSTILE}"},
            {"<b>.nginx.conf": HOSTILE.encode("utf-8", "replace").decode()},
        ),
    ]
    (folder / "trials.jsonl").write_text("{}\n", encoding="utf-8")
    return written(folder, *cells)


def write_large_run(folder: Path, *, cells: int) -> Results:
    """Write a run with this many cells, each with the evidence of 12 blocks."""
    columns = [(nginx, network) for nginx in ("1.18", "1.22", "1.26", "1.30") for network in ("bare", "wan")]
    made = []
    for index in range(cells):
        nginx, network = columns[index % len(columns)]
        claim = index // len(columns)
        one = cell(
            f"claim_{claim}", nginx=nginx, network=network, scenario=f"scenario_{claim // 6}", arms=_metrics(index)
        )
        made.append(with_evidence(folder, one, stall_evidence(12, seed=index)))
    return written(folder, *made)


def _drawn(dice: random.Random, lag_ms: float) -> Sequence[Sequence[float]]:
    return [[dice.lognormvariate(0, 0.5) * scale for _ in range(20)] for scale in (lag_ms, 0.2)]


def _metrics(seed: int) -> dict[str, dict[str, float]]:
    dice = random.Random(seed)  # noqa: S311 - a test's data, not secret
    return {arm: {f"metric_{index}_p50_ms": dice.uniform(0, 100) for index in range(20)} for arm in _ARMS}
