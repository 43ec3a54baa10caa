"""Foreign configurations start unchanged in the lab, and reuse upstream connections as audit predicts."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages, EnsureImages, PlaceCpus
from tests.lab.benches import bench_of
from tests.lab.children import GONE_WITHIN_S, start_pytest
from tests.support.configurations import CASES, Case, whole
from tests.support.own_configurations import written
from tests.support.surroundings import SURROUNDINGS
from tuneproof.audit.auditing import audit
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import subject_images
from tuneproof.nginx_changes import STABLE_VERSIONS
from tuneproof.nginx_modules import MODULES, needed_by
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.placement import CpuPlacement
from tuneproof.report.results.run_file import load
from tuneproof.wording import as_numbers
from tuneproof.yours.proposal import Proposal, Wanted, propose

pytestmark = [pytest.mark.engine]

STARTED: Final = (
    "classic",
    "unix-socket",
    "address",
    "without-http-1.1",
    "without-the-header",
    "inherited-headers",
    "directives-after-use",
    "websocket-map-that-closes",
    "websocket-map-that-keeps",
    "close-always",
    "variable-with-an-address",
    "variables-for-all-parts",
    "variable-with-an-upstream",
    "variable-of-a-map",
    "split-clients",
    "php",
    "php-kept",
    "uwsgi",
    "nested-locations",
    "huge-buffers",
    "cache",
    "many-includes",
    "site-fragment",
    "upper-case-upstream",
)


def first_file(case: Case, folder: Path) -> str:
    """Write a case's files; return the path that a user would name."""
    return str(written(folder, case.files))


def asked(
    proposal: Proposal, session: Session, images: BuiltImages, placement: CpuPlacement, nginx: str
) -> Mapping[str, Mapping[str, float]]:
    """Return the counts from a trial with requests, for each route through the configuration."""
    arms = [arm for arm in proposal.scenario.arms if arm.name.endswith("-requests")]
    built = images.of_bench(nginx)
    with bench_of(session, proposal.scenario, arms=arms, nginx=nginx, images=built, placement=placement) as (_, bench):
        return {arm.name: bench.run(arm, label="requests").record.figures for arm in arms}


@pytest.mark.slow  # The complete run below covers the usual case, and test_containment.py covers a unix socket.
@pytest.mark.parametrize("name", [*STARTED, *SURROUNDINGS])
def test_a_configuration_starts_and_behaves_as_audit_predicts(
    name: str,
    tmp_path: Path,
    nginx: str,
    images: BuiltImages,
    place_cpus: PlaceCpus,
    lab_session: Session,
) -> None:
    """A stand-in answers every request. Requests share connections if audit predicts "yes", but not if "no"."""
    named = first_file({**CASES, **SURROUNDINGS}[name], tmp_path)
    proposal = propose(Wanted(configuration=named, version=nginx))
    answers = {proxied.reuse.reuse.value for proxied in audit(named, version=nginx).facts.proxied}
    counted = asked(proposal, lab_session, images, place_cpus(()), nginx)
    assert counted
    for figures in counted.values():
        assert figures["answered"] == figures["asked"], figures
    shares = {figures["upstream_connects"] / figures["asked"] for figures in counted.values()}
    if answers == {"no"}:
        assert shares == {1.0}
    if answers == {"yes"}:
        assert max(shares) <= 1 / 2


MODULES_CONF: Final = """\
load_module modules/ngx_http_geoip2_module.so;
load_module /opt/nginx/ngx_http_headers_more_filter_module.so;
user root;
events { }
stream { server { listen 9999; proxy_pass a:1; } }
http {
    geoip2 /data/city.mmdb { $city default=none city names en; }
    more_set_headers "X-City: $city";
    init_by_lua_block { local core = require "resty.core" }
    server { listen 80; location / { access_by_lua_block { ngx.var.limit_rate = 0 } proxy_pass http://app; } }
}
"""


@pytest.mark.slow
def test_packaged_modules_are_available_if_the_files_need_them(
    tmp_path: Path,
    nginx: str,
    ensure: EnsureImages,
    images: BuiltImages,
    place_cpus: PlaceCpus,
    lab_session: Session,
) -> None:
    """The files load modules by relative or absolute paths, or only use their directives; workers may run as root."""
    named = first_file(Case(files={"nginx.conf": MODULES_CONF}), tmp_path)
    proposal = propose(Wanted(configuration=named, version=nginx))
    layer = subject_images([nginx], {nginx: proposal.packages})[nginx]
    ensure([layer])
    counted = asked(proposal, lab_session, replace(images, subjects={nginx: layer.tag}), place_cpus(()), nginx)
    (figures,) = counted.values()
    assert figures["answered"] == figures["asked"], figures


@pytest.mark.slow
@pytest.mark.parametrize("version", STABLE_VERSIONS)
def test_the_table_of_modules_matches_the_packages(
    version: str, ensure: EnsureImages, engine: docker.DockerClient, lab_session: Session
) -> None:
    modules = [one for one in MODULES if as_numbers(one.since) <= as_numbers(version)]
    packages = dict.fromkeys(package for one in modules for package in one.packages)
    image = subject_images([version], {version: tuple(packages)})[version]
    ensure([image])
    ordered = dict.fromkeys(needed for one in modules for needed in needed_by(one))
    loads = "".join(f"load_module /usr/lib/nginx/modules/{one.file}; " for one in ordered)
    shell = f"echo '{loads}events {{ }}' >/tmp/n.conf && nginx -t -g 'pid /tmp/n.pid;' -c /tmp/n.conf 2>&1"
    said = engine.containers.run(image.tag, ["sh", "-c", shell], remove=True, labels=lab_session.labels)
    assert b"test is successful" in said


def ran(results: Path, *arguments: str) -> tuple[int, str]:
    child = start_pytest("tests/scenarios", *arguments, results=results)
    out, _ = child.communicate(timeout=GONE_WITHIN_S * 3)
    return child.returncode, out


def test_a_run_with_a_users_configuration_completes(nginx: str, tmp_path: Path) -> None:
    site = tmp_path / "site/nginx.conf"
    site.parent.mkdir()
    text = "upstream app { server app:8080; keepalive 4; }\nserver {\n location / { proxy_pass http://app; }\n}"
    site.write_text(whole(text).files["nginx.conf"], encoding="utf-8")
    names = ("root_connects_every_time", "root_patch_keeps_connections")
    status, out = ran(tmp_path, f"--nginx-conf={site}", "--nginx", nginx, "-k", " or ".join(names))
    assert status == 0, out
    results = load(tmp_path / "latest")
    cells = {cell.id.split("/")[1]: cell for cell in results.cells}
    assert {name: cell.verdict for name, cell in cells.items()} == dict.fromkeys(names, Verdict.HOLDS)
    remedy = cells[names[1]].remedy
    assert remedy is not None
    assert "+ location / { proxy_pass http://app; proxy_http_version 1.1;" in remedy.patch
    assert (tmp_path / "latest/patches/1.patch").read_text(encoding="utf-8") == remedy.patch
    assert f"{remedy.at}  {remedy.gains}: 32" in out
    assert "keeps_connections" not in out
    assert f"{site}:4: a server for probes on port 18080" in out
    assert (tmp_path / "latest/index.html").is_file()


@pytest.mark.slow
def test_a_stream_is_delivered_or_delayed_by_the_users_own_files(nginx: str, tmp_path: Path) -> None:
    """Streams pass over TLS and HTTP/2, from upstreams on the network and on nginx's own host, and from FastCGI."""
    site = tmp_path / "site/nginx.conf"
    site.parent.mkdir()
    text = (
        "server { listen 443 ssl http2; ssl_certificate a.pem; ssl_certificate_key a.key;\n"
        "location /held/ { proxy_pass http://app; proxy_http_version 1.1; }\n"
        "location /sent/ { proxy_pass http://127.0.0.1:9000; proxy_buffering off; }\n"
        "location /php/ { fastcgi_pass unix:/run/fpm.sock; fastcgi_buffering off; }\n"
        "location /limited/ { limit_except POST { deny all; } proxy_pass http://app; proxy_buffering off; }\n}"
    )
    site.write_text(whole(text).files["nginx.conf"], encoding="utf-8")
    status, out = ran(tmp_path, f"--nginx-conf={site}", "--stream", "--nginx", nginx)
    assert status == 0, out
    cells = {cell.id.split("/")[1]: cell for cell in load(tmp_path / "latest").cells}
    assert {name: cell.verdict for name, cell in cells.items()} == {
        "held_delivers_events": Verdict.REFUTED,
        "held_patch_delivers_events": Verdict.HOLDS,
        "sent_delivers_events": Verdict.HOLDS,
        "php_delivers_events": Verdict.HOLDS,
    }
    assert "location /limited/: the lab's client has no access" in out
    remedy = cells["held_patch_delivers_events"].remedy
    assert remedy is not None
    assert "+location /held/ { proxy_buffering off; proxy_pass" in remedy.patch


def test_a_missing_image_is_reported_as_missing(tmp_path: Path) -> None:
    """The message comes before anything starts, and concerns the image, not nginx."""
    site = tmp_path / "nginx.conf"
    site.write_text("events { }\nhttp { server { location / { proxy_pass http://a; } } }\n", encoding="utf-8")
    status, out = ran(tmp_path / "results", f"--nginx-conf={site}", "--nginx-image", "tuneproof.invalid/none:1")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "the engine has no such image, and none can be pulled" in out
    assert not (tmp_path / "results").exists()
