"""Valid inputs for each parser: mostly the texts of the unit tests, a few KiB each."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from tests.fuzz.captures import GZIPS, PCAPNGS, PCAPS
from tests.fuzz.parsers import FILE_END
from tests.support import canned_access_logs as of_logs
from tests.support import canned_error_logs as of_errors
from tests.support import canned_formats as of_guess
from tests.support import canned_loops as of_loops
from tests.support import outputs
from tests.support.configurations import CASES
from tests.support.outputs import NETSTAT, NETSTAT_S, NSTAT, NSTAT_JSON, OLD_SOFTNET, SNMP, SOFTNET
from tests.support.written_results import HOST, OPTIONS, a_cell, unsupported
from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.exchanges import Answer, Connection, Flow
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.topology.program import Call

_TAILED: Final = (
    f'{of_guess.COMMON_LINE} "http://a/" "curl\\x22" 531 0.002 [up] [] 10.0.0.3:80, 10.0.0.4:80 0, 12 0.001, 0.001 '
    "502, 200 f00\n"
)
_LAB_LINES: Final = "".join(
    of_logs.a_line(rt=f"0.{number}00", tail=f' pid={30 + number % 2} connection={number} trial="t"\n')
    for number in range(5)
)
_JSON_LINES: Final = "".join(
    json.dumps(
        {
            "time_iso8601": f"2026-11-20T09:36:1{number}+00:00",
            "status": 200 + 299 * (number % 2),
            "request": "GET /ü HTTP/1.1",
            "request_time": 0.25,
            "upstream_response_time": "0.001, 0.200 : -",
            "msec": 1_700_000_000.25,
        },
        ensure_ascii=number == 1,
    )
    + "\n"
    for number in range(4)
)
_LOGS: Final = (
    of_logs.STALLED,
    of_logs.CURED,
    _LAB_LINES,
    f"{of_guess.COMMON_LINE}\n{of_guess.COMBINED_LINE}\n\n2026/11/20 09:36:16 [error] 31#31: *7 no\n" * 3,
    f'{of_guess.COMBINED_LINE} rt=0.001 uct="0.002" uht="-" urt="0.003"\n' * 4,
    _TAILED * 4,
    _JSON_LINES,
)
_READINGS: Final = (SNMP + NETSTAT) * 2
# A 32-bit counter overflows between the readings.
_WRAPPING: Final = "IpExt: InOctets\nIpExt: 4294967000\nIpExt: InOctets\nIpExt: 17\n"
_NSTATS: Final = (NSTAT, NSTAT * 2, NSTAT_JSON, NSTAT_JSON * 2)
_TEXTS: Final[Mapping[str, Sequence[str]]] = {
    "access-log": _LOGS,
    "error-log": (of_errors.LOG, of_errors.CONTAINER),
    "log-format": (
        '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer"',
        'escape=json {"status":"$status","uri":"${request_uri}",\'$msec\'}',
        "escape=none $upstream_addr, $upstream_response_time : $upstream_status $host$request_uri",
        "$a $b x$c",
    ),
    "nginx-conf": (
        of_guess.CONFIGURATION,
        "http { log_format a '$status $request_time'; access_log /l a; }\n",
        'http{log_format "b" escape=none $pid$msec "\\$x";include *.conf;server{location /{access_log off;}}}#',
    ),
    "proc-net": (_READINGS, NETSTAT, _WRAPPING),
    "nstat": _NSTATS,
    "netstat-s": (NETSTAT_S, NETSTAT_S * 2),
    "softnet": (SOFTNET, OLD_SOFTNET, f"09:00\n{SOFTNET}09:01\n{SOFTNET}"),
    "counter-delta": (_READINGS, _WRAPPING, NSTAT + _READINGS, NETSTAT_S + SNMP, SOFTNET * 2, *_NSTATS),
    "status": (outputs.STATUS, outputs.STATUS + outputs.KERNEL_THREAD),
    "schedstat": (outputs.SCHEDSTAT, f"{outputs.SCHEDSTAT}date\n48261109 7899127 99\n"),
    "pidstat": (outputs.PIDSTAT, outputs.PIDSTAT_ONE_LINE, outputs.PIDSTAT_THREADS),
    "event-loops": (of_loops.TEXT,),
    "ss": (outputs.FULL_QUEUE, outputs.SLOW_READERS, outputs.FULL_QUEUE + outputs.SLOW_READERS),
    "ab": (
        outputs.AB,
        outputs.AB_BANNER + "apr_socket_recv: Connection reset by peer (104)\nTotal of 41 requests\n",
    ),
    "wrk": (outputs.WRK,),
    "wrk2": (outputs.WRK2, outputs.WRK2 + outputs.WRK2_UNCORRECTED),
    "h2load": (outputs.H2LOAD_OLD, outputs.H2LOAD),
}
_BYTES: Final[Mapping[str, Sequence[bytes]]] = {
    "pcap": PCAPS,
    "pcapng": PCAPNGS,
    "capture-gzip": GZIPS,
    **{name: tuple(text.encode() for text in texts) for name, texts in _TEXTS.items()},
}


def _explained() -> Sequence[bytes]:
    """Return files of every kind that explain reads: alone, two of one kind, and several kinds together."""
    kinds = [name for name in _BYTES if name not in {"log-format", "counter-delta"}]
    alone = [seed for name in kinds for seed in _BYTES[name]]
    twice = [FILE_END.join((_BYTES[name][0], _BYTES[name][-1])) for name in kinds]
    together = [
        (_BYTES["nginx-conf"][1], b"200 0.001\n499 0.000\n" * 5),
        (_BYTES["pcap"][0], _BYTES["access-log"][0], _BYTES["proc-net"][0]),
        (_BYTES["pcap"][1], _BYTES["netstat-s"][1], _BYTES["ss"][0]),
        (_BYTES["schedstat"][1], _BYTES["softnet"][2], _BYTES["access-log"][2]),
        (_BYTES["ss"][1], _BYTES["status"][1], _BYTES["wrk"][0]),
    ]
    return [*alone, *twice, *map(FILE_END.join, together)]


def _configurations() -> Sequence[bytes]:
    """Return the configurations of the audit's tests; FILE_END separates their files."""
    return [FILE_END.join(text.encode() for text in case.files.values()) for case in CASES.values()]


def _results() -> Sequence[bytes]:
    cells = [a_cell(), a_cell("unknown", verdict="inconclusive", reason="noise"), unsupported("other")]
    header = {"schema": 1, "started": "2026-11-20T09:36:16Z", "host": HOST, "seed": 1, "options": OPTIONS}
    made = [{**header, "cells": [cell.to_json() for cell in cells[:number]]} for number in range(4)]
    return [json.dumps(one).encode() for one in (*made, {**made[1], "seconds": 9.5, "finished": True})]


def _calls() -> Sequence[bytes]:
    answer = Answer(status=200, worker=7, numbered="1.1", body_bytes=4, complete=True, says_close=False, total_s=0.1)
    connection = Connection(answers=(answer,), error="", closed_by_server=False, open_s=0.5)
    flows = (Flow(), Flow(tls=True, headers={"Host": "a"}, requests=3))
    answered = [{"number": 3, "answer": to_plain(((connection,),)), "took_s": 0.5, "machine": {"busy_pct": 1.5}}]
    answered.append({"number": 4, "error": "no such file"})
    calls = [Call.of(Loadgen.start_flows, "10.0.0.1", 80, flows), Call.of(Loadgen.storm, "10.0.0.1", 80, 9, 0.5)]
    lines = [call.line(number) for number, call in enumerate(calls)]
    return [line.encode() for line in (*lines, *map(json.dumps, answered))]


_OTHERS: Final[Mapping[str, Sequence[bytes]]] = {
    "results": _results(),
    "baseline": (
        b'{"schema": 1, "findings": []}',
        b'{"schema": 1, "findings": [{"rule": "a/b", "state": "harmful", "file": "nginx.conf", "text": "gzip on"}]}',
    ),
    "protocol": _calls(),
}
SEEDS: Final[Mapping[str, Sequence[bytes]]] = {**_BYTES, "explain": _explained(), "audit": _configurations(), **_OTHERS}
