"""The health words and the stages of a gang, each with its order written once."""

from __future__ import annotations

from enum import StrEnum


class Health(StrEnum):
    """How a gang is. Declared worst first; `unknown` stands apart: we could not look."""

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
        """Position in the order above: 0 is worst. Used to rank units and to sort the Board."""
        return _SEVERITY[self]


class Stage(StrEnum):
    """The five steps of a gang, in the order in which they are passed."""

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
"""Gangs that are meant to run and do not, or not in full."""
_SEVERITY = {health: index for index, health in enumerate(Health)}
_POSITION = {stage: index for index, stage in enumerate(Stage)}
