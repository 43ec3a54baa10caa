"""Splits a terminal's transcript into the outputs of its commands: people paste several into one file."""

import re
from dataclasses import dataclass
from textwrap import dedent
from typing import Final

from tuneproof.wording import without_escapes

# "user@host:~$ ", "[user@host ~]# ", "host ~ # ": the rest is a command.
_PROMPT: Final = re.compile(
    r"(?:\([\w.-]+\) )?"
    r"(?:\[[\w.+-]+@[^\]\n]{1,80}\]|[\w.+-]+@[\w.-]+[: ][^\s#$%>]{0,200}|[\w.-]+ [~/]\S{0,200})"
    r" ?[#$%>](?: +(?P<command>\S.*))?"
)
_HOST: Final = re.compile(r"(?:\([\w.-]+\) )?\[?(?:[\w.+-]+@)?(?P<host>[\w.-]+)")
# "$ " also begins other lines, so only commands that collect evidence count after it. "# " also begins comments, such
# as "# nginx configuration": most commands after it must stand alone, or have an option, a path or a pipe.
_AROUND: Final = r"(?:(?:sudo|nsenter|watch|docker exec|kubectl exec) .*)?\b"
_LOGS: Final = r"(?:docker|podman|kubectl)(?: compose| service)? logs|journalctl|dmesg"
_BARE: Final = re.compile(
    rf"[$%] (?P<command>{_AROUND}"
    rf"(?:ss|nstat|netstat|cat|pidstat|vmstat|iostat|mpstat|sar|df|ip|mtr|ab|wrk2?|h2load|head|tail|zcat|grep|nginx|sleep|{_LOGS})\b.*)"
)
_ROOT: Final = re.compile(
    rf"# (?P<command>{_AROUND}"
    r"(?:(?:ss|nstat|netstat|pidstat|vmstat|iostat|mpstat|sar|df|ip|mtr|nginx)(?: +[-|>\d].*)?"
    r"|(?:cat|ab|wrk2?|h2load|head|tail|zcat|grep) .*[/-].*"
    rf"|(?:{_LOGS}) .*))"
)
_SCRIPT: Final = re.compile(r"Script (?:started|done)\b.*")
_LONGEST_LINE: Final = 500


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a command."""

    command: str  # empty before the first prompt
    text: str
    host: str  # the host in the prompt; empty if there is none


def outputs(text: str) -> list[Output]:
    """Return the outputs of a transcript; empty if the text is not a transcript."""
    found: list[tuple[str, str, list[str]]] = [("", "", [])]
    prompts = 0
    # Pasted text may be indented.
    for line in dedent(without_escapes(text).replace("\r\n", "\n")).split("\n"):
        prompt = _prompt(line.strip())
        if prompt is not None:
            prompts += 1
            host = _HOST.match(line.strip())
            found.append((prompt, host["host"] if host is not None else "", []))
        elif not _SCRIPT.fullmatch(line):
            found[-1][2].append(line)
    if not prompts:
        return []
    made = [Output(command=command, text="\n".join(lines), host=host) for command, host, lines in found]
    return [output for output in made if output.text.strip()]


def _prompt(line: str) -> str | None:
    """Return the command after a prompt; None for any other line."""
    if len(line) > _LONGEST_LINE:
        return None
    match = _PROMPT.fullmatch(line) or _BARE.fullmatch(line) or _ROOT.fullmatch(line)
    return None if match is None else (match["command"] or "").strip()
