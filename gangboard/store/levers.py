"""The levers and policies that each cluster allows: from its row, its policies, and lever proofs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from shlex import quote

import msgspec
from django.conf import settings
from django.db.models import Q

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.holds import HOLD
from gangboard.domain.action import ClusterLevers
from gangboard.domain.api_resource import WatchState
from gangboard.domain.hold import (
    EXCLUSION_LEVER,
    HOLD_CORDON_LEVER,
    HOLD_LEVER,
    HOLDS,
    AdmissionPolicy,
)
from gangboard.domain.hold_manifest import POLICY_VERSIONS
from gangboard.levers.hold.installation import installation
from gangboard.plugins import registry
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.store.actions import READ_ONLY
from gangboard.store.models import (
    Cluster,
    HoldCheck,
    LeverRecord,
    ResourceState,
    Switch,
    WatchedObject,
)
from gangboard.store.objects import unpack

_STATES = (HOLD.key, POLICY.key, BINDING.key)


@dataclass(slots=True)
class _ClusterRows:
    """The stored rows about one cluster."""

    states: dict[str, str] = field(default_factory=dict)
    objects: dict[str, list[AdmissionPolicy]] = field(default_factory=lambda: defaultdict(list))
    records: dict[tuple[str, str], LeverRecord] = field(default_factory=dict)
    """By lever and build."""


def read_levers(cluster: Cluster, *, forced: bool = False) -> ClusterLevers:
    """Return the levers of one cluster (4 queries). `forced` allows an unproved lever."""
    return read_all_levers([cluster], forced=forced)[cluster.pk]


def read_all_levers(
    clusters: Iterable[Cluster], *, forced: bool = False
) -> dict[int, ClusterLevers]:
    """Return the levers of each cluster by its id (4 queries, for any number of clusters)."""
    cluster_list = list(clusters)
    rows_by_cluster = _read_rows([cluster.pk for cluster in cluster_list])
    everywhere = is_read_only_everywhere()
    return {
        cluster.pk: _levers(cluster, rows_by_cluster[cluster.pk], everywhere, forced)
        for cluster in cluster_list
    }


def is_read_only_everywhere() -> bool:
    """Return whether the read-only switch of the whole installation is on."""
    return Switch.objects.filter(name=READ_ONLY, is_on=True).exists()


def _read_rows(ids: list[int]) -> Mapping[int, _ClusterRows]:
    rows_by_cluster: dict[int, _ClusterRows] = defaultdict(_ClusterRows)
    states = ResourceState.objects.filter(cluster_id__in=ids, resource__in=_STATES)
    for cluster_id, resource, state in states.values_list("cluster_id", "resource", "state"):
        rows_by_cluster[cluster_id].states[resource] = state
    objects = WatchedObject.objects.filter(
        cluster_id__in=ids, resource__in=(POLICY.key, BINDING.key)
    )
    for cluster_id, resource, data in objects.values_list("cluster_id", "resource", "data"):
        rows_by_cluster[cluster_id].objects[resource].append(unpack(bytes(data), AdmissionPolicy))
    for record in LeverRecord.objects.filter(cluster_id__in=ids):
        rows_by_cluster[record.cluster_id].records[record.lever, record.build] = record
    return rows_by_cluster


def _levers(cluster: Cluster, rows: _ClusterRows, everywhere: bool, forced: bool) -> ClusterLevers:
    state, sentence = installation(
        rows.objects[POLICY.key],
        rows.objects[BINDING.key],
        rows.states.get(HOLD.key, ""),
        _worse_state(rows.states.get(POLICY.key, ""), rows.states.get(BINDING.key, "")),
    )
    proved, refuted = _proof_times(rows.records.get((HOLD_LEVER, "")))
    excluded, not_excluded = _proof_times(rows.records.get((EXCLUSION_LEVER, "")))
    replaced, not_replaced = _proof_times(rows.records.get((HOLD_CORDON_LEVER, "")))
    read_only, command = _read_only(cluster, everywhere)
    return ClusterLevers(
        cluster=cluster.name,
        context=cluster.context,
        has_actor=cluster.actor_credentials is not None,
        read_only=read_only,
        read_only_command=command,
        parallelism=cluster.parallelism_lever,
        hold=state,
        hold_sentence=sentence,
        hold_proved_at=proved,
        hold_refuted_at=refuted,
        native_honoured=_is_honoured(cluster, rows),
        build=cluster.controller_build,
        topology_keys=settings.TOPOLOGY_LABELS,
        exclusion_proved_at=excluded,
        exclusion_refuted_at=not_excluded,
        cordon=settings.CORDON,
        cordon_proved_at=replaced,
        cordon_refuted_at=not_replaced,
        forced=forced,
    )


def _is_honoured(cluster: Cluster, rows: _ClusterRows) -> bool:
    """Return whether this exact build was seen to honour the lever. An unknown build never was."""
    if not cluster.controller_build:
        return False
    keys = (lever.key for lever in registry.levers() if lever.depends_on_build)
    times = [_proof_times(rows.records.get((key, cluster.controller_build))) for key in keys]
    return any(proved is not None and refuted is None for proved, refuted in times)


def _proof_times(record: LeverRecord | None) -> tuple[datetime | None, datetime | None]:
    """Return when a lever was last proved, and when it was refuted if that was later."""
    if record is None:
        return None, None
    proved, refuted = record.proved_at, record.refuted_at
    if refuted is not None and proved is not None and refuted <= proved:
        refuted = None
    return proved, refuted


def _read_only(cluster: Cluster, everywhere: bool) -> tuple[str, str]:
    """Return a sentence about the active read-only switch and the command that switches it off; else two
    empty texts."""
    if everywhere:
        return "gangboard is switched to read-only.", "manage.py set_read_only off"
    if cluster.read_only:
        command = f"manage.py set_read_only {quote(cluster.name)} off"
        return f"Cluster {cluster.name} is switched to read-only.", command
    return "", ""


def _worse_state(first: str, second: str) -> str:
    """Return the worse of two watch states, because policies and bindings are compared only if both are `ok`."""
    if WatchState.NOT_SERVED in (first, second):
        return WatchState.NOT_SERVED
    return second if first == WatchState.OK else first


@dataclass(frozen=True, slots=True)
class Served:
    """The APIs that a cluster was seen to serve, as the manifests need them."""

    policy_version: str
    """Version of mutating policies; empty if they are not served, v1 if unknown."""
    not_served: frozenset[str]
    """Keys of resources that the cluster does not serve."""
    serves_holds: bool = False
    """True if a poll has listed Holds."""


def read_served(cluster: Cluster) -> Served:
    """Return the APIs that a cluster serves (1 query)."""
    rows = {
        resource: (state, version)
        for resource, state, version in ResourceState.objects.filter(cluster=cluster).values_list(
            "resource", "state", "version"
        )
    }
    state, version = rows.get(POLICY.key, ("", ""))
    known = version if version in POLICY_VERSIONS else POLICY_VERSIONS[0]
    return Served(
        policy_version="" if state == WatchState.NOT_SERVED else known,
        not_served=frozenset(
            key for key, (other_state, _) in rows.items() if other_state == WatchState.NOT_SERVED
        ),
        serves_holds=rows.get(HOLD.key, ("", ""))[0] == WatchState.OK,
    )


def read_wanted(cluster: Cluster, namespaces: tuple[str, ...] = ()) -> PermissionOptions:
    """Return the permissions to install in a cluster, with the levers that are switched on there (1 query)."""
    served = read_served(cluster)
    return PermissionOptions(
        policy_version=served.policy_version,
        not_served=served.not_served,
        parallelism=cluster.parallelism_lever,
        namespaces=namespaces,
        topology_keys=settings.TOPOLOGY_LABELS,
        binds_hold=served.serves_holds,
        cordon=settings.CORDON,
    )


class _StoredOwner(msgspec.Struct):
    """The fields of a stored owner that `read_independent_owners` needs."""

    independent_claim: str = ""


def read_independent_owners(cluster_id: int, visible: Q) -> list[tuple[str, str]]:
    """Return (namespace, name) of owners that request suspension of their Jobs one by one.

    `visible` is a condition on rows with a namespace. It reads every stored object of these kinds (1 query; 5
    ms for 1,000 JobSets), so it is for the page of one cluster, not for lists.
    """
    kinds = registry.kinds_depending_on_build()
    rows = WatchedObject.objects.filter(
        visible, cluster_id=cluster_id, resource__in=[kind.resource.key for kind in kinds]
    ).order_by("namespace", "name")
    return [
        (namespace, name)
        for namespace, name, data in rows.values_list("namespace", "name", "data").iterator(2000)
        if unpack(bytes(data), _StoredOwner).independent_claim
    ]


def save_lever_proof(
    cluster_id: int, lever: str, *, held: bool, at: datetime, build: str = "", sentence: str = ""
) -> None:
    """Record that a lever works on a cluster or does not, replacing the previous proof (1 statement)."""
    column = "proved_at" if held else "refuted_at"
    row = LeverRecord(cluster_id=cluster_id, lever=lever, build=build[:64], sentence=sentence)
    setattr(row, column, at)
    LeverRecord.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=("cluster", "lever", "build"),
        update_fields=(column, "sentence"),
    )


def save_hold_check(
    cluster_id: int, hold_uid: str, *, in_force: bool | None, at: datetime, sentence: str
) -> None:
    """Record the check of one Hold, replacing the previous one (1 statement)."""
    row = HoldCheck(
        cluster_id=cluster_id,
        hold_uid=hold_uid,
        in_force=in_force,
        checked_at=at,
        sentence=sentence,
    )
    HoldCheck.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=("cluster", "hold_uid"),
        update_fields=("in_force", "checked_at", "sentence"),
    )


def mark_unproved(cluster_id: int, hold_uids: Collection[str], sentence: str) -> bool:
    """Record that Holds which were proved earlier have no proof now. Return True if that is new.

    The time of the last check stays, because this is not a check.
    """
    rows = HoldCheck.objects.filter(cluster_id=cluster_id, hold_uid__in=hold_uids)
    known = rows.exclude(in_force=None, sentence=sentence)
    return bool(known.update(in_force=None, sentence=sentence))


def delete_stale_checks(cluster_id: int) -> None:
    """Delete the checks of deleted Holds."""
    existing = WatchedObject.objects.filter(cluster_id=cluster_id, resource=HOLDS).values("uid")
    HoldCheck.objects.filter(cluster_id=cluster_id).exclude(hold_uid__in=existing).delete()
