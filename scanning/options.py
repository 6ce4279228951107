"""What a scan looks for."""

from dataclasses import dataclass, field

from allusion_es.core.errors import UsageError
from allusion_es.retrieval.types import Within

MOST = 6
"""Passages that a finding names at most: its own and five others."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """How a text is scanned.

    Attributes:
        threshold: The probability that findings need; None for the model's own.
        precision: Instead: the threshold at which this precision was measured; or None.
        fast: Look only at what is clear, several times as fast.
        top: How many passages a finding names, with its alternatives.
        within: Which passages may be found.

    Raises:
        UsageError: A number is out of its range, or both thresholds are given.
    """

    threshold: float | None = None
    precision: float | None = None
    fast: bool = False
    top: int = MOST
    within: Within = field(default_factory=Within)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"a threshold of {self.threshold:g}: give a number from 0 to 1")
        if self.threshold is not None and self.precision is not None:
            raise UsageError("--threshold and --precision say the same thing; give one of them")
        if not 1 <= self.top <= MOST:
            raise UsageError(f"{self.top} passages a finding: give a number from 1 to {MOST}")
