"""Runs the command line on hostile inputs, each in a separate process with limits.

The inputs are rows of tests/captures/hostile/inputs.toml. The kernel limits CPU time and memory. The limit of CPU time
is generous, since a program needs more CPU time on a loaded machine: it only catches inputs that take forever.
"""

import gzip
import io
import json
import os
import re
import resource
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tests.support.written_results import HOST, a_cell
from tuneproof.cli import audit, compare, explain, report, upgrade, why
from tuneproof.cli.budget import bounded
from tuneproof.cli.main import main
from tuneproof.cli.output import say, show
from tuneproof.errors import TuneproofError
from tuneproof.explain.document import document
from tuneproof.report.html import write_report
from tuneproof.report.results.cells import Effect
from tuneproof.yours.proposal import Wanted, propose

INPUTS: Final = Path("tests/captures/hostile/inputs.toml")
CPU_S: Final = 30
MEMORY_BYTES: Final = 300 << 20
# The limit of the address space, which includes Python's libraries, is well above the allowed memory.
_ADDRESSES_BYTES: Final = 2 << 30
_EVIL: Final = ("<script>alert(1)", "<img src=x", 'href="javascript:', "\x1b", "\u202e", "\u2066")
_RUN_CPU_S: Final = 5.0
_DIGITS: Final = "9" * 5_000
_NOBODY: Final = 65534
_PRIVATE: Final = "-----BEGIN PRIVATE KEY-----"
_FLUSH_FAILED: Final = 120
"""The interpreter's own exit status if it cannot write a program's remaining output."""
_SOUND_LINE: Final = '192.0.2.1 - - [20/Nov/2026:09:36:16 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8.5"\n'
_SOUND: Final = "events { }\nhttp { server { listen 80; location / { proxy_pass http://a; } } }\n"
_OURS: Final = re.compile(r"::(?:error|warning|notice) file=[^\n]*?,line=\d+,title=[\w%/-]+::")
_COMMAND: Final = re.compile(r"\s*::[A-Za-z-]+(?: .*)?::")
_OLD_COMMAND: Final = re.compile(r"##\[[a-z-]+[ \]]")
# Commands import these modules late. Importing them here saves each child process the time.
_LOADED: Final = (audit, compare, explain, report, upgrade, why, document, write_report)
_SOUND_COMMANDS: Final = ("audit nginx.conf", "why listen", "explain access.log", "report results.json")


def rows() -> list[Mapping[str, Any]]:
    """Return the rows of inputs.toml."""
    found: list[Mapping[str, Any]] = tomllib.loads(INPUTS.read_text(encoding="utf-8"))["input"]
    return found


def complaints(row: Mapping[str, Any]) -> list[str]:
    """Run the command line on an input; return the problems."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        words = _written(row, place)
        pid = os.fork()
        if not pid:
            _run(words, place, row)
        if row.get("endless"):
            pipe = place / row.get("file", "input.conf")
            threading.Thread(target=_repeat, args=(_content(row), pipe), daemon=True).start()
        _, status, used = os.wait4(pid, 0)
        said = [(place / name).read_bytes().decode("utf-8", "replace") for name in ("stdout", "stderr")]
        found = list(_wrong_words(said[0], is_github="github" in words)) + list(_wrong_words(said[1]))
        found += [f"a private text in {path.relative_to(place)}" for path in _outputs(place) if _is_private(path)]
        if (place / "nginx" / "nginx.conf").read_text(encoding="utf-8") != _SOUND:
            found.append("a user's file was changed")
        for page in place.rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            found += [f"{page.name} has {evil!r}" for evil in _EVIL if evil in text]
        if os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == _FLUSH_FAILED or "Traceback" in said[1]:
            found.append(f"ended by {status}: {said[1][-300:]}")
        if used.ru_maxrss << 10 > MEMORY_BYTES:
            found.append(f"{used.ru_maxrss >> 10} MiB of memory")
        used_s = used.ru_utime + used.ru_stime
        sys.stderr.write(f"{used_s:.1f} s, {used.ru_maxrss >> 10} MiB, {row['name']}: {said[1][:90]!r}\n")
        return found


def _wrong_words(text: str, *, is_github: bool = False) -> Iterator[str]:
    """Yield problems of an output: lines that have unprintable characters or are commands for GitHub."""
    for line in text.removesuffix("\n").split("\n"):
        bare = line.removesuffix("\r").replace("\t", "")
        if not bare.isprintable():
            yield f"not plain: {bare[:200]!a}"
        if _OLD_COMMAND.search(bare) or (_COMMAND.match(bare) and not (is_github and _OURS.match(bare))):
            yield f"a command for GitHub: {bare[:200]!a}"


def load_tables() -> None:
    """Run commands on sound input: each child process inherits the tables, templates and patterns that they load."""
    silent = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(silent), redirect_stderr(silent):
        Path("nginx.conf").write_text(_SOUND, encoding="utf-8")
        Path("access.log").write_text(_SOUND_LINE, encoding="utf-8")
        Path("results.json").write_bytes(_content({"results": "text"}))
        for words in _SOUND_COMMANDS:
            main(words.split())


def _written(row: Mapping[str, Any], place: Path) -> list[str]:
    """Write the files of a row; return the words of its command line."""
    name = row.get("file", "input.conf")
    sound = place / "nginx" / "nginx.conf"
    sound.parent.mkdir()
    sound.write_text(_SOUND, encoding="utf-8")
    content = _content(row)
    if row.get("endless"):
        os.mkfifo(place / name)
    else:
        (place / name).write_bytes(content)
    (place / "stdin").write_bytes(content if "-" in row["run"] else b"")
    for number in range(row.get("beside", 0)):
        (place / f"{number}.inc").write_text(row["each"].format(next=number + 1), encoding="utf-8")
    (place / "secret").mkdir()
    (place / "secret" / "key").write_text(_PRIVATE, encoding="ascii")
    for link, target in row.get("links", {}).items():
        (place / link).parent.mkdir(parents=True, exist_ok=True)
        (place / link).unlink(missing_ok=True)
        (place / link).symlink_to(target.format(here=place))
    for path, mode in row.get("modes", {}).items():
        (place / path).chmod(mode)
    return [{"FILE": name, "NGINX": "nginx"}.get(word, word.replace("@@", _DIGITS)) for word in row["run"]]


def _repeat(content: bytes, pipe: Path) -> None:
    """Write content to a pipe repeatedly, until nothing reads it any more."""
    with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
        while True:
            file.write(content)


def _outputs(place: Path) -> Iterator[Path]:
    """Yield the files that a command may have written."""
    return (
        path
        for path in place.rglob("*")
        if path.is_file() and path != place / "secret" / "key" and not path.is_symlink()
    )


def _is_private(path: Path) -> bool:
    return os.access(path, os.R_OK) and _PRIVATE.encode() in path.read_bytes()


def _content(row: Mapping[str, Any]) -> bytes:
    if "results" in row:
        text = row["results"].replace("HALF", "\ud800")
        return json.dumps(
            _results(text, number=row.get("number", 1.0), **row.get("fields", {})) | row.get("more", {})
        ).encode()
    if row.get("numbered"):
        parts = (part.replace("{n}", str(n)) for part, times in row["text"] for n in range(times))
    else:
        parts = (part if isinstance(part, str) else part[0] * part[1] for part in row["text"])
    content = "".join(parts).replace("@@", _DIGITS).encode("latin-1" if row.get("bytes") else "utf-8")
    if row.get("gzip"):
        content = gzip.compress(content, 1, mtime=0)
    if row.get("twice"):
        content = gzip.compress(content, 1, mtime=0)
    return content[: row.get("cut", len(content))]


def _results(text: str, *, number: float, **fields: Any) -> dict[str, Any]:
    """Return results with this text in every field that may have any, and this number for every figure."""
    effect = Effect(name=text, unit="ratio", value=number, ci_low=number, ci_high=number)
    given: dict[str, Any] = {"claim": text, "source": text, "reason": text, "threshold": number}
    given |= {"seconds": abs(number), "measuring_seconds": abs(number), "evidence": ()} | fields
    cells = [
        replace(a_cell("stalls"), **given, effect=effect, arms={text: {"lag_p99_ms": number}}),
        replace(a_cell("unknown"), **given, verdict="inconclusive"),
    ]
    return {
        "schema": 1,
        "started": "2026-11-20T09:36:16Z",
        "host": {**HOST, "kernel": text, "cpu_model": text, "operating_system": text},
        "seed": 1,
        "options": {"depth": text},
        "cells": [cell.to_json() for cell in cells],
    }


def _run(words: Sequence[str], place: Path, row: Mapping[str, Any]) -> None:
    """Run the command line in this process, and end the process."""
    status = 70
    try:
        os.chdir(place)
        os.environ |= row.get("environment", {})
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT
            os.dup2(os.open(name, flags, 0o600), number)
        encoding = row.get("encoding", "utf-8")
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding=encoding, closefd=False)  # noqa: SIM115 - closed at exit
            for number, mode in enumerate(("r", "w", "w"))
        )
        if "output" in row:
            os.dup2(os.open(row["output"], os.O_WRONLY), 1)
        for name in row.get("closed", ()):
            os.close(getattr(sys, name).fileno())
            # Python does the same at its start if a stream is closed.
            setattr(sys, name, None)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES_BYTES, _ADDRESSES_BYTES))
        if row.get("unprivileged") and not os.getuid():
            place.chmod(0o777)
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        status = main(words) if words[0] != "propose" else _proposed(words[1])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - any error is a result
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            try:
                stream.flush()
            except OSError:
                status = _FLUSH_FAILED
        os._exit(status)


def _proposed(name: str) -> int:
    """Read a configuration as ``run --nginx-conf`` does before it needs the engine; return the exit status."""
    try:
        with bounded(_RUN_CPU_S):
            proposal = propose(Wanted(configuration=name, version="1.22"))
        show("\n".join((*(arm.name for arm in proposal.scenario.arms), *proposal.notes)))
    except TuneproofError as error:
        say(str(error))
        return error.exit_status
    return 0


if __name__ == "__main__":
    # Inputs are selected by parts of their names; the default is all.
    parts = sys.argv[1:] or [""]
    chosen = [row for row in rows() if any(part in row["name"] for part in parts)]
    load_tables()
    found = {row["name"]: complaints(row) for row in chosen}
    sys.stdout.write(json.dumps({"tried": len(found), "wrong": {name: ones for name, ones in found.items() if ones}}))
