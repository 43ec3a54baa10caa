"""The tables of nginx's changes agree with the lab's binaries: parameters, variables, removed directives, defaults."""

import json
from collections.abc import Mapping
from typing import Final

import docker
import pytest

from fixtures.engine import BuiltImages, EnsureImages
from tests.lab.asking import answers, container
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import subject_images
from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.nginx_changes import CHANGES, LAB_VERSIONS, VARIABLES, Change, Kind
from tuneproof.wording import as_numbers

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# Debian packages these blocks' modules separately, and the image lacks them.
ABSENT: Final = frozenset({"stream", "mail"})
_UPSTREAM: Final = "upstream u { server 127.0.0.1; %s }"
# For each parameter, a line that nginx rejects with one of the messages in _LACKING if it lacks the parameter.
SAMPLES: Final[Mapping[tuple[str, str], str]] = {
    **{
        (f"{kind}_cache_path", "min_free="): f"{kind}_cache_path /tmp/{kind} keys_zone={kind}:1m min_free=1m;"
        for kind in ("proxy", "fastcgi", "scgi", "uwsgi")
    },
    ("resolver", "ipv4="): "resolver 127.0.0.1 ipv4=off;",
    ("listen", "quic"): "server { listen 127.0.0.1:8443 quic; }",
    ("listen", "multipath"): "server { listen 127.0.0.1:8443 multipath; }",
    ("listen", "spdy"): "server { listen 127.0.0.1:8443 spdy; }",
    ("listen", "http2"): "server { listen 127.0.0.1:8443 http2; }",
    ("server", "resolve"): "resolver 127.0.0.1; upstream u { zone z 1m; server a.example resolve; }",
    ("server", "service="): "resolver 127.0.0.1; upstream u { zone z 1m; server a.example service=s resolve; }",
    ("server", "route="): "upstream u { server 127.0.0.1 route=a; }",
    ("server", "drain"): "upstream u { server 127.0.0.1 drain; }",
    ("proxy_http_version", "2"): "proxy_http_version 2;",
    ("keepalive", "local"): _UPSTREAM % "keepalive 8 local;",
    ("keepalive", "0"): _UPSTREAM % "keepalive 0;",
    **{(f"{kind}_limit_rate", "$"): f"{kind}_limit_rate $arg_a;" for kind in ("proxy", "fastcgi", "scgi", "uwsgi")},
    **{
        (f"{kind}_ssl_certificate{part}", "$"): (
            f"server {{ location / {{ {kind}_pass {scheme}://127.0.0.1:443; "
            f"{kind}_ssl_certificate $host.pem; {kind}_ssl_certificate_key $host.key; }} }}"
        )
        for kind, scheme in (("proxy", "https"), ("grpc", "grpcs"), ("uwsgi", "suwsgi"))
        for part in ("", "_key")
    },
}
# Valid values: with an invalid one, nginx would refuse the line before it warns that the directive has no effect.
VALUES: Final[Mapping[str, str]] = {
    "http2_idle_timeout": "1s",
    "http2_max_field_size": "1k",
    "http2_max_header_size": "1k",
    "http2_max_requests": "1",
    "http2_recv_timeout": "1s",
    "http2_max_concurrent_pushes": "1",
    "http2_push": "/a",
    "http2_push_preload": "on",
}
EACH_VERSION: Final = pytest.mark.parametrize("version", LAB_VERSIONS)
_LACKING: Final = (
    "unknown directive",
    "is not allowed here",
    "invalid parameter",
    "invalid number of",
    "invalid value",
    "cannot load certificate",
    'host not found in resolver "ipv4=off"',
)
_NGINX: Final = """
daemon off; pid /tmp/nginx.pid; error_log stderr; events { }
http {
    access_log off;
    upstream app { server 127.0.0.1:9000; }
    server { listen 8001; location / { return 200 ok; } location /app { proxy_pass http://app; } }
    server { listen 8443 ssl; ssl_certificate /etc/tuneproof/tls.crt; ssl_certificate_key /etc/tuneproof/tls.key; }
}
"""
_LOOK: Final = """
import http.client, json, socket, socketserver, ssl, threading, time
seen, lock = [], threading.Lock()
class Backend(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            headers = {}
            while (field := self.rfile.readline().strip()):
                name, _, value = field.decode().partition(":")
                headers[name.lower()] = value.strip()
            with lock:
                seen.append((line.split()[-1].decode(), headers.get("connection"), self.client_address))
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
            if headers.get("connection") == "close":
                return
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads = True, True
threading.Thread(target=Server(("127.0.0.1", 9000), Backend).serve_forever, daemon=True).start()
for _ in range(100):
    try:
        socket.create_connection(("127.0.0.1", 8001)).close()
        break
    except OSError:
        time.sleep(0.1)
def asked(path, headers=()):
    sock = socket.create_connection(("127.0.0.1", 8001))
    lines = "".join(f"X-{number}: 1\\r\\n" for number in headers)
    sock.sendall(f"GET {path} HTTP/1.1\\r\\nHost: a\\r\\n{lines}\\r\\n".encode())
    answer = http.client.HTTPResponse(sock)
    answer.begin()
    answer.read()
    return answer.status
client = http.client.HTTPConnection("127.0.0.1", 8001)
served = 0
while served < 2000:
    client.request("GET", "/")
    answer = client.getresponse()
    answer.read()
    served += 1
    if answer.will_close:
        break
for _ in range(3):
    asked("/app")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.minimum_version = ssl.TLSVersion.TLSv1_3
try:
    with context.wrap_socket(socket.create_connection(("127.0.0.1", 8443))):
        tls = True
except (ssl.SSLError, ConnectionError):
    tls = False
print(json.dumps({
    "keepalive_requests": served, "version": seen[0][0], "connection": seen[0][1],
    "connects": len({address for _, _, address in seen}), "asked": len(seen), "tls13": tls,
    "many_headers": asked("/", range(1001)),
}))
"""


def lines_to_try() -> dict[str, tuple[Change, str]]:
    """Return a configuration for each row that one line can test, by a unique name.

    test_directives.py tests new directives with the table of directives.
    """
    found = {}
    for number, change in enumerate(CHANGES):
        if change.block in ABSENT or change.kind in {Kind.DEFAULT, Kind.BEHAVIOUR}:
            continue
        if change.parameter:
            found[str(number)] = (change, f"events {{ }} http {{ {SAMPLES[change.directive, change.parameter]} }}")
        elif change.kind is not Kind.NEW:
            # The directive's place does not matter: nginx distinguishes an unknown name from a misplaced one.
            value = VALUES[change.directive] if change.kind is Kind.IGNORED else ""
            found[str(number)] = (change, f"events {{ }} http {{ server {{ {change.directive} {value}; }} }}")
    return found


@EACH_VERSION
def test_variables_are_known_since_the_version_in_the_table(
    version: str, engine: docker.DockerClient, ensure: EnsureImages, lab_session: Session
) -> None:
    image = subject_images([version])[version]
    ensure([image])
    # The lab's build of mainline does not contain HTTP/3.
    tried = {name: since for name, since in VARIABLES.items() if (name, version) != ("http3", MAINLINE)}
    texts = {name: f"events {{ }} http {{ log_format a '${name}tail'; }}" for name in tried if name.endswith("_")}
    texts |= {name: f"events {{ }} http {{ log_format a '${name}'; }}" for name in tried if name not in texts}
    said = answers(engine, image.tag, texts, lab_session)
    unknown = {name for name in tried if f'unknown "{name}' in said[name]}
    assert unknown == {name for name, since in tried.items() if as_numbers(since) > as_numbers(version)}


@EACH_VERSION
def test_parameters_are_known_since_the_version_in_the_table(
    version: str, engine: docker.DockerClient, ensure: EnsureImages, lab_session: Session
) -> None:
    """Older versions reject new parameters; nginx's messages show removed, ignored and deprecated lines."""
    image = subject_images([version])[version]
    ensure([image])
    tried = lines_to_try()
    said = answers(engine, image.tag, {name: text for name, (_, text) in tried.items()}, lab_session)
    wrong = []
    for name, (change, _) in tried.items():
        has_come = change.numbers <= as_numbers(version)
        answer = said[name]
        lacking = [words for words in _LACKING if words in answer]
        is_true = {
            Kind.NEW: not lacking,
            Kind.REMOVED: "unknown directive" in answer or ("invalid parameter" in answer and "[emerg]" in answer),
            Kind.IGNORED: "obsolete" in answer or "is deprecated" in answer,
            Kind.DEPRECATED: "is deprecated" in answer,
        }[change.kind]
        if is_true != has_come:
            wrong.append((change.directive, change.parameter, change.version, answer))
    assert wrong == []


def default(directive: str, block: str, version: str) -> str:
    rows = [one for one in CHANGES if one.kind is Kind.DEFAULT and (one.directive, one.block) == (directive, block)]
    passed = [one for one in rows if one.numbers <= as_numbers(version)]
    return passed[-1].after if passed else rows[0].before


@EACH_VERSION
def test_visible_defaults_are_those_in_the_table(
    version: str, engine: docker.DockerClient, ensure: EnsureImages, images: BuiltImages, lab_session: Session
) -> None:
    image = subject_images([version])[version]
    ensure([image])
    with container(engine, image.tag, {"etc/seen.conf": _NGINX}, lab_session, user="0:0") as nginx:
        nginx.exec_run(["nginx", "-c", "/etc/seen.conf"], detach=True)
        with container(
            engine, images.roles["backend"], {"srv/look.py": _LOOK}, lab_session, network_mode=f"container:{nginx.id}"
        ) as looker:
            said = looker.exec_run(["python3", "/srv/look.py"]).output.decode()
    seen = json.loads(said)
    assert str(seen["keepalive_requests"]) == default("keepalive_requests", "server", version)
    assert seen["version"] == f"HTTP/{default('proxy_http_version', 'location', version)}"
    is_kept = default("keepalive", "upstream", version) != "0"
    assert (seen["connection"], seen["connects"]) == ((None, 1) if is_kept else ("close", seen["asked"]))
    assert seen["tls13"] == ("TLSv1.3" in default("ssl_protocols", "server", version))
    # Debian's security updates also added this limit to some older versions.
    if as_numbers(version) >= (1, 29, 8):
        assert seen["many_headers"] == 400
