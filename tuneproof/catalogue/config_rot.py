"""Directives that old lists still carry: gone, obsolete, or what nginx does anyway.

nginx's change log: https://nginx.org/en/CHANGES.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import COPIED, Count, CountedClaim, Setting, arms_of, more, usual
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.scenarios import Scenario

REQUESTS: Final = 20
MARGIN: Final = 1.05
SMALL: Final = "/1000.bin"
LARGE: Final = "/1000000.bin"

_LISTEN: Final = f"server {{ listen {TLS_PORT} ssl; {CERTIFICATE} %s }}"


def _tested(rig: Rig) -> Figures:
    """Let nginx test the configuration."""
    said = rig.test()
    warned = any(word in said.text for word in ("[warn]", "[emerg]", "ignored"))
    return {"accepted": float(said.status == 0), "without_a_word": float(said.status == 0 and not warned)}


def _calls(rig: Rig) -> Figures:
    """Count the system calls of requests for a small file and, of those for a large one, how often it is read from."""
    for path in (SMALL, LARGE):
        rig.flow(Flow(path=path))
    small = rig.calls(lambda: rig.flow(Flow(path=SMALL, requests=REQUESTS)))
    large = rig.calls(lambda: rig.flow(Flow(path=LARGE, requests=REQUESTS)))
    return {"calls": small.made(), "reads": large.made("pread", "read")}


def _test(name: str, *, http: str = "", server: str = "") -> Setting:
    return Setting(name=name, config=written_config(server, http=http), script=_tested, starts=False)


def _counting(name: str, http: str, *, events: str = "") -> Setting:
    config = written_config("", http=http, events=f"worker_connections 1024; {events}")
    return Setting(name=name, config=config, script=_calls, counts_calls=True)


_COPIED: Final = (
    "tcp_nodelay on; postpone_output 1460; gzip_disable msie6; types_hash_max_size 2048; "
    "client_body_buffer_size 16k; server_names_hash_bucket_size 64; keepalive_timeout 75;"
)

ARMS: Final = arms_of(
    [
        _test("ssl-on", http=f"server {{ listen {TLS_PORT}; ssl on; {CERTIFICATE} }}"),
        _test("listen-http2", http=f"server {{ listen {TLS_PORT} ssl http2; {CERTIFICATE} }}"),
        _test("http2-push", http=_LISTEN % "http2_push_preload on;"),
        _test("spdy", http=_LISTEN % "spdy_headers_comp 1;"),
        _test("tcp-fastopen", server="tcp_fastopen on;"),
        _test("nothing-old"),
        _counting("copied-defaults", _COPIED, events="use epoll;"),
        _counting("defaults", ""),
        _counting("other-calls", "sendfile on; tcp_nopush on;"),
        _counting("one-output-buffer", "output_buffers 1 32k;"),
        _counting("larger-output-buffers", "output_buffers 2 128k;"),
    ]
)


def _accepted(name: str, sentence: str, source: str, arm: str, *, line: str) -> CountedClaim:
    """Return a claim that no version bears out: nginx does not know the directive."""
    return usual(
        name,
        sentence,
        source=source,
        arm=arm,
        figure="accepted",
        what="trials in which nginx -t accepts it",
        turned_by="nothing-old",
        expected=Verdict.REFUTED,
        line=line,
    )


def _without_a_word(
    name: str, sentence: str, source: str, arm: str, *, since: str = "", why: str = "", line: str = ""
) -> CountedClaim:
    return usual(
        name,
        sentence,
        source=source,
        arm=arm,
        figure="without_a_word",
        what="trials in which nginx -t accepts it and warns of nothing",
        turned_by="tcp-fastopen",
        expired_since=since,
        expired_reason=why,
        line=line,
    )


CLAIMS: Final = (
    _without_a_word(
        "ssl_on_turns_tls_on",
        "ssl on; is how TLS is turned on",
        f"{COPIED}: ssl on;",
        "ssl-on",
        since="1.15.0",
        why="deprecated since 1.15.0, an unknown directive since 1.25.1",
        line="ssl on;",
    ),
    usual(
        "ssl_on_starts",
        "nginx still starts with ssl on;",
        source=f"{COPIED}: ssl on;",
        arm="ssl-on",
        figure="accepted",
        what="trials in which nginx -t accepts it",
        turned_by="tcp-fastopen",
        expired_since="1.25.1",
        expired_reason="the directive was removed",
    ),
    _without_a_word(
        "listen_http2_is_right",
        "listen … http2 is how HTTP/2 is turned on",
        f"{COPIED}: listen 443 ssl http2",
        "listen-http2",
        since="1.25.1",
        why="http2 on; has taken its place",
        line="listen 443 ssl http2;",
    ),
    _without_a_word(
        "http2_push_is_there",
        "http2_push_preload on pushes what pages need",
        f"{COPIED}: http2_push_preload on",
        "http2-push",
        since="1.25.1",
        why="server push was removed, and the directive is ignored",
        line="http2_push_preload on;",
    ),
    usual(
        "spdy_is_there",
        "nginx still starts with spdy_headers_comp",
        source=f"{COPIED}: spdy_headers_comp 1",
        arm="spdy",
        turned_by="tcp-fastopen",
        figure="accepted",
        what="trials in which nginx -t accepts it",
        expired_since="1.22",
        expired_reason="1.18 ignores what is left of SPDY with a warning, and later versions do not know it",
        line="spdy_headers_comp 1;",
    ),
    _accepted(
        "tcp_fastopen_is_a_directive",
        "nginx knows tcp_fastopen on;",
        "pages on TCP Fast Open: tcp_fastopen on;",
        "tcp-fastopen",
        line="tcp_fastopen on;",
    ),
    _without_a_word(
        "a_configuration_without_rot_is_accepted",
        "A configuration without these directives draws no warning",
        "control of the ones above",
        "nothing-old",
    ),
    more(
        "copied_defaults_change_nothing",
        "use epoll, tcp_nodelay on, postpone_output 1460, gzip_disable msie6 and the like change no system call",
        source=f"{COPIED}: lines that only say what nginx does anyway",
        arms=("copied-defaults", "defaults"),
        count=Count(figure="calls", what="system calls for small files"),
        threshold=MARGIN,
        why="a twentieth more or fewer system calls would be noticed by nobody who runs nginx; a line that really "
        "switches something changes them by more",
        form=Form.SAME,
        turned_by={"copied-defaults": "other-calls"},
        line="use epoll; tcp_nodelay on; postpone_output 1460; gzip_disable msie6;",
    ),
    more(
        "one_output_buffer_reads_as_often",
        "output_buffers 1 32k reads a file in as many steps as the default",
        source=f"{COPIED}: output_buffers 1 32k",
        arms=("one-output-buffer", "defaults"),
        count=Count(figure="reads", what="reads of a file of 1 MB"),
        threshold=MARGIN,
        why="a twentieth more or fewer reads would be noticed by nobody who serves files; buffers of another size "
        "change them by a multiple",
        form=Form.SAME,
        turned_by={"one-output-buffer": "larger-output-buffers"},
        line="output_buffers 1 32k;",
    ),
)
SCENARIO: Final = Scenario(name="config_rot", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
