"""Messages from the kernel, systemd and Kubernetes are found after time stamps, but not in clients' data."""

import pytest

from tests.support.tables import table
from tuneproof.explain.parse.system_lines import message_of
from tuneproof.messages.patterns import PLACE
from tuneproof.messages.rows import Message, messages

STAMPS = {
    "dmesg": "[12345.678901] ",
    "dmesg of a young machine": "[    5.678901] ",
    "dmesg -T": "[Thu Nov 26 09:00:01 2026] ",
    "dmesg -x": "kern  :warn  : [12345.678901] ",
    "journalctl -k": "Nov 26 09:00:01 web-1 kernel: ",
    "syslog": "Nov 26 09:00:01 web-1 kernel: [12345.678901] ",
}


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS)
def test_a_message_is_found_after_its_time_stamp(stamp: str) -> None:
    found = message_of(f"{stamp}nf_conntrack: nf_conntrack: table full, dropping packet")
    assert found is not None
    assert found.row == "conntrack_full"


@pytest.mark.parametrize(("line", "row"), table("system_lines"))
def test_a_line_from_another_program_has_its_row(line: str, row: str) -> None:
    found = message_of(line)
    assert (found.row if found else "none") == row


def test_the_count_in_a_kubernetes_event_is_read() -> None:
    found = message_of("  Warning  Unhealthy  2m5s (x12 over 10m)  kubelet  Readiness probe failed: statuscode: 502")
    assert found is not None
    assert (found.row, found.times) == ("probe_failed", 12)


@pytest.mark.parametrize("row", [row for row in messages().values() if not row.levels], ids=lambda row: row.id)
def test_each_wording_of_a_row_without_levels_is_found(row: Message) -> None:
    """The quick check for fragments of words, which comes first, does not exclude any wording."""
    for words in row.words:
        text = PLACE.sub(lambda place: "a" if place[1] == "driver" else "7", words.text)
        found = message_of(f"{text}." if text.endswith(" ") else text)
        assert found is not None, words.text
        assert found.row == row.id
