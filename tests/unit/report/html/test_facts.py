"""A report starts with what was tested, on which machine, and the commands that repeat it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.canned_results import cell
from tests.support.written_results import HOST, a_cell, written
from tuneproof.report.html import facts
from tuneproof.report.results.merging import merge


@pytest.mark.parametrize("host", [{}, {"sysctls": "none", "memory_bytes": "much", "cpu_count": None}])
def test_an_unknown_machine_has_no_facts(host: dict[str, Any], tmp_path: Path) -> None:
    """Facts that were not recorded, or have values of the wrong type, are left out."""
    (machine,) = facts.machines(written(tmp_path, host=host))
    assert machine.facts == ()


def test_each_machine_of_the_shards_is_named_once(tmp_path: Path) -> None:
    """Two shards on one machine share an entry that names both; an idle shard has no machine."""
    shards = [
        written(
            tmp_path / str(number),
            cell(f"c{number}"),
            options={"shard": f"{number}/4"},
            host={**HOST, "kernel": kernel},
        )
        for number, kernel in enumerate(("6.1", "5.15", "6.1"), start=1)
    ]
    idle = written(tmp_path / "4", options={"shard": "4/4"}, host={})
    results = merge([*shards, idle])
    machines = facts.machines(results)
    assert [machine.of for machine in machines] == ["shard 1/4, shard 3/4", "shard 2/4"]
    assert "kernel 5.15" in facts.measured_on(results, results.cells[1])


def test_the_tally_counts_every_verdict_and_each_contradiction() -> None:
    cells = [
        a_cell("a"),
        a_cell("b", verdict="refuted"),
        a_cell("c", verdict="refuted", expected=None),
        a_cell("d", verdict="inconclusive", reason="because"),
        a_cell("e", verdict="refuted", expected="refuted", expired_since="1.29.7"),
    ]
    tally = facts.tally(cells)
    assert dict(tally.verdicts) == {"holds": 1, "refuted": 3, "inconclusive": 1, "unsupported": 0}
    assert (tally.cells, tally.contradictions) == (5, 1)


def test_the_commands_repeat_the_run(tmp_path: Path) -> None:
    """One command repeats the whole run, the other a single cell; values are quoted for the shell if necessary."""
    options = {
        "nginx": ["1.22"],
        "network": ["bare", "rtt=1ms loss=1%"],
        "depth": "full",
        "place": ["client=gen1", "subject=ssh://me@big"],
        "stream": True,
        "strict_evidence": True,
    }
    unrepeatable = {"nested": {"a": 1}, "shard_split": "2fe1", "around_nginx_conf": ["a resolver that answers"]}
    data = cell("restores_loop", network="rtt=1ms loss=1%")
    results = written(tmp_path, data, options={**options, "quiet": False, **unrepeatable})
    assert facts.command(results) == (
        "./lab run --nginx 1.22 --network bare --network 'rtt=1ms loss=1%' --depth full "
        "--place client=gen1 --place subject=ssh://me@big --stream --strict-evidence --seed 7"
    )
    assert facts.command_of_cell(results.cells[0], results) == (
        "./lab run -k 'reuseport_stall and restores_loop' --nginx 1.22 --network 'rtt=1ms loss=1%' --depth full "
        "--stream --place client=gen1 --place subject=ssh://me@big --seed 7"
    )
