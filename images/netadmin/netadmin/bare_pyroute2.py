"""pyroute2's packages without their own imports; import this before any of its modules.

``import pyroute2`` loads every module of the package, and asyncio, unittest and an HTTP server with them: this takes
ten megabytes and a sixth of a second, and inside a user-mode kernel several times as long. An empty module with the
package's search path is enough to import individual modules from it.
"""

import importlib.util
import sys


def _enter_without_running(package: str) -> None:
    spec = importlib.util.find_spec(package)
    if package not in sys.modules and spec is not None:
        sys.modules[package] = importlib.util.module_from_spec(spec)


_enter_without_running("pyroute2")
_enter_without_running("pyroute2.ethtool")
