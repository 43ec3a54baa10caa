"""Messages in the error log: what causes each, what stops it, and popular advice that does not help.

Each row of tuneproof/lines/error_messages/*.toml yields two or three arms and the same number of claims.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import CountedClaim, Setting, arms_of, claims_from
from tuneproof.catalogue.error_messages_rows import Case, Provocation, cases
from tuneproof.catalogue.error_messages_scripts import BACKEND, counting
from tuneproof.lines import Line
from tuneproof.messages.rows import messages
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.backends import SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.wording import mid_sentence

_NAME: Final = "error_messages"
# Docker sets this to 0 in containers, so that any user may listen on every port.
_SYSCTLS: Final = {"net.ipv4.ip_unprivileged_port_start": "1024"}


def _settings(case: Case) -> Iterator[Setting]:
    yield _setting(case, _arm(case), case.provocation)
    yield _setting(case, _arm(case, "remedied"), case.remedy.provocation)
    if case.wrong:
        yield _setting(case, _arm(case, "mistaken"), case.wrong.provocation)


def _arm(case: Case, kind: str = "") -> str:
    return "-".join([case.id.replace("_", "-"), *([kind] if kind else [])])


def _setting(case: Case, name: str, provocation: Provocation) -> Setting:
    return Setting(
        name=name,
        config=provocation.config(),
        script=counting(case.row, (provocation,)),
        starts=provocation.does != "tests",
        sysctls=_SYSCTLS,
    )


def _lines(case: Case) -> Iterator[Line]:
    provoked, remedied, mistaken = (_arm(case, kind) for kind in ("", "remedied", "mistaken"))
    words = mid_sentence(messages()[case.row].name)
    yield Line(
        scenario=_NAME,
        claim=f"{case.id}_appears",
        sentence=f"When {case.when}, the error log shows that {words}",
        source="nginx's source contains these words",
        arms=(provoked,),
        figure="appears",
        what="trials in which nginx writes the message",
        turned_by={provoked: remedied},
        since=case.since,
        module=case.module,
    )
    ends = Line(
        scenario=_NAME,
        claim=f"remedy_ends_{case.id}",
        sentence=f"With {case.remedy.words.rstrip(';')}, the error log no longer shows that {words}",
        source="this project's page about the message",
        arms=(remedied,),
        figure="ended",
        what="trials without the message in which all requests are answered",
        turned_by={remedied: provoked},
        since=case.since,
        module=case.module,
    )
    yield ends
    if case.wrong:
        yield replace(
            ends,
            claim=f"{case.wrong.name}_ends_{case.id}",
            sentence=f"With {case.wrong.words.rstrip(';')}, the error log no longer shows that {words}",
            source="often recommended for this message",
            line=case.wrong.words,
            arms=(mistaken,),
            expected=Verdict.REFUTED,
            turned_by={mistaken: remedied},
        )


def _claims(case: Case) -> Iterator[CountedClaim]:
    for line in _lines(case):
        escaped = {name: getattr(line, name).replace("{", "{{").replace("}", "}}") for name in ("sentence", "source")}
        yield from claims_from(replace(line, **escaped))


ARMS: Final = arms_of([setting for case in cases() for setting in _settings(case)])
CLAIMS: Final = tuple(claim for case in cases() for claim in _claims(case))
# In a single lab, nearly two thousand trials would take longer than all scenarios that run at the same time.
SCENARIO: Final = Scenario(
    name=_NAME, arms=ARMS, claims=CLAIMS, backends=(Backend(name=BACKEND, kind=SCRIPTED),), labs=3
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("proxy_read_timeout_ends_upstream_refused", "proxy_buffers_ends_upstream_too_big_header"),
    # nginx tries for two and a half seconds to bind.
    full_depth=("address_in_use_appears", "remedy_ends_address_in_use"),
)
