"""Segmentation offloads.

With them, TCP hands frames of up to 64 KiB to the interface, and netem would lose, delay or duplicate each as a whole.
See the kernel's Documentation/networking/segmentation-offloads.rst.
"""

import contextlib
import socket
from collections.abc import Collection
from typing import Final

from .rtnetlink import IoctlEthtool, NotSupportedError

# These are the names of `ethtool -k`; those that an interface lacks are skipped. The first ones are for hardware, which
# virtual links imitate; the last one does the same in software.
_SEGMENTATION: Final = ("tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation", "tx-generic-segmentation")


def switch_segmentation(names: Collection[str], *, on: bool) -> None:
    """Switch the offloads of these interfaces, if they exist (RuntimeError: one does not change)."""
    for _, name in socket.if_nameindex():
        if name in names:
            _switch(name, on=on)


def _switch(interface: str, *, on: bool) -> None:
    """Let an interface take frames longer than its MTU from this host, or not (RuntimeError: it does not change)."""
    ethtool = IoctlEthtool(interface)
    features = ethtool.get_features()
    available = [name for name in _SEGMENTATION if name in features and features.is_available(name)]
    changed = [name for name in available if features[name] is not on]
    for name in changed:
        features[name] = on
    # The answer does not name features that were not granted, and a link may withhold some when others are off, so the
    # features are read back.
    with contextlib.suppress(NotSupportedError):
        ethtool.set_features(features)
    found = ethtool.get_features()
    granted = [name for name in changed if found[name] is on]
    if changed and (not granted if on else granted != changed):
        raise RuntimeError(f"{interface}: {', '.join(changed)} cannot be switched {'on' if on else 'off'}")
