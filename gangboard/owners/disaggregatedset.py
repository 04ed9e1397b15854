"""DisaggregatedSets (disaggregatedset.x-k8s.io/v1): one LeaderWorkerSet for each role, such as prefill and decode.

LeaderWorkerSet 0.9 serves this kind. The controller creates `<name>-<revision>-<role>` for each role (observed on 0.9.0).
During a rollout the sets of the old revision also exist, and the controller scales them down (lws_manager.go of 0.9.0).
The number of pods comes from the LeaderWorkerSets, and from the spec for a role without one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from gangboard.decode.jobs import WirePodTemplate, size_of, template_spec
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import Int32, Wire, WireCondition, or_one, read_conditions
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.owner import Blueprint, Owner, PodRequests, Role
from gangboard.domain.pod import Pod
from gangboard.plugins.child_manifests import (
    child,
    has_section,
    items,
    name_of,
    section,
    string_map,
    template_with,
    text,
)
from gangboard.plugins.manifest_faults import dns_label_fault
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_CHILD_KIND = "leaderworkerset.x-k8s.io", "LeaderWorkerSet"
_PREFIX = "leaderworkerset.sigs.k8s.io"
_LABELS = "disaggregatedset.x-k8s.io"
_REVISION_LENGTH = 8
"""Characters of a revision in the names of its LeaderWorkerSets (revisionLength in utils.go of 0.9.0)."""


class _WireTemplate(Wire):
    size: Int32 | None = None
    leader_template: WirePodTemplate | None = None
    worker_template: KeyField[WirePodTemplate | None] = None


class _WireSpecOfRole(Wire):
    replicas: Int32 | None = None
    leader_worker_template: _WireTemplate | None = None


class _WireRole(Wire):
    name: str = ""
    spec: _WireSpecOfRole | None = None


class _WireDisaggregatedSetSpec(Wire):
    roles: list[_WireRole] | None = None


class _WireDisaggregatedSetStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireDisaggregatedSet(Wire):
    """The fields of a DisaggregatedSet that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireDisaggregatedSetSpec | None = None
    status: _WireDisaggregatedSetStatus | None = None


class DisaggregatedSet(OwnerKind):
    """A DisaggregatedSet."""

    group = "disaggregatedset.x-k8s.io"
    kind = "DisaggregatedSet"
    versions = ("v1",)
    wire = WireDisaggregatedSet
    notes = KindNotes(
        gang="the DisaggregatedSet with its LeaderWorkerSets and their pods",
        units=(
            "those of its LeaderWorkerSets, for each replica of each role; a role without a "
            "LeaderWorkerSet is a unit too"
        ),
        limits=("It has no suspend field. Its controller creates and scales its LeaderWorkerSets"),
        tested="LeaderWorkerSet 0.9 on 1.37",
    )
    makes = (_CHILD_KIND,)
    no_lever = (
        "DisaggregatedSets have no suspend field, and scaling to 0 would end all pods without a "
        "record of how many there were."
    )

    def build(self, wire: WireDisaggregatedSet, version: str) -> Owner:
        """Return the set with a role for each LeaderWorkerSet that its spec asks for."""
        faults: list[str] = []
        roles: list[Role] = []
        requests: list[PodRequests] = []
        for role in (wire.spec or _WireDisaggregatedSetSpec()).roles or ():
            spec = role.spec or _WireSpecOfRole()
            template = spec.leader_worker_template or _WireTemplate()
            replicas, size = or_one(spec.replicas), max(1, or_one(template.size))
            workers = template_spec(template.worker_template)
            leaders = template_spec(template.leader_template or template.worker_template)
            worker, malformed_worker = pod_requests(workers)
            leader, malformed_leader = pod_requests(leaders)
            faults += [
                f"in {role.name} {fault}"
                for fault in dict.fromkeys((*malformed_worker, *malformed_leader))
            ]
            roles.append(Role(role.name, replicas, size, noun="role"))
            requests += [PodRequests(replicas, leader), PodRequests(replicas * (size - 1), worker)]
        owner = Owner(
            meta=self.read_meta(wire, version),
            desired=size_of(roles),
            roles=tuple(roles),
            pod_requests=tuple(request for request in requests if request.count),
            conditions=read_conditions((wire.status or _WireDisaggregatedSetStatus()).conditions),
        )
        return raise_for_faults(owner, tuple(faults))

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the set with the replicas of its LeaderWorkerSets. A role without one stays unchanged."""
        sets = [
            child
            for child in children
            if (child.meta.ref.group, child.meta.ref.kind) == _CHILD_KIND
        ]
        if not sets:
            return owner
        names = [child.meta.ref.name for child in sets]
        unmade = [role for role in owner.roles if not _has_leader_worker_set(owner, role, names)]
        return replace(
            owner,
            desired=sum(child.desired for child in sets) + size_of(unmade),
            roles=(*(role for child in sets for role in child.roles), *unmade),
            grace_seconds=max(child.grace_seconds for child in sets),
        )

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
        """Yield a LeaderWorkerSet for each role (Create in lws_manager.go)."""
        name, roles = name_of(manifest), items(manifest, "spec", "roles")
        # The controller hashes its own encoding of the templates.
        digest = hashlib.sha256(msgspec.json.encode(roles, order="deterministic")).hexdigest()
        revision = digest[:_REVISION_LENGTH]
        for role in roles:
            yield _leader_worker_set(name, revision, role)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
        """Yield names of LeaderWorkerSets that are no DNS labels."""
        revision = "0" * _REVISION_LENGTH
        for index, role in enumerate(items(manifest, "spec", "roles")):
            yield from dns_label_fault(
                f"spec.roles[{index}].name",
                f"{name_of(manifest)}-{revision}-{text(role, 'name')}",
                "The name of its LeaderWorkerSet",
                starts_with_letter=True,
            )

    def role_of(self, pod: Pod) -> str:
        """Return the replica of a pod, which is the name of its leader pod."""
        name, index = pod.labels.get(f"{_PREFIX}/name"), pod.labels.get(f"{_PREFIX}/group-index")
        return f"{name}-{index}" if name and index else ""

    def is_numbered(self, role: Role) -> bool:
        """Return whether a role has numbered replicas. A role without a LeaderWorkerSet is one unit."""
        return role.noun == "replica"


def _has_leader_worker_set(owner: Owner, role: Role, names: Sequence[str]) -> bool:
    """Return whether a LeaderWorkerSet of any revision exists for a role."""
    start = len(owner.meta.ref.name) + 1 + _REVISION_LENGTH
    return any(name[start:] == f"-{role.name}" for name in names)


def _leader_worker_set(owner: str, revision: str, role: Manifest) -> dict[str, Any]:
    """Return the LeaderWorkerSet of a role."""
    name, spec = text(role, "name"), section(role, "spec")
    labels = {
        "app": f"{owner}-{name}",
        f"{_LABELS}/role": name,
        f"{_LABELS}/name": owner,
        f"{_LABELS}/revision": revision,
    }
    template = section(spec, "leaderWorkerTemplate")
    templates = {
        key: template_with(section(template, key), labels=labels)
        for key in ("leaderTemplate", "workerTemplate")
        if has_section(template, key)
    }
    group, kind = _CHILD_KIND
    return child(
        f"{group}/v1",
        kind,
        f"{owner}-{revision}-{name}",
        {**spec, "leaderWorkerTemplate": {**template, **templates}},
        labels={**string_map(role, "metadata", "labels"), **labels},
        annotations=string_map(role, "metadata", "annotations"),
    )
