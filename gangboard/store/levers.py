"""What each cluster allows, apart from the objects in it: from its row, its policies, and proofs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from shlex import quote

import msgspec
from django.db.models import Q

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.holds import HOLD
from gangboard.domain.action import ClusterLevers
from gangboard.domain.api_resource import WatchState
from gangboard.domain.hold import HOLD_LEVER, HOLDS, AdmissionPolicy
from gangboard.domain.hold_manifest import POLICY_VERSIONS
from gangboard.levers.hold.installation import installation
from gangboard.plugins import registry
from gangboard.policy.lever_permissions import Wanted
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
class _Found:
    """What the tables say about one cluster."""

    states: dict[str, str] = field(default_factory=dict)
    objects: dict[str, list[AdmissionPolicy]] = field(default_factory=lambda: defaultdict(list))
    records: dict[tuple[str, str], LeverRecord] = field(default_factory=dict)
    """By lever and build."""


def read_levers(cluster: Cluster, *, forced: bool = False) -> ClusterLevers:
    """Return what one cluster allows (4 queries). `forced`: an unproved lever is to be tried."""
    return read_all_levers([cluster], forced=forced)[cluster.pk]


def read_all_levers(
    clusters: Iterable[Cluster], *, forced: bool = False
) -> dict[int, ClusterLevers]:
    """Return what each of the clusters allows, by its id (4 queries, however many they are)."""
    wanted = list(clusters)
    found = _find([cluster.pk for cluster in wanted])
    everywhere = read_only_everywhere()
    return {
        cluster.pk: _levers(cluster, found[cluster.pk], everywhere, forced) for cluster in wanted
    }


def read_only_everywhere() -> bool:
    """Whether the switch of the whole installation is on."""
    return Switch.objects.filter(name=READ_ONLY, is_on=True).exists()


def _find(ids: list[int]) -> Mapping[int, _Found]:
    found: dict[int, _Found] = defaultdict(_Found)
    states = ResourceState.objects.filter(cluster_id__in=ids, resource__in=_STATES)
    for cluster_id, resource, state in states.values_list("cluster_id", "resource", "state"):
        found[cluster_id].states[resource] = state
    objects = WatchedObject.objects.filter(
        cluster_id__in=ids, resource__in=(POLICY.key, BINDING.key)
    )
    for cluster_id, resource, data in objects.values_list("cluster_id", "resource", "data"):
        found[cluster_id].objects[resource].append(unpack(bytes(data), AdmissionPolicy))
    for record in LeverRecord.objects.filter(cluster_id__in=ids):
        found[record.cluster_id].records[record.lever, record.build] = record
    return found


def _levers(cluster: Cluster, found: _Found, everywhere: bool, forced: bool) -> ClusterLevers:
    state, sentence = installation(
        found.objects[POLICY.key],
        found.objects[BINDING.key],
        found.states.get(HOLD.key, ""),
        _worse(found.states.get(POLICY.key, ""), found.states.get(BINDING.key, "")),
    )
    proved, refuted = _times(found.records.get((HOLD_LEVER, "")))
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
        native_honoured=_is_honoured(cluster, found),
        build=cluster.controller_build,
        forced=forced,
    )


def _is_honoured(cluster: Cluster, found: _Found) -> bool:
    """Whether this very build was seen to honour; a build that nobody can name never was."""
    if not cluster.controller_build:
        return False
    told = (lever.key for lever in registry.levers() if lever.told_by_build)
    times = [_times(found.records.get((key, cluster.controller_build))) for key in told]
    return any(proved is not None and refuted is None for proved, refuted in times)


def _times(record: LeverRecord | None) -> tuple[datetime | None, datetime | None]:
    """Return when a lever was proved last, and when refuted if that was later."""
    if record is None:
        return None, None
    proved, refuted = record.proved_at, record.refuted_at
    if refuted is not None and proved is not None and refuted <= proved:
        refuted = None
    return proved, refuted


def _read_only(cluster: Cluster, everywhere: bool) -> tuple[str, str]:
    """Return the switch that is on, in a sentence, and the command that switches it off; empty if none is on."""
    if everywhere:
        return "gangboard is switched to read-only.", "manage.py set_read_only off"
    if cluster.read_only:
        command = f"manage.py set_read_only {quote(cluster.name)} off"
        return f"Cluster {cluster.name} is switched to read-only.", command
    return "", ""


def _worse(first: str, second: str) -> str:
    """Return the state of two that says less: both must be `ok` for anything to be compared."""
    if WatchState.NOT_SERVED in (first, second):
        return WatchState.NOT_SERVED
    return second if first == WatchState.OK else first


@dataclass(frozen=True, slots=True)
class Served:
    """What a cluster was seen to serve, for what is installed there."""

    policy_version: str
    """Version of mutating policies; empty where they are not served, v1 while that is not known."""
    not_served: frozenset[str]
    """Keys of resources that it does not serve."""
    serves_holds: bool = False
    """A poll has listed Holds."""


def read_served(cluster: Cluster) -> Served:
    """Return what a cluster serves (1 query)."""
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
            key for key, (said, _) in rows.items() if said == WatchState.NOT_SERVED
        ),
        serves_holds=rows.get(HOLD.key, ("", ""))[0] == WatchState.OK,
    )


def read_wanted(cluster: Cluster, namespaces: tuple[str, ...] = ()) -> Wanted:
    """Return what a cluster is to allow, with the levers that are switched on there (1 query)."""
    served = read_served(cluster)
    return Wanted(
        policy_version=served.policy_version,
        not_served=served.not_served,
        parallelism=cluster.parallelism_lever,
        namespaces=namespaces,
        binds_hold=served.serves_holds,
    )


class _StoredOwner(msgspec.Struct):
    """As much of a stored owner as is read here."""

    independent_claim: str = ""


def read_independent_owners(cluster_id: int, visible: Q) -> list[tuple[str, str]]:
    """Return (namespace, name) of owners that ask that their Jobs be suspended one by one.

    `visible` is a condition on rows with a namespace. Reads every stored object of such a kind (1
    query; 5 ms for 1,000 JobSets): for the page of one cluster, not for lists.
    """
    kinds = registry.kinds_told_by_build()
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
    """Record a proof that a lever holds on a cluster, or that it does not, in place of the one before (1 statement)."""
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
    """Record the check of one Hold in place of the one before (1 statement)."""
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

    The time of their last check stays, because this is no check.
    """
    rows = HoldCheck.objects.filter(cluster_id=cluster_id, hold_uid__in=hold_uids)
    known = rows.exclude(in_force=None, sentence=sentence)
    return bool(known.update(in_force=None, sentence=sentence))


def delete_stale_checks(cluster_id: int) -> None:
    """Delete the proofs of Holds that are gone."""
    existing = WatchedObject.objects.filter(cluster_id=cluster_id, resource=HOLDS).values("uid")
    HoldCheck.objects.filter(cluster_id=cluster_id).exclude(hold_uid__in=existing).delete()
