"""DisaggregatedSets as LeaderWorkerSet 0.9.0 leaves them (seen on Kubernetes 1.37.0): a LeaderWorkerSet for
each role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.fleet_spec import Gang
from simulator.kinds import leaderworkerset
from simulator.resources import DISAGGREGATEDSETS

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "DisaggregatedSet"
RESOURCES = (DISAGGREGATEDSETS, *leaderworkerset.RESOURCES)
_REVISION = "5d8c7f9b"
"""Eight characters between the names of the set and of the role."""


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a DisaggregatedSet and the LeaderWorkerSets of its roles."""
    roles = [{"name": role.name, "spec": leaderworkerset.spec_of(role)} for role in gang.roles]
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {"roles": roles}
    disaggregatedset = builder.create(
        DISAGGREGATEDSETS, {"metadata": meta, "spec": spec}, builder.born(gang)
    )
    pods: list[Json] = []
    for role in gang.roles:
        name = f"{gang.name}-{_REVISION}-{role.name}"
        pods += leaderworkerset.make_set(builder, gang, role, name, disaggregatedset)
    return pods
