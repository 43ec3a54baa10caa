"""nginx refuses the lines that the model rejects, with the same messages, and loads similar lines."""

from typing import Final

import docker
import pytest

from fixtures.engine import EnsureImages
from tests.lab.asking import answers
from tests.support.refused import LOADED, REFUSED, whole
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import subject_images
from tuneproof.nginx_changes import LAB_VERSIONS

pytestmark = [pytest.mark.engine]


# The other versions differ in a few lines; `./lab test tests/lab/test_refusals.py` tries them, too.
QUICK: Final = ("1.22", LAB_VERSIONS[-1])


@pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=() if version in QUICK else pytest.mark.slow) for version in LAB_VERSIONS],
)
def test_nginx_refuses_and_loads_the_same_lines(
    version: str, engine: docker.DockerClient, ensure: EnsureImages, lab_session: Session
) -> None:
    image = subject_images([version])[version]
    ensure([image])
    configurations = {name: whole(text) for name, text in LOADED.items()}
    configurations |= {name: whole(text) for name, (text, _) in REFUSED.items()}
    said = answers(engine, image.tag, configurations, lab_session)
    assert {name: said[name] for name, (_, message) in REFUSED.items() if message not in said[name]} == {}
    assert {name: said[name] for name in LOADED if "test is successful" not in said[name]} == {}
