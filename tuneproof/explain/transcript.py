"""What a terminal shows, cut into the outputs of its commands: people paste prompts and several outputs in one file."""

import re
from dataclasses import dataclass
from typing import Final

from tuneproof.wording import without_escapes

# "user@host:~$ ", "[user@host ~]# ", "host ~ # ": whatever follows is a command.
_PROMPT: Final = re.compile(
    r"(?:\([\w.-]+\) )?"
    r"(?:\[[\w.+-]+@[^\]\n]{1,80}\]|[\w.+-]+@[\w.-]+[: ][^\s#$%>]{0,200}|[\w.-]+ [~/]\S{0,200})"
    r" ?[#$%>](?: +(?P<command>\S.*))?"
)
# "$ " or "# " alone begins other lines, too, so only what people collect evidence with is a command there.
_BARE: Final = re.compile(
    r"[#$%] (?P<command>(?:(?:sudo|nsenter|watch|docker exec|kubectl exec) .*)?"
    r"\b(?:ss|nstat|netstat|cat|pidstat|ab|wrk2?|h2load|head|tail|zcat|grep|nginx)\b.*)"
)
_SCRIPT: Final = re.compile(r"Script (?:started|done)\b.*")
_LONGEST_LINE: Final = 500


@dataclass(frozen=True, kw_only=True)
class Output:
    """What one command printed."""

    command: str  # the command; empty for what stands before the first prompt
    text: str  # its output


def outputs(text: str) -> list[Output]:
    """Return the outputs of a transcript; none if a text is no transcript."""
    found: list[tuple[str, list[str]]] = [("", [])]
    prompts = 0
    for line in without_escapes(text).replace("\r\n", "\n").split("\n"):
        prompt = _prompt(line.rstrip())
        if prompt is not None:
            prompts += 1
            found.append((prompt, []))
        elif not _SCRIPT.fullmatch(line):
            found[-1][1].append(line)
    if not prompts:
        return []
    made = [Output(command=command, text="\n".join(lines)) for command, lines in found]
    return [output for output in made if output.text.strip()]


def _prompt(line: str) -> str | None:
    """Return the command behind a prompt; None for any other line."""
    if len(line) > _LONGEST_LINE:
        return None
    match = _PROMPT.fullmatch(line) or _BARE.fullmatch(line)
    return None if match is None else (match["command"] or "").strip()
