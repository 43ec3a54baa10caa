"""pytest's wiring: the options, the matrix, and the plugins that hold everything else."""

import pytest

from fixtures.pytest_plugin.options import add_options
from fixtures.pytest_plugin.run_state import RUN_STATE

# In the order of their imports: pytest can only rewrite the assertions of a plugin that nobody imported before.
pytest_plugins = [
    "fixtures.pytest_plugin.summary",
    "fixtures.pytest_plugin.outcomes",
    "fixtures.pytest_plugin.engine",
    "fixtures.pytest_plugin.measurements",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's options."""
    add_options(parser)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Spread every test that takes an nginx version over the versions asked for."""
    if "nginx" in metafunc.fixturenames:
        versions = metafunc.config.stash[RUN_STATE].options.nginx
        metafunc.parametrize("nginx", versions, ids=[f"nginx-{version}" for version in versions], scope="module")
