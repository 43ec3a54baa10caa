"""Runs nginx with generated configurations, to compare the model with nginx; a second container sends the requests."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import docker

from tests.lab.asking import container, output, put
from tests.support import (
    generated_hosts,
    generated_inheritance,
    generated_listens,
    generated_locations,
    judged_inheritance,
    judged_listens,
)
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.own_nginx import CAPABILITIES

_CLIENT: Final = Path(__file__).with_name("raw_client.py")
_ANSWERS_WITHIN_S: Final = 20.0
_STAYS_SILENT_S: Final = 1.0
_SYSCTLS: Final = {"net.ipv6.conf.all.disable_ipv6": "0", "net.ipv6.conf.lo.disable_ipv6": "0"}
_AT_ONCE: Final = 60
"""How many instances of nginx run at the same time, each with a set of listens."""
_START: Final = """
mkdir -p /tmp/logs; rm -f /tmp/logs/* /var/log/nginx/access.log
[ ! -e "$1" ] || { kill "$(cat "$1")"; while [ -e "$1" ]; do sleep 0.02; done; }
exec nginx -c /judged/nginx.conf
"""
_LOGGED: Final = "cd /tmp/logs; grep -Ho 'id=[0-9]*[.]' * /var/log/nginx/access.log 2>/dev/null || :"
_START_ALL: Final = """
mkdir -p /tmp/listens
for file in /judged/listens/*.conf; do
    name=$(basename "$file" .conf)
    { nginx -c "$file" >"/tmp/listens/$name.said" 2>&1; echo $? >"/tmp/listens/$name.status"; } &
done
wait
cd /tmp/listens
for file in *.status; do
    name=${file%.status}
    redefined=$(sed -n 's/.*protocol options redefined for .*://p' "$name.said" | tr '\\n' ' ')
    printf '%s\\t%s\\t%s\\t%s\\n' "$name" "$(cat "$file")" "$redefined" "$(grep -m1 emerg "$name.said")"
done
"""
_END_ALL: Final = """
cd /tmp/listens; for file in *.pid; do [ ! -s "$file" ] || kill "$(cat "$file")"; done
while ls *.pid >/dev/null 2>&1; do sleep 0.05; done; rm -rf /tmp/listens /judged/listens
"""
_SLOW: Final = f"""
import socketserver, time
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        time.sleep({generated_inheritance.SLOW_S})
        self.wfile.write(b"HTTP/1.0 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 512
Server(("127.0.0.1", {generated_inheritance.SLOW_PORT}), Handler).serve_forever()
"""


@contextmanager
def judge_of(
    engine: docker.DockerClient, image: str, client: str, session: Session, version: Sequence[int]
) -> Iterator["Judge"]:
    """Start two containers, for nginx and for a client; the client's image needs Python and ss."""
    more = {"user": "0:0", "cap_drop": ["ALL"], "cap_add": list(CAPABILITIES), "sysctls": _SYSCTLS}
    files = {**judged_inheritance.FILES, "judged/start.sh": _START}
    with container(engine, image, files, session, network_mode="none", **more) as nginx:
        asking = {"srv/client.py": _CLIENT.read_text(encoding="utf-8"), "srv/slow.py": _SLOW}
        with container(engine, client, asking, session, network_mode=f"container:{nginx.id}", user="0:0") as asker:
            asker.exec_run(["python3", "/srv/slow.py"], detach=True)
            yield Judge(nginx, asker, tuple(version))


class Judge:
    """One version of nginx, and a client in its network namespace."""

    def __init__(self, nginx: Any, asker: Any, version: tuple[int, ...]) -> None:
        self._nginx, self._asker = nginx, asker
        self.version = version

    def locations(self, drawn: generated_locations.Drawn) -> list[Any]:
        """Return the responses to a configuration's requests."""
        self._start(drawn.text, "locations")
        asked = [
            _question(("127.0.0.1", request.port), f"GET {request.target}", request.host) for request in drawn.requests
        ]
        return self._asked(asked, by_address=True)

    def hosts(self, drawn: generated_hosts.Drawn) -> list[Any]:
        """Return the responses to requests for a configuration's hosts."""
        self._start(drawn.text, "hosts")
        return self._asked([_question(("127.0.0.1", port), "GET /", host) for port, host in drawn.asked])

    def inheritance(self, drawn: generated_inheritance.Drawn) -> tuple[list[Any], Mapping[int, frozenset[str]]]:
        """Return the responses to a configuration's requests, and by request, the names of the logs that contain it."""
        self._start(drawn.text, "inheritance")
        answers = self._asked([_asking(question) for question in drawn.questions], lists=32)
        logs: defaultdict[int, set[str]] = defaultdict(set)
        for line in output(self._nginx, _LOGGED).splitlines() if drawn.kind == "answers" else ():
            name, _, number = line.partition(":id=")
            logs[int(number[:-1])].add(name.rpartition("/")[2])
        return answers, {number: frozenset(names) for number, names in logs.items()}

    def listens(self, drawn: Sequence[generated_listens.Drawn]) -> Iterator[judged_listens.Seen]:
        """Yield the result for each set of listens."""
        for first in range(0, len(drawn), _AT_ONCE):
            yield from self._listens(drawn[first : first + _AT_ONCE])

    def _listens(self, drawn: Sequence[generated_listens.Drawn]) -> Iterator[judged_listens.Seen]:
        put(self._nginx, {f"judged/listens/{one.number}.conf": one.text for one in drawn})
        rows = {row[0]: row[1:] for row in (line.split("\t") for line in output(self._nginx, _START_ALL).splitlines())}
        shown = self._asker.exec_run(["sh", "-c", "ss -Hltn; ss -Hlun; ss -Hlx"]).output.decode()
        bound = judged_listens.bound_by_set(shown.splitlines(), drawn)
        started = [one for one in drawn if rows[str(one.number)][0] == "0"]
        asked = [
            _question((address, port), "GET /", host, before=proxy, after="Connection: close\r\n")
            for one in started
            for port in one.ports
            for address, (host, proxy) in judged_listens.ASKED
        ]
        answers = iter(self._asked(asked, lists=32))
        each = generated_listens.PORTS * len(judged_listens.ASKED)
        for one in drawn:
            status, redefined, refusal = rows[str(one.number)]
            found = [next(answers) for _ in range(each)] if one in started else []
            yield judged_listens.Seen(
                status=int(status),
                refusal=refusal,
                redefined=[int(line) for line in redefined.split()],
                bound=bound[one.number],
                answers=found,
            )
        output(self._nginx, _END_ALL)

    def _start(self, text: str, name: str) -> None:
        put(self._nginx, {"judged/nginx.conf": text})
        status, said = self._nginx.exec_run(["sh", "/judged/start.sh", f"/tmp/{name}.pid"])  # noqa: S108 - in a container
        assert status == 0, said.decode()

    def _asked(self, questions: Sequence[Any], *, lists: int = 4, by_address: bool = False) -> list[Any]:
        """Return the responses in the order of the requests, which share several connections."""
        order = sorted(range(len(questions)), key=lambda number: questions[number][0]) if by_address else None
        numbers = order or list(range(len(questions)))
        shares = [numbers[place::lists] for place in range(lists)]
        put(self._asker, {"srv/asked.json": json.dumps([[questions[number] for number in one] for one in shares])})
        status, (said, errors) = self._asker.exec_run(["python3", "/srv/client.py", "/srv/asked.json"], demux=True)
        assert status == 0, errors
        found = [None] * len(questions)
        for share, answers in zip(shares, json.loads(said), strict=True):
            for number, answer in zip(share, answers, strict=True):
                found[number] = answer
        return found


def _asking(question: generated_inheritance.Question) -> Any:
    length = f"Content-Length: {question.body_bytes}\r\n" if question.body_bytes else ""
    address = ("127.0.0.1", generated_inheritance.PORT)
    asked = _question(address, f"{question.method} {question.path}", question.host, after=length)
    if not question.sends_body:
        return [*asked[:2], _STAYS_SILENT_S]
    return [asked[0], asked[1] + "x" * question.body_bytes, asked[2]]


def _question(address: tuple[str, int], line: str, host: str, *, before: str = "", after: str = "") -> Any:
    version, name = ("1.1", f"Host: {host}\r\n") if host else ("1.0", "")
    return [address, f"{before}{line} HTTP/{version}\r\n{name}{after}\r\n", _ANSWERS_WITHIN_S]
