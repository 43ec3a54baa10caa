"""Keepalive to upstreams: what a keepalive connection saves, with which backends, and since when it is the default.

Source: "Upstream keepalive doubles an ingress controller's throughput" (2021), measured with ``ab`` without client
    keep-alive: 24 234 requests/s directly, 11 736 proxied, 22 734 proxied with keepalive. The directives:
https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.http_load import HttpLoad, HttpObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import ratio
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.backends import ASYNCIO, FILES, STATIC, Backend
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = "Upstream keepalive doubles an ingress controller's throughput (2021)"

# The lab's backends; the article's backend had 0.06 CPU.
BACKENDS: Final = (
    Backend(name="static", kind=STATIC),
    Backend(name="asyncio", kind=ASYNCIO),
    Backend(name="files", kind=FILES),
    Backend(name="limited", kind=STATIC, cpus=0.06),
)
BACKEND_OF: Final[Mapping[str, Backend]] = {backend.name: backend for backend in BACKENDS}


# The article's recipe, and its opposite in a form that every version understands.
KEEPALIVE: Final = ("keepalive 1024", "keepalive_requests 10000", "keepalive_timeout 60s")
REUSE: Final = ("proxy_http_version 1.1", 'proxy_set_header Connection ""')
NO_REUSE: Final = ("proxy_http_version 1.0", "proxy_set_header Connection close")

REQUESTS: Final = 4000
# Each of two workers needs about 25 connections, and newer versions keep 32 by default.
AB: Final = HttpLoad(concurrency=50, requests=REQUESTS)
AB_FEW: Final = HttpLoad(concurrency=10, requests=1000)
AB_ASYNCIO: Final = HttpLoad(concurrency=50, requests=1000)
AB_PYTHON: Final = HttpLoad(concurrency=50, requests=600)
AB_LIMITED: Final = HttpLoad(concurrency=50, requests=1200)
AB_KEPT: Final = replace(AB, keep_alive=True)
# At most this many connects per request: nginx closes a connection after 1000 requests, or 100 before 1.19.10.
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
    """Return an nginx with its version's defaults for connections to the upstream."""
    return subject(f"plain-{backend}", backend, (), ())


def kept(backend: str) -> Subject:
    """Return an nginx with the article's recipe."""
    return subject(f"keepalive-{backend}", backend, KEEPALIVE, REUSE)


def arm(name: str, of: Subject, load: HttpLoad) -> Arm[HttpObservation]:
    """Return the arm of a subject with this load."""
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


def limit_of_the_rate(arms: Mapping[str, Mapping[str, Metric]]) -> str:
    """Return in words how busy nginx was: whether a proxy lowers the rate depends on what reaches its limit first.

    If the generator does, a proxy costs nothing; if the CPU that nginx shares with the backend does, the backend gets
    what nginx leaves.
    """
    share = arms["keepalive"].get("worker_cpu_share")
    if share is None:
        return "how busy nginx was is not known"
    return f"it depends on the host: nginx used {share:.0%} of the CPU that it shares with the backend here"


def connects_ratio(block: Mapping[str, HttpObservation]) -> float:
    """Return the connections that nginx opens without keepalive ÷ those with it (at least one)."""
    kept = max(block["keepalive"].upstream_connects_per_request, 1 / block["keepalive"].completed)
    return ratio(block["off"].upstream_connects_per_request, kept)


def clients_stay(block: Mapping[str, HttpObservation]) -> bool:
    """Tell whether clients sent at least ten requests per connection, on average over a trial."""
    return all(seen.client_connects_per_request <= KEPT_CONNECTS for seen in block.values())


CLAIMS: Final = claims_of(
    "upstream_keepalive",
    code={"clients_stay": clients_stay, "connects_ratio": connects_ratio, "limit_of_the_rate": limit_of_the_rate},
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
