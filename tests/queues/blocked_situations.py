"Situations in which Kueue cannot admit `run`, and near misses of them."

from __future__ import annotations

from tests.controlplane.conditions import is_true
from tests.controlplane.queues import KUEUE, local_queue
from tests.queues.places import CHECK, Place
from tests.situations import Situation


def _too_large(place: Place) -> None:
    """Twin: asks for all that there is."""
    place.queue()
    place.run("twin", pods=3)
    place.run(pods=20)


def _not_covered(place: Place) -> None:
    """The queue has quota for cpu only. Twin: asks for cpu only."""
    place.queue()
    place.run("twin", pods=1)
    place.run(pods=1, gpu=1)


def _other_nodes(place: Place) -> None:
    """Twin: selects the nodes that the flavor is for."""
    place.queue(flavor=place.flavor(nodeLabels={"gpu": "h100"}))
    place.run("twin", node_selector={"gpu": "h100"})
    place.run(node_selector={"gpu": "a100"})


def _tainted(place: Place) -> None:
    """Twin: tolerates the taint of the flavor."""
    taint = {"key": "team", "value": "x", "effect": "NoSchedule"}
    place.queue(flavor=place.flavor(nodeTaints=[taint]))
    place.run("twin", tolerations=[{"key": "team", "operator": "Exists"}])
    place.run()


def _no_local_queue(place: Place) -> None:
    """Twin: that of another name exists."""
    place.queue(name="other")
    place.run()
    place.run("twin", queue="other")


def _no_cluster_queue(place: Place) -> None:
    """Twin: its LocalQueue leads to one that exists."""
    place.queue(name="other")
    place.client.create(local_queue("queue", place.name, cluster_queue="nowhere"))
    place.run()
    place.run("twin", queue="other")


def _stopped(place: Place) -> None:
    """Held and emptied: what ran is taken back. Twin: held only."""
    for queue, name in (("queue", "run"), ("other", "twin")):
        place.queue(name=queue)
        place.run_admitted(name, queue=queue)
    place.stop("HoldAndDrain")
    place.stop("Hold", "other")


def _held(place: Place) -> None:
    """Held and not emptied. Twin: was admitted before, and goes on."""
    place.queue("9")
    place.run_admitted("twin")
    place.stop("Hold")
    place.run()


def _local_stopped(place: Place) -> None:
    """Twin: comes by another LocalQueue of the same ClusterQueue."""
    place.queue("9")
    place.client.create(local_queue("other", place.name, cluster_queue=place.cluster_queue))
    # Kueue reports a new queue as inactive for a moment, which would hide when it saw the stop.
    place.client.wait_for(
        KUEUE, "LocalQueue", "queue", place.name, until=lambda found: is_true(found, "Active")
    )
    place.stop("Hold", kind="LocalQueue")
    place.run()
    place.run("twin", queue="other")


def _inactive(place: Place) -> None:
    """Twin: the flavor of its queue exists."""
    place.queue(flavor="kueue-test-no-flavor")
    place.queue(name="other")
    place.run()
    place.run("twin", queue="other")


def _other_namespace(place: Place) -> None:
    """Twin: its queue accepts this namespace."""
    place.queue(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "another"}})
    mine = {"matchLabels": {"kubernetes.io/metadata.name": place.name}}
    place.queue(name="other", namespaceSelector=mine)
    place.run()
    place.run("twin", queue="other")


def _no_check(place: Place) -> None:
    """Twin: the check of its queue exists, and has not passed."""
    for queue, name, check in (("queue", "run", "kueue-test-no-check"), ("other", "twin", CHECK)):
        checks = {"admissionChecks": [{"name": check}]}
        place.queue(name=queue, admissionChecksStrategy=checks)
        place.run(name, queue=queue)


CANNOT = "Queue queue cannot admit it: "
NEVER: dict[str, Situation[Place]] = {
    "too-large": Situation(
        _too_large, "exceeds-quota", "blocked",
        f"{CANNOT}20 cpu of flavor default are needed, but the queue can give at most 3.",
        twin="running",
    ),
    "not-covered": Situation(
        _not_covered, "no-matching-flavor", "blocked",
        f"{CANNOT}no flavor of the queue has nvidia.com/gpu.", twin="running",
    ),
    "other-nodes": Situation(
        _other_nodes, "no-matching-flavor", "blocked",
        f"{CANNOT}flavor kq-other-nodes-flavor is for other nodes than node selector and "
        "affinity allow.", twin="running",
    ),
    "tainted": Situation(
        _tainted, "no-matching-flavor", "blocked",
        f"{CANNOT}taint team=x:NoSchedule of flavor kq-tainted-flavor is not tolerated.",
        twin="running",
    ),
    "no-local-queue": Situation(
        _no_local_queue, "queue-missing", "blocked",
        f"{CANNOT}LocalQueue queue does not exist in this namespace.", twin="running",
    ),
    "no-cluster-queue": Situation(
        _no_cluster_queue, "queue-missing", "blocked",
        f"{CANNOT}ClusterQueue nowhere does not exist.", twin="running",
    ),
    "stopped": Situation(
        _stopped, "queue-stopped", "blocked",
        f"{CANNOT}ClusterQueue kq-stopped-queue is stopped by gangboard-tests "
        "since {stopped} UTC.", twin="running",
    ),
    "held": Situation(
        _held, "queue-stopped", "blocked",
        f"{CANNOT}ClusterQueue kq-held-queue is stopped by gangboard-tests since "
        "{stopped} UTC.", twin="running",
    ),
    "local-stopped": Situation(
        _local_stopped, "queue-stopped", "blocked",
        f"{CANNOT}LocalQueue queue is stopped by gangboard-tests since {{stopped}} UTC.",
        twin="running",
    ),
    "inactive": Situation(
        _inactive, "queue-stopped", "blocked",
        f"{CANNOT}ClusterQueue kq-inactive-queue is inactive: ResourceFlavor kueue-test-no-flavor does "
        "not exist.", twin="running",
    ),
    "other-namespace": Situation(
        _other_namespace, "queue-misconfigured", "blocked",
        f"{CANNOT}the ClusterQueue does not admit this namespace.", twin="running",
    ),
    "no-check": Situation(
        _no_check, "queue-stopped", "blocked",
        f"{CANNOT}ClusterQueue kq-no-check-queue is inactive: AdmissionCheck kueue-test-no-check does not "
        "exist.", twin="admission-check",
    ),
}  # fmt: skip
