"""The counts measured for a scenario's variants, by version of nginx where versions differ."""

from collections.abc import Mapping

from tools.docs.cells import NOTHING, plain
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.terminal.markdown import head, row
from tuneproof.wording import as_numbers, format_number


def counted_table(results: Results, wanted: str) -> str:
    """Return a table of metrics of a scenario's variants, by version of nginx where versions differ.

    KeyError: A metric is missing from all variants of the scenario.
    """
    scenario, _, metrics = (part.strip() for part in wanted.partition(":"))
    names = [name.strip() for name in metrics.split(",")]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cell in sorted((cell for cell in results.cells if cell.scenario == scenario), key=_version):
        for arm, values in cell.arms.items():
            for name in names:
                if (value := values.get(name)) is not None:
                    found.setdefault(arm, {}).setdefault(name, {})[cell.nginx] = value
    for name in names:
        if not any(name in by_name for by_name in found.values()):
            raise KeyError(f"no variant in {scenario} has the metric {name}")
    heads = ["variant", *names]
    rows = [row([plain(arm), *[_of_versions(by.get(name, {})) for name in names]]) for arm, by in found.items()]
    return "\n".join([*head(heads), *rows])


def _of_versions(values: Mapping[str, float]) -> str:
    """Return the value if all versions agree; otherwise each value with its versions."""
    versions: dict[float, list[str]] = {}
    for version, value in values.items():
        versions.setdefault(value, []).append(version)
    if len(versions) < 2:  # noqa: PLR2004 - fewer than two values cannot differ
        return format_number(next(iter(versions))) if versions else NOTHING
    return "; ".join(f"{format_number(value)} ({', '.join(of)})" for value, of in versions.items())


def _version(cell: Cell) -> tuple[int, ...]:
    return as_numbers(cell.nginx)
