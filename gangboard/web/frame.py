"""For whom a page is read, and what its layout shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.liveness import Liveness
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class Frame:
    """For whom and when a page is read, and what its layout shows."""

    viewer: Viewer
    now: datetime
    clusters: Mapping[int, Freshness]
    liveness: Liveness
