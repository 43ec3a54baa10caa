"""From outside, without privileges: the delays of kept connections."""

from collections.abc import Iterator


def watch_url(url: str, *, lasts_s: float) -> Iterator[str]:
    """Yield the report."""
    yield f"{url} {lasts_s}"
