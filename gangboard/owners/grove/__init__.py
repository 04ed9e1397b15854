"""PodCliqueSets of NVIDIA Grove (grove.io/v1alpha1), and what stands between one and its pods.

A PodCliqueSet makes for each of its replicas PodCliques, and PodCliqueScalingGroups that make more of them
(`<set>-<replica>-<clique>`, `<scaling group>-<its replica>-<clique>`: namegen.go). A PodClique makes pods.
The set is the gang: what must run together is written there; each PodClique is a unit with its own minimum,
`minAvailable`. Its PodGangs (`groups/podgang.py`) say which PodCliques are placed together.

Sizes are those of the PodCliques and scaling groups that are there, since autoscalers change these and not
the set; what is not made yet is counted by the set's own template. Nothing of it has a field to suspend it,
and its shape cannot be changed: cliques, `minAvailable`, the members of scaling groups (validation of the
webhook, podcliqueset.go).

Read in the sources of v0.1.0-alpha.12-rc1; what they write was played on real API servers and schedulers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gangboard.decode.fitting import key_fields
from gangboard.decode.jobs import DEFAULT_GRACE
from gangboard.decode.owner_meta import labels_as
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import deliver
from gangboard.decode.quantities import set_minimum
from gangboard.decode.wire import or_one, read_conditions, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.owner import Owner, Role
from gangboard.domain.pod import Pod
from gangboard.owners.grove import failures, gates
from gangboard.owners.grove.sizes import (
    Scaled,
    complete_scaling_group,
    complete_set,
    requests_of,
    scaled_cliques,
    size_of,
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


def _build_set(wire: WirePodCliqueSet, version: str) -> Owner:
    spec = wire.spec or WireSet()
    template = spec.template or WireSetTemplate()
    replicas, scaled = max(0, spec.replicas or 0), scaled_cliques(template)
    roles, faults = _cliques(template, replicas, scaled)
    status = wire.status
    owner = Owner(
        meta=read_meta(wire.metadata, GROUP, PODCLIQUESET, version),
        desired=size_of(roles),
        roles=roles,
        pod_requests=requests_of(roles),
        conditions=read_conditions(status.conditions if status is not None else None),
        priority_class=template.priority_class_name or "",
        grace_seconds=max(
            (one.spec.pod.grace_seconds for one in template.cliques or () if one.spec),
            default=DEFAULT_GRACE,
        ),
        detail={**template_detail(replicas, scaled), **last_error(status)},
    )
    return deliver(owner, faults)


def _cliques(
    template: WireSetTemplate, replicas: int, scaled: Mapping[str, Scaled]
) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each clique, its replicas being all its PodCliques by the template, and the faults of it."""
    roles, faults = dict[str, Role](), list[str]()
    for clique in template.cliques or ():
        role, malformed = _role(clique.name, clique.spec)
        times = scaled[clique.name].replicas if clique.name in scaled else 1
        roles[clique.name] = replace(role, replicas=replicas * times)
        faults += [f"in clique {clique.name} {fault}" for fault in malformed]
    return tuple(roles.values()), tuple(faults)


def _role(name: str, spec: WireCliqueSpec | None) -> tuple[Role, tuple[str, ...]]:
    """Return the pods of a clique, and what is wrong with its template."""
    spec = spec or WireCliqueSpec()
    pods = or_one(spec.replicas)
    minimum = set_minimum(spec.min_available) or pods
    requests, faults = pod_requests(spec.pod)
    group = spec.pod.group_name
    role = Role(name, 1, pods, requests, group_name=group, noun=_NOUN, quorum=min(minimum, pods))
    return role, tuple(faults)


def _build_clique(wire: WirePodClique, version: str) -> Owner:
    role, faults = _role(wire.metadata.name, wire.spec)
    labels = labels_as(wire.metadata, WireLabels)
    status = wire.status or WireClique()
    owner = Owner(
        meta=read_meta(wire.metadata, GROUP, PODCLIQUE, version),
        desired=role.pods,
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
    return deliver(owner, faults)


def _build_scaling_group(wire: WirePodCliqueScalingGroup, version: str) -> Owner:
    spec = wire.spec or WireScalingGroup()
    return Owner(
        meta=read_meta(wire.metadata, GROUP, SCALING_GROUP, version),
        conditions=read_conditions(wire.status.conditions if wire.status is not None else None),
        detail={
            "replicas": str(or_one(spec.replicas)),
            "cliques": " ".join(spec.clique_names or ()),
            **labels_as(wire.metadata, WireLabels).detail,
            **last_error(wire.status),
        },
    )


def _is_current(_owner: Owner, child: Owner) -> bool:
    """Whether it still makes pods: what is being deleted is made anew under its name, or was scaled away."""
    return child.meta.deleting_since is None


def _role_of(pod: Pod) -> str:
    """Return the PodClique that a pod belongs to."""
    return pod.labels.get(CLIQUE_LABEL, "")


def _podgang_of(pod: Pod) -> str:
    """Return the PodGang that a pod is placed with."""
    return pod.labels.get(PODGANG_LABEL, "")


def _resource(
    plural: str, kind: str, wire: type[Any], build: Callable[[Any, str], Owner], decoder: int
) -> Resource:
    return Resource(
        group=GROUP,
        plural=plural,
        kind=kind,
        versions=("v1alpha1",),
        wire=wire,
        model=Owner,
        build=build,
        needed=True,
        decoder_version=decoder,
        fields=key_fields(wire),
    )


OWNERS = (
    OwnerKind(
        resource=_resource("podcliquesets", PODCLIQUESET, WirePodCliqueSet, _build_set, 5),
        label=PODCLIQUESET,
        notes=KindNotes(
            gang="the PodCliqueSet with its scaling groups, PodCliques and their pods, and its PodGangs",
            units=(
                "the core PodGroups that its pods name, else each PodClique with `minAvailable` as quorum"
            ),
            limits=(
                "it has no suspend field. Cliques, `minAvailable` and scaling groups are changed by "
                "making it anew. Pods of a scaled PodGang wait behind a gate until the base PodGang "
                "is placed. PodCliques of one PodGang that wait for nodes are judged together"
            ),
            tested=(
                "CRDs of Grove 0.1 alpha 12, its operator played, real schedulers of 1.35, 1.36 and 1.37"
            ),
        ),
        makes=((GROUP, SCALING_GROUP), (GROUP, PODCLIQUE)),
        current=_is_current,
        complete=complete_set,
        role_of=_role_of,
        placed_with=_podgang_of,
        rules=(*failures.RULES, *gates.RULES),
        evidence=failures.evidence,
        no_lever=(
            "PodCliqueSets have no suspend field, and scaling to 0 would end all pods and their "
            "PodGangs without a record of how many there were."
        ),
    ),
    OwnerKind(
        resource=_resource(
            "podcliquescalinggroups",
            SCALING_GROUP,
            WirePodCliqueScalingGroup,
            _build_scaling_group,
            6,
        ),
        label=SCALING_GROUP,
        makes=((GROUP, PODCLIQUE),),
        stands_alone=False,
        current=_is_current,
        complete=complete_scaling_group,
    ),
    OwnerKind(
        resource=_resource("podcliques", PODCLIQUE, WirePodClique, _build_clique, 6),
        label=PODCLIQUE,
        makes=(),
        stands_alone=False,
        pod_label=CLIQUE_LABEL,
    ),
)
