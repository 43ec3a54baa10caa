"""Repeats engine calls that failed or got no response, if repeating is harmless, so that no single fault ends a run.

Calls that would start something a second time (creating, building, starting a program) are not repeated here; code that
creates something with a unique name checks whether it exists (lock.py, topology/).
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from docker.errors import APIError, DockerException
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ReadTimeoutError
from urllib3.util import Retry

from tuneproof.lab.engine.failures import TRANSPORT_ERRORS

if TYPE_CHECKING:
    from docker import APIClient

_TIMES: Final = 4
# Pauses of 0, 0.2, 0.4 and 0.8 s: enough for a broken connection, but not for a restart of the engine.
_BACKOFF_S: Final = 0.1
_QUESTIONS: Final = frozenset({"GET", "HEAD"})
_ENGINE_FAILED: Final = 500
_METHODS: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})
# Starting a running container, or stopping a stopped one, has no effect; an exec instance is only prepared.
# https://docs.docker.com/reference/api/engine/version/v1.41/
_SAFE_POSTS: Final = re.compile(r"/containers/[^/]+/(start|stop|wait|exec)\b|/networks/[^/]+/disconnect\b")

Made = TypeVar("Made")


class Repeats(Retry):
    """urllib3's retries, for the engine's API."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:  # noqa: ARG002, FBT001, FBT002 - urllib3's own signature
        """Return whether to repeat a call after a response: only if the engine failed and the call changes nothing."""
        return method in _QUESTIONS and status_code >= _ENGINE_FAILED

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: Any = None,
        error: Exception | None = None,
        _pool: Any = None,
        _stacktrace: Any = None,
    ) -> Self:
        """Count a failure, or raise it if the call must not be repeated: a hanging engine is not called again."""
        if isinstance(error, ReadTimeoutError):
            raise error
        safe = "PUT" if method == "POST" and _SAFE_POSTS.search(url or "") else method
        return super().increment(safe, url, response, error, _pool, _stacktrace)


def repeat_safe_calls(api: "APIClient") -> None:
    """Make a client repeat calls that are safe to repeat, up to four times, with pauses of 1.4 s in total."""
    retries = Repeats(
        total=_TIMES,
        redirect=0,
        other=0,
        backoff_factor=_BACKOFF_S,
        allowed_methods=_METHODS,
        # The last response contains the reason.
        raise_on_status=False,
    )
    for adapter in api.adapters.values():
        if isinstance(adapter, HTTPAdapter):
            adapter.max_retries = retries


def once_more(do: Callable[[], Made]) -> Made:
    """Make a call that may safely run twice; repeat it once if the engine's response is lost."""
    try:
        return do()
    except APIError:
        # The engine did respond.
        raise
    except TRANSPORT_ERRORS:
        return do()
    except DockerException as error:
        # A new client requests the engine's version, and wraps the transport's error.
        if not isinstance(error.__cause__, TRANSPORT_ERRORS):
            raise
        return do()
