"""pytest's wiring: the options, the matrix, and the plugins that hold everything else."""

from typing import Literal

import pytest

from fixtures.options import RUN_STATE, add_options

# In the order of their imports: pytest can only rewrite the assertions of a plugin that nobody imported before.
pytest_plugins = [
    "fixtures.session",
    "fixtures.outcomes",
    "fixtures.engine",
    "fixtures.measurements",
    "fixtures.side_by_side",
    "fixtures.selection",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's options."""
    add_options(parser)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Spread every test that takes an nginx version or a network profile over those asked for."""
    options = metafunc.config.stash[RUN_STATE].options
    # The claims of a class share a lab on each version and network.
    scope: Literal["class", "module"] = "module" if metafunc.cls is None else "class"
    if "nginx" in metafunc.fixturenames:
        versions = options.nginx
        metafunc.parametrize("nginx", versions, ids=[f"nginx-{version}" for version in versions], scope=scope)
    if "network" in metafunc.fixturenames:
        networks = options.networks
        metafunc.parametrize("network", networks, ids=[network.name for network in networks], scope=scope)
