"""Images published by a release: pulled by digest, built if no registry answers, never replaced silently."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import docker
import pytest
from docker.errors import APIError, DockerException, NotFound

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.lab.engine import published
from tuneproof.lab.engine.published import BUILD_IMAGES, pull_published

TAG: Final = "tuneproof/client:bookworm-0123456789ab"
DIGEST: Final = f"sha256:{'5' * 64}"
PLACE: Final = "registry.example/tuneproof/client"
Registry = Callable[[Exception | None], list[str]]


@pytest.fixture(name="registry")
def registry_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """List the image in a release; return a function that sets the pull's result and returns the engine's calls."""
    listing = tmp_path / "published.json"
    listing.write_text(json.dumps({TAG: {"repository": PLACE, "digest": DIGEST}}), encoding="utf-8")
    monkeypatch.setattr(published, "PUBLISHED", listing)
    monkeypatch.delenv(BUILD_IMAGES, raising=False)

    def registry(error: Exception | None) -> list[str]:
        calls: list[str] = []

        def pull(repository: str, *, tag: str) -> Any:
            calls.append(f"pull {repository}@{tag}")
            if error is not None:
                raise error
            return SimpleNamespace(tag=lambda name, tag: calls.append(f"tag {name}:{tag}"))

        client = SimpleNamespace(
            images=SimpleNamespace(pull=pull, remove=lambda name: calls.append(f"remove {name}")),
            close=lambda: calls.append("close"),
        )
        monkeypatch.setattr(docker, "from_env", lambda **_: client)
        return calls

    return registry


def test_an_image_is_pulled_by_its_digest_and_gets_its_name(registry: Registry) -> None:
    calls = registry(None)
    assert pull_published(TAG, report=lambda _: None)
    assert calls == [f"pull {PLACE}@{DIGEST}", f"tag {TAG}", f"remove {PLACE}@{DIGEST}", "close"]


@pytest.mark.parametrize(
    "error",
    [
        NotFound("x", explanation="manifest unknown"),
        APIError("x", explanation="image verification failed for digest sha256:5"),
    ],
    ids=["unknown", "other-content"],
)
def test_a_missing_or_different_image_in_the_registry_is_an_error_with_a_remedy(
    registry: Registry, error: Exception
) -> None:
    calls = registry(error)
    with pytest.raises(CannotRunHereError) as caught:
        pull_published(TAG, report=lambda _: None)
    assert (caught.value.where, calls[-1]) == (f"{PLACE}@{DIGEST}", "close")
    assert f"{BUILD_IMAGES}=1 builds the images here" in str(caught.value)


def test_without_a_registry_the_image_is_built(registry: Registry) -> None:
    registry(DockerException("dial tcp 127.0.0.1:1: connection refused"))
    reports: list[str] = []
    assert not pull_published(TAG, report=reports.append)
    assert reports[-1] == f"no registry answers for {PLACE} (dial tcp 127.0.0.1:1: connection refused); building {TAG}"


@pytest.mark.parametrize(("tag", "builds"), [("tuneproof/client:bookworm-ffffffffffff", ""), (TAG, "1")])
def test_a_changed_image_is_built_and_any_image_is_built_on_request(
    registry: Registry, tag: str, builds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUILD_IMAGES, builds)
    calls = registry(None)
    assert not pull_published(tag, report=lambda _: None)
    assert calls == []


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"repository": "x"}}', "{"])
def test_a_damaged_list_of_images_is_reported_with_its_path(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = tmp_path / "published.json"
    listing.write_text(text, encoding="utf-8")
    monkeypatch.setattr(published, "PUBLISHED", listing)
    with pytest.raises(BadInputError) as caught:
        pull_published(TAG, report=lambda _: None)
    assert caught.value.where == str(listing)


def test_a_checkout_between_releases_builds_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "PUBLISHED", tmp_path / "published.json")
    assert not pull_published(TAG, report=lambda _: None)
