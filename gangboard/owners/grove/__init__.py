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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gangboard.decode.jobs import DEFAULT_GRACE
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import deliver
from gangboard.decode.wire import or_one, read_conditions, read_meta
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.owner import Owner, PodRequests, Role
from gangboard.domain.pod import Pod
from gangboard.domain.registry import KindNotes, OwnerKind, Resource
from gangboard.owners.grove import failures, gates
from gangboard.owners.grove.wire import (
    CLIQUE_LABEL,
    GROUP,
    PODCLIQUE,
    PODCLIQUESET,
    SCALING_GROUP,
    WireClique,
    WireCliqueSpec,
    WirePodClique,
    WirePodCliqueScalingGroup,
    WirePodCliqueSet,
    WireScalingGroup,
    WireSet,
    WireSetTemplate,
    last_error,
)

_FOLLOWED = 10_000
"""PodCliques that are looked for by name; what more there should be is counted when it is there."""
_NOUN = "PodClique"


def _build_set(wire: WirePodCliqueSet, version: str) -> Owner:
    spec = wire.spec or WireSet()
    template = spec.template or WireSetTemplate()
    roles, faults = _expected_roles(wire.metadata.name, spec, template)
    status = wire.status
    owner = Owner(
        meta=read_meta(wire.metadata, GROUP, PODCLIQUESET, version),
        desired=_size(roles),
        roles=roles,
        pod_requests=_requests(roles),
        conditions=read_conditions(status.conditions if status is not None else None),
        priority_class=template.priority_class_name or "",
        grace_seconds=max(
            (one.spec.pod.grace_seconds for one in template.cliques or () if one.spec),
            default=DEFAULT_GRACE,
        ),
        detail=last_error(status),
    )
    return deliver(owner, faults)


def _expected_roles(
    name: str, spec: WireSet, template: WireSetTemplate
) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each PodClique that there should be by the template, and what is wrong with it."""
    cliques = {clique.name: clique for clique in template.cliques or ()}
    scaled = {
        clique: group for group in template.groups or () for clique in group.clique_names or ()
    }
    kinds, faults = dict[str, Role](), list[str]()
    for clique in cliques.values():
        kinds[clique.name], malformed = _role(clique.name, clique.spec)
        faults += [f"in clique {clique.name} {fault}" for fault in malformed]
    found: list[Role] = []
    for prefix in (f"{name}-{index}" for index in range(max(0, spec.replicas or 0))):
        found += [
            replace(kind, name=whole)
            for clique, kind in kinds.items()
            for whole in _names(prefix, clique, scaled.get(clique))
        ]
        if len(found) >= _FOLLOWED:
            break
    return tuple(found[:_FOLLOWED]), tuple(faults)


def _names(prefix: str, clique: str, group: WireScalingGroup | None) -> Iterator[str]:
    """Yield the names of the PodCliques of one clique in one replica of the set."""
    if group is None:
        yield f"{prefix}-{clique}"
        return
    for index in range(min(or_one(group.replicas), _FOLLOWED)):
        yield f"{prefix}-{group.name}-{index}-{clique}"


def _role(name: str, spec: WireCliqueSpec | None) -> tuple[Role, tuple[str, ...]]:
    """Return the pods of a clique, and what is wrong with its template."""
    spec = spec or WireCliqueSpec()
    pods = or_one(spec.replicas)
    minimum = pods if spec.min_available is None else max(0, spec.min_available)
    requests, faults = pod_requests(spec.pod)
    group = spec.pod.group_name
    role = Role(name, 1, pods, requests, group_name=group, noun=_NOUN, quorum=min(minimum, pods))
    return role, tuple(faults)


def _build_clique(wire: WirePodClique, version: str) -> Owner:
    role, faults = _role(wire.metadata.name, wire.spec)
    labels = wire.metadata.labels
    status = wire.status or WireClique()
    owner = Owner(
        meta=read_meta(wire.metadata, GROUP, PODCLIQUE, version),
        desired=role.pods,
        roles=(role,),
        pod_requests=_requests((role,)),
        conditions=read_conditions(status.conditions),
        grace_seconds=(wire.spec or WireCliqueSpec()).pod.grace_seconds,
        detail={
            "scheduled": str(status.scheduled_replicas or 0),
            "minAvailable": str(role.quorum),
            "podgang": (labels.podgang or "") if labels is not None else "",
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
            **last_error(wire.status),
        },
    )


def _complete_scaling_group(
    owner: Owner, made: Sequence[Owner], _blueprints: Sequence[Blueprint]
) -> Owner:
    """Return it with its PodCliques: those that are there, and those of which a like one is there."""
    roles = {role.name: role for one in made for role in one.roles}
    alike = {_clique_of(owner, name): role for name, role in roles.items()}
    for index in range(min(int(owner.detail["replicas"]), _FOLLOWED)):
        for clique in owner.detail["cliques"].split():
            name = f"{owner.meta.ref.name}-{index}-{clique}"
            if name not in roles and clique in alike:
                roles[name] = replace(alike[clique], name=name)
    return _with_roles(owner, tuple(roles.values()))


def _clique_of(group: Owner, name: str) -> str:
    """Return which clique a PodClique of a scaling group is, by its name; empty for none of it."""
    index, _, clique = name.removeprefix(f"{group.meta.ref.name}-").partition("-")
    return clique if index.isdecimal() else ""


def _complete_set(owner: Owner, made: Sequence[Owner], _blueprints: Sequence[Blueprint]) -> Owner:
    """Return it with what is there, and what its template asks for beside that."""
    roles = {role.name: role for one in made for role in one.roles}
    sizes = {
        f"{one.meta.ref.name}-": int(one.detail["replicas"])
        for one in made
        if (one.meta.ref.group, one.meta.ref.kind) == (GROUP, SCALING_GROUP)
    }
    # What is asked for stands first, in the order of the template.
    wanted = {
        role.name: roles.pop(role.name, role)
        for role in owner.roles
        if role.name in roles or not _is_scaled_away(role.name, sizes)
    }
    found = _with_roles(owner, (*wanted.values(), *roles.values()))
    return replace(found, grace_seconds=max(one.grace_seconds for one in (owner, *made)))


def _is_scaled_away(name: str, sizes: dict[str, int]) -> bool:
    """Whether the scaling group of a PodClique is there and asks for fewer replicas than the template."""
    for prefix, replicas in sizes.items():
        index, dash, _ = name.removeprefix(prefix).partition("-")
        if name.startswith(prefix) and dash and index.isdecimal():
            return int(index) >= replicas
    return False


def _with_roles(owner: Owner, roles: tuple[Role, ...]) -> Owner:
    return replace(owner, desired=_size(roles), roles=roles, pod_requests=_requests(roles))


def _size(roles: Sequence[Role]) -> int:
    return sum(role.pods for role in roles)


def _requests(roles: Sequence[Role]) -> tuple[PodRequests, ...]:
    return tuple(PodRequests(role.pods, role.requests) for role in roles if role.pods)


def _is_current(_owner: Owner, child: Owner) -> bool:
    """Whether it still makes pods: what is being deleted is made anew under its name, or was scaled away."""
    return child.meta.deleting_since is None


def _role_of(pod: Pod) -> str:
    """Return the PodClique that a pod belongs to."""
    return pod.labels.get(CLIQUE_LABEL, "")


def _resource(
    plural: str, kind: str, wire: type[Any], build: Callable[[Any, str], Owner]
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
        decoder_version=2,
    )


OWNERS = (
    OwnerKind(
        resource=_resource("podcliquesets", PODCLIQUESET, WirePodCliqueSet, _build_set),
        label=PODCLIQUESET,
        notes=KindNotes(
            gang="the PodCliqueSet with its scaling groups, PodCliques and their pods, and its PodGangs",
            units=(
                "the core PodGroups that its pods name, else each PodClique with `minAvailable` as quorum"
            ),
            limits=(
                "it has no suspend field. Cliques, `minAvailable` and scaling groups are changed by "
                "making it anew. Pods of a scaled PodGang wait behind a gate until the base PodGang "
                "is placed"
            ),
            tested=(
                "CRDs of Grove 0.1 alpha 12, its operator played, real schedulers of 1.35, 1.36 and 1.37"
            ),
        ),
        makes=((GROUP, SCALING_GROUP), (GROUP, PODCLIQUE)),
        current=_is_current,
        complete=_complete_set,
        role_of=_role_of,
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
        ),
        label=SCALING_GROUP,
        makes=((GROUP, PODCLIQUE),),
        stands_alone=False,
        current=_is_current,
        complete=_complete_scaling_group,
    ),
    OwnerKind(
        resource=_resource("podcliques", PODCLIQUE, WirePodClique, _build_clique),
        label=PODCLIQUE,
        makes=(),
        stands_alone=False,
        pod_label=CLIQUE_LABEL,
    ),
)
