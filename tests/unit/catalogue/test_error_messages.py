"""The cases that provoke messages in the error log: the claims that their rows declare, and how lines are counted."""

import re
from typing import Any

import pytest

from tests.support.exchanged import answered
from tuneproof.catalogue import error_messages_rows as module
from tuneproof.catalogue.error_messages import CLAIMS
from tuneproof.catalogue.error_messages_rows import cases
from tuneproof.catalogue.error_messages_scripts import SCRIPTS, failed, lines_of
from tuneproof.lab.protocol.codec import MalformedMessageError
from tuneproof.lab.protocol.exchanges import Connection, Flow, Step
from tuneproof.lab.protocol.scripted import Then
from tuneproof.lab.subject.written_config import CERTIFICATE
from tuneproof.messages.rows import messages
from tuneproof.proof.inference.verdicts import Verdict

REFUSED = (
    "2026/11/26 09:34:46 [error] 7#7: *1 connect() failed (111: Connection refused) while connecting to upstream, "
    'client: 172.18.0.3, server: , request: "GET / HTTP/1.1", upstream: "http://127.0.0.1:9/", host: "lab"\n'
)
BROKEN = (
    '2026/11/26 09:37:05 [error] 7#7: *1 broken header: "GET / HTTP/1.1\r\nHost: lab\r\n\r\n" while reading PROXY '
    "protocol, client: 172.18.0.3, server: 0.0.0.0:8000\n"
)
AT_START = 'nginx: [warn] conflicting server name "a.test" on 0.0.0.0:8000, ignored\nnginx: configuration file\n'


ANSWERS = ((answered(200),), (answered(502),), ())


def row(**fields: Any) -> dict[str, Any]:
    return {"id": "upstream_refused", "when": "w", "server": "a;", "remedy": {"is": "b;"}, **fields}


def test_lines_are_counted_by_the_words_in_a_messages_row() -> None:
    """Even messages with a client's line breaks are counted, and those that nginx printed before it opened its log."""
    assert lines_of("upstream_refused", REFUSED * 2 + BROKEN) == 2
    assert lines_of("proxy_protocol_broken", REFUSED + BROKEN + REFUSED) == 1
    assert lines_of("conflicting_server_name", AT_START) == 1
    assert lines_of("upstream_refused", REFUSED.replace("connect()", "recv()") + BROKEN + AT_START) == 0


def test_an_unanswered_request_fails_unless_its_client_stays() -> None:
    """A response with an error status is a failure, too."""
    ok, bad, none = (Connection(answers=found, error="", closed_by_server=False, open_s=1.0) for found in ANSWERS)
    asked = (Flow(connections=3), Flow(connections=2, requests=2), Flow(connections=3, then=(Step.STAY,)))
    assert failed(asked, [(ok, ok, ok), (none, none), (none, none, none)]) == 4
    assert failed(asked, [(ok, bad, none), (ok, ok), (ok, bad, none)]) == 2 + 2 + 1


def test_an_added_directive_goes_into_the_server_and_other_parts_replace_those_of_the_row() -> None:
    case = module._case(row(wrong={"is": "c 2;", "http": "d;", "asks": [{"path": "/x"}]}))
    assert case.remedy.provocation.server == "b; a;"
    assert case.wrong is not None
    assert (case.wrong.name, case.wrong.provocation.server, case.wrong.provocation.http) == ("c", "a;", "d;")
    assert [(flow.path, flow.close) for flow in case.wrong.provocation.asks] == [("/x", True)]
    assert (case.row, case.provocation.http, case.provocation.fault.then) == ("upstream_refused", "", Then.CLOSES)


def test_placeholders_are_replaced() -> None:
    made = module._expanded({"server": "{certificate}", "http": "{backend}", "asks": [{"path": "/{x*3}"}], "port": 1})
    assert (made["server"], made["http"]) == (CERTIFICATE, module._BACKEND)
    assert (made["asks"], made["port"]) == ([{"path": "/xxx"}], 1)


@pytest.mark.parametrize(("slip", "named"), [({"servr": "x"}, "servr"), ({"asks": [{"pth": "/"}]}, "pth")])
def test_a_misspelling_is_named(slip: dict[str, Any], named: str) -> None:
    with pytest.raises((TypeError, MalformedMessageError), match=named):
        module._case(row(**slip))


def test_every_case_has_a_known_message_and_script() -> None:
    assert len({case.id for case in cases()}) == len(cases())
    assert {case.row for case in cases()} <= set(messages())
    changes = [change.provocation for case in cases() for change in (case.remedy, case.wrong) if change]
    assert {each.does for each in (*changes, *(case.provocation for case in cases()))} <= set(SCRIPTS)


def test_every_message_of_nginx_is_provoked_or_has_a_reason_why_not() -> None:
    """The reason is in the message's row, or in this scenario's list of exceptions."""
    left_out = module.left_out()
    provoked = {case.row for case in cases()}
    own = {message.id for message in messages().values() if message.levels and not message.unprovoked}
    assert own - provoked == set(left_out)
    assert not {message.id for message in messages().values() if message.unprovoked} & provoked
    assert all(re.fullmatch(r"[a-z].+[^.]", reason) for reason in left_out.values())


def test_each_case_claims_that_its_message_appears_and_that_its_remedy_ends_it() -> None:
    by_name = {claim.name: claim for claim in CLAIMS}
    assert len(by_name) == len(CLAIMS) >= 2 * len(cases())
    for case in cases():
        assert by_name[f"{case.id}_appears"].expected is Verdict.HOLDS
        assert by_name[f"remedy_ends_{case.id}"].expected is Verdict.HOLDS
        if case.wrong:
            assert by_name[f"{case.wrong.name}_ends_{case.id}"].expected is Verdict.REFUTED


# Directives of modules that nginx does not contain by default; the lab's build of mainline lacks them, too.
OPTIONAL = (
    *("gunzip", "gunzip_buffers", "gzip_static", "sub_filter", "dav_methods", "flv", "mp4", "random_index", "slice"),
    *("stub_status", "add_before_body", "add_after_body", "image_filter", "xslt_stylesheet", "geoip_country", "perl"),
)


def test_a_case_names_the_optional_module_that_it_uses() -> None:
    """If nginx does not start with the configuration of one case, all claims in the same lab fail."""
    uses = re.compile(rf"(?:^|[;{{}}\s])(?:{'|'.join(OPTIONAL)})[\s;]")
    wrong = {
        case.id
        for case in cases()
        for each in (case.provocation, case.remedy.provocation, case.wrong and case.wrong.provocation)
        if each and bool(uses.search(each.config())) > bool(case.module)
    }
    assert wrong == set()
    assert {claim.module for claim in CLAIMS} == {"", "ngx_http_gunzip_module"}
