"""proxy_buffering: what slow readers cost, against what the directives add up to.

Source: "Nginx OOM in a stress test of a million connections" (2020): an nginx of 128 GB died of readers that took one
byte in three seconds, and lived with ``proxy_buffering off``. The directives:
https://nginx.org/en/docs/http/ngx_http_proxy_module.html
"""

import math
from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.slow_readers import MemoryObservation, SlowReaders
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale, Tally, ratio
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.backends import Backend
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = "Nginx OOM in a stress test of a million connections (2020)"
MIB: Final = 1 << 20
# Resident memory is counted in pages.
PAGE_BYTES: Final = 4096
BACKEND: Final = Backend()

# proxy_buffer_size, and number and size of proxy_buffers, in MiB.
ARTICLE_BUFFERS: Final = (64, 64, 16)
# The same shape with less memory, so that several readers fit.
SMALLER_BUFFERS: Final = (4, 64, 1)
READERS: Final = (1, 2, 4, 8)
LIMIT_BYTES: Final = 128 * MIB

BOUND_MARGIN: Final = 1.02
OFF_THRESHOLD: Final = 10.0
SPILL_THRESHOLD: Final = 10.0
KILL_THRESHOLD: Final = 0.5


def bound_bytes(buffers: tuple[int, int, int]) -> int:
    """Return what one slow reader can cost: proxy_buffer_size and all of proxy_buffers."""
    first, number, size = buffers
    return (first + number * size) * MIB


def buffered(buffers: tuple[int, int, int]) -> tuple[str, ...]:
    """Return the directives of the article's shape."""
    first, number, size = buffers
    return (
        "proxy_http_version 1.1",
        f"proxy_buffer_size {first}m",
        f"proxy_buffers {number} {size}m",
        f"proxy_busy_buffers_size {number * size // 4}m",
        f"proxy_temp_file_write_size {number * size // 2}m",
    )


def subject(name: str, *directives: str, memory_bytes: int | None = None) -> Subject:
    """Return an nginx with one worker and these directives in its proxied location."""
    config = SubjectConfig(upstream=BACKEND.upstream, location=directives, reuseport=False, worker_processes=1)
    return Subject(name=name, config=config, memory_bytes=memory_bytes)


UNBUFFERED: Final = ("proxy_buffering off", *buffered(ARTICLE_BUFFERS))
# Files for several readers would keep the disk and the worker busy for long, and change nothing in memory.
SMALLER: Final = subject("smaller", *buffered(SMALLER_BUFFERS), "proxy_max_temp_file_size 0")


def arm(name: str, of: Subject) -> Arm[MemoryObservation]:
    """Return the arm of one slow reader."""
    return Arm(name=name, subject=of, plan=SlowReaders(readers=1))


def dose(readers: int) -> Arm[MemoryObservation]:
    """Return the arm of so many slow readers."""
    return Arm(
        name=f"readers-{readers}",
        subject=SMALLER,
        plan=SlowReaders(readers=readers),
        doses=(Dose(of="slow readers at once", unit="", amount=readers),),
    )


ARTICLES: Final = arm("articles-config", subject("articles", *buffered(ARTICLE_BUFFERS)))
OFF: Final = arm("buffering-off", subject("unbuffered", *UNBUFFERED))
DEFAULTS: Final = arm("defaults", subject("defaults"))
DOSES: Final = tuple(dose(count) for count in READERS)
KILLED: Final = arm("limited-articles", subject("limited", *buffered(ARTICLE_BUFFERS), memory_bytes=LIMIT_BYTES))
SPARED: Final = arm("limited-off", subject("limited-unbuffered", *UNBUFFERED, memory_bytes=LIMIT_BYTES))


def grown(observation: MemoryObservation) -> int:
    """Return the growth of the workers' memory; none at all is one page, so that its ratio to a bound is one."""
    return max(observation.growth_bytes, PAGE_BYTES)


def linear(block: Mapping[str, MemoryObservation]) -> float:
    """Return the growth of that number of readers whose multiple of the bound is furthest away, as a ratio to it."""
    ratios = [
        grown(block[dose.name]) / (count * bound_bytes(SMALLER_BUFFERS))
        for dose, count in zip(DOSES, READERS, strict=True)
    ]
    return max(ratios, key=lambda ratio: abs(math.log(ratio)))


def killed_and_spared(block: Mapping[str, MemoryObservation]) -> Tally:
    """Return whether the article's config had a worker killed, and buffering off had none."""
    return Tally.yes(when=block[KILLED.name].oom_kills > 0 and not block[SPARED.name].oom_kills)


CLAIMS: Final = (
    Claim[MemoryObservation](
        name="slow_reader_takes_the_bound",
        sentence="One slow reader makes nginx fill proxy_buffer_size and all of proxy_buffers: 1088 MiB in the article",
        source=f"{ARTICLE}: hundreds of megabytes in seconds",
        arms=(ARTICLES.name,),
        effect=lambda block: grown(block[ARTICLES.name]) / bound_bytes(ARTICLE_BUFFERS),
        effect_name="growth of the workers' memory ÷ the bound",
        scale=Scale.RATIO,
        threshold=BOUND_MARGIN,
        why="the sum must be right to size a machine by the directives; nginx and the kernel add up to 2 %",
        form=Form.SAME,
    ),
    Claim[MemoryObservation](
        name="memory_grows_with_every_reader",
        sentence="Each slow reader costs the same: 1, 2, 4 and 8 readers fill 1, 2, 4 and 8 sets of buffers",
        source=f"{ARTICLE}: two readers, 900 MB instead of 450",
        arms=tuple(dose.name for dose in DOSES),
        effect=linear,
        effect_name="growth of the workers' memory ÷ readers x bound, where they differ most",
        scale=Scale.RATIO,
        threshold=BOUND_MARGIN,
        why="the sum must be right to size a machine by the directives; nginx and the kernel add up to 2 %",
        form=Form.SAME,
    ),
    Claim[MemoryObservation](
        name="buffering_off_is_bounded",
        sentence="With proxy_buffering off, a slow reader costs less than a tenth of the memory",
        source=f"{ARTICLE}: 64 MB more, in production 20 GB instead of 128",
        arms=(ARTICLES.name, OFF.name),
        effect=lambda block: ratio(block[ARTICLES.name].growth_bytes, block[OFF.name].growth_bytes),
        effect_name="growth of the workers' memory, the article's config ÷ proxy_buffering off",
        figure="growth_bytes",
        scale=Scale.RATIO,
        threshold=OFF_THRESHOLD,
        why="in the article, 1088 MiB become 64 MiB, 17 times less, and its machines recover",
    ),
    Claim[MemoryObservation](
        name="small_buffers_spill_to_disk",
        sentence="By default, nginx keeps at least ten times as much for a slow reader in a file as in memory",
        source="https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_max_temp_file_size",
        arms=(DEFAULTS.name,),
        effect=lambda block: block[DEFAULTS.name].temp_file_bytes / max(block[DEFAULTS.name].growth_bytes, MIB),
        effect_name="temporary file ÷ growth of the workers' memory (at least 1 MiB)",
        scale=Scale.RATIO,
        threshold=SPILL_THRESHOLD,
        why="if ten times as much goes to a file as stays in memory, the memory no longer matters",
    ),
    Claim[MemoryObservation](
        name="one_reader_breaks_a_memory_limit",
        sentence="In a 128 MiB container, one slow reader gets a worker OOM-killed, but not with proxy_buffering off",
        source=f"{ARTICLE}: the kernel kills workers again and again",
        arms=(KILLED.name, SPARED.name),
        effect=killed_and_spared,
        effect_name="pairs of trials with a kill in the article's config and none with proxy_buffering off",
        scale=Scale.SHARE,
        threshold=KILL_THRESHOLD,
        why="if most attempts kill a worker, anybody can take the service down",
        condition=lambda block: not block[KILLED.name].others_ended,
        condition_name="nothing of nginx but the worker ended",
    ),
)
SCENARIO: Final = Scenario(
    name="proxy_buffering",
    arms=(ARTICLES, OFF, DEFAULTS, *DOSES, KILLED, SPARED),
    claims=CLAIMS,
    backends=(BACKEND,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("one_reader_breaks_a_memory_limit",),
)
