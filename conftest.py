"""Connects the project to pytest: the options, the tested versions and networks, and the project's plugins."""

import pytest

from fixtures.options import RUN_STATE, add_options

# fixtures.session loads the plugins that measure, unless tests are only collected.
pytest_plugins = ["fixtures.claims", "fixtures.session"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's options."""
    add_options(parser)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize every test that takes an nginx version or a network profile with the requested ones."""
    options = metafunc.config.stash[RUN_STATE].options
    if "nginx" in metafunc.fixturenames:
        versions = options.nginx
        metafunc.parametrize("nginx", versions, ids=[f"nginx-{version}" for version in versions], scope="module")
    if "network" in metafunc.fixturenames:
        networks = options.networks
        metafunc.parametrize("network", networks, ids=[network.name for network in networks], scope="module")
