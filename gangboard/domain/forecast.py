"""What controllers and admission systems would do with a manifest that no cluster has yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint
from gangboard.domain.pod_constraints import PodConstraints, Toleration
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import QueueTree

Manifest = Mapping[str, Any]
"""An object as JSON or YAML describes it. Text in it is untrusted."""


class CreationUnknownError(Exception):
    """The objects that a controller would create cannot be foreseen. The text is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class CreationContext:
    """Facts about a cluster that decide what its controllers create."""

    kubernetes: tuple[int, int] | None = None
    """Version of the API server, such as (1, 37), or None if unknown."""
    api_versions: Mapping[str, str] = field(default_factory=dict)
    """Resource key → version that the cluster serves. A kind that is not served is not in it."""
    blueprints: tuple[Blueprint, ...] = ()
    """Known blueprints of the cluster, the templates that owners name."""
    dependencies_met: bool = False
    """Whether children that wait for others count as created, as if the others were ready or complete."""


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """A fault of a manifest for which the API server, a webhook or a controller would refuse the object."""

    field: str
    """Field with the fault, such as `spec.replicatedJobs[0].name`."""
    sentence: str
    """What is wrong, with the limit and the value."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of an owner, as an admission system counts them."""

    name: str
    """Name of the role, such as that of a ReplicatedJob. Empty if the owner has one role."""
    count: int
    requests: Mapping[str, Decimal] = field(default_factory=dict)
    """Resource requests of one pod in base units."""
    needs: PodConstraints = field(default_factory=PodConstraints)


@dataclass(frozen=True, slots=True)
class AdmissionState:
    """The queues of an admission system and the entries in them, at one moment."""

    queues: QueueTree
    entries: Collection[QueueEntry] = ()
    """All entries of the cluster, admitted or waiting."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The decision of an admission system about an owner that does not exist yet."""

    entry: QueueEntry
    """The entry as its system would write it: with quota, or with the message why it waits."""
    behind: tuple[ObjectRef, ...] = ()
    """Owners of the entries before it in its queue, the first in line first."""
    node_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Name of a pod set → node labels that the system adds to the node selector of its pods."""
    tolerations: Mapping[str, tuple[Toleration, ...]] = field(default_factory=dict)
    """Name of a pod set → tolerations that the system adds to its pods."""
    unknown: str = ""
    """Sentence that says why the decision cannot be foreseen. Empty if it can."""
