"""nginx's error messages about logs (ngx_http_log_set_log, ngx_stream_log_set_log, ngx_syslog_parse_args)."""

from collections.abc import Iterator
from typing import Final

from tuneproof.conf.statements import Problem, Statement
from tuneproof.conf.tree import Block, is_given, problem_at
from tuneproof.conf.values import size_bytes, time_ms, whole_number

_GZIP_BYTES: Final = 64 << 10
_LONGEST_TAG: Final = 32
_SYSLOG: Final = "syslog:"
_SEVERITIES: Final = frozenset({"emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"})
_FACILITIES: Final = frozenset(
    {
        *("kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock", "authpriv", "ftp"),
        *("ntp", "audit", "alert", "cron", *(f"local{number}" for number in range(8))),
    }
)


def log_problems(level: Block) -> Iterator[Problem]:
    """Yield the errors about the logs of http{} or stream{}."""
    buffers: dict[str, tuple[int | None, ...]] = {}
    for said, _ in level.everything():
        if said.name not in {"access_log", "error_log"} or not is_given(said):
            continue
        of_syslog = _of_syslog(said.value.removeprefix(_SYSLOG)) if said.value.startswith(_SYSLOG) else ""
        if message := of_syslog or (said.name == "access_log" and _problem(said, level, buffers)):
            yield problem_at(said, message)


def _problem(said: Statement, level: Block, buffers: dict[str, tuple[int | None, ...]]) -> str:
    path, options = said.value, said.args[1:]
    if path == "off":
        return f'invalid parameter "{options[0]}"' if options else ""
    if level.name == "stream" and not options:
        return "log format is not specified"
    buffer = _buffer(options[1:])
    if buffer is None:
        has_flush = any(arg.startswith("flush=") for arg in options[1:])
        return f'no buffer is defined for access_log "{path}"' if has_flush else ""
    if path.startswith(_SYSLOG):
        return "logs to syslog cannot be buffered"
    if "$" in path:
        return "buffered logs cannot have variables in name"
    is_other = buffer != buffers.setdefault(path, buffer)
    return f'access_log "{path}" already defined with conflicting parameters' if is_other else ""


def _buffer(options: tuple[str, ...]) -> tuple[int | None, ...] | None:
    """Return a log's buffer size, its time to flush and its compression level; None without a buffer."""
    values = {name: value for name, _, value in (option.partition("=") for option in options)}
    if not {"buffer", "gzip"} & values.keys():
        return None
    size = size_bytes(values["buffer"]) if "buffer" in values else _GZIP_BYTES
    level = whole_number(values["gzip"] or "1") if "gzip" in values else 0
    return size, time_ms(values.get("flush", "0")), level


def _of_syslog(parameters: str) -> str:
    names = set()
    for parameter in parameters.split(","):
        name, _, value = parameter.partition("=")
        if parameter != "nohostname" and (
            name not in {"server", "facility", "severity", "tag"} or "=" not in parameter
        ):
            return f'unknown syslog parameter "{parameter}"'
        if name in names and name != "nohostname":
            return f'duplicate syslog "{name}"'
        names.add(name)
        known = {"facility": _FACILITIES, "severity": _SEVERITIES}.get(name)
        if known is not None and value not in known:
            return f'unknown syslog {name} "{value}"'
        if name == "tag" and len(value) > _LONGEST_TAG:
            return "syslog tag length exceeds 32"
        if name == "tag" and not all(one.isascii() and (one.isalnum() or one == "_") for one in value):
            return 'syslog "tag" only allows alphanumeric characters and underscore'
    return "" if "server" in names else "no syslog server specified"
