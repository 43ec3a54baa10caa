"""nginx loads every patch that audit writes for the tests' configurations (`nginx -t` in one container)."""

import io
import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages
from tests.lab.asking import container, output
from tests.support.configurations import CASES, Case
from tests.support.own_configurations import written
from tests.support.patched_texts import TEXTS
from tests.support.surroundings import SURROUNDINGS
from tuneproof.audit.auditing import audit_source
from tuneproof.audit.patches import apply
from tuneproof.conf.sources import open_source
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.own_nginx import CAPABILITIES
from tuneproof.yours.absent import absent_of
from tuneproof.yours.installed import installed
from tuneproof.yours.needs import EMPTY, needs_of
from tuneproof.yours.peers import peers_of
from tuneproof.yours.proposal import _SYSCTLS, DEFAULT_MAIN
from tuneproof.yours.start import script

pytestmark = [pytest.mark.engine]

WHOLE: Final = "all patches"
UNCHANGED: Final = "unchanged"
# The image's nginx does not load these configurations even unchanged, although audit may accept them.
REFUSED: Final[Mapping[str, str]] = {
    "generated-with-lua": "Lua",
    "http-2-to-the-upstream": "since 1.29.4",
    "keepalive-with-local": "since 1.29.7",
    "lua-fills-the-variable": "Lua",
    "stream-only": "the stream module",
    "switched-off-on-the-newest": "keepalive 0, since 1.29.7",
    "tls-and-reuseport": "http2 on, since 1.25.1",
}
_RUN: Final = """
cat /variants/hosts >>/etc/hosts
for folder in /variants/[0-9]*; do
    cp -R "$folder/root/." /
    said=$(sh "$folder/start.sh" 2>&1); status=$?
    printf '%s\\t%s\\t%s\\n' "${folder##*/}" "$status" "$(printf %s "$said" | tr '\\n\\t' '| ')"
    (cd "$folder/root" && find . -type f) | while read -r file; do rm -f "/$file"; done
done
"""


@dataclass(frozen=True, kw_only=True)
class Variant:
    case: str
    patch: str
    files: Mapping[str, bytes]
    start: str
    names: tuple[str, ...]


def variants(name: str, case: Case, folder: Path, version: str, materials: Mapping[str, bytes]) -> Iterator[Variant]:
    source = open_source(str(written(folder, case.files)))
    found = audit_source(source, version=version)
    configuration = found.facts.configuration
    places = installed(configuration, source, main=DEFAULT_MAIN)
    absent = absent_of(found.facts, folder=places.folder)
    there = set(places.paths.values())
    needs = absent.added_to(needs_of(configuration, folder=places.folder, there=there))
    made = {path: materials[material] for path, material in needs.made.items() if material != EMPTY}
    texts = configuration.texts
    changed = {UNCHANGED: texts, WHOLE: found.patched()}
    for advised in found.advice:
        if advised.edits:
            label = f"{advised.name} {posixpath.basename(advised.at.file)}:{advised.at.line}"
            changed[label] = {**texts, **apply(advised.edits, texts)}
    for label, patched in changed.items():
        yield Variant(
            case=name,
            patch=label,
            files={**made, **places.with_lines(absent.lines).files(patched)},
            start=script(needs, main=places.main).replace("exec $nginx", "exec $nginx -t"),
            names=peers_of(found.facts).names,
        )


@pytest.fixture
def materials(engine: docker.DockerClient, images: BuiltImages, lab_session: Session) -> Mapping[str, bytes]:
    """Return the files with certificates and keys from the stand-in's image, by name."""
    holder = engine.containers.create(images.roles["backend"], labels=lab_session.labels)
    try:
        packed = b"".join(holder.get_archive("/etc/tuneproof")[0])
    finally:
        holder.remove(force=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return {
            posixpath.basename(item.name): content.read()
            for item in tar
            if item.isfile() and (content := tar.extractfile(item)) is not None
        }


def test_nginx_loads_every_patch(
    engine: docker.DockerClient,
    images: BuiltImages,
    lab_session: Session,
    materials: Mapping[str, bytes],
    nginx: str,
    tmp_path: Path,
) -> None:
    cases = {**CASES, **SURROUNDINGS, **{name: Case(files=TEXTS[name]) for name in ("dense", "dense-crlf")}}
    # The project refuses fragments of stream{}.
    cases = {name: case for name, case in cases.items() if not case.problems and name != "stream-fragment"}
    found = [
        variant
        for number, (name, case) in enumerate(cases.items())
        for variant in variants(name, case, tmp_path / str(number), nginx, materials)
    ]
    files: dict[str, str | bytes] = {}
    names = sorted({name for variant in found for name in variant.names})
    files["variants/hosts"] = "".join(f"127.0.0.1 {name}\n" for name in names)
    for number, variant in enumerate(found):
        files[f"variants/{number}/start.sh"] = variant.start
        files |= {f"variants/{number}/root{path}": content for path, content in variant.files.items()}
    more = {"cap_drop": ["ALL"], "cap_add": list(CAPABILITIES), "sysctls": dict(_SYSCTLS), "network_mode": "none"}
    with container(engine, images.subjects[nginx], files, lab_session, user="0:0", **more) as made:
        said = output(made, _RUN)
    rows = [line.split("\t") for line in said.splitlines()]
    assert sorted(int(row[0]) for row in rows) == list(range(len(found)))
    refused = {(found[int(row[0])].case, found[int(row[0])].patch): row[2] for row in rows if row[1] != "0"}
    refused_unchanged = {case for case, patch in refused if patch == UNCHANGED}
    assert refused_unchanged <= REFUSED.keys(), {key: said for key, said in refused.items() if key[1] == UNCHANGED}
    broken = {key: said for key, said in refused.items() if key[0] not in refused_unchanged}
    assert broken == {}
    patched = {variant.case for variant in found if variant.patch not in {UNCHANGED, WHOLE}} - refused_unchanged
    assert len(patched) > 20
