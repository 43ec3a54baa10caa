"""A patched configuration answers as it did before: same statuses, same headers, on the lab's nginx.

By default a few configurations drawn by seed. TUNEPROOF_PATCHED_SEEDS names how many; TUNEPROOF_NGINX_TESTS names a
folder with an nginx.conf in each of its folders, such as those of nginx's own test suite.
"""

import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages
from tests.support.generated_configurations import configuration
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.conf.sources import Dump
from tuneproof.errors import BadInputError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.own_nginx import CAPABILITIES
from tuneproof.wording import as_numbers
from tuneproof.yours.needs import EMPTY, needs_of
from tuneproof.yours.routes import probes_of

pytestmark = [pytest.mark.engine]

SEEDS: Final = int(os.environ.get("TUNEPROOF_PATCHED_SEEDS", "12"))
SUITE: Final = os.environ.get("TUNEPROOF_NGINX_TESTS", "")
_FOLDER: Final = "/promises"
# The server's own clock and version, and what counts its own reads.
_MOVING: Final = frozenset({"date", "server", "etag", "last-modified", "keep-alive", "connection"})
# Debian has Perl everywhere, and Python in no image of nginx.
_ASK: Final = r"""
use strict; use IO::Socket::INET;
while (my $line = <STDIN>) {
    chomp $line; my ($port, $host, $path) = split /\t/, $line; my $answer = "";
    my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Timeout => 2);
    if ($socket) {
        local $SIG{ALRM} = sub { die }; eval { alarm 3;
        print $socket "GET $path HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n";
        while (my $part = <$socket>) { last if $part =~ /^\r?\n$/; $answer .= $part; } alarm 0; };
    }
    $answer =~ s/\r?\n/|/g; print "$line\t$answer\n";
}
"""
# Certificates and keys in the place of the files that say so, then one configuration after the other.
_RUN: Final = f"""
grep -rlx '@pem' {_FOLDER} | while read -r file; do cat /etc/tuneproof/tls.crt /etc/tuneproof/tls.key >"$file"; done
for folder in {_FOLDER}/[0-9]*; do
    number=${{folder##*/}}
    if nginx -p "$folder" -c "$folder/nginx.conf" -g 'pid /tmp/promise.pid;' >/tmp/said 2>&1 </dev/null; then
        printf '%s\\tloads\\t\\n' "$number"
        timeout 60 perl {_FOLDER}/ask.pl <"$folder/questions" | sed "s/^/$number\\tanswer\\t/"
        kill -TERM "$(cat /tmp/promise.pid)"
        for _ in $(seq 100); do [ -e /tmp/promise.pid ] || break; sleep 0.02; done
    else
        printf '%s\\trefused\\t%s\\n' "$number" "$(tr '\\n\\t' '| ' </tmp/said)"
    fi
done
"""


@dataclass(frozen=True, kw_only=True)
class Tried:
    name: str
    before: Audit
    after: Mapping[str, str]


def tried(version: str) -> Iterator[Tried]:
    texts = {f"seed {seed}": configuration(seed, as_numbers(version)) for seed in range(SEEDS)}
    if SUITE:
        texts |= {
            path.parent.name: path.read_text(errors="replace") for path in sorted(Path(SUITE).glob("*/nginx.conf"))
        }
    for name, text in texts.items():
        found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version=version)
        patched = found.patched()
        if patched["nginx.conf"] != text:
            yield Tried(name=name, before=found, after=patched)


def questions(found: Audit) -> str:
    try:
        probes = probes_of(found.facts)
    except BadInputError:
        return ""
    return "".join(f"{one.port}\t{one.host}\t{one.path}\n" for one in probes if not one.tls and not one.proxy_protocol)


def packed(cases: list[Tried]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:

        def add(path: str, content: str) -> None:
            info = tarfile.TarInfo(f"{_FOLDER}/{path}".lstrip("/"))
            info.size, info.mode = len(content.encode()), 0o755
            tar.addfile(info, io.BytesIO(content.encode()))

        add("ask.pl", _ASK)
        add("run.sh", _RUN)
        for number, case in enumerate(cases):
            for variant, texts in enumerate((case.before.facts.configuration.texts, case.after)):
                folder = f"{_FOLDER}/{2 * number + variant}"
                home = f"{SUITE}/{case.name}"
                text = texts["nginx.conf"].replace(home, folder) if SUITE else texts["nginx.conf"]
                add(f"{2 * number + variant}/nginx.conf", text)
                add(f"{2 * number + variant}/questions", questions(case.before))
                add(f"{2 * number + variant}/logs/error.log", "")
                needs = needs_of(case.before.facts.configuration, folder=home, there=())
                for path, material in needs.made.items():
                    if path.startswith(f"{home}/"):
                        add(f"{2 * number + variant}/{path.removeprefix(home)}", "" if material == EMPTY else "@pem")
    return written.getvalue()


def answers_of(lines: list[list[str]], number: int) -> list[tuple[str, ...]]:
    found = []
    for _, _, port, host, path, *answer in (line for line in lines if line[:2] == [str(number), "answer"]):
        status, *headers = "".join(answer).split("|")
        kept = sorted(one for one in headers if one and one.partition(":")[0].lower() not in _MOVING)
        found.append((port, host, path, status, *kept))
    return found


def test_a_patched_configuration_loads_and_answers_as_before(
    engine: docker.DockerClient, images: BuiltImages, lab_session: Session, nginx: str
) -> None:
    cases = list(tried(nginx))
    container = engine.containers.run(
        images.subjects[nginx],
        ["sleep", "3600"],
        detach=True,
        user="0:0",
        cap_drop=["ALL"],
        cap_add=list(CAPABILITIES),
        labels=lab_session.labels,
    )
    try:
        container.put_archive("/", packed(cases))
        status, said = container.exec_run(["sh", f"{_FOLDER}/run.sh"])
        assert isinstance(said, bytes)
    finally:
        container.remove(force=True)
    lines = [line.split("\t") for line in said.decode(errors="replace").splitlines()]
    states = {int(line[0]): line[1:] for line in lines if len(line) > 1 and line[1] in {"loads", "refused"}}
    assert status == 0, said[-2000:]
    differing, loaded, asked = {}, 0, 0
    for number, case in enumerate(cases):
        if states[2 * number][0] != "loads":
            continue
        loaded += 1
        before, after = (answers_of(lines, 2 * number + variant) for variant in (0, 1))
        asked += len(before)
        if states[2 * number + 1][0] != "loads" or before != after:
            differing[case.name] = states[2 * number + 1], before, after
    assert differing == {}, json.dumps(differing, indent=1)
    refused = [state[1] for number, state in states.items() if not number % 2 and state[0] != "loads"]
    assert loaded > SEEDS // 2, "\n".join(refused)
    assert asked > SEEDS // 2
