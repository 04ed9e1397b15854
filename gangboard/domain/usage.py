"""What a gang does with its accelerators at one moment."""

from __future__ import annotations

from dataclasses import dataclass

AMOUNTS = ("used", "held", "eligible", "ineligible", "unobserved")
"""The fields of `AcceleratorUse`, as the columns of the tables are named."""


@dataclass(frozen=True, slots=True)
class AcceleratorUse:
    """Accelerators of one gang, by what they are for. No accelerator is in two fields."""

    used: float = 0.0
    """On nodes, by pods of a gang that is whole."""
    held: float = 0.0
    """On nodes, by pods of a gang that is not whole."""
    eligible: float = 0.0
    """Requested and not on nodes, while no queue, suspend or dependency holds the gang back."""
    ineligible: float = 0.0
    """Requested and not on nodes, while a queue, a suspend or a dependency holds the gang back."""
    unobserved: float = 0.0
    """Requested while the state of the gang is unknown."""

    @property
    def total(self) -> float:
        """All accelerators of the gang."""
        return self.used + self.held + self.eligible + self.ineligible + self.unobserved
