"""Forecasts of the check about the gangs of a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gangboard.domain.forecast import ManifestFault
from gangboard.domain.objects import ObjectRef


class CheckVerdict(StrEnum):
    """Forecasts about a gang that does not exist yet, the best first."""

    WOULD_RUN = "admitted-and-placed"
    """Its queue admits it, and its pods fit on nodes now."""
    WOULD_WAIT = "would-wait"
    """It waits until capacity or quota becomes free."""
    UNKNOWN = "unknown"
    """gangboard could not look, or its arithmetic does not cover a requirement."""
    WOULD_BLOCK = "would-block"
    """It does not start until a person changes an object."""

    @property
    def rank(self) -> int:
        """Position in the order above. 0 is the best."""
        return list(CheckVerdict).index(self)


REFUSED = "manifest-refused"
"""Code of a gang that the API server, a webhook or its controller would refuse."""
NOT_SERVED = "kind-not-served"
"""Code of a gang with an object of a kind that the cluster does not serve."""
NOT_OBSERVED = "not-observed"
"""Code of a gang that could not be checked in the cluster."""
UNKNOWN_KIND = "unknown-kind"
"""Code of a text in which no object is of a kind that gangboard knows."""


@dataclass(frozen=True, slots=True)
class CheckedGang:
    """The forecast about one gang in one cluster. It has no names that need a right, except in `row` and `behind`."""

    number: int
    """Number of the first document of the gang, from 1."""
    group: str
    kind: str
    namespace: str
    name: str
    verdict: CheckVerdict
    code: str
    """Reason code of the verdict, or one of the codes above."""
    message: str = ""
    """The sentence, if there is no `row`."""
    row: Mapping[str, Any] | None = None
    """Columns of the gang as `polling.gang_rows` makes them. None without a verdict."""
    behind: tuple[ObjectRef, ...] = ()
    """Owners of the entries before it in its queue, the first in line first."""
    faults: tuple[ManifestFault, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences about assumptions of the check."""
    shape: str = ""
    """Digest of the request of a member, for the typical wait of similar gangs. Empty if unknown."""
    nodes: int = 0
    """Nodes that its pods would get now."""


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """The forecasts about all gangs of a text in one cluster."""

    cluster_id: int
    cluster: str
    gangs: tuple[CheckedGang, ...] = ()
    why_unknown: str = ""
    """Sentence that says why there are no forecasts. Empty if there are."""
    notes: tuple[str, ...] = field(default=())
    """Sentences about documents that were not checked."""
