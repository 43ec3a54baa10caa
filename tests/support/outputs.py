"""Outputs of tools, files of /proc and logs, each in a file of its own."""

from tests.support.places import CAPTURES


def output(name: str) -> str:
    return (CAPTURES / "outputs" / f"{name}.txt").read_text(encoding="utf-8")
