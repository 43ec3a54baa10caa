"""Merges the messages of error logs: what happened, how often, when, to whom, and with which consequences."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Final

from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.diagnosis.particulars import applied
from tuneproof.explain.diagnosis.signs.outages import noticed
from tuneproof.explain.diagnosis.thresholds import LOGGED_WITHIN, TOUCHED_SHARE
from tuneproof.explain.parse.access_log.log_summary import LogSummary
from tuneproof.explain.parse.error_log import time_of
from tuneproof.explain.parse.message_counts import MessageCount
from tuneproof.messages.rows import Message, Problem, messages

# A message about a killed worker or exhausted resources counts as this many requests.
_OF_MANY: Final = 100
# A message that explains less than this share of an outage is unrelated to it.
_OF_OUTAGE: Final = 0.1
ENOUGH_MESSAGES: Final = 20
"""Fewer messages may be a selected excerpt."""
_CAUSES: Final[Mapping[Cause, tuple[str, ...]]] = {
    Cause.REFUSED: ("upstream_refused", "upstream_socket_refused"),
    Cause.NO_PORT: ("upstream_no_port",),
    Cause.KEPT_CONNECTION_CLOSED: ("upstream_closed_early", "upstream_reset"),
    Cause.NO_LIVE_UPSTREAM: ("no_live_upstreams",),
    Cause.ACCEPT_QUEUE_OVERFLOW: ("files_accept", "files_system"),
    Cause.SYN_QUEUE_DROP: ("upstream_connect_timeout", "upstream_connect_timeout_kernel"),
    Cause.BACKEND_SLOW: ("upstream_header_timeout", "upstream_body_timeout"),
    Cause.CLIENT_GONE: ("client_closed_waiting",),
    Cause.SLOW_READER_BUFFERING: ("response_to_temporary_file",),
}
"""The messages that show a cause, by the ids of their rows."""
_ADDRESS: Final = re.compile(r"[\d.]+(?::\d+)?$|\[|unix:")
_LOGGED: Final = (Cause.REFUSED, Cause.NO_PORT, Cause.NO_LIVE_UPSTREAM, Cause.KEPT_CONNECTION_CLOSED)
"""Causes that nginx logs whenever they occur, at the default level."""
_LOGGED_AS_CRIT: Final = (Cause.NO_PORT,)
_BELOW_CRIT: Final = frozenset({"debug", "info", "notice", "warn", "error"})


@dataclass(frozen=True, kw_only=True)
class MessageFinding:
    """One row's messages in all logs together."""

    row: Message
    number: int
    first: str  # time of the first one, as in the log; empty without times
    last: str
    example: str
    files: tuple[str, ...]
    upstreams: Mapping[str, int] = field(default_factory=dict)
    clients: Mapping[str, int] = field(default_factory=dict)
    servers: Mapping[str, int] = field(default_factory=dict)
    requests: Mapping[str, int] = field(default_factory=dict)
    zones: Mapping[str, int] = field(default_factory=dict)
    resolvers: Mapping[str, int] = field(default_factory=dict)
    consequences: tuple["MessageFinding", ...] = ()  # messages that follow from this one and are listed with it
    answered: int | None = None  # number of requests with its status in the access logs; None if unknown
    of_requests: int | None = None  # number of all requests in the access logs; None if none covers that time
    in_outage: int = 0  # number of requests that failed in an outage of minutes; 0 without one
    streams: int = 0  # number of messages about connections in stream{} or mail{}, which have no status
    mails: int = 0  # number of these that are certainly about mail{}
    subrequests: int = 0  # number of messages about subrequests; the client gets the main request's status

    @property
    def is_rare(self) -> bool:
        """Whether it affects too few requests to explain a complaint, according to the access logs."""
        if self.of_requests is None or not self.row.statuses or self.number >= TOUCHED_SHARE * self.of_requests:
            return False
        return not self.in_outage or self.number < _OF_OUTAGE * self.in_outage

    @property
    def weight(self) -> float:
        """The number of requests that it explains, for sorting."""
        if "emerg" in self.row.levels and self.row.area == "start":
            return float("inf")
        number = self.number + sum(each.number for each in self.consequences)
        return number * (_OF_MANY if self.row.area in {"resources", "kernel"} and not self.row.statuses else 1)


@dataclass(frozen=True, kw_only=True)
class Messages:
    """All messages of the error logs."""

    problems: tuple[MessageFinding, ...] = ()  # problems, the one that explains most first
    looks: tuple[MessageFinding, ...] = ()  # possible problems, in the same order
    ordinary: tuple[MessageFinding, ...] = ()  # harmless messages, in the same order
    all_messages: int = 0  # number of all messages, including those without a row
    own_messages: int = 0  # number of nginx's own messages: the kernel and Kubernetes log none about upstreams
    has_errors: bool = False  # whether the logs contain levels below crit, which error_log may leave out
    unknown: int = 0  # messages at level error or above without a row
    unknown_examples: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_cut: bool = False  # whether only a part of a log could be unpacked
    at_other_times: tuple[MessageFinding, ...] = ()
    """Problems and possible problems from a time without requests in the access logs."""

    @property
    def leading(self) -> MessageFinding | None:
        """The answer: of the problems that are not rare, the one that explains most; None if there is none."""
        return next((each for each in self.problems if not each.is_rare), None)

    def explain(self, status: int) -> bool:
        """Tell whether messages explain all responses with this status in the access logs of the same time."""
        matching = [
            each for each in (*self.problems, *self.looks) if status in each.row.statuses and each.answered is not None
        ]
        number = sum(each.number + sum(follows.number for follows in each.consequences) for each in matching)
        return bool(matching) and number >= max(each.answered or 0 for each in matching)

    def not_logged(self) -> tuple[Cause, ...]:
        """Return the causes without a message in these logs, although nginx would log them.

        With only a few messages, the result is empty: they may have been selected; so with only a part of a log.
        """
        if self.own_messages < ENOUGH_MESSAGES or self.is_cut:
            return ()
        there = {each.row.id for each in (*self.problems, *self.looks)}
        there |= {each.row.id for finding in self.problems for each in finding.consequences}
        logged = _LOGGED if self.has_errors else _LOGGED_AS_CRIT
        return tuple(cause for cause in logged if not there & set(_CAUSES[cause]))


def shows(cause: Cause, finding: MessageFinding) -> bool:
    """Tell whether a message shows a cause."""
    return finding.row.id in _CAUSES.get(cause, ())


def message_findings(evidence: EvidenceSet) -> Messages:
    """Merge the messages of all error logs."""
    counted: dict[str, list[tuple[str, MessageCount]]] = {}
    for log in evidence.error_logs:
        for count in log.content.known:
            counted.setdefault(count.row, []).append((log.name, count))
    covering = [log.content for log in evidence.access_logs if _covers(log.content, evidence)]
    statuses = sum((Counter(log.status_counts) for log in covering), Counter[int]())
    requests = sum(log.requests for log in covering) or None
    in_outage = sum(outage.failed for log in covering if (outage := noticed(log.outage)) is not None)
    copies = _copies(evidence)
    found = {
        row: replace(_finding(messages()[row], counts, statuses, requests, copies=copies[row]), in_outage=in_outage)
        for row, counts in counted.items()
    }
    origins = _origins(found)
    findings = [
        _with(finding, [found[effect] for effect, origin in origins.items() if origin == row])
        for row, finding in found.items()
        if row not in origins
    ]
    logs = evidence.error_logs
    apart = message_findings(EvidenceSet(error_logs=evidence.at_other_times)) if evidence.at_other_times else Messages()
    return Messages(
        problems=_of(findings, Problem.YES),
        looks=_of(findings, Problem.SOMETIMES),
        ordinary=_of(findings, Problem.NO),
        all_messages=sum(log.content.messages for log in logs) - copies.total(),
        own_messages=sum(sum(log.content.levels.values()) for log in logs),
        has_errors=any(not _BELOW_CRIT.isdisjoint(log.content.levels) for log in logs),
        unknown=sum(log.content.unknown.number for log in logs),
        unknown_examples=tuple(text for log in logs for text in log.content.unknown.examples)[:3],
        files=tuple(log.name for log in logs),
        is_cut=any(log.content.is_cut for log in logs),
        at_other_times=(*apart.problems, *apart.looks),
    )


def _covers(requests: LogSummary, evidence: EvidenceSet) -> bool:
    """Tell whether an access log covers the time of all messages that may be problems.

    nginx writes both logs in the same local time, and the error log does not name its zone.
    """
    if requests.first_time is None or requests.last_time is None:
        return False
    begin, end = (at.replace(tzinfo=UTC) for at in (requests.first_time, requests.last_time))
    counts = (count for log in evidence.error_logs for count in log.content.known)
    problems = [count for count in counts if messages()[count.row].problem is not Problem.NO]
    times = [at for count in problems for text in (count.first, count.last) if (at := time_of(text)) is not None]
    return bool(times) and begin - LOGGED_WITHIN <= min(times) and max(times) <= end + LOGGED_WITHIN


def _copies(evidence: EvidenceSet) -> Counter[str]:
    """Return, by row, how many startup messages nginx both logged and printed, for example to a journal."""
    logged = sum((Counter(log.content.logged) for log in evidence.error_logs), Counter[tuple[str, str]]())
    printed = sum((Counter(log.content.printed) for log in evidence.error_logs), Counter[tuple[str, str]]())
    return sum((Counter({row: times}) for (row, _), times in (logged & printed).items()), Counter[str]())


def _of(findings: Iterable[MessageFinding], problem: Problem) -> tuple[MessageFinding, ...]:
    chosen = [each for each in findings if each.row.problem is problem]
    # With equal weights, nginx's own messages come first: other programs repeat theirs, however many requests fail.
    return tuple(sorted(chosen, key=lambda each: (-each.weight, not each.row.levels, each.first, each.row.id)))


def _origins(found: Mapping[str, MessageFinding]) -> dict[str, str]:
    """Return, for each message that follows from another message in the logs, the first of its chain."""
    direct = {
        row: max(causes, key=lambda origin: found[origin].number)
        for row, finding in found.items()
        if (
            causes := [
                origin
                for origin in finding.row.follows
                if origin in found and origin != row and _may_follow(finding, found[origin])
            ]
        )
    }
    origins = {}
    for row, origin in direct.items():
        seen, place = {row}, origin
        while place in direct and direct[place] not in seen:
            seen.add(place)
            place = direct[place]
        origins[row] = place
    return origins


def _may_follow(effect: MessageFinding, origin: MessageFinding) -> bool:
    """Tell whether an effect may follow from an origin: not if it ended earlier, or concerns other requests only."""
    if effect.last and effect.last < origin.first:
        return False
    pairs = [(effect.servers, origin.servers), (effect.requests, origin.requests)]
    if all(_ADDRESS.match(upstream) for upstream in (*effect.upstreams, *origin.upstreams)):
        # The name of an upstream block does not show its servers.
        pairs.append((effect.upstreams, origin.upstreams))
    return all(not one or not other or bool(one.keys() & other.keys()) for one, other in pairs)


def _with(finding: MessageFinding, consequences: Sequence[MessageFinding]) -> MessageFinding:
    if not consequences:
        return finding
    ordered = sorted(consequences, key=lambda each: -each.number)
    # A possible problem from which a problem follows is a problem.
    is_problem = any(each.row.problem is Problem.YES for each in consequences)
    row = replace(finding.row, problem=Problem.YES) if is_problem else finding.row
    return replace(finding, row=row, consequences=tuple(ordered))


def _finding(
    row: Message,
    counts: Sequence[tuple[str, MessageCount]],
    statuses: Mapping[int, int],
    requests: int | None,
    *,
    copies: int,
) -> MessageFinding:
    all_counts = [count for _, count in counts]
    times = [count for count in all_counts if count.first]
    number, streams, mails, inner = (
        sum(getattr(count, name) for count in all_counts) for name in ("number", "streams", "mails", "subrequests")
    )
    example, only_streams = all_counts[0].example, 0 < number <= streams
    if only_streams or 0 < number <= inner:
        statuses, requests = {}, None
    return MessageFinding(
        row=applied(
            row,
            example,
            only_streams=only_streams,
            only_mail=only_streams and mails >= streams,
            schemes=_sum(count.schemes for count in all_counts),
            codes=_sum(count.codes for count in all_counts),
        ),
        number=number - copies,
        streams=streams,
        mails=mails,
        subrequests=inner,
        first=min((count.first for count in times), default=""),
        last=max((count.last for count in times), default=""),
        example=example,
        files=tuple(dict.fromkeys(name for name, _ in counts)),
        upstreams=_sum(count.upstreams for count in all_counts),
        clients=_sum(count.clients for count in all_counts),
        servers=_sum(count.servers for count in all_counts),
        requests=_sum(count.requests for count in all_counts),
        zones=_sum(count.zones for count in all_counts),
        resolvers=_sum(count.resolvers for count in all_counts),
        answered=sum(statuses.get(status, 0) for status in row.statuses) if requests and row.statuses else None,
        of_requests=requests,
    )


def _sum(names: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum((Counter(each) for each in names), Counter[str]()).most_common())
