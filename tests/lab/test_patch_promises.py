"""nginx answers with the same statuses and headers before and after a patch to its configuration.

By default, the test generates a few configurations from seeds. TUNEPROOF_PATCHED_SEEDS sets their number;
TUNEPROOF_NGINX_TESTS names a folder with an nginx.conf in each of its folders, such as those of nginx's own test suite.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages
from tests.lab import question_server
from tests.lab.asking import container, output
from tests.support.generated_configurations import configuration
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.patches import apply
from tuneproof.conf.sources import Dump
from tuneproof.errors import BadInputError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.own_nginx import CAPABILITIES
from tuneproof.wording import as_numbers
from tuneproof.yours.needs import EMPTY, needs_of
from tuneproof.yours.routes import entries_of, probes_of

pytestmark = [pytest.mark.engine]

SEEDS: Final = int(os.environ.get("TUNEPROOF_PATCHED_SEEDS", "12"))
SUITE: Final = os.environ.get("TUNEPROOF_NGINX_TESTS", "")
BEFORE, AFTER, AGAIN = "before", "after", "again"
_FOLDER: Final = "/promises"
# The number of containers is the number of variants divided by _EACH, and at most _AT_ONCE.
_AT_ONCE: Final = 8
_EACH: Final = 40
# audit reports this price of a patch: a backend that gets HTTP/1.1 may send chunked responses.
_FRAMING: Final = frozenset({"transfer-encoding", "content-length"})
# These headers depend on the server's clock, and on the time at which the test created the file.
_MOVING: Final = frozenset({"date", "etag", "last-modified"})
# Puts certificates and keys where the configurations expect them, then runs one configuration after the other.
_RUN: Final = f"""
cd {_FOLDER}
grep -rlx '@pem' . | while read -r file; do cat /etc/tuneproof/tls.crt /etc/tuneproof/tls.key >"$file"; done
for folder in *; do
    if nginx -p "$PWD/$folder" -c "$PWD/$folder/nginx.conf" -g 'pid /tmp/promise.pid;' >/tmp/said 2>&1 </dev/null; then
        printf '%s\\tloads\\t\\n' "$folder"
        exec 3<>/dev/tcp/127.0.0.1/{question_server.PORT}
        cat "$folder/questions" >&3
        sed "s/^/$folder\\tanswer\\t/" <&3
        exec 3>&-
        kill -TERM "$(cat /tmp/promise.pid)"
        for _ in $(seq 200); do [ -e /tmp/promise.pid ] || break; sleep 0.02; done
    else
        printf '%s\\trefused\\t%s\\n' "$folder" "$(tr '\\n\\t' '| ' </tmp/said)"
    fi
done
"""


@dataclass(frozen=True, kw_only=True)
class Tried:
    name: str
    variants: Mapping[str, str]  # the original and the patched configurations, by name
    questions: Sequence[str]
    files: Mapping[str, str]  # the files that nginx needs when it starts, below its folder


@dataclass(frozen=True, kw_only=True)
class Answered:
    refusal: str  # nginx's message; empty if it has loaded the configuration
    answers: Sequence[Mapping[str, Sequence[str]]]  # by question: each header's values, and the status under ""


def texts(version: str) -> Mapping[str, str]:
    if SUITE:
        found = {
            path.parent.name: path.read_text(errors="replace") for path in sorted(Path(SUITE).glob("*/nginx.conf"))
        }
        # An nginx that stays in the foreground would block the others.
        return {name: re.sub(r"^\s*daemon\s+off;", "", text, flags=re.MULTILINE) for name, text in found.items()}
    return {f"seed-{seed}": configuration(seed, as_numbers(version)) for seed in range(SEEDS)}


def tried(name: str, text: str, version: str) -> Tried:
    found = audit_source(Dump({"nginx.conf": text}, is_complete=True), version=version)
    patches = [] if SUITE else [one.edits for one in found.advice if one.edits]
    alone = {
        f"only{number:02}": apply(edits, {"nginx.conf": text})["nginx.conf"] for number, edits in enumerate(patches)
    }
    return Tried(
        name=name,
        variants={BEFORE: text, AFTER: found.patched()["nginx.conf"], **alone},
        questions=list(questions(found)),
        files=dict(files(found, f"{SUITE}/{name}")),
    )


def questions(found: Audit) -> Iterator[str]:
    addresses = {entry: address for address, entry in entries_of(found.facts).items()}
    try:
        probes = probes_of(found.facts)
    except BadInputError:
        return
    for one in probes:
        first = "PROXY TCP4 127.0.0.1 127.0.0.1 1000 80\r\n" if one.proxy_protocol else ""
        text = f"{first}GET {one.path} HTTP/1.1\r\nHost: {one.host}\r\nConnection: close\r\n\r\n"
        yield json.dumps([*addresses.get(one.port, ("127.0.0.1", one.port)), one.tls, one.host, text])


def files(found: Audit, home: str) -> Iterator[tuple[str, str]]:
    needs = needs_of(found.facts.configuration, folder=home, there=())
    yield "logs/error.log", ""
    yield from ((f"{folder}/made", "") for folder in needs.folders)
    yield from ((path, "" if material == EMPTY else "@pem") for path, material in needs.made.items())


def packed(cases: Sequence[Tried]) -> Iterator[tuple[str, str]]:
    for number, case in enumerate(cases):
        home = f"{SUITE}/{case.name}"
        for name, text in case.variants.items():
            folder = f"{_FOLDER}/{_folder(number, name)}"
            yield f"{folder}/nginx.conf", text.replace(home, folder) if SUITE else text
            yield f"{folder}/questions", "".join(f"{one}\n" for one in (*case.questions, ""))
            for path, content in case.files.items():
                if not path.startswith("/") or path.startswith(f"{home}/"):
                    yield f"{folder}/{path.removeprefix(home)}", content


def _folder(number: int, name: str) -> str:
    # All paths have the same length, since a response may contain a path.
    return f"{number:03}-{name:6}".replace(" ", "-")


def answered(
    cases: Sequence[Tried],
    *,
    engine: docker.DockerClient,
    images: BuiltImages,
    session: Session,
    nginx: str,
) -> dict[tuple[str, str], Answered]:
    """Start nginx with each variant, send the requests, and return the responses by the names of case and variant."""
    more = {"user": "0:0", "cap_drop": ["ALL"], "cap_add": list(CAPABILITIES), "network_mode": "none"}
    server = Path(question_server.__file__).read_text(encoding="utf-8")
    with (
        container(engine, images.subjects[nginx], dict(packed(cases)), session, **more) as subject,
        container(
            engine, images.roles["backend"], {"srv/ask.py": server}, session, network_mode=f"container:{subject.id}"
        ) as asker,
    ):
        assert next(iter(asker.exec_run(["python3", "-u", "/srv/ask.py"], stream=True).output)) == b"listens\n"
        lines = [line.split("\t", 2) for line in output(subject, _RUN, by="bash").splitlines()]
    found = {}
    for number, case in enumerate(cases):
        for name in case.variants:
            folder = _folder(number, name)
            state, said = next((state, said) for where, state, said in lines if where == folder and state != "answer")
            answers = [
                _headers(json.loads(said)) for where, state, said in lines if [where, state] == [folder, "answer"]
            ]
            found[case.name, name] = Answered(refusal=said if state == "refused" else "", answers=answers)
    return found


def _headers(lines: Sequence[str]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {"": [*lines[:1]]}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() not in _MOVING:
            found.setdefault(name.lower(), []).append(value.strip())
    return found


def _adds(case: Tried, name: str, line: str) -> bool:
    return case.variants[name].count(line) > case.variants[BEFORE].count(line)


def _is_tried_once_more(now: Sequence[str] | None, then: Sequence[str] | None) -> bool:
    """Return whether each list of servers, such as $upstream_addr, grew: a reused connection may lead to a retry."""
    return bool(now and then) and all(
        new.startswith(f"{old}, ") for new, old in zip(now or (), then or (), strict=False)
    )


def differing(
    case: Tried, patched: str, found: Mapping[tuple[str, str], Answered], befores: Sequence[str] = (BEFORE,)
) -> str:
    """Return a readable list of the changes that a patch caused; empty if there are none."""
    after = found[case.name, patched]
    if after.refusal:
        return after.refusal
    known = [found[case.name, name].answers for name in befores]
    changes = []
    framing = _FRAMING if _adds(case, patched, "proxy_http_version 1.1;") else frozenset()
    for question, now, *then in zip(case.questions, after.answers, *known, strict=True):
        # The response is so slow that only a fast machine gets it in time.
        if any(one[""] == [question_server.TIMEOUT] for one in then):
            continue
        for name in {*now, *then[0]} - framing:
            values = [one.get(name) for one in then]
            # Differences that also appear without a patch do not count, such as an identifier, or the choice of the
            # next peer.
            is_new = now.get(name) not in values and all(value == values[0] for value in values)
            if is_new and not (_adds(case, patched, "keepalive 32;") and _is_tried_once_more(now.get(name), values[0])):
                changes.append(f"{question}: {name or 'status'}: {values[0]} -> {now.get(name)}")
    return "\n".join(changes)


def test_a_patched_configuration_loads_and_answers_as_before(
    engine: docker.DockerClient, images: BuiltImages, lab_session: Session, nginx: str
) -> None:
    cases = [tried(name, text, nginx) for name, text in texts(nginx).items()]
    ask = partial(answered, engine=engine, images=images, session=lab_session, nginx=nginx)
    machines = min(_AT_ONCE, -(-sum(len(case.variants) for case in cases) // _EACH))
    shares = [cases[number::machines] for number in range(machines)]
    found: dict[tuple[str, str], Answered] = {}
    with ThreadPoolExecutor(machines) as pool:
        for part in pool.map(ask, shares):
            found |= part
    loaded = [case for case in cases if not found[case.name, BEFORE].refusal]
    doubtful = [
        replace(case, variants={AGAIN: case.variants[BEFORE], **{name: case.variants[name] for name in names}})
        for case in loaded
        if (names := [name for name in case.variants if name != BEFORE and differing(case, name, found)])
    ]
    found |= ask(doubtful) if doubtful else {}
    known = {case.name: case for case in cases}
    wrong = {
        f"{case.name}, {name}": differing(known[case.name], name, found, (BEFORE, AGAIN))
        for case in doubtful
        for name in case.variants
        if name != AGAIN
    }
    answers = [one for case in loaded for one in found[case.name, BEFORE].answers]
    statuses = sum(1 for one in answers if one[""])
    refused = {name: one.refusal for (name, variant), one in found.items() if variant == BEFORE and one.refusal}
    patches = sum(len({*case.variants.values()}) - 1 for case in loaded)
    print(  # noqa: T201 - the number of requests belongs to the result
        f"\nnginx {nginx}: {len(loaded)} of {len(cases)} load, with {patches} patches;"
        f" {statuses} of {len(answers)} requests answered"
    )
    assert not any(wrong.values()), "\n".join(f"{name}: {said}" for name, said in wrong.items() if said)
    assert len(loaded) > len(cases) // 3, json.dumps(refused, indent=1)
    assert statuses > len(answers) // 2
