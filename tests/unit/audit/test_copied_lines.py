"""What an audit says of the lines that travel from one nginx.conf to the next."""

import pytest

from tuneproof.audit.auditing import NEWEST, Audit, audit_source
from tuneproof.audit.patches import apply
from tuneproof.audit.recorded import recorded_of
from tuneproof.audit.rules.copied_lines import LINES, CopiedLine
from tuneproof.audit.sources import Dump
from tuneproof.catalogue import every_advice


def of(http: str = "", *, events: str = "", main: str = "", version: str = NEWEST) -> Audit:
    """Return the audit of a configuration."""
    text = f"{main}\nevents {{ {events} }}\nhttp {{ {http} }}\n"
    return audit_source(Dump({"nginx.conf": text}, is_complete=True), version=version)


def states(audit: Audit, claim: str) -> list[str]:
    """Return how a claim's advice stands wherever it concerns something."""
    return [one.state.value for one in audit.advice if one.claim == claim]


TLS = "server { listen 443 ssl; %s }"


@pytest.mark.parametrize(
    ("claim", "said", "silent"),
    [
        ("multi_accept_takes_a_burst_in_one_turn", {"events": "multi_accept on;"}, {"events": "multi_accept off;"}),
        (
            "files_need_descriptors_too",
            {"main": "worker_rlimit_nofile 1024;", "events": "worker_connections 1024;"},
            {"main": "worker_rlimit_nofile 2048;", "events": "worker_connections 1024;"},
        ),
        ("copied_defaults_change_nothing", {"events": "use epoll;"}, {"events": "use poll;"}),
        ("copied_defaults_change_nothing", {"http": "tcp_nodelay on;"}, {"http": "tcp_nodelay off;"}),
        ("copied_defaults_change_nothing", {"http": "postpone_output 1460;"}, {"http": "postpone_output 0;"}),
        ("copied_defaults_change_nothing", {"http": 'gzip_disable "msie6";'}, {"http": "gzip_disable foo;"}),
        ("one_output_buffer_reads_as_often", {"http": "output_buffers 1 32k;"}, {"http": "output_buffers 4 64k;"}),
        ("sendfile_serves_https", {"http": f"sendfile on; {TLS % ''}"}, {"http": "sendfile on; server { listen 80; }"}),
        (
            "sendfile_serves_plain_files",
            {"http": "sendfile on; server { listen 80; }"},
            {"http": f"sendfile on; {TLS % ''}"},
        ),
        (
            "sendfile_serves_plain_files",
            {"http": f"sendfile on; {TLS % ''} server {{ listen 80; }}"},
            {"http": f"sendfile off; {TLS % ''}"},
        ),
        ("sendfile_splits_small_answers", {"http": "sendfile on; tcp_nopush on;"}, {"http": "tcp_nopush on;"}),
        (
            "small_answers_without_sendfile_are_split",
            {"http": "tcp_nopush on;"},
            {"http": "sendfile on; tcp_nopush on;"},
        ),
        ("auto_ignores_the_cpuset", {"main": "worker_processes auto;"}, {"main": "worker_processes 4;"}),
        ("idle_clients_use_up_connections", {"http": "keepalive_timeout 15s;"}, {"http": "keepalive_timeout 65;"}),
        ("idle_clients_use_up_connections", {"http": "keepalive_timeout 500ms;"}, {"http": "keepalive_timeout 0;"}),
        ("open_file_cache_cuts_grown_files", {"http": "open_file_cache max=9;"}, {"http": "open_file_cache off;"}),
        (
            "log_with_variable_opens_each_time",
            {"http": "access_log /var/log/$host.log;"},
            {"http": "open_log_file_cache max=9; access_log /var/log/$host.log;"},
        ),
        ("log_buffer_saves_writes", {"http": "access_log /a.log main buffer=32k;"}, {"http": "access_log /a.log;"}),
        ("gzip_9_is_much_smaller", {"http": "gzip_comp_level 9;"}, {"http": "gzip_comp_level 5;"}),
        (
            "large_header_buffers_feed_attackers",
            {"http": "client_header_buffer_size 3m;"},
            {"http": "client_header_buffer_size 4k;"},
        ),
        (
            "large_header_buffers_feed_attackers",
            {"http": "large_client_header_buffers 4 256k;"},
            {"http": "large_client_header_buffers 4 16k;"},
        ),
        (
            "header_buffers_of_1k_reject_cookies",
            {"http": "large_client_header_buffers 2 1k;"},
            {"http": "large_client_header_buffers 4 8k;"},
        ),
        (
            "header_buffers_of_1k_reject_cookies",
            {"http": "large_client_header_buffers 2 4095;"},
            {"http": "large_client_header_buffers 4 $size;"},
        ),
        (
            "body_buffer_128k_saves_files",
            {"http": "client_body_buffer_size 128k;"},
            {"http": "client_body_buffer_size 8k;"},
        ),
        ("send_timeout_2_ends_steady_downloads", {"http": "send_timeout 2;"}, {"http": "send_timeout 60s;"}),
        ("send_timeout_2_ends_steady_downloads", {"http": "send_timeout 500ms;"}, {"http": "send_timeout 1m;"}),
        (
            "reset_frees_sockets_of_silent_clients",
            {"http": "reset_timedout_connection on;"},
            {"http": "reset_timedout_connection off;"},
        ),
        (
            "limit_conn_counts_http2_requests",
            {"http": "server { listen 443 ssl http2; limit_conn a 10; }"},
            {"http": "server { listen 443 ssl http2; limit_conn a 100; }"},
        ),
        (
            "limit_conn_counts_http2_requests",
            {"http": "limit_conn a 10; server { listen 443 ssl; http2 on; }"},
            {"http": "limit_conn a 10; server { listen 443 ssl; http2 off; }"},
        ),
        (
            "limit_conn_stops_half_headers",
            {"http": "server { listen 80; limit_conn a 10; }"},
            {"http": "server { listen 80; limit_conn a 100; }"},
        ),
        (
            "listed_5xx_take_the_service_down",
            {"http": "proxy_next_upstream error timeout http_500 http_503;"},
            {"http": "proxy_next_upstream error timeout http_429;"},
        ),
        (
            "cache_lock_protects_expired_keys",
            {"http": "proxy_cache_lock on;"},
            {"http": "proxy_cache_use_stale error updating; proxy_cache_lock on;"},
        ),
        (
            "ssl_on_starts",
            {"http": TLS % "ssl on;", "version": "1.25.1"},
            {"http": TLS % "ssl on;", "version": "1.25.0"},
        ),
        ("ssl_on_starts", {"http": TLS % "ssl on;"}, {"http": TLS % "ssl on;", "version": "1.22"}),
        (
            "http2_push_is_there",
            {"http": TLS % "http2_push_preload on;"},
            {"http": TLS % "http2_push_preload on;", "version": "1.22"},
        ),
        (
            "secp384r1_costs_a_round_trip",
            {"http": TLS % "ssl_ecdh_curve secp384r1;"},
            {"http": TLS % "ssl_ecdh_curve auto;"},
        ),
        (
            "tickets_are_lost_in_a_reload_with_a_shared_cache",
            {"http": TLS % "ssl_session_tickets off;"},
            {"http": TLS % "ssl_session_tickets off;", "version": "1.22"},
        ),
        ("stapling_needs_a_responder", {"http": TLS % "ssl_stapling on;"}, {"http": TLS % "ssl_stapling off;"}),
    ],
)
def test_a_line_is_told_where_it_is_meant_and_only_there(
    claim: str, said: dict[str, str], silent: dict[str, str]
) -> None:
    """By its arguments, what stands around it, and the version."""
    assert len(states(of(**said), claim)) == 1
    assert states(of(**silent), claim) == []


@pytest.mark.parametrize(
    ("said", "reach"),
    [
        ("send_timeout 8s;", "(measured at 2s; yours is 8s)"),
        ("send_timeout 2;", ""),
        ("send_timeout 2000ms;", ""),
        ("client_header_buffer_size 256k;", "(measured at 3m; yours is 256k)"),
        ("large_client_header_buffers 8 3m;", ""),
        ("large_client_header_buffers 8 3k;", "(measured at 1k; yours is 3k)"),
        ("server { listen 80; limit_conn a 5; }", "(measured at 10; yours is 5)"),
        ("gzip_comp_level 7;", "(measured at 9; yours is 7)"),
        ("tcp_nodelay on;", ""),
    ],
)
def test_how_far_the_measurement_reaches_is_told(said: str, reach: str) -> None:
    """Where it was of another value than that which stands there."""
    whys = [one.why for one in of(said).advice if one.name in {line.scenario for line in LINES}]
    assert [why.endswith(reach) and ("measured at" in why) == bool(reach) for why in whys] == [True]


@pytest.mark.parametrize("line", LINES, ids=[f"{line.directive}-{line.claim}" for line in LINES])
def test_every_line_rests_on_a_claim_that_was_recorded(line: CopiedLine) -> None:
    """Advice without a measurement is what this project is against."""
    assert line.claim in {claim for advice in every_advice() if advice.name == line.scenario for claim in advice.claims}
    assert recorded_of(line.scenario, line.claim, NEWEST) is not None


def test_a_patch_takes_a_line_away_or_puts_another_in_its_place() -> None:
    """Applied, there is nothing left to be said."""
    found = of("send_timeout 2;\ngzip_comp_level 9;", events="multi_accept on;")
    edits = [edit for one in found.advice for edit in one.edits]
    patched = apply(edits, found.facts.configuration.texts)
    text = patched["nginx.conf"]
    assert "gzip_comp_level 5;" in text
    assert "send_timeout" not in text
    assert "multi_accept" not in text
    again = audit_source(Dump({"nginx.conf": text}, is_complete=True), version=NEWEST)
    assert not any(one.edits for one in again.advice if one.name in {"request_limits", "serving_files", "accepting"})


def test_what_stands_in_stream_is_not_meant() -> None:
    """tcp_nodelay there is another module's."""
    text = "events { } stream { tcp_nodelay on; server { listen 1; proxy_pass a:1; } }"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version=NEWEST)
    assert states(found, "copied_defaults_change_nothing") == []


NEXT = "proxy_next_upstream error timeout http_500 http_502;"


@pytest.mark.parametrize(
    ("upstream", "to", "is_told"),
    [
        ("server 10.0.0.1; server 10.0.0.2;", "u", True),
        ("server 10.0.0.1;", "u", False),
        ("server 10.0.0.1; server 10.0.0.2 backup;", "u", True),
        ("server 10.0.0.1; server 10.0.0.2 max_fails=0;", "u", False),
        ("server unix:/a.sock; server [::1]:80 down;", "u", False),
        ("server unix:/a.sock;", "u", False),
        ("server app:8080;", "u", True),
        ("server 10.0.0.1;", "10.0.0.9:81", False),
        ("server 10.0.0.1;", "localhost", True),
        ("server 10.0.0.1;", "$host", True),
    ],
)
def test_listed_5xx_are_told_where_there_may_be_several_peers(upstream: str, to: str, *, is_told: bool) -> None:
    """One that is alone is asked whatever it answered (ngx_http_upstream_get_round_robin_peer)."""
    server = f"server {{ location / {{ proxy_pass http://{to}; }} }}"
    text = f"events {{ }}\nhttp {{ {NEXT} upstream u {{ {upstream} }} {server} }}\n"
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version="1.30")
    assert ("listed_5xx_take_the_service_down" in [one.claim for one in found.advice]) == is_told
