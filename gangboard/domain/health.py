"""Health and stage of a gang, each in its order."""

from __future__ import annotations

from enum import StrEnum


class Health(StrEnum):
    """Health of a gang, worst first. `unknown` comes last and means that objects could not be read."""

    FAILED = "failed"
    BLOCKED = "blocked"
    DEGRADED = "degraded"
    WAITING = "waiting"
    STARTING = "starting"
    SUSPENDED = "suspended"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    UNKNOWN = "unknown"

    @property
    def severity(self) -> int:
        """Position in the order above, 0 for the worst. It ranks units and sorts the Board."""
        return _SEVERITY[self]


class Stage(StrEnum):
    """The five stages of a gang, in the order in which a gang passes them."""

    ADMISSION = "admission"
    FORMATION = "formation"
    PLACEMENT = "placement"
    START = "start"
    RUN = "run"

    @property
    def position(self) -> int:
        """0 for admission up to 4 for run."""
        return _POSITION[self]


NOT_WHOLE = (Health.BLOCKED, Health.DEGRADED, Health.WAITING, Health.STARTING)
"""Health of gangs that should run, and do not run or not completely."""
_SEVERITY = {health: index for index, health in enumerate(Health)}
_POSITION = {stage: index for index, stage in enumerate(Stage)}
