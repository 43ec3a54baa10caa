"""Rules, which find the places in a configuration to which each piece of advice applies.

Each module is a rule: it has a function ``advise``, and ``RANK``, its position among equally urgent findings: the
larger the gain, the smaller the rank.
"""

import importlib
import pkgutil
from functools import cache

from tuneproof.audit.advice import Rule


@cache
def every_rule() -> tuple[Rule, ...]:
    """Return all rules, in the order of their ranks."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return tuple(module.advise for module in sorted(modules, key=lambda module: (module.RANK, module.NAME)))
