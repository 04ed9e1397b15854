"""PodCliqueSets of NVIDIA Grove (grove.io/v1alpha1), with their PodCliques and PodCliqueScalingGroups.

A PodCliqueSet creates PodCliques for each of its replicas, and PodCliqueScalingGroups that create more of them
(`<set>-<replica>-<clique>` and `<scaling group>-<its replica>-<clique>`, namegen.go). A PodClique creates pods.
The set is the gang, because its spec says which pods must run together. Each PodClique is a unit with its own minimum,
`minAvailable`. The PodGangs (`groups/podgang.py`) say which PodCliques are placed together.

Sizes come from the existing PodCliques and scaling groups, because autoscalers change these and not the set. Missing
ones are counted by the template of the set. None of these kinds has a suspend field. Cliques, `minAvailable` and the
members of scaling groups cannot be changed (validation of the webhook, podcliqueset.go).

Source: code of v0.1.0-alpha.12-rc1. Tests replay its writes on real API servers and schedulers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gangboard.decode.jobs import DEFAULT_GRACE, requests_of, size_of
from gangboard.decode.owner_meta import decode_labels
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import read_minimum
from gangboard.decode.wire import or_one, read_conditions
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.owner import Blueprint, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.owners.grove import creation, failures, scheduling_gates
from gangboard.owners.grove.expected_cliques import (
    ScaledClique,
    complete_scaling_group,
    complete_set,
    scaled_cliques,
    template_detail,
)
from gangboard.owners.grove.wire import (
    CLIQUE_LABEL,
    GROUP,
    PODCLIQUE,
    PODCLIQUESET,
    PODGANG_LABEL,
    SCALING_GROUP,
    WireClique,
    WireCliqueSpec,
    WireLabels,
    WirePodClique,
    WirePodCliqueScalingGroup,
    WirePodCliqueSet,
    WireScalingGroup,
    WireSet,
    WireSetTemplate,
    last_error,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_NOUN = "PodClique"


class GroveKind(OwnerKind):
    """Base of the kinds of Grove."""

    group = GROUP
    versions = ("v1alpha1",)

    def is_current(self, owner: Owner, child: Owner) -> bool:
        """Return whether the child is not being deleted.

        Grove creates a deleted child again under the same name, unless it was scaled down.
        """
        return child.meta.deleting_since is None


class PodCliqueSet(GroveKind):
    """A PodCliqueSet, which is the gang."""

    kind = PODCLIQUESET
    wire = WirePodCliqueSet
    notes = KindNotes(
        gang="the PodCliqueSet with its scaling groups, PodCliques, PodGangs and pods",
        units=(
            "the core PodGroups that its pods name; without any, each PodClique with "
            "`minAvailable` as its quorum"
        ),
        limits=(
            "It has no suspend field. Changes of cliques, `minAvailable` and scaling groups "
            "need a new object. Pods of a scaled PodGang wait behind a gate until the base "
            "PodGang is placed. gangboard judges PodCliques of one PodGang together while "
            "they wait for nodes"
        ),
        tested=(
            "CRDs of Grove 0.1 alpha 12 and real schedulers of 1.35, 1.36 and 1.37; tests "
            "play its operator"
        ),
    )
    makes = ((GROUP, SCALING_GROUP), (GROUP, PODCLIQUE))
    rules = (*failures.RULES, *scheduling_gates.RULES)
    no_lever = (
        "PodCliqueSets have no suspend field, and scaling to 0 would end all pods and their "
        "PodGangs without a record of how many there were."
    )

    def build(self, wire: WirePodCliqueSet, version: str) -> Owner:
        """Return the set with a role for each clique of its template."""
        spec = wire.spec or WireSet()
        template = spec.template or WireSetTemplate()
        replicas, scaled = max(0, spec.replicas or 0), scaled_cliques(template)
        roles, faults = _cliques(template, replicas, scaled)
        status = wire.status
        owner = Owner(
            meta=self.read_meta(wire, version),
            desired=size_of(roles),
            paused_by=self.read_pause(wire, replicas),
            roles=roles,
            pod_requests=requests_of(roles),
            conditions=read_conditions(status.conditions if status is not None else None),
            priority_class=template.priority_class_name or "",
            grace_seconds=max(
                (clique.spec.pod.grace_seconds for clique in template.cliques or () if clique.spec),
                default=DEFAULT_GRACE,
            ),
            detail={**template_detail(replicas, scaled), **last_error(status)},
        )
        return raise_for_faults(owner, faults)

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the set with its existing PodCliques and the missing ones of its template."""
        return complete_set(owner, children)

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its PodGangs and all PodCliques, also those of its scaling groups."""
        return creation.set_children(manifest)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what the webhook of Grove refuses."""
        return creation.faults(manifest)

    def role_of(self, pod: Pod) -> str:
        """Return the PodClique of a pod."""
        return pod.labels.get(CLIQUE_LABEL, "")

    def placed_with(self, pod: Pod) -> str:
        """Return the PodGang of a pod."""
        return pod.labels.get(PODGANG_LABEL, "")

    def evidence(self, unit: Unit) -> tuple[Evidence, ...]:
        """Return the minima of a unit if they differ, and the last error of its objects."""
        return failures.evidence(unit)


class PodCliqueScalingGroup(GroveKind):
    """A PodCliqueScalingGroup, which creates PodCliques for a set."""

    kind = SCALING_GROUP
    wire = WirePodCliqueScalingGroup
    makes = ((GROUP, PODCLIQUE),)
    stands_alone = False

    def build(self, wire: WirePodCliqueScalingGroup, version: str) -> Owner:
        """Return the scaling group with its replicas and the names of its cliques."""
        spec = wire.spec or WireScalingGroup()
        return Owner(
            meta=self.read_meta(wire, version),
            conditions=read_conditions(wire.status.conditions if wire.status is not None else None),
            detail={
                "replicas": str(or_one(spec.replicas)),
                "cliques": " ".join(spec.clique_names or ()),
                **decode_labels(wire.metadata, WireLabels).detail,
                **last_error(wire.status),
            },
        )

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the scaling group with its PodCliques."""
        return complete_scaling_group(owner, children)


class PodClique(GroveKind):
    """A PodClique, which creates pods."""

    kind = PODCLIQUE
    wire = WirePodClique
    makes = ()
    stands_alone = False
    pod_label = CLIQUE_LABEL

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its pods."""
        return creation.clique_pods(manifest)

    def build(self, wire: WirePodClique, version: str) -> Owner:
        """Return the PodClique with its pods as one role."""
        role, faults = _role(wire.metadata.name, wire.spec)
        labels = decode_labels(wire.metadata, WireLabels)
        status = wire.status or WireClique()
        owner = Owner(
            meta=self.read_meta(wire, version),
            desired=role.pods,
            paused_by=self.read_pause(wire, role.pods),
            roles=(role,),
            pod_requests=requests_of((role,)),
            conditions=read_conditions(status.conditions),
            grace_seconds=(wire.spec or WireCliqueSpec()).pod.grace_seconds,
            detail={
                "scheduled": str(status.scheduled_replicas or 0),
                "minAvailable": str(role.quorum),
                "podgang": labels.podgang or "",
                **labels.detail,
                **last_error(status),
            },
        )
        return raise_for_faults(owner, faults)


def _cliques(
    template: WireSetTemplate, replicas: int, scaled: Mapping[str, ScaledClique]
) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each clique, and the faults of the template.

    The replicas of a role are all PodCliques that the template asks for.
    """
    roles, faults = dict[str, Role](), list[str]()
    for clique in template.cliques or ():
        role, malformed = _role(clique.name, clique.spec)
        scaled_replicas = scaled[clique.name].replicas if clique.name in scaled else 1
        roles[clique.name] = replace(role, replicas=replicas * scaled_replicas)
        faults += [f"in clique {clique.name} {fault}" for fault in malformed]
    return tuple(roles.values()), tuple(faults)


def _role(name: str, spec: WireCliqueSpec | None) -> tuple[Role, tuple[str, ...]]:
    """Return the pods of a clique, and the faults of its template."""
    spec = spec or WireCliqueSpec()
    pods = or_one(spec.replicas)
    minimum = read_minimum(spec.min_available) or pods
    requests, faults = pod_requests(spec.pod)
    group = spec.pod.group_name
    role = Role(name, 1, pods, requests, group_name=group, noun=_NOUN, quorum=min(minimum, pods))
    return role, tuple(faults)
