"""Configurations read from a text."""

from tuneproof.conf.sources import Dump
from tuneproof.conf.tree import Block, read_configuration


def main_of(text: str, *, is_complete: bool = True) -> Block:
    """Read a configuration; an incomplete one lacks the files that it includes."""
    return read_configuration(Dump({"nginx.conf": text}, is_complete=is_complete)).main


def server_of(text: str, *, is_complete: bool = True) -> Block:
    """Return a server with this content, in a whole configuration."""
    return next(main_of(f"events {{ }} http {{ server {{\n{text}\n}} }}", is_complete=is_complete).all("server"))
