"""``watch`` as a command: its options, its signals, and the files that it writes. A fake replaces the kernel."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.canned_loops import IDLE, SECOND
from tests.support.command_line import Lab
from tuneproof.cli import watch
from tuneproof.explain.parse.event_loop import LoopSecond, parse

Made = tuple[LoopSecond, ...]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in a folder, and do not leave signal handlers behind."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(number, handler)


def watches(monkeypatch: pytest.MonkeyPatch, *seconds: Callable[[], Made]) -> None:
    """Let ``watch`` see the results of these functions, each called when its second is due, until it is stopped."""

    class Watching:
        notes = ("2 events lost",)

        def __init__(self, **_: object) -> None:
            self.stopped = False

        def run(self) -> Iterator[Made]:
            for second in seconds:
                if not self.stopped:
                    yield second()

        def stop(self) -> None:
            self.stopped = True

    monkeypatch.setattr(watch, "Watching", Watching)


def signalled(number: int) -> Made:
    """Return a second in which somebody sends a signal."""
    os.kill(os.getpid(), number)
    return (SECOND,)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_watch_with_the_diagnosis(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, folder: Path, number: int
) -> None:
    """The recording contains everything seen until then."""
    watches(monkeypatch, lambda: (IDLE,), lambda: signalled(number), lambda: (replace(SECOND, worker=1),))
    status, out, _ = lab("watch", "--record", "loops.json")
    assert status == 0
    assert "Found: Worker 4711" in out
    assert out.endswith("2 events lost\n")
    recording = parse((folder / "loops.json").read_text())
    assert recording.seconds == (IDLE, SECOND)
    assert recording.notes == ("2 events lost",)


def test_a_second_ctrl_c_ends_watch_at_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, the command does not wait for a bpftrace that does not end."""

    def twice() -> Made:
        os.kill(os.getpid(), signal.SIGINT)
        return signalled(signal.SIGINT)

    watches(monkeypatch, twice)
    status, _, err = lab("watch")
    assert status == 130
    assert "interrupted" in err


def test_json_output_has_a_line_for_each_second_and_for_the_diagnosis(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches(monkeypatch, lambda: (SECOND, IDLE))
    _, out, _ = lab("watch", "--json")
    first, second, last = map(json.loads, out.splitlines())
    assert (first["worker"], second["worker"]) == (4711, 4712)
    assert any(line.startswith("Found: Worker 4711") for line in last["diagnosis"])


def test_the_diagnosis_is_shown_even_if_the_page_cannot_be_written(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    watches(monkeypatch, lambda: (SECOND, IDLE))
    status, out, err = lab("watch", "--page", "/dev/full")
    assert status == 2
    assert "Found: Worker 4711" in out
    assert "/dev/full cannot be written: No space left on device" in err


def test_a_foreign_file_name_is_plain_text(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """No escape sequence reaches the terminal, whether in the line for a second or in the diagnosis."""
    long = tuple(replace(each, longest_on="/srv/\x1b]0;owned\x07[/x]") for each in SECOND.long)
    watches(monkeypatch, lambda: (replace(SECOND, long=long),))
    _, out, _ = lab("watch")
    assert "\x1b" not in out
    assert out.count(r"/srv/\x1b]0;owned\x07[/x]") >= 2


def test_with_listen_the_diagnosis_covers_the_last_minute(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older stall is no longer found."""
    quiet = [(replace(IDLE, at_s=SECOND.at_s + after),) for after in (59.0, 61.0)]
    for made, is_kept in ((quiet[:1], True), (quiet, False)):
        watches(monkeypatch, lambda: (SECOND,), *(lambda each=each: each for each in made))
        _, out, _ = lab("watch", "--listen", "0")
        assert ("Found: Worker 4711" in out) == is_kept
        assert "with --listen, the table and the diagnosis cover the last 60 s" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--record", "none/loops.json"], "none/loops.json cannot be written"),
        (["--record", "/dev/full"], "/dev/full cannot be written"),
        (["--page", "none/a.html"], "none/a.html cannot be written"),
        (["--listen", "9145x"], "--listen 9145x: not a port"),
        (["--listen", "99999"], "--listen 99999: not a port"),
        (["ftp://a.example/"], "ftp://a.example/: not an http:// or https:// URL"),
        (["http://127.0.0.1:9/", "--seconds", "301"], "a URL is watched for at most 300 s"),
        (["http://127.0.0.1:9/", "--record", "a.json"], "--record has no effect with a URL"),
        (["http://127.0.0.1:9/", "--nginx-conf", "a"], "--nginx-conf has no effect with a URL"),
        (["http://127.0.0.1:9/", "--json"], "--json has no effect with a URL"),
    ],
)
def test_unusable_arguments_are_bad_input(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    watches(monkeypatch, lambda: (SECOND,))
    status, _, err = lab("watch", *arguments)
    assert status == 2
    assert message in err


@pytest.mark.parametrize("seconds", ["abc", "0", "-1", "nan", "inf"])
def test_the_error_repeats_wrong_seconds(lab: Lab, capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        lab("watch", f"--seconds={seconds}")
    assert f"argument --seconds: not a number of seconds above 0: {seconds}\n" in capsys.readouterr().err
