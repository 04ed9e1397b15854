"""Grove's objects, and a simulated operator, which is not published as a Go module.

The CRDs of PodCliqueSets, PodCliques and scaling groups are upstream's own (`programs.PROGRAMS`). That of
PodGangs is written here, strictly, from its public types (scheduler/api/core/v1alpha1/podgang.go). The
operator's writes and their order follow the sources of v0.1.0-alpha.12-rc1. Each function names its file.

No release makes core groups of a PodGang yet. Their shape is that of the proposal (ai-dynamo/grove#605):
the Workload is made first, then its groups, and only then do the gates go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.controlplane.build import build, manifests
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.conditions import is_true
from tests.controlplane.objects import compositepodgroup, podgroup, workload

GROVE, PODGANGS = "grove.io/v1alpha1", "scheduler.grove.io/v1alpha1"
GATE = "grove.io/podgang-pending-creation"
CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition"


def _text(**extra: Any) -> Json:
    return {"type": "string", **extra}


def _object(required: Sequence[str] = (), /, **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


_TOPOLOGY = _object(packConstraint=_object(required=_text(), preferred=_text()))
_NAME = _object(("namespace", "name"), namespace=_text(), name=_text())
_CONDITION = _object(
    ("lastTransitionTime", "message", "reason", "status", "type"),
    lastTransitionTime=_text(format="date-time"),
    message=_text(maxLength=32768),
    observedGeneration={"type": "integer", "format": "int64", "minimum": 0},
    reason=_text(minLength=1, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    status=_text(enum=["True", "False", "Unknown"]),
    type=_text(),
)
_PODGANG = _object(
    ("spec",),
    apiVersion=_text(),
    kind=_text(),
    metadata={"type": "object"},
    spec=_object(
        ("podgroups",),
        podgroups=_list(
            _object(
                ("name", "podReferences", "minReplicas"),
                name=_text(),
                podReferences=_list(_NAME),
                minReplicas={"type": "integer", "format": "int32"},
                topologyConstraint=_TOPOLOGY,
            )
        ),
        topologyConstraint=_TOPOLOGY,
        topologyConstraintGroupConfigs=_list(
            _object(
                ("name", "podGroupNames"),
                name=_text(),
                podGroupNames=_list(_text()),
                topologyConstraint=_TOPOLOGY,
            )
        ),
        priorityClassName=_text(),
        reuseReservationRef=_NAME,
    ),
    status=_object(
        ("phase",),
        phase=_text(),
        conditions=_list(_CONDITION),
        placementScore={"type": "number"},
    ),
)
_PODGANG_CRD: Json = {
    "apiVersion": CRD[0],
    "kind": CRD[1],
    "metadata": {"name": "podgangs.scheduler.grove.io"},
    "spec": {
        "group": "scheduler.grove.io",
        "names": {
            "kind": "PodGang",
            "listKind": "PodGangList",
            "plural": "podgangs",
            "singular": "podgang",
            "shortNames": ["pg"],
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": _PODGANG},
            }
        ],
    },
}


def crds() -> list[Json]:
    """Return all four; those of upstream are fetched where they were not."""
    build(["grove"])
    # The C loader: two of them are some 800 kB each.
    result = [yaml.load(file.read_text(), Loader=yaml.CSafeLoader) for file in manifests("grove")]
    return [*result, _PODGANG_CRD]


def serve(client: Client) -> None:
    """Make an API server serve them; those of before have to be gone."""
    expected = crds()
    names = {crd["metadata"]["name"] for crd in expected}

    def is_leaving() -> bool:
        result = [obj["metadata"] for obj in client.list(*CRD)]
        return any(item["name"] in names and "deletionTimestamp" in item for item in result)

    wait(lambda: not is_leaving(), what="CRDs of Grove to be gone", timeout=60)
    created = client.create_all(expected)
    for crd in created:
        client.wait_for(
            *CRD, crd["metadata"]["name"], until=lambda item: is_true(item, "Established")
        )


def serve_no_more(client: Client) -> None:
    """Take them away, with all objects of theirs."""
    for crd in crds():
        client.delete(*CRD, crd["metadata"]["name"])


# Objects that a person makes


def clique(
    name: str, pods: int, minimum: int, *, cpu: str = "1", on: Mapping[str, str] | None = None
) -> Json:
    """Return a clique of a PodCliqueSet's template."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "nodeSelector": dict(on or {})}
    return {
        "name": name,
        "spec": {"roleName": name, "replicas": pods, "minAvailable": minimum, "podSpec": spec},
    }


def scaling_group(name: str, *cliques: str, replicas: int, minimum: int) -> Json:
    """Return a scaling group of a PodCliqueSet's template."""
    names = list(cliques)
    return {"name": name, "cliqueNames": names, "replicas": replicas, "minAvailable": minimum}


def podcliqueset(
    name: str,
    namespace: str,
    cliques: Sequence[Json],
    *,
    groups: Sequence[Json] = (),
    replicas: int = 1,
) -> Json:
    """Return a PodCliqueSet."""
    template: Json = {"cliques": list(cliques), "terminationDelay": "4h"}
    if groups:
        template["podCliqueScalingGroups"] = list(groups)
    return {
        "apiVersion": GROVE,
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "template": template},
    }


# Objects that the operator makes


def labels(owner: str, **more: str) -> dict[str, str]:
    """Return the labels of all that it makes for a set (operator/api/common/labels.go)."""
    named = {f"grove.io/{key.replace('_', '-')}": value for key, value in more.items()}
    common = {"managed-by": "grove-operator", "part-of": owner}
    return {f"app.kubernetes.io/{key}": value for key, value in common.items()} | named


def reference(owner: Json) -> Json:
    """Return a controller reference to an object as stored."""
    nodes = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": nodes["name"],
        "uid": nodes["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _made(api_version: str, kind: str, name: str, owner: Json, spec: Json, **of: Any) -> Json:
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [reference(owner)],
        **of,
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def podclique(name: str, owner: Json, template: Json, marks: Mapping[str, str]) -> Json:
    """Return a PodClique (podcliqueset/components/podclique/podclique.go)."""
    labels = {**template.get("labels", {}), **marks}
    return _made(GROVE, "PodClique", name, owner, template["spec"], labels=labels)


def podcliquescalinggroup(name: str, owner: Json, of: Json, marks: Mapping[str, str]) -> Json:
    """Return a PodCliqueScalingGroup (components/podcliquescalinggroup)."""
    spec = {key: of[key] for key in ("replicas", "minAvailable", "cliqueNames")}
    return _made(GROVE, "PodCliqueScalingGroup", name, owner, spec, labels=dict(marks))


def podgang(
    name: str, owner: Json, minima: Mapping[str, int], members: Mapping[str, Sequence[str]]
) -> Json:
    """Return a PodGang (components/podgang/podgang.go): PodClique → its minimum, and its pods."""
    namespace = owner["metadata"]["namespace"]
    parts = [
        {
            "name": part,
            "minReplicas": minimum,
            "podReferences": [
                {"namespace": namespace, "name": pod} for pod in members.get(part, ())
            ],
        }
        for part, minimum in minima.items()
    ]
    marks = {
        **labels(owner["metadata"]["name"], scheduler_name="default-scheduler"),
        "app.kubernetes.io/component": "podgang",
    }
    return _made(PODGANGS, "PodGang", name, owner, {"podgroups": parts}, labels=marks)


def initialized(is_so: bool) -> Json:
    """Return the status of a PodGang (components/podgang/syncflow.go); its phase is always Pending."""
    reason, message = (
        ("PodGangPodsCreated", "PodGang is fully initialized")
        if is_so
        else ("PodGangPodsCreationPending", "Not all constituent pods have been created yet")
    )
    condition = {
        "type": "Initialized",
        "status": str(is_so),
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-24T09:00:00Z",
    }
    return {"phase": "Pending", "conditions": [condition]}


def last_error(code: str, message: str, cause: str) -> Json:
    """Return an entry of `lastErrors` (operator/internal/errors/errors.go)."""
    return {
        "code": code,
        "description": f"[Operation: Sync, Code: {code}] message: {message}, cause: {cause}",
        "observedAt": "2026-11-24T09:00:00Z",
    }


def pod(name: str, clique_: Json, membership: Json) -> Json:
    """Return a pod of a PodClique, gated (podclique/components/pod/pod.go), as its backend prepares it."""
    result = _made("v1", "Pod", name, clique_, dict(clique_["spec"]["podSpec"]))
    own = clique_["metadata"]
    result["metadata"]["labels"] = {**own["labels"], "grove.io/podclique": own["name"]}
    result["spec"] |= {"schedulingGates": [{"name": GATE}], **membership}
    return result


# Core groups of a PodGang, in the three forms


def core_groups(of: Json, version: str) -> list[Json]:
    """Return the stored objects of a backend for a PodGang, the Workload first.

    v1alpha1 (1.35): one Workload with a podGroup for each PodClique. v1alpha2 (1.36): a PodGroup for each.
    v1alpha3 (1.37): a tree, in which a CompositePodGroup needs all of these.

    """
    name, namespace = of["metadata"]["name"], of["metadata"]["namespace"]
    minima = {part["name"]: max(1, part["minReplicas"]) for part in of["spec"]["podgroups"]}
    created = [workload(name, namespace, templates=minima, version=version)]
    if version == "v1alpha3":
        leaves = created[0]["spec"].pop("podGroupTemplates")
        policy = {"gang": {"minGroupCount": len(minima)}}
        template = {"name": "all", "schedulingPolicy": policy, "podGroupTemplates": leaves}
        created[0]["spec"]["compositePodGroupTemplates"] = [template]
        created.append(
            compositepodgroup(name, namespace, workload=(name, "all"), groups=len(minima))
        )
    if version != "v1alpha1":
        created += [
            podgroup(part, namespace, version=version, gang=minimum, workload=(name, part))
            for part, minimum in minima.items()
        ]
    for obj in created:
        obj["metadata"]["ownerReferences"] = [reference(of)]
        if version == "v1alpha3" and obj["kind"] == "PodGroup":
            obj["spec"]["parentCompositePodGroupName"] = name
    return created


def membership(podgang_name: str, clique_name: str, version: str) -> Json:
    """Return the pod's reference to its group, empty without a version."""
    if version == "v1alpha1":
        return {"workloadRef": {"name": podgang_name, "podGroup": clique_name}}
    return {"schedulingGroup": {"podGroupName": clique_name}} if version else {}


@dataclass
class Operator:
    """Plays Grove's operator for one PodCliqueSet, a step at a time."""

    client: Client
    version: str = ""
    """Version of `scheduling.k8s.io`. Empty: pods are scheduled individually (its backend `kube`)."""
    cliques: dict[str, Json] = field(default_factory=dict)
    """PodCliques as stored, by name."""
    podgangs: dict[str, Json] = field(default_factory=dict)
    pods: dict[str, list[str]] = field(default_factory=dict)
    """PodClique → names of its pods."""

    def play(self, made: Json, *, lacking: int = 0) -> None:
        """Do everything up to the pods that the scheduler may place, as the operator does."""
        self.create(made, lacking=lacking)
        if not lacking:
            for name in self.podgangs:
                self.initialize(name)
                self.make_groups(name)
                self.ungate(name)

    def create(self, made: Json, *, lacking: int = 0) -> None:
        """Create the set and all below it, its pods gated; the last PodClique gets `lacking` pods fewer."""
        owner = self.client.create(made)
        template = owner["spec"]["template"]
        scaled = {
            name: group
            for group in template.get("podCliqueScalingGroups", ())
            for name in group["cliqueNames"]
        }
        minima: dict[str, dict[str, int]] = {}
        for index in range(owner["spec"]["replicas"]):
            base = f"{owner['metadata']['name']}-{index}"
            minima[base] = {}
            for item in template["cliques"]:
                if item["name"] not in scaled:
                    self._clique(owner, owner, f"{base}-{item['name']}", item, base, minima)
            for group in template.get("podCliqueScalingGroups", ()):
                self._scaling_group(owner, base, group, minima)
        for name, parts in minima.items():
            self.podgangs[name] = self.client.create(podgang(name, owner, parts, {}))
            self._status(PODGANGS, "PodGang", self.podgangs[name], initialized(False))
        for name, item in self.cliques.items():
            number = item["spec"]["replicas"] - (lacking if name == list(self.cliques)[-1] else 0)
            self._make_pods(name, number)
        self.observe()

    def _make_pods(self, clique_name: str, number: int) -> None:
        """Make the first pods of a PodClique that has none, gated."""
        obj = self.cliques[clique_name]
        of = obj["metadata"]["labels"]["grove.io/podgang"]
        member = membership(of, clique_name, self.version)
        self.pods[clique_name] = [f"{clique_name}-{index}" for index in range(number)]
        for pod_name in self.pods[clique_name]:
            self.client.create(pod(pod_name, obj, member))

    def scale(self, clique_name: str, number: int) -> None:
        """Scale a PodClique that has no pod, as an autoscaler does, and do what follows from that."""
        nodes = self.cliques[clique_name]["metadata"]
        patch = {"spec": {"replicas": number}}
        self.cliques[clique_name] = self.client.patch(
            GROVE, "PodClique", clique_name, patch, nodes["namespace"]
        )
        self._make_pods(clique_name, number)
        self.initialize(nodes["labels"]["grove.io/podgang"])
        self.ungate(nodes["labels"]["grove.io/podgang"])
        self.observe()

    def _scaling_group(
        self, owner: Json, base: str, group: Json, minima: dict[str, dict[str, int]]
    ) -> None:
        """Replicas up to its minimum are in the base PodGang, each other one has its own (namegen.go)."""
        set_name, name = owner["metadata"]["name"], f"{base}-{group['name']}"
        created = self.client.create(podcliquescalinggroup(name, owner, group, labels(set_name)))
        by_name = {item["name"]: item for item in owner["spec"]["template"]["cliques"]}
        for index in range(group["replicas"]):
            beyond = index - group["minAvailable"]
            of = base if beyond < 0 else f"{name}-{beyond}"
            minima.setdefault(of, {})
            for clique_name in group["cliqueNames"]:
                whole = f"{name}-{index}-{clique_name}"
                self._clique(owner, created, whole, by_name[clique_name], of, minima, base=base)

    def _clique(
        self,
        owner: Json,
        maker: Json,
        name: str,
        template: Json,
        of: str,
        minima: dict[str, dict[str, int]],
        *,
        base: str = "",
    ) -> None:
        extra = {"podgang": of} | ({"base_podgang": base} if base and base != of else {})
        marks = labels(owner["metadata"]["name"], **extra)
        self.cliques[name] = self.client.create(podclique(name, maker, template, marks))
        minima[of][name] = template["spec"]["minAvailable"]

    def initialize(self, name: str) -> None:
        """List its pods in a PodGang, and set its condition that all exist."""
        result = self.podgangs[name]
        namespace = result["metadata"]["namespace"]
        parts = [
            part
            | {
                "podReferences": [
                    {"namespace": namespace, "name": item} for item in self.pods[part["name"]]
                ]
            }
            for part in result["spec"]["podgroups"]
        ]
        self.podgangs[name] = self.client.patch(
            PODGANGS, "PodGang", name, {"spec": {"podgroups": parts}}, namespace
        )
        self._status(PODGANGS, "PodGang", result, initialized(True))

    def make_groups(self, name: str, *, only: str = "") -> None:
        """Let the backend make the core groups of a PodGang, or only those of a kind."""
        if self.version:
            result = core_groups(self.podgangs[name], self.version)
            self.client.create_all(item for item in result if only in ("", item["kind"]))

    def ungate(self, name: str) -> None:
        """Let the scheduler have the pods of a PodGang (podclique/components/pod/syncflow.go)."""
        result = self.podgangs[name]
        for part in result["spec"]["podgroups"]:
            for item in self.pods[part["name"]]:
                patch = {"spec": {"schedulingGates": None}}
                self.client.patch("v1", "Pod", item, patch, result["metadata"]["namespace"])

    def observe(self) -> None:
        """Count pods into the status of PodCliques (podclique/reconcilestatus.go)."""
        for name, result in self.cliques.items():
            namespace = result["metadata"]["namespace"]
            listed = self.client.list("v1", "Pod", namespace, labels=f"grove.io/podclique={name}")
            status = {
                "replicas": len(listed),
                "scheduledReplicas": sum(is_true(item, "PodScheduled") for item in listed),
                "readyReplicas": sum(is_true(item, "Ready") for item in listed),
                "scheduleGatedReplicas": sum("schedulingGates" in obj["spec"] for obj in listed),
                "updatedReplicas": len(listed),
            }
            self._status(GROVE, "PodClique", result, status)

    def fail(self, kind: str, name: str, namespace: str, error: Json) -> None:
        """Tell of an error in the status of an object (controller/common/reconcileerrorrecorder.go)."""
        counts = {"readyReplicas": 0, "updatedReplicas": 0, "availableReplicas": 0}
        needed = counts if kind == "PodCliqueSet" else {}
        self.client.patch_status(GROVE, kind, name, {**needed, "lastErrors": [error]}, namespace)

    def _status(self, version: str, kind: str, of: Json, status: Json) -> None:
        nodes = of["metadata"]
        self.client.patch_status(version, kind, nodes["name"], status, nodes["namespace"])
