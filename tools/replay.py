"""Measures how often the decision errs, by replaying recorded rounds with the truth moved to the threshold.

``python -m tools.replay RESULTS...`` takes the effects of all rounds in runs' evidence, and writes
docs/error-rates.json for the table in docs/verdicts.md. It simulates dose-responses and independent units, and replays:

- *variants swapped*: in each recorded round, the two variants are swapped at random, so that they do not differ;
- *at the threshold*: effects are moved so that their median is the threshold, and rounds are resampled;
- *trials correlated*: each trial's noise resembles that of the previous trial (correlation 0.4), and the order of the
  variants in a round is random, as in a run;
- *effects correlated*: the effects themselves resemble those of the previous round (0.4), as if the effect drifted.
  Neither a random order nor any rule for so few rounds helps against that.
"""

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from scipy import stats  # type: ignore[import-untyped]  # scipy ships no type information

from tools.docs.cells import run_line
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.proof.depths import LOOKS, QUICK
from tuneproof.proof.inference.effects import Effect, Ordered, Scale, Tally
from tuneproof.proof.inference.verdicts import Block, Form, Verdict, assess
from tuneproof.proof.scenario.claims import Claim
from tuneproof.report.results.run_file import load

ERROR_RATES: Final = Path(__file__).parents[1] / "docs/error-rates.json"
EXPERIMENTS: Final = 10_000
CORRELATION: Final = 0.4
_DOSES: Final = (5.0, 4.0, 3.0, 2.0, 1.0)

Draw = Callable[[], Effect]
"""Returns the effect of an experiment's next round."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recorded result: its claim, and the effect in each round."""

    claim: Claim[Any]
    effects: tuple[float, ...]

    @property
    def residuals(self) -> tuple[float, ...]:
        """The distance of each round from the median, on the additive scale; as many are above the median as below.

        A single middle round counts once as the one above it and once as the one below, if both exist. With several,
        other rounds without a counterpart on the other side move to the median.
        """
        additive = [math.log(effect) if self.claim.scale is Scale.RATIO else effect for effect in self.effects]
        middle = statistics.median(additive)
        off = [item - middle for item in additive]
        above, below = [item for item in off if item > 0], [item for item in off if item < 0]
        if off.count(0) == 1 and above and below:
            return (*above, *below, *above, *below, min(above), max(below))
        few = min(len(above), len(below))
        return (*sorted(above)[:few], *sorted(below)[len(below) - few :], *[0.0] * (len(off) - 2 * few))


@dataclass(frozen=True, kw_only=True)
class ErrorRate:
    """The number of replayed experiments, and how many were decided wrongly."""

    form: str
    replay: str
    experiments: int
    wrong_holds: int
    wrong_refuted: int

    @property
    def upper_limits(self) -> tuple[float, float]:
        """Exact one-sided upper limits of both rates, at 95 % (Clopper and Pearson 1934)."""
        first, second = (
            float(stats.beta.ppf(0.95, wrong + 1, self.experiments - wrong))
            for wrong in (self.wrong_holds, self.wrong_refuted)
        )
        return first, second


def recorded(folders: Sequence[Path]) -> list[Recorded]:
    """Return the results in which rounds differ, with the catalogue's claims."""
    claims = {
        (scenario.name, claim.name): claim
        for advice in every_advice()
        for scenario in (advice.scenario(RunConditions()),)
        for claim in scenario.claims
    }
    found = []
    for folder in folders:
        for cell in json.loads((folder / "results.json").read_text(encoding="utf-8"))["cells"]:
            claim = claims.get((cell["scenario"], cell["name"]))
            paths = [folder / path for path in cell["evidence"] if path.endswith("effects.json")]
            if claim is None or not paths:
                continue
            effects = json.loads(paths[0].read_text(encoding="utf-8"))["effect_per_block"]
            # None is an infinite effect, which has no distance from the median; if all rounds are void, there are none.
            if None in effects or not effects or min(effects) == max(effects):
                continue
            if all(effect > 0 or claim.scale is Scale.SHARE for effect in effects):
                found.append(Recorded(claim=claim, effects=tuple(effects)))
    return found


def swapped(cell: Recorded, chance: random.Random) -> Draw:
    """Rounds with two variants swapped at random: the ratio or its inverse, the difference or its opposite."""

    def draw() -> float:
        effect = chance.choice(cell.effects)
        if cell.claim.scale is Scale.SHARE:
            return chance.choice((effect, -effect))
        return chance.choice((effect, 1 / effect))

    return draw


def at_threshold(cell: Recorded, chance: random.Random) -> Draw:
    """Independent rounds with their median at the threshold."""
    residuals = cell.residuals
    return lambda: _shifted(cell, chance.choice(residuals))


def trials_correlated(cell: Recorded, chance: random.Random) -> Draw:
    """Rounds with two trials in random order, each with noise that resembles the previous trial's."""
    noise = _correlated(cell.residuals, chance)

    def draw() -> float:
        first, second = next(noise), next(noise)
        return _shifted(cell, chance.choice((first - second, second - first)))

    return draw


def effects_correlated(cell: Recorded, chance: random.Random) -> Draw:
    """Rounds with effects that resemble those of the previous round: an effect that drifts."""
    noise = _correlated(cell.residuals, chance)
    return lambda: _shifted(cell, next(noise))


REPLAYS: Final = {
    "variants swapped": swapped,
    "at the threshold": at_threshold,
    "trials correlated": trials_correlated,
    "effects correlated": effects_correlated,
}


def _correlated(values: Sequence[float], chance: random.Random) -> Iterator[float]:
    """Yield values in an order in which each resembles the previous one, by the ranks of an autoregressive process."""
    ordered = sorted(values)
    state = chance.gauss(0, 1)
    while True:
        yield ordered[min(int(statistics.NormalDist().cdf(state) * len(ordered)), len(ordered) - 1)]
        state = CORRELATION * state + math.sqrt(1 - CORRELATION**2) * chance.gauss(0, 1)


def _shifted(cell: Recorded, residual: float) -> float:
    if cell.claim.scale is Scale.RATIO:
        return cell.claim.threshold * math.exp(residual)
    return min(max(cell.claim.threshold + residual, -1.0), 1.0)


def rate(form: str, replay: str, experiment: Callable[[], Verdict], *, may_hold: bool = False) -> ErrorRate:
    """Repeat an experiment, and count its wrong verdicts; with ``may_hold``, the claim is true."""
    verdicts = [experiment() for _ in range(EXPERIMENTS)]
    return ErrorRate(
        form=form,
        replay=replay,
        experiments=EXPERIMENTS,
        wrong_holds=0 if may_hold else verdicts.count(Verdict.HOLDS),
        wrong_refuted=verdicts.count(Verdict.REFUTED),
    )


def of_blocks(cells: Sequence[Recorded], name: str, *, form: Form, chance: random.Random) -> ErrorRate:
    """Replay experiments of one form, each with the rounds of a recorded result chosen at random."""

    def experiment() -> Verdict:
        cell = chance.choice(cells)
        nothing = 0.0 if cell.claim.scale is Scale.SHARE else 1.0
        threshold = nothing if name == "variants swapped" and form is Form.MORE else cell.claim.threshold
        return decided(REPLAYS[name](cell, chance), scale=cell.claim.scale, threshold=threshold, form=form)

    # If variants are swapped, the claim that they are the same is true.
    return rate(form.value, name, experiment, may_hold=name == "variants swapped" and form is Form.SAME)


def decided(
    draw: Draw, *, scale: Scale, threshold: float, form: Form, looks: tuple[int, ...] = LOOKS[QUICK]
) -> Verdict:
    """Run one experiment with the rule that decides claims."""
    blocks: list[Block] = []
    while True:
        blocks.append(Block(effect=draw()))
        if found := assess(blocks, scale=scale, threshold=threshold, looks=looks, form=form):
            return found.verdict


def of_units(threshold: float, looks: tuple[int, ...], chance: random.Random) -> ErrorRate:
    """Simulate shares of independent units with the true share at the threshold."""

    def experiment() -> Verdict:
        return decided(
            lambda: Tally.yes(when=chance.random() < threshold),
            scale=Scale.SHARE,
            threshold=threshold,
            form=Form.MORE,
            looks=looks,
        )

    return rate("share of units", f"at the threshold, {threshold:.0%}", experiment)


def of_orders(threshold: float, chance: random.Random) -> ErrorRate:
    """Simulate dose-responses: half of the rounds are in order, the others are shuffled and miss the threshold."""

    def draw() -> Ordered:
        while True:
            responses = list(_DOSES)
            chance.shuffle(responses)
            block = Ordered(responses=tuple(responses))
            if float(block) < threshold:
                return chance.choice((block, Ordered(responses=_DOSES)))

    def experiment() -> Verdict:
        return decided(draw, scale=Scale.SHARE, threshold=threshold, form=Form.ORDER)

    return rate(Form.ORDER.value, "doses shuffled in half of the blocks", experiment)


def main(arguments: Sequence[str]) -> int:
    """Replay and simulate everything, write docs/error-rates.json, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, help="folders with runs")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)  # noqa: S311 - not a secret
    cells = recorded(options.results)
    rates = []
    for form in (Form.MORE, Form.SAME):
        of_form = [cell for cell in cells if (cell.claim.form is Form.SAME) == (form is Form.SAME) and cell.residuals]
        of_form = [cell for cell in of_form if cell.claim.form is not Form.ORDER]
        two_arms = [cell for cell in of_form if len(cell.claim.arms) == 2 or cell.claim.figure]  # noqa: PLR2004
        rates += [
            of_blocks(two_arms if name == "variants swapped" else of_form, name, form=form, chance=chance)
            for name in REPLAYS
        ]
    rates += [of_orders(0.75, chance)]
    of_claims = ((0.5, LOOKS[QUICK]), (0.75, (13, 26)), (0.9, (33, 60)))
    rates += [of_units(threshold, looks, chance) for threshold, looks in of_claims]
    document = {
        "seed": options.seed,
        "measured": " ".join(
            run_line(run, [cell.id for cell in run.cells])
            for run in (load(folder / "results.json") for folder in options.results)
        ),
        "cells": len(cells),
        "blocks": sum(len(cell.effects) for cell in cells),
        "rates": [{**asdict(rate), "upper_limits": rate.upper_limits} for rate in rates],
    }
    ERROR_RATES.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for rate in rates:
        holds, refuted = rate.upper_limits
        sys.stdout.write(
            f"{rate.form:<15}{rate.replay:<40}{rate.wrong_holds:>5} (<= {holds:.2%}){rate.wrong_refuted:>6} "
            f"(<= {refuted:.2%}) of {rate.experiments}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
