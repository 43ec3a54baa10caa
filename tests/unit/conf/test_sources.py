"""Sources of configurations: files, folders, dumps and pipes, with the additions of editors and terminals."""

import codecs
import errno
import io
import json
import os
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tuneproof.audit.auditing import Audit, audit
from tuneproof.audit.document import document
from tuneproof.audit.findings import annotations, findings, sarif
from tuneproof.audit.render import render
from tuneproof.conf import sources, tree
from tuneproof.conf.sources import open_source
from tuneproof.conf.tree import read_configuration
from tuneproof.errors import BadInputError
from tuneproof.nginx_changes import STABLE_VERSIONS
from tuneproof.user_files import write_text

TEXT = 'events {}\nhttp { server { listen 8080; server_name "a"; } }\n'
DUMP = """\
# configuration file /etc/nginx/nginx.conf:
events { worker_connections 64; }
http {
    include /etc/nginx/mime.types;
    include conf.d/*.conf;
}

# configuration file /etc/nginx/mime.types:
types { text/html html; }

# configuration file /etc/nginx/conf.d/site.conf:
server { listen 81; server_name dumped; location / { proxy_pass http://app:1; } }
"""


def listens(found: Audit) -> list[str]:
    return [listen for server in found.facts.servers for listen in server.listens]


def of_bytes(folder: Path, raw: bytes, *, version: str = STABLE_VERSIONS[-1], prefix: str = "") -> Audit:
    path = folder / "nginx.conf"
    path.write_bytes(raw)
    return audit(str(path), version=version, prefix=prefix)


@pytest.mark.parametrize(
    "raw",
    [
        TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        TEXT.replace("events", "# café\nevents").encode("latin-1"),
    ],
    ids=["utf-8", "crlf", "bom", "utf-16", "utf-16-le", "utf-16-be", "latin-1"],
)
def test_a_file_is_read_in_the_usual_encodings(tmp_path: Path, raw: bytes) -> None:
    found = of_bytes(tmp_path, raw)
    assert listens(found) == ["8080"]
    assert found.facts.configuration.problems == ()


def test_a_byte_order_mark_is_reported_and_stays_in_patches(tmp_path: Path) -> None:
    """Nginx does not start with the mark, but the server's file may be without it."""
    (tmp_path / "a.conf").write_bytes(codecs.BOM_UTF8 + b"# made by hand\n\nserver {\n    tcp_nodelay on;\n}\n")
    found = of_bytes(tmp_path, codecs.BOM_UTF8 + b"events { }\nhttp { include a.conf; }\n")
    assert found.facts.configuration.problems == ()
    marked = [one for one in found.advice if one.claim == "byte_order_mark_is_part_of_a_word"]
    assert [(Path(one.at.file).name, one.at.line) for one in marked] == [("nginx.conf", 1), ("a.conf", 3)]
    assert "\n \ufeff# made by hand\n" in found.whole_patch()


def test_a_byte_order_mark_before_a_dump_is_not_reported(tmp_path: Path) -> None:
    """PowerShell writes the mark if a user redirects the output of nginx -T."""
    found = of_bytes(tmp_path, codecs.BOM_UTF8 + DUMP.encode())
    assert listens(found) == ["81"]
    assert [one.claim for one in found.advice if "byte_order" in one.claim] == []


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_patch_has_the_bytes_of_the_file(tmp_path: Path, encoding: str) -> None:
    """Other programs apply the patch only if the lines around a change are the same."""
    line = "# für müde Köche\n".encode(encoding)
    found = of_bytes(tmp_path, b"events {}\nhttp {\n    tcp_nodelay on;\n" + line + b"}\n")
    write_text(tmp_path / "patch", found.whole_patch())
    assert b"-    tcp_nodelay on;\n " + line in (tmp_path / "patch").read_bytes()


def test_every_output_of_an_audit_can_be_written_for_a_file_in_latin_1(tmp_path: Path) -> None:
    location = "location /ä { proxy_pass http://10.0.0.1; root ä; root ö; }"
    text = f"events {{}}\nhttp {{ error_log off; server {{ listen unix:/ä; server_name ä; {location} }} }}\n"
    found = of_bytes(tmp_path, text.encode("latin-1"))
    ours = findings(found)
    written = [render(found, width=100), json.dumps(document(found)), *annotations(found, ours, below=tmp_path)]
    written.append(json.dumps(sarif(found, ours, has_baseline=False, below=tmp_path)))
    assert "".join(written).encode()


OK = "nginx: the configuration file /etc/nginx/nginx.conf syntax is ok"
COLOURED = DUMP.replace("listen", "\x1b[31mlisten\x1b[0m")
AROUND = [
    DUMP,
    f"user@host:~$ sudo nginx -T\n{OK}\n{DUMP}user@host:~$ \n",
    f"{DUMP}nginx: configuration file /etc/nginx/nginx.conf test is successful\n",
    f"Script started on 2026-11-22\n\x1b[?2004hroot@a:/# nginx -T\n{COLOURED}\x1b]0;root@a\x07root@a:/# exit\n",
    DUMP.replace("\n", "\r\n"),
    f'nginx: [warn] the "ssl" directive is deprecated in /etc/nginx/x:1\n{DUMP}',
]


@pytest.mark.parametrize("text", AROUND, ids=["plain", "prompt", "test", "script", "crlf", "warning"])
def test_a_dump_is_read_with_a_terminals_text_around_it(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dump is in a file or on standard input; its includes refer to the files inside it."""
    found = of_bytes(tmp_path, text.encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    for one in (found, audit("-")):
        assert listens(one) == ["81"]
        assert one.facts.worker_connections == 64
        assert one.facts.configuration.problems == ()
        assert one.facts.configuration.unseen == ()
        [proxied] = one.facts.proxied
        assert (proxied.target.statement.file, proxied.target.statement.line) == ("/etc/nginx/conf.d/site.conf", 1)


@pytest.mark.parametrize(
    "text",
    [
        '{\n "a": 1\n}\n',
        "<VirtualHost *:80>\n ServerName a\n</VirtualHost>\n",
        "a.example {\n  reverse_proxy 127.0.0.1:3000\n}\n",
        "2026/11/26 09:47:25 [error] 2324#2324: *1 no live upstreams while connecting to upstream\n",
    ],
    ids=["json", "apache", "caddy", "log"],
)
def test_a_file_of_another_program_is_no_configuration(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInputError, match="none of its directives is nginx's") as caught:
        of_bytes(tmp_path, text.encode())
    assert "for a log: ./lab explain" in caught.value.remedy


def test_a_folder_of_templates_is_read(tmp_path: Path) -> None:
    """The official images keep their templates in /etc/nginx/templates."""
    (tmp_path / "default.conf.template").write_text("server { listen 8080; }\n", encoding="utf-8")
    assert listens(audit(str(tmp_path))) == ["8080"]


def test_a_folder_is_read_from_its_nginx_conf(tmp_path: Path) -> None:
    etc = tmp_path / "etc/nginx"
    (etc / "conf.d").mkdir(parents=True)
    (etc / "nginx.conf").write_text("events {}\nhttp { include /etc/nginx/conf.d/*.conf; }\n", encoding="utf-8")
    (etc / "conf.d/a.conf").write_text("server { listen 82; }\n", encoding="utf-8")
    assert listens(audit(str(tmp_path))) == listens(audit(str(etc))) == ["82"]


@pytest.mark.parametrize(
    "text",
    [
        "allow 10.0.0.1;",
        "ssl_certificate a; ssl_certificate_key b;",
        "server_tokens off; default_type text/plain;",
        "log_not_found off;",
    ],
)
def test_a_fragment_of_an_unknown_block_is_not_refused(tmp_path: Path, text: str) -> None:
    """The fragment belongs to some block that allows all its directives."""
    found = of_bytes(tmp_path, f"{text}\n".encode()).facts.configuration
    assert found.problems == ()
    assert found.is_fragment


def test_the_prefix_is_the_original_place_of_a_copied_folder(tmp_path: Path) -> None:
    """With the prefix, includes by an absolute name are found in the copy."""
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/a").write_text("server { listen 83; }\n", encoding="utf-8")
    found = of_bytes(tmp_path, b"events {}\nhttp { include /opt/web/conf/sites/*; }\n", prefix="/opt/web/conf")
    assert listens(found) == ["83"]


def test_a_folder_of_fragments_is_one_configuration(tmp_path: Path) -> None:
    """The fragments are read as if an http{} included them all."""
    (tmp_path / "up.conf").write_text("upstream app { server a:1; }\n", encoding="utf-8")
    (tmp_path / "a.conf").write_text("server { listen 84; location / { proxy_pass http://app; } }\n", encoding="utf-8")
    found = audit(str(tmp_path), version="1.30")
    assert listens(found) == ["84"]
    assert [proxied.reuse.reuse.value for proxied in found.facts.proxied] == ["yes"]
    assert found.facts.configuration.is_fragment


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("http { server { listen {{ port }}; } }", "{{ port }}"),
        ("server {\n{% if tls %}\nlisten 443;\n{% endif %}\n}", "{% if tls %}"),
        ("server { listen <%= @port %>; }", "<%= @port %>"),
        ("server { listen {{ .Values.port | default 80 }}; }", "{{ .Values.port | default 80 }}"),
    ],
)
def test_a_template_is_rejected_with_a_remedy(tmp_path: Path, content: str, place: str) -> None:
    with pytest.raises(BadInputError, match="a template") as caught:
        of_bytes(tmp_path, f"events {{}}\n{content}\n".encode())
    assert place in caught.value.what
    assert "nginx -T" in caught.value.remedy
    assert caught.value.where.startswith(f"{tmp_path}/nginx.conf:")


SITE = (
    "server { listen ${PORT}; client_max_body_size ${BODY_SIZE:-5m};\n  location / { proxy_pass http://${API_HOST}; } }"
)


def test_envsubst_placeholders_get_the_given_value_their_default_or_a_stand_in(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{ {SITE} }}\n", encoding="utf-8")
    found = read_configuration(open_source(str(tmp_path), values={"PORT": "8443"}))
    assert {(one.name, one.value, one.is_given) for one in found.filled} == {
        ("PORT", "8443", True),
        ("BODY_SIZE", "5m", True),
        ("API_HOST", "backend", False),
    }
    assert found.problems == ()


def test_a_patch_to_a_template_keeps_its_placeholders(tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{ {SITE} }}\n", encoding="utf-8")
    patch = audit(str(tmp_path), version="1.30").whole_patch()
    assert "+http { server { listen ${PORT} backlog=4096; client_max_body_size ${BODY_SIZE:-5m};" in patch


@pytest.mark.parametrize(
    "line",
    [
        "set $B app; location / { proxy_pass http://${B}:80; }",
        "location ~ ^/(?<ID>.*)$ { proxy_pass http://10.0.0.1/${ID}; }",
        "location / { proxy_pass http://${host}; } # ${REMARK}",
    ],
)
def test_an_nginx_variable_is_not_a_placeholder(tmp_path: Path, line: str) -> None:
    found = of_bytes(tmp_path, f"events {{}}\nhttp {{ server {{ {line} }} }}\n".encode())
    assert found.facts.configuration.filled == ()


def test_includes_of_a_copy_do_not_leave_its_folder(tmp_path: Path) -> None:
    """A file outside is not read, whether it is included with ``..``, through a link or by an absolute name."""
    secret = tmp_path / "outside.conf"
    secret.write_text("tcp_nodelay on;", encoding="utf-8")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "link.conf").symlink_to(secret)
    for name in ("../outside.conf", "link.conf", str(secret)):
        (copy / "nginx.conf").write_text(f"events {{}}\nhttp {{ include {name}; server {{ }} }}\n", encoding="utf-8")
        found = read_configuration(open_source(str(copy)))
        assert list(found.texts) == [str(copy / "nginx.conf")], name


def test_links_to_nothing_are_missing_in_a_copy_and_errors_where_nginx_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link out of a copy is also missing: the file there may be another one."""
    sites = tmp_path / "etc/sites-enabled"
    sites.mkdir(parents=True)
    (tmp_path / "etc/nginx.conf").write_text("events {}\nhttp { include sites-enabled/*; }\n", encoding="utf-8")
    (tmp_path / "outside").write_text("server { }", encoding="utf-8")
    (sites / "a").write_text("server { }", encoding="utf-8")
    (sites / "b").symlink_to(tmp_path / "outside")
    (sites / "c").symlink_to("../sites-available/removed")
    copy = read_configuration(open_source(str(tmp_path / "etc")))
    assert (copy.unseen, copy.problems) == ((str(sites / "b"), str(sites / "c")), ())
    monkeypatch.setattr(sources, "_INSTALLED", (str(tmp_path / "etc"),))
    installed = read_configuration(open_source(str(tmp_path / "etc")))
    assert len(installed.texts) == 3
    assert [one.message for one in installed.problems] == [
        f'open() "{sites / "c"}" failed (2: No such file or directory)'
    ]


def included_twice(folder: Path, number: int) -> None:
    for step in range(number):
        (folder / f"{step}.conf").write_text(f"include {step + 1}.conf;\n" * 2, encoding="utf-8")
    (folder / f"{number}.conf").write_text("sendfile on;\n", encoding="utf-8")
    (folder / "nginx.conf").write_text("events {}\nhttp { include 0.conf; }\n", encoding="utf-8")


def included_in_a_chain(folder: Path, number: int) -> None:
    included_twice(folder, number)
    for step in range(number):
        (folder / f"{step}.conf").write_text(f"include {step + 1}.conf;\n", encoding="utf-8")


@pytest.mark.parametrize(("write", "number"), [(included_twice, 22), (included_in_a_chain, 3000)])
def test_too_many_or_too_deep_includes_give_one_error(
    tmp_path: Path, write: Callable[[Path, int], None], number: int
) -> None:
    write(tmp_path, number)
    with pytest.raises(BadInputError, match=r"more than \d+ (?:deep|files)"):
        read_configuration(open_source(str(tmp_path)))


@pytest.mark.parametrize(
    ("module", "limit", "named", "message"),
    [
        (sources, "_MAX_BYTES", "nginx.conf", "no configuration is that large"),
        (sources, "MOST_FILES", "sites", "more than 2 files"),
        (sources, "_MOST_SEARCHED", "sites", "no nginx.conf among 2 files"),
        (tree, "_MOST_BYTES", "nginx.conf", "MiB of configuration"),
        (tree, "_MOST_STATEMENTS", "nginx.conf", "more than 2 directives"),
    ],
)
def test_a_configuration_beyond_a_limit_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, limit: str, named: str, message: str
) -> None:
    (tmp_path / "sites").mkdir()
    for name in ("nginx.conf", "sites/a.conf", "sites/b.conf", "sites/c.conf"):
        (tmp_path / name).write_text("events {}\nhttp { sendfile on; }\n", encoding="utf-8")
    read_configuration(open_source(str(tmp_path / named)))
    monkeypatch.setattr(module, limit, 2)
    with pytest.raises(BadInputError, match=message):
        read_configuration(open_source(str(tmp_path / named)))


@pytest.mark.parametrize(
    "text", ["a" * 100_000 + " on;", "server { # \n" + "{%" * 100_000 + " }", "listen ${" + "A" * 200_000 + ";"]
)
def test_long_words_need_little_memory(tmp_path: Path, text: str) -> None:
    """A pattern that scanned such a word repeatedly took gigabytes, or minutes."""
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{ {text} }}\n", encoding="utf-8")
    tracemalloc.start()
    try:
        read_configuration(open_source(str(tmp_path)))
        assert tracemalloc.get_traced_memory()[1] < 50 << 20
    finally:
        tracemalloc.stop()


def test_responses_and_lua_code_are_not_taken_for_templates(tmp_path: Path) -> None:
    text = (
        "events {}\nhttp { server {\nreturn 200 '{{ name }}';\nlocation /l { content_by_lua_block {\n"
        "local t = {{1}, {2}} } }\n# {{ remark }}\nlocation /v { proxy_pass http://${host}; } } }\n"
    )
    assert len(of_bytes(tmp_path, text.encode()).facts.proxied) == 1


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n# nothing\n", b"for one in ${all}/* ; do\n  a --with=\\${one}/b\ndone\n"],
    ids=["empty", "comments", "shell"],
)
def test_a_file_without_directives_is_not_a_configuration(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(BadInputError, match="not an nginx configuration"):
        of_bytes(tmp_path, raw)


def test_an_unusable_source_or_version_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInputError, match="no such file or folder"):
        audit(str(tmp_path / "gone.conf"))
    with pytest.raises(BadInputError, match="the configuration's name is empty"):
        audit("")
    with pytest.raises(BadInputError, match=r"no nginx\.conf and no \*\.conf"):
        audit(str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(BadInputError, match="standard input is empty"):
        audit("-")
    with pytest.raises(BadInputError, match="--nginx newest: not a version"):
        of_bytes(tmp_path, TEXT.encode(), version="newest")


@pytest.mark.parametrize("call", ["open", "is_dir"], ids=["file", "folder"])
def test_files_that_only_root_may_read_can_be_given_as_a_dump(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_arguments: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "nginx.conf").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(Path, call, denied)
    with pytest.raises(BadInputError, match="cannot be read: Permission denied") as caught:
        audit(str(tmp_path / "nginx.conf"))
    assert "sudo nginx -T | ./lab audit -" in caught.value.remedy


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """A shell's <(ssh HOST nginx -T) is a pipe, without files next to it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("events { }\nhttp { include conf.d/*.conf; }\n"))
    writer.start()
    source = open_source(str(pipe))
    writer.join()
    assert source.text(source.roots[0]).startswith("events")
    assert list(source.included("conf.d/*.conf")) == []


@pytest.mark.parametrize("pattern", ["conf.d", "conf.d/*", "/etc/nginx/conf.d/*"])
def test_an_included_folder_is_reported_as_a_file_that_nginx_cannot_read(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "conf.d" / "old").mkdir(parents=True)
    (tmp_path / "conf.d" / "a.conf").write_text("server_tokens off;\n", encoding="utf-8")
    (tmp_path / "nginx.conf").write_text(f"events {{ }}\nhttp {{ include {pattern}; }}\n", encoding="utf-8")
    found = audit(str(tmp_path), version="1.30").facts.configuration
    place = tmp_path / "conf.d" / ("old" if "*" in pattern else "")
    assert [one.message for one in found.problems] == [f'pread() "{place}" failed (21: Is a directory)']
    assert found.is_broken
    assert found.unseen == ()
