"""Limits that several causes share, with their reasons; those of one cause are in its module."""

from datetime import timedelta
from typing import Final

ENOUGH_REQUESTS: Final = 20
"""Fewer requests or connections are too few for percentiles, and contradict no cause; they may come from a probe or a
scan."""
ENOUGH_HANDSHAKES: Final = 20
"""This many connections, none of them refused or with a retransmitted SYN, contradict a cause: a queue that drops only
one SYN in seven accepts twenty in a row less than one time in twenty."""
ENOUGH_EVENTS: Final = 3
"""Fewer events may be chance: an error log may span years, and does not count requests."""
LOGGED_WITHIN: Final = timedelta(minutes=2)
"""A request is logged when it ends, and its messages earlier: rarely by more than this."""
TOUCHED_SHARE: Final = 0.01
"""The affected share of requests, by the exact lower limit, that is enough for a complaint."""
SLOW_MEDIAN_S: Final = 0.1
"""From this delay on, people notice (Nielsen, "Response times: the three important limits", 1993)."""
WAITING_SHARE: Final = 0.3
"""A worker that waits for 30 % of the time in which it wants to run is late because it lacks a CPU. A busy worker on a
machine with enough CPUs waits for 1 to 3 %."""
