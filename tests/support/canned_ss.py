"""Output of ss."""

from tests.support.outputs import output

# Output of `ss -tanmie` (iproute2 6.1): a listener with a backlog of 2 and a full queue, and some of its connections.
FULL_QUEUE = output("ss_full_queue")
# One line per socket, as with -O: a slow reader of a proxy, with retransmissions, and one that has closed its end.
SLOW_READERS = output("ss_slow_readers")
