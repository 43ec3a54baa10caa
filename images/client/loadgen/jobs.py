"""``python3 -m loadgen.jobs`` does jobs that are asked for on its standard input, one line of JSON each.

A question is ``{"job": <name>, <arguments>}``; the arguments are those of the job's own function or dataclass, in the
module of its name (``release`` is in ``hold``). The answer is one line: what the job tells, with ``took_s`` (seconds)
and ``machine`` (busy and stolen CPU time meanwhile, in percent of all). A job that fails answers ``{"error": <what
happened>}``, its traceback is on standard error, and the program goes on. What is held is let go at the end of the
input.
"""

import json
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import connect_storm, exchanges, gaps, http_load, one_by_one, slow_readers, tls
from .hold import Holder
from .machine import CpuTimes

Job = Callable[..., dict[str, Any]]


def answers(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Answer each line with an object, until the lines end."""
    holder = Holder()
    readers = slow_readers.InBackground()
    tls_client = tls.Client()
    jobs: dict[str, Job] = {
        "http_load": lambda **fields: http_load.run(http_load.HttpLoad(**fields)),
        "connect_storm": connect_storm.run,
        "start_slow_readers": readers.start,
        "end_slow_readers": readers.end,
        "hold": holder.hold,
        "release": holder.release,
        "one_by_one": one_by_one.run,
        "gaps": gaps.run,
        "exchanges": exchanges.run,
        "tls_connect": tls_client.connect,
        "tls_resume": tls_client.resume,
        "http2": _http2,
    }
    try:
        for line in lines:
            yield _answer(jobs, line)
    finally:
        readers.close()
        holder.release()


def _answer(jobs: dict[str, Job], line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
        name = fields.pop("job")
        if name not in jobs:
            return {"error": f"there is no job {name!r}, only {', '.join(jobs)}"}
        before = CpuTimes.read()
        began_s = time.monotonic()
        answer = jobs[name](**fields)
        took_s = time.monotonic() - began_s
        return {**answer, "took_s": took_s, "machine": CpuTimes.read().since(before)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the asker must hear of it and not wait
        traceback.print_exc(file=sys.stderr)
        return {"error": f"{type(error).__name__}: {error}"}


def _http2(**fields: Any) -> dict[str, Any]:
    from . import http2  # noqa: PLC0415 - only the image has its library

    return http2.run(**fields)


def allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one (getrlimit(2)): every connection is one, in the tools, too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    allow_many_files()
    for job_answer in answers(sys.stdin):
        sys.stdout.write(json.dumps(job_answer) + "\n")
        sys.stdout.flush()
