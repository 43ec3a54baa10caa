"""ListenDrops for want of memory: a claim that no lab can put without touching its host.

Source: "nginx under high concurrency drops SYNs" (2020): ListenDrops rises alone when the kernel cannot allocate the
socket of a new connection, because page cache has eaten the memory; extra_free_kbytes or min_free_kbytes help.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.connect_storm import ConnectStorm, StormObservation
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.tallies import Share, Tally
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.preconditions import PreconditionError
from tuneproof.proof.scenario.scenarios import Scenario

STORM: Final = Arm(
    name="storm",
    subject=Subject(name="subject", config=SubjectConfig(access_log=False)),
    plan=ConnectStorm(connections=500, paused=False),
)


def refuse(stage: Stage) -> None:
    """Say why the question cannot be put.

    Raises:
        PreconditionError: Always.
    """
    raise PreconditionError(
        f"the kernel allocates the socket of a connection to {stage.subject_name} while it handles the packet, outside "
        "every container's memory limit: only the whole host could run short of memory for it",
        remedy="vm.min_free_kbytes belongs to the host, and the lab leaves the host alone",
    )


SCENARIO: Final = Scenario(
    name="listen_queue_allocation",
    arms=(STORM,),
    claims=(
        Claim[StormObservation](
            name="allocation_failure_drops_syns",
            sentence="Failed allocations of sockets raise ListenDrops while ListenOverflows stays where it is",
            source="nginx under high concurrency drops SYNs (2020): order-1 page allocation failure",
            arms=(STORM.name,),
            effect=lambda block: Share(
                of=Tally(
                    count=max(block[STORM.name].listen_drops - block[STORM.name].listen_overflows, 0),
                    of=block[STORM.name].connections,
                )
            ),
            effect_name="drops that are no overflows, per connect",
            scale=Scale.SHARE,
            threshold=0.01,
        ),
    ),
    backends=(),
    check=refuse,
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
)
