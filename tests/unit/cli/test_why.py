"""``why`` looks up a directive, a claim, an error message or a status."""

import pytest

from tests.support.command_line import Lab


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sendfile",), "sendfile\n  ngx_http_core_module"),
        (("listen", "443", "ssl;"), "listen\n  ngx_http_core_module"),
        (("sendfile;",), "sendfile\n  ngx_http_core_module"),
        (("SENDFILE",), "sendfile\n  ngx_http_core_module"),
        (("proxy", "buffering"), "proxy_buffering\n  ngx_http_proxy_module"),
        (("small-rmem-restores-loop",), "reuseport_stall/small_rmem_restores_loop: "),
        (("504 Gateway Time-out",), "Messages in error.log with a 504 ("),
        (("HTTP 502",), "Messages in error.log with a 502 ("),
        (("HTTP/1.1 502 Bad Gateway",), "Messages in error.log with a 502 ("),
        (("nginx 502",), "Messages in error.log with a 502 ("),
        (("Internal", "Server", "Error"), "Messages in error.log with a 500 ("),
        (("Gateway Time-out",), "Messages in error.log with a 504 ("),
        (("504", "after", "60", "seconds"), "Messages in error.log with a 504 ("),
        (("error_page", "502", "/e.html"), "error_page\n  ngx_http_core_module"),
        # Not the directive proxy of mail.
        (("proxy", "buffering", "off"), "proxy_buffering\n  ngx_http_proxy_module"),
        (("backlog=4096",), "Claims that mention backlog:"),
        # Not "host not found".
        (("not", "found"), "Messages in error.log with a 404 ("),
        (("certificate has expired",), "Message: An upstream's certificate has expired"),
        (("self-signed certificate",), "Message: An upstream's certificate is not trusted"),
        (("quic",), "Claims that mention quic:"),
        (("EMFILE",), "Message: nginx has no file descriptor left"),
        (("errno", "99"), "Message: nginx has no local port left"),
        (("[Errno 99]",), "Message: nginx has no local port left"),
        # A certificate's error has the same number.
        (("errno", "12"), "Message: nginx cannot allocate memory"),
        (("ENOENT",), "Message: The upstream's unix socket does not exist"),
        (("EIO",), "Message: An operation on a file fails"),
        # Lines of nginx.conf with few words, which messages also contain.
        (("sendfile/",), "sendfile\n  ngx_http_core_module"),
        (("location", "/"), "location\n  ngx_http_core_module"),
        (("rewrite", "^", "/"), "rewrite\n  ngx_http_rewrite_module"),
        (("ssl", "on"), "ssl\n  ngx_http_ssl_module"),
        (("upstream", "refused"), "Message: "),
        (("small_rmem_restores_loop",), "reuseport_stall/small_rmem_restores_loop: "),
        (("no", "live", "upstreams"), "Message: No upstream server is considered alive"),
        (("[error] 1#1: *1 no live upstreams while connecting to upstream, client: 10.0.0.1",), "Message: No upstream"),
    ],
)
def test_a_directive_a_claim_and_a_message_are_looked_up(lab: Lab, words: tuple[str, ...], expected: str) -> None:
    found = lab("why", *words)
    assert found.status == 0
    assert found.out.startswith(expected)


def test_a_status_leads_to_its_messages_and_claims(lab: Lab) -> None:
    """People look up what their users see; a sentence may contain the status in the plural."""
    assert "\n  client_closed_waiting: " in lab("why", "499").out
    messages, claims = lab("why", "502").out.split("\n\n")
    assert messages.startswith("Messages in error.log with a 502 (")
    assert "\n  upstream_closed_early: " in messages
    assert "limit_req" not in messages
    assert "\n  dying_connections/gets_are_retried: " in claims


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("no live upsteams", "No message has these words. Did you mean:\n\nMessage: No upstream server"),
        (
            "worker_conections are not enough",
            "No message has these words. Did you mean:\n\nMessage: worker_connections",
        ),
        ("upstream timd out (110: Conection timed out) while reading", "No message has these words. Did you mean:"),
        # A wrong letter, instead of a missing one.
        ("x() failed (110: Connection tijed out) while sending", "No message has these words. Did you mean:"),
        ("connec(t) to x failed (111: Connection refused)", "No message has these words. Did you mean:"),
        ("sendfile on", "sendfile\n  ngx_http_core_module"),
        # A line from nginx.conf is not a message.
        ("upstream bakend {", "upstream\n  ngx_http_upstream_module"),
        ("listen 443 ssl defered", "listen\n  ngx_http_core_module"),
    ],
)
def test_a_message_may_have_typos(lab: Lab, words: str, expected: str) -> None:
    found = lab("why", *words.split())
    assert (found.status, found.out[: len(expected)]) == (0, expected)


def test_all_messages_with_the_words_are_named(lab: Lab) -> None:
    """Five are shown in full; the right one may be among the others."""
    out = lab("why", "permission denied").out
    assert out.count("Message: ") == 5
    assert "more messages have these words (./lab why ID explains one):\n" in out
    assert "\n  bind_denied: " in out
    assert "have these words" not in lab("why", "no live upstreams").out


def test_an_error_that_no_message_has_is_named(lab: Lab) -> None:
    """A signal, a certificate's error or a similar text is not an answer."""
    ended = lab("why", "errno", "10")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("lab: errno 10 (ECHILD, No child processes): no message")


def test_an_unknown_word_is_bad_input(lab: Lab) -> None:
    for word in ("qqqqqqq", "", "  ", "$host"):
        assert lab("why", word).status == 2


@pytest.mark.parametrize("words", ["no live upstreams", "multi_accept"])
def test_lines_fit_the_terminal(lab: Lab, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Only text to be copied, such as commands, stays on one line."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = lab("why", *words.split()).out.splitlines()
    assert [line for line in lines if len(line) > 60 and not line.startswith(("Words:", " " * 9, "Confirm:"))] == []
    monkeypatch.setenv("COLUMNS", "500")
    assert len(lab("why", *words.split()).out.splitlines()) < len(lines)
