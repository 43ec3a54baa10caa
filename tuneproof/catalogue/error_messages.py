"""Messages of the error log: what provokes each of them, what ends it, and what is often recommended and does not.

Each row of tuneproof/lines/error_messages/*.toml makes two or three arms and as many claims.
"""

from collections.abc import Iterator
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import CountedClaim, Setting, arms_of, claims_from
from tuneproof.catalogue.error_messages_rows import Message, Provocation, messages
from tuneproof.catalogue.error_messages_scripts import BACKEND, counting
from tuneproof.lines import Line
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.backends import SCRIPTED, Backend
from tuneproof.proof.scenario.scenarios import Scenario

_NAME: Final = "error_messages"
# Else whoever is not root may listen on every port in a container.
_SYSCTLS: Final = {"net.ipv4.ip_unprivileged_port_start": "1024"}


def _settings(message: Message) -> Iterator[Setting]:
    yield _setting(message, _arm(message), message.provocation)
    yield _setting(message, _arm(message, "remedied"), message.remedy.provocation)
    if message.wrong:
        yield _setting(message, _arm(message, "mistaken"), message.wrong.provocation)


def _arm(message: Message, kind: str = "") -> str:
    return "-".join([message.id.replace("_", "-"), *([kind] if kind else [])])


def _setting(message: Message, name: str, provocation: Provocation) -> Setting:
    return Setting(
        name=name,
        config=provocation.config(),
        script=counting(message.pattern, (provocation,)),
        starts=provocation.does != "tests",
        sysctls=_SYSCTLS,
    )


def _lines(message: Message) -> Iterator[Line]:
    provoked, remedied, mistaken = (_arm(message, kind) for kind in ("", "remedied", "mistaken"))
    words = message.id
    yield Line(
        scenario=_NAME,
        claim=f"{message.id}_appears",
        sentence=f"nginx writes {words} where {message.when}",
        source="nginx's source has these words",
        arms=(provoked,),
        figure="appears",
        what="trials in which nginx writes the message",
        turned_by={provoked: remedied},
        since=message.since,
    )
    yield Line(
        scenario=_NAME,
        claim=f"remedy_ends_{message.id}",
        sentence=f"{message.remedy.words} ends {words}",
        source="this project's page about the message",
        arms=(remedied,),
        figure="ended",
        what="trials without the message in which all requests are answered",
        turned_by={remedied: provoked},
        since=message.since,
    )
    if message.wrong:
        yield Line(
            scenario=_NAME,
            claim=f"{message.wrong.name}_ends_{message.id}",
            sentence=f"{message.wrong.words} ends {words}",
            source="often recommended for this message",
            line=message.wrong.words,
            arms=(mistaken,),
            figure="ended",
            what="trials without the message in which all requests are answered",
            expected=Verdict.REFUTED,
            turned_by={mistaken: remedied},
            since=message.since,
        )


def _claims(message: Message) -> Iterator[CountedClaim]:
    for line in _lines(message):
        escaped = {name: getattr(line, name).replace("{", "{{").replace("}", "}}") for name in ("sentence", "source")}
        yield from claims_from(Line(**{**vars(line), **escaped}))


ARMS: Final = arms_of([setting for message in messages() for setting in _settings(message)])
CLAIMS: Final = tuple(claim for message in messages() for claim in _claims(message))
SCENARIO: Final = Scenario(
    name=_NAME, arms=ARMS, claims=CLAIMS, backends=(Backend(name=BACKEND, kind=SCRIPTED),)
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("proxy_read_timeout_ends_connect_refused", "proxy_buffers_ends_too_big_header"),
)
