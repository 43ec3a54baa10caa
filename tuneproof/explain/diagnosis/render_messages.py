"""Formats messages of error logs: a complete answer to the most important one, and a line for each of the others."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from tuneproof.explain.diagnosis.messages import MessageFinding, Messages
from tuneproof.explain.parse.message_counts import MOST_NAMES
from tuneproof.messages.rows import messages as all_rows
from tuneproof.wording import count, mid_sentence, one_line, seconds, share

MOST_OTHERS: Final = 4
"""The maximum number of further messages with one label on the first screen; the details contain all."""
_MOST_NAMES: Final = 3
_LONGEST_NAME: Final = 80
_FAIR_SHARE: Final = 0.05
_LARGE_SHARE: Final = 0.1
_CLOSED: Final = "connections in stream or mail: if no other server takes them, nginx closes them"
_MINUTE_S: Final = 60
_LONG_UNITS: Final = ((86_400, "days"), (3_600, "h"))
_TIME: Final = "%Y/%m/%d %H:%M:%S"


class Line(NamedTuple):
    """One line of the screen."""

    label: str
    text: str
    files: tuple[str, ...] = ()


def answer(finding: MessageFinding) -> Iterator[Line]:
    """Yield the complete answer to one message."""
    row, files = finding.row, finding.files
    yield Line("What", row.happened, files)
    yield Line("Logged", f"{_often(finding)}.", files)
    if about := _about(finding):
        yield Line("", f"{about}.", files)
    yield Line("Affects", f"{_affects(finding)}.")
    for each in finding.consequences:
        # If the statuses differ, the client gets that of the consequence.
        differs = each.row.statuses and each.row.statuses != row.statuses and each.streams < each.number
        answered = f", answered {' or '.join(map(str, each.row.statuses))}" if differs else ""
        yield Line("Follows", f"{each.row.name}: {count(each.number, 'message')}{answered}.", each.files)
    yield Line("Why", row.why)
    page = f" (docs/{row.page})" if row.page else ""
    yield Line("Next", f"{row.first}{page}")
    own = (row.in_mail if finding.mails >= finding.streams else None) or row.in_stream
    if own is not None and finding.streams and own.first != row.first:
        yield Line("Next", f"For connections in stream or mail: {own.first}")
    for wrong in row.wrong:
        yield Line("Not so", f"{wrong.advice}: {wrong.because}.")
    yield Line("Confirm", row.confirm)


def others(messages: Messages, leading: MessageFinding | None) -> Iterator[Line]:
    """Yield the messages after the leading one, one line each; harmless ones share a line."""
    rest = [each for each in messages.problems if each is not leading]
    common = [each for each in rest if not each.is_rare]
    for each in common[:MOST_OTHERS]:
        yield Line("Also", f"{each.row.name}: {_often(each)}. Next: {each.row.first}", each.files)
    looks = [each for each in messages.looks if each is not leading]
    for number, each in enumerate(looks[:MOST_OTHERS]):
        # The first one may be the headline.
        about = f"; {_about(each)}" if not number and leading is None and _about(each) else ""
        yield Line("Maybe", f"{each.row.name}: {_often(each)}{about}. Next: {each.row.first}", each.files)
    if left := len(common[MOST_OTHERS:]) + len(looks[MOST_OTHERS:]):
        yield Line("Also", f"{count(left, 'further kind of message', 'further kinds of messages')} (--details).")
    for each in rest:
        if each.is_rare:
            yield Line("Rare", f"{each.row.name}: {_often(each)}.", each.files)
    for each in messages.at_other_times[:MOST_OTHERS]:
        yield Line("Other time", f"{each.row.name}: {_often(each)}. Next: {each.row.first}", each.files)
    if messages.ordinary:
        number = sum(each.number for each in messages.ordinary)
        kinds = ", ".join(f"{mid_sentence(each.row.name)} ({each.number})" for each in messages.ordinary[:MOST_OTHERS])
        of_all = f"{number} of {count(messages.all_messages, 'message')} ({share(number / messages.all_messages)})"
        are = "is" if number == 1 else "are"
        yield Line("Ordinary", f"{of_all} {are} harmless: {kinds}.", messages.files)
    if messages.unknown:
        examples = "; ".join(messages.unknown_examples)
        yield Line(
            "Unknown", f"{count(messages.unknown, 'message')} at level error or above: {examples}", messages.files
        )


def _often(finding: MessageFinding) -> str:
    """Return how often and when messages were logged, and in how many requests if an access log covers that time."""
    text = count(finding.number, "message")
    if finding.first and finding.first == finding.last:
        text += f", at {finding.first}"
    elif finding.first:
        same_day = finding.first[:10] == finding.last[:10]
        text += f", {finding.first} to {finding.last[11:] if same_day else finding.last}"
        lasted_s = (_at(finding.last) - _at(finding.first)).total_seconds()
        if finding.number > 1 and lasted_s:
            text += f" ({_duration(lasted_s)})"
    if finding.of_requests is not None:
        text += f", in {count(finding.of_requests, 'request')}"
        if finding.answered:
            statuses = " or ".join(map(str, finding.row.statuses))
            text += f"; {count(finding.answered, 'request')} got {statuses}"
    return text


def _duration(lasted_s: float) -> str:
    if lasted_s < _MINUTE_S:
        return seconds(lasted_s)
    long = next(((unit_s, name) for unit_s, name in _LONG_UNITS if lasted_s >= 2 * unit_s), (_MINUTE_S, "min"))
    return f"{lasted_s / long[0]:.0f} {long[1]}"


def _affects(finding: MessageFinding) -> str:
    """Return who notices; connections in stream{} and mail{} have no status."""
    general = all_rows()[finding.row.id]
    if general.statuses and 0 < finding.number <= finding.subrequests:
        return (
            "nginx's own subrequests: nobody if mirror makes them; with auth_request, the client gets 500; with "
            "SSI, a part of the page is missing"
        )
    if not finding.streams or not (general.statuses or general.area == "upstream"):
        return finding.row.affects
    own = general.in_stream.affects if general.in_stream is not None else general.affects
    closed = own if own != general.affects else _CLOSED
    if finding.mails >= finding.streams:
        closed = "logins in mail: nginx reports an internal error to the client and closes the connection"
    if finding.streams >= finding.number:
        return closed
    return f"{general.affects}; {count(finding.streams, 'message')} about {closed}"


def _at(text: str) -> datetime:
    return datetime.strptime(text, _TIME)  # noqa: DTZ007 - the log's own time zone, which it does not name


def _about(finding: MessageFinding) -> str:
    parts = [
        _names("upstream", "upstreams", finding.upstreams),
        _names("zone", "zones", finding.zones),
        _names("DNS server", "DNS servers", finding.resolvers),
        _names("request", "requests", finding.requests),
        _names("server", "servers", finding.servers),
        _names("client", "clients", finding.clients),
    ]
    return "; ".join(part for part in parts if part)


def _names(one: str, many: str, names: Mapping[str, int]) -> str:
    if not names:
        return ""
    if len(names) == 1:
        return f"{one} {_short(next(iter(names)))}"
    number = f"{len(names)} or more" if len(names) >= MOST_NAMES else str(len(names))
    ordered, total = list(names.items()), sum(names.values())
    if len(names) <= _MOST_NAMES:
        return f"{many} {', '.join(f'{_short(name)} ({times})' for name, times in ordered)}"
    _, least = ordered[_MOST_NAMES]
    if most := [f"{_short(name)} ({times})" for name, times in ordered if times > max(least, _LARGE_SHARE * total)]:
        return f"{number} {many}, most {', '.join(most)}"
    # A client is rarely the reason. If every name has less than one message in twenty, none is worth showing.
    if many == "clients" or ordered[0][1] < _FAIR_SHARE * total:
        return f"{number} {many}"
    return f"{number} {many}, such as {', '.join(_short(name) for name, _ in ordered[:_MOST_NAMES])}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def details(messages: Messages) -> Iterator[str]:
    """Yield every kind of message with its answer, as lines; indented lines belong to the one before."""
    for finding in (*messages.problems, *messages.looks, *messages.ordinary, *messages.at_other_times):
        yield f"{finding.row.name} ({finding.row.id})."
        yield f"  Words: {one_line(finding.example)}"
        for line in answer(finding):
            yield f"  {line.label or 'About'}: {one_line(line.text)}"


def to_json(messages: Messages) -> dict[str, Any]:
    """Return the messages in JSON types."""
    findings = (*messages.problems, *messages.looks, *messages.ordinary)
    return {
        "all": messages.all_messages,
        "unknown": messages.unknown,
        "unknown_examples": list(messages.unknown_examples),
        "found": [_json(finding) for finding in findings],
        "at_other_times": [_json(finding) for finding in messages.at_other_times],
    }


def _json(finding: MessageFinding) -> dict[str, Any]:
    row = finding.row
    return {
        "id": row.id,
        "name": row.name,
        "problem": row.problem.value,
        "rare": finding.is_rare,
        "number": finding.number,
        "first": finding.first,
        "last": finding.last,
        "of_requests": finding.of_requests,
        "answered": finding.answered,
        "statuses": list(row.statuses),
        "example": finding.example,
        "upstreams": dict(finding.upstreams),
        "zones": dict(finding.zones),
        "resolvers": dict(finding.resolvers),
        "requests": dict(finding.requests),
        "servers": dict(finding.servers),
        "clients": dict(finding.clients),
        "happened": row.happened,
        "affects": _affects(finding),
        "why": row.why,
        "next": row.first,
        "wrong": [{"advice": wrong.advice, "because": wrong.because} for wrong in row.wrong],
        "confirm": row.confirm,
        "page": row.page,
        "consequences": [
            {"id": each.row.id, "name": each.row.name, "number": each.number} for each in finding.consequences
        ],
        "files": list(finding.files),
    }
