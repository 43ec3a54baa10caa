"""Segments of a request that nginx proxies."""

from tests.support.segments import Conversation, end, get, ok
from tuneproof.explain.parse.capture.decode import Segment

NGINX = "10.0.0.2"
BACKEND = end("10.0.0.3", 8000)


def front(number: int = 0) -> Conversation:
    talk = Conversation(client=end("10.0.0.1", 40_000 + number), server=end(NGINX, 80))
    talk.handshake(there_s=0.0001, back_s=0.0001)
    return talk


def back(number: int = 0, *, now_s: float = 0.0) -> Conversation:
    """Return nginx's connection to its backend, without a handshake."""
    return Conversation(client=end(NGINX, 50_000 + number), server=BACKEND, now_s=now_s)


def proxied(number: int = 0, *, kept: bool = False, path: str = "/a") -> list[Segment]:
    """Return a request; nginx connects to the backend after 21 ms, and sends it the request 5 ms after the handshake.

    With ``kept``, nginx sends the request over an existing connection after 20 ms. The backend takes 0.3 s. nginx sends
    the response to the client after another 40 ms.
    """
    inside, outside = front(number), back(number)
    inside.now_s = 1.0
    inside.send(inside.client, get(path), after_s=0.0)
    outside.now_s = 1.020 if not kept else 0.5
    outside.handshake(there_s=0.001, back_s=0.001)
    outside.now_s = 1.028 if not kept else 1.020
    outside.send(outside.client, get(path, version="1.0"), after_s=0.0)
    outside.send(BACKEND, ok(), after_s=0.3)
    inside.now_s = outside.now_s
    inside.send(inside.server, ok(), after_s=0.040)
    return inside.segments + outside.segments
