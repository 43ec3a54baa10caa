"""The directives in one version of nginx, and their properties according to its sources."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tools.directives.known import known
from tools.directives.modules import Command, Declared
from tools.directives.settings import Setting, settings
from tools.directives.written import written

_CONTEXTS: Final = {
    "NGX_MAIN_CONF": "main",
    "NGX_EVENT_CONF": "events",
    "NGX_HTTP_MAIN_CONF": "http",
    "NGX_HTTP_SRV_CONF": "server",
    "NGX_HTTP_LOC_CONF": "location",
    "NGX_HTTP_UPS_CONF": "upstream",
    "NGX_HTTP_SIF_CONF": "if in server",
    "NGX_HTTP_LIF_CONF": "if in location",
    "NGX_HTTP_LMT_CONF": "limit_except",
    "NGX_STREAM_MAIN_CONF": "stream",
    "NGX_STREAM_SRV_CONF": "stream server",
    "NGX_STREAM_UPS_CONF": "stream upstream",
    "NGX_MAIL_MAIN_CONF": "mail",
    "NGX_MAIL_SRV_CONF": "mail server",
}
_OUTERMOST: Final = frozenset({"main", "events", "http", "stream", "mail"})
_INNERMOST: Final = frozenset({"upstream", "stream upstream", "stream server", "mail server"})
# A list: several directives in a block add up, and replace those of outer blocks.
_LISTS: Final = frozenset(
    {
        *("ngx_conf_set_str_array_slot", "ngx_conf_set_keyval_slot", "ngx_conf_set_bitmask_slot"),
        *("ngx_http_set_predicate_slot", "ngx_http_upstream_param_set_slot", "ngx_http_types_slot"),
        *("ngx_http_file_cache_valid_set_slot", "ngx_http_file_cache_set_slot"),
        *("ngx_http_headers_add", "ngx_mail_capabilities"),
    }
)
_FLAG_SETTER: Final = "ngx_conf_set_flag_slot"
# These return "is duplicate" for a repeated directive in a block, whatever its arguments are.
_ONCE: Final = frozenset(
    {
        *(f"ngx_conf_set_{name}_slot" for name in ("num", "size", "off", "msec", "sec", "bufs", "enum", "str")),
        *(f"ngx_http_set_complex_value_{name}slot" for name in ("", "zero_", "size_")),
        *(f"ngx_stream_set_complex_value_{name}slot" for name in ("", "zero_", "size_")),
        *("ngx_http_core_root", "ngx_http_proxy_pass", "ngx_http_core_resolver"),
        *("ngx_set_worker_processes", "ngx_event_connections"),
    }
)
# The form of a value, by the function that reads it.
_VALUES: Final = {
    "ngx_conf_set_num_slot": "number",
    "ngx_conf_set_size_slot": "size",
    "ngx_conf_set_off_slot": "offset",
    "ngx_conf_set_msec_slot": "msec",
    "ngx_conf_set_sec_slot": "sec",
    "ngx_conf_set_bufs_slot": "buffers",
}
_WITHOUT_EFFECT: Final = ("_obsolete", "_deprecated")
_STRUCTURE: Final = re.compile(r"\b(ngx_\w+_t)\s+\*(\w+)\s*=\s*(?:\(ngx_\w+_t \*\)\s*)?conf\b")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A module's directive in one version."""

    name: str
    module: str
    contexts: tuple[str, ...]
    arguments: str  # numbers of arguments: "1", "1-3", "1,3", "2-" without a limit
    kind: str  # "flag", "block", a value of _VALUES, "once" for others that a block takes only once, or empty
    inheritance: str
    default: str  # empty if it has none, or if it is unknown


class Sources:
    """The declarations in all files of one version."""

    def __init__(self, files: Iterable[Declared]) -> None:
        self.functions: dict[str, str] = {}
        self.defines: dict[str, str] = {}
        self.values: dict[str, tuple[tuple[str, str], ...]] = {}
        self.settings: dict[tuple[str, str], list[Setting]] = {}
        self.commands: list[Command] = []
        for file in files:
            self.functions.update(file.functions)
            self.defines = {**file.defines, **self.defines}
            self.values.update(file.values)
            self.commands += file.commands
            for key, found in settings(file.functions):
                self.settings.setdefault(key, []).append(found)


def rows(sources: Sources, version: str) -> Iterator[Row]:
    """Yield a row for each entry in nginx's arrays of directives."""
    for command in sources.commands:
        contexts = _contexts(command.flags)
        yield Row(
            name=command.name,
            module=command.module,
            contexts=contexts,
            arguments=_arguments(command.flags),
            kind=_kind(command, sources),
            inheritance=_inheritance(command, frozenset(contexts), sources, version),
            default=_default(command, sources, version) or "",
        )


def _contexts(flags: frozenset[str]) -> tuple[str, ...]:
    return tuple(name for flag, name in _CONTEXTS.items() if flag in flags or "NGX_ANY_CONF" in flags)


def _arguments(flags: frozenset[str]) -> str:
    if "NGX_CONF_FLAG" in flags:
        return "1"
    for flag, text in (("NGX_CONF_ANY", "0-"), ("NGX_CONF_1MORE", "1-"), ("NGX_CONF_2MORE", "2-")):
        if flag in flags:
            return text
    counts = {0} if "NGX_CONF_NOARGS" in flags else set()
    for flag in flags:
        counts |= {int(digit) for digit in flag.removeprefix("NGX_CONF_TAKE") if flag.startswith("NGX_CONF_TAKE")}
    least, most = min(counts), max(counts)
    if len(counts) == most - least + 1:
        return str(least) if least == most else f"{least}-{most}"
    return ",".join(map(str, sorted(counts)))


def _kind(command: Command, sources: Sources) -> str:
    if _is_flag(command, sources):
        return "flag"
    if "NGX_CONF_BLOCK" in command.flags:
        return "block"
    return _VALUES.get(command.setter) or ("once" if command.setter in _ONCE else "")


def _is_flag(command: Command, sources: Sources) -> bool:
    """Return whether a directive accepts only on and off; some with NGX_CONF_FLAG accept other words as well."""
    return command.setter == _FLAG_SETTER or f"{_FLAG_SETTER}(" in sources.functions.get(command.setter, "")


def _found(command: Command, sources: Sources) -> Mapping[str, Sequence[Setting]]:
    """Return the facts about the fields that a directive sets: the field in its entry, or those in its function."""
    if command.field:
        found = sources.settings.get((command.structure, command.field))
        return {command.field: found} if found else {}
    body = sources.functions.get(command.setter, "")
    match = _STRUCTURE.search(body)
    names = set(re.findall(rf"\b{match[2]}->([\w.]+)", body)) if match else set()
    return {name: one for name in sorted(names) if match and (one := sources.settings.get((match[1], name)))}


def _inheritance(command: Command, contexts: frozenset[str], sources: Sources, version: str) -> str:
    if contexts <= _INNERMOST or contexts == {"server"} or command.setter.endswith(_WITHOUT_EFFECT):
        return "never"
    if by_hand := known("inheritance", command.name, command.module, version):
        return by_hand
    if "NGX_CONF_BLOCK" in command.flags:
        return "never"
    if contexts <= _OUTERMOST:
        return "inherited"
    if command.field and any(one.is_inherited for one in _found(command, sources).get(command.field, ())):
        return "replaced" if command.setter in _LISTS else "inherited"
    raise ValueError(
        f"nginx {version}: how {command.name} in {command.module} is inherited is unknown; add it to known.toml"
    )


def _default(command: Command, sources: Sources, version: str) -> str | None:
    by_hand = known("default", command.name, command.module, version)
    if by_hand is not None:
        return by_hand
    found = _found(command, sources)
    setter = re.fullmatch(r"ngx_conf_set_(\w+)_slot", command.setter)
    for name, several in found.items():
        for one in several:
            if one.default and (command.field or command.name.endswith(name)):
                kind = setter[1] if setter else one.kind
                words = sources.values.get(command.post, ())
                return written(kind, one.default, words=words, defines=sources.defines)
    return None
