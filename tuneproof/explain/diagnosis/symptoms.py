"""Symptoms that users notice, whatever the cause: errors, abandoned or slow requests, retransmitted data.

"No problem" requires that there are none. Messages from error logs are in messages.py.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from tuneproof.explain.diagnosis.cause_texts import LOG_TIMES
from tuneproof.explain.diagnosis.causes.client_gone import departures
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.findings import CauseAssessment, CauseVerdict, Reason
from tuneproof.explain.diagnosis.shares import lower_limit
from tuneproof.explain.diagnosis.signs.counter_changes import CounterChanges
from tuneproof.explain.diagnosis.signs.cpu_waits import WHO_RUNS, busy_machines, starved_workers
from tuneproof.explain.diagnosis.signs.event_loops import signs
from tuneproof.explain.diagnosis.signs.legs import captured_services
from tuneproof.explain.diagnosis.signs.log_gaps import gaps
from tuneproof.explain.diagnosis.signs.one_client import one_client
from tuneproof.explain.diagnosis.signs.outages import NEARLY_ALL, noticed, period, short_period, slow_period
from tuneproof.explain.diagnosis.thresholds import ENOUGH_EVENTS, ENOUGH_REQUESTS, TOUCHED_SHARE
from tuneproof.explain.parse.access_log.kinds import BAD_REQUEST, REQUEST_TIMEOUT, SENT_AT_ONCE_BYTES
from tuneproof.explain.parse.access_log.log_summary import LogSummary
from tuneproof.explain.parse.figures import Distribution
from tuneproof.explain.parse.load_tools.run import LoadRun
from tuneproof.explain.parse.sockets.table import LISTEN, SocketEntry, SocketTable
from tuneproof.wording import count, seconds, share, size

# From here on, people lose their train of thought (Nielsen, "Usability Engineering", 1993, 5.5).
SLOW_S: Final = 1.0
# If responses begin in a tenth of the time, the rest is a long body: an event stream, a download, an upload.
PROMPT_SHARE: Final = 0.1
# On a fast network, a slow response takes this many times the handshake.
BEYOND_HANDSHAKE: Final = 10
# A path that loses one segment in twenty is nearly unusable.
REPEATED_SHARE: Final = 0.05
REPEATED_SEGMENTS: Final = 10
_SERVER_ERRORS: Final = range(500, 600)
_TOO_MANY: Final = 429
_LEFT: Final = 499
CLIENT_ERRORS: Final = frozenset(range(400, 500)) - {_TOO_MANY, _LEFT}
MOST: Final = 0.5
_SYN_SENT: Final = "SYN-SENT"
_CLOSE_WAIT: Final = "CLOSE-WAIT"
# States of sockets that no program has open, and of listeners.
_WITHOUT_PROGRAM: Final = frozenset({LISTEN, "TIME-WAIT", "SYN-RECV"})
# On a busy machine, a few connections are always about to close.
_CLOSE_WAIT_SHARE: Final = 0.1
_INCOMPLETE: Final = {
    REQUEST_TIMEOUT: "nginx did not get the whole request within client_header_timeout or client_body_timeout, or an "
    "upstream answered so",
    BAD_REQUEST: "the clients closed the connection before they had sent a request line",
}
"""Why requests are incomplete, by status."""
_WHO_REJECTS: Final = (
    "the access log with $upstream_status and $uri: without an upstream's status, nginx answered, or its cache"
)
_WHO_ANSWERS: Final = "the access log with $upstream_status: an upstream may have answered with the error"
_WHY_HIDDEN: Final = "nginx's error log of that time: why the upstream failed"
_WHY_NGINX_FAILS: Final = (
    "nginx's error log of that time; if it has no message, nginx -T: what has this status, such as return or a limit?"
)
_WHY_UPSTREAMS_FAIL: Final = "the application's own log of that time"
_WHO_FAILS: Final = f"nginx's error log of that time; if it has no message, {_WHO_ANSWERS}"
_WHAT_WAS_READ: Final = "error_log FILE info logs what nginx was reading"
_WHICH_CLIENTS: Final = (
    "the access log: are these requests from one client, such as a monitor or a scanner, or from many? "
    f"{_WHAT_WAS_READ}"
)
_WHAT_STAYS_OPEN: Final = (
    "ss -tanp state close-wait, twice, ten seconds apart: do the same ones stay, and which process has them?"
)
_SINCE_BOOT: Final = (
    ("TcpExt.ListenOverflows", "packet met a full accept queue", "packets met a full accept queue"),
    ("TcpExt.ListenDrops", "SYN was dropped", "SYNs were dropped"),
)


def shows_enough(evidence: EvidenceSet, assessments: Iterable[CauseAssessment]) -> bool:
    """Tell whether the absence of symptoms is significant: a few requests may have been lucky.

    Counters are enough if they rule a cause out. Sockets, a single reading, and processes' memory and CPU time are not.
    """
    seen = [log.content.requests for log in evidence.access_logs]
    seen += [run.content.requests or 0 for run in evidence.load_runs]
    for where in captured_services(evidence):
        seen += [where.service.requests, where.service.handshakes.get("complete", 0)]
    seen += [loop.iterations for named in evidence.event_loops for loop in named.content]
    is_counted = bool(evidence.counters) and any(each.verdict is CauseVerdict.RULED_OUT for each in assessments)
    return is_counted or max(seen, default=0) >= ENOUGH_REQUESTS


def not_shown(evidence: EvidenceSet) -> Iterator[Reason]:
    """Yield why the files may not show all symptoms.

    The combined format contains no times, TLS hides requests from a capture, and a log may hide failed requests.
    """
    captured = [where.service.response_s for where in captured_services(evidence)]
    logged = [log.content.request_time_s for log in evidence.access_logs]
    if not any((*captured, *logged, *(run.content.latency_ms for run in evidence.load_runs))):
        has_status = bool(evidence.access_logs or evidence.load_runs)
        what = "how long requests take" if has_status else "whether requests fail or how long they take"
        yield Reason(text=f"they do not show {what}", files=(), would_decide=LOG_TIMES)
    for log in evidence.access_logs:
        for gap in gaps(log.content):
            yield Reason(text=gap.text, files=(), would_decide=gap.would_decide)


def symptoms(evidence: EvidenceSet) -> Iterator[Reason]:
    """Yield the symptoms for a user of the service, with their files."""
    for log in evidence.access_logs:
        has_error_log = bool(evidence.error_logs)
        yield from _server_errors(log, has_error_log=has_error_log)
        for text in _of_log(log.content):
            yield Reason(text=text, files=(log.name,))
        if lower_limit(log.content.hidden_502, log.content.requests) >= TOUCHED_SHARE:
            text = f"In {log.content.hidden_502} of {log.content.requests} requests, an upstream failed (502), and the "
            text += "client got another answer: another server's, a cached one, or an error page."
            yield Reason(text=text, files=(log.name,), would_decide=_WHY_HIDDEN)
        yield from _rejections(log.name, log.content)
        yield from _incomplete(log.name, log.content)
    yield from _departures(evidence)
    yield from _of_event_loops(evidence)
    yield from _of_machine(evidence)
    for run in evidence.load_runs:
        for text in _of_load(run.content):
            yield Reason(text=text, files=(run.name,))
    yield from _of_sockets(evidence)
    yield from _of_losses(evidence)
    yield from _of_captures(evidence)
    changes = CounterChanges(evidence)
    for name, *what in _SINCE_BOOT:
        ever = changes.ever(name)
        if ever is not None and ever.number and not changes.was_ever_rare(ever.number):
            text = (
                f"{count(ever.number, *what)} {ever.since} ({name.partition('.')[2]}); take two readings to see when."
            )
            yield Reason(text=text, files=ever.files)


def _server_errors(named: Named[LogSummary], *, has_error_log: bool) -> Iterator[Reason]:
    log = named.content
    counts = _error_counts(log)
    statuses, errors = tuple(counts), sum(counts.values())
    why, decides = "; nginx's error log has the reason, unless an upstream answered so", _WHO_FAILS
    if (sender := _sender(log, statuses)) is not None:
        why, decides = sender
    elif has_error_log:
        why, decides = "", _WHO_ANSWERS
    if lower_limit(errors, log.requests) >= TOUCHED_SHARE:
        when = f", nearly all {at}" if (at := short_period(errors, log)) else ""
        who = one_client(log, _SERVER_ERRORS)
        text = f"{_got_errors(errors, log.requests)}{when}{who}"
    elif (outage := noticed(log.outage)) is not None:
        text = f"{_got_errors(outage.failed, outage.requests)} {period(outage, log)}"
    else:
        return
    yield Reason(text=f"{text}{why}.", files=(named.name,), statuses=statuses, would_decide=decides)


def rare_errors(evidence: EvidenceSet) -> Iterator[Reason]:
    """Yield the logs with server errors that are too few to be a symptom."""
    for named in evidence.access_logs:
        log = named.content
        errors = sum(_error_counts(log).values())
        if errors >= ENOUGH_EVENTS and not any(_server_errors(named, has_error_log=True)):
            text = f"{_got_errors(errors, log.requests)}{one_client(log, _SERVER_ERRORS)}."
            yield Reason(text=text, files=(named.name,))


def _error_counts(log: LogSummary) -> dict[int, int]:
    return {status: number for status, number in log.status_counts.items() if status in _SERVER_ERRORS}


def _got_errors(failed: int, requests: int) -> str:
    return f"{failed} of {requests} requests got a server error ({share(failed / requests)})"


def _departures(evidence: EvidenceSet) -> Iterator[Reason]:
    left = departures(evidence)
    yield from left
    for log in evidence.access_logs:
        gone = noticed(log.content.abandonment)
        if gone is not None and not any(log.name in reason.files for reason in left):
            text = f"{gone.failed} of {gone.requests} requests were abandoned (499) {period(gone, log.content)}."
            yield Reason(text=text, files=(log.name,))


def _of_log(log: LogSummary) -> Iterator[str]:
    times = log.request_time_s
    # If connecting takes long, the rest of a request's time is not a long body.
    begun = None if _is_late_connecting(log) else log.header_minus_connect_s
    if times is not None and (times.p90 >= SLOW_S or _is_sometimes_slow(times, begun)):
        of = " of answered requests" if log.client_closed_499 else ""
        text = (
            f"p90 request time{of} is {seconds(times.p90)}, p99 {seconds(times.p99)} (median {seconds(times.median)})"
        )
        if begun is not None and _has_most(begun, times) and begun.p90 < PROMPT_SHARE * times.p90:
            text += f"; upstreams begin to answer {seconds(begun.p90)} (p90) after the connect"
        elif (small := log.sent_at_once_s) is not None and _are_prompt(small, times):
            text += f"; {seconds(small.p90)} (p90) for responses of up to {size(SENT_AT_ONCE_BYTES)}: longer ones also "
            text += "take the time in which clients read them"
        elif small is None and log.short_200 is not None:
            text += f"; all responses are longer than {size(SENT_AT_ONCE_BYTES)}, and take the time in which clients "
            text += "read them"
        yield f"{text}."
    elif waited := slow_period(log):
        yield waited
    if (short := log.short_200 or 0) >= ENOUGH_EVENTS and lower_limit(short, log.requests) >= TOUCHED_SHARE:
        text = f"{short} responses with status 200 are shorter than most for their URI"
        yield f"{text}: cut short, or other versions of it."


def _sender(log: LogSummary, statuses: Collection[int]) -> tuple[str, str] | None:
    """Return who sent nearly all responses with these statuses, and what would show why; None if unknown."""
    number = sum(log.status_counts.get(status, 0) for status in statuses)
    for counts, who, decides in (
        (log.upstream_errors, "upstreams sent {} of them", _WHY_UPSTREAMS_FAIL),
        (log.nginx_errors, "nginx sent {} of them, itself or from its cache", _WHY_NGINX_FAILS),
    ):
        sent = sum(counts.get(status, 0) for status in statuses)
        if number and sent >= NEARLY_ALL * number:
            return f"; {who.format('all' if sent == number else sent)}", decides
    return None


def _rejections(name: str, log: LogSummary) -> Iterator[Reason]:
    refused = {
        status: number - log.incomplete_requests.get(status, 0)
        for status, number in log.status_counts.items()
        if status in CLIENT_ERRORS
    }
    limited, rejected = log.status_counts.get(_TOO_MANY, 0), sum(refused.values())
    found: list[tuple[str, tuple[int, ...]]] = []
    if lower_limit(limited, log.requests) >= TOUCHED_SHARE:
        text = f"{limited} of {log.requests} requests were rejected as too many (429, {share(limited / log.requests)})"
        found.append((text, (_TOO_MANY,)))
    if lower_limit(rejected, log.requests) >= MOST:
        usual, most = max(refused.items(), key=lambda item: item[1])
        text = f"{rejected} of {log.requests} requests were answered with a client error, "
        found.append((f"{text}{most if len(refused) > 1 else 'all'} of them with {usual}", tuple(refused)))
    for text, statuses in found:
        by, decides = _sender(log, statuses) or ("", _WHO_REJECTS)
        yield Reason(
            text=f"{text}{one_client(log, statuses)}{by}.",
            files=(name,),
            statuses=statuses,
            would_decide=decides,
        )


def _incomplete(name: str, log: LogSummary) -> Iterator[Reason]:
    for status, number in log.incomplete_requests.items():
        if lower_limit(number, log.requests) >= TOUCHED_SHARE:
            who, decides = "", _WHICH_CLIENTS
            are_known = log.clients.are_all and len(log.clients.requests) >= ENOUGH_REQUESTS
            if are_known and number == log.status_counts[status]:
                addresses = count(log.clients.failing(status), "address", "addresses")
                who, decides = one_client(log, (status,)) or f", from {addresses}", _WHAT_WAS_READ
            text = f"{number} of {log.requests} requests ended with {status} ({share(number / log.requests)}){who}"
            yield Reason(text=f"{text}: {_INCOMPLETE[status]}.", files=(name,), would_decide=decides)


def _is_sometimes_slow(times: Distribution, begun: Distribution | None) -> bool:
    """Tell whether one request in a hundred is slow, and no upstream times show that only its body is long."""
    is_slow = times.p99 >= SLOW_S and times.count >= ENOUGH_EVENTS * 100
    return is_slow and (begun is None or begun.p99 >= SLOW_S or not _has_most(begun, times))


def _are_prompt(small: Distribution, times: Distribution) -> bool:
    """Tell whether small responses are so fast that the others must be waiting for the client."""
    return small.count >= ENOUGH_REQUESTS and small.p99 < SLOW_S and small.p90 < PROMPT_SHARE * times.p90


def _is_late_connecting(log: LogSummary) -> bool:
    return log.connect_time_s is not None and log.connect_time_s.p99 >= SLOW_S


def _has_most(begun: Distribution, times: Distribution) -> bool:
    """Tell whether nearly all requests have the upstream's time: slow ones may be those without an answer."""
    return begun.count >= (1 - TOUCHED_SHARE) * times.count


def _of_load(run: LoadRun) -> Iterator[str]:
    other_length = max(0, run.errors.get("length", 0) - run.non_2xx)
    if run.failed_share is not None and run.failed_share >= TOUCHED_SHARE:
        text = f"{run.tool}: {share(run.failed_share)} of the requests failed"
        if other_length:
            text += (
                f", {other_length} of them only because the response's length differs from that of the first one, as "
                "usual for dynamic pages (ab -l accepts them)"
            )
        yield f"{text}."
    if kinds := ", ".join(
        f"{kind.replace('_', ' ')} {number}"
        for kind, number in sorted(run.errors.items())
        if kind != "length" or not other_length
    ):
        yield f"{run.tool} counted errors: {kinds}."
    for name in ("p50", "p99"):
        took_ms = run.latency_ms.get(name)
        if took_ms is not None and took_ms >= SLOW_S * 1000:
            yield f"{run.tool}: {name} latency is {seconds(took_ms / 1000)}."
            break


def _of_event_loops(evidence: EvidenceSet) -> Iterator[Reason]:
    for recording in evidence.event_loops:
        for sign in signs(recording.content):
            if not sign.is_stall:
                yield Reason(text=sign.text, files=(recording.name,))


def _of_machine(evidence: EvidenceSet) -> Iterator[Reason]:
    """Yield waits for a CPU, and full file systems if nginx logged a full disk: otherwise, it may not use them."""
    for wait in starved_workers(evidence):
        yield Reason(text=wait.text, files=(wait.file,), would_decide=WHO_RUNS)
    yield from busy_machines(evidence)
    logs = [log.name for log in evidence.error_logs if any(count.row == "disk_full" for count in log.content.known)]
    for disks in evidence.disks if logs else ():
        for mount in disks.content.mounts:
            is_left = "inodes are left" if disks.content.are_inodes else "space is left"
            yield Reason(text=f"No {is_left} on {mount}: writes to it fail.", files=(disks.name, *logs))


def _of_losses(evidence: EvidenceSet) -> Iterator[Reason]:
    for losses in evidence.packet_losses:
        for loss in losses.content:
            if lower_limit(loss.lost, loss.of) >= TOUCHED_SHARE:
                text = f"{loss.lost} of {loss.of} ({share(loss.lost / loss.of)}) {loss.what}."
                yield Reason(text=text, files=(losses.name,), would_decide=loss.would_decide)


def _of_sockets(evidence: EvidenceSet) -> Iterator[Reason]:
    for table in evidence.sockets:
        tried = Counter(str(entry.peer) for entry in table.content.entries if entry.state == _SYN_SENT)
        for peer, number in tried.most_common(1):
            if number >= ENOUGH_REQUESTS:
                why = "it is unreachable, a firewall drops packets, or its queues are full"
                text = f"{number} connections to {peer} wait for an answer to their SYN (SYN-SENT): {why}."
                yield Reason(text=text, files=(table.name,))
        for text in _half_closed(table.content):
            yield Reason(text=text, files=(table.name,), would_decide=_WHAT_STAYS_OPEN)


def _half_closed(table: SocketTable) -> Iterator[str]:
    """Yield a sentence for each port or peer with many connections that only the other end has closed."""
    entries = [entry for entry in table.entries if entry.state not in _WITHOUT_PROGRAM]
    ports = Counter(entry.local.port for entry in entries)
    peers = Counter(str(entry.peer) for entry in entries)
    # Without -l or -a, ss prints no listeners; a port is then served if it has many connections.
    served = {listener.local.port for listener in table.listeners}
    places: dict[str, list[SocketEntry]] = {}
    for entry in entries:
        port, peer = entry.local.port, str(entry.peer)
        is_served = port in served or (ports[port] >= ENOUGH_REQUESTS and ports[port] > peers[peer])
        where = f"to port {port} of this host" if is_served else f"from this host to {peer}"
        places.setdefault(where, []).append(entry)
    for where, there in places.items():
        waiting = [entry for entry in there if entry.state == _CLOSE_WAIT]
        if len(waiting) >= max(ENOUGH_REQUESTS, _CLOSE_WAIT_SHARE * len(there)):
            programs = ", ".join(sorted({entry.program for entry in waiting if entry.program}))
            local = f"the local program ({programs})" if programs else "the local program"
            yield (
                f"{len(waiting)} of {count(len(there), 'connection')} {where} are in CLOSE-WAIT: the other end has "
                f"closed them, and {local} has not yet: it is blocked or busy, or it leaks them."
            )


def _of_captures(evidence: EvidenceSet) -> Iterator[Reason]:
    for where in captured_services(evidence):
        service = where.service
        sides = (service.from_client, service.from_server)
        again = sum(side.retransmitted_segments - side.suspected_copies for side in sides)
        sent = sum(side.data_segments for side in sides)
        if again >= REPEATED_SEGMENTS and again >= REPEATED_SHARE * sent:
            text = f"{again} of {sent} segments with data were sent again ({share(again / sent)})"
            yield Reason(text=f"{text}, to and from {where.label}.", files=(where.file,))
        failed = service.server_errors
        if lower_limit(failed, service.requests) >= TOUCHED_SHARE:
            text = f"{failed} of {service.requests} responses from {where.label} have a status of 500 or above"
            yield Reason(text=f"{text} ({share(failed / service.requests)}).", files=(where.file,))
        answer, handshake = service.response_s, service.handshake_s
        if answer is None or answer.maximum < SLOW_S:
            continue
        if answer.p90 >= SLOW_S:
            text = f"p90 response time of {where.label} is {seconds(answer.p90)}"
        elif handshake is not None and answer.maximum >= BEYOND_HANDSHAKE * handshake.median:
            text = f"{where.label} took {seconds(answer.maximum)} for its slowest response"
        else:
            continue
        wire = f", with handshakes of {seconds(handshake.median)}" if handshake is not None else ""
        yield Reason(text=f"{text}{wire}.", files=(where.file,))
