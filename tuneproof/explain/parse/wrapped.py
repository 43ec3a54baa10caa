"""Lines of nginx without the prefixes that other programs add: journald, Docker, Kubernetes, syslog.

A line is returned as nginx wrote it; one without a prefix is returned unchanged.
"""

import json
import re
from typing import Final

from tuneproof.wording import without_escapes

_ISO: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_MONTHS: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_PREFIX: Final = re.compile(
    # kubectl logs --prefix; docker compose; docker service logs
    r"\s*(?:\[pod/[^\]\s]{1,300}\] |[\w.@-]{1,100} +\| "
    # syslog and journald: RFC 3164, with or without priority and year, and RFC 5424
    rf"|(?:<\d{{1,3}}>)?(?:{_MONTHS} [ \d]\d (?:\d{{4}} )?\d\d:\d\d:\d\d(?:\.\d+)?|{_ISO})"
    r" [\w.:-]{1,255} [\w./@-]{1,100}(?:\[\d+\])?: "
    rf"|<\d{{1,3}}>1 {_ISO} \S{{1,255}} \S{{1,48}} \S{{1,128}} \S{{1,32}} (?:-|\[[^\]]*\]) (?:\ufeff)?"
    # kubectl logs --timestamps and docker logs -t; CRI's files
    rf"|{_ISO} (?:std(?:out|err) [FP] )?"
    # quoted, numbered or tabulated lines: a mail or a thread, cat -n and less -N, a provider's console
    r"|(?:> ?|\d{1,9}[ \t:]+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \| (?:stdout|stderr) \| |[ \t]+))(?=[\[>\d]|nginx: )"
    # grep
    r"|[\w./-]{1,200}\.log(?:\.\d+)?(?:[:-]\d+)?[:-](?=\d{4}/|nginx: )"
    r")"
)
_BEGINS_JSON: Final = '{"'
# Docker's json-file, journalctl -o json, and shippers such as Fluent Bit and Vector.
_KEYS: Final = ("log", "MESSAGE", "message", "msg")
_MOST_LAYERS: Final = 3


def unwrapped(line: str) -> str:
    """Return a line as nginx wrote it."""
    if "\x1b" in line:
        line = without_escapes(line)
    for _ in range(_MOST_LAYERS):
        if line.startswith(_BEGINS_JSON) or line[:40].lstrip().startswith(_BEGINS_JSON):
            inner = _of_json(line)
        else:
            match = _PREFIX.match(line)
            inner = line[match.end() :] if match is not None and match.end() else None
        if inner is None:
            return line
        line = inner
    return line


def _of_json(line: str) -> str | None:
    try:
        value = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    for key in _KEYS:
        inner = value.get(key)
        if isinstance(inner, str):
            return inner.rstrip("\r\n")
        # journald writes bytes that are not text as numbers.
        if isinstance(inner, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in inner):  # noqa: PLR2004 - a byte
            return bytes(inner).decode(errors="replace").rstrip("\r\n")
    return None
