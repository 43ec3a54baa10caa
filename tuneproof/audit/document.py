"""An audit as JSON in the form that schema.json describes."""

import json
from functools import cache
from importlib import resources
from typing import Any, Final

from jsonschema import Draft202012Validator

from tuneproof.audit.advice import Advised
from tuneproof.audit.auditing import Audit
from tuneproof.audit.recorded import recorded_of
from tuneproof.conf.facts import Proxied
from tuneproof.conf.statements import Problem

SCHEMA_VERSION: Final = 1


def document(audit: Audit) -> dict[str, Any]:
    """Return an audit as JSON values, checked against the schema; unknown values are null."""
    facts = audit.facts
    content = {
        "schema": SCHEMA_VERSION,
        "version": facts.version,
        "versions": list(audit.versions or (facts.version,)),
        "problems": list(map(_problem, facts.configuration.problems)),
        "older_problems": list(map(_problem, audit.older_problems)),
        "unseen": list(facts.configuration.unseen),
        "servers": [{"listens": list(server.listens), "names": list(server.names)} for server in facts.servers],
        "upstreams": [
            {"name": upstream.name, "servers": list(upstream.servers), "keepalive": upstream.keepalive}
            for upstream in facts.upstreams.values()
        ],
        "proxied": [_proxied(proxied) for proxied in facts.proxied],
        "workers": facts.workers,
        "worker_connections": facts.worker_connections,
        "multi_accept": facts.multi_accept,
        "reuseport": facts.reuseport,
        "stream_servers": facts.stream_servers,
        "advice": [_advised(advised, audit) for advised in audit.advice],
    }
    _validator().validate(content)
    return content


@cache
def _validator() -> Draft202012Validator:
    text = resources.files(__package__).joinpath("schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def _problem(problem: Problem) -> dict[str, Any]:
    return {"file": problem.file, "line": problem.line, "message": problem.message}


def _proxied(proxied: Proxied) -> dict[str, Any]:
    target = proxied.target
    return {
        "file": target.statement.file,
        "line": target.statement.line,
        "location": target.location,
        "kind": target.kind,
        "to": target.to,
        "keepalive": proxied.reuse.reuse.value,
        "why": proxied.reuse.why,
        "buffering": proxied.is_buffered,
        "reader_bytes": proxied.reader_bytes,
    }


def _advised(advised: Advised, audit: Audit) -> dict[str, Any]:
    recorded = recorded_of(advised.name, advised.claim, audit.facts.version)
    return {
        "name": advised.name,
        "claim": advised.claim,
        "state": advised.state.value,
        "file": advised.at.file,
        "line": advised.at.line,
        "why": advised.reason,
        "certainty": advised.certainty,
        "breaks": advised.breaks,
        "source": advised.source or None,
        "check": advised.check or None,
        "versions": list(advised.versions or audit.versions or (audit.facts.version,)),
        "patch": audit.patch(advised.edits) or None,
        "recorded": None
        if recorded is None
        else {"nginx": recorded.nginx, "verdict": recorded.verdict, "effect": recorded.effect, "page": recorded.page},
    }
