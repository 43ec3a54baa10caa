"""Compares the settings that the model finds in effect in a block with nginx's responses, by directive."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.support.compared_model import Compared
from tests.support.generated_inheritance import Drawn, Question
from tuneproof.conf import effective
from tuneproof.conf.directives import directive
from tuneproof.conf.effective import Effective
from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import Block, read_configuration

Answer = Sequence[Any]
"""Status, header lines, body."""
In = Callable[[str], Effective]
"""The settings of a directive that are in effect in the block in question."""
Seen = Mapping[str, object]
_EXISTING: Final = frozenset({"a.html", "c.html", "e.html"})
FILES: Final = {f"srv/files/{name}": name for name in sorted(_EXISTING)}
"""Files in the folder that a configuration's locations serve, and their content."""
_HEADERS: Final = tuple("abcde")
_REDIRECT: Final = "absolute_redirect server_name_in_redirect port_in_redirect internal"
_OWN: Final = "return rewrite try_files"


def blocks_by_label(main: Block) -> dict[str, Block]:
    """Return the blocks that requests can reach, by label."""
    found = {}
    for server in main.all("server"):
        for said in server.local("server_name"):
            for location in server.all("location"):
                label = f"{said.args[-1]}{location.args[-1]}"
                found[label] = location
                found |= {f"{label}{inner.name}": inner for inner in location.blocks if inner.name != "location"}
    return found


def compare(
    drawn: Drawn, answers: Sequence[Answer], logs: Mapping[int, frozenset[str]], version: Sequence[int]
) -> Compared:
    """Compare all settings that responses show; each is a question about one directive or several."""
    main = read_configuration(Dump({"nginx.conf": drawn.text}, is_complete=True)).main
    blocks = blocks_by_label(main)
    found = Compared()
    for number, (question, answer) in enumerate(zip(drawn.questions, answers, strict=True)):
        block = blocks[question.label]
        unknown: list[str] = []

        def in_effect(name: str, block: Block = block, unknown: list[str] = unknown) -> Effective:
            known = effective.effective(block, name, version)
            unknown += [name] if known.origin is effective.Origin.UNKNOWN else []
            return known

        wanted = _EXPECTED[drawn.kind](question, block, in_effect)
        seen = _SEEN[drawn.kind](answer, logs.get(number, frozenset()))
        found.questions += len(wanted)
        found.unknown.update(unknown)
        for names, value in wanted.items():
            known = (name for name in names.split() if directive(name, version) is not None)
            found.constructs.update((*known, f"in {block.name}"))
            if value != seen[names]:
                found.disagreements.append(f"{drawn.kind}: {names} of {question}: {value}, nginx: {seen[names]}")
    return found


def _value(found: Effective, place: int = 0) -> str | None:
    return found.statements[-1].args[place] if found.statements else None


def _expected_answer(question: Question, _: Block, effective: In) -> Seen:
    logs = effective("access_log")
    files = {said.value.rpartition("/")[2] for said in logs.statements if said.value != "off"}
    wanted: dict[str, object] = {"access_log": files if logs.statements else {"access.log"}}
    if question.method == "POST":
        return {**wanted, "client_max_body_size": 413 if effective("client_max_body_size").value == "1k" else 200}
    expires, charset = _value(effective("expires")), _value(effective("charset"))
    of_root, of_alias = effective("root"), effective("alias")
    root = (of_alias if of_alias.statements else of_root).value
    suffix = f"; charset={charset}" if charset not in {None, "off"} else ""
    return {
        **wanted,
        "add_header add_header_inherit": [list(said.args[:2]) for said in effective("add_header").statements],
        "expires": f"max-age={expires[:-1]}" if expires not in {None, "off"} else None,
        "default_type charset": f"{effective('default_type').value}{suffix}",
        "keepalive_timeout": _prefixed("timeout=", _value(effective("keepalive_timeout"), 1)),
        "server_tokens": effective("server_tokens").value != "off",
        "root alias": root if root != "html" else "/usr/share/nginx/html",
    }


def _prefixed(prefix: str, text: str | None) -> str | None:
    return None if text is None else f"{prefix}{text}"


def _seen_answer(answer: Answer, logged: frozenset[str]) -> Seen:
    status, headers, body = answer
    fields = dict(map(tuple, headers))
    return {
        "access_log": set(logged),
        "client_max_body_size": status,
        "add_header add_header_inherit": [header for header in headers if header[0].startswith("X-")],
        "expires": fields.get("Cache-Control"),
        "default_type charset": fields.get("Content-Type"),
        "keepalive_timeout": fields.get("Keep-Alive"),
        "server_tokens": "/" in fields.get("Server", ""),
        "root alias": body,
    }


def _expected_error(question: Question, block: Block, effective: In) -> Seen:
    is_internal = bool(effective("internal").statements)
    if is_internal and block.name == "if":
        return {}  # such a request never reaches the block
    returned = block.local("return")[0].args
    if is_internal or returned[0] == "404":
        pages = effective("error_page").statements
        return {"error_page internal": (302 if pages else 404, pages[0].args[-1] if pages else None)}
    location = returned[1]
    if effective("absolute_redirect").value == "on":
        name = f"main.{question.host}" if effective("server_name_in_redirect").value == "on" else question.host
        port = ":8003" if effective("port_in_redirect").value == "on" else ""
        location = f"http://{name}{port}{location}"
    return {_REDIRECT: (301, location)}


def _seen_error(answer: Answer, _: frozenset[str]) -> Seen:
    status, headers, _ = answer
    return dict.fromkeys(("error_page internal", _REDIRECT), (status, dict(map(tuple, headers)).get("Location")))


def _expected_proxied(question: Question, _: Block, effective: In) -> Seen:
    if not effective("proxy_pass").statements:
        return {"proxy_pass": False}
    sent = {said.args[0].lower(): said.args[1] for said in effective("proxy_set_header").statements}
    hidden = {said.value.lower() for said in effective("proxy_hide_header").statements}
    return {
        "proxy_pass": True,
        "proxy_method": effective("proxy_method").value or question.method,
        "proxy_http_version": f"HTTP/{effective('proxy_http_version').value}",
        "proxy_set_header": [sent.get(f"x-{letter}", "") for letter in _HEADERS],
        "proxy_hide_header": {f"x-{letter}" for letter in _HEADERS} - hidden,
    }


def _seen_proxied(answer: Answer, _: frozenset[str]) -> Seen:
    status, headers, body = answer
    method, version, *sent = body.split(" ") if status == 200 else ("", "")
    return {
        "proxy_pass": status == 200,
        "proxy_method": method,
        "proxy_http_version": version,
        "proxy_set_header": sent,
        "proxy_hide_header": {name.lower() for name, _ in headers if name.startswith("X-")},
    }


def _expected_access(_question: Question, _: Block, effective: In) -> Seen:
    rules = sorted((*effective("allow").statements, *effective("deny").statements), key=lambda said: said.span.start)
    decides = next((said for said in rules if said.value in {"all", "127.0.0.1"}), None)
    if decides is not None and decides.name == "deny":
        return {"allow deny": 403}
    realm = _value(effective("auth_basic"))
    has_realm = realm not in {None, "off"}
    status = 401 if has_realm else 200
    return {"allow deny": status, "auth_basic": f'Basic realm="{realm}"' if has_realm else None}


def _seen_access(answer: Answer, _: frozenset[str]) -> Seen:
    status, headers, _ = answer
    return {"allow deny": status, "auth_basic": dict(map(tuple, headers)).get("WWW-Authenticate")}


def _expected_file(question: Question, _: Block, effective: In) -> Seen:
    effects = (*effective("return").statements, *effective("rewrite").statements)
    if effects:
        first = min(effects, key=lambda said: said.span.start)
        return {_OWN: 451 if first.name == "return" else 301}
    tries = effective("try_files").statements
    if "missing" in question.path:
        return {_OWN: int(tries[0].args[-1][1:]) if tries else 404}
    listed = [name for said in effective("index").statements for name in said.args] or ["index.html"]
    found = next((name for name in listed if name in _EXISTING), None)
    return {"index autoindex": found or ("listed" if effective("autoindex").value == "on" else 403)}


def _seen_file(answer: Answer, _: frozenset[str]) -> Seen:
    status, _, body = answer
    page = ("listed" if "Index of" in body else body) if status == 200 else status
    return {_OWN: status, "index autoindex": page}


def _expected_timeout(question: Question, _: Block, effective: In) -> Seen:
    if question.method == "POST":
        return {"client_body_timeout": 0 if effective("client_body_timeout").value == "100ms" else -1}
    return {"proxy_read_timeout": 504 if effective("proxy_read_timeout").value == "100ms" else 200}


def _seen_timeout(answer: Answer, _: frozenset[str]) -> Seen:
    return {"client_body_timeout": answer[0], "proxy_read_timeout": answer[0]}


_EXPECTED: Final[Mapping[str, Callable[[Question, Block, In], Seen]]] = {
    "answers": _expected_answer,
    "errors": _expected_error,
    "proxied": _expected_proxied,
    "access": _expected_access,
    "files": _expected_file,
    "timeouts": _expected_timeout,
}
_SEEN: Final[Mapping[str, Callable[[Answer, frozenset[str]], Seen]]] = {
    "answers": _seen_answer,
    "errors": _seen_error,
    "proxied": _seen_proxied,
    "access": _seen_access,
    "files": _seen_file,
    "timeouts": _seen_timeout,
}
