"""A lever and what comes of pulling it."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.domain.acting.decision import Decision
from gangboard.domain.acting.lever import Lever


@dataclass(frozen=True, slots=True)
class Pulled:
    """What was decided, before it is written out as a Plan."""

    lever: Lever
    decision: Decision
