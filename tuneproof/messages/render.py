"""A row as lines, for `tuneproof why MESSAGE` and the page."""

from collections.abc import Iterator

from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message, Problem, Words, depends_on

_PROBLEMS = {
    Problem.YES: "yes",
    Problem.SOMETIMES: "it depends on",
    Problem.NO: "no",
}


def lines(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the facts about a message as label and text; an empty label continues the previous one."""
    yield "Message", message.name
    for index, words in enumerate(message.words):
        yield ("Words" if not index else ""), shown(words)
    if message.levels:
        yield "Level", ", ".join(message.levels)
    depends = f" {depends_on(message)}" if message.problem is Problem.SOMETIMES else ""
    yield "Problem", f"{_PROBLEMS[message.problem]}{depends}"
    yield "What", message.happened
    yield "Why", message.why
    yield "Affects", message.affects
    yield "Next", message.first
    for place, own in (("stream", message.in_stream), ("mail", message.in_mail)):
        if own is not None and own.first != message.first:
            yield f"In {place}", own.first
    for wrong in message.wrong:
        yield "Not so", f"{wrong.advice}: {wrong.because}"
    yield "Confirm", message.confirm
    if message.page:
        yield "Page", f"docs/{message.page}"


def shown(words: Words) -> str:
    """Return a readable wording: with an ellipsis for placeholders, and the versions that have it."""
    text = PLACE.sub(lambda place: "" if place[1] == "end" else "…", words.text).strip()
    since = f" (since {words.since})" if words.since else ""
    until = f" (until {words.until})" if words.until else ""
    return f"{text}{since}{until}"
