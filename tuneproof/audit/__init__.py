"""Turns a configuration into facts and advice, without nginx, Docker or root."""
