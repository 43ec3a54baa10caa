"""A stock Debian in QEMU that runs the lab."""
