"""Situations in which Kueue's decision is foreseen before the JobSet `run` is created."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gangboard.decode.pods import POD
from gangboard.domain.forecast import AdmissionState, Forecast, PodSet
from gangboard.queues.kueue import Kueue
from tests.controlplane.client import Json
from tests.controlplane.conditions import is_true
from tests.controlplane.objects import JobOptions, jobset
from tests.controlplane.queues import KUEUE, cluster_queue, local_queue, resource_flavor
from tests.decode.reading import model, with_identity
from tests.queues.places import CHECK, HIGH, LOW, OWNER, WORKLOADS, Place
from tests.queues.waiting_situations import in_one_rack

UNKNOWN = "unknown"
ADMITTED = ""


@dataclass(frozen=True)
class Foreseen:
    """How a situation is created, the manifest, and the expected forecast."""

    make: Callable[[Place], None]
    manifest: Callable[[Place], Json]
    code: str
    """Code of the forecast. `ADMITTED` or `UNKNOWN` also stand here."""
    flavors: frozenset[str] = frozenset()
    """Suffixes of the expected flavors if it is admitted."""
    reality: str | None = None
    """Code of the real Workload. None: that of the forecast."""


def run(**options: Any) -> Callable[[Place], Json]:
    """Return the manifest of a JobSet of two pods of one cpu."""
    return lambda place: place.jobset(**options)


def with_priority(name: str, **options: Any) -> Callable[[Place], Json]:
    """Return the same manifest with a WorkloadPriorityClass."""

    def manifest(place: Place) -> Json:
        created = place.jobset(**options)
        created["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = name
        return created

    return manifest


def foresee(place: Place, manifest: Json) -> Forecast | None:
    """Return the forecast for a manifest with all objects of the cluster as they are now."""
    entries = [model(WORKLOADS, item) for item in place.client.list(KUEUE, "Workload", "")]
    owner = model(OWNER.resource, with_identity(manifest, "run", place.name))
    state = AdmissionState(place.queues(), entries)
    annotations = manifest["metadata"].get("annotations") or {}
    return Kueue().forecast(owner, pod_sets_of(manifest), state, annotations)


def pod_sets_of(manifest: Json) -> list[PodSet]:
    """Return the pods of a JobSet."""
    result = []
    for entry in manifest["spec"]["replicatedJobs"]:
        job = entry["template"]["spec"]
        pod = model(POD, with_identity({"spec": job["template"]["spec"]}))
        size = entry.get("replicas", 1) * job["parallelism"]
        result.append(PodSet(entry["name"], size, pod.requests, pod.needs))
    return result


def code_of(forecast: Forecast) -> str:
    """Return the code of a forecast, `ADMITTED` or `UNKNOWN`."""
    if forecast.unknown:
        return UNKNOWN
    if forecast.entry.message is not None:
        return forecast.entry.message.code.value
    return ADMITTED if forecast.entry.admitted else "queue-evaluating"


# Queues with several flavors, and cohorts


def _flavors(place: Place, *names: str) -> None:
    for name in names:
        place.make(resource_flavor(f"{place.name}-{name}"))


def _queue(place: Place, quotas: dict[str, Json], name: str = "queue", **spec: Any) -> None:
    """Make a LocalQueue and its ClusterQueue. `quotas` is flavor → quota of cpu, in order."""
    flavors = [
        {"name": f"{place.name}-{flavor}", "resources": [{"name": "cpu", **quota}]}
        for flavor, quota in quotas.items()
    ]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    full = f"{place.name}-{name}"
    place.make(cluster_queue(full, {}, spec={"resourceGroups": groups, **spec}))
    place.client.create(local_queue(name, place.name, cluster_queue=full))


def _nominal(cpu: str, **limits: str) -> Json:
    return {"nominalQuota": cpu, **limits}


def _one(cpu: str = "3", **spec: Any) -> Callable[[Place], None]:
    return lambda place: place.queue(cpu, **spec)


def _used(cpu: str = "3", **spec: Any) -> Callable[[Place], None]:
    """Two of the cpus are in use."""

    def make(place: Place) -> None:
        place.queue(cpu, **spec)
        place.run_admitted("first")

    return make


def _two_flavors(first: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        _flavors(place, "old", "new")
        _queue(place, {"old": _nominal(first), "new": _nominal("4")})

    return make


def _lent(limit: Json, **spec: Any) -> Callable[[Place], None]:
    """A ClusterQueue of 1 cpu in a cohort with another one of 3, which has further limits."""

    def make(place: Place) -> None:
        _flavors(place, "f")
        _queue(place, {"f": _nominal("1", **limit.get("mine", {}))}, cohortName=place.name, **spec)
        other = _nominal("3", **limit.get("theirs", {}))
        _queue(place, {"f": other}, "other", cohortName=place.name)

    return make


def _borrowed(**spec: Any) -> Callable[[Place], None]:
    """The other queue of the cohort has borrowed all."""

    def make(place: Place) -> None:
        _flavors(place, "f")
        _queue(place, {"f": _nominal("2")}, cohortName=place.name, **spec)
        _queue(place, {"f": _nominal("2")}, "other", cohortName=place.name)
        place.run_admitted("first", pods=4, queue="other")

    return make


def _in_tree(cpu: str) -> Callable[[Place], None]:
    """The Cohort above the Cohort of the queue has quota of its own."""

    def make(place: Place) -> None:
        _flavors(place, "f")
        quota = {"name": f"{place.name}-f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
        groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
        names = f"{place.name}-top", f"{place.name}-low"
        for name, spec in zip(
            names, ({"resourceGroups": groups}, {"parentName": names[0]}), strict=True
        ):
            place.make(
                {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}
            )
        _queue(place, {"f": _nominal("1")}, cohortName=names[1])

    return make


def _fungible(policy: str) -> Callable[[Place], None]:
    """The first flavor has to be borrowed, the second is the queue's own."""

    def make(place: Place) -> None:
        _flavors(place, "old", "new")
        _queue(
            place,
            {"old": _nominal("1"), "new": _nominal("4")},
            cohortName=place.name,
            flavorFungibility={"whenCanBorrow": policy},
        )
        _queue(place, {"old": _nominal("4"), "new": _nominal("0")}, "other", cohortName=place.name)

    return make


def _line(strategy: str, priority: str = HIGH) -> Callable[[Place], None]:
    """The first in line waits for more than is free."""

    def make(place: Place) -> None:
        place.queue("3", queueingStrategy=strategy)
        place.run_admitted("running")
        place.run("before", priority)
        place.wait_entry("before", "QuotaReserved", "False")

    return make


def _strict_neighbour(place: Place) -> None:
    """The first in line of a strict queue of the cohort waits for borrowed quota, which Kueue keeps for it."""
    _flavors(place, "f")
    preemption = {"reclaimWithinCohort": "LowerPriority"}
    _queue(place, {"f": _nominal("2")}, cohortName=place.name)
    _queue(
        place,
        {"f": _nominal("2")},
        "other",
        cohortName=place.name,
        queueingStrategy="StrictFIFO",
        preemption=preemption,
    )
    place.run_admitted("first", pods=1)
    place.run_admitted("second", pods=2)
    place.run("third", pods=2, queue="other")
    place.wait_entry("third", "QuotaReserved", "False")


def _flavor_queue(cpu: str = "3", **flavor: Any) -> Callable[[Place], None]:
    return lambda place: place.queue(cpu, flavor=place.flavor(**flavor))


def _memory(place: Place) -> None:
    full = f"{place.name}-queue"
    place.make(cluster_queue(full, {"cpu": "9", "memory": "4Gi"}))
    place.client.create(local_queue("queue", place.name, cluster_queue=full))
    place.run_admitted("first", pods=1, memory="3Gi")


def _no_queue(place: Place) -> None:
    """Only a LocalQueue of another name exists."""
    place.queue(name="other")


def _lost(place: Place) -> None:
    place.client.create(local_queue("queue", place.name, cluster_queue="nowhere"))


def _stopped(kind: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.queue("9")
        place.stop("Hold", kind=kind)
        name, namespace = (
            (place.cluster_queue, None) if kind == "ClusterQueue" else ("queue", place.name)
        )
        place.client.wait_for(
            KUEUE, kind, name, namespace, until=lambda obj: not is_true(obj, "Active")
        )

    return make


def _default(place: Place) -> None:
    place.queue(name="default")


def _without_label(place: Place) -> Json:
    created = place.jobset()
    del created["metadata"]["labels"]
    return created


def _two_sets(second: int) -> Callable[[Place], Json]:
    def manifest(place: Place) -> Json:
        created = place.jobset()
        jobs = {"driver": JobOptions(pods=1), "workers": JobOptions(pods=second)}
        created["spec"] = jobset("run", place.name, jobs=jobs)["spec"]
        return created

    return manifest


def _gated(place: Place) -> Json:
    created = place.jobset()
    gate = {"kueue.x-k8s.io/admission-gated-by": "example.com/approval"}
    created["metadata"].setdefault("annotations", {}).update(gate)
    return created


def _topology(place: Place) -> None:
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    racks = {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": place.name}}
    place.make({**racks, "spec": {"levels": levels}})
    flavor = place.flavor(
        nodeLabels={"tas": "yes"},
        topologyName=place.name,
        tolerations=[{"key": "tas", "operator": "Exists"}],
    )
    place.queue("64", flavor=flavor)


_TAINT = {"key": "team", "value": "x", "effect": "NoSchedule"}
_TOLERATES = [{"key": "team", "operator": "Exists"}]
_CHECKS = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}
_LOWER = {"preemption": {"withinClusterQueue": "LowerPriority"}}
_ANOTHER = {"matchLabels": {"kubernetes.io/metadata.name": "another"}}
_LABELLED = {"matchLabels": {"team": "x"}}


def _low_running(**spec: Any) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.queue("3", **spec)
        place.run_admitted("first", LOW)
        # Workloads show the value of their class.
        place.queue("9", "other")
        place.run_admitted("high", HIGH, queue="other")

    return make


FORESEEN: dict[str, Foreseen] = {
    "fits": Foreseen(_one(), run(pods=3), ADMITTED, frozenset({"default"})),
    "too-large": Foreseen(_one(), run(pods=4), "exceeds-quota"),
    "rest-fits": Foreseen(_used(), run(pods=1), ADMITTED, frozenset({"default"})),
    "in-use": Foreseen(_used(), run(), "waiting-for-quota"),
    "memory": Foreseen(_memory, run(pods=1, memory="1536Mi"), "waiting-for-quota"),
    "not-covered": Foreseen(_one(), run(pods=1, gpu=1), "no-matching-flavor"),
    "other-nodes": Foreseen(
        _flavor_queue(nodeLabels={"gpu": "h100"}), run(node_selector={"gpu": "a100"}), "no-matching-flavor",
    ),
    "own-nodes": Foreseen(
        _flavor_queue(nodeLabels={"gpu": "h100"}), run(node_selector={"zone": "a"}), ADMITTED, frozenset({"flavor"}),
    ),
    "tainted": Foreseen(_flavor_queue(nodeTaints=[_TAINT]), run(), "no-matching-flavor"),
    "tolerated": Foreseen(
        _flavor_queue(nodeTaints=[_TAINT]), run(tolerations=_TOLERATES), ADMITTED, frozenset({"flavor"}),
    ),
    "no-local-queue": Foreseen(_no_queue, run(), "queue-missing"),
    "no-cluster-queue": Foreseen(_lost, run(), "queue-missing"),
    "stopped": Foreseen(_stopped("ClusterQueue"), run(), "queue-stopped"),
    "local-stopped": Foreseen(_stopped("LocalQueue"), run(), "queue-stopped"),
    "inactive": Foreseen(_one(flavor="kueue-test-no-flavor"), run(), "queue-stopped"),
    "other-namespace": Foreseen(_one(namespaceSelector=_ANOTHER), run(), "queue-misconfigured"),
    "by-labels": Foreseen(
        _one(namespaceSelector=_LABELLED), run(), UNKNOWN, reality="queue-misconfigured"
    ),
    "check": Foreseen(_one("9", **_CHECKS), run(), "admission-check"),
    "first-flavor": Foreseen(_two_flavors("2"), run(), ADMITTED, frozenset({"old"})),
    "second-flavor": Foreseen(_two_flavors("1"), run(), ADMITTED, frozenset({"new"})),
    "no-flavor": Foreseen(_two_flavors("1"), run(pods=5), "exceeds-quota"),
    "borrows": Foreseen(_lent({}), run(pods=4), ADMITTED, frozenset({"f"})),
    "borrows-too-much": Foreseen(_lent({}), run(pods=5), "exceeds-quota"),
    "borrowing-limit": Foreseen(_lent({"mine": {"borrowingLimit": "1"}}), run(pods=3), "exceeds-quota"),
    "within-limit": Foreseen(
        _lent({"mine": {"borrowingLimit": "1"}}), run(), ADMITTED, frozenset({"f"})
    ),
    "lending-limit": Foreseen(_lent({"theirs": {"lendingLimit": "1"}}), run(pods=3), "exceeds-quota"),
    "lent": Foreseen(_lent({"theirs": {"lendingLimit": "1"}}), run(), ADMITTED, frozenset({"f"})),
    "borrowed": Foreseen(_borrowed(), run(), "waiting-for-quota"),
    "reclaims": Foreseen(
        _borrowed(preemption={"reclaimWithinCohort": "Any"}), run(), UNKNOWN, reality=ADMITTED
    ),
    "tree": Foreseen(_in_tree("3"), run(pods=4), ADMITTED, frozenset({"f"})),
    "small-tree": Foreseen(_in_tree("2"), run(pods=4), "exceeds-quota"),
    "next-flavor": Foreseen(_fungible("TryNextFlavor"), run(), ADMITTED, frozenset({"new"})),
    "same-flavor": Foreseen(_fungible("MayStopSearch"), run(), ADMITTED, frozenset({"old"})),
    "preempts": Foreseen(
        _low_running(**_LOWER), with_priority(HIGH), UNKNOWN, reality=ADMITTED
    ),
    "equal": Foreseen(_low_running(**_LOWER), with_priority(LOW), "waiting-for-quota"),
    "preempts-not": Foreseen(_low_running(), with_priority(HIGH), "waiting-for-quota"),
    "too-large-to-preempt": Foreseen(
        _low_running(**_LOWER), with_priority(HIGH, pods=4), "exceeds-quota"
    ),
    "unknown-class": Foreseen(_one(), with_priority("nobody"), UNKNOWN, reality="none"),
    "strict": Foreseen(_line("StrictFIFO"), run(pods=1), "queue-evaluating"),
    "strict-first": Foreseen(
        _line("StrictFIFO", LOW), with_priority(HIGH, pods=1), ADMITTED, frozenset({"default"})
    ),
    "passes": Foreseen(_line("BestEffortFIFO"), run(pods=1), ADMITTED, frozenset({"default"})),
    "strict-neighbour": Foreseen(
        _strict_neighbour, run(pods=1), UNKNOWN, reality="waiting-for-quota"
    ),
    "default-queue": Foreseen(_default, _without_label, ADMITTED, frozenset({"default"})),
    "gated": Foreseen(_one(), _gated, "admission-gated"),
    "two-sets": Foreseen(_one(), _two_sets(2), ADMITTED, frozenset({"default"})),
    "second-set": Foreseen(_one(), _two_sets(3), "exceeds-quota"),
    "topology": Foreseen(_topology, lambda place: in_one_rack(place, "run", 5), UNKNOWN, reality="topology-does-not-fit"),
}  # fmt: skip
"""Places of one prefix with near misses of each other."""
