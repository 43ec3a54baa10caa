"""A pasted terminal session is split into the outputs of its commands; prompts are not evidence."""

from pathlib import Path

import pytest

from tests.support.explained import explained
from tuneproof.explain.detect import Kind
from tuneproof.explain.explanation import fields_of
from tuneproof.explain.transcript import outputs

NSTAT = """\
#kernel
IpInReceives                    1234               0.0
TcpExtListenDrops               17                 0.0
TcpExtListenOverflows           17                 0.0
"""
SS = """\
State    Recv-Q   Send-Q     Local Address:Port      Peer Address:Port
LISTEN   129      128              0.0.0.0:80             0.0.0.0:*
"""


SOFTNET = f"0000ffff {{:08x}} 00000000 {' '.join(['00000000'] * 12)}\n"


@pytest.mark.parametrize(
    ("prompts", "causes"),
    [
        (("root@web1:~# ", "root@web2:~# "), []),
        (("[root@web1 ~]# ", "[root@web2 ~]# "), []),
        (("web1 ~ # ", "web2 ~ # "), []),
        (("root@web1:~# ", "me@web1:/tmp$ "), ["accept-queue overflow", "path loss"]),
        (("root@web1:~# ", "$ "), ["accept-queue overflow", "path loss"]),
    ],
)
def test_readings_are_compared_unless_the_prompts_name_two_hosts(
    prompts: tuple[str, str], causes: list[str], tmp_path: Path
) -> None:
    """A prompt without a host may be from the same host."""
    first, second = prompts
    later = NSTAT.replace("17 ", "99 ")
    text = f"{first}nstat -az\n{NSTAT}{second}nstat -az\n{later}"
    text += f"{first}cat softnet_stat\n{SOFTNET.format(0)}{second}cat softnet_stat\n{SOFTNET.format(99)}"
    explanation = explained(tmp_path, {"pasted.txt": text})
    assert sorted(each.cause.value for each in explanation.diagnosis.found) == causes
    assert sum(" -> " in file.name for file in explanation.found) == len(causes)


@pytest.mark.parametrize(
    "prompt",
    [
        "root@web1:~# nstat -az",
        "user@web1:/etc/nginx$ sudo nsenter -t 7 -n nstat -az",
        "[root@web1 ~]# nstat",
        "(venv) me@host ~ % nstat",
        "web1 ~ # nstat -az | head",
        "$ nstat",
        "# nstat -az",
        "$ sleep 10; nstat -az",
        "$ docker logs web 2>&1 | tail",
        "# kubectl logs web",
        "    root@web1:~# nstat -az",
        "\x1b[?2004hroot@web1:~# nstat\r",
    ],
)
def test_a_prompt_is_not_evidence(tmp_path: Path, prompt: str) -> None:
    found = explained(tmp_path, {"pasted.txt": f"{prompt}\n{NSTAT}root@web1:~# \n"}).found
    assert [(file.kind, file.warnings, file.error) for file in found] == [(Kind.NSTAT, (), None)]


def test_an_indented_transcript_is_recognised(tmp_path: Path) -> None:
    text = "".join(f"    {line}\n" for line in f"$ nstat -az\n{NSTAT}".splitlines())
    assert [file.kind for file in explained(tmp_path, {"pasted.txt": text}).found] == [Kind.NSTAT]


def test_each_output_in_a_transcript_is_read_as_a_file(tmp_path: Path) -> None:
    """Two readings of one kind are compared; unknown outputs are skipped."""
    later = NSTAT.replace("17 ", "99 ")
    text = (
        f"Script started on 2026-11-22\n$ cat motd\nhello\n$ nstat -az\n{NSTAT}$ ss -ltn\n{SS}$ nstat -az\n{later}$ \n"
    )
    explanation = explained(tmp_path, {"pasted.txt": text})
    assert [file.name for file in explanation.found] == [
        "pasted.txt, nstat -az (2)",
        "pasted.txt, ss -ltn (3)",
        "pasted.txt, nstat -az (4)",
        "pasted.txt, nstat -az (2) -> pasted.txt, nstat -az (4)",
    ]
    assert [each.cause.value for each in explanation.diagnosis.found] == ["accept-queue overflow"]


@pytest.mark.parametrize(
    "text",
    [
        NSTAT,
        "# configuration file /etc/nginx/nginx.conf:\nevents {}\n",
        "# HELP nginx_up Status\n# TYPE nginx_up gauge\n",
        '10.0.0.1 - - [31/May/2023:08:27:49 +0000] "GET /a@b:c$ HTTP/1.1" 200 12 "-" "curl"\n',
        "Price: 5 $ \n",
        "# nginx configuration\nhttp {\n}\n",
        "# grep found nothing\nevents {}\n",
        "# docker resolver - for names\nevents {}\n",
    ],
)
def test_other_texts_are_not_transcripts(text: str) -> None:
    assert outputs(text) == []


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("foo|10.1.1.1|GET /|200|0.123", ["foo", "10.1.1.1", "GET /", "200", "0.123"]),
        ('10.0.0.1 [22/Nov/2026] "GET / HTTP/1.1" 200', ["10.0.0.1", "[22/Nov/2026]", '"GET / HTTP/1.1"', "200"]),
        ("hello there, this is no log", []),
    ],
)
def test_a_line_in_an_unknown_log_format_is_split_and_prose_is_not(line: str, fields: list[str]) -> None:
    assert fields_of(line) == fields
