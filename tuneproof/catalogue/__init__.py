"""Every piece of advice, with its claims, arms, effects and thresholds, and the verdicts that are expected.

A module that declares an ``ADVICE`` belongs to the catalogue, without any further registration.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuneproof.catalogue.advice import Advice


def every_advice() -> "tuple[Advice, ...]":
    """Return all pieces of advice, in the order of their names."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    declared = [module.ADVICE for module in modules if hasattr(module, "ADVICE")]
    return tuple(sorted(declared, key=lambda advice: advice.name))
