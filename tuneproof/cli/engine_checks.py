"""``./lab doctor --engine``: what each engine lacks for ``run --engine``, and all of them for ``run --place``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from tuneproof.cli.checks import Check
from tuneproof.errors import TuneproofError
from tuneproof.lab.engine.named import EngineFacts, environment_of, look
from tuneproof.lab.engine.swarm import ACTIVE
from tuneproof.lab.topology.placed import SWARM_STEPS, why_not_together


def examine_engines(names: Sequence[str]) -> Iterator[Check]:
    """Yield the checks, each as soon as its engine has answered."""
    facts: dict[str, EngineFacts] = {}
    environments: dict[str, Mapping[str, str]] = {}
    with ExitStack() as reached:
        for name in dict.fromkeys(names):
            try:
                environments[name] = reached.enter_context(environment_of(name))
                facts[name] = look(name, environments[name])
            except TuneproofError as error:
                yield Check(state="missing", name="engine", value=f"{name}: {error.what}", advice=error.remedy)
            else:
                yield check_answer(facts[name])
                yield check_swarm(facts[name])
        if len(facts) > 1:
            yield check_architectures(list(facts.values()))
            yield check_together(facts, environments)


def check_answer(facts: EngineFacts) -> Check:
    """An engine that answers, and is not too old."""
    value = f"{facts.name}: Docker {facts.version}, {facts.architecture}, {facts.cpus} CPUs"
    return Check(state="ok", name="engine", value=value)


def check_swarm(facts: EngineFacts) -> Check:
    """An engine's part in a swarm, without which roles cannot be placed on it."""
    node = facts.node
    if node.state != ACTIVE:
        fault = f" ({node.fault})" if node.fault else ""
        advice = "--place needs it in a swarm with the others: `docker swarm init` or `docker swarm join` there"
        return Check(state="warn", name="swarm", value=f"{facts.name}: {node.state}{fault}", advice=advice)
    part = "manager" if node.is_manager else "worker"
    return Check(state="ok", name="swarm", value=f"{facts.name}: active, {part}")


def check_architectures(facts: Sequence[EngineFacts]) -> Check:
    """Whether the engines can share a run, or a lab."""
    value = ", ".join(dict.fromkeys(fact.architecture for fact in facts))
    if len({fact.architecture for fact in facts}) == 1:
        return Check(state="ok", name="architecture", value=value)
    return Check(
        state="missing",
        name="architecture",
        value=value,
        advice="neither a run nor a lab is shared by engines so unlike",
    )


def check_together(facts: Mapping[str, EngineFacts], environments: Mapping[str, Mapping[str, str]]) -> Check:
    """Whether the engines can share an overlay network."""
    try:
        faults = why_not_together(facts, environments)
    except TuneproofError as error:
        faults = [error.what]
    if faults:
        return Check(state="warn", name="together", value=" ".join(faults), advice=f"for --place: {SWARM_STEPS}")
    return Check(state="ok", name="together", value="one swarm, all nodes ready: roles can be placed on them")
