"""Files as tuning lists serve them: sendfile, tcp_nopush, open_file_cache, threads, logs and compression.

Directives: https://nginx.org/en/docs/http/ngx_http_core_module.html.
"""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import COPIED, Count, CountedClaim, Setting, arms_of, both_ways, more, usual
from tuneproof.catalogue.serving_files_scripts import REQUESTS, SMALL, calls_of, compressed, grow, segments, switches
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow
from tuneproof.lab.subject.config import ACCESS_LOG_PATH
from tuneproof.lab.subject.written_config import CERTIFICATE, TLS_PORT, written_config
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.scenarios import Scenario

LOGGED: Final = 100

_SENDFILE: Final = "sendfile on; tcp_nopush on;"
_PLAIN: Final = calls_of(Flow(path=SMALL, requests=REQUESTS))
_LOGGED: Final = calls_of(Flow(path=SMALL, requests=LOGGED))
_GZIPPED: Final = calls_of(Flow(path="/text.txt", requests=REQUESTS, headers={"Accept-Encoding": "gzip"}))
_ALIAS: Final = "location /changing/ { alias /var/lib/subject/changing/; }"
_TLS: Final = f"server {{ listen {TLS_PORT} ssl; {CERTIFICATE} }}"
_ITSELF: Final = "server { listen 127.0.0.1:9001; sendfile off; }"
_CACHE: Final = "open_file_cache max=1000 inactive=20s; open_file_cache_valid 30s;"


def _counting(name: str, config: str, script: Callable[[Rig], Figures] = _PLAIN) -> Setting:
    return Setting(name=name, config=config, script=script, counts_calls=True)


def _gzip(level: int) -> Setting:
    config = written_config(f"gzip on; gzip_types *; gzip_comp_level {level};")
    return Setting(name=f"gzip-{level}", config=config, script=compressed)


def _log(name: str, log: str) -> Setting:
    return _counting(name, written_config(f"sendfile on; access_log {log};"), _LOGGED)


SEGMENTS_PER_REQUEST: Final = Count(figure="segments_per_request", what="segments per request")
BODY_BYTES: Final = Count(figure="body_bytes", what="bytes of a compressed text")
ARMS: Final = arms_of(
    [
        _counting("plain-file", written_config(_SENDFILE)),
        _counting(
            "tls",
            written_config("", http=f"{_SENDFILE} {_TLS}"),
            calls_of(Flow(path=SMALL, requests=REQUESTS, tls=True), port=TLS_PORT),
        ),
        _counting("gzip", written_config(f"{_SENDFILE} gzip on; gzip_types *;"), _GZIPPED),
        _counting(
            "proxied",
            written_config(f"{_SENDFILE} location / {{ proxy_pass http://127.0.0.1:9001; }}", http=_ITSELF),
        ),
        _counting("sendfile-alone", written_config("sendfile on;")),
        _counting("sendfile-off", written_config("")),
        Setting(name="segments-sendfile", config=written_config("sendfile on;"), script=segments),
        Setting(name="segments-nopush", config=written_config(_SENDFILE), script=segments),
        Setting(name="segments-off", config=written_config(""), script=segments),
        _counting("file-cache", written_config(f"{_SENDFILE} {_CACHE}")),
        Setting(name="grown-cached", config=written_config(f"{_ALIAS} {_CACHE}"), script=grow),
        Setting(name="grown", config=written_config(_ALIAS), script=grow),
        Setting(
            name="threads",
            config=written_config("aio threads; output_buffers 2 64k;"),
            script=switches,
        ),
        Setting(name="no-threads", config=written_config("output_buffers 2 64k;"), script=switches),
        _counting("gzip-static", written_config(f"{_SENDFILE} gzip_static on;"), _GZIPPED),
        _counting("no-gzip-static", written_config(_SENDFILE), _GZIPPED),
        _log("log-each", ACCESS_LOG_PATH),
        _log("log-buffered", f"{ACCESS_LOG_PATH} combined buffer=32k flush=1m"),
        _log("log-by-host", "/var/log/subject/$host.log"),
        _log("log-off", "off"),
        _gzip(1),
        _gzip(5),
        _gzip(9),
    ]
)


def _sendfile_serves(name: str, what: str, arm: str, *, line: str, expected: Verdict = Verdict.REFUTED) -> CountedClaim:
    return usual(
        f"sendfile_serves_{name}",
        f"sendfile on makes nginx send {what} by sendfile(2)",
        source=f"{COPIED}: sendfile on; tcp_nopush on, because sendfile is faster than read and write",
        arm=arm,
        figure="sent_by_sendfile",
        what="trials in which every answer goes out by sendfile(2)",
        turned_by="tls" if expected is Verdict.HOLDS else "plain-file",
        expected=expected,
        line=line,
    )


CLAIMS: Final = (
    _sendfile_serves("plain_files", "plain files", "plain-file", expected=Verdict.HOLDS, line="sendfile on;"),
    _sendfile_serves("https", "files over TLS", "tls", line="sendfile on; with TLS"),
    _sendfile_serves("gzip", "what it compresses", "gzip", line="sendfile on; with gzip"),
    _sendfile_serves(
        "proxied_answers", "answers of an upstream", "proxied", line="sendfile on; in front of an upstream"
    ),
    more(
        "sendfile_splits_small_answers",
        "sendfile without tcp_nopush sends a small file's head and body in two segments",
        source=f"{COPIED}: sendfile on",
        arms=("segments-sendfile", "segments-nopush"),
        count=SEGMENTS_PER_REQUEST,
        threshold=1.3,
        why="a second segment for each small answer is at least a third more of what the server sends for it",
        at_least=1 / REQUESTS,
        line="sendfile on; without tcp_nopush",
    ),
    more(
        "small_answers_without_sendfile_are_split",
        "Without sendfile a small file's head and body go out in two segments",
        source="control of the one above: sendfile off needs no tcp_nopush",
        arms=("segments-off", "segments-nopush"),
        count=SEGMENTS_PER_REQUEST,
        threshold=1.3,
        why="as with sendfile: a second segment for each answer is at least a third more of what the server sends "
        "for it",
        at_least=1 / REQUESTS,
        expected=Verdict.REFUTED,
        turned_by={"segments-off": "segments-sendfile"},
    ),
    more(
        "nopush_costs_two_calls",
        "tcp_nopush costs system calls for every file: the cork is put in and taken out",
        source=f"{COPIED}: tcp_nopush on",
        arms=("plain-file", "sendfile-alone"),
        count=Count(figure="setsockopt_calls", what="setsockopt(2) calls"),
        threshold=5.0,
        why="two calls for each file against a few for each connection; with fewer than five times as many it would "
        "not be every file that pays",
        line="tcp_nopush on;",
    ),
    more(
        "aio_threads_wait_more",
        "With aio threads, a worker blocks several times as often even though the file is in the page cache",
        source='"Thread Pools in NGINX Boost Performance 9x!" (2015)',
        arms=("threads", "no-threads"),
        count=Count(figure="waits", what="voluntary context switches"),
        why="the article promises that a worker blocks less; if it blocks twice as often, the promise is turned "
        "round for whoever serves from the page cache",
        line="aio threads;",
    ),
    more(
        "open_file_cache_saves_opens",
        "open_file_cache spares nginx from opening a file for every request",
        source=f"{COPIED}: open_file_cache max=200000 inactive=20s",
        arms=("plain-file", "file-cache"),
        count=Count(figure="open_calls", what="files opened"),
        threshold=5.0,
        why="the line promises that a file is opened once; a fifth of the opens left would not be worth serving "
        "files that may be stale",
        line="open_file_cache max=200000 inactive=20s;",
    ),
    *both_ways(
        "open_file_cache_cuts_grown_files",
        "With open_file_cache, a file that grew in place is served truncated at its old length",
        control=(
            "grown_files_are_cut_without_cache",
            "Without open_file_cache, a file that grew in place is served truncated as well",
        ),
        source="h5bp/server-configs-nginx, issue 203 (2018)",
        arm="grown-cached",
        turned_by="grown",
        figure="stale",
        what="trials in which a file comes with its old length",
        line="open_file_cache … for files that change",
    ),
    more(
        "log_buffer_saves_writes",
        "access_log with a buffer saves a write(2) per request",
        source=f"{COPIED}: access_log off, or buffer=32k, to boost I/O",
        arms=("log-each", "log-buffered"),
        count=Count(figure="write_calls", what="write(2) calls"),
        threshold=5.0,
        why="a buffer is copied to save nearly all writes; a fifth of them is the most that could pass for that",
        line="access_log … buffer=32k;",
    ),
    more(
        "log_with_variable_opens_each_time",
        "access_log with a variable in its path opens a file for every request",
        source="nginx: the file is opened and closed for each log write",
        arms=("log-by-host", "log-each"),
        count=Count(figure="open_calls", what="files opened"),
        threshold=1.5,
        why="a log opened for each request doubles the opens of a server of files; half as many again says that it "
        "is for most requests",
        line="access_log /var/log/nginx/$host.log;",
    ),
    more(
        "gzip_static_looks_for_files_in_vain",
        "gzip_static on looks for a .gz file on every request, even where there is none",
        source=f"{COPIED}: gzip_static on",
        arms=("gzip-static", "no-gzip-static"),
        count=Count(figure="opens_in_vain", what="files opened in vain"),
        threshold=5.0,
        why="a look in vain for each of twenty requests against none; with fewer than five it would not be every "
        "request that pays",
        line="gzip_static on;",
    ),
    more(
        "gzip_9_is_much_smaller",
        "gzip_comp_level 9 makes text a tenth smaller than level 5",
        source="h5bp: level 5 is almost as good as 9",
        arms=("gzip-5", "gzip-9"),
        count=BODY_BYTES,
        threshold=1.1,
        why="a tenth less traffic is the least that would pay for the CPU time that level 9 takes",
        expected=Verdict.REFUTED,
        turned_by={"gzip-5": "gzip-1"},
        line="gzip_comp_level 9;",
    ),
    more(
        "gzip_5_is_smaller_than_1",
        "gzip_comp_level 5 makes text a twentieth smaller than level 1",
        source="h5bp: level 5 instead of nginx's default of 1",
        arms=("gzip-1", "gzip-5"),
        count=BODY_BYTES,
        threshold=1.05,
        why="a twentieth less traffic is what somebody who pays for it by the gigabyte sees on the bill",
        line="gzip_comp_level 5;",
    ),
)
SCENARIO: Final = Scenario(name="serving_files", arms=ARMS, claims=CLAIMS, backends=())

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("sendfile_serves_https", "open_file_cache_cuts_grown_files"),
)
