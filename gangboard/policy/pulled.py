"""A lever and what comes of pulling it."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.plugins.lever import Lever
from gangboard.policy.decision import Decision


@dataclass(frozen=True, slots=True)
class Pulled:
    """What was decided, before it is written out as a Plan."""

    lever: Lever
    decision: Decision
