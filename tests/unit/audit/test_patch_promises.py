"""Patches on generated configurations remove their findings, add no harmful ones, and keep protective directives."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.generated_configurations import configuration
from tuneproof.audit.advice import Advised, State
from tuneproof.audit.auditing import Audit, audit_source
from tuneproof.audit.patches import apply
from tuneproof.conf.sources import Dump
from tuneproof.conf.statements import Statement
from tuneproof.nginx_changes import LAB_VERSIONS
from tuneproof.wording import as_numbers

SEEDS: Final = 6
PROTECTING: Final = frozenset(
    {"deny", "allow", "auth_basic", "auth_request", "limit_req", "limit_conn", "ssl_verify_client", "internal"}
)


def audited(text: str, version: str) -> Audit:
    return audit_source(Dump({"nginx.conf": text}, is_complete=True), version=version)


def drawn(version: str) -> Iterator[Audit]:
    for seed in range(SEEDS):
        found = audited(configuration(seed, as_numbers(version)), version)
        if not found.facts.configuration.is_broken:
            yield found


def protection(found: Audit) -> Counter[tuple[str, ...]]:
    """Count the protective directives, each with its block, and the sockets with and without TLS."""
    main = found.facts.configuration.main
    said = Counter((one.name, *one.args, *block.path) for one, block in main.everything() if one.name in PROTECTING)
    for socket in found.facts.sockets.found:
        by_directive = any(server.is_on("ssl") for server in socket.servers)
        said["TLS" if by_directive or "ssl" in socket.protocols else "plain", socket.address.name] += 1
    return said


def key(one: Advised) -> tuple[str, ...]:
    return one.claim, one.state.value, one.at.name


def worse(after: Audit, before: Audit, new: Counter[tuple[str, ...]]) -> Iterator[Advised]:
    """Yield new findings that are harmful, break something, or show a line of the patch to be ineffective or expired.

    Other new findings are allowed: a patch may make a user's line with the same purpose unnecessary.
    """
    known = {(said.name, *said.args) for said, _ in before.facts.configuration.main.everything()}
    for one in after.advice:
        if key(one) in new and one.state in {State.HARMFUL, State.WITHOUT_EFFECT, State.EXPIRED}:
            is_ours = isinstance(one.at, Statement) and (one.at.name, *one.at.args) not in known
            if one.state is State.HARMFUL or one.breaks or (is_ours and one.at.name not in {"listen", "proxy_pass"}):
                yield one


@pytest.mark.parametrize("version", LAB_VERSIONS)
def test_a_patch_removes_its_finding_and_adds_no_harmful_one(version: str) -> None:
    tried = 0
    for found in drawn(version):
        before = Counter(map(key, found.advice))
        for one in found.advice:
            if not one.edits:
                continue
            tried += 1
            text = apply(one.edits, found.facts.configuration.texts)["nginx.conf"]
            after = audited(text, version)
            assert after.facts.configuration.problems == (), (one, text)
            now = Counter(map(key, after.advice))
            assert now[key(one)] < before[key(one)], (one, text)
            assert list(worse(after, found, now - before)) == [], (one, text)
            assert protection(after) == protection(found), (one, text)
    assert tried > SEEDS


@pytest.mark.parametrize("version", LAB_VERSIONS)
def test_nothing_is_left_to_patch_after_all_patches(version: str) -> None:
    for found in drawn(version):
        after = audited(found.patched()["nginx.conf"], version)
        assert after.facts.configuration.problems == ()
        left = [one for one in after.advice if one.edits]
        assert left == [], (left, found.patched()["nginx.conf"])
        assert protection(after) == protection(found)
