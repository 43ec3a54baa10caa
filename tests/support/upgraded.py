"""The findings for an upgrade of a configuration."""

from tuneproof.audit.differences import Effect
from tuneproof.audit.patches import apply
from tuneproof.audit.upgrade import Upgrade, upgrade
from tuneproof.conf.sources import Dump


def source(http: str) -> Dump:
    return Dump({"nginx.conf": f"events {{ }}\nhttp {{\n{http}\n}}\n"}, is_complete=True)


def changes(http: str, old: str = "1.18", new: str = "1.30") -> Upgrade:
    return upgrade(source(http), old=old, new=new)


def of(found: Upgrade, effect: Effect) -> list[tuple[str, int, str]]:
    """Return the text, line and version of each difference with this effect."""
    return [(one.what, one.at.line, one.since) for one in found.differences if one.effect is effect]


def patched(found: Upgrade, *, defaults: bool) -> str:
    """Return the file adapted to the new version or, with ``defaults``, with the old version's defaults."""
    chosen = [one for one in found.differences if (one.effect is Effect.DEFAULT) == defaults]
    texts = found.before.facts.configuration.texts
    return {**texts, **apply([edit for one in chosen for edit in one.edits], texts)}["nginx.conf"]
