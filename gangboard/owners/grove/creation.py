"""PodGangs, PodCliques and pods that Grove creates from a PodCliqueSet.

A scheduler backend of the operator may create groups for a PodGang. No object shows the backend, so no group is foreseen.
Source: operator/internal/controller of v0.1.0-alpha.12-rc1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gangboard.domain.forecast import Manifest, ManifestFault
from gangboard.owners.grove.wire import (
    CLIQUE_LABEL,
    GROUP,
    PODCLIQUE,
    PODGANG_LABEL,
)
from gangboard.plugins.child_manifests import (
    child,
    items,
    name_of,
    number,
    pod_from,
    section,
    size,
    string_map,
    text,
    texts,
)
from gangboard.plugins.manifest_faults import pod_template_faults, unknown_name_fault

_API, _PODGANG_API = f"{GROUP}/v1alpha1", "scheduler.grove.io/v1alpha1"
_SET_INDEX = "grove.io/podcliqueset-replica-index"
_SCALING_GROUP, _GROUP_INDEX = (
    "grove.io/podcliquescalinggroup",
    "grove.io/podcliquescalinggroup-replica-index",
)
_BASE = "grove.io/base-podgang"
_MOST_REPLICAS = 5_000
"""Replicas of a scaling group that are foreseen. A PodGang lists its PodCliques, and no list is longer."""


def set_children(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the PodGangs of a PodCliqueSet and its PodCliques.

    Grove creates some of the PodCliques through scaling groups, which have no pods of their own. Of a scaling group,
    `minAvailable` replicas are in the base PodGang of their set replica, and each further one has a PodGang.
    """
    spec, name = section(manifest, "spec"), name_of(manifest)
    template = section(spec, "template")
    cliques = {text(clique, "name"): clique for clique in items(template, "cliques")}
    for replica in range(size(spec, "replicas", default=0)):
        gangs: dict[str, list[_Member]] = {}
        for member in _members(f"{name}-{replica}", cliques, template):
            gangs.setdefault(member.gang, []).append(member)
        if not gangs:
            return  # no replica has a clique
        labels = _labels(name, {_SET_INDEX: str(replica)})
        for gang, members in gangs.items():
            yield _podgang(name, gang, members)
            for member in members:
                marks = {**labels, **member.labels, PODGANG_LABEL: gang}
                yield _clique(member.name, member.template, marks)


class _Member(NamedTuple):
    """A PodClique of one replica of the set."""

    name: str
    gang: str
    template: Manifest
    labels: Mapping[str, str]


def _members(base: str, cliques: Mapping[str, Manifest], template: Manifest) -> Iterator[_Member]:
    """Yield the PodCliques of the set replica with this base PodGang."""
    groups = items(template, "podCliqueScalingGroups")
    scaled = {clique for group in groups for clique in texts(group, "cliqueNames")}
    for name, clique in cliques.items():
        if name not in scaled:
            yield _Member(f"{base}-{name}", base, clique, {})
    for group in groups:
        own, least = f"{base}-{text(group, 'name')}", size(group, "minAvailable")
        for replica in range(min(size(group, "replicas"), _MOST_REPLICAS)):
            labels = {_GROUP_INDEX: str(replica), _SCALING_GROUP: own}
            gang = base
            if replica >= least:
                gang = f"{own}-{replica - least}"
                labels[_BASE] = base
            for name in texts(group, "cliqueNames"):
                if name in cliques:
                    yield _Member(f"{own}-{replica}-{name}", gang, cliques[name], labels)


def clique_pods(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the pods of a PodClique."""
    name, labels = name_of(manifest), string_map(manifest, "metadata", "labels")
    spec = section(manifest, "spec")
    template = {"spec": section(spec, "podSpec")}
    for index in range(size(spec, "replicas")):
        marks = {**labels, CLIQUE_LABEL: name, "grove.io/podclique-pod-index": str(index)}
        yield pod_from(template, generate_name=f"{name}-", labels=marks)


def _clique(name: str, template: Manifest, labels: Mapping[str, str]) -> dict[str, Any]:
    own = {**string_map(template, "labels"), **labels}
    annotations = string_map(template, "annotations")
    return child(
        _API, PODCLIQUE, name, section(template, "spec"), labels=own, annotations=annotations
    )


def _podgang(name: str, gang: str, members: list[_Member]) -> dict[str, Any]:
    entries = [
        {
            "name": member.name,
            "minReplicas": size(
                member.template,
                "spec",
                "minAvailable",
                default=size(member.template, "spec", "replicas"),
            ),
        }
        for member in members
    ]
    return child(_PODGANG_API, "PodGang", gang, {"podgroups": entries}, labels=_labels(name, {}))


def _labels(name: str, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": name,
        **more,
    }


def faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what the webhook refuses (webhook/admission/pcs/validation/podcliqueset.go)."""
    template = section(manifest, "spec", "template")
    field = "spec.template"
    cliques = items(template, "cliques")
    if not cliques:
        yield ManifestFault(f"{field}.cliques", "It has no clique.")
    for index, clique in enumerate(cliques):
        place = f"{field}.cliques[{index}]"
        replicas, least = number(clique, "spec", "replicas"), number(clique, "spec", "minAvailable")
        if replicas is not None and replicas < 1:
            yield ManifestFault(
                f"{place}.spec.replicas", f"replicas is {replicas}, and it must be 1 or more."
            )
        if least is not None and not 0 < least <= size(clique, "spec", "replicas"):
            yield ManifestFault(
                f"{place}.spec.minAvailable",
                f"minAvailable is {least}, and it must be from 1 to replicas, which is "
                f"{size(clique, 'spec', 'replicas')}.",
            )
        pods = {"spec": section(clique, "spec", "podSpec")}
        for fault in pod_template_faults(pods, place):
            yield ManifestFault(
                fault.field.replace(f"{place}.spec", f"{place}.spec.podSpec", 1), fault.sentence
            )
    known = [text(clique, "name") for clique in cliques]
    for index, group in enumerate(items(template, "podCliqueScalingGroups")):
        place = f"{field}.podCliqueScalingGroups[{index}]"
        for clique_name in texts(group, "cliqueNames"):
            yield from unknown_name_fault(f"{place}.cliqueNames", clique_name, "clique", known)
        least, replicas = number(group, "minAvailable"), size(group, "replicas")
        if least is not None and least > replicas:
            yield ManifestFault(
                f"{place}.minAvailable",
                f"minAvailable is {least}, and it must not be above replicas, which is {replicas}.",
            )
