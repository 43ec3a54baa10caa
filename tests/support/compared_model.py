"""The result of comparing the model with nginx."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Compared:
    """The questions that were put to both the model and nginx, and the disagreements."""

    questions: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    """Numbers of questions that the model does not answer, by reason."""
    disagreements: list[str] = field(default_factory=list)
    constructs: Counter[str] = field(default_factory=Counter)
    """The number of questions in which each construct occurs."""

    def add(self, other: "Compared") -> None:
        self.questions += other.questions
        self.unknown += other.unknown
        self.disagreements += other.disagreements
        self.constructs += other.constructs

    @property
    def unknown_share(self) -> float:
        """Share of the questions that the model does not answer, from 0 to 1."""
        return self.unknown.total() / max(self.questions, 1)

    def __str__(self) -> str:
        found = f"{self.questions} questions, {len(self.disagreements)} disagreements, {self.unknown.total()} unknown"
        return f"{found}; {dict(self.unknown)}; {dict(self.constructs.most_common())}"
