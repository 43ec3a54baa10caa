"""The key of a result: a scenario's claim on a version of nginx over a network."""

from typing import Final, NamedTuple, Self

UNSHAPED: Final = "bare"
"""Name of the network without shaped links."""


class Key(NamedTuple):
    """One claim on one version and network; without a claim, the lab that the claims of a scenario share there."""

    scenario: str  # its name
    claim: str  # its name; empty for all claims of the scenario
    nginx: str  # version; empty for a test without one
    network: str  # name of the network profile; empty likewise

    @classmethod
    def parse(cls, id_: str) -> Self:
        """Return the key of a claim's id. ValueError: It is not an id."""
        scenario, claim, nginx, network = id_.split("/")
        return cls(scenario, claim, nginx.removeprefix("nginx-"), network)

    @property
    def id(self) -> str:
        """The id of the result in results.json, or the name of the lab in the journal of trials."""
        return "/".join(part for part in (self.scenario, self.claim, f"nginx-{self.nginx}", self.network) if part)

    @property
    def place(self) -> str:
        """Where it is decided, in words: scenario, version, and the network if links are shaped."""
        network = "" if self.network == UNSHAPED else f", {self.network}"
        return f"{self.scenario}, nginx {self.nginx}{network}"

    @property
    def lab(self) -> Self:
        """The lab of its claim."""
        return self._replace(claim="")

    def of(self, claim: str) -> Self:
        """Return the key of a claim in this lab."""
        return self._replace(claim=claim)
