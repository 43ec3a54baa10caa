"""Fingerprints of everything that decides the claims, with dates, in the repository: no change goes unnoticed.

For every claim, ``registered.json`` contains the date of its last change, and a hash of all declared data that affect
how it is decided, at both depths: variants and the containers next to them, backends, limits, loads, warm-up, scale,
form, threshold, looks and control, with the constants that its functions use. Measurements before that date belong to a
different claim.

Code is not data: renaming a local variable changes no decision. Code has a revision number instead, which is part of
the hash and is raised by hand in ``revisions.toml`` when the code behaves differently. As a reminder, each entry also
contains a digest of the code. A test fails when a hash or a digest differs from its entry; ``python -m tools.register``
enters the changes, and git keeps the history.
"""

import ast
import hashlib
import inspect
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Final

from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.lab.load.base import Load
from tuneproof.proof.depths import FULL, LOOKS, QUICK
from tuneproof.proof.scenario.arms import Arm
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

REGISTERED: Final = Path(__file__).with_name("registered.json")
REVISIONS: Final = Path(__file__).with_name("revisions.toml")
_DIGITS: Final = 16
# Functions of these packages belong to a claim; those of the lab and of the inference do not.
_OWN: Final = ("tuneproof.catalogue",)
# Fields that differ between Python versions, or that do not affect the computation.
_IRRELEVANT: Final = frozenset({"ctx", "kind", "type_comment", "type_params", "returns", "annotation"})
_CODE: Final = "code"  # stands for a function among data


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """The hash and the digest of everything that decides a claim."""

    hash: str  # hash of the claim's data, and of the revisions of its code
    code: str  # digest of the code that runs its trials and decides it


@dataclass(frozen=True, kw_only=True)
class Registration(Fingerprint):
    """A claim's entry in registered.json."""

    since: str  # ISO date of the last change


def registered(path: Path = REGISTERED) -> Mapping[str, Registration]:
    """Return the entries by claim, as ``scenario/claim``."""
    return {name: Registration(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


@cache
def revisions(path: Path = REVISIONS) -> Mapping[str, int]:
    """Return the revisions above 1, by name."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def fingerprints(advice: Advice, raised: Mapping[str, int] | None = None) -> Mapping[str, Fingerprint]:
    """Return the fingerprint of each claim of a piece of advice, by ``scenario/claim``.

    ``raised``: revisions by name; default: those in ``revisions.toml``.
    """
    known = revisions() if raised is None else raised
    data: dict[str, list[object]] = {}
    code: dict[str, list[object]] = {}
    for depth in (QUICK, FULL):
        scenario = advice.scenario(RunConditions(depth=depth))
        arms = {arm.name: arm for arm in scenario.arms}
        for claim in scenario.claims:
            name = f"{scenario.name}/{claim.name}"
            used = [_alone(arms[name]) for name in sorted(claim.needed_arms)]
            parts = (_decides(claim, LOOKS[depth]), used, _around(scenario))
            runs = code_of(parts)
            data.setdefault(name, []).append([described(parts), sorted(_raised(name, runs, known))])
            code.setdefault(name, []).append(runs)
    return {name: Fingerprint(hash=_hash(data[name]), code=_hash(code[name])) for name in data}


def _hash(found: object) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _alone(arm: Arm[Any]) -> Arm[Any]:
    """Return an arm without other arms' configurations in its container: a new arm does not change other claims."""
    own = {name: text for name, text in arm.subject.configurations.items() if name in arm.plan.configurations}
    return replace(arm, subject=replace(arm.subject, configurations=own))


def _decides(claim: Claim[Any], depth: tuple[int, ...]) -> list[object]:
    return [
        claim.arms,
        claim.form.value,
        claim.scale.value,
        claim.threshold,
        claim.looks(depth),
        claim.subject_cpus,
        [claim.metric or claim.figure, claim.is_aa_control],
        claim.effect,
        claim.condition,
        _decides(claim.control, depth) if claim.control else None,
    ]


def _around(scenario: Scenario[Any]) -> list[object]:
    """Return the surroundings of a scenario's arms: backends, companions, warm-up."""
    # The number of labs does not change results; HTTP/3 and post-quantum clients are visible in the scripts.
    given = {each.name: getattr(scenario, each.name) for each in fields(scenario)}
    return [
        value
        for name, value in given.items()
        if name not in ("name", "arms", "claims", "labs", "http3", "post_quantum")
    ]


def described(value: object) -> object:
    """Return a value as plain JSON types; for a function, the constants that it uses, without names or order."""
    if isinstance(value, FunctionType):
        constants = {json.dumps(described(item)) for _, item in _uses(value) if not isinstance(item, FunctionType)}
        return [_CODE, sorted(constants)]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {each.name: described(getattr(value, each.name)) for each in fields(value)}]
    if isinstance(value, Mapping):
        return sorted([str(key), json.dumps(described(item), sort_keys=True)] for key, item in value.items())
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    return value if isinstance(value, str | int | float | None) else repr(value)


def code_of(value: object) -> dict[str, object]:
    """Return the code in a value that runs trials or decides, by the name of the function or load."""
    found: dict[str, object] = {}
    for function in _functions(value):
        free = function.__code__.co_freevars
        # The name of a closed-over variable may change; its value is part of the data.
        constants = {
            name: described(item)
            for name, item in _uses(function)
            if not isinstance(item, FunctionType) and name not in free
        }
        tree = [_trees(node, free) for node in _nodes(function)]
        name = f"{function.__module__.removeprefix(_OWN[0]).strip('.')}.{function.__qualname__}"
        found[name] = [*_listed(found.get(name)), [tree, constants]]
    for load in _loads(value):
        found[type(load).__name__] = _class(type(load))
    return found


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _raised(claim: str, runs: Mapping[str, object], known: Mapping[str, int]) -> Iterator[str]:
    """Yield the raised revisions of a claim and of the code that it runs."""
    yield from (f"{name} {known[name]}" for name in (claim, *runs) if name in known)


def _functions(value: object) -> list[FunctionType]:
    """Return each function of the catalogue that a value contains or uses indirectly, once."""
    found: list[FunctionType] = []

    def look(item: object) -> None:
        if isinstance(item, FunctionType):
            if item.__module__.startswith(_OWN) and item not in found:
                found.append(item)
                for _, used in _uses(item):
                    look(used)
        else:
            for inner in _parts(item):
                look(inner)

    look(value)
    return found


def _loads(value: object) -> Iterator[Load[Any, Any]]:
    if isinstance(value, Load):
        yield value
    for inner in _parts(value):
        yield from _loads(inner)


def _parts(value: object) -> list[object]:
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, each.name) for each in fields(value)]
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list) else []


def _uses(function: FunctionType) -> list[tuple[str, object]]:
    """Return the constants, and the catalogue's functions, that a function of the catalogue uses, by name."""
    if not function.__module__.startswith(_OWN):
        return []
    free = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    known = {name: cell.cell_contents for name, cell in free}
    names = {name for node in _nodes(function) for name in _names(node)}
    known |= {name: function.__globals__[name] for name in names - {*known} if name in function.__globals__}
    return [
        (name, item)
        for name, item in sorted(known.items())
        if isinstance(item, FunctionType | str | int | float | tuple | Mapping)
    ]


def _nodes(function: FunctionType) -> Sequence[ast.AST]:
    """Return the definition of a function, or every lambda that begins on its line."""
    code = function.__code__
    return _definitions(code.co_filename).get(code.co_firstlineno, [])


@cache
def _class(kind: type) -> object:
    tree = ast.parse(inspect.getsource(kind))
    return _tree(tree, {})


@cache
def _definitions(path: str) -> Mapping[int, list[ast.AST]]:
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


@cache
def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(item.id for item in ast.walk(node) if isinstance(item, ast.Name))


@cache
def _trees(node: ast.AST, free: tuple[str, ...]) -> object:
    return _tree(node, _locals(node, free))


def _locals(node: ast.AST, free: tuple[str, ...]) -> dict[str, str]:
    """Return neutral names for variables that a definition binds or closes over, numbered in the order of ast.walk."""
    own = [
        item.arg if isinstance(item, ast.arg) else item.id if isinstance(item, ast.Name) else item.name
        for item in ast.walk(node)
        if isinstance(item, ast.arg | ast.FunctionDef)
        or (isinstance(item, ast.Name) and (isinstance(item.ctx, ast.Store) or item.id in free))
    ]
    return {name: str(number) for number, name in enumerate(dict.fromkeys(own))}


def _tree(node: object, local: Mapping[str, str]) -> object:
    """Return a syntax tree without positions, docstrings, and differences between Python versions."""
    if isinstance(node, list):
        return [_tree(item, local) for item in node if not _is_docstring(item)]
    if isinstance(node, str) and node in local:
        return local[node]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Constant):
        return ["Constant", repr(node.value)]
    found = {name: value for name, value in ast.iter_fields(node) if name not in _IRRELEVANT and value}
    return [type(node).__name__, *([name, _tree(value, local)] for name, value in sorted(found.items()))]


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
