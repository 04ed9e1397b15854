"""The place of a run: a simulated cluster, gangboard's rows about it, and a poll between the two."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User

from gangboard.kube.connection import JSON
from gangboard.store.levers import save_lever_proof
from gangboard.store.models import Cluster, ClusterCapacity, Grant, NodeCapacity
from simulator import Fleet, Gang, NodePool, PodTemplate, Role
from simulator import resources as resources_of_cluster
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from simulator.requests import parse
from tests.interleavings.wire import owner_uids
from tests.polled_plane import PolledPlane

Json = dict[str, Any]

BEGAN = datetime(2020, 1, 6, 8, 0, tzinfo=UTC)
"""Long ago: if the product takes the earlier of the database's time and ours, this makes ours
win."""
CLUSTER, NAMESPACE, JOBSET = "sim", "team", "run"
JOBSETS, JOBS, HOLDS, PODS = (
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("batch/v1", "Job"),
    ("gangboard.dev/v1alpha1", "Hold"),
    ("v1", "Pod"),
)
_BUILD = "the build of this simulator"

FLEET = Fleet(
    "interleavings",
    (NodePool("cpu", 2),),
    (
        Gang(
            NAMESPACE,
            "JobSet",
            JOBSET,
            "running",
            roles=(Role("workers", PodTemplate(grace=5), jobs=3),),
            max_restarts=4,
        ),
    ),
)
"""One JobSet of three Jobs of one pod each, on nodes with capacity for all."""


class Site(PolledPlane):
    """Everything that a run happens on. Made inside a transaction that is rolled back afterwards."""

    def __init__(self, seed: int, lever: str = "hold", *, relocates: bool = False) -> None:
        """`lever` is the best that there is for a child Job. `relocates`: nodes are stored, too."""
        self.relocates = relocates
        clock = SteppedClock(BEGAN)
        plane = SimulatedControlPlane(
            FLEET,
            "1.37",
            clock,
            seed=seed,
            hold=lever != "parallelism",
            independent=lever == "native",
        )
        if lever == "native":
            plane.objects.update(*JOBSETS, JOBSET, _ask_for_independent, NAMESPACE)
        plane.world.scripted.clear()  # the controllers have it from the first moment on
        super().__init__(plane, clock, CLUSTER, parallelism_lever=lever == "parallelism")
        if lever == "native":
            save_lever_proof(self.cluster.pk, lever, held=True, at=BEGAN, build=_BUILD)
        self.people = [self._operator("ada"), self._operator("bob")]
        self.poll()
        # The poll takes it from the schema of JobSets, which this API server does not publish.
        Cluster.objects.filter(pk=self.cluster.pk).update(controller_build=_BUILD)

    def _operator(self, name: str) -> User:
        user = User.objects.create(username=name)
        Grant.objects.create(user=user, role="operator", cluster=self.cluster)
        return user

    def poll(self) -> None:
        """Read the cluster. With relocations also store its nodes with their pods."""
        super().poll()
        if self.relocates:
            self._store_nodes()

    def _store_nodes(self) -> None:
        pods = [pod for pod in self.objects(PODS) if pod["spec"].get("nodeName")]
        owner = self.find(JOBSETS, JOBSET)
        for node in self.plane.objects.list("v1", "Node"):
            name = node["metadata"]["name"]
            own = [pod["metadata"]["uid"] for pod in pods if pod["spec"]["nodeName"] == name]
            NodeCapacity.objects.update_or_create(
                cluster=self.cluster,
                name=name,
                defaults={
                    "labels": node["metadata"]["labels"],
                    "allocatable": {"cpu": "8", "memory": "34359738368", "pods": "110"},
                    "used": {"pods": str(len(own))},
                    "pods": dict.fromkeys(own, owner["metadata"]["uid"] if owner else ""),
                },
            )
        now = self.clock.now()
        ClusterCapacity.objects.update_or_create(
            cluster=self.cluster, defaults={"observed_at": now}
        )

    # What is there

    def objects(self, kind: tuple[str, str]) -> list[Json]:
        """Return all objects of a kind as they are in the cluster; none where it is not served."""
        if kind == HOLDS and not self.plane.store.has(resources_of_cluster.HOLDS):
            return []
        return self.plane.objects.list(*kind, NAMESPACE)

    def find(self, kind: tuple[str, str], name: str) -> Json | None:
        """Return one object, None when it is not there."""
        return self.plane.objects.get(*kind, name, NAMESPACE)

    def pods_of(self, job_uid: str) -> list[Json]:
        """Return the pods of a Job, the dying included."""
        return [pod for pod in self.objects(PODS) if job_uid in owner_uids(pod)]

    def request(self, method: str, path: str, body: bytes = b"", content_type: str = JSON) -> int:
        """Send a request like kubectl. Return the status."""
        headers = {"Content-Type": content_type, "User-Agent": "kubectl/v1.37.0"}
        return self.plane.api.answer(parse(method, path, headers, body)).code


def _ask_for_independent(jobset: Json) -> None:
    annotations = jobset["metadata"].setdefault("annotations", {})
    annotations["jobset.sigs.k8s.io/reconciliation-mode"] = "Independent"
