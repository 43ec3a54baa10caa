"""Resources that are removed, and those that must stay, with a simulated engine."""

import pytest
from docker.errors import APIError, NotFound

from tests.support.fake_api import ALIVE, DEAD, FakeApi
from tuneproof.lab.engine import sweep
from tuneproof.lab.engine.labels import BUILD, IMAGE, LAYER, PROJECT_FILTER, Session
from tuneproof.lab.engine.sweep import (
    Removed,
    has_overlay_network,
    remove_dead_sessions,
    remove_everything,
    remove_session,
)

OURS = {BUILD: IMAGE}
STEP = {BUILD: LAYER}
CLIENT = "tuneproof/client:bookworm-0123456789ab"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """Make an engine with resources of two sessions and of another user; waiting takes no time."""
    monkeypatch.setattr(sweep, "_RETRY_S", 0)
    engine = FakeApi()
    for session in (ALIVE, DEAD):
        for kind in ("container", "network", "volume"):
            engine.add(kind, f"{session.id}-{kind}", session.labels)
    engine.add("container", "foreign", {})
    engine.add("network", "bridge", None)
    return engine


def kept(api: FakeApi, session: Session) -> set[str]:
    return {name for name in api.names() if name.startswith(f"{session.id}-")}


@pytest.mark.parametrize(("overlay", "removed"), [(True, 1), (False, 0)], ids=["overlay", "bridge"])
def test_the_removal_of_an_overlay_network_in_use_is_repeated(api: FakeApi, *, overlay: bool, removed: int) -> None:
    """A swarm notices late that a network's last container has ended. The removal of other networks is not repeated."""
    api.overlay = overlay
    api.add_lease(DEAD, "exited")
    api.refusals["dead-network"] = [APIError("network is in use by task")] * 3
    assert [one.networks for one in remove_dead_sessions(api.client)] == [removed]
    assert has_overlay_network(api.client, "alive") == overlay
    assert not has_overlay_network(api.client, "nobody")


@pytest.mark.parametrize(
    ("states", "is_over"),
    [
        ([], False),
        (["created"], False),
        (["running"], False),
        (["exited"], True),
        (["exited", "created"], True),
        (["exited", "running"], False),
    ],
)
def test_a_session_is_over_if_all_of_its_leases_have_ended(api: FakeApi, states: list[str], *, is_over: bool) -> None:
    """After a restart of the engine, a session takes a new lease. A session that never had a lease may be alive."""
    for state in states:
        api.add_lease(DEAD, state)
    remove_dead_sessions(api.client)
    assert (not kept(api, DEAD)) is is_over
    assert kept(api, ALIVE)


def test_the_lease_is_removed_last(api: FakeApi) -> None:
    """Without the lease, the next run could not see that the remaining resources may be removed."""
    api.add_lease(DEAD, "exited")
    api.refusals["dead-network"] = [APIError("has active endpoints")]
    assert [one.networks for one in remove_dead_sessions(api.client)] == [0]
    assert kept(api, DEAD) == {"dead-network", "dead-lease-0"}
    assert remove_dead_sessions(api.client) == [Removed(containers=1, networks=1)]
    assert not kept(api, DEAD)


def test_images_and_build_steps_do_not_belong_to_a_session(api: FakeApi) -> None:
    """Leftovers of an interrupted build have no owner: only ``./lab clean`` removes them."""
    api.add("container", "build-step", STEP)
    api.add("image", CLIENT, OURS)
    remove_dead_sessions(api.client)
    assert {"build-step", CLIENT} <= api.names()
    assert remove_everything(api.client).total > 0
    assert not {"build-step", CLIENT} & api.names()


def test_a_container_from_a_committed_session_image_belongs_to_the_user(api: FakeApi) -> None:
    """The user's container has inherited the labels of an ended session, and those of its lease."""
    api.add("image", "mine:1", DEAD.labels)
    api.add("container", "mine", DEAD.labels)
    api.started_from["mine"] = "mine:1"
    api.add_lease(DEAD, "exited")
    api.held["container"]["mine"] = api.held["container"]["dead-lease-0"]
    api.states["mine"] = "exited"
    remove_dead_sessions(api.client)
    remove_session(api.client, "dead")
    remove_everything(api.client)
    assert api.names() == {"foreign", "bridge", "mine", "mine:1"}


@pytest.mark.parametrize(
    ("refusal", "refused"),
    [
        (NotFound("no such container"), ()),
        (APIError("removal is already in progress"), ()),
        (APIError("device or resource busy"), ("device or resource busy",)),
    ],
    ids=["gone", "in-progress", "busy"],
)
def test_a_resource_that_cannot_be_removed_does_not_block_the_others(
    refusal: Exception, refused: tuple[str, ...], api: FakeApi
) -> None:
    api.refusals["dead-container"] = [refusal]
    assert remove_session(api.client, "dead") == Removed(containers=0, networks=1, volumes=1, refused=refused)
    assert kept(api, DEAD) == {"dead-container"}
    assert remove_session(api.client, "dead") == Removed(containers=1)


def test_a_container_that_others_have_joined_is_removed_after_them(api: FakeApi) -> None:
    """Podman lists such a container first, and refuses to remove it before the others."""
    api.refusals["dead-container"] = [APIError("has dependent containers which must be removed before it")]
    api.add("container", "joined", DEAD.labels)
    assert remove_session(api.client, "dead") == Removed(containers=2, networks=1, volumes=1)


def test_everything_of_the_project_is_removed_except_what_others_built_on_it(api: FakeApi) -> None:
    """The images and containers of others inherit the project's labels, including older versions' labels."""
    older = dict([PROJECT_FILTER.split("=")])
    ours = ["tuneproof/base:bookworm", "docker.io/tuneproof/subject:trixie-0123456789ab", CLIENT]
    for image in ours:
        api.add("image", image, {**OURS, **older})
    for layer in ("below", "above"):
        api.add("image", layer, STEP)
    api.parents = {"above": "below"}
    theirs = {
        "debian:bookworm-slim",
        "users/app:1",
        "tuneproof/client:mine",
        "mirror:5000/tuneproof/base:bookworm",
        "old",
    }
    for image in theirs:
        api.add("image", image, {**OURS, **older})
    for container in ("users-db", "users-shell"):
        api.add("container", container, {**OURS, **older})
    removed = remove_everything(api.client)
    assert removed == Removed(containers=2, networks=2, volumes=2, images=5)
    assert removed.total == 11
    assert api.names() == {"foreign", "bridge", "users-db", "users-shell"} | theirs


def test_an_image_that_a_container_uses_stays_and_is_reported(api: FakeApi) -> None:
    """The container belongs to another user: the sessions' containers have been removed by then."""
    api.add("image", CLIENT, OURS)
    api.add("container", "users-shell", OURS)
    api.started_from["users-shell"] = CLIENT
    removed = remove_everything(api.client)
    assert (removed.images, removed.refused) == (0, ("container is using its referenced image",))
    assert {CLIENT, "users-shell"} <= api.names()


def test_a_layer_that_cannot_be_removed_does_not_block_the_clean_up(api: FakeApi) -> None:
    api.add("image", "layer", STEP)
    api.refusals["layer"] = [APIError("busy")] * 3
    assert remove_everything(api.client).refused == ("busy",)
