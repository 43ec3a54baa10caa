"""Keepalive to upstream: what a kept connection saves, with which backend, and since when nobody has to ask for it.

Source: "Upstream keepalive doubles an ingress controller's throughput" (2021), by ``ab`` without client keep-alive:
24 234 requests/s direct, 11 736 proxied, 22 734 proxied with keepalive. The directives:
https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tuneproof.catalogue.aa_control import aa_control
from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.http_load import HttpLoad, HttpObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.nginx_changes import since
from tuneproof.proof.inference.effects import Scale, ratio
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import ASYNCIO, FILES, STATIC, Backend
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = "Upstream keepalive doubles an ingress controller's throughput (2021)"
EXPIRED_SINCE: Final = since("default", "keepalive")
EXPIRED_REASON: Final = "HTTP/1.1 and `keepalive 32` are the defaults of an upstream block"

# Each by its name in the lab; the article's backend had 0.06 CPU.
BACKENDS: Final = (
    Backend(name="static", kind=STATIC),
    Backend(name="asyncio", kind=ASYNCIO),
    Backend(name="files", kind=FILES),
    Backend(name="limited", kind=STATIC, cpus=0.06),
)
BACKEND_OF: Final[Mapping[str, Backend]] = {backend.name: backend for backend in BACKENDS}

GAIN_THRESHOLD: Final = 1.3
DIRECT_THRESHOLD: Final = 0.8
CONNECTS_THRESHOLD: Final = 2.0

# The articles' recipe, and the opposite of it that every version understands.
KEEPALIVE: Final = ("keepalive 1024", "keepalive_requests 10000", "keepalive_timeout 60s")
REUSE: Final = ("proxy_http_version 1.1", 'proxy_set_header Connection ""')
NO_REUSE: Final = ("proxy_http_version 1.0", "proxy_set_header Connection close")

# No more at once than the 32 connections per worker that newer versions keep by themselves.
REQUESTS: Final = 4000
AB: Final = HttpLoad(concurrency=50, requests=REQUESTS)
AB_FEW: Final = HttpLoad(concurrency=10, requests=1000)
AB_ASYNCIO: Final = HttpLoad(concurrency=50, requests=1000)
AB_PYTHON: Final = HttpLoad(concurrency=50, requests=600)
AB_LIMITED: Final = HttpLoad(concurrency=50, requests=1200)
AB_KEPT: Final = replace(AB, keep_alive=True)
# nginx ends a connection after 1000 requests, before 1.19.10 after 100 (keepalive_requests).
KEPT_CONNECTS: Final = 0.1


def subject(name: str, backend: str, block: tuple[str, ...], location: tuple[str, ...]) -> Subject:
    """Return an nginx in front of one backend, with these directives in its upstream block and its location."""
    config = SubjectConfig(
        upstream=BACKEND_OF[backend].upstream,
        upstream_block=block,
        location=location,
        worker_connections=4096,
        access_log=False,
    )
    return Subject(name=name, config=config)


def proxied(backend: str) -> Subject:
    """Return an nginx with an upstream block and nothing else: what a version does by itself."""
    return subject(f"plain-{backend}", backend, (), ())


def kept(backend: str) -> Subject:
    """Return an nginx with the article's recipe."""
    return subject(f"keepalive-{backend}", backend, KEEPALIVE, REUSE)


def arm(name: str, of: Subject, load: HttpLoad) -> Arm[HttpObservation]:
    """Return an arm."""
    return Arm(name=name, subject=of, plan=load)


STATIC_PLAIN, STATIC_KEPT = proxied("static"), kept("static")
ARMS: Final = (
    arm("direct", STATIC_PLAIN, HttpLoad(concurrency=50, requests=4000, to="static")),
    arm("plain", STATIC_PLAIN, AB),
    arm("keepalive", STATIC_KEPT, AB),
    arm("off", subject("off-static", "static", (), NO_REUSE), AB),
    arm("twin", subject("twin-static", "static", KEEPALIVE, REUSE), AB),
    arm("plain-10-at-once", STATIC_PLAIN, AB_FEW),
    arm("keepalive-10-at-once", STATIC_KEPT, AB_FEW),
    arm("plain-kept-clients", STATIC_PLAIN, AB_KEPT),
    arm("keepalive-kept-clients", STATIC_KEPT, AB_KEPT),
    arm("plain-asyncio", proxied("asyncio"), AB_ASYNCIO),
    arm("keepalive-asyncio", kept("asyncio"), AB_ASYNCIO),
    arm("plain-files", proxied("files"), AB_PYTHON),
    arm("keepalive-files", kept("files"), AB_PYTHON),
    arm("plain-limited", proxied("limited"), AB_LIMITED),
    arm("keepalive-limited", kept("limited"), AB_LIMITED),
)


def gain_claim(
    name: str, sentence: str, arms: tuple[str, str], *, expected: Verdict = Verdict.HOLDS, expires: bool = True
) -> Claim[HttpObservation]:
    """Return a claim on what nginx serves with its CPU: the second arm's over the first one's.

    CPU time is counted, and stays the same where neighbours take a part of the machine; requests per second do not.
    Where nginx is what limits the rate, as in the article, both gain alike.
    """
    without, with_keepalive = arms
    return Claim(
        name=name,
        sentence=sentence,
        source=f"{ARTICLE}: 11 736 requests/s become 22 734",
        arms=arms,
        effect=lambda block: block[without].worker_cpu_us_per_request / block[with_keepalive].worker_cpu_us_per_request,
        effect_name=f"requests per second of nginx's CPU, {with_keepalive} ÷ {without}",
        figure="worker_cpu_us_per_request",
        scale=Scale.RATIO,
        threshold=GAIN_THRESHOLD,
        why="the article's figure is 1.94; 30 % more for the same CPU time saves about one nginx in four",
        expected=expected,
        expired_since=EXPIRED_SINCE if expires else "",
        expired_reason=EXPIRED_REASON if expires else "",
    )


def limit_of_the_rate(arms: Mapping[str, Mapping[str, Metric]]) -> str:
    """Return how busy nginx was: whether a proxy costs rate depends on who is at his limit first.

    Where that is the generator, a proxy costs nothing; where it is the CPU that nginx shares with the backend, the
    backend gets what nginx leaves.
    """
    share = arms["keepalive"].get("worker_cpu_share")
    if share is None:
        return "how busy nginx was is not known"
    return f"it depends on the host: nginx used {share:.0%} of the CPU that it shares with the backend here"


def connects_ratio(block: Mapping[str, HttpObservation]) -> float:
    """Return how many times as many connections nginx opens without keepalive; with it, one is counted at least."""
    kept = max(block["keepalive"].upstream_connects_per_request, 1 / block["keepalive"].completed)
    return ratio(block["off"].upstream_connects_per_request, kept)


CLAIMS: Final[tuple[Claim[HttpObservation], ...]] = (
    gain_claim(
        "keepalive_raises_throughput",
        "With upstream keepalive, nginx serves at least 30 % more requests for the same CPU time",
        ("plain", "keepalive"),
    ),
    gain_claim(
        "kept_connections_raise_throughput",
        "When nginx reuses upstream connections, it serves at least 30 % more requests for the same CPU time",
        ("off", "keepalive"),
        expires=False,
    ),
    gain_claim(
        "keepalive_helps_few_at_once",
        "With 10 concurrent requests, upstream keepalive also saves nginx CPU time",
        ("plain-10-at-once", "keepalive-10-at-once"),
    ),
    replace(
        gain_claim(
            "keepalive_helps_kept_clients",
            "With keepalive clients, upstream keepalive also saves nginx CPU time",
            ("plain-kept-clients", "keepalive-kept-clients"),
        ),
        condition=lambda block: all(seen.client_connects_per_request <= KEPT_CONNECTS for seen in block.values()),
        condition_name="at least ten requests came over each client's connection",
    ),
    gain_claim(
        "keepalive_helps_asyncio",
        "With an asyncio backend, upstream keepalive also saves nginx CPU time",
        ("plain-asyncio", "keepalive-asyncio"),
    ),
    gain_claim(
        "keepalive_helps_closing_backend",
        "With a backend that closes every connection (Python's http.server), upstream keepalive saves nginx CPU time",
        ("plain-files", "keepalive-files"),
        expected=Verdict.REFUTED,
    ),
    # Here the backend is what limits the rate, by a quota that no neighbour changes.
    replace(
        gain_claim(
            "keepalive_helps_limited_backend",
            "With a backend limited to 0.06 CPU, upstream keepalive raises requests per second by at least 30 %",
            ("plain-limited", "keepalive-limited"),
        ),
        effect=lambda block: block["keepalive-limited"].requests_per_s / block["plain-limited"].requests_per_s,
        effect_name="requests per second, keepalive-limited ÷ plain-limited",
        figure="requests_per_s",
    ),
    Claim[HttpObservation](
        name="keepalive_comes_near_direct",
        sentence="With upstream keepalive, nginx forwards at least 80 % of the backend's own requests per second",
        source=f"{ARTICLE}: 22 734 of 24 234",
        arms=("direct", "keepalive"),
        effect=lambda block: block["keepalive"].requests_per_s / block["direct"].requests_per_s,
        effect_name="requests per second, proxied with keepalive ÷ direct",
        figure="requests_per_s",
        scale=Scale.RATIO,
        threshold=DIRECT_THRESHOLD,
        why="the article's figure is 0.94; a proxy that loses more than a fifth needs another justification",
        expected=None,
        moderator=limit_of_the_rate,
    ),
    Claim[HttpObservation](
        name="connections_are_the_cause",
        sentence="Without upstream keepalive, nginx opens at least twice as many connections per request as with it",
        source=f"{ARTICLE}: the cause is the set-up of connections",
        arms=("off", "keepalive"),
        effect=connects_ratio,
        effect_name="upstream connections per request, off ÷ keepalive",
        figure="upstream_connects_per_request",
        scale=Scale.RATIO,
        threshold=CONNECTS_THRESHOLD,
        why="one connection per request without keepalive; below twice as many, most requests open one anyway",
    ),
    aa_control(
        "twins_are_as_fast",
        "Two identical nginx containers use the same CPU time per request",
        arms=("keepalive", "twin"),
        value=lambda seen: seen.worker_cpu_us_per_request,
        what="nginx's CPU time per request",
        figure="worker_cpu_us_per_request",
        decides=GAIN_THRESHOLD,
    ),
    aa_control(
        "twins_answer_as_many",
        "Two identical nginx containers answer the same number of requests per second",
        arms=("keepalive", "twin"),
        value=lambda seen: seen.requests_per_s,
        what="requests per second",
        figure="requests_per_s",
        decides=DIRECT_THRESHOLD,
    ),
)
SCENARIO: Final = Scenario(
    name="upstream_keepalive",
    arms=ARMS,
    claims=CLAIMS,
    backends=BACKENDS,
    warm_up=HttpLoad(concurrency=20, requests=200),
    backends_beside_subject=True,
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("connections_are_the_cause",),
    full_depth=("twins_are_as_fast", "twins_answer_as_many"),
    timed=True,
)
