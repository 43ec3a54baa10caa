"""Equal content gives an equal image tag; base images come from an engine, a registry or a mirror."""

import shutil
import tarfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from docker.errors import DockerException, ImageNotFound

from tests.support.places import CHECKOUT
from tuneproof.errors import CannotRunHereError
from tuneproof.lab.engine import base, images
from tuneproof.lab.engine.base import choose_mirror, ensure_base
from tuneproof.lab.engine.commands import Finished
from tuneproof.lab.engine.images import IMAGES_FOLDER, ImageSpec, ensure_images
from tuneproof.lab.engine.labels import BUILD, IMAGE, image_name, is_our_image

SHARING = "FROM scratch\nCOPY tuneproof /opt/client/tuneproof\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    program = tmp_path / "client" / "loadgen" / "main.py"
    program.parent.mkdir(parents=True)
    program.write_text("print(1)\n", encoding="utf-8")
    (tmp_path / "client" / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    return tmp_path


def tag(root: Path, suite: str = "bookworm") -> str:
    return ImageSpec(name="client", suite=suite, root=root).tag


def test_a_tag_names_image_suite_and_content(root: Path) -> None:
    name, _, version = tag(root).partition(":")
    suite, _, digest = version.partition("-")
    assert (name, suite, len(digest)) == ("tuneproof/client", "bookworm", 12)
    assert tag(root) == tag(root)
    assert tag(root, "trixie").rpartition("-")[2] != digest


def test_the_path_of_the_checkout_does_not_matter(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    moved = tmp_path_factory.mktemp("elsewhere") / "images"
    before = tag(root)
    root.rename(moved)
    assert tag(moved) == before


def test_a_layers_tag_depends_on_the_image_below_and_on_its_packages(root: Path) -> None:
    (root / "modules").mkdir()
    (root / "modules" / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    below = ImageSpec(name="client", suite="bookworm", root=root)

    def layer(*packages: str) -> ImageSpec:
        return ImageSpec(name="modules", suite="bookworm", root=root, on=below, packages=packages)

    first = layer("a", "b").tag
    assert layer("a", "b").base == below.tag
    assert layer("a").tag != first != layer("ab").tag
    (root / "client" / "Dockerfile").write_text("FROM debian\n", encoding="utf-8")
    assert layer("a", "b").tag != first


CHANGES: dict[str, Callable[[Path], object]] = {
    "dockerfile": lambda folder: (folder / "Dockerfile").write_text("FROM debian\n"),
    "content": lambda folder: (folder / "loadgen" / "main.py").write_text("print(2)\n"),
    "mode": lambda folder: (folder / "loadgen" / "main.py").chmod(0o755),
    "name": lambda folder: (folder / "loadgen" / "main.py").rename(folder / "loadgen" / "other.py"),
    "new-file": lambda folder: (folder / "new").write_text(""),
}
NO_CHANGES: dict[str, Callable[[Path], object]] = {
    "bytecode": lambda folder: shutil.copytree(folder / "loadgen", folder / "__pycache__"),
    "empty-folder": lambda folder: (folder / "empty").mkdir(),
    "umask": lambda folder: (folder / "Dockerfile").chmod(0o600),
}


@pytest.mark.parametrize("name", [*CHANGES, *NO_CHANGES])
def test_only_a_change_to_an_images_content_gives_another_tag(root: Path, name: str) -> None:
    """Files left by unit tests, or another umask, do not cause a rebuild."""
    before = tag(root)
    (CHANGES | NO_CHANGES)[name](root / "client")
    assert (tag(root) != before) is (name in CHANGES)


@pytest.fixture
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout of the shared files, which a test may change, and let the client image copy them."""
    copy = tmp_path_factory.mktemp("checkout")
    protocol = copy / "tuneproof/lab/protocol"
    shutil.copytree(CHECKOUT / "tuneproof/lab/protocol", protocol, ignore=shutil.ignore_patterns("__pycache__"))
    for package in (protocol.parent, protocol.parent.parent):
        (package / "__init__.py").write_text("", encoding="utf-8")
    (protocol.parent / "unshared.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(images, "_CHECKOUT", copy)
    (root / "client" / "Dockerfile").write_text(SHARING, encoding="utf-8")
    return copy


def in_context(root: Path) -> dict[str, bytes]:
    """Return the files of the image's build context."""
    with tarfile.open(fileobj=images._context(ImageSpec(name="client", suite="bookworm", root=root))) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name: file.read() for name, file in files.items() if file is not None}


def test_an_image_that_copies_shared_files_contains_only_the_protocol(root: Path, checkout: Path) -> None:
    (checkout / "tuneproof/lab/protocol/__pycache__").mkdir()
    (checkout / "tuneproof/lab/protocol/__pycache__/codec.pyc").write_bytes(b"1")
    context = in_context(root)
    modules = {path.name for path in (CHECKOUT / "tuneproof/lab/protocol").glob("*.py")}
    assert {"__init__.py", "codec.py", "lasting.py", "serving.py"} <= modules
    assert context.keys() == {
        "Dockerfile",
        "loadgen/main.py",
        "tuneproof/__init__.py",
        "tuneproof/lab/__init__.py",
        *(f"tuneproof/lab/protocol/{name}" for name in modules),
    }
    assert context["loadgen/main.py"] == b"print(1)\n"
    codec = "tuneproof/lab/protocol/codec.py"
    assert context[codec] == (CHECKOUT / codec).read_bytes()


@pytest.mark.parametrize(
    "name",
    ["tuneproof/__init__.py", "tuneproof/lab/__init__.py"]
    + [f"tuneproof/lab/protocol/{name}.py" for name in ("codec", "new")],
)
def test_a_change_to_the_shared_files_gives_another_tag(name: str, root: Path, checkout: Path) -> None:
    before = tag(root)
    with (checkout / name).open("a", encoding="utf-8") as file:
        file.write("CHANGED = True\n")
    assert tag(root) != before


@pytest.mark.parametrize("dockerfile", ["FROM scratch\n", "FROM scratch\n# COPY tuneproof is not needed\n"])
def test_an_image_that_does_not_copy_shared_files_contains_none_of_them(
    dockerfile: str, root: Path, checkout: Path
) -> None:
    (root / "client" / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    assert in_context(root).keys() == {"Dockerfile", "loadgen/main.py"}
    before = tag(root)
    (checkout / "tuneproof/lab/protocol/codec.py").write_text("", encoding="utf-8")
    assert tag(root) == before


def test_images_with_programs_that_import_the_protocol_copy_it() -> None:
    importing = {
        path.relative_to(IMAGES_FOLDER).parts[0]
        for path in IMAGES_FOLDER.rglob("*.py")
        if "from tuneproof.lab.protocol" in path.read_text(encoding="utf-8")
    }
    copying = {
        path.parent.name
        for path in IMAGES_FOLDER.glob("*/Dockerfile")
        if "tuneproof/lab/protocol/codec.py" in ImageSpec(name=path.parent.name, suite="bookworm").files()
    }
    assert copying == importing == {"backend", "client", "http3", "netadmin"}


@pytest.mark.parametrize(
    ("listing", "mirror"),
    [
        ("http://first.example/debian main\n", "http://first.example/debian"),
        ("http://mirror.example/debian/ main", "http://mirror.example/debian"),
        (
            """\
http://security.example/debian-security main
http://packages.example/tool main
http://mirror.example/debian contrib
http://second.example/debian main
""",
            "http://second.example/debian",
        ),
    ],
    ids=["plain", "trailing-slash", "among-others"],
)
def test_the_mirror_is_that_of_the_main_archive_in_apts_configuration(listing: str, mirror: str) -> None:
    """The security archive and third-party archives do not contain all of Debian."""
    assert choose_mirror(listing) == mirror


@pytest.mark.parametrize("listing", ["", "http://archive.ubuntu.example/ubuntu main\n"])
def test_a_machine_without_a_debian_mirror_cannot_bootstrap(listing: str) -> None:
    with pytest.raises(CannotRunHereError, match="not configured for a Debian mirror") as caught:
        choose_mirror(listing)
    assert caught.value.where == (listing.strip() or "`apt-get indextargets` prints nothing")


class Engine:
    """An engine with images by name; ``registry``: whether it can pull others."""

    def __init__(self, *names: str, registry: bool = False) -> None:
        self.names = set(names)
        self.registry = registry
        self.pulls: list[Any] = []
        self.api = self
        self.images = self

    def get(self, name: str) -> SimpleNamespace:
        if name not in self.names:
            raise ImageNotFound(name)
        return SimpleNamespace(tag=lambda repository, tag: self.names.add(f"{repository}:{tag}"))

    def from_env(self, *, timeout: int, environment: dict[str, str] | None) -> Any:
        assert timeout > 0

        def pull(name: str, tag: str) -> None:
            self.pulls.append(((environment or {}).get("DOCKER_HOST"), name, tag))
            if not self.registry:
                raise DockerException("no registry")
            self.names.add(f"{name}:{tag}")

        return SimpleNamespace(images=SimpleNamespace(pull=pull), close=lambda: None)

    def import_image_from_data(self, _data: object, *, repository: str, tag: str, changes: list[str]) -> None:
        assert not any("LABEL" in change for change in changes)
        self.names.add(f"{repository}:{tag}")


@pytest.mark.parametrize("environment", [None, {"DOCKER_HOST": "tcp://10.0.0.5:2375"}], ids=["default", "named"])
def test_an_engine_that_lacks_the_image_asks_the_registry(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str] | None
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///here.sock")
    engine = Engine(registry=True)
    monkeypatch.setattr(base, "docker", engine)
    ensure_base(cast("Any", engine), "bookworm", report=lambda _: None, environment=environment)
    address = environment["DOCKER_HOST"] if environment else "unix:///here.sock"
    assert engine.pulls == [(address, "debian", "bookworm-slim")]
    assert engine.names == {"debian:bookworm-slim", "tuneproof/base:bookworm"}


@pytest.mark.parametrize("there", ["debian:bookworm-slim", "tuneproof/base:bookworm"])
def test_an_existing_base_is_used_under_the_projects_name(there: str) -> None:
    engine = Engine(there)
    ensure_base(cast("Any", engine), "bookworm", report=lambda _: None)
    assert engine.names == {there, "tuneproof/base:bookworm"}


@pytest.mark.parametrize(
    ("suite", "is_expired", "tries"), [("bookworm", False, 1), ("forky", True, 2), ("bookworm", True, 1)]
)
def test_expired_metadata_is_used_only_for_the_suite_in_testing_and_reported(
    suite: str, *, is_expired: bool, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outdated copy of a released suite lacks fixes.

    A bootstrapped image never gets Debian's name, because others would take it for Debian's own. It gets no label,
    because images that others build on it would inherit the label.
    """
    engine = Engine()
    commands: list[str] = []
    reports: list[str] = []

    def bootstrap(command: list[str], *, timeout_s: float) -> Finished:
        assert timeout_s >= 600, "a slow machine takes minutes"
        commands.append(" ".join(command))
        Path(command[-2]).write_bytes(b"")
        accepts = not is_expired or "Check-Valid-Until" in commands[-1]
        output = "" if "--quiet" in command else "E: Release file for http://mirror.example/InRelease is expired"
        return Finished(status=0 if accepts else 25, output=output)

    monkeypatch.setattr(base, "docker", engine)
    monkeypatch.setattr(base, "package_mirror", lambda: "http://mirror.example/debian")
    monkeypatch.setattr(base, "commands", SimpleNamespace(run=bootstrap))
    monkeypatch.setattr(base, "shutil", SimpleNamespace(which=lambda name: name))
    fails = is_expired and tries == 1
    with pytest.raises(CannotRunHereError, match="could not be bootstrapped") if fails else nullcontext():
        ensure_base(cast("Any", engine), suite, report=reports.append)
    assert engine.names == (set() if fails else {f"tuneproof/base:{suite}"})
    assert len(commands) == tries
    assert "Check-Valid-Until" not in commands[0]
    assert any("expired metadata" in line for line in reports) is (tries > 1)


def test_every_stage_of_every_image_begins_as_a_layer() -> None:
    """This label distinguishes leftovers of a build from images that others built on a finished image."""
    for dockerfile in IMAGES_FOLDER.glob("*/Dockerfile"):
        lines = [line for line in dockerfile.read_text(encoding="utf-8").splitlines() if line[:1] not in {"#", ""}]
        after = [following for line, following in pairwise(lines) if line.startswith("FROM ${BASE}")]
        assert after == ['LABEL io.tuneproof.build="layer"'] * len(after) != [], dockerfile


def test_a_finished_image_is_not_a_layer(root: Path) -> None:
    built: list[dict[str, Any]] = []
    client = SimpleNamespace(images=SimpleNamespace(build=lambda **options: built.append(options)))
    spec = ImageSpec(name="client", suite="bookworm", root=root)
    images._build(cast("Any", client), spec, report=lambda _: None)
    assert built[0]["labels"] == {BUILD: IMAGE}
    assert is_our_image(built[0]["tag"])
    assert is_our_image(built[0]["buildargs"]["BASE"])


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in IMAGES_FOLDER.glob("*/Dockerfile")))
def test_clean_recognises_each_image_by_its_name(folder: str) -> None:
    assert is_our_image(image_name(folder, "trixie", "6a1eacf3f596"))


def test_an_image_waits_only_for_the_image_that_it_is_built_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "modules").mkdir()
    (root / "modules" / "Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    early = ImageSpec(name="client", suite="bookworm", root=root)
    late = ImageSpec(name="client", suite="bullseye", root=root)
    layer = ImageSpec(name="modules", suite="bullseye", root=root, on=late)
    early_is_built = threading.Event()
    steps: list[str] = []

    def make_base(_client: object, suite: str, **_: object) -> None:
        if suite == late.suite:
            assert early_is_built.wait(10)
        steps.append(suite)

    def build(_client: object, spec: ImageSpec, **_: object) -> None:
        steps.append(spec.tag)
        if spec == early:
            early_is_built.set()

    def get(name: str) -> None:
        raise ImageNotFound(name)

    monkeypatch.setattr(images, "ensure_base", make_base)
    monkeypatch.setattr(images, "_build", build)
    client = cast("Any", SimpleNamespace(images=SimpleNamespace(get=get)))
    ensure_images(client, [layer, early], report=lambda _: None)
    assert steps == ["bookworm", early.tag, "bullseye", late.tag, layer.tag]
