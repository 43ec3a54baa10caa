"""The rows say what a person needs, and each of their wordings is found again."""

import re
from unittest.mock import Mock

import pytest

from tests.support.places import CHECKOUT
from tuneproof.explain.parse.error_log import EVENTS
from tuneproof.messages import patterns
from tuneproof.messages.patterns import PLACE, find_cut, find_one
from tuneproof.messages.rows import Message, Problem, messages

ROWS = list(messages().values())
LEVELS = {"info", "notice", "warn", "error", "crit", "alert", "emerg", "debug"}
SAMPLES = {"end": "", "n": "7", "number": "24", "n+": "7", "function": "recv"}
REFUSED_BY_WINDOWS = "No connection could be made because the target machine actively refused it"
CLOSED_BY_WINDOWS = "An existing connection was forcibly closed by the remote host"
WITHOUT_LEVEL = {"configuration_ok", "configuration_syntax_ok", "configuration_test_failed"}
"""What nginx -t prints without one."""
VERSION = re.compile(r"1\.\d+\.\d+")


def sample(words: str) -> str:
    """Return a message with these words: placeholders are filled with the shortest text."""
    return PLACE.sub(lambda place: SAMPLES.get(place[1], "x"), words)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_wording_belongs_to_its_row_at_each_of_its_levels(row: Message) -> None:
    """Even if other rows' words begin in the same way."""
    for words in row.words:
        for level in row.levels or ("",):
            found = find_one(sample(words.text), level)
            assert found is not None
            assert found.id == row.id, words.text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_has_everything_for_an_answer(row: Message) -> None:
    for text in (row.name, row.happened, row.why, row.first, row.confirm, row.affects):
        assert text.strip() == text != ""
    assert not row.name.endswith(".")
    assert row.happened.endswith(".")
    assert row.why.endswith(".")
    assert bool(row.provoke) != bool(row.unprovoked)
    assert set(row.levels) <= LEVELS
    assert bool(row.levels) != (row.area in {"backends", "kernel"} or row.id in WITHOUT_LEVEL)
    assert all(each.advice and each.because and not each.because.endswith(".") for each in row.wrong)
    assert all(VERSION.fullmatch(text) for words in row.words for text in (words.since, words.until) if text)
    assert row.id not in row.follows
    assert set(row.follows) <= messages().keys()
    assert all(400 <= status < 600 for status in row.statuses)
    assert not row.page or (CHECKOUT / "docs" / row.page).is_file()


def test_there_are_rows_of_every_kind() -> None:
    assert len(ROWS) >= 70
    assert {row.problem for row in ROWS} == set(Problem)
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_events_belong_to_existing_rows() -> None:
    assert {row for rows in EVENTS.values() for row in rows} <= messages().keys()


@pytest.mark.parametrize(
    ("text", "level", "row"),
    [
        (
            "connect() to a:80 failed (99: Address not available) while connecting to upstream",
            "crit",
            "upstream_no_port",
        ),
        ("accept4() failed (24: No file descriptors available)", "crit", "files_accept"),
        ("connect() failed (61: Connection refused) while connecting to upstream", "error", "upstream_refused"),
        (
            "upstream timed out (1: Operation timed out) while connecting to upstream",
            "error",
            "upstream_connect_timeout",
        ),
        ('open() "/a/x.conf" failed (2: No such file or directory), client: 10.0.0.9', "error", "file_missing"),
        ('open() "/a/x.conf" failed (2: No such file or directory) in /etc/a.conf:3', "emerg", "include_missing"),
        ('open() "/a/sites/x" failed (2: No such file or directory) in /etc/a.conf:3', "emerg", "include_missing"),
        (
            'open() "/a/.htpasswd" failed (2: No such file or directory), client: 10.0.0.9',
            "error",
            "password_file_missing",
        ),
        ('open() "/a/passwd-api" failed (13: Permission denied), client: 10.0.0.9', "crit", "password_file_denied"),
        ('unknown "connection_upgrade" variable', "emerg", "unknown_variable"),
        ('"server" directive is not allowed here in /a:1', "emerg", "directive_not_allowed"),
        ('"daemon" directive is duplicate in /a:1', "emerg", "directive_duplicate"),
        ('invalid number of arguments in "root" directive in /a:1', "emerg", "directive_arguments"),
        ('pcre2_compile() failed: missing closing parenthesis in "(a" at "" in /a:1', "emerg", "regex_invalid"),
        ('unknown log format "main" in /a:1', "emerg", "log_format_unknown"),
        ('the "ssl" parameter requires ngx_http_ssl_module in /a:1', "emerg", "module_not_built"),
        ('no "events" section in configuration', "emerg", "events_missing"),
        ('"keepalive_timeout" directive invalid value in /a:1', "emerg", "value_invalid"),
        ('invalid value "yes" in "gzip" directive, it must be "on" or "off" in /a:1', "emerg", "value_invalid"),
        ('invalid parameter "quic" in /a:1', "emerg", "parameter_invalid"),
        ('zero size shared memory zone "one"', "emerg", "zone_undefined"),
        ('zone "one" is too small in /a:1', "emerg", "zone_too_small"),
        ('invalid host in upstream "http://a:3000" in /a:1', "emerg", "upstream_address_invalid"),
        ('invalid host in upstream ""', "error", "upstream_bad_address"),
        ('host not found in upstream "a" in /a:1', "emerg", "upstream_host_not_found_at_start"),
        (
            'limit_req "a" uses the "$x" key while previously it used the "$y" key',
            "emerg",
            "zone_changed",
        ),
        ("no ssl_client_certificate or ssl_trusted_certificate for ssl_verify_client", "emerg", "client_ca_missing"),
        (
            (
                'cannot load certificate key "/a": PEM_read_bio_PrivateKey() failed (SSL: error:04800068:PEM routines::'
                "bad password read)"
            ),
            "emerg",
            "certificate_key_encrypted",
        ),
        (
            'SSL_CTX_use_certificate("/a") failed (SSL: error:0A00018F:SSL routines::ee key too small)',
            "emerg",
            "certificate_too_weak",
        ),
        (
            'cannot load certificate key "/a": BIO_new_file() failed (SSL: a:system library::Permission denied',
            "emerg",
            "certificate_denied",
        ),
        ('pcre2_match() failed: -47 on "/a" using "^/(a+)+$", client: 10.0.0.9', "alert", "regex_failed"),
        ("ignoring stale global SSL error (SSL: error:0A000126:SSL routines::a)", "alert", "tls_stale_error"),
        ("failed to load BPF program (1: Operation not permitted)", "alert", "quic_bpf_failed"),
        ('BIO_new_file("/a/dh.pem") failed (SSL: a:system library::No such file', "emerg", "tls_file_unreadable"),
        ('BIO_new_file("/a/dh.pem") failed (SSL: a:system library::Permission denied', "emerg", "tls_file_unreadable"),
        ('PEM_read_bio_DHparams("/a/dh.pem") failed (SSL: a:PEM::no start line', "emerg", "tls_file_unreadable"),
        (
            'cannot load certificate "/a": PEM_read_bio_X509_AUX() failed (SSL: a:PEM routines::no start line:',
            "emerg",
            "certificate_not_pem",
        ),
        (
            'SSL_CTX_use_PrivateKey_file("/a") failed (SSL: error:0906406D:PEM routines::problems getting password',
            "emerg",
            "certificate_key_encrypted",
        ),
        ('ngx_slab_alloc() failed: no memory in upstream zone "app"', "crit", "upstream_zone_full"),
        ('ngx_slab_alloc() failed: no memory in limit_conn_zone "a"', "crit", "zone_full"),
        ("readv() failed (104: Connection reset by peer) while sending request to upstream", "error", "upstream_reset"),
        ("readv() failed (104: Connection reset by peer) while sending request to upstream", "info", "client_reset"),
        ('open() "/c/0/1/a" failed (13: Permission denied), client: 10.0.0.9', "crit", "cache_file_denied"),
        ('open() "/srv/a" failed (13: Permission denied), client: 10.0.0.9', "error", "file_denied"),
        ('stat() "/srv/a" failed (13: Permission denied), client: 10.0.0.9', "crit", "try_files_denied"),
        ('rename() "/t/1" to "/srv/dav/x" failed (13: Permission denied)', "crit", "rename_denied"),
        ('mkdir() "/srv/dav/x" failed (13: Permission denied), client: 10.0.0.9', "error", "dav_denied"),
        ('mkdir() "/t/1" failed (13: Permission denied) while reading upstream', "crit", "temp_denied"),
        ("client disconnected, bytes from/to client:102/315", "info", "stream_ordinary"),
        ("client SSL certificate verify error: (10:certificate has expired)", "info", "tls_client_certificate_expired"),
        ("client SSL certificate verify error: (12:CRL has expired)", "info", "tls_client_crl"),
        ("client SSL certificate verify error: (26:unsuitable certificate purpose)", "info", "tls_client_purpose"),
        (
            "upstream SSL certificate verify error: (10:certificate has expired) while SSL handshaking to upstream",
            "error",
            "upstream_certificate_expired",
        ),
        ("256 lua_max_running_timers are not enough", "alert", "lua_timers"),
        ('opendir() "/a" failed (13: Permission denied)', "crit", "cache_denied"),
        ('opendir() "/a" failed (13: Permission denied), client: 10.0.0.9', "error", "folder_denied"),
        (
            "SSL_sendfile() failed (SSL: error:0A000114:SSL routines::uninitialized) while",
            "crit",
            "tls_kernel_sendfile",
        ),
        ("SSL_sendfile() failed (SSL:) (32: Broken pipe) while sending response to client", "info", "client_reset"),
        ("sendmsg() failed (1: Operation not permitted)", "alert", "udp_send_failed"),
        ("sendmsg() failed (9: Bad file descriptor)", "alert", "fork_failed"),
        ('execve() failed while executing new binary process "/a" (2: No such file)', "alert", "binary_upgrade_failed"),
        ("sendfile() failed (5: Input/output error) while sending response to client", "alert", "file_error"),
        ('no "ssl_certificate" is defined in server listening on SSL port', "error", "certificate_undefined_running"),
        ('upstream sent invalid response: "535 5.7.8 authentication failed"', "error", "mail_server_error"),
        ("connect() to 127.0.0.1:9 failed (111: refused) while in http auth state", "error", "mail_auth_failed"),
        (
            "connect() to 0.0.0.1:80 failed (22: Invalid argument) while connecting to upstream",
            "crit",
            "upstream_placeholder",
        ),
        (
            "connect() to 10.0.0.5:80 failed (105: No buffer space available) while connecting to upstream",
            "crit",
            "upstream_connect_other",
        ),
        (
            "SSL_shutdown() failed (SSL: shutdown while in init) while SSL handshaking to upstream",
            "crit",
            "upstream_tls_shutdown",
        ),
        (
            "SSL_write() failed (SSL: a:SSL routines::protocol is shutdown) while sending request to upstream",
            "crit",
            "upstream_reset",
        ),
        ('call_sv("main::a") failed: "Can\'t locate"', "error", "perl_error"),
        (
            "SSL_do_handshake() failed (SSL: a:unsafe legacy renegotiation disabled) while SSL handshaking to upstream",
            "error",
            "upstream_tls_renegotiation",
        ),
        ("disable check peer: 10.0.0.5:3000 ", "error", "upstream_check_failed"),
        ("shm_add_node::ngx_slab_alloc_locked() failed: used_size[1]", "error", "vts_zone_full"),
        ("NAXSI_FMT: ip=10.0.0.9&server=a", "error", "naxsi"),
        ("init_by_lua error: init_by_lua:2: module 'a' not found:", "error", "lua_init_failed"),
        ("detected a LuaJIT version which is not OpenResty's; many", "alert", "lua_notice"),
        ("the maximum number of files supported by select() is 1024", "emerg", "select_limit"),
        (
            "SSL_do_handshake() failed (SSL: no shared cipher) while SSL handshaking",
            "info",
            "tls_client_no_shared_cipher",
        ),
        ("SSL_do_handshake() failed (SSL: no cipher) while SSL handshaking to upstream", "error", "upstream_tls_other"),
        ("7 worker_connections are not enough, reusing connections", "warn", "worker_connections_reused"),
        ("7 worker_connections are not enough while connecting to upstream", "alert", "worker_connections"),
        ('host not found in upstream "app" in /etc/a.conf:3', "emerg", "upstream_host_not_found_at_start"),
        ("connect() failed (99: Address not available) while connecting to upstream", "", "upstream_no_port"),
        ("cache manager process 7 exited on signal 8", "alert", "worker_crashed"),
        ('shared memory zone "push_module" was locked by 7', "alert", "zone_unlocked"),
        (
            "[lua] balancer.lua:348: balance(): no peer was returned, balancer: round_robin while connecting",
            "warn",
            "ingress_no_peer",
        ),
        ("stream [lua] balancer.lua:7: no backends, context: ngx.timer", "error", "lua_message"),
        ("failed to send stream cancellation while closing request", "error", "http3_closed_with_requests"),
        ('ioctl(FIOASYNC) failed while spawning "worker process" (25: Not a tty)', "alert", "worker_channel_failed"),
        ('chown("/var/cache/nginx/client_temp", 101) failed (1: Operation not permitted)', "emerg", "chown_denied"),
        ("SSL_do_handshake() failed (SSL: bad key share) while SSL handshaking,", "crit", "tls_client_other"),
        (
            "connect() to [::1]:80 failed (13: Permission denied) while connecting to upstream",
            "crit",
            "upstream_denied",
        ),
        ("recv() failed (104: Connection reset by peer) while proxying upgraded connection", "error", "upstream_reset"),
        ("recv() failed (104: Connection reset by peer) while proxying upgraded connection", "info", "client_reset"),
        ("writev() failed (32: Broken pipe) while reading upstream", "info", "client_reset"),
        ("readv() failed (110: Connection timed out) while reading upstream", "error", "upstream_connection_lost"),
        (
            "SSL_read() failed (SSL: error:0A000126:SSL routines::unexpected eof while reading) while reading upstream",
            "error",
            "upstream_closed_in_body",
        ),
        (
            "SSL_read() failed (SSL: error:0A000126:SSL routines::unexpected eof while reading) while keepalive",
            "crit",
            "tls_client_broken",
        ),
        (
            "SSL_do_handshake() failed (SSL: a:sslv3 alert handshake failure) while SSL handshaking to upstream",
            "error",
            "upstream_tls_alert",
        ),
        (
            f"connect() failed (10061: {REFUSED_BY_WINDOWS}) while connecting to upstream",
            "error",
            "upstream_refused",
        ),
        (
            f"WSARecv() failed (10054: {CLOSED_BY_WINDOWS}) while reading response header from upstream",
            "error",
            "upstream_reset",
        ),
        ('CreateFile() "C:\\a/b" failed (3: The system cannot find the path specified)', "error", "file_missing"),
        ("bind() to 0.0.0.0:80 failed (10013: An attempt was made to access)", "emerg", "bind_forbidden_windows"),
        # Windows' words in its own language: the number decides.
        (
            "connect() failed (10061: Der Zielcomputer verweigerte) while connecting to upstream",
            "error",
            "upstream_refused",
        ),
        (
            "upstream timed out (10060: \u8fde\u63a5\u5c1d\u8bd5\u5931\u8d25\u3002) while connecting to upstream",
            "error",
            "upstream_connect_timeout",
        ),
        ("WSARecv() failed (10054: reset) while reading response header from upstream", "error", "upstream_reset"),
        ('CreateFile() "C:\\a/logs/a.log" failed (5: Acc\u00e8s refus\u00e9)', "emerg", "windows_access_denied"),
        ('CreateFile() "C:\\a/b" failed (3: El sistema no puede encontrar)', "error", "file_missing"),
        ('WriteFile() "C:\\a/b" failed (112: Espace insuffisant)', "crit", "disk_full"),
        ('CreateFile() "D:\\a/conf/nginx.conf" failed (1113: No mapping)', "emerg", "windows_path_not_ascii"),
        ('CreateDirectory() "D:\\a/temp/client_body_temp" failed (3: path)', "emerg", "windows_folder"),
        ('GetFileAttributesEx() "C:\\a/a:b" failed (123: syntax)', "error", "windows_path_invalid"),
        ('OpenEvent("Global\\ngx_reload_12") failed (2: file)', "error", "windows_event"),
        ("bind() to unix:/run/a.sock failed (98: Address already in use)", "emerg", "socket_file_left"),
        ('unlink() "/run/nginx.pid" failed (2: No such file or directory)', "alert", "pid_removed"),
        ('open() "/run/nginx.pid" failed (13: Permission denied)', "emerg", "pid_not_writable"),
        ('open() "/run/nginx.pid" failed (2: No such file or directory)', "error", "pid_file"),
        ('open() "/var/lib/nginx/body/0000000001" failed (2: No such file or directory)', "crit", "temp_missing"),
        ("setgid(101) failed (1: Operation not permitted)", "emerg", "user_switch_denied"),
        ('MMDB_open("/a.mmdb") failed in /etc/nginx/nginx.conf:20', "emerg", "configuration_refused"),
        ("ignore long locked inactive cache entry 1b5d, count:1", "alert", "cache_entry_locked"),
        ("the rewritten URI has a zero length", "error", "uri_empty"),
        ("io_setup() failed (11: Resource temporarily unavailable)", "emerg", "aio_unavailable"),
        ('limiting requests, dry run, excess: 2.580 by zone "api"', "error", "limit_dry_run"),
        (
            'FastCGI sent in stderr: "PHP message: PHP Warning:  x in /a on line 3PHP message: PHP Fatal error:  y',
            "error",
            "php_fatal",
        ),
        ("FastCGI sent in stderr: \"Access to the script '/a' has been denied (see", "error", "fastcgi_script_denied"),
        ("connect() failed (111: Connection refused), context: ngx.timer", "error", "lua_socket"),
        ("connect() failed (111: Connection refused), client: 10.0.0.9, server: a", "error", "lua_socket"),
        (
            "recv() failed (104: Connection reset by peer) while proxying and reading from client",
            "info",
            "stream_client_reset",
        ),
    ],
)
def test_the_most_specific_row_decides(text: str, level: str, row: str) -> None:
    """By other C libraries' words, by the level, and by the text that follows."""
    found = find_one(text, level)
    assert found is not None
    assert found.id == row


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("we see it in app/views.py:23", ""),
        ("client sent DATA frame", "crit"),
        ("a module's own words in /etc/nginx/a.conf:12", "error"),
        ('"listen" directive and others', ""),
        ("connect() failed (111: Connection refused)", "error"),
        ("We see that recv() failed (104: Connection reset by peer) while reading upstream", ""),
        ("value must be set", "error"),
    ],
)
def test_a_few_words_are_not_a_message_at_another_level(text: str, level: str) -> None:
    """Text that ends with "in FILE:LINE" is nginx's message about its configuration only at level emerg or warn."""
    assert find_one(text, level) is None


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("upstream timed out (110: Connection timed out) while reading respon\u2026", "upstream_header_timeout"),
        ("upstream timed out (110: Connection timed out) while reading respo...", "upstream_header_timeout"),
        ("connect() to unix:/run/php.sock failed (13: Permission denied)...", "upstream_socket_denied"),
        ("upstream timed out (110: Connection timed out)", None),
        ("upstream", None),
        ("a message of nobody's that is long enough", None),
    ],
)
def test_a_truncated_message_is_found_if_only_one_row_continues_like_it(text: str, row: str | None) -> None:
    found = find_cut(text)
    assert (found.id if found is not None else None) == row


def test_a_message_without_a_row_is_compared_with_few_wordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may have many thousands of them, and each wording that begins with a placeholder may fit any text."""
    counted = Mock(wraps=patterns._fixed_of)
    monkeypatch.setattr(patterns, "_fixed_of", counted)
    texts = [f"module {number} cannot talk to its peer number {number * 7}: it said no" for number in range(200)]
    assert [find_cut(text, "error") for text in texts] == [None] * len(texts)
    assert counted.call_count <= 2 * len(texts)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_cheap_comparison_rejects_no_truncated_message(row: Message) -> None:
    """Each wording, cut in its middle and before its last character."""
    for words in row.words:
        whole = sample(words.text)
        for text in (whole[: len(whole) // 2], whole[:-1]):
            compared = [
                each
                for own in patterns._by_start().values()
                for each in own
                if each.message is row and (patterns._fixed_of(each.pieces, text) or 0) >= patterns._FEWEST
            ]
            assert all(each.begun in text for each in compared)


@pytest.mark.parametrize(
    ("whole", "level", "row"),
    [
        ("send() failed (111: Connection refused)", "error", "stream_udp_refused"),
        ("connect() to unix:/run/a.sock failed (2: No such file or directory)", "crit", "upstream_socket_missing"),
    ],
)
def test_a_whole_message_is_not_taken_for_a_cut_one(whole: str, level: str, row: str) -> None:
    assert find_cut(whole, level) is None
    cut = find_cut(f"{whole}...", level)
    assert cut is not None
    assert cut.id == row
