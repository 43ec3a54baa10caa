"""``tuneproof watch``: the event loop of a running nginx, observed in the kernel or from outside."""

import argparse
import json
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from tuneproof.cli import output
from tuneproof.cli.output import as_typed, called_from, say, show
from tuneproof.errors import BadInputError
from tuneproof.explain.parse.event_loop import LoopRecording, LoopSecond, header, note_line, to_line
from tuneproof.explain.parse.event_loop_summary import summarise
from tuneproof.watch.diagnosis import diagnosis, table
from tuneproof.watch.watching import Watching
from tuneproof.watch.workers import find
from tuneproof.wording import ascii_only, one_line

DESCRIPTION = """\
Find stalls in the event loop of a running nginx: which worker stalls, for how long, and why.

Run this command as root on nginx's host: it uses bpftrace and needs neither debug symbols nor a restart. WHAT is a
PID or a container; it can be omitted if only one nginx runs. With a URL, delays are measured from outside, without
privileges.
"""
EPILOG = """\
examples:
  ./lab watch                            # the only nginx on this host, until Ctrl-C
  ./lab watch shop-nginx-1 --seconds 10  # the nginx in this container
  ./lab watch --all --record loops.json  # later, on any machine: ./lab explain loops.json
  ./lab watch --nginx-conf /etc/nginx    # stalls are reported with their location
  ./lab watch http://10.0.0.7/           # from outside, for 30 s

exit status: 0 watched, with or without findings; 2 no such nginx; 3 this host lacks a requirement.
"""
URL_SECONDS = 30.0
WINDOW_S = 60.0
_WRITABLE: Final = "name a file in a folder that you may write to"
# Options that work only on nginx's host.
_ON_THE_HOST = ("all", "record", "page", "nginx_conf", "json", "listen")


def main(arguments: Sequence[str]) -> int:
    """Watch the given nginx.

    BadInputError: There is no such nginx, or several; or a file or an address cannot be used. CannotRunHereError: This
    host lacks something that watching needs.
    """
    parser = output.parser("watch", DESCRIPTION, EPILOG)
    parser.add_argument("what", nargs="?", default="", metavar="WHAT", help="a PID, a container, or a URL")
    parser.add_argument("--all", action="store_true", help="watch every nginx on this host")
    parser.add_argument("--seconds", type=_seconds, metavar="N", help="stop after N seconds (default: Ctrl-C; URL: 30)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="record to FILE, which `explain` reads")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write an HTML page with loop iterations over time")
    parser.add_argument("--nginx-conf", metavar="CONF", help="report the location of each stall")
    parser.add_argument("--json", action="store_true", help="print JSON lines, as --record writes them")
    parser.add_argument("--listen", metavar="[ADDRESS:]PORT", help="serve OpenMetrics (default address: 127.0.0.1)")
    options = parser.parse_args(arguments)
    if options.what.startswith(("http://", "https://")):
        given = [name for name in _ON_THE_HOST if getattr(options, name)]
        if given:
            option = f"--{given[0].replace('_', '-')}"
            raise BadInputError(f"{option} has no effect with a URL.", remedy="watch on nginx's host, as root")
        from tuneproof.watch.outside import watch_url  # noqa: PLC0415 - only this needs TLS and asyncio

        for line in watch_url(options.what, lasts_s=options.seconds or URL_SECONDS):
            show(_shown(line))
        return 0
    if "://" in options.what:
        raise BadInputError(
            f"{options.what}: not an http:// or https:// URL", remedy="give a URL such as http://10.0.0.7/"
        )
    if options.page and not (called_from() / options.page).parent.is_dir():
        raise BadInputError(
            f"{options.page} cannot be written: there is no folder {options.page.parent}.", remedy=_WRITABLE
        )
    # The files are read before watching, so that an unreadable one is reported at once.
    where = _locations(options.nginx_conf) if options.nginx_conf else lambda _: ""
    watching = Watching(find=partial(find, options.what, every=options.all), lasts_s=options.seconds)
    recording = _watch(watching, options)
    loops = summarise(recording)
    lines = [_shown(line) for line in (*table(loops), *diagnosis(loops, where))]
    if options.json:
        show(json.dumps({"diagnosis": lines, "notes": recording.notes}))
    else:
        for line in (*lines, *map(_shown, recording.notes)):
            show(line)
    # The page comes last, so that a full disk does not prevent the diagnosis.
    if options.page:
        from tuneproof.watch.page import write_page  # noqa: PLC0415 - imports plotly, which takes a second

        write_page(recording, lines, called_from() / options.page)
    return 0


def _locations(named: str) -> Callable[[str], str]:
    from tuneproof.audit.auditing import audit  # noqa: PLC0415 - many modules: loaded only when needed
    from tuneproof.watch.locations import locations  # noqa: PLC0415 - the same

    audited = audit(str(named if named == "-" else called_from() / named))

    def where(target: str) -> str:
        found = locations(audited.facts, target, _addresses)
        places = [f"{' '.join((each.name, *each.args))} ({audited.shown(each.file)}:{each.line})" for each in found]
        return f"{target}: {', '.join(places)}" if places else ""

    return where


def _addresses(host: str) -> frozenset[str]:
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(host, None))
    except OSError:
        return frozenset()


def _watch(watching: Watching, options: argparse.Namespace) -> LoopRecording:
    """Watch, show and record; return the recording, with ``--listen`` only of the last minute."""
    began = datetime.now(UTC).isoformat(timespec="seconds")  # noqa: TID251 - the start of a recording
    seconds: deque[LoopSecond] = deque()
    notes: list[str] = []
    with ExitStack() as stack:
        keep = _recorder(options.record, began, stack)
        takers: list[Callable[[tuple[LoopSecond, ...]], None]] = [seconds.extend, _view(stack, json=options.json)]
        if options.listen:
            takers += [_served(options.listen, stack), partial(_forget_old, seconds)]
            notes.append(f"with --listen, the table and the diagnosis cover the last {WINDOW_S:g} s")
        # A second Ctrl-C ends the wait for bpftrace's last lines.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: _stop(watching))
        for made in watching.run():
            for second in made:
                keep(to_line(second))
            for take in takers:
                take(made)
        notes += watching.notes
        for note in notes:
            keep(note_line(note))
    return LoopRecording(began=began, seconds=tuple(seconds), notes=tuple(notes))


def _forget_old(seconds: deque[LoopSecond], made: tuple[LoopSecond, ...]) -> None:
    """Drop data older than the window: with ``--listen``, this command may run for months."""
    while seconds and seconds[0].at_s < made[-1].at_s - WINDOW_S:
        seconds.popleft()


def _stop(watching: Watching) -> None:
    watching.stop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def _view(stack: ExitStack, *, json: bool) -> Callable[[tuple[LoopSecond, ...]], None]:
    from tuneproof.watch.views import Lines, LiveTable, View  # noqa: PLC0415 - imports rich, which a URL does not need

    view: View
    if json or not sys.stdout.isatty():
        view = Lines(lambda line: show(line if json else _shown(line)), json=json)
    else:
        from rich.console import Console  # noqa: PLC0415 - the same

        view = LiveTable(Console(no_color=bool(os.environ.get("NO_COLOR"))))
    stack.callback(view.close)
    return view.show


def _recorder(file: Path | None, began: str, stack: ExitStack) -> Callable[[str], object]:
    if file is None:
        return lambda _: None
    with _file_errors(file):
        opened = (called_from() / file).open("w", encoding="utf-8", buffering=1)
        # Each line was written at once; a failure has been reported.
        stack.callback(_close, opened)

    def keep(line: str) -> None:
        with _file_errors(file):
            opened.write(f"{line}\n")

    keep(header(began))
    return keep


def _close(file: TextIO) -> None:
    with suppress(OSError):
        file.close()


def _served(listen: str, stack: ExitStack) -> Callable[[tuple[LoopSecond, ...]], None]:
    from tuneproof.watch.metrics import Metrics, serve  # noqa: PLC0415 - http.server: loaded only when needed

    host, _, port = listen.rpartition(":")
    metrics = Metrics()
    try:
        server = serve(metrics, host.strip("[]") or "127.0.0.1", int(port))
    except (OSError, ValueError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a port"
        raise BadInputError(
            f"--listen {listen}: {why}", remedy="give a free port, or an address with a port: 9145 or 127.0.0.1:9145"
        ) from error
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    say(f"OpenMetrics at http://{server.server_name}:{server.server_port}/metrics")
    return metrics.add


@contextmanager
def _file_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{file} cannot be written: {error.strerror or error}.", remedy=_WRITABLE) from error


def _shown(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    # File names come from the watched process, and may contain anything.
    text = as_typed(one_line(line))
    return " " * indent + (text if sys.stdout.isatty() else ascii_only(text))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"not a number of seconds above 0: {text}")
    return value
