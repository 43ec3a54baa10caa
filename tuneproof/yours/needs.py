"""What nginx needs to start, in addition to its configuration: directories, certificates, accounts, and so on."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tuneproof.conf.statements import Statement
from tuneproof.conf.tree import Configuration

CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
PARAMETERS: Final = "dhparam.pem"
TICKET_KEY: Final = "ticket.key"
PLACES: Final = "geoip2.mmdb"
"""A database without addresses: :mod:`tuneproof.yours.no_places`."""
JAVASCRIPT: Final = "module.js"
"""A JavaScript module without functions; a location that calls a function responds with 500."""
EMPTY: Final = ""

# Replacements for files that directives name, each with its name in the stand-in image's /etc/tuneproof.
_MATERIALS: Final[Mapping[str, str]] = {
    **{f"{prefix}ssl_certificate": CERTIFICATE for prefix in ("", "proxy_", "grpc_", "uwsgi_")},
    **{f"{prefix}ssl_certificate_key": KEY for prefix in ("", "proxy_", "grpc_", "uwsgi_")},
    **{f"{prefix}ssl_trusted_certificate": CERTIFICATE for prefix in ("", "proxy_", "grpc_", "uwsgi_")},
    # The replacement key needs no password.
    **{f"{prefix}ssl_password_file": EMPTY for prefix in ("", "proxy_", "grpc_", "uwsgi_")},
    "ssl_client_certificate": CERTIFICATE,
    "ssl_dhparam": PARAMETERS,
    "ssl_session_ticket_key": TICKET_KEY,
    "auth_basic_user_file": EMPTY,
}
# The first argument of each is a file that nginx writes, or a folder to which it writes.
_WRITTEN_FILES: Final = frozenset({"access_log", "error_log", "pid", "lock_file"})
_WRITTEN_FOLDERS: Final = frozenset(
    {
        "client_body_temp_path",
        *(f"{kind}_temp_path" for kind in ("proxy", "fastcgi", "uwsgi", "scgi")),
        *(f"{kind}_cache_path" for kind in ("proxy", "fastcgi", "uwsgi", "scgi")),
    }
)
# If the file that such a directive names is missing, requests fail.
_LUA: Final = re.compile(r"\w+_by_lua_file")
_NOT_FILES: Final = ("off", "stderr", "syslog:", "memory:", "data:", "engine:", "store:")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What nginx needs for a start."""

    folders: tuple[str, ...]  # folders that must exist
    made: Mapping[str, str]  # files to create, by path: the name of a material, or EMPTY
    accounts: tuple[str, ...]  # names of accounts and groups
    starts_in_background: Statement | None  # the ``daemon on`` in the files, if there is one
    stays_in_foreground: bool  # whether the files have a ``daemon off``
    modules: tuple[str, ...]  # paths of the loaded modules, as written
    prefix: str = ""  # folder for relative names of logs and caches; empty if no name is relative


def needs_of(configuration: Configuration, *, folder: str, there: Collection[str]) -> Needs:
    """Return what a configuration needs apart from paths in ``there``; relative names are in nginx.conf's folder."""
    said = [statement for statement, _ in configuration.main.everything()]
    databases = [posixpath.join(folder, block.args[0]) for block in configuration.main.all("geoip2") if block.args]
    named = [*_made(said, folder), *((posixpath.normpath(path), PLACES) for path in databases)]
    # A file that is both certificate and key gets the key's material, which has both.
    named.sort(key=lambda one: one[1] == KEY)
    named += [
        (posixpath.join(folder, one.args[-1]), JAVASCRIPT) for one in said if one.name == "js_import" and one.args
    ]
    made = {path: material for path, material in named if path not in there}
    made |= {one.value: EMPTY for one in said if _LUA.fullmatch(one.name) and one.value.startswith("/")}
    made |= {
        posixpath.join(folder, name): EMPTY
        for name in configuration.unseen
        if not set("*?[") & set(name) and posixpath.join(folder, name) not in there
    }
    daemon = next((one for one in said if one.name == "daemon"), None)
    return Needs(
        folders=tuple(dict.fromkeys([*_folders(said, folder), *sorted(map(posixpath.dirname, made))])),
        prefix=folder if any(_is_relative(one) for one in said) else "",
        made=made,
        accounts=tuple(name for one in said if one.name == "user" for name in one.args),
        starts_in_background=daemon if daemon is not None and daemon.value == "on" else None,
        stays_in_foreground=daemon is not None and daemon.value == "off",
        modules=tuple(one.value for one in said if one.name == "load_module"),
    )


def _made(said: list[Statement], folder: str) -> Iterator[tuple[str, str]]:
    for one in said:
        if one.name in _MATERIALS and one.args and "$" not in one.value and not one.value.startswith(_NOT_FILES):
            yield posixpath.normpath(posixpath.join(folder, one.value)), _MATERIALS[one.name]


def _is_relative(one: Statement) -> bool:
    """Return whether a directive names something that nginx writes under its prefix."""
    if one.name not in {*_WRITTEN_FILES, *_WRITTEN_FOLDERS} or not one.args:
        return False
    return not one.value.startswith(("/", "$", *_NOT_FILES))


def _folders(said: list[Statement], prefix: str) -> Iterator[str]:
    for one in said:
        path = one.value.partition("$")[0]
        if _is_relative(one):
            path = posixpath.join(prefix, path)
        if not path.startswith("/"):
            continue
        if one.name == "working_directory":
            yield path
        if one.name in _WRITTEN_FILES:
            yield posixpath.dirname(path)
        elif one.name in _WRITTEN_FOLDERS:
            # nginx creates the last folder itself, owned by the workers' user.
            yield posixpath.dirname(path.rstrip("/"))
