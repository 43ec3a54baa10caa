"""Each hostile input leads to one result or one error, needs little memory, and prints only text."""

import json
import subprocess
import sys
from typing import Any, Final

import pytest


def outcome(*parts: str) -> dict[str, Any]:
    """Run rows of tests/captures/hostile/inputs.toml in a separate process with its own memory."""
    command = [sys.executable, "-m", "tests.support.hostile_inputs", *parts]
    made: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return made


@pytest.mark.slow
def test_hostile_inputs_do_no_harm() -> None:
    """No input causes an exception, a hang, more than 300 MiB, or anything but text in an output."""
    made = outcome()
    assert made["wrong"] == {}
    assert made["tried"] >= 240


# Escape sequences, markup, commands for GitHub, and marks that reverse the direction of text.
TEXTS: Final = ("escapes", "command", "hostile name", "that nest", "C1 controls", "results with")
# Devices, pipes, links, folders, a full disk, closed streams, other encodings, and impossible widths.
FILES: Final = ("/dev/zero", "pipe", "link", "lead", "folder", "nobody", "full disk", "no output", "no input", "column")


def test_outputs_contain_only_text_and_unexpected_files_and_streams_lead_to_one_message() -> None:
    made = outcome(*TEXTS, *FILES)
    assert made["wrong"] == {}
    assert made["tried"] > 100
