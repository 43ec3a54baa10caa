"""The output of `why` for a directive and for a claim."""

import pytest

from tuneproof.audit.why import named, to_do, why
from tuneproof.errors import BadInputError
from tuneproof.lines import every_line


def test_the_answer_for_a_directive_contains_its_rule_advice_and_verdicts() -> None:
    text = why("multi_accept")
    assert "ngx_event_core_module, in events" in text
    assert "\nmulti_accept on (workers share a queue): remove\n" in text
    assert "  nginx 1.30: holds" in text
    assert text.splitlines()[-1] == "  docs/accepting.md"


@pytest.mark.parametrize(
    ("name", "mentioned"),
    [
        ("proxy_bind", "ephemeral_ports/second_local_address_lasts_longer"),
        ("keepalive", "upstream_keepalive/keepalive_raises_throughput"),
        ("if", ""),
    ],
)
def test_a_directive_without_a_row_is_found_with_the_claims_that_mention_it(name: str, mentioned: str) -> None:
    facts, _, claims = why(name).partition(f"\n\nClaims that mention {name}:\n")
    assert facts.splitlines()[0] == name
    assert f"  {mentioned}: " in claims if mentioned else not claims


def test_a_variable_is_not_looked_up() -> None:
    with pytest.raises(BadInputError, match=r"\$request_time: variables are not looked up"):
        why("$request_time")


def test_states_of_sockets_may_be_written_as_netstat_does() -> None:
    assert "fin_timeout_shortens_time_wait" in why("TIME_WAIT")


def test_the_verdicts_of_a_claim_and_of_a_scenario_are_shown() -> None:
    alone = why("small_rmem_restores_loop")
    assert alone.startswith("reuseport_stall/small_rmem_restores_loop: ")
    assert "\n  threshold: above 5×; an iteration that reads a fifth " in alone  # noqa: RUF001 - a multiplication sign
    assert alone in why("reuseport_stall")


@pytest.mark.parametrize("line", ["multi_accept on;", "multi_accept on", "multi_accept;"])
def test_a_line_from_a_configuration_means_its_directive(line: str) -> None:
    assert why(line) == why("multi_accept")


def test_the_changes_to_a_directive_are_shown_with_their_versions() -> None:
    """The answer also shows how inner blocks inherit the directive, and whether older packages may have it."""
    assert "  nginx 1.29.7: new: local in upstream" in why("keepalive").splitlines()
    assert "  nginx 1.25.1: http2: nginx warns about it at each start" in why("listen")
    assert "since nginx 1.29.8 or a security update of a distribution" in why("max_headers")
    assert "in http, location, server; inherited, unless the block has any of its own" in why("proxy_set_header")
    assert "  ngx_http_core_module, in location, server\n" in why("location")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("content_by_lua_block", "of the module http_lua, which Debian packages as libnginx-mod-http-lua"),
        ("js_import", "of the module http_js"),
        ("auth_jwt", "in nginx's documentation, but not in the sources since 1.18"),
        ("limit_zone", "removed before, from a module"),
    ],
)
def test_the_source_of_a_directive_from_another_module_is_named(name: str, source: str) -> None:
    assert source in why(name)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("fastcgi_buffers", "fastcgi_buffers (headers keep the default buffer): check"),
        ("fastcgi_buffers", "headers larger than fastcgi_buffer_size"),
        ("grpc_pass", "use grpc_ssl_server_name on"),
        ("error_page", "error_page (no such named location): change"),
        ("proxy_set_header", 'proxy_set_header Host "" (HTTP/1.1 to the upstream): change, before nginx 1.31.4'),
        ("hash", "hash $request_uri (several servers): check"),
    ],
)
def test_advice_names_the_requested_directive_and_the_arguments_that_it_concerns(name: str, shown: str) -> None:
    assert shown in why(name)


@pytest.mark.parametrize("word", ["tcp_rmem", "net.ipv4.tcp_rmem", "TCP_RMEM", "reuseport"])
def test_any_other_word_finds_the_claims_that_contain_it(word: str) -> None:
    found = why(word).splitlines()
    assert found[0].lower() == f"claims that mention {word.rpartition('.')[2].lower()}:"
    assert any(line.startswith("  reuseport_stall/") for line in found)
    assert found[-1].startswith("  and ")


@pytest.mark.parametrize("word", ["$host", "rmem", "multi_acept on;"])
def test_a_word_that_no_claim_contains_is_an_error(word: str) -> None:
    with pytest.raises(BadInputError):
        why(word)


def test_a_claim_that_a_version_cannot_test_is_called_not_testable() -> None:
    assert "  nginx 1.18: not testable" in why("quic_without_reuseport_loses_connections").splitlines()


def test_a_misspelling_gets_a_suggestion() -> None:
    with pytest.raises(BadInputError) as caught:
        why("multi_acept")
    assert "did you mean multi_accept" in caught.value.remedy


def test_a_claim_without_results_is_reported_as_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = next(line.claim for line in every_line() if line.arms)
    monkeypatch.setattr("tuneproof.audit.why.every_recorded", dict)
    with pytest.raises(BadInputError, match=f"{claim}: declared, not measured yet") as caught:
        why(claim)
    assert caught.value.remedy == f"./lab run -k {claim}"


def test_the_advice_of_each_row_is_found_by_its_directive() -> None:
    for line in every_line():
        for concern in line.audit:
            assert f": {to_do(concern)}" in why(named(concern)), concern
