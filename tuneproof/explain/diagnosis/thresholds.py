"""Limits that several causes share, with their reasons; those of one cause are in its module."""

from typing import Final

ENOUGH_REQUESTS: Final = 20
"""Fewer requests, or connections, give no percentiles, tell nothing of the others, and contradict nothing; they may be
those of a probe or a scan."""
ENOUGH_HANDSHAKES: Final = 20
"""So many connections of which none was refused, or had its SYN sent again, contradict a cause: a queue that drops but
a seventh would spare twenty in a row less than one time in twenty."""
ENOUGH_EVENTS: Final = 3
"""Of an error log, which may span years and has no number of requests: three are no single event."""
TOUCHED_SHARE: Final = 0.01
"""At least one request in a hundred, by the exact lower limit: what somebody complains of."""
SLOW_MEDIAN_S: Final = 0.1
"""Where people begin to notice (Nielsen, "Response times: the three important limits", 1993)."""
WAITING_SHARE: Final = 0.3
"""A worker that waits for a third of the time in which it wants to run is late for want of a CPU. A busy one on a
machine that is not short of them waits for 1 to 3 %."""
