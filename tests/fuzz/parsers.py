"""The parsers to test. Each function parses bytes, and computes and checks everything that depends on the result."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr
from functools import partial
from io import BytesIO, StringIO
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.fuzz.checks import ContradictionError, check_capture, check_figures, check_run, require
from tuneproof.audit.auditing import audit_source
from tuneproof.audit.document import document as audit_document
from tuneproof.audit.findings import read_baseline
from tuneproof.audit.render import render as render_audit
from tuneproof.conf.file_text import decode
from tuneproof.conf.sources import Dump
from tuneproof.errors import BadInputError
from tuneproof.explain.diagnosis.render import to_json
from tuneproof.explain.document import document
from tuneproof.explain.explanation import explain
from tuneproof.explain.opening import OpenedFile, Source
from tuneproof.explain.parse import error_log, event_loop, event_loop_summary
from tuneproof.explain.parse.access_log.known import HEAD_LINES, guess_format
from tuneproof.explain.parse.access_log.log_format import compile_format
from tuneproof.explain.parse.access_log.log_summary import figures as log_figures
from tuneproof.explain.parse.access_log.log_summary import summarise
from tuneproof.explain.parse.access_log.nginx_conf import logging_settings
from tuneproof.explain.parse.access_log.records import records
from tuneproof.explain.parse.capture.capture_summary import figures as capture_figures
from tuneproof.explain.parse.capture.capture_summary import read_capture
from tuneproof.explain.parse.capture.framing import PacketReader
from tuneproof.explain.parse.counters import netstat_s, nstat, proc_net, softnet
from tuneproof.explain.parse.counters.figures import figures as counter_figures
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, delta, total
from tuneproof.explain.parse.load_tools import ab, h2load, wrk
from tuneproof.explain.parse.load_tools.run import LoadRun
from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.explain.parse.processes import pidstat, schedstat, status
from tuneproof.explain.parse.sockets import ss_text
from tuneproof.explain.parse.sockets.table import figures as socket_figures
from tuneproof.explain.terminal import render_text
from tuneproof.lab.protocol.loadgen import Loadgen
from tuneproof.lab.protocol.serving import Answers
from tuneproof.lab.topology.program import Call
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.markdown import render_markdown
from tuneproof.report.terminal.table import render_table

FILE_END: Final = b"\n\x1c\n"
"""Separates the files in one input."""
_MOST_FILES: Final = 3
_LOG_LINES: Final = (
    "",
    "-",
    '10.0.0.1 - - [31/May/2023:08:27:49 +0000] "GET / HTTP/1.1" 200 12 "-" "curl" 0.001, 0.002 : 0.003 -',
    '{"status":"200","uri":"/"}',
    "a, a, a, a : a" * 20,
    "\\x22 \\u0022 " * 20,
)


def _text(content: bytes) -> str:
    # explain replaces invalid bytes in the same way.
    return content.decode("utf-8", "replace")


def _capture(content: bytes) -> None:
    reader = PacketReader(OpenedFile(BytesIO(content)).stream)
    found = list(reader)
    snapped = sum(len(data) < wire_bytes for _, _, data, wire_bytes in found)
    require((reader.packets, reader.snapped_packets) == (len(found), snapped), "miscounted packets")
    summary = read_capture(OpenedFile(BytesIO(content)).stream)
    check_figures(capture_figures(summary))
    check_capture(summary)


def _access_log(content: bytes) -> None:
    log_lines = _text(content).split("\n")
    guessed = guess_format(log_lines)
    summary = summarise(records(log_lines, guessed.line_format), format_name=guessed.line_format.name)
    check_figures(log_figures(summary))
    accounted = summary.requests + summary.unmatched_lines + summary.blank_lines
    require(accounted == len(log_lines), f"{accounted} of {len(log_lines)} lines")
    guessed_all = guessed.tried_lines < HEAD_LINES
    require(
        not guessed_all or summary.requests == guessed.matched_lines,
        f"{summary.requests} of {guessed.matched_lines} lines fit",
    )


def _log_format(content: bytes) -> None:
    line_format = compile_format(_text(content))
    for line in _LOG_LINES:
        try:
            line_format.parse(line)
        except MalformedEvidenceError as error:
            require(error.line is None, "an error of a single line with a line number")


def _nginx_conf(content: bytes) -> None:
    for definition in logging_settings(_text(content)).formats:
        definition.compiled()


def _counters(parse: Callable[[str], Sequence[CounterSnapshot]], content: bytes) -> None:
    snapshots = parse(_text(content))
    require(bool(snapshots), "no snapshot")
    for snapshot in snapshots:
        check_figures(counter_figures(snapshot))
    _changes(snapshots)


def _changes(snapshots: Sequence[CounterSnapshot]) -> None:
    for earlier, later in pairwise(snapshots):
        change = delta(earlier, later)
        check_figures(counter_figures(change))
        require(all(value >= 0 for value in change.increments.values()), "an increment below 0")
    if len(snapshots) > 1:
        check_figures(counter_figures(total(snapshots)))


def _softnet(text: str) -> tuple[CounterSnapshot, ...]:
    snapshots = softnet.snapshots(text)
    for snapshot in snapshots:
        check_figures(softnet.figures(snapshot.counters))
    return snapshots


def _counter_delta(content: bytes) -> None:
    """Read one text with all counter readers, and subtract each reading from the next, even if their sources differ."""
    found: list[CounterSnapshot] = []
    refusals: list[MalformedEvidenceError] = []
    for parse in (proc_net.snapshots, nstat.snapshots, netstat_s.snapshots, _softnet):
        try:
            found.extend(parse(_text(content)))
        except MalformedEvidenceError as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    _changes([*found, *reversed(found)])


def _status(content: bytes) -> None:
    for process in status.snapshots(_text(content)):
        check_figures(status.figures(process))


def _schedstat(content: bytes) -> None:
    readings = schedstat.snapshots(_text(content))
    for reading in readings:
        check_figures(schedstat.figures(reading))
    passed = schedstat.between(readings[0], readings[-1])
    if passed is not None:
        check_figures(schedstat.figures(passed))


def _pidstat(content: bytes) -> None:
    report = pidstat.report(_text(content))
    require(all(value >= 0 for sample in report.samples for value in sample.columns.values()), "a value below 0")
    check_figures(pidstat.figures(report))


def _event_loops(content: bytes) -> None:
    recording = event_loop.parse(_text(content))
    loops = event_loop_summary.summarise(recording)
    require(
        sum(len(loop.long) for loop in loops) >= sum(len(each.long) for each in recording.seconds),
        "long iterations are lost",
    )
    check_figures(event_loop_summary.figures(loops))


def _error_log(content: bytes) -> None:
    log = error_log.parse(_text(content).split("\n"))
    require(sum(log.levels.values()) == log.messages, "messages without a level")
    # An unanswered request is also counted as a connection that an upstream closed.
    unanswered = log.of(error_log.Event.UNANSWERED)
    require(unanswered <= log.of(error_log.Event.HUNG_UP), "more unanswered requests than closed connections")
    require(sum(log.events.values()) - unanswered <= log.messages, "more events than messages")
    check_figures(error_log.figures(log))


def _sockets(content: bytes) -> None:
    for table in ss_text.readings(_text(content)):
        check_figures(socket_figures(table))


def _load_run(parse: Callable[[str], LoadRun], content: bytes) -> None:
    check_run(parse(_text(content)))


def _explain(content: bytes) -> None:
    """Explain files in memory, as text and as JSON."""
    with ExitStack() as stack:
        sources = []
        for number, part in enumerate(content.split(FILE_END, _MOST_FILES - 1)):
            file = os.memfd_create(f"evidence-{number}")
            stack.callback(os.close, file)
            os.write(file, part)
            sources.append(Source(name=str(number), path=Path(f"/proc/self/fd/{file}"), named=False))
        try:
            explanation = explain(sources)
        except MalformedEvidenceError as error:
            # explain must report an error with the file's name, and still read the other files.
            raise ContradictionError("not explained") from error
    for found in explanation.found:
        check_figures(found.figures)
    document(explanation.found, to_json(explanation.diagnosis))
    render_text(explanation.found, explanation.diagnosis, width=80, color=False, everything=True).encode("ascii")


def _audit(content: bytes) -> None:
    """Audit one or several files; a rejected configuration counts as rejected evidence."""
    texts = [decode(part) for part in content.split(FILE_END)][:_MOST_FILES]
    names = ["nginx.conf", *(f"conf.d/{number}.conf" for number in range(1, len(texts)))]
    try:
        found = audit_source(Dump(dict(zip(names, texts, strict=True)), is_complete=True))
    except BadInputError as error:
        raise MalformedEvidenceError(error.what) from error
    report = audit_document(found)
    require(len(report["advice"]) == len(found.advice), "advice is lost")
    require(render_audit(found, width=80, details=True) != "", "an empty report")


@contextmanager
def _file_of(content: bytes) -> Iterator[Path]:
    file = os.memfd_create("fuzzed")
    try:
        os.write(file, content)
        yield Path(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


def _results(content: bytes) -> None:
    with _file_of(content) as path:
        try:
            found = load(path)
        except BadInputError as error:
            raise MalformedEvidenceError(error.what) from error
    require(found.to_json()["seed"] == found.seed, "another seed")
    render_table(found.cells, color=False, seconds=found.seconds).encode("ascii")
    render_markdown(found)


def _baseline(content: bytes) -> None:
    try:
        known = read_baseline(_text(content), name="baseline.json")
    except BadInputError as error:
        raise MalformedEvidenceError(error.what) from error
    require(all(number > 0 for number in known.values()), "a finding that occurs less than once")


class _Silent:
    """A program that has every method; all return None."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda **_given: None


def _protocol(content: bytes) -> None:
    """Read a line as a call to a program in a container, and as the response of such a program."""
    line = _text(content)
    with redirect_stderr(StringIO()):
        answered = json.loads(Answers(Loadgen, _Silent()).answer(line))
    require(("answer" in answered) != ("error" in answered), "neither an answer nor an error")
    try:
        plain = json.loads(line)
        require(isinstance(plain, dict), "not an object")
        Call.of(Loadgen.end_flows).parse_answer(plain)
    except (ValueError, RecursionError, ContradictionError) as error:
        if "error" in answered:
            raise MalformedEvidenceError("neither a call nor an answer") from error


READERS: Final[Mapping[str, Callable[[bytes], None]]] = {
    "pcap": _capture,
    "pcapng": _capture,
    "capture-gzip": _capture,
    "access-log": _access_log,
    "error-log": _error_log,
    "log-format": _log_format,
    "nginx-conf": _nginx_conf,
    "proc-net": partial(_counters, proc_net.snapshots),
    "nstat": partial(_counters, nstat.snapshots),
    "netstat-s": partial(_counters, netstat_s.snapshots),
    "softnet": partial(_counters, _softnet),
    "counter-delta": _counter_delta,
    "status": _status,
    "schedstat": _schedstat,
    "pidstat": _pidstat,
    "event-loops": _event_loops,
    "ss": _sockets,
    "ab": partial(_load_run, ab.parse),
    "wrk": partial(_load_run, wrk.parse),
    "wrk2": partial(_load_run, wrk.parse_wrk2),
    "h2load": partial(_load_run, h2load.parse),
    "explain": _explain,
    "audit": _audit,
    "results": _results,
    "baseline": _baseline,
    "protocol": _protocol,
}

# Errors of these parsers need not have a position in MalformedEvidenceError: a format and a protocol message are
# one line, and the messages about the others contain a file or a line.
UNPLACED: Final = frozenset({"log-format", "nginx-conf", "audit", "results", "baseline", "protocol"})


def is_parsed(name: str, content: bytes) -> bool:
    """Return whether a parser reads an input; return False if it rejects it, with a place unless it is in UNPLACED."""
    try:
        READERS[name](content)
    except MalformedEvidenceError as error:
        has_place = {error.line, error.column, error.offset} != {None}
        require(has_place or name in UNPLACED, f"an error without a place: {error}")
        return False
    return True
