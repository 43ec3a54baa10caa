"""The growth of a function's time with the size of its input."""

import math
import time
from collections.abc import Callable
from typing import Final

_ROUNDS: Final = 5
_LEAST_ROUNDS: Final = 2
_TIMES: Final = 4
_BETWEEN: Final = 8


def assert_grows_with_its_size(do: Callable[[int], object], *, size: int) -> None:
    """Assert that four times the input takes less than eight times as long, so the time is not quadratic.

    The shortest of two to five runs counts. The process's own CPU time is measured, so other processes have little
    effect.
    """
    least_s = dict.fromkeys((size, _TIMES * size), math.inf)
    for round_number in range(1, _ROUNDS + 1):
        for each in least_s:
            began_s = time.process_time()
            do(each)
            least_s[each] = min(least_s[each], time.process_time() - began_s)
        if round_number >= _LEAST_ROUNDS and least_s[_TIMES * size] < _BETWEEN * least_s[size]:
            return
    assert least_s[_TIMES * size] < _BETWEEN * least_s[size]
