"""Additions and changes to the user's files with which nginx starts in the lab: a script, a server block and others."""

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.audit.patches import Edit, Insert, Replace
from tuneproof.conf.tree import Configuration
from tuneproof.conf.values import size_bytes, whole_number
from tuneproof.errors import BadInputError
from tuneproof.lab.subject.own_nginx import DESCRIPTORS, socket_path
from tuneproof.yours.needs import EMPTY, Needs

SCRIPT: Final = "/etc/tuneproof/start.sh"
_UID: Final = 61000
# For Debian's nginx: the folder with its modules, and the base of relative paths.
_MODULES: Final = "/usr/lib/nginx/modules"
_PREFIX: Final = "/usr/share/nginx"
# In images of nginx's forks, the program has another name.
_FIND: Final = "nginx=$(command -v nginx || command -v angie || command -v openresty)"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The differences from the user's files."""

    edits: tuple[Edit, ...]  # changes in the files
    notes: tuple[str, ...]  # the changes and the additions, in words


def changes_for(configuration: Configuration, needs: Needs, *, probe_port: int) -> Changes:
    """Return the necessary changes in the files, and the additions around them.

    Raises BadInputError: The configuration has no http{}.
    """
    http = next(iter(configuration.main.all("http")), None)
    if http is None:
        raise BadInputError("there is no http{} in it: only HTTP is tested", remedy="name a configuration with servers")
    edits: list[Edit] = []
    # The limits come first, since the screen shows only three changes.
    notes = [*_lowered(configuration)]
    if not configuration.is_fragment:
        edits.append(Insert(after=http, text=probe_server(probe_port)))
        notes.append(f"{http.file}:{http.line}: a server for probes on port {probe_port}")
    if needs.starts_in_background is not None:
        edits.append(Replace(old=needs.starts_in_background, text="daemon off;"))
        notes.append(f"{needs.starts_in_background.file}:{needs.starts_in_background.line}: daemon off")
    for said in configuration.main.local("master_process"):
        if said.value == "off":
            edits.append(Replace(old=said, text="master_process on;"))
            notes.append(f"{said.file}:{said.line}: master_process on, for reloads and fresh workers")
    notes += [f"{path}: created, {'empty' if material == EMPTY else material}" for path, material in needs.made.items()]
    notes += [f"account and group {name}: created if missing" for name in needs.accounts]
    return Changes(edits=tuple(edits), notes=tuple(notes))


def _lowered(configuration: Configuration) -> Iterator[str]:
    """Yield the limits that the configuration raises but the lab does not; nginx continues with the lab's limits."""
    for said, _ in configuration.main.everything():
        place = f"{said.file}:{said.line}: {said.name} {said.value}"
        if said.name == "worker_rlimit_nofile" and (whole_number(said.value) or 0) > DESCRIPTORS:
            yield f"{place}: {DESCRIPTORS} in the lab"
        elif said.name == "worker_rlimit_core" and size_bytes(said.value):
            yield f"{place}: 0 in the lab, which keeps no core dumps"
        elif said.name == "worker_priority" and said.value.startswith("-"):
            yield f"{place}: 0 in the lab, where no process takes precedence"


def probe_server(port: int) -> str:
    """Return a server block that answers at once, even if http{} restricts access."""
    return f"server {{ listen {port}; access_log off; location / {{ access_log off; return 204; }} }}"


def script(
    needs: Needs, *, main: str, served: Sequence[str] = (), sockets: Sequence[str] = (), modules: Sequence[str] = ()
) -> str:
    """Return the shell script that starts nginx, creates files such as those of try_files, and links unix sockets.

    ``modules``: files of modules to load before the configuration, which needs them but does not load them.
    """
    return "\n".join(["#!/bin/sh", "set -eu", *_lines(needs, served, sockets), _start(needs, main, modules), ""])


def _lines(needs: Needs, served: Sequence[str], sockets: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(needs.accounts):
        quoted = shlex.quote(name)
        yield (
            f"grep -q ^{quoted}: /etc/group || echo {quoted}:x:{_UID}: >>/etc/group\n"
            f"grep -q ^{quoted}: /etc/passwd || echo {quoted}:x:{_UID}:{_UID}::/nonexistent:/bin/false >>/etc/passwd"
        )
    folders = dict.fromkeys([*needs.folders, *map(posixpath.dirname, (*served, *sockets))])
    if folders:
        yield f"mkdir -p {' '.join(shlex.quote(folder) for folder in folders if folder)}"
    for path in (*(path for path, material in needs.made.items() if material == EMPTY), *served):
        yield f"[ -e {shlex.quote(path)} ] || : >{shlex.quote(path)}"
    for written in needs.modules:
        # nginx looks for a relative path in its prefix (ngx_load_module).
        path, there = posixpath.join(needs.prefix or _PREFIX, written), f"{_MODULES}/{posixpath.basename(written)}"
        yield f"[ -e {shlex.quote(path)} ] || {{ mkdir -p {shlex.quote(posixpath.dirname(path))}"
        yield f"ln -s {shlex.quote(there)} {shlex.quote(path)}; }}"
    for number, path in enumerate(sockets):
        yield f"ln -sfn {socket_path(number)} {shlex.quote(path)}"


def _start(needs: Needs, main: str, modules: Sequence[str]) -> str:
    prefix = f" -p {shlex.quote(needs.prefix)}/" if needs.prefix else ""
    lines = [f"load_module {_MODULES}/{name};" for name in modules]
    if not needs.stays_in_foreground and needs.starts_in_background is None:
        lines.append("daemon off;")
    options = f" -g {shlex.quote(' '.join(lines))}" if lines else ""
    return f"{_FIND}\n$nginx -v\nexec $nginx{prefix} -c {shlex.quote(main)}{options}"
