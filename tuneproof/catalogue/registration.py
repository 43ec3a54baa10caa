"""What decides each claim, as a fingerprint that stands in the repository since a date: nothing moves unseen.

``registered.json`` holds for every claim a hash of its arms, effect, threshold, form and looks, at both depths, and
since when it stands. A test fails when a claim has moved and its entry has not; ``python -m tools.register`` enters
what moved, and git has the history. What was measured before a claim's date was measured for another claim.
"""

import ast
import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.proof.depths import FULL, LOOKS, QUICK
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.claims import Claim

REGISTERED: Final = Path(__file__).with_name("registered.json")
_DIGITS: Final = 16
# Functions of these packages are a part of what decides; how the lab and the inference work is not a claim's own.
_OWN: Final = ("tuneproof.catalogue",)
# What a newer Python adds to every node, and what says nothing of what is computed.
_SAYS_NOTHING: Final = frozenset({"ctx", "kind", "type_comment", "type_params", "returns", "annotation"})


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A claim's entry."""

    hash: str
    since: str  # ISO date


def registered(path: Path = REGISTERED) -> Mapping[str, Registration]:
    """Return the entries by claim, as ``scenario/claim``."""
    return {name: Registration(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def fingerprints(advice: Advice) -> Mapping[str, str]:
    """Return the hash of what decides each claim of a piece of advice, by ``scenario/claim``."""
    parts: dict[str, list[object]] = {}
    for depth in (QUICK, FULL):
        scenario = advice.scenario(RunConditions(depth=depth))
        arms = {arm.name: arm for arm in scenario.arms}
        for claim in scenario.claims:
            of_arms = [described(_alone(arms[name])) for name in sorted(claim.needed_arms)]
            parts.setdefault(f"{scenario.name}/{claim.name}", []).append([*_decides(claim, LOOKS[depth]), of_arms])
    return {
        name: hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:_DIGITS]
        for name, found in parts.items()
    }


def _alone(arm: Arm[Any]) -> Arm[Any]:
    """Return an arm without the configurations of others that share its container: a new arm moves no other claim."""
    own = {name: text for name, text in arm.subject.configurations.items() if name in arm.plan.configurations}
    return replace(arm, subject=replace(arm.subject, configurations=own))


def _decides(claim: Claim[Any], depth: tuple[int, ...]) -> list[object]:
    """Return what of a claim decides it."""
    return [
        claim.arms,
        claim.form.value,
        claim.scale.value,
        claim.threshold,
        claim.looks(depth),
        described(claim.effect),
        described(claim.condition),
        _decides(claim.control, depth) if claim.control else None,
    ]


def described(value: object, within: tuple[object, ...] = ()) -> object:
    """Return a value as plain JSON types; functions by their code, so that comments and files' names do not matter."""
    inner = (*within, value)
    if isinstance(value, FunctionType):
        return _function(value, inner) if value not in within else "itself"
    if is_dataclass(value) and not isinstance(value, type):
        found = {each.name: described(getattr(value, each.name), inner) for each in fields(value)}
        return [type(value).__name__, found]
    if isinstance(value, Mapping):
        return sorted([str(key), json.dumps(described(item, inner), sort_keys=True)] for key, item in value.items())
    if isinstance(value, tuple | list):
        return [described(item, inner) for item in value]
    return value if isinstance(value, str | int | float | None) else repr(value)


def _function(function: FunctionType, within: tuple[object, ...]) -> object:
    """Return a function's code with the constants and functions of the catalogue that it uses."""
    if not function.__module__.startswith(_OWN):
        return f"{function.__module__}.{function.__qualname__}"
    closed_over = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    }
    known = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
    uses = {
        name: described(item, within)
        for name, item in sorted({**known, **closed_over}.items())
        if isinstance(item, FunctionType | str | int | float | tuple | Mapping)
    }
    return ["function", [_tree(node) for node in _nodes(function)], uses]


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _nodes(function: FunctionType) -> list[ast.AST]:
    """Return the definition of a function, or every lambda that begins on its line."""
    line = function.__code__.co_firstlineno
    return [node for node in _definitions(inspect.getsourcefile(function) or "") if node.lineno == line]


@cache
def _definitions(path: str) -> list[ast.FunctionDef | ast.Lambda]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]


def _tree(node: object) -> object:
    """Return a syntax tree without its places, its docstrings, and what differs between versions of Python."""
    if isinstance(node, list):
        return [_tree(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    found = {name: value for name, value in ast.iter_fields(node) if name not in _SAYS_NOTHING and value}
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
        found["body"] = node.body[1:]
    return [type(node).__name__, *([name, _tree(value)] for name, value in sorted(found.items()))]
