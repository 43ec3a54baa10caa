"""The claims that a run tests for a configuration, and the changes that it makes to its files."""

from pathlib import Path

import pytest

from tests.support.own_configurations import HEAD, http, written
from tuneproof.errors import BadInputError
from tuneproof.yours.proposal import Proposal, Wanted, propose

UPGRADE = "map $http_upgrade $connection_upgrade { default upgrade; '' close; }\n"


def proposed(
    folder: Path, files: dict[str, str], *, version: str = "1.22", location: str = "", image: str = ""
) -> Proposal:
    path = written(folder, files)
    return propose(Wanted(configuration=str(path), version=version, location=location, image=image))


def test_each_applicable_piece_of_advice_is_tested(tmp_path: Path) -> None:
    found = proposed(
        tmp_path,
        http(
            f"{UPGRADE}upstream app {{ server app.internal:8080; keepalive 8; }}\n"
            "server {\n    listen 80;\n    location / {\n        proxy_pass http://app;\n"
            "        proxy_http_version 1.1;\n        proxy_set_header Connection $connection_upgrade;\n"
            "        proxy_buffers 64 1m;\n        proxy_buffer_size 1m;\n    }\n}"
        ),
    )
    assert [claim.name for claim in found.scenario.claims] == [
        "root_connects_every_time",
        "root_patch_keeps_connections",
        "root_slow_reader_is_bounded",
        "root_patch_bounds_slow_readers",
        "root_bulk_stalls_the_loop",
        "root_small_rmem_restores_the_loop",
        "port_80_patch_queues_bursts",
    ]
    texts = {
        arm.subject.name: arm.subject.own.files["/etc/nginx/nginx.conf"].decode()
        for arm in found.scenario.arms
        if arm.subject.own is not None
    }
    assert "proxy_buffers 8 32k;" in texts["patched-proxy-buffering"]
    assert "proxy_buffers 64 1m;" in texts["yours"]
    assert "backlog=4096" in texts["patched-listen-queue"]
    assert "'' ''" in texts["patched-upstream-keepalive"]
    assert all("listen 18080" in text for text in texts.values())
    (standin,) = found.scenario.backends
    assert (standin.aliases, standin.ports) == (("app.internal",), (8080,))
    assert all(claim.expected is None for claim in found.scenario.claims)


@pytest.mark.parametrize(
    ("server", "location", "changes"),
    [
        ("", "", 1),
        ("", "proxy_socket_rcvbuf 1m;", 1),
        ("proxy_socket_rcvbuf 1m;", "", 1),
        ("", "proxy_socket_rcvbuf 16k;", 0),
        ("proxy_socket_rcvbuf 32k;", "", 0),
    ],
)
def test_on_mainline_a_directive_that_limits_the_bytes_per_iteration_is_tested(
    tmp_path: Path, server: str, location: str, changes: int
) -> None:
    files = http(f"server {{ listen 80; {server} location / {{ proxy_pass http://b:1; {location} }} }}")
    found = proposed(tmp_path, files, version="1.31").scenario
    remedies = [claim.remedy for claim in found.claims if claim.name == "root_socket_rcvbuf_restores_the_loop"]
    texts = [
        arm.subject.own.files["/etc/nginx/nginx.conf"].decode()
        for arm in found.arms
        if arm.subject.own is not None and arm.name == "root-bulk-socket-rcvbuf"
    ]
    assert len(remedies) == len(texts) == changes
    for remedy, text in zip(remedies, texts, strict=True):
        assert remedy is not None
        assert "proxy_socket_rcvbuf 32k;" in remedy.patch
        assert not remedy.reaches_others
        assert text.count("proxy_socket_rcvbuf 32k;") == 1
    assert not any("small_rmem" in claim.name for claim in found.claims)


def test_for_older_versions_only_the_kernels_setting_is_proposed(tmp_path: Path) -> None:
    found = proposed(tmp_path, http("server { listen 80; location / { proxy_pass http://b:1; } }"), version="1.30")
    (change,) = [claim.remedy for claim in found.scenario.claims if "restores" in claim.name]
    assert change is not None
    assert change.reaches_others


def test_a_version_that_lacks_what_the_files_use_is_rejected_before_anything_starts(tmp_path: Path) -> None:
    """A user's own image is an exception, since its nginx may have more directives."""
    files = http("server { listen 80; http2 on; location / { proxy_pass http://b:1; } }")
    with pytest.raises(BadInputError, match=r"nginx 1\.22 does not know http2, which nginx 1\.25\.1 added") as raised:
        proposed(tmp_path, files)
    assert raised.value.remedy == "--nginx 1.26 or later"
    assert proposed(tmp_path, files, version="1.26").scenario.claims
    assert proposed(tmp_path, files, image="a").scenario.claims


def test_large_responses_are_not_tested_if_no_header_can_request_them(tmp_path: Path) -> None:
    """The stand-in would send short responses, and nginx would not hold anything for slow readers."""
    files = http("server { listen 80; location / { proxy_pass_request_headers off; proxy_pass http://b:1; } }")
    found = proposed(tmp_path, files)
    assert not [claim.name for claim in found.scenario.claims if "slow" in claim.name or "bulk" in claim.name]
    assert any(one.endswith("(proxy_pass_request_headers off)") for one in found.left_out)


def test_workers_that_start_large_are_measured(tmp_path: Path) -> None:
    files = http("server { listen 80; return 200; }")
    files["nginx.conf"] = files["nginx.conf"].replace("events { }", "events { worker_connections 1000000; }")
    *_, claim = proposed(tmp_path, files).scenario.claims
    assert claim.name == "worker_connections_cost_memory_at_start"
    assert "412 MiB" in claim.sentence


def test_the_queue_is_tested_if_nothing_is_proxied(tmp_path: Path) -> None:
    """The client connects to a port without TLS if there is one."""
    tls = "ssl_certificate a.pem; ssl_certificate_key a.key;"
    servers = f"{tls} server {{ listen 127.0.0.1:8443 ssl; listen 8080; return 200; }} server {{ listen 81; }}"
    (claim,) = proposed(tmp_path, http(servers)).scenario.claims
    assert claim.name == "port_8080_patch_queues_bursts"


@pytest.mark.parametrize(
    ("locations", "tested", "left_out"),
    [
        # One route is tested for each kind of place.
        ("".join(f"location /{name} {{ proxy_pass http://127.0.0.1:9000; }}" for name in "abc"), 1, []),
        (
            "location / { proxy_pass http://a; } location /g { grpc_pass b:1; } location /m { memcached_pass b:2; }",
            1,
            [
                "location /g: the lab's stand-ins do not speak gRPC",
                "location /m: the lab's stand-ins do not speak memcached's protocol",
            ],
        ),
        # Testing more places would take too long.
        (
            "".join(f"location /{name} {{ proxy_pass http://127.0.0.1:900{name}; }}" for name in range(8)),
            6,
            [f"to test it: --location /{name}/tuneproof" for name in (6, 7)],
        ),
    ],
    ids=["equivalent", "unreachable", "many"],
)
def test_places_that_are_not_tested_are_reported(
    tmp_path: Path, locations: str, tested: int, left_out: list[str]
) -> None:
    """Equivalent places are tested once, without a report."""
    found = proposed(tmp_path, http(f"server {{ listen 80; {locations} }}"))
    assert sum("connects_every_time" in claim.name for claim in found.scenario.claims) == tested
    assert [line.endswith(end) for line, end in zip(found.left_out, left_out, strict=True)] == [True] * len(left_out)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        # The file may be missing only from the copy. Arguments that another nginx may accept do not end the run.
        (
            "include snippets/limits.conf;\nserver { proxy_buffering on off; location / { proxy_pass http://a; } }",
            "/etc/nginx/snippets/limits.conf: created, empty",
        ),
        # The files that certbot includes are often missing from a copy; they do not contain locations.
        (
            "server { listen 80; include /etc/letsencrypt/ssl.conf; location / { proxy_pass http://a; } }",
            "/etc/letsencrypt/ssl.conf: created, empty",
        ),
        (
            "server { if ($http_x_forwarded_proto = '') { return 403; } location / { proxy_pass http://a; } }",
            "location / is tested with X-Forwarded-Proto: https, since nginx itself answers other requests",
        ),
    ],
)
def test_the_labs_additions_are_reported(tmp_path: Path, text: str, line: str) -> None:
    found = proposed(tmp_path, http(text))
    assert line in found.notes
    assert "root_connects_every_time" in [claim.name for claim in found.scenario.claims]


@pytest.mark.parametrize(
    ("main", "server", "lacking"),
    [
        ("load_module modules/a.so;", "", "load_module modules/a.so (nginx.conf:3)"),
        ("", "pagespeed on;", "pagespeed (nginx.conf:5)"),
        ("", "auth_gss on;", "auth_gss (nginx.conf:5; packaged since nginx 1.26)"),
        ("load_module a.so; load_module b.so;", "", "load_module a.so (nginx.conf:3), load_module b.so (nginx.conf:3)"),
    ],
)
def test_modules_that_the_lab_lacks_are_reported_once_before_anything_starts(
    tmp_path: Path, main: str, server: str, lacking: str
) -> None:
    """One sentence names all modules; a user's image may contain them."""
    text = f"map $a $b {{ default x; brotli y; }} server {{ {server} location / {{ proxy_pass http://a; }} }}"
    files = {"nginx.conf": f"user nginx;\nevents {{ }}\n{main}\nhttp {{\n{text}\n}}\n"}
    with pytest.raises(BadInputError, match="the lab's nginx lacks") as caught:
        proposed(tmp_path, files)
    assert caught.value.what.replace(f"{tmp_path}/", "").endswith(f"use: {lacking}")
    assert proposed(tmp_path, files, image="i").scenario.claims


@pytest.mark.parametrize(
    ("location", "patched"),
    [
        ("proxy_pass http://a:1;", "proxy_buffering off; proxy_pass http://a:1;"),
        ("proxy_buffering on; proxy_pass http://a:1;", "proxy_buffering off; proxy_pass http://a:1;"),
        ("fastcgi_pass unix:/s;", "fastcgi_buffering off; fastcgi_pass unix:/s;"),
        ("proxy_buffering off; proxy_pass http://a:1;", ""),
    ],
)
def test_a_stream_is_tested_with_the_directive_that_would_deliver_it(
    tmp_path: Path, location: str, patched: str
) -> None:
    files = http(f"server {{ listen 80; location /a/ {{\n{location}\n}}\nlocation /b {{ return 200; }} }}")
    scenario = propose(Wanted(configuration=str(written(tmp_path, files)), version="1.22", stream=True)).scenario
    names = ["a_delivers_events", "a_patch_delivers_events"]
    assert [claim.name for claim in scenario.claims] == names[: 2 if patched else 1]
    texts = [arm.subject.own.files["/etc/nginx/nginx.conf"].decode() for arm in scenario.arms if arm.subject.own]
    lines = [" ".join(text.split()) for text in texts]
    assert [f"location /a/ {{ {patched}" in line for line in lines] == ([False, True] if patched else [True])


@pytest.mark.parametrize(("user", "is_root"), [("root", True), ("nginx", False), ("www-data root", False)])
def test_workers_run_as_root_if_root_is_the_first_argument_of_user(tmp_path: Path, user: str, *, is_root: bool) -> None:
    """The kernel would refuse an observer of such workers without the same privileges."""
    files = http("server { location / { proxy_pass http://a; } }")
    files["nginx.conf"] = files["nginx.conf"].replace("user nginx", f"user {user}")
    own = proposed(tmp_path, files).scenario.arms[0].subject.own
    assert own is not None
    assert own.workers_are_root is is_root


def test_packaged_modules_are_in_the_image_and_loaded(tmp_path: Path) -> None:
    """A module that the files load needs only its package; a module that they only use is also loaded and reported."""
    files = http("geoip2 /geo.mmdb { $a country; }\nserver { echo_sleep 1; location / { proxy_pass http://a; } }")
    files["nginx.conf"] = "load_module modules/ngx_http_echo_module.so;\n" + files["nginx.conf"]
    found = proposed(tmp_path, files)
    assert found.packages == ("libnginx-mod-http-echo", "libnginx-mod-http-geoip2")
    loaded = f"ngx_http_geoip2_module.so: loaded for geoip2 ({tmp_path}/nginx.conf:5)"
    assert [line for line in found.notes if "_module.so" in line] == [loaded]
    own = found.scenario.arms[0].subject.own
    assert own is not None
    assert b"-g 'load_module /usr/lib/nginx/modules/ngx_http_geoip2_module.so; daemon off;'" in own.files[own.script]
    assert own.files["/geo.mmdb"].startswith(b"\0\0\1")
    elsewhere = proposed(tmp_path, files, image="i")
    assert elsewhere.packages == ()
    assert "modules/ngx_http_echo_module.so: the image must have this module" in elsewhere.notes


LIMITED = "location /login { limit_req zone=a; proxy_pass http://127.0.0.1:9000; }\n"


def test_a_place_without_limits_is_tested_first_among_equivalent_ones(tmp_path: Path) -> None:
    """Rejected requests show nothing about connections. If all places have a limit, it is reported."""
    zone = "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n"
    alone = proposed(tmp_path, http(f"{zone}server {{ listen 80;\n{LIMITED}}}"))
    [line] = [line for line in alone.notes if "tested with limit_req (" in line]
    assert line.endswith("in effect, each request from a different address")
    asked = proposed(
        tmp_path, http(f"server {{ listen 80;\n{LIMITED.replace('limit_req zone=a', 'auth_request /a')}}}")
    )
    assert any(line.endswith("in effect; --location PATH tests another") for line in asked.notes)
    by_header = zone.replace("$binary_remote_addr", "$http_x_api_key")
    [line] = proposed(tmp_path, http(f"{by_header}server {{ listen 80;\n{LIMITED}}}")).chosen[-1:]
    assert line.endswith("; none of these requests counts for limit_req zone=a: the key is empty")
    other = "location / { proxy_pass http://127.0.0.1:9000; }\n"
    found = proposed(tmp_path, http(f"{zone}server {{ listen 80;\n{LIMITED}{other}}}"))
    assert not any("tested with limit_req" in line for line in found.notes)
    assert [arm.name for arm in found.scenario.arms if arm.name.endswith("-requests")] == ["root-requests"]


def test_a_burst_goes_to_a_port_with_a_queue_that_the_patch_changes(tmp_path: Path) -> None:
    """The routes' own port may already have a long queue."""
    text = "server { listen 80 backlog=4096; location / { proxy_pass http://a; } } server { listen 8080; }"
    names = [claim.name for claim in proposed(tmp_path, http(text)).scenario.claims if "queue" in claim.name]
    assert names == ["port_8080_patch_queues_bursts"]


@pytest.mark.parametrize(
    ("cached", "is_skipped"),
    [
        ("proxy_cache c; proxy_ignore_headers Cache-Control;", True),
        ("proxy_cache c; proxy_ignore_headers Expires;", False),
        ("proxy_cache off; proxy_ignore_headers Cache-Control;", False),
    ],
)
def test_large_responses_are_not_tested_if_a_cache_answers(tmp_path: Path, cached: str, *, is_skipped: bool) -> None:
    """The stand-in's response forbids caching, but nginx may ignore that."""
    location = f"location / {{ {cached} proxy_pass http://a; }}"
    text = f"proxy_cache_path /c keys_zone=c:1m; server {{ listen 80; {location} }}"
    found = proposed(tmp_path, http(text))
    names = [claim.name for claim in found.scenario.claims]
    assert "root_connects_every_time" in names
    assert ("root_slow_reader_is_bounded" in names) != is_skipped
    assert any("large responses, since a cache answers (proxy_cache at" in line for line in found.notes) == is_skipped


def test_a_master_process_is_always_enabled(tmp_path: Path) -> None:
    """Trials begin with fresh workers, which need a master."""
    found = proposed(tmp_path, {"nginx.conf": f"{HEAD}master_process off;\nhttp {{ server {{ listen 80; }} }}\n"})
    own = found.scenario.arms[0].subject.own
    assert own is not None
    assert b"master_process on;" in own.files["/etc/nginx/nginx.conf"]
    assert any(line.endswith("nginx.conf:3: master_process on, for reloads and fresh workers") for line in found.notes)


def test_stand_in_values_are_in_the_files_of_a_tested_template(tmp_path: Path) -> None:
    found = proposed(
        tmp_path, {"site.conf": "server { listen ${PORT}; location / { proxy_pass http://${API_HOST}; } }"}
    )
    own = found.scenario.arms[0].subject.own
    assert own is not None
    assert b"server { listen 8080; location / { proxy_pass http://backend; } }" in own.files.values()
    assert {"${PORT}: 8080", "${API_HOST}: backend"} <= set(found.notes)


def test_the_location_that_answers_a_path_is_reported(tmp_path: Path) -> None:
    """The user may have meant another location."""
    text = "server { listen 80; location / { proxy_pass http://a; } }"
    lines = proposed(tmp_path, http(text), location="/nope").notes
    assert "--location /nope: nginx takes location / for it" in lines
    with pytest.raises(BadInputError, match="--location /nope: no location takes it") as caught:
        proposed(tmp_path, http(text.replace("location /", "location /a")), location="/nope")
    assert caught.value.remedy.startswith("give the path of a request")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{HEAD}http {{ server {{ listen 80 backlog=4096; return 200; }} }}", "nothing to test"),
        (f"{HEAD}http {{ server {{ listen 80;", "nginx would not start with this configuration"),
        (f"{HEAD}http {{ server {{ listen {{{{ port }}}}; }} }}", "a template"),
        (f"{HEAD}http {{ server {{ listen unix:/s; location / {{ proxy_pass http://a; }} }} }}", "cannot connect"),
    ],
)
def test_an_untestable_configuration_is_rejected_with_a_reason(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        proposed(tmp_path, {"nginx.conf": text})


PHP = r"root /srv/app; location ~ \.php$ { WANTS fastcgi_pass unix:/run/fpm.sock; }"


@pytest.mark.parametrize(
    ("server", "is_made"),
    [
        (PHP.replace("WANTS", "try_files $uri =404;"), True),
        (PHP.replace("WANTS", "if (!-f $document_root$fastcgi_script_name) { return 404; }"), True),
        (PHP.replace("WANTS", "if (!-e $request_filename) { return 404; }"), True),
        (PHP.replace("WANTS", "try_files $uri /index.php;"), True),
        (PHP.replace("WANTS", "if ($request_method = POST) { return 405; }"), False),
        # A root may contain variables that the files define.
        ("set $base /srv; root $base/app; location ~ x$ { try_files $uri =404; proxy_pass http://a; }", True),
        ("root /srv/$host/app; location ~ x$ { try_files $uri =404; proxy_pass http://a; }", False),
        # nginx would serve the file itself.
        ("root /srv/app; try_files $uri @app; location @app { proxy_pass http://a; }", False),
    ],
)
def test_a_required_file_is_created(server: str, tmp_path: Path, *, is_made: bool) -> None:
    own = proposed(tmp_path, http(f"server {{ listen 80; {server} }}")).scenario.arms[0].subject.own
    assert own is not None
    assert ("/srv/app/" in own.files[own.script].decode()) == is_made
