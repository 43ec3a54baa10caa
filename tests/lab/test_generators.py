"""nginx starts with the default output of each generator, with only the additions of `run --nginx-conf`."""

import pytest

from fixtures.engine import BuiltImages, EnsureImages, PlaceCpus
from tests.lab.benches import bench_of
from tools.generators.described import Generator, every_generator
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import subject_images
from tuneproof.proof.scenario.containers import BenchImages
from tuneproof.yours.proposal import Wanted, propose

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.parametrize("generator", every_generator(), ids=lambda generator: generator.slug)
def test_generated_configurations_start(
    generator: Generator, ensure: EnsureImages, images: BuiltImages, place_cpus: PlaceCpus, lab_session: Session
) -> None:
    """The version of nginx fits the generator's target. All requests get a response, or connections queue."""
    proposal = propose(Wanted(configuration=str(generator.file), version=generator.nginx))
    image = subject_images([generator.nginx], {generator.nginx: proposal.packages})[generator.nginx]
    ensure([image])
    arm = proposal.scenario.arms[0]
    with bench_of(
        lab_session,
        proposal.scenario,
        arms=[arm],
        nginx=generator.nginx,
        images=BenchImages(subject=image.tag, **images.roles),
        placement=place_cpus(()),
    ) as (_, bench):
        figures = bench.run(arm, label="started").record.figures
    assert figures.get("answered") == figures.get("asked")
    assert max(figures.get("queued", 0), figures.get("asked", 0)) > 0
