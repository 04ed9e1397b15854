"""MiniClusters of the Flux operator (flux-framework.org/v1alpha2): one Indexed Job of the same name, a pod a node of Flux.

Its status says that all was made (`JobMiniClusterReady`), not that anything runs, and `minSize` is Flux's own matter: fewer
pods run the same work. Its end is that of its Job (minicluster.go, scale.go of 2026-06-25, read and not run: its module
cannot be had).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gangboard.decode.fitting import KeyField, key_fields
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, WireCondition, read_conditions, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.owner import Owner, Role
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_GROUP, _KIND = "flux-framework.org", "MiniCluster"
_LOWEST, _HIGHEST = "minSize", "maxSize"  # in `detail`


class _WireMiniClusterSpec(Wire):
    size: KeyField[Int32 | None] = None
    min_size: Int32 | None = None
    max_size: Int32 | None = None


class _WireMiniClusterStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireMiniCluster(Wire):
    """A MiniCluster as narrow as it is kept."""

    metadata: WireOwnerMeta
    spec: _WireMiniClusterSpec | None = None
    status: _WireMiniClusterStatus | None = None


def _build(wire: WireMiniCluster, version: str) -> Owner:
    spec, status = wire.spec or _WireMiniClusterSpec(), wire.status or _WireMiniClusterStatus()
    # The API server fills in 1; of 0 the operator makes nothing and is silent (minicluster_controller.go).
    size = 1 if spec.size is None else max(0, spec.size)
    given = {_LOWEST: spec.min_size or 0, _HIGHEST: spec.max_size or 0}
    meta = read_meta(wire.metadata, _GROUP, _KIND, version)
    return Owner(
        meta=meta,
        desired=size,
        roles=(Role("flux", 1, size, child_names=(meta.ref.name,)),) if size else (),
        conditions=read_conditions(status.conditions),
        detail={name: str(number) for name, number in given.items() if number > 0},
    )


def _complete(owner: Owner, made: Sequence[Owner], _blueprints: Sequence[Blueprint]) -> Owner:
    """Return it with what its Job tells: what its pods ask for, and how it ended."""
    job = next((one for one in made if one.meta.ref.is_job), None)
    if job is None:
        return owner
    taken: dict[str, Any] = {name: getattr(job, name) for name in _FROM_JOB}
    return replace(owner, **taken)


_FROM_JOB = ("pod_requests", "finish", "group_name", "priority_class", "grace_seconds")


def _facts(owner: Owner) -> dict[str, str]:
    return {name: owner.detail[name] for name in (_LOWEST, _HIGHEST) if name in owner.detail}


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return with how many pods Flux itself would begin, where not all are ready."""
    lowest = unit.owner.detail.get(_LOWEST)
    if lowest is None or len(unit.ready) >= unit.wanted:
        return ()
    return (Evidence(f"spec.{_LOWEST}", lowest, unit.owner.meta.ref),)


OWNER = OwnerKind(
    resource=Resource(
        group=_GROUP,
        plural="miniclusters",
        kind=_KIND,
        versions=("v1alpha2",),
        wire=WireMiniCluster,
        model=Owner,
        build=_build,
        needed=True,
        decoder_version=2,
        fields=key_fields(WireMiniCluster),
    ),
    label=_KIND,
    notes=KindNotes(
        gang="the MiniCluster with its Job and the pods of that",
        units="its PodGroup, else its Job",
        limits="it has no suspend field. `minSize` is with how many pods Flux begins, and makes no quorum: "
        "the Job asks for all. Its operator takes no size below 1 or above `maxSize`",
        tested="its public types, its operator played, on 1.37",
    ),
    makes=(("batch", "Job"),),
    complete=_complete,
    facts=_facts,
    evidence=_evidence,
    traits=KindTraits(controller="the Flux operator"),
    no_lever=(
        "MiniClusters have no suspend field, and whether their operator leaves a suspended Job alone is "
        "not known."
    ),
)
