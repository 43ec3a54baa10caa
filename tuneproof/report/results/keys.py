"""The key of a result: a scenario's claim on a version of nginx over a network."""

from typing import Final, NamedTuple, Self

UNSHAPED: Final = "bare"
"""The name of the network without shaped links."""


class Key(NamedTuple):
    """One claim on one version and network; without a claim, the lab that a scenario's claims share there."""

    scenario: str
    claim: str  # the claim's name; empty for all claims in the scenario
    nginx: str  # nginx's version; empty for a test without one
    network: str  # the network profile's name; empty for a test without one

    @classmethod
    def parse(cls, id_: str) -> Self:
        """Return the key in a result's id. ValueError: It is not an id."""
        scenario, claim, nginx, network = id_.split("/")
        return cls(scenario, claim, nginx.removeprefix("nginx-"), network)

    @property
    def id(self) -> str:
        """The id of the result in results.json, or the name of the lab in the journal of trials."""
        return "/".join(part for part in (self.scenario, self.claim, f"nginx-{self.nginx}", self.network) if part)

    @property
    def place(self) -> str:
        """Where the claim is decided, in words: scenario, version, and the network if links are shaped."""
        network = "" if self.network == UNSHAPED else f", {self.network}"
        return f"{self.scenario}, nginx {self.nginx}{network}"

    @property
    def lab(self) -> Self:
        """The lab in which its claim is decided."""
        return self._replace(claim="")

    def of(self, claim: str) -> Self:
        """Return the key of a claim in this lab."""
        return self._replace(claim=claim)
