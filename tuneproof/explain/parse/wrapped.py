"""Removes what other programs add to nginx's lines: journald, Docker, Kubernetes, syslog, exports, web pages.

A line without a prefix is returned unchanged.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from tuneproof.messages.rows import LEVELS
from tuneproof.wording import plain_quotes, without_escapes

_ISO: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_MONTHS: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_PREFIX: Final = re.compile(
    # kubectl logs --prefix; docker compose; docker service logs
    r"\s*(?:\[pod/[^\]\s]{1,300}\] |[\w.@-]{1,100} +\| "
    # stern prints pod and container
    r"|[a-z0-9][a-z0-9.-]{1,252} [a-z0-9-]{1,63} (?=[\da-f.:]{3,45} - )"
    # syslog and journald: RFC 3164, with or without priority and year, short-full and short-monotonic, and RFC 5424
    rf"|(?:<\d{{1,3}}>)?(?:{_MONTHS} [ \d]\d (?:\d{{4}} )?\d\d:\d\d:\d\d(?:\.\d+)?|{_ISO}"
    rf"|{_DAY} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [A-Z][\w+-]{{1,9}})"
    r" [\w.:-]{1,255} [\w./@-]{1,100}(?:\[\d+\])?: "
    # short-monotonic; dmesg prints such a time without a host.
    r"|\[ *\d+\.\d+\] [\w.-]{1,255} (?:kernel|[\w./@-]{1,100}\[\d+\]): "
    rf"|<\d{{1,3}}>1 {_ISO} \S{{1,255}} \S{{1,48}} \S{{1,128}} \S{{1,32}} (?:-|\[[^\]]*\]) (?:\ufeff)?"
    # kubectl logs --timestamps and docker logs -t; CRI's files; logcli prints the labels
    rf"|{_ISO} (?:std(?:out|err) (?:[FP] )?|\{{[^{{}}]{{0,900}}\}} +)?"
    # quoted, numbered or tabulated lines: mails and web threads, cat -n and less -N, a provider's console
    r"|(?:> ?|\d{1,9}[ \t:]+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \| (?:stdout|stderr) \| |[ \t]+))(?=[\[>\d]|nginx: )"
    # grep
    r"|[\w./-]{1,200}\.log(?:\.\d+)?(?:[:-]\d+)?[:-](?=\d{4}/|nginx: )"
    r")"
)
_BEGINS_JSON: Final = '{"'
# Docker's json-file, journalctl -o json, shippers such as Fluent Bit and Vector, Loki, Google Cloud, Graylog, Splunk.
_KEYS: Final = (
    *("log", "MESSAGE", "message", "msg", "line", "textPayload", "full_message", "short_message", "_raw", "@message"),
    *("body", "Body"),
    # Azure's tables ContainerLogV2, ContainerLog, ContainerAppConsoleLogs_CL and AppServiceConsoleLogs.
    *("LogMessage", "LogEntry", "Log_s", "ResultDescription"),
)
# The keys of inner objects, as in search results.
_INNER_KEYS: Final = ("_source", "jsonPayload", "content", "attributes", "result", "event")
# Lists of lines in one object: CloudWatch, OpenTelemetry, Loki (a time before each line), Elastic's original line, and
# a command's stderr in Ansible's output.
_DEEP: Final = re.compile(
    r'"(message|stringValue|\d{16,19}|original|stderr|LogMessage|LogEntry|Log_s|ResultDescription)"'
    r'\s*[:,]\s*"'
)
_MOST_LAYERS: Final = 3
# An access log's line in an exported table, after its time: CloudWatch, Loki.
_CSV_ROW: Final = re.compile(r'[^",\n]{1,60},"(?=[^"]*"")((?:[^"]|"")*+)"')

# Where nginx's own text begins in a line: other programs add columns, labels, keys, and "\n" for line breaks.
_BEGINNING: Final = re.compile(
    rf"(?:\d{{4}}/\d\d/\d\d \d\d:\d\d:\d\d \[(?i:{LEVELS})\] \d+#\d+: "
    rf"|(?:(?<![\w/.-])|(?<=\\n))(?:nginx|angie): \[(?:{LEVELS})\] )"
)
_LONGEST_PREFIX: Final = 1_000
# Text after a request is not from nginx: a request may contain a message, for example as user agent.
_REQUEST: Final = re.compile(r'"[A-Z]{3,20} |HTTP/\d|^\W{0,9}\d{1,3}(?:\.\d{1,3}){3} ')
# JSON in several lines may contain a message twice: what a shipper read, and what it sends.
_JSON_KEY: Final = re.compile(r'\s*"([^"]{1,100})"\s*:\s*"')
_JSON_STRING: Final = re.compile(r'(?:[^"\\]|\\.)*')
_CSV_FIELD: Final = re.compile(r'((?:[^"]|"")*+)"\s*(?:[,;\t]|$)')
_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)")


def nginx_line(line: str) -> str:
    """Return the part of a line that nginx wrote; if it is not found, the result of ``unwrapped``."""
    line = unwrapped(plain_quotes(line))
    found = None if line.lstrip().startswith(_BEGINS_JSON) else _BEGINNING.search(line, 0, _LONGEST_PREFIX)
    if found is None or _REQUEST.search(before := line[: found.start()]) is not None:
        return line
    if (key := _JSON_KEY.fullmatch(before)) is not None and key[1] not in _KEYS:
        return line
    return _field(line[found.start() :]) if before.endswith('"') else line[found.start() :]


def inner_lines(line: str) -> list[str]:
    """Return nginx's lines from deep inside JSON; empty for other text."""
    if not line.lstrip("[ ").startswith(_BEGINS_JSON):
        return []
    found = [key for key in _DEEP.finditer(line) if _BEGINNING.match(line, key.end()) is not None]
    # A record may contain a message twice: what a shipper read, and what it sends.
    names = ["1" if key[1].isdigit() else key[1] for key in found]
    return [_field(line[key.end() :]) for key, name in zip(found, names, strict=True) if name == names[0]]


def _field(text: str) -> str:
    """Return the JSON or CSV field at the beginning of a text; without a field, the whole text."""
    if '\\"' in text:
        string = _JSON_STRING.match(text)
        try:
            return str(json.loads(f'"{string[0]}"', strict=False)).rstrip("\r\n") if string is not None else text
        except ValueError:
            return text
    field = _CSV_FIELD.match(text)
    return field[1].replace('""', '"') if field is not None else text


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
            if inner is None and (row := _CSV_ROW.match(line)) is not None:
                inner = row[1].replace('""', '"')
        if inner is None:
            return line
        line = inner
    return line


def _of_json(line: str) -> str | None:
    try:
        value = json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None
    return _of_object(value) if isinstance(value, dict) else None


def _of_object(value: Mapping[str, Any]) -> str | None:
    if (own := _of_parsed(value)) is not None:
        return own
    # The last key is Elastic's copy of the whole line, which repeats the message.
    for key in (*_KEYS, "original"):
        inner = value.get(key)
        if isinstance(inner, str):
            return inner.rstrip("\r\n")
        # journald writes non-text bytes as numbers.
        if isinstance(inner, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in inner):  # noqa: PLR2004 - a byte
            return bytes(inner).decode(errors="replace").rstrip("\r\n")
    inner_objects = (value.get(key) for key in _INNER_KEYS)
    return next((_of_object(inner) for inner in inner_objects if isinstance(inner, dict)), None)


def _of_parsed(value: Mapping[str, Any]) -> str | None:
    """Rebuild the line of a message that a shipper has taken apart: Filebeat's nginx module, Vector, Fluent Bit.

    https://www.elastic.co/guide/en/ecs/, https://vector.dev/docs/reference/vrl/functions/#parse_nginx_log
    """
    message = value.get("message")
    if not isinstance(message, str):
        return None
    if _at(value, "event.dataset") == "nginx.error":
        level, time = _at(value, "log.level"), value.get("@timestamp")
    elif "pid" in value and "tid" in value:
        level, time = value.get("severity", value.get("level")), value.get("timestamp", value.get("time"))
    else:
        return None
    level = str(level).lower()
    if level not in LEVELS.split("|"):
        return None
    if _BEGINNING.match(message) is not None:
        return message
    at = _STAMP.match(str(time or ""))
    stamp = f"{at[1].replace('-', '/')} {at[2]} " if at is not None else ""
    if ", client: " not in message:
        quoted = {"request", "upstream", "host", "referrer"}
        context = (
            (name, value[name])
            for name in ("client", "server", "request", "upstream", "host", "referrer")
            if isinstance(value.get(name), str) and (name != "host" or "client" in value)
        )
        message += "".join(f', {name}: "{text}"' if name in quoted else f", {name}: {text}" for name, text in context)
    return f"{stamp}[{level}] 0#0: {message}"


def _at(value: Mapping[str, Any], path: str) -> object:
    """Return the value at a path, which may also be a single key."""
    outer, _, inner = path.partition(".")
    nested = value.get(outer)
    return nested.get(inner) if isinstance(nested, dict) else value.get(path)
