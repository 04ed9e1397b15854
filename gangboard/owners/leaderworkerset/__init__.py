"""LeaderWorkerSets (leaderworkerset.x-k8s.io/v1): replicas of a leader and its workers, which run for ever.

Each replica is a group of `size` pods that only works as a whole. The leaders are pods of a StatefulSet with the name of
the set. The workers of a replica are pods of another StatefulSet, which the leader pod owns. So gangboard finds the pods
by their labels for name and group index (observed on 0.8.0 and 0.9.0). A plain StatefulSet has no such labels and is no
gang.

gangboard counts pods instead of trusting the status. 0.8.0 is `Available` while all workers are unschedulable. Scaled to
zero, 0.8.0 and 0.9.0 say "All replicas are ready" (all observed).

Workers wait for a ready leader if `startupPolicy` is LeaderReady. With exclusive placement they wait until the leader has
a node. The controller creates their StatefulSet only then (pod_controller.go of 0.9.0, observed).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from gangboard.decode.jobs import (
    WirePodTemplate,
    WireScheduling,
    WireTemplateSpec,
    read_gang_request,
    shared_text,
    template_spec,
)
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta, decode_annotations
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import (
    Int32,
    Wire,
    WireCondition,
    or_one,
    read_conditions,
)
from gangboard.domain.advice import AdvisedStep, ChangeMethod
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import LeaderState, Owner, PodRequests, Role
from gangboard.domain.pod import Pod
from gangboard.domain.text import out_of
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.copied_commands import patch_command
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit, is_formed
from gangboard.owners.leaderworkerset import creation, groups
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.plugins.rule import UnitRule

_PREFIX = "leaderworkerset.sigs.k8s.io"
_MAX_UNAVAILABLE = "maxUnavailable"
_MAX_UNAVAILABLE_PATH = f"spec.rolloutStrategy.rollingUpdateConfiguration.{_MAX_UNAVAILABLE}"
_STATEFUL_SET_REFUSED = re.compile(r"^Failed to create (leader|worker) statefulset\b")
"""Beginning of the controller's event about a refused StatefulSet. The API server's reason is only in the log."""
_NAME, _INDEX = f"{_PREFIX}/name", f"{_PREFIX}/group-index"


class _WireAnnotations(Wire):
    exclusive: str | None = msgspec.field(default=None, name=f"{_PREFIX}/exclusive-topology")


class _WireLeaderWorkerTemplate(Wire):
    size: Int32 | None = None
    leader_template: WirePodTemplate | None = None
    worker_template: KeyField[WirePodTemplate | None] = None

    @property
    def worker(self) -> WireTemplateSpec:
        """The spec of its workers."""
        return template_spec(self.worker_template)

    @property
    def leader(self) -> WireTemplateSpec:
        """The spec of its leaders, by default the one of the workers."""
        return (self.leader_template and self.leader_template.spec) or self.worker


class _WireRollingUpdate(Wire):
    max_unavailable: int | str | None = None


class _WireRollout(Wire):
    rolling_update_configuration: _WireRollingUpdate | None = None


class WireLeaderWorkerSetSpec(Wire):
    """`spec` of a LeaderWorkerSet."""

    replicas: Int32 | None = None
    leader_worker_template: _WireLeaderWorkerTemplate | None = None
    startup_policy: str | None = None
    rollout_strategy: _WireRollout | None = None
    scheduling: WireScheduling | None = None


class _WireLeaderWorkerSetStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireLeaderWorkerSet(Wire):
    """The fields of a LeaderWorkerSet that gangboard reads."""

    metadata: WireOwnerMeta
    spec: WireLeaderWorkerSetSpec | None = None
    status: _WireLeaderWorkerSetStatus | None = None


def _find_refused(unit: Unit) -> Finding | None:
    """Return a finding while the API server refuses a StatefulSet of the set.

    From 1.35 on the API server refuses a StatefulSet with `maxUnavailable: 0`. LeaderWorkerSet 0.8.0 copies that value
    from its own spec. 0.9.0 creates a StatefulSet that the API server accepts (both observed on 1.37.0).
    """
    if is_formed(unit) or not unit.missing:
        return None
    refusal = newest_creation_refusal(unit)
    refused_set = _STATEFUL_SET_REFUSED.search(refusal.event.note) if refusal is not None else None
    if refusal is None or refused_set is None:
        return None
    owner = next(
        (maker for maker in unit.gang.makers if _MAX_UNAVAILABLE in maker.detail), unit.owner
    )
    none_away = owner.detail.get(_MAX_UNAVAILABLE, "") in ("0", "0%")
    live = len(unit.current)
    exist = f"{out_of(live, unit.wanted, 'pod')} {'exists' if live == 1 else 'exist'}."
    text = f"{exist} The StatefulSet of its {refused_set[1]}s is refused"
    log = "Read the log of the LeaderWorkerSet controller: it has the API server's words."
    advice: tuple[AdvisedStep | str, ...] = (log,)
    evidence = [Evidence("refused", refusal.event.note, refusal.event.regarding)]
    if none_away and refused_set[1] == "leader":
        text = f"{text}: maxUnavailable of its rolloutStrategy is 0"
        ref = owner.meta.ref
        patch = patch_command(unit.gang.traits_of(ref), ref, {_MAX_UNAVAILABLE: 1})
        step = AdvisedStep(
            f"Set maxUnavailable of its rolloutStrategy to 1 ({ChangeMethod.IN_PLACE}).",
            # A set that another controller made follows that object.
            command=patch if owner.meta.controller is None else (),
        )
        advice = (step, log)
        evidence.append(
            Evidence(_MAX_UNAVAILABLE_PATH, owner.detail[_MAX_UNAVAILABLE], owner.meta.ref)
        )
    return unit_finding(
        _REFUSED,
        unit,
        f"{text}.",
        advice=advice,
        evidence=tuple(evidence),
        since=refusal.event.first_seen,
    )


_REFUSED = UnitRule(
    "pod-creation-refused",
    Stage.FORMATION,
    "Pods refused",
    59,
    _find_refused,
    health=Health.BLOCKED,
)


class LeaderWorkerSet(OwnerKind):
    """A LeaderWorkerSet."""

    group = "leaderworkerset.x-k8s.io"
    kind = "LeaderWorkerSet"
    versions = ("v1",)
    wire = WireLeaderWorkerSet
    notes = KindNotes(
        gang="the LeaderWorkerSet with the pods that its labels name",
        units="its PodGroups; without any, each replica (a leader and its workers)",
        queues="Kueue, for each replica",
        limits=(
            "It has no suspend field. gangboard counts pods and ignores the condition "
            "`Available`, which is true while all workers wait. Workers that wait for their "
            "leader (`LeaderReady`, exclusive placement) do not count as missing. The "
            "planned condition `WorkloadSchedulingReady` says why a group is not created"
        ),
        tested="LeaderWorkerSet 0.9 on 1.37",
    )
    traits = KindTraits(number_paths={_MAX_UNAVAILABLE: _MAX_UNAVAILABLE_PATH})
    makes = ()
    pod_label = _NAME
    no_lever = (
        "LeaderWorkerSets have no suspend field, and scaling to 0 would end all pods without a "
        "record of how many there were."
    )
    rules = (_REFUSED, *groups.RULES)

    def build(self, wire: WireLeaderWorkerSet, version: str) -> Owner:
        """Return the set with one role of numbered replicas."""
        spec = wire.spec or WireLeaderWorkerSetSpec()
        template = spec.leader_worker_template or _WireLeaderWorkerTemplate()
        replicas, size = or_one(spec.replicas), max(1, or_one(template.size))
        leader, faults_of_leader = pod_requests(template.leader)
        worker, faults_of_worker = pod_requests(template.worker)
        pods = (template.leader, template.worker)
        owner = Owner(
            meta=self.read_meta(wire, version),
            desired=replicas * size,
            paused_by=self.read_pause(wire, replicas),
            roles=(_role(wire, replicas, size),),
            pod_requests=(
                PodRequests(replicas, leader),
                *([PodRequests(replicas * (size - 1), worker)] if size > 1 else []),
            ),
            conditions=read_conditions((wire.status or _WireLeaderWorkerSetStatus()).conditions),
            queue=self.read_queue(wire.metadata),
            group_name=shared_text(pod.group_name for pod in pods),
            priority_class=shared_text(pod.priority_class_name or "" for pod in pods),
            grace_seconds=max(pod.grace_seconds for pod in pods),
            detail=_detail(spec),
            # One group per replica, by default of all its pods (KEP-666).
            gang_request=read_gang_request(spec.scheduling, quorum=size, default="gang"),
        )
        return raise_for_faults(owner, tuple(dict.fromkeys((*faults_of_leader, *faults_of_worker))))

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return the pods of its replicas, with their groups."""
        return creation.children(manifest, context)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what its webhook refuses."""
        return creation.faults(manifest)

    def role_of(self, pod: Pod) -> str:
        """Return the replica of a pod, which is the name of its leader pod."""
        name, index = pod.labels.get(_NAME), pod.labels.get(_INDEX)
        return f"{name}-{index}" if name and index else ""

    def is_numbered(self, role: Role) -> bool:
        """Return True, because the only role has numbered replicas."""
        return True


def _detail(spec: WireLeaderWorkerSetSpec) -> dict[str, str]:
    rollout = spec.rollout_strategy or _WireRollout()
    rolling = rollout.rolling_update_configuration or _WireRollingUpdate()
    if rolling.max_unavailable is None:
        return {}
    return {_MAX_UNAVAILABLE: str(rolling.max_unavailable)}


def _role(wire: WireLeaderWorkerSet, replicas: int, size: int) -> Role:
    """Return the role of its replicas. Each replica has the name of its leader pod, `<name>-<index>`."""
    return Role(
        wire.metadata.name,
        replicas,
        pods=size,
        noun="replica",
        followers_wait=_awaited_leader_state(wire),
    )


def _awaited_leader_state(wire: WireLeaderWorkerSet) -> LeaderState | None:
    """Return the state of the leader that the creation of its workers waits for."""
    if wire.spec is not None and wire.spec.startup_policy == "LeaderReady":
        return LeaderState.READY
    annotations = decode_annotations(wire.metadata, _WireAnnotations)
    return LeaderState.PLACED if annotations.exclusive is not None else None
