"""The path that nginx compares to locations: decoded, slashes merged, dots resolved (ngx_http_parse_complex_uri)."""

import re
from typing import Final

from tuneproof.conf.regexes import as_bytes_read

_END: Final = re.compile(r"[?#]")
_ESCAPED: Final = re.compile(r"%(?:([0-9a-fA-F]{2})|)")


def normalised(target: str, *, merges_slashes: bool = True) -> str | None:
    """Return the path of a request's target, one character per byte.

    ``merges_slashes``: "merge_slashes" in the socket's default server.

    Returns:
        The path; None if nginx answers the target with 400: it lacks a first slash, leaves the root or has bad escapes.
    """
    path = as_bytes_read(_END.split(target, maxsplit=1)[0])
    if not path.startswith("/") or any(not match[1] or match[1] == "00" for match in _ESCAPED.finditer(path)):
        return None
    decoded = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), path)
    kept: list[str] = []
    *inner, last = decoded.split("/")[1:]
    for part in (*inner, last):
        if part == "..":
            if not kept:
                return None
            kept.pop()
        elif part != "." and (part or not merges_slashes):
            kept.append(part)
    # A path that ends in dots or a slash is a folder.
    if last in {".", ".."} or (not last and merges_slashes):
        kept.append("")
    return "/" + "/".join(kept)
