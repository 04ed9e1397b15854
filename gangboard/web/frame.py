"""The viewer of a page and the data of its layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.liveness import Liveness
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class Frame:
    """The viewer of a page, the time, and the data of its layout."""

    viewer: Viewer
    now: datetime
    clusters: Mapping[int, Freshness]
    liveness: Liveness
