"""pytest's wiring: the options, the matrix, and the plugins that hold everything else."""

import pytest

from fixtures.options import RUN_STATE, add_options

# Those that measure are loaded by fixtures.session, where tests are not only collected.
pytest_plugins = ["fixtures.claims", "fixtures.session"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's options."""
    add_options(parser)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Spread every test that takes an nginx version or a network profile over those asked for."""
    options = metafunc.config.stash[RUN_STATE].options
    if "nginx" in metafunc.fixturenames:
        versions = options.nginx
        metafunc.parametrize("nginx", versions, ids=[f"nginx-{version}" for version in versions], scope="module")
    if "network" in metafunc.fixturenames:
        networks = options.networks
        metafunc.parametrize("network", networks, ids=[network.name for network in networks], scope="module")
