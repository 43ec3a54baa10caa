"""Which cells are meant: expressions over their names, with the meaning that pytest's ``-k`` gives them.

https://docs.pytest.org/en/stable/example/markers.html#using-k-expr-to-select-tests-based-on-their-name
"""

import re
from collections.abc import Collection
from typing import Final

from tuneproof.errors import BadInputError

_WORDS: Final = re.compile(r"\s*([()]|[^\s()]+)")


class Selection:
    """An expression such as ``reuseport_stall and not league``.

    A name stands for every cell that has it as a part of one of its own names, whatever the case.

    Args:
        expression: Names, "and", "or", "not" and parentheses; empty for all cells.

    BadInputError: It is none.
    """

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self.matches(())

    def matches(self, names: Collection[str]) -> bool:
        """Tell whether a cell of these names is meant."""
        if not self._expression.strip():
            return True
        words = _WORDS.findall(self._expression)
        lowered = [name.lower() for name in names]
        met = self._either(words, lowered)
        if words:
            raise self._wrong(words[0])
        return met

    def _either(self, words: list[str], names: list[str]) -> bool:
        met = self._both(words, names)
        while words[:1] == ["or"]:
            words.pop(0)
            met = self._both(words, names) or met
        return met

    def _both(self, words: list[str], names: list[str]) -> bool:
        met = self._one(words, names)
        while words[:1] == ["and"]:
            words.pop(0)
            met = self._one(words, names) and met
        return met

    def _one(self, words: list[str], names: list[str]) -> bool:
        word = words.pop(0) if words else ""
        if word == "not":
            return not self._one(words, names)
        if word == "(":
            met = self._either(words, names)
            if words[:1] != [")"]:
                raise self._wrong(words[0] if words else "")
            words.pop(0)
            return met
        if word in {"", ")", "and", "or"}:
            raise self._wrong(word)
        return any(word.lower() in name for name in names)

    def _wrong(self, word: str) -> BadInputError:
        where = f"at {word!r}" if word else "at its end"
        return BadInputError(
            f"-k {self._expression!r} cannot be read {where}", remedy="names, and, or, not, parentheses"
        )
