"""The table of directives agrees with the lab's binaries: names, contexts, numbers of arguments, blocks, switches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import docker
import pytest

from fixtures.engine import EnsureImages
from tests.lab.asking import answers
from tuneproof.conf.directives import CONTEXTS, Directive, argument_problem, everything, rows_of
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import subject_images
from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.nginx_changes import LAB_VERSIONS
from tuneproof.wording import as_numbers

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# These modules are for other systems, or Debian's packages lack them.
ABSENT: Final = frozenset(
    f"ngx_{name}_module"
    for name in (
        *("devpoll", "eventport", "iocp", "kqueue", "http_degradation", "google_perftools", "quic_bpf"),
        *("http_flv", "http_mp4", "http_random_index", "http_secure_link", "stream_realip"),
    )
)
# The lab's build of mainline lacks these modules, and cannot load any.
NOT_IN_MAINLINE: Final = frozenset(
    f"ngx_{name}_module"
    for name in (
        *("http_addition_filter", "http_dav", "http_geoip", "http_gunzip_filter", "http_gzip_static"),
        *("http_image_filter", "http_perl", "http_slice_filter", "http_stub_status", "http_sub_filter", "http_v3"),
        *("http_xslt_filter", "stream_geoip", "mail", "mail_auth_http", "mail_core", "mail_imap", "mail_pop3"),
        *("mail_proxy", "mail_realip", "mail_smtp", "mail_ssl"),
    )
)
# Debian's security updates added these directives to older versions; the table describes nginx's own releases.
BACKPORTED: Final = frozenset({"max_errors", "max_headers"})
# Modules that Debian packages separately; without them, nginx rejects their directives.
APART: Final = ("stream", "mail", "http_geoip", "http_image_filter", "http_perl", "http_xslt_filter", "stream_geoip")
_WITHIN: Final = {
    "main": "%s",
    "http": "http { %s }",
    "server": "http { server { %s } }",
    "location": "http { server { location / { %s } } }",
    "upstream": "http { upstream u { %s } }",
    "if in server": "http { server { if ($host = a) { %s } } }",
    "if in location": "http { server { location / { if ($host = a) { %s } } } }",
    "limit_except": "http { server { location / { limit_except GET { %s } } } }",
    "stream": "stream { %s }",
    "stream server": "stream { server { %s } }",
    "stream upstream": "stream { upstream u { %s } }",
    "mail": "mail { %s }",
    "mail server": "mail { server { %s } }",
}
_OF_HTTP: Final = frozenset(context for context, text in _WITHIN.items() if text.startswith("http"))
_REFUSED: Final = (
    "unknown directive",
    "is not allowed here",
    "is not terminated by",
    "has no opening",
    'it must be "on" or',
)
_DUPLICATE: Final = "is duplicate"
_MOST: Final = 9


@dataclass(frozen=True, kw_only=True)
class Question:
    """A directive in a context."""

    row: Directive
    context: str
    count: int  # number of arguments; each is "1", or "on" for a repeated switch
    has_block: bool
    is_twice: bool = False

    @property
    def args(self) -> list[str]:
        return ["on" if self.is_twice and self.row.is_flag else "1"] * self.count

    def configuration(self, version: str) -> str:
        """Return a configuration with the directive, and with only the modules that it needs."""
        named = {row.module.removeprefix("ngx_").removesuffix("_module") for row in rows_of(self.row.name)}
        families = {self.context.split()[0], self.row.module.split("_")[1]}
        # Modules for stream need the module stream, so they are loaded only with it, and after it.
        spared = "" if "stream" in families else "stream_"
        needed = [name for name in APART if name in families | named and not (spared and name.startswith(spared))]
        loads = "".join(f"load_module modules/ngx_{name}_module.so; " for name in needed if version != MAINLINE)
        text = " ".join((self.row.name, *self.args)) + (" { }" if self.has_block else ";")
        text = f"{text} {text}" if self.is_twice else text
        if self.context == "events":
            return f"{loads}events {{ {text} }} http {{ }}"
        return f"{loads}events {{ }} {_WITHIN[self.context] % text}"


def questions(row: Directive, turn: int) -> Iterator[Question]:
    """Yield questions that show whether a row is right; each ``turn`` uses other contexts.

    In contexts that the row allows, the questions have the least and the most arguments, one fewer and one more. One
    question has a block if the directive takes none, or no block if it takes one. A directive that a block accepts only
    once appears twice in one question. Two more questions use contexts that the row does not allow; for an http
    directive, these are contexts of http.
    """
    allowed, refused = (
        [context for context in CONTEXTS if (context in row.contexts) == is_allowed] for is_allowed in (True, False)
    )
    most = _MOST if row.most_args is None else row.most_args
    counts = {row.least_args - 1, row.least_args, most, *([most + 1] if row.most_args is not None else [])} - {-1}
    asked = [*((count, row.is_block) for count in sorted(counts)), (row.least_args, not row.is_block)]
    for number, (count, has_block) in enumerate(asked, turn):
        yield Question(row=row, context=allowed[number % len(allowed)], count=count, has_block=has_block)
    if row.is_once:
        yield Question(
            row=row, context=allowed[turn % len(allowed)], count=row.least_args, has_block=False, is_twice=True
        )
    own = [context for context in refused if (context in _OF_HTTP) == bool(row.contexts & _OF_HTTP)]
    for number in (2 * turn, 2 * turn + 1) if own else ():
        yield Question(row=row, context=own[number % len(own)], count=row.least_args, has_block=row.is_block)


@pytest.mark.parametrize("version", LAB_VERSIONS)
def test_nginx_agrees_with_the_table_on_names_contexts_and_arguments(
    version: str, engine: docker.DockerClient, ensure: EnsureImages, lab_session: Session
) -> None:
    """Each version also rejects directives that the table lists only for other versions."""
    image = subject_images([version], {version: [f"libnginx-mod-{name.replace('_', '-')}" for name in APART]})[version]
    ensure([image])
    numbers, turn = as_numbers(version), LAB_VERSIONS.index(version)
    asked = {
        f"case-{number}": question
        for number, question in enumerate(
            question
            for row in everything()
            if row.is_in(numbers)
            for question in questions(row, turn)
            if not (version == MAINLINE and question.context.startswith("mail"))
        )
    }
    there = {(one.row.name, one.row.module) for one in asked.values()}
    names = {name for name, _ in there}
    others = {
        f"no-{row.name}": Question(row=row, context=min(row.contexts), count=1, has_block=row.is_block)
        for row in everything()
        if row.name not in names
    }
    configurations = {name: one.configuration(version) for name, one in {**asked, **others}.items()}
    said = answers(engine, image.tag, configurations, lab_session)
    known = {
        one.row.module
        for name, one in asked.items()
        if one.context in one.row.contexts and not any(words in said[name] for words in _REFUSED[:2])
    }
    assert {module for _, module in there} - known <= ABSENT | (NOT_IN_MAINLINE if version == MAINLINE else frozenset())
    wrong = [
        (configurations[name], said[name])
        for name, one in asked.items()
        if one.row.module in known and not _agrees(one, said[name], numbers)
    ]
    wrong += [
        (configurations[name], said[name])
        for name, one in others.items()
        if "unknown directive" not in said[name] and one.row.name not in BACKPORTED
    ]
    assert wrong == []
    assert len(asked) > 2000
    twice = [one.row.name for name, one in asked.items() if one.is_twice and _DUPLICATE in said[name]]
    assert len(twice) > 200


def _agrees(one: Question, said: str, version: tuple[int, ...]) -> bool:
    expected = argument_problem(one.row.name, one.args, has_block=one.has_block, context=one.context, version=version)
    if one.is_twice:
        # nginx may reject the value of the first directive before it reads the second one.
        return "test is successful" not in said
    number = f'invalid number of arguments in "{one.row.name}" directive'
    return expected in said if expected else not any(words in said for words in (*_REFUSED, number))
