"""Lines of nginx's error log."""

from tests.support.tables import table
from tuneproof.explain.parse.error_log import Event

BEHIND = (
    ', client: 10.0.0.9, server: shop, request: "GET /a#b HTTP/1.1", upstream: "http://10.0.0.5:8080/a", host: "shop"'
)
AT = "2026/11/22 14:50:0{} [{}] 29#30: *{} "
WORDS = {Event[name.upper()]: (level, words.replace("BEHIND", BEHIND)) for name, level, words in table("events")}
LOG = "".join(
    f"{AT.format(number % 10, level, number)}{words}\n" for number, (level, words) in enumerate(WORDS.values())
)
CONTAINER = "".join(f"web-1  | {line}\n10.0.0.9 - - [22/Nov/2026:14:50:01 +0000] GET\n" for line in LOG.splitlines())
