"""Forecasts of Kueue's decision, for facts that the real Kueue of the tests does not show."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.forecast import AdmissionState, Forecast, PodSet
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod_constraints import PodConstraints, Requirement, Term, Toleration
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_policy import PreemptionPolicy, QueuePolicy, RequiredCheck
from gangboard.domain.quota import QueueTree
from gangboard.owners.jobset import JobSet
from gangboard.queues.kai import KaiQueues
from gangboard.queues.kueue import Kueue
from gangboard.queues.kueue.flavor_search import quantity_text
from gangboard.queues.volcano import VolcanoQueues
from tests.decode.reading import Json, model, with_identity
from tests.kinds import registered
from tests.queues.test_kueue import entry
from tests.queues.test_kueue_queues import RESOURCES

ACTIVE = {"conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": ""}]}
JOBSET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "controller": True}
LABELS = {"kueue.x-k8s.io/queue-name": "lq"}


def quotas(flavor: str = "f", cpu: str = "4", **limits: str) -> Json:
    return {
        "name": flavor,
        "resources": [{"name": "cpu", "nominalQuota": cpu, **limits}],
    }


def cluster_queue(*flavors: Json, name: str = "cq", used: str = "0", **spec: Any) -> Json:
    groups = [{"coveredResources": ["cpu"], "flavors": list(flavors or (quotas(),))}]
    usage = [{"name": "f", "resources": [{"name": "cpu", "total": used}]}]
    return {
        "metadata": {"name": name, "namespace": ""},
        "spec": {"resourceGroups": groups, "namespaceSelector": {}, **spec},
        "status": {**ACTIVE, "flavorsReservation": usage},
    }


def local_queue(name: str = "lq", to: str = "cq") -> Json:
    return {"metadata": {"name": name}, "spec": {"clusterQueue": to}, "status": ACTIVE}


def state(
    *queues: Json, entries: tuple[QueueEntry, ...] = (), flavors: dict[str, Json] | None = None
) -> AdmissionState:
    """Return queues with the entries. Without other queues there is one of 4 cpus."""
    tree = QueueTree()
    for obj in (local_queue(), *(queues or (cluster_queue(),))):
        kind = "LocalQueue" if "clusterQueue" in obj["spec"] else "ClusterQueue"
        uid = {"uid": f"uid-{kind}-{obj['metadata']['name']}"}
        with_uid = {**obj, "metadata": {**obj["metadata"], **uid}}
        tree.put(model(RESOURCES[kind], with_identity(with_uid)))
    for name, spec in (flavors or {"f": {}}).items():
        flavor = model(RESOURCES["ResourceFlavor"], with_identity({"spec": spec}, name, ""))
        tree.flavors[flavor.meta.ref.group, name] = flavor
    return AdmissionState(tree, entries)


def owner(labels: dict[str, str] | None = None, **fields: Any) -> Owner:
    metadata = {"labels": LABELS if labels is None else labels}
    built: Owner = model(
        registered(JobSet).resource, with_identity({"metadata": metadata, "spec": {}}, "run")
    )
    return replace(built, **fields)


def workload(
    name: str, *conditions: Json, queue: str = "lq", namespace: str = "team-a", **spec: Any
) -> QueueEntry:
    status: Json = {"conditions": list(conditions)}
    if any(item["type"] == "Admitted" for item in conditions):
        usage = {"name": "w", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2"}, "count": 2}
        status["admission"] = {"clusterQueue": "cq", "podSetAssignments": [usage]}
    return entry(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{name}",
                "creationTimestamp": "2026-11-20T09:00:00Z",
                "ownerReferences": [{**JOBSET, "name": name, "uid": f"owner-{name}"}],
            },
            "spec": {"queueName": queue, "active": True, "priority": 0, **spec},
            "status": status,
        }
    )


def condition(kind: str, status: str, message: str = "", reason: str = "Pending") -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message}


ADMITTED = (condition("QuotaReserved", "True"), condition("Admitted", "True"))
WAITS = (
    condition(
        "QuotaReserved",
        "False",
        "couldn't assign flavors to pod set w: insufficient unused quota for cpu in flavor f, 1 more needed",
    ),
)
NO_TURN: tuple[Json, ...] = ()


def foresee(
    of: Owner,
    at: AdmissionState,
    cpu: str = "1",
    pods: int = 2,
    needs: PodConstraints | None = None,
    annotations: dict[str, str] | None = None,
) -> Forecast:
    pod_set = PodSet("w", pods, {"cpu": Decimal(cpu)}, needs or PodConstraints())
    marks = {f"kueue.x-k8s.io/{key}": value for key, value in (annotations or {}).items()}
    foreseen = Kueue().forecast(of, [pod_set], at, marks)
    assert foreseen is not None
    return foreseen


def test_an_admitted_owner_gets_the_labels_and_tolerations_of_its_flavor() -> None:
    toleration = {"key": "gpu", "operator": "Exists"}
    flavors = {"f": {"nodeLabels": {"pool": "h100"}, "tolerations": [toleration]}}
    foreseen = foresee(owner(), state(flavors=flavors))
    assert (foreseen.entry.admitted, foreseen.unknown) == (True, "")
    assert foreseen.node_labels == {"w": {"pool": "h100"}}
    assert foreseen.tolerations == {"w": (Toleration("gpu", "Exists"),)}
    assert foreseen.entry.owner_uid == "uid-run"
    waiting = foresee(owner(), state(cluster_queue(used="3"), flavors=flavors))
    assert not waiting.entry.has_quota
    assert waiting.node_labels == {}


def test_kueue_ignores_other_kinds_and_owners_without_a_queue() -> None:
    ref = ObjectRef("batch.volcano.sh", "Job", "team-a", "run", "uid-run")
    volcano = owner(meta=replace(owner().meta, ref=ref))
    assert Kueue().forecast(volcano, [], state(), {}) is None
    assert Kueue().forecast(owner({}), [], state(), {}) is None
    # A LocalQueue of this name is for all owners of the namespace.
    default = state(cluster_queue(), local_queue("default"))
    assert foresee(owner({}), default).entry.queue == "default"


def test_kueue_may_take_the_pods_of_any_kind_into_the_default_queue() -> None:
    ref = ObjectRef("batch.volcano.sh", "Job", "team-a", "run", "uid-run")
    default = state(cluster_queue(), local_queue("default"))
    foreseen = foresee(owner({}, meta=replace(owner().meta, ref=ref)), default)
    assert "one by one into LocalQueue default" in foreseen.unknown


def test_a_pod_of_a_group_is_not_admitted_alone() -> None:
    ref = ObjectRef("", "Pod", "team-a", "run", "uid-run")
    pod = owner(meta=replace(owner().meta, ref=ref))
    assert _code(foresee(pod, state(), pods=1)) == "admitted"
    assert _code(foresee(pod, state(), pods=1, cpu="5")) == "exceeds-quota"
    grouped = replace(pod, labels=(("kueue.x-k8s.io/pod-group-name", "g"),))
    assert "admits the pods of its group together" in foresee(grouped, state(), pods=1).unknown


def test_a_job_with_a_minimum_may_be_admitted_with_fewer_pods() -> None:
    ref = ObjectRef("batch", "Job", "team-a", "run", "uid-run")
    job = owner(meta=replace(owner().meta, ref=ref))
    minimum = {"job-min-parallelism": "1"}
    assert _code(foresee(job, state(), pods=4, annotations=minimum)) == "admitted"
    assert _code(foresee(job, state(), pods=5)) == "exceeds-quota"
    assert _code(foresee(job, state(), pods=5, annotations=minimum)) == "unknown"
    # The annotation has an effect on Jobs only.
    assert _code(foresee(owner(), state(), pods=5, annotations=minimum)) == "exceeds-quota"


def test_a_gated_owner_is_not_evaluated() -> None:
    gate = {"admission-gated-by": "example.com/approval"}
    foreseen = foresee(owner(), state(), pods=5, annotations=gate)
    assert _code(foreseen) == "admission-gated"
    assert foreseen.entry.message is not None
    assert foreseen.entry.message.cause == "admission is gated by example.com/approval"
    # Kueue reports a missing queue first.
    assert (
        _code(
            foresee(owner(LABELS | {"kueue.x-k8s.io/queue-name": "b"}), state(), annotations=gate)
        )
        == "queue-missing"
    )


def test_queues_of_a_scheduler_make_no_forecast() -> None:
    for system in (VolcanoQueues(), KaiQueues()):
        assert system.forecast(owner(), [], state(), {}) is None


def test_owners_without_a_queue_wait_if_kueue_holds_others_of_the_namespace() -> None:
    held = workload(
        "other", condition("QuotaReserved", "False", "LocalQueue  doesn't exist"), queue=""
    )
    foreseen = foresee(owner({}), state(entries=(held,)))
    assert (foreseen.unknown, foreseen.entry.message, foreseen.entry.admitted) == ("", None, False)
    assert foreseen.entry.conditions[0].is_false
    elsewhere = workload("other", queue="", namespace="team-b")
    assert "other namespaces" in foresee(owner({}), state(entries=(elsewhere,))).unknown


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, "admitted"),
        (None, "queue-misconfigured"),
        ({"matchLabels": {"kubernetes.io/metadata.name": "team-a"}}, "admitted"),
        ({"matchLabels": {"kubernetes.io/metadata.name": "team-b"}}, "queue-misconfigured"),
        ({"matchLabels": {"tier": "gold"}}, "unknown"),
        ({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}, "admitted"),
    ],
)  # fmt: skip
def test_the_namespace_selector_decides_as_far_as_it_is_known(
    selector: Json | None, expected: str
) -> None:
    assert _code(foresee(owner(), state(cluster_queue(namespaceSelector=selector)))) == expected


def test_a_workload_with_quota_shows_that_its_namespace_is_admitted() -> None:
    queue = cluster_queue(used="2", namespaceSelector={"matchLabels": {"tier": "gold"}})
    mine, other = (workload("one", *ADMITTED, namespace=name) for name in ("team-a", "team-b"))
    assert _code(foresee(owner(), state(queue, entries=(mine,)))) == "admitted"
    assert _code(foresee(owner(), state(queue, entries=(other,)))) == "unknown"
    # A permanent reason does not depend on the namespace.
    assert _code(foresee(owner(), state(queue), pods=5)) == "exceeds-quota"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (WAITS, "admitted"),
        (NO_TURN, "unknown"),
        ((condition("QuotaReserved", "False", f"{WAITS[0]['message']}. Pending the preemption of 1 workload(s)"),), "unknown"),
        ((condition("QuotaReserved", "False", "waiting for all admitted workloads to be in PodsReady condition", "Waiting"),), "unknown"),
    ],
)  # fmt: skip
def test_free_quota_may_go_to_a_workload_that_kueue_has_not_decided_about(
    before: tuple[Json, ...], expected: str
) -> None:
    foreseen = foresee(owner(), state(entries=(workload("first", *before),)))
    assert _code(foreseen) == expected


def test_admitted_workloads_count_before_the_status_of_their_queue_has_them() -> None:
    held = tuple(workload(name, *ADMITTED) for name in ("first", "second"))
    foreseen = foresee(owner(), state(cluster_queue(used="0"), entries=held))
    assert _code(foreseen) == "waiting-for-quota"
    assert foreseen.entry.message is not None
    (lacks,) = foreseen.entry.message.lacks
    assert lacks.amount == 2
    # The status may be the later of both.
    assert _code(foresee(owner(), state(cluster_queue(used="4")))) == "waiting-for-quota"
    assert _code(foresee(owner(), state(cluster_queue(), entries=held[:1]))) == "admitted"


def test_a_strict_queue_names_the_gangs_before() -> None:
    queue = cluster_queue(queueingStrategy="StrictFIFO")
    first = workload("first", *WAITS, priority=5)
    last = workload("last", *NO_TURN, priority=-1)
    foreseen = foresee(owner(), state(queue, entries=(last, first)))
    assert (_code(foreseen), foreseen.entry.message) == ("waits", None)
    assert [ref.name for ref in foreseen.behind] == ["first"]
    assert foreseen.behind[0].kind == "JobSet"
    assert foreseen.behind[0].uid == "owner-first"
    # The entry behind does not matter.
    assert _code(foresee(owner(), state(queue, entries=(last,)))) == "admitted"


def test_usage_decides_the_order_in_a_queue_with_admission_fair_sharing() -> None:
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    queue = cluster_queue(queueingStrategy="StrictFIFO", admissionScope=scope)
    foreseen = foresee(owner(), state(queue, entries=(workload("first", *WAITS, priority=-1),)))
    assert _code(foreseen) == "unknown"
    assert "recent usage" in foreseen.unknown
    assert foreseen.behind == ()


CLASS = {"kueue.x-k8s.io/priority-class": "research"}
REF = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "research"}


def test_the_value_of_a_priority_class_comes_from_workloads_of_that_class() -> None:
    queue = cluster_queue(used="2", queueingStrategy="StrictFIFO")
    waiting = workload("first", *WAITS, priority=5)
    prior = workload("old", *ADMITTED, priority=9, priorityClassRef=REF)
    mine = owner(LABELS | CLASS)
    known = foresee(mine, state(queue, entries=(waiting, prior)))
    assert (_code(known), known.entry.priority, known.entry.priority_class) == ("admitted", 9, "")
    unknown = foresee(mine, state(queue, entries=(waiting,)))
    assert (_code(unknown), unknown.entry.priority_class) == ("unknown", "research")
    assert "WorkloadPriorityClass research" in unknown.unknown
    # A PriorityClass of that name is another class.
    of_pods = workload(
        "old", *ADMITTED, priority=9, priorityClassRef={**REF, "kind": "PriorityClass"}
    )
    assert _code(foresee(mine, state(queue, entries=(waiting, of_pods)))) == "unknown"
    # Two values: the class has changed, and the newer value is unknown.
    newer = workload("new", *ADMITTED, priority=8, priorityClassRef=REF)
    assert _code(foresee(mine, state(queue, entries=(waiting, prior, newer)))) == "unknown"


def test_the_values_of_system_classes_are_known() -> None:
    system = foresee(owner(priority_class="system-node-critical"), state())
    assert (_code(system), system.entry.priority) == ("admitted", 2_000_001_000)
    assert _code(foresee(owner(priority_class="other"), state())) == "unknown"
    # A label of Kueue names another kind of class.
    label = {"kueue.x-k8s.io/priority-class": "system-node-critical"}
    assert _code(foresee(owner(LABELS | label), state())) == "unknown"


@pytest.mark.parametrize(
    ("policy", "priority", "expected"),
    [
        ("LowerPriority", -1, "unknown"),
        ("LowerPriority", 0, "waiting-for-quota"),
        ("LowerOrNewerEqualPriority", 0, "waiting-for-quota"),
        ("Never", -1, "waiting-for-quota"),
        ("SomethingNew", 0, "unknown"),
    ],
)
def test_preemption_within_the_queue(policy: str, priority: int, expected: str) -> None:
    queue = cluster_queue(used="4", preemption={"withinClusterQueue": policy})
    running = workload("running", *ADMITTED, priority=priority)
    assert _code(foresee(owner(), state(queue, entries=(running,)))) == expected
    # It holds 2 cpus, which are too few.
    larger = foresee(owner(), state(queue, entries=(running,)), pods=3)
    assert _code(larger) == "waiting-for-quota"


def test_the_flavor_with_preemption_is_taken_where_the_search_stops_at_it() -> None:
    flavors: dict[str, Json] = {"f": {}, "g": {}}
    running = workload("running", *ADMITTED, priority=-1)

    def code(**fungibility: str) -> str:
        queue = cluster_queue(
            quotas("f"), quotas("g"), used="4",
            preemption={"withinClusterQueue": "LowerPriority"}, flavorFungibility=fungibility,
        )  # fmt: skip
        return _code(foresee(owner(), state(queue, entries=(running,), flavors=flavors)))

    assert code() == "admitted"
    assert code(whenCanPreempt="MayStopSearch") == "unknown"
    assert code(whenCanPreempt="Preempt") == "unknown"  # the name in v1beta1


def test_flavors_of_a_topology_are_unknown_where_they_can_matter() -> None:
    by_rack: Json = {"topologyName": "racks"}
    queue = cluster_queue(used="3")
    assert _code(foresee(owner(), state(flavors={"f": by_rack}))) == "unknown"
    # The quota is missing whatever the topology.
    assert _code(foresee(owner(), state(queue, flavors={"f": by_rack}))) == "waiting-for-quota"
    mixed = state(cluster_queue(quotas("f"), quotas("g")), flavors={"f": by_rack, "g": {}})
    assert _code(foresee(owner(), mixed, pods=5)) == "unknown"


def test_unread_facts_are_unknown_and_not_missing() -> None:
    queue = cluster_queue()
    unread = state(queue, flavors={"g": {}})
    assert foresee(owner(), unread).unknown == "ResourceFlavor f is not known to gangboard."
    del queue["status"]["conditions"]
    assert "has not reported the state" in foresee(owner(), state(queue)).unknown
    unsized = Kueue().forecast(owner(), [], state(), {})
    assert unsized is not None
    assert unsized.unknown == "The number of its pods is unknown."
    variants = cluster_queue(concurrentAdmissionPolicy={"migration": {}})
    assert _code(foresee(owner(), state(variants))) == "unknown"


def test_each_replica_of_a_leader_worker_set_has_a_workload() -> None:
    ref = ObjectRef("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "team-a", "run", "uid-run")
    serving = owner(meta=replace(owner().meta, ref=ref))
    assert _code(foresee(serving, state(), pods=4)) == "admitted"
    assert _code(foresee(serving, state(), pods=5)) == "unknown"


def test_checks_of_other_flavors_are_not_required() -> None:
    def code(*flavors: str) -> str:
        check = {"name": "prov", "onFlavors": list(flavors)}
        strategy = {"admissionChecks": [check]}
        return _code(foresee(owner(), state(cluster_queue(admissionChecksStrategy=strategy))))

    assert code() == "admission-check"
    assert code("f") == "admission-check"
    assert code("g") == "admitted"


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (PodConstraints(affinity=(Term((Requirement("pool", "In", ("h100", "a100")),)),)), "admitted"),
        (PodConstraints(affinity=(Term((Requirement("pool", "In", ("a100",)),)),)), "no-matching-flavor"),
        # One alternative does not speak of the labels of the flavor.
        (PodConstraints(affinity=(Term((Requirement("pool", "In", ("a100",)),)), Term((Requirement("zone", "Exists"),)))), "admitted"),
        (PodConstraints(node_selector=(("pool", "a100"),)), "no-matching-flavor"),
        (PodConstraints(node_selector=(("zone", "a"),)), "admitted"),
    ],
)  # fmt: skip
def test_selectors_are_compared_with_the_labels_of_the_flavor(
    needs: PodConstraints, expected: str
) -> None:
    at = state(flavors={"f": {"nodeLabels": {"pool": "h100"}}})
    assert _code(foresee(owner(), at, needs=needs)) == expected


def test_a_soft_taint_excludes_no_pod() -> None:
    def code(effect: str) -> str:
        taint = {"key": "team", "value": "x", "effect": effect}
        return _code(foresee(owner(), state(flavors={"f": {"nodeTaints": [taint]}})))

    assert code("PreferNoSchedule") == "admitted"
    assert code("NoExecute") == "no-matching-flavor"


def test_pods_count_against_a_quota_for_pods() -> None:
    flavor = quotas()
    flavor["resources"].append({"name": "pods", "nominalQuota": "2"})
    at = state(cluster_queue(flavor))
    assert _code(foresee(owner(), at, pods=2)) == "admitted"
    assert _code(foresee(owner(), at, pods=3)) == "exceeds-quota"


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", "2", "2"), ("cpu", "0.5", "500m"), ("cpu", "1000", "1k"), ("cpu", "0", "0"),
        ("memory", "21474836480", "20Gi"), ("memory", "1000", "1000"), ("memory", "1536", "1536"),
        ("hugepages-2Mi", "2097152", "2Mi"), ("nvidia.com/gpu", "2000", "2k"), ("nvidia.com/gpu", "8", "8"),
    ],
)  # fmt: skip
def test_quantities_are_printed_as_kueue_prints_them(resource: str, amount: str, text: str) -> None:
    assert quantity_text(resource, Decimal(amount)) == text


def test_the_settings_of_a_cluster_queue_are_read() -> None:
    strategy = {"admissionChecks": [{"name": "a"}, {"name": "b", "onFlavors": ["f"]}]}
    preemption = {
        "withinClusterQueue": "LowerPriority",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "LowerPriority"},
    }
    fungibility = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch",
                   "preference": "PreemptionOverBorrowing"}  # fmt: skip
    queue = model(
        RESOURCES["ClusterQueue"],
        with_identity(
            cluster_queue(
                admissionChecksStrategy=strategy,
                preemption=preemption,
                flavorFungibility=fungibility,
            )
        ),
    )
    assert queue.policy == QueuePolicy(
        namespaces=(),
        checks=(RequiredCheck("a"), RequiredCheck("b", ("f",))),
        within_queue=PreemptionPolicy.LOWER,
        reclaim=PreemptionPolicy.ANY,
        borrows_by_preemption=True,
        stops_at_borrowing=False,
        stops_at_preemption=True,
        prefers_preemption=True,
    )
    older = model(
        RESOURCES["ClusterQueue"],
        with_identity({"spec": {"admissionChecks": ["a"]}}),
        "v1beta1",
    )
    assert older.policy == QueuePolicy(checks=(RequiredCheck("a"),))
    assert model(RESOURCES["LocalQueue"], with_identity(local_queue())).policy is None


def _code(foreseen: Forecast) -> str:
    if foreseen.unknown:
        return "unknown"
    if foreseen.entry.message is not None:
        return foreseen.entry.message.code.value
    return "admitted" if foreseen.entry.admitted else "waits"
