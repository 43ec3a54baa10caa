"""A fake of an engine's low-level client, which makes, looks up and removes resources; it meets engine_contract.py."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import docker
from docker.errors import APIError, NotFound

from tuneproof.lab.engine.labels import LEASE, SESSION, Session

ALIVE = Session(id="alive")
DEAD = Session(id="dead")


def refusal(status: int, words: str = "refused") -> APIError:
    response: Any = SimpleNamespace(status_code=status, url="engine", reason=words)
    return APIError(words, response=response, explanation=words)


class FakeApi:
    """Keeps resources by id, with their labels."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, dict[str, str] | None]] = {
            kind: {} for kind in ("container", "network", "volume", "image")
        }
        self.named: dict[str, str] = {}
        """Containers by name; names are unique."""
        self.parents: dict[str, str] = {}
        self.started_from: dict[str, str] = {}
        """Images by container."""
        self.refusals: dict[str, list[Exception]] = {}
        self.overlay = False
        self.states: dict[str, str] = {}
        """States of containers; those without a state run."""

    @property
    def client(self) -> docker.DockerClient:
        return cast("docker.DockerClient", SimpleNamespace(api=self))

    def add(self, kind: str, name: str, labels: dict[str, str] | None) -> None:
        self.held[kind][name] = labels

    def add_lease(self, session: Session, state: str) -> None:
        name = f"{session.id}-lease-{len(self.states)}"
        self.add("container", name, session.labels | {LEASE: "held"})
        self.states[name] = state

    def names(self) -> set[str]:
        return {name for kind in self.held.values() for name in kind}

    def create_container(self, image: str, *, name: str, labels: dict[str, str]) -> dict[str, str]:
        if self.named.get(name) in self.held["container"]:
            raise refusal(409, f"the container name {name} is already in use")
        made = self.named[name] = f"of-{labels.get(SESSION, 'nobody')}-{name}"
        self.add("container", made, labels)
        self.started_from[made] = image
        return {"Id": made}

    def inspect_container(self, name: str) -> dict[str, Any]:
        found = self.named.get(name, name)
        if found not in self.held["container"]:
            raise NotFound(name)
        return {"Id": found, "Config": {"Labels": self.held["container"][found]}}

    def containers(self, *, all: bool, filters: dict[str, str]) -> list[dict[str, Any]]:  # noqa: A002 - docker-py's name
        assert all, "stopped containers are leftovers, too"
        return [
            {
                "Id": name,
                "Labels": labels,
                "ImageID": self.started_from.get(name, ""),
                "Created": number,
                "State": self.states.get(name, "running"),
            }
            for number, (name, labels) in enumerate(self._matching("container", filters))
        ]

    def networks(self, *, filters: dict[str, str]) -> list[dict[str, Any]]:
        scope = "swarm" if self.overlay else "local"
        return [{"Id": name, "Labels": labels, "Scope": scope} for name, labels in self._matching("network", filters)]

    def volumes(self, *, filters: dict[str, str]) -> dict[str, Any]:
        # The engine returns null, and not an empty list, if there is none.
        return {"Volumes": [{"Name": name} for name, _ in self._matching("volume", filters)] or None}

    def images(
        self,
        *,
        all: bool = False,  # noqa: A002 - docker-py's name
        filters: dict[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the images; a name with a colon is a tag, and one without a colon is the id of an untagged image."""
        found = self._matching("image", filters) if filters else self.held["image"].items()
        shown = [name for name, _ in found if all or ":" in name or name not in self.parents.values()]
        if filters and filters.get("dangling"):
            shown = [name for name in shown if ":" not in name]
        return [{"Id": name, "RepoTags": [name] if ":" in name else None} for name in shown]

    def remove_container(self, name: str, *, force: bool, v: bool = False) -> None:
        assert force
        assert v or name.startswith("of-"), "anonymous volumes go with their container"
        self._remove("container", name)

    def remove_network(self, name: str) -> None:
        self._remove("network", name)

    def remove_volume(self, name: str, *, force: bool) -> None:
        assert force
        self._remove("volume", name)

    def remove_image(self, name: str) -> None:
        if name in self.started_from.values():
            raise refusal(409, "container is using its referenced image")
        if name in self.parents.values():
            # The name is removed, the image stays.
            if ":" not in name:
                raise refusal(409, "image has dependent child images")
            unnamed = f"unnamed {name.replace(':', ' ')}"
            self.held["image"][unnamed] = self.held["image"].get(name)
            self.parents = {image: unnamed if on == name else on for image, on in self.parents.items()}
        self._remove("image", name)
        self.parents.pop(name, None)

    def _matching(self, kind: str, filters: dict[str, Any]) -> Iterator[tuple[str, dict[str, str] | None]]:
        if "name" in filters:
            named = {item for name, item in self.named.items() if filters["name"] in name}
            yield from ((item, labels) for item, labels in self.held[kind].items() if item in named)
            return
        name, has_value, value = filters["label"].partition("=")
        for item, labels in self.held[kind].items():
            if name in (labels or {}) and (not has_value or (labels or {})[name] == value):
                yield item, labels

    def _remove(self, kind: str, name: str) -> None:
        if refusals := self.refusals.get(name):
            raise refusals.pop()
        if name not in self.held[kind]:
            raise NotFound(name)
        del self.held[kind][name]
        self.started_from.pop(name, None)
