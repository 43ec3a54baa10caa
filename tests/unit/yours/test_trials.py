"""What makes a trial on the user's own nginx void."""

from functools import partial
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from tests.support.exchanged import answered
from tests.unit.yours.own import http, opened
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.exchanges import Connection
from tuneproof.yours import trials
from tuneproof.yours.ways import Way, ways_of


def test_readers_that_are_refused_say_nothing_of_buffers(tmp_path: Path) -> None:
    found, _ = opened(tmp_path, http("server { listen 80; location / { proxy_pass http://b; } }"))
    (way,) = ways_of(found.facts)
    assert isinstance(way, Way)
    missing = answered(404, body_bytes=153, total_s=0.001)
    rig = create_autospec(Rig, instance=True)
    rig.must.side_effect = partial(Rig.must, rig)
    rig.flow.return_value = [Connection(answers=(missing,), error="", closed_by_server=False, open_s=0.001)]
    with pytest.raises(VoidTrialError, match="answered by 404"):
        trials.slow_readers(way, trials.MIB)(rig)
