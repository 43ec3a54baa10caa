"""Which cells are meant: expressions over their names, with the meaning that pytest's ``-k`` gives them.

https://docs.pytest.org/en/stable/example/markers.html#using-k-expr-to-select-tests-based-on-their-name
"""

import ast
import re
from collections.abc import Collection
from typing import Final

from tuneproof.errors import BadInputError

_WORD: Final = re.compile(r"[()]|[^\s()]+")
_OPERATORS: Final = frozenset({"and", "or", "not", "(", ")"})
_ALLOWED: Final = (ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Name, ast.Load)


class Selection:
    """An expression such as ``reuseport_stall and not league``; empty for all cells.

    A name stands for every cell that has it as a part of one of its own names, whatever the case. BadInputError: It is
    no expression.
    """

    def __init__(self, expression: str) -> None:
        words = _WORD.findall(expression)
        # As Python reads it, which cannot read every name of a cell: each gets a number.
        self._names = {f"_{index}": word.lower() for index, word in enumerate(words) if word not in _OPERATORS}
        numbered = (word if word in _OPERATORS else f"_{index}" for index, word in enumerate(words))
        self._tree: ast.expr | None = None
        wrong = BadInputError(f"-k {expression!r} cannot be read", remedy="names, and, or, not, parentheses")
        if words:
            try:
                self._tree = ast.parse(" ".join(numbered), mode="eval").body
            except (SyntaxError, RecursionError, MemoryError) as error:
                raise wrong from error
            if not all(isinstance(part, _ALLOWED) for part in ast.walk(self._tree)):
                raise wrong

    def matches(self, names: Collection[str]) -> bool:
        """Tell whether a cell of these names is meant."""
        return self._tree is None or self._met(self._tree, [name.lower() for name in names])

    def _met(self, tree: ast.expr, names: Collection[str]) -> bool:
        if isinstance(tree, ast.BoolOp):
            parts = (self._met(part, names) for part in tree.values)
            return all(parts) if isinstance(tree.op, ast.And) else any(parts)
        if isinstance(tree, ast.UnaryOp):
            return not self._met(tree.operand, names)
        return any(self._names[ast.unparse(tree)] in name for name in names)
