"""Joins the lines of a message: nginx wrote several lines, or a person or a terminal wrapped one."""

import re
from typing import Final, NamedTuple

from tuneproof.explain.parse.message_counts import MessageCounts
from tuneproof.messages.patterns import find_cut_of_all, find_one

CLIENT: Final = ", client: "
"""Begins the context (client, server, request, ...) that nginx appends to a message about a request."""
NEVER_PRINTED: Final = frozenset({"debug", "info", "notice"})
"""ngx_log_error_core() does not write messages below warn to the terminal."""
# nginx truncates its lines to 2048 bytes (NGX_MAX_ERROR_STR).
LONGEST: Final = 4096
"""Only this many characters of a line are read."""
# Where people break a message: the end of one line, and the beginning of the next.
_GOES_ON: Final = ((")", "while "), (" failed", "("), (" while", ""))
# How the context continues, after a comma or within quotes.
_FURTHER: Final = re.compile(r"(?:[^,]{0,500}, )?(?:server|request|subrequest|upstream|host|referrer|login): |HTTP/\d")
# How e-mails and forums mark a quoted line.
_QUOTE: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
# A complete field of the context: only requests contain spaces.
_WHOLE: Final = re.compile(
    r', (?:(?:sub)?request: "[^"]*"|(?:upstream|host|referrer|login): "[^" ]*")(?:, |$)|, server: [^", ]+, [a-z]+: '
)
# The last field of the context, except for a referrer.
_ENDS: Final = ', host: "'
_MOST_WRAPPED: Final = 6
# How many lines may follow before a known message matches, and how often this may fail in one log.
_MOST_UNFOUND: Final = 2
_MOST_FAILURES: Final = 1_000
# The number of a connection, if the first line ended right after it.
_NUMBER: Final = re.compile(r"\A\*\d+ ")
_REQUEST: Final = re.compile(r"\S+ - |\s*\{|nginx: ")
# Applications' output contains line breaks; nginx appends its context after the last line.
_STDERR: Final = 'FastCGI sent in stderr: "'
_OF_SEVERAL_LINES: Final = (_STDERR, "lua ", "[lua] ", "failed to run ", "js ")
_MOST_LINES: Final = 100
# PHP writes the error that ends a script after the script's warnings.
_PHP_STOPPED: Final = re.compile(r"(?:PHP message: )?PHP (?:Fatal|Parse) error")
_CONTEXT: Final = re.compile(r", client: [^,\s]{1,64}, server: ")


class Begun(NamedTuple):
    """A message, or the beginning of one."""

    message: str  # empty for none
    level: str
    at: str  # its time; empty if it has none


NONE: Final = Begun("", "", "")


class JoinedMessages:
    """Counts messages, each when its last line is known."""

    def __init__(self, counts: MessageCounts) -> None:
        self._counts = counts
        self._cut = NONE  # a message that may continue on the next line
        self._wholes: tuple[str, ...] = ()  # its possible texts with the lines after it, the likeliest first
        self._is_found = False  # whether a known message matches the likeliest text, or begins with it
        self._is_known = False  # whether a known message matches all of it, so that only the context may follow
        self._glue: str | None = None  # what joins its lines: a space, or "" if a terminal wrapped it; None if unknown
        self._wrapped = 0  # how many lines followed
        self._failures = 0  # number of messages for which the next lines turned out not to be continuations
        self._open = NONE  # a message with several lines, up to the one with its context
        self._lines = 0  # how many lines it has so far

    def add(self, begun: Begun, times: int) -> None:
        """Count a message, or wait for its other lines."""
        self.end()
        message, level, at = begun
        if times == 1 and self._may_go_on(message, level):
            self._cut, self._wholes = begun, (message,)
            self._is_found = self._is_known = find_one(message, level) is not None
        elif message.startswith(_OF_SEVERAL_LINES) and CLIENT not in message:
            self._open, self._lines = begun, 0
        else:
            self._counts.add(message, level=level, at=at, times=times)

    def goes_on(self, line: str) -> bool:
        """Tell whether a line belongs to the previous message."""
        return self._is_wrapped(line) or self._closes(line)

    def end(self) -> None:
        """Count a message that waits for other lines."""
        if self._cut.message:
            whole = self._wholes[0] if self._is_found else self._cut.message
            self._failures += not self._is_found and self._wrapped > 0
            self._counts.add(whole, level=self._cut.level, at=self._cut.at)
        if self._open.message:
            self._counts.add(self._open.message, level=self._open.level, at=self._open.at)
        self._cut, self._open, self._wrapped, self._glue = NONE, NONE, 0, None

    def _closes(self, line: str) -> bool:
        """Tell whether a line ends a message with several lines; traces and other requests' lines may come before."""
        message, level, at = self._open
        if not message:
            return False
        self._lines += 1
        found = _CONTEXT.search(line) if CLIENT in line and _REQUEST.match(line) is None else None
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
        """Tell whether a message may continue on the next line: a person or a terminal may have wrapped it."""
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
        """Tell whether a line seems to continue the message; if not, later lines may still show that it did."""
        if not self._cut.message or self._wrapped >= _MOST_WRAPPED:
            return False
        more = line[:LONGEST].rstrip("\r\n")
        quote = _QUOTE.match(more)
        more = more[quote.end() :] if quote is not None else more
        if not more.strip() or _REQUEST.match(more):
            return False
        if CLIENT in self._wholes[0]:
            goes_on = self._has_context(more)
        else:
            is_hopeless = not self._is_found and self._failures >= _MOST_FAILURES
            goes_on = not is_hopeless and self._has_words(more, is_quoted=quote is not None)
        if not goes_on and (self._is_found or self._wrapped >= _MOST_UNFOUND or self._failures >= _MOST_FAILURES):
            self.end()
            return False
        self._wrapped += 1
        return goes_on

    def _glues(self, own: str, more: str, *, is_quoted: bool) -> list[str]:
        """Return what may join a line to the text before it, the likeliest first."""
        whole = self._wholes[0]
        at_blank = any(whole.endswith(end) and own.startswith(goes_on) for end, goes_on in _GOES_ON)
        if at_blank or (self._is_known and CLIENT in f"{whole} {own}" and CLIENT not in f"{whole}{more}"):
            return [" "]
        if self._is_known:
            return [self._glue] if self._glue is not None else []
        return [" ", ""] if is_quoted else ["", " "]

    def _has_words(self, more: str, *, is_quoted: bool) -> bool:
        """Tell whether a line continues a message before its context; e-mail programs wrap quoted lines at spaces."""
        level, own = self._cut.level, more.strip(" \t")
        glues = self._glues(own, more, is_quoted=is_quoted)
        wholes = [
            (glue, _NUMBER.sub("", f"{whole}{glue}{own if glue else more}")) for whole in self._wholes for glue in glues
        ]
        known = [each for each in wholes if find_one(each[1], level) is not None]
        found = known or [each for each in wholes if find_cut_of_all(each[1], level)]
        found.sort(key=lambda each: CLIENT not in each[1])
        if self._is_found and not found:
            return False
        if wholes:
            self._glue = (found or wholes)[0][0]
            self._wholes = tuple(whole for _, whole in found or wholes)
            self._is_found, self._is_known = bool(found), bool(known)
        return bool(found)

    def _has_context(self, more: str) -> bool:
        """Tell whether a line continues a message within its context."""
        (whole, *_), own = self._wholes, more.strip(" \t")
        if _ENDS in whole:
            return False
        last = whole[whole.rfind(", ") :]
        at_blank, anywhere = (_WHOLE.match(f"{last}{end}") is not None for end in (f" {own}", more))
        if anywhere and not at_blank:
            self._glue = ""
        elif at_blank and not anywhere and self._glue != " ":
            whole, self._glue = self._wholes[-1], " "
        if self._glue != "":
            if not self._may_go_on(whole, self._cut.level) or _FURTHER.match(own) is None:
                return False
            words_end = whole.endswith((",", ":")) or own != more or own.startswith("HTTP/") or self._glue == " "
            self._glue = " " if words_end else ""
        self._wholes = (f"{whole}{self._glue}{own if self._glue else more}",)
        return True
