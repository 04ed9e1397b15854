"""Public reports, rebuilt with a real Kueue: wrong messages users got, each with a near miss."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.controlplane.client import ApiError, Json, wait
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JOBSET, job, pod
from tests.controlplane.queues import KUEUE, in_queue
from tests.queues.places import CHECK, Place, now
from tests.situations import Situation

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
HOSTNAME = "kubernetes.io/hostname"
REFUSED = "test.gangboard.dev/refused"
"""Label of Jobs that cannot be resumed."""


def answer(place: Place, name: str, state: str, message: str, **status: Any) -> None:
    """Let the check of a Workload that has its quota answer."""
    nodes = place.wait_entry(name, "QuotaReserved")["metadata"]
    check = {"name": CHECK, "state": state, "message": message, "lastTransitionTime": now()}
    verdicts = {"admissionChecks": [check], **status}
    place.client.patch_status(KUEUE, "Workload", nodes["name"], verdicts, place.name)


# 2: the cause is cut off


def _check_refused(place: Place) -> None:
    """The check of an autoscaler refuses it. Twin: it asks for another try, and says the same."""
    place.queue("9", admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    message = "Provisioning Request wasn't accepted: max node pool size reached (16 of 16 nodes)"
    for name, state in (("run", "Rejected"), ("twin", "Retry")):
        place.run(name)
        answer(place, name, state, message)


# 3: what runs in another cluster


def _elsewhere(place: Place) -> None:
    """Its check runs it in worker1 and copies the status here. Twin: no pod of it is ready yet."""
    place.queue("9", admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    for name, ready in (("run", 1), ("twin", 0)):
        created = place.jobset(name)
        created["spec"]["managedBy"] = MULTIKUEUE
        place.client.create(created)
        answer(place, name, "Pending", "", nominatedClusterNames=["worker1"])
        message = 'The workload was admitted on "worker1"'
        dispatched = {"nominatedClusterNames": None, "clusterName": "worker1"}
        answer(place, name, "Ready", message, **dispatched)
        place.client.wait_for(
            JOBSET,
            "JobSet",
            name,
            place.name,
            until=lambda result: result["spec"].get("suspend") is False,
        )
        counts = {"active": 1, "succeeded": 0, "failed": 0, "suspended": 0, "ready": ready}
        copied = {"replicatedJobsStatus": [{"name": "w", **counts}]}
        place.client.patch_status(JOBSET, "JobSet", name, copied, place.name)


# 5: admitted, without a later step


def _policy(place: Place) -> list[Json]:
    """Return a policy by which no Job with the label `REFUSED` is resumed."""
    version, metadata = "admissionregistration.k8s.io/v1", {"name": f"{place.name}-refused"}
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["jobs"],
    }
    spec = {
        "matchConstraints": {
            "resourceRules": [rule],
            "objectSelector": {"matchLabels": {REFUSED: place.name}},
        },
        "validations": [
            {"expression": "object.spec.suspend == true", "message": "nobody resumes it"}
        ],
    }
    policy = {"kind": "ValidatingAdmissionPolicy", "spec": spec}
    bound = {"policyName": metadata["name"], "validationActions": ["Deny"]}
    binding = {"kind": "ValidatingAdmissionPolicyBinding", "spec": bound}
    return [{"apiVersion": version, "metadata": metadata, **item} for item in (policy, binding)]


def _not_resumed(place: Place) -> None:
    """Kueue may not resume it. Twin: may be resumed."""
    place.make(*_policy(place))
    place.queue("9")
    labels = {REFUSED: place.name}
    place.client.create(job("probe", place.name, suspend=True, job_labels=labels))

    def is_in_force() -> bool:
        try:
            patch = {"spec": {"suspend": False}}
            place.client.patch("batch/v1", "Job", "probe", patch, place.name, dry_run=True)
        except ApiError as error:
            return error.status == 422 or "nobody resumes it" in error.message
        return False

    wait(is_in_force, what="the policy to be in force", timeout=60)
    for name, extra in (("run", labels), ("twin", {})):
        created = job(name, place.name, parallelism=2, suspend=True)
        created["metadata"]["labels"] = in_queue("queue") | extra
        place.client.create(created)
    place.wait_entry("run", "Admitted")
    place.judged_at = datetime.now(UTC)


# 8: partial admission


def _partly(place: Place) -> None:
    """A Job of five pods that may have two is admitted with three. Twin: with all five."""
    for queue, name, cpu in (("queue", "run", "3"), ("other", "twin", "5")):
        place.queue(cpu, queue)
        created = job(name, place.name, parallelism=5, suspend=True, job_labels=in_queue(queue))
        created["spec"] |= {"completions": 5, "completionMode": "NonIndexed"}
        created["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
        place.client.create(created)


# 11: a pod pinned to a node that is gone


def _pinned(place: Place) -> None:
    """Each pod is assigned a node.

    The successor of one pod needs the same node, which is full and then deleted.

    Twin: the node exists. (Kueue itself moves a pod away from a cordoned node.)

    """
    place.sees_nodes = True
    run_on_assigned_nodes(place, run=3, twin=2)
    remaining = {name: _lose_first(place, name) for name in ("run", "twin")}

    def are_pinned() -> bool:
        return all(
            _waiting_for(place, name) == [node_name] for name, node_name in remaining.items()
        )

    wait(are_pinned, what="the successors to ask for the same nodes", timeout=120)
    place.client.delete("v1", "Node", remaining["run"])


def run_on_assigned_nodes(place: Place, *, run: int, twin: int) -> None:
    """Run two JobSets of two pods, for each of which Kueue assigns one of so many nodes for one pod."""
    topology = {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": place.name}}
    place.make({**topology, "spec": {"levels": [{"nodeLabel": HOSTNAME}]}})
    for queue, name, count in (("queue", "run", run), ("other", "twin", twin)):
        pool = f"{place.name}-{name}"
        taint = {"key": "pinned", "value": pool, "effect": "NoSchedule"}
        created = [
            node(f"{pool}-{index}", cpu="2", labels={"pinned": pool}, taints=[taint])
            for index in range(count)
        ]
        make_nodes(place.client, created)
        tolerated = [{"key": "pinned", "operator": "Exists"}]
        spec = {"nodeLabels": {"pinned": pool}, "topologyName": place.name}
        flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": pool}}
        place.make(flavor | {"spec": spec | {"nodeTaints": [taint], "tolerations": tolerated}})
        place.queue("64", queue, flavor=pool)
        jobset = place.jobset(name, queue, cpu="2", backoff_limit=6)
        (entry,) = jobset["spec"]["replicatedJobs"]
        template = entry["template"]["spec"]["template"].setdefault("metadata", {})
        template["annotations"] = {"kueue.x-k8s.io/podset-preferred-topology": HOSTNAME}
        place.client.create(jobset)
    for name in ("run", "twin"):
        place.wait_told("running", name)


def _lose_first(place: Place, name: str) -> str:
    """Delete the first pod of a JobSet, whose node another pod has filled; return that node."""
    first = place.pods(name)[0]
    node_name = str(first["spec"]["nodeName"])
    place.client.create(pod(f"holder-{name}", place.name, cpu="2", spec={"nodeName": node_name}))
    place.client.delete("v1", "Pod", first["metadata"]["name"], place.name, grace=0)
    return node_name


def _waiting_for(place: Place, name: str) -> list[str]:
    """Return the nodes that pods of a JobSet without a node ask for."""
    return [_pin(item) for item in place.pods(name) if not item["spec"].get("nodeName")]


def _pin(obj: Json) -> str:
    return str((obj["spec"].get("nodeSelector") or {}).get(HOSTNAME, ""))


# 12: labels of two sources


def _two_sources(place: Place) -> None:
    """Its flavor adds a label to that of its own, and no node has both. Twin: a node has."""
    place.sees_nodes = True
    make_nodes(
        place.client,
        [
            node(f"{place.name}-owned", labels={"reserve2": "yes"}),
            node(f"{place.name}-spot", labels={"tier2": "spot"}),
            node(f"{place.name}-both", labels={"reserve3": "yes", "tier2": "spot"}),
        ],
    )
    for queue, name, key in (("queue", "run", "reserve2"), ("other", "twin", "reserve3")):
        flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": key}}
        place.make(flavor | {"spec": {"nodeLabels": {key: "yes"}}})
        place.queue("9", queue, flavor=key)
        place.run(name, queue=queue, node_selector={"tier2": "spot"})


def _own_labels(place: Place) -> None:
    """Both labels are its own: its flavor adds none. Twin: asks for one of them."""
    place.sees_nodes = True
    make_nodes(
        place.client,
        [
            node(f"{place.name}-a", labels={"own4": "yes"}),
            node(f"{place.name}-b", labels={"tier4": "spot"}),
        ],
    )
    place.queue("9")
    place.run(node_selector={"own4": "yes", "tier4": "spot"})
    place.run("twin", node_selector={"tier4": "spot"})


REPORTED: dict[str, Situation[Place]] = {
    "refused": Situation(
        _check_refused, "deactivated", "suspended",
        f"Kueue deactivated Workload {{entry}}: check {CHECK} refused it: “max node pool size reached "
        "(16 of 16 nodes)”.", twin="admission-check",
    ),
    "elsewhere": Situation(
        _elsewhere, "running", "running", "Runs in cluster worker1: 1 of 1 Jobs is ready.",
        twin="not-observed",
    ),
    "not-resumed": Situation(
        _not_resumed, "queue-evaluating", "waiting",
        "Queue queue has admitted it, and Kueue has not resumed it yet.", twin="running",
    ),
    "partly": Situation(
        _partly, "running", "running", "All 3 pods are ready.", twin="running",
    ),
    "pinned": Situation(
        _pinned, "pinned-to-lost-node", "degraded", None, twin="partly-placed",
    ),
    "two-sources": Situation(
        _two_sources, "no-matching-node", "blocked", None, twin="running",
    ),
    "own-labels": Situation(
        _own_labels, "no-matching-node", "blocked", None, twin="running",
    ),
}  # fmt: skip
