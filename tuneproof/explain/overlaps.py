"""Finds logs that overlap, such as copies of a rotated log, and error logs and access logs from different times."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tuneproof.explain.diagnosis.thresholds import ENOUGH_REQUESTS, LOGGED_WITHIN
from tuneproof.explain.found import Found
from tuneproof.explain.parse.error_log import ErrorLog, time_of, with_only
from tuneproof.explain.parse.message_counts import MessageCount
from tuneproof.messages.rows import Problem, messages
from tuneproof.wording import share

# Two hosts may log the same lines for a monitor's requests; within each log, these lines differ only in their times.
_ENOUGH_LINES: Final = 20
_PART_SHARED: Final = 0.05
_ALL_SHARED: Final = 0.95
# Local times are at most this far ahead of UTC and behind it.
_EAST: Final = timedelta(hours=14)
_WEST: Final = timedelta(hours=12)
_PERHAPS_EARLIER: Final = (
    "if it is in the same time zone as the access logs, its messages are from before their requests, and explain none"
)


def logs_once(files: Sequence[Found]) -> list[Found]:
    """Leave out logs that other files contain as well, and warn of logs that overlap or are from different times."""
    return _of_other_times(_access_logs_once(_error_logs_once(_each_log_once(files))))


def _each_log_once(files: Sequence[Found]) -> list[Found]:
    """Leave out a file's messages if an earlier file has the same ones, as a log and a container's output may."""
    made: list[Found] = []
    for file in files:
        own = [log.content for log in file.evidence.error_logs]
        same = next((each for each in made if own and [log.content for log in each.evidence.error_logs] == own), None)
        if same is None:
            made.append(file)
            continue
        made.append(_warned(file, f"has the same messages as {same.name}: they count once", error_logs=()))
    return made


def _access_logs_once(files: Sequence[Found]) -> list[Found]:
    """Leave out an access log if nearly all of its lines are in another one, and warn of logs that overlap."""
    # Without a time, lines of different requests are often equal.
    kept = [file for file in files if any(log.content.first_time for log in file.evidence.access_logs)]
    made = {id(file): file for file in files}
    # The larger of two logs stays; of equals, the first.
    by_size = sorted(kept, key=_requests, reverse=True)
    for number, file in enumerate(by_size):
        for other in by_size[:number]:
            shared, compared = file.lines.shared(other.lines)
            if compared < _ENOUGH_LINES and not (file.lines.has_all and other.lines.has_all):
                continue
            is_copy = bool(compared) and shared >= _ALL_SHARED * compared
            if file.lines.shared_texts(other.lines) < min(_ENOUGH_LINES, shared):
                if is_copy:
                    warning = (
                        f"its lines are in {other.name} as well, and differ from each other only in their times: they "
                        "count as one client's requests to two hosts; if it is a copy, leave it out"
                    )
                    made[id(file)] = _warned(made[id(file)], warning)
                continue
            if is_copy:
                warning = f"its requests are in {other.name} as well: they count once"
                made[id(file)] = _warned(file, warning, access_logs=())
                break
            if shared >= max(_ENOUGH_LINES, _PART_SHARED * compared):
                warning = f"about {share(shared / compared)} of its lines are in {other.name} as well: they count twice"
                made[id(file)] = _warned(made[id(file)], warning)
    return list(made.values())


def _error_logs_once(files: Sequence[Found]) -> list[Found]:
    """Leave out an error log if its messages about connections are all in another one; warn of logs that overlap."""
    logs = [(file, log.content) for file in files for log in file.evidence.error_logs]
    made = {id(file): file for file in files}
    # The larger of two logs stays; of equals, the first.
    by_size = sorted(logs, key=lambda each: each[1].messages, reverse=True)
    for number, (file, log) in enumerate(by_size):
        for other, larger in by_size[:number]:
            # No two connections of one process have the same number: even a single equal line is the same message.
            shared, compared = log.of_connections.shared(larger.of_connections)
            if not shared or other is file:
                continue
            if shared == compared and _lasts_within(log, larger):
                warning = f"its messages are in {other.name} as well: they count once"
                made[id(file)] = _warned(file, warning, error_logs=())
                break
            part = share(shared / compared)
            warning = f"about {part} of its messages about connections are in {other.name} as well: they count twice"
            made[id(file)] = _warned(made[id(file)], warning)
    return list(made.values())


def _lasts_within(log: ErrorLog, larger: ErrorLog) -> bool:
    """Tell whether a log begins and ends within a larger one: messages without a connection are not compared."""
    if log.first is None or log.last is None or larger.first is None or larger.last is None:
        return False
    return larger.first <= log.first and log.last <= larger.last


def _of_other_times(files: Sequence[Found]) -> list[Found]:
    """Set apart the messages from outside the periods of all access logs, such as those of another day.

    A few requests may be an excerpt: then no message is moved, and a log from another time only gets a warning.
    """
    access_logs = [log.content for file in files for log in file.evidence.access_logs]
    periods = [(log.first_time, log.last_time) for log in access_logs if log.first_time and log.last_time]
    has_zone = all(log.has_zone for log in access_logs)
    is_excerpt = sum(log.requests for log in access_logs) < ENOUGH_REQUESTS

    def is_apart(begin: datetime | None, end: datetime | None) -> bool:
        """Tell whether a period is outside those of all access logs, in any time zone: local times are read as UTC."""
        if begin is None or end is None:
            return False
        return bool(periods) and all(end + _WEST < first or begin - _EAST > last for first, last in periods)

    def is_before(count: MessageCount) -> bool:
        """Tell whether messages are from before all requests, if both logs are in the same time zone.

        Later messages may be why there are no requests.
        """
        end = time_of(count.last)
        return end is not None and all(end + LOGGED_WITHIN < first.replace(tzinfo=UTC) for first, _ in periods)

    made = []
    for file in files:
        logs = file.evidence.error_logs
        if any(is_apart(log.content.first, log.content.last) for log in logs):
            warning = (
                "its messages and the requests in the access logs are from different times: neither explains the other"
            )
            moved: dict[str, tuple[Any, ...]] = {} if is_excerpt else {"error_logs": (), "at_other_times": logs}
            made.append(_warned(file, warning, **moved))
            continue
        kept, apart, warnings = [], [], [*file.warnings]
        for log in logs if not is_excerpt else ():
            problems = [count for count in log.content.known if messages()[count.row].problem is not Problem.NO]
            # Messages of a zone further west would all seem to be from before the requests.
            are_all_before = has_zone and bool(problems) and all(map(is_before, problems))
            old = [
                count
                for count in problems
                if is_apart(time_of(count.first), time_of(count.last))
                or (has_zone and not are_all_before and is_before(count))
            ]
            recent = [count for count in log.content.known if count not in old]
            kept.append(replace(log, content=with_only(log.content, recent)))
            warnings += [_PERHAPS_EARLIER] * are_all_before
            if old:
                apart.append(replace(log, content=with_only(log.content, old)))
        evidence = replace(file.evidence, error_logs=tuple(kept), at_other_times=tuple(apart))
        made.append(replace(file, evidence=evidence if apart else file.evidence, warnings=tuple(warnings)))
    return made


def _requests(file: Found) -> int:
    return sum(log.content.requests for log in file.evidence.access_logs)


def _warned(file: Found, warning: str, **evidence: tuple[Any, ...]) -> Found:
    """Return a file with a further warning, and with these kinds of evidence: ``access_logs=()`` removes these logs."""
    return replace(file, evidence=replace(file.evidence, **evidence), warnings=(*file.warnings, warning))
