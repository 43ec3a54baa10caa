"""proxy_buffering: the memory that slow readers cost, compared with the sum of the buffer sizes.

Source: "Nginx OOM in a stress test of a million connections" (2020): an nginx with 128 GB ran out of memory because of
    clients that read one byte every three seconds, and survived with ``proxy_buffering off``. The directives:
https://nginx.org/en/docs/http/ngx_http_proxy_module.html
"""

import math
from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Code, claims_of
from tuneproof.lab.load.slow_readers import MemoryObservation, SlowReaders
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Tally, ratio
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.backends import Backend
from tuneproof.proof.scenario.scenarios import Scenario

MIB: Final = 1 << 20
# Resident memory is counted in pages.
PAGE_BYTES: Final = 4096
BACKEND: Final = Backend()

# proxy_buffer_size in MiB, and the number of proxy_buffers and their size in MiB.
ARTICLE_BUFFERS: Final = (64, 64, 16)
# The same proportions with less memory, so that several readers fit.
SMALLER_BUFFERS: Final = (4, 64, 1)
READERS: Final = (1, 2, 4, 8)
LIMIT_BYTES: Final = 128 * MIB


def bound_bytes(buffers: tuple[int, int, int]) -> int:
    """Return the memory that one slow reader may cost: proxy_buffer_size and all of proxy_buffers."""
    first, number, size = buffers
    return (first + number * size) * MIB


def buffered(buffers: tuple[int, int, int]) -> tuple[str, ...]:
    """Return the directives in the article's proportions."""
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
# Temporary files of several readers would keep the disk and the worker busy without changing memory use.
SMALLER: Final = subject("smaller", *buffered(SMALLER_BUFFERS), "proxy_max_temp_file_size 0")


def arm(name: str, of: Subject) -> Arm[MemoryObservation]:
    """Return the arm with one slow reader."""
    return Arm(name=name, subject=of, plan=SlowReaders(readers=1))


def dose(readers: int) -> Arm[MemoryObservation]:
    """Return the arm with this number of slow readers."""
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
    """Return the growth of the workers' memory, at least one page, so that its logarithm is defined."""
    return max(observation.growth_bytes, PAGE_BYTES)


def linear(block: Mapping[str, MemoryObservation]) -> float:
    """Return memory growth ÷ (readers x bound), for the number of readers with which it deviates most from 1."""
    ratios = [
        grown(block[dose.name]) / (count * bound_bytes(SMALLER_BUFFERS))
        for dose, count in zip(DOSES, READERS, strict=True)
    ]
    return max(ratios, key=lambda ratio: abs(math.log(ratio)))


def killed_and_spared(block: Mapping[str, MemoryObservation]) -> Tally:
    """Return whether a worker was killed with the article's config, and none with buffering off."""
    return Tally.yes(when=block[KILLED.name].oom_kills > 0 and not block[SPARED.name].oom_kills)


def saved(block: Mapping[str, MemoryObservation]) -> float:
    """Return the growth in memory with the article's config ÷ that without buffering."""
    return ratio(block[ARTICLES.name].growth_bytes, block[OFF.name].growth_bytes)


def of_the_bound(observation: MemoryObservation) -> float:
    """Return the growth of the workers' memory ÷ the most that the article's buffer directives allow."""
    return grown(observation) / bound_bytes(ARTICLE_BUFFERS)


def spilled(observation: MemoryObservation) -> float:
    """Return the size of the temporary file ÷ the growth in memory, which counts as at least one MiB."""
    return observation.temp_file_bytes / max(observation.growth_bytes, MIB)


def only_workers_ended(block: Mapping[str, MemoryObservation]) -> bool:
    """Tell whether workers ended only because the kernel killed them."""
    return not block[KILLED.name].others_ended


CODE: Final[Code] = {
    "killed_and_spared": killed_and_spared,
    "linear": linear,
    "of_the_bound": of_the_bound,
    "only_workers_ended": only_workers_ended,
    "saved": saved,
    "spilled": spilled,
}
CLAIMS: Final = claims_of("proxy_buffering", code=CODE)
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
