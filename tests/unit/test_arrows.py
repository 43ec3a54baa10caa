"""Packages import only packages below them in the drawing in docs/development.md."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT

BASE: Final = (
    "tuneproof.errors",
    "tuneproof.lines",
    "tuneproof.messages",
    "tuneproof.nginx_changes",
    "tuneproof.nginx_lua",
    "tuneproof.nginx_modules",
    "tuneproof.own_version",
    "tuneproof.user_files",
    "tuneproof.wording",
)
PARSERS: Final = (*BASE, "tuneproof.conf", "tuneproof.explain.parse")
MAY_IMPORT: Final[Mapping[str, tuple[str, ...]]] = {
    "tuneproof.errors": (),
    "tuneproof.lines": ("tuneproof.nginx_changes",),
    "tuneproof.messages": ("tuneproof.messages", "tuneproof.wording"),
    "tuneproof.nginx_changes": ("tuneproof.conf.directives", "tuneproof.wording"),
    "tuneproof.nginx_lua": (),
    "tuneproof.nginx_modules": (),
    "tuneproof.own_version": (),
    "tuneproof.user_files": ("tuneproof.errors",),
    "tuneproof.wording": (),
    "tuneproof.explain.parse": PARSERS,
    "tuneproof.explain.diagnosis": (*PARSERS, "tuneproof.explain.diagnosis"),
    "tuneproof.conf": (*BASE, "tuneproof.conf"),
    "tuneproof.explain": (*BASE, "tuneproof.conf", "tuneproof.explain"),
    "tuneproof.audit": (*BASE, "tuneproof.conf", "tuneproof.audit"),
    "tuneproof.lab": (*PARSERS, "tuneproof.lab"),
    "tuneproof.report": (*BASE, "tuneproof.report"),
    "tuneproof.proof": (*PARSERS, "tuneproof.lab", "tuneproof.report.results", "tuneproof.proof"),
    "tuneproof.catalogue": (*BASE, "tuneproof.explain", "tuneproof.lab", "tuneproof.proof", "tuneproof.catalogue"),
    "tuneproof.watch": (*BASE, "tuneproof.audit", "tuneproof.conf", "tuneproof.explain", "tuneproof.watch"),
    "tuneproof.yours": (
        *BASE,
        "tuneproof.audit",
        "tuneproof.conf",
        "tuneproof.lab",
        "tuneproof.proof",
        "tuneproof.report.results",
        "tuneproof.yours",
    ),
    "tuneproof.cli": ("tuneproof",),
    "fixtures": ("tuneproof", "fixtures"),
    "tools": ("tuneproof", "tools"),
}
OURS: Final = ("tuneproof", "fixtures", "tools", "tests", "images")
FORBIDDEN: Final[Mapping[str, tuple[str, ...]]] = {
    "tuneproof.explain": ("docker", "pytest", "testcontainers"),
    "tuneproof.audit": ("docker", "pytest", "testcontainers"),
    "tuneproof.conf": ("docker", "pytest", "testcontainers"),
    "tuneproof.watch": ("docker", "pytest", "testcontainers"),
    "tuneproof.report": ("docker", "pytest", "testcontainers"),
    "tuneproof.proof": ("docker", "pytest", "testcontainers"),
    "tuneproof.catalogue": ("docker", "pytest", "testcontainers"),
    "tuneproof.lab": ("pytest",),
    "tuneproof.cli": ("pytest",),
}


def modules(*folders: str) -> dict[str, Path]:
    found = (path for folder in folders for path in (CHECKOUT / folder).rglob("*.py"))
    return {
        ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path for path in found
    }


ALL: Final = modules("tuneproof", "fixtures", "tools")
# The lab shares this package with the programs in its containers, so it may need only Python.
PROTOCOL: Final = "tuneproof.lab.protocol"
IN_CONTAINERS: Final = modules("images")


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return the modules that a module imports, including imports only for types."""
    return tuple(_imported(ast.parse(path.read_text(encoding="utf-8"))))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in ALL else node.module


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def package_of(module: str) -> str:
    return max((package for package in MAY_IMPORT if is_in(module, package)), key=len, default="")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_packages_below_it(package: str) -> None:
    own = {module: path for module, path in ALL.items() if package_of(module) == package}
    assert own
    wrong = [
        f"{module} imports {name}"
        for module, path in own.items()
        for name in imported(path)
        if name.split(".")[0] in OURS and not any(is_in(name, allowed) for allowed in MAY_IMPORT[package])
    ]
    assert wrong == []


@pytest.mark.parametrize("package", FORBIDDEN)
def test_a_package_imports_no_forbidden_dependency(package: str) -> None:
    wrong = [
        f"{module} imports {name}"
        for module, path in ALL.items()
        if is_in(module, package)
        for name in imported(path)
        if name.split(".")[0] in FORBIDDEN[package]
    ]
    assert wrong == []


def test_the_protocol_needs_only_python() -> None:
    own = {module: path for module, path in ALL.items() if is_in(module, PROTOCOL)}
    assert len(own) > 1
    wrong = [
        f"{module} imports {name}"
        for module, path in own.items()
        for name in imported(path)
        if not is_in(name, PROTOCOL) and name.split(".")[0] not in sys.stdlib_module_names
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["tuneproof", "tuneproof.lab"])
def test_the_packages_around_the_protocol_import_nothing(package: str) -> None:
    assert imported(ALL[package]) == ()


def test_programs_in_containers_import_only_the_protocol_from_the_library() -> None:
    """The containers lack the rest of the library."""
    known = {name for path in IN_CONTAINERS.values() for name in imported(path) if name.split(".")[0] in OURS}
    assert {f"{PROTOCOL}.loadgen", f"{PROTOCOL}.serving"} <= known
    assert [name for name in sorted(known) if not is_in(name, PROTOCOL)] == []


def test_no_test_imports_another_test() -> None:
    """Shared parts are in tests/support, or next to the tests in a module without tests."""
    files = modules("tests")
    tests = {name for name in files if name.rpartition(".")[2].startswith("test_")}
    assert tests
    texts = {module: path.read_text(encoding="utf-8") for module, path in files.items()}
    # Parsing takes much longer than checking whether a test is named at all.
    named = re.compile(rf"\b(?:{'|'.join({name.rpartition('.')[2] for name in tests})})\b")
    wrong = [
        f"{module} imports {name}"
        for module, text in texts.items()
        if named.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        for name in {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)} & tests
    ]
    assert wrong == []


def test_imports_have_no_cycles() -> None:
    imports = {module: {name for name in imported(path) if name in ALL} for module, path in ALL.items()}
    left = dict(imports)
    # Modules without remaining imports are removed in turn, until only cycles and modules that import them are left.
    while free := [module for module, names in left.items() if not names & left.keys()]:
        for module in free:
            del left[module]
    # Modules that no remaining module imports are removed in the same way, until only cycles are left.
    while unused := [module for module in left if not any(module in left[other] for other in left)]:
        for module in unused:
            del left[module]
    assert sorted(left) == []
