"""The fake engine passes the checks that Docker passes in tests/lab/test_clean.py."""

from collections.abc import Callable, Mapping

import pytest

from tests.support.engine_contract import CONTRACT, LABEL, Engine
from tests.support.fake_api import FakeApi


class Fake:
    label = LABEL

    def __init__(self) -> None:
        self.api = FakeApi()

    def image(self, name: str, labels: Mapping[str, str], *, on: str = "") -> str:
        self.api.add("image", name, dict(labels))
        if on:
            self.api.parents[name] = on
        return name

    def container(self, image: str, labels: Mapping[str, str]) -> str:
        made = self.api.create_container(image, name=f"container-{len(self.api.named)}", labels=dict(labels))
        return made["Id"]

    def network(self, labels: Mapping[str, str]) -> str:
        self.api.add("network", "network", dict(labels))
        return "network"


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_fake_engine_meets_the_contract(check: Callable[[Engine], None]) -> None:
    check(Fake())
