"""Messages that extend over several lines: nginx wrote them so, or a person or a terminal wrapped them."""

import re
from typing import Final, NamedTuple

from tuneproof.explain.parse.message_counts import MessageCounts
from tuneproof.messages.patterns import find_cut_of_all, find_one

CLIENT: Final = ", client: "
"""Begins the circumstances of a message about a request."""
NEVER_PRINTED: Final = frozenset({"debug", "info", "notice"})
"""ngx_log_error_core() writes no message below warn to the terminal."""
# NGX_MAX_ERROR_STR is 2048 bytes; the rest of a longer line is not from nginx.
LONGEST: Final = 4096
"""More characters of a line are not read."""
# How a message wrapped by hand breaks off and continues, up to the name of the host.
_GOES_ON: Final = ((")", "while "), (" failed", "("), (" while", ""))
# How its circumstances continue, after a comma or within quotes.
_FURTHER: Final = re.compile(r"(?:[^,]{0,500}, )?(?:server|request|subrequest|upstream|host|referrer|login): |HTTP/\d")
_QUOTED: Final = " \t>"
_ENDS: Final = ', host: "'
_MOST_WRAPPED: Final = 4
_REQUEST: Final = re.compile(r"\S+ - ")
# Output of applications has its own line ends; nginx's circumstances follow the last one.
_STDERR: Final = 'FastCGI sent in stderr: "'
_OF_SEVERAL_LINES: Final = (_STDERR, "lua ", "[lua] ", "failed to run ", "js ")
_MOST_LINES: Final = 100
# PHP writes the error that ends a script after the script's warnings.
_PHP_STOPPED: Final = re.compile(r"(?:PHP message: )?PHP (?:Fatal|Parse) error")
_CIRCUMSTANCES: Final = re.compile(r", client: [^,\s]{1,64}, server: ")


class Begun(NamedTuple):
    """A message, or the beginning of one."""

    message: str  # empty for none
    level: str
    at: str  # its time; empty without


NONE: Final = Begun("", "", "")


class JoinedMessages:
    """Counts messages, each when its last line is known."""

    def __init__(self, counts: MessageCounts) -> None:
        self._counts = counts
        self._cut = NONE  # a message that may continue in the next line
        self._wrapped = 0  # how often it did
        self._glue = " "  # what was between its lines; nothing, if a terminal wrapped it
        self._open = NONE  # a message with several lines, up to the one with its circumstances
        self._lines = 0  # how many lines it has so far

    def add(self, begun: Begun, times: int) -> None:
        """Count a message, or wait for its other lines."""
        self.end()
        message, level, at = begun
        if times == 1 and self._may_go_on(message, level):
            self._cut = begun
        elif message.startswith(_OF_SEVERAL_LINES) and CLIENT not in message:
            self._open, self._lines = begun, 0
        else:
            self._counts.add(message, level=level, at=at, times=times)

    def goes_on(self, line: str) -> bool:
        """Tell whether a line belongs to the message before."""
        return self._is_wrapped(line) or self._closes(line)

    def end(self) -> None:
        """Count a message that waits for other lines."""
        for message, level, at in (self._cut, self._open):
            if message:
                self._counts.add(message, level=level, at=at)
        self._cut, self._open, self._wrapped = NONE, NONE, 0

    def _closes(self, line: str) -> bool:
        """Tell whether a line ends a message with several lines; in between are traces, and other requests."""
        message, level, at = self._open
        if not message:
            return False
        self._lines += 1
        found = _CIRCUMSTANCES.search(line) if CLIENT in line and _REQUEST.match(line) is None else None
        if message.startswith(_STDERR) and _PHP_STOPPED.match(line) is not None:
            message = f"{_STDERR}{line[: found.start() if found is not None else LONGEST].rstrip()}"
            self._open = Begun(message, level, at)
        if found is None and self._lines < _MOST_LINES:
            return False
        self._open = NONE
        self._counts.add(message + (line[found.start() :].rstrip() if found is not None else ""), level=level, at=at)
        return found is not None

    @staticmethod
    def _may_go_on(message: str, level: str) -> bool:
        """Tell whether a message may continue in the next line: wrapped by hand, or by a terminal anywhere."""
        if message.endswith(tuple(end for end, _ in _GOES_ON)):
            return True
        if CLIENT in message:
            return message.endswith((",", ":")) or message.count('"') % 2 == 1
        return (
            level not in NEVER_PRINTED
            and not message.startswith(_OF_SEVERAL_LINES)
            and find_one(message, level) is None
        )

    def _is_wrapped(self, line: str) -> bool:
        message, level, at = self._cut
        if not message or self._wrapped >= _MOST_WRAPPED:
            return False
        more = line[:LONGEST].rstrip("\r\n")
        if not more.strip() or _ENDS in message or _REQUEST.match(more):
            return False
        if self._wrapped and self._glue and CLIENT in message and not self._may_go_on(message, level):
            self.end()
            return False
        if not self._wrapped:
            glue = self._glue_before(more)
            if glue is None:
                self.end()
                return False
            self._glue = glue
        self._cut = Begun(f"{message}{self._glue}{more.strip(_QUOTED) if self._glue else more}", level, at)
        self._wrapped += 1
        return True

    def _glue_before(self, more: str) -> str | None:
        """Return what was between a message and its next line; None if the line does not belong to it."""
        message, level, _ = self._cut
        own = more.strip(_QUOTED)
        if any(message.endswith(end) and own.startswith(goes_on) for end, goes_on in _GOES_ON):
            return " "
        if CLIENT in message:
            words_end = message.endswith((",", ":")) or own != more or own.startswith("HTTP/")
            return None if _FURTHER.match(own) is None else " " if words_end else ""
        if find_one(message, level) is not None:
            return None
        wholes = {"": f"{message}{more}", " ": f"{message} {own}"}
        fitting = [glue for glue, whole in wholes.items() if find_one(whole, level) is not None]
        fitting += [glue for glue, whole in wholes.items() if find_cut_of_all(whole, level)]
        return next(iter(fitting), None)
