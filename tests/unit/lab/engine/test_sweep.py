"""What is removed, and above all what is not, on an engine that exists only here."""

import pytest
from docker.errors import APIError, NotFound

from tests.support.fake_api import ALIVE, DEAD, ELSEWHERE, FakeApi
from tuneproof.lab.engine import sweep
from tuneproof.lab.engine.labels import PROJECT_FILTER, Session
from tuneproof.lab.engine.sweep import (
    Removed,
    has_overlay_network,
    remove_dead_sessions,
    remove_everything,
    remove_session,
)

OURS = dict([PROJECT_FILTER.split("=")])


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """An engine with resources of three sessions and of somebody else; nothing waits."""
    monkeypatch.setattr(sweep, "_RETRY_S", 0)
    engine = FakeApi()
    for session in (ALIVE, DEAD, ELSEWHERE):
        for kind in ("container", "network", "volume"):
            engine.add(kind, f"{session.id}-{kind}", session.labels)
    engine.add("container", "foreign", {})
    engine.add("network", "bridge", None)
    return engine


def kept(api: FakeApi, session: Session) -> set[str]:
    return {name for name in api.names() if name.startswith(f"{session.id}-")}


@pytest.mark.parametrize(("overlay", "removed"), [(True, 1), (False, 0)], ids=["overlay", "bridge"])
def test_a_network_over_several_engines_is_free_in_a_moment(api: FakeApi, *, overlay: bool, removed: int) -> None:
    """The swarm hears a little later of its last container's end; on one engine the next look tells."""
    api.overlay = overlay
    api.refusals["dead-network"] = [APIError("network is in use by task")] * 3
    assert remove_dead_sessions(api.client).networks == removed
    assert has_overlay_network(api.client, "alive") == overlay
    assert not has_overlay_network(api.client, "nobody")


def test_a_dead_session_is_found_by_its_network_alone(api: FakeApi) -> None:
    """It may have been killed before its first container, or after its last."""
    del api.held["container"]["dead-container"]
    assert remove_dead_sessions(api.client).networks == 1
    assert not kept(api, DEAD)


def test_images_and_unowned_resources_belong_to_no_session(api: FakeApi) -> None:
    """What a build leaves carries the project's label alone: only ``./lab clean`` takes it."""
    api.add("container", "build-step", OURS)
    api.add("image", "client", OURS)
    remove_dead_sessions(api.client)
    assert {"build-step", "client"} <= api.names()
    assert remove_everything(api.client).total > 0
    assert not {"build-step", "client"} & api.names()


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (NotFound("no such container"), ()),
        (APIError("removal is already in progress"), ()),
        (APIError("device or resource busy"), ("device or resource busy",)),
    ],
    ids=["gone", "in-progress", "busy"],
)
def test_a_resource_that_cannot_be_removed_does_not_keep_the_others(
    refusal: Exception, told: tuple[str, ...], api: FakeApi
) -> None:
    """It is not counted, but told; the next round sees whether it is gone."""
    api.refusals["dead-container"] = [refusal]
    assert remove_session(api.client, "dead") == Removed(containers=0, networks=1, volumes=1, refused=told)
    assert kept(api, DEAD) == {"dead-container"}
    assert remove_session(api.client, "dead") == Removed(containers=1)


def test_a_container_that_others_have_joined_goes_after_them(api: FakeApi) -> None:
    """Podman lists it first, and refuses until they have gone."""
    api.refusals["dead-container"] = [APIError("has dependent containers which must be removed before it")]
    api.add("container", "joined", DEAD.labels)
    assert remove_session(api.client, "dead") == Removed(containers=2, networks=1, volumes=1)


def test_everything_of_the_project_goes_images_last_to_first(api: FakeApi) -> None:
    """An image that another one builds on can only go after it."""
    for image in ("base", "middle", "top"):
        api.add("image", image, OURS)
    api.add("image", "debian", None)
    api.parents = {"middle": "base", "top": "middle"}
    removed = remove_everything(api.client)
    assert removed == Removed(containers=3, networks=3, volumes=3, images=3)
    assert removed.total == 12
    assert api.names() == {"foreign", "bridge", "debian"}


def test_an_image_that_will_not_go_does_not_hang_the_clean_up(api: FakeApi) -> None:
    """Somebody else's container may use it."""
    api.add("image", "used", OURS)
    api.parents = {"theirs": "used"}
    removed = remove_everything(api.client)
    assert (removed.images, removed.refused) == (0, ("image has dependent child images",))
    assert "used" in api.names()
