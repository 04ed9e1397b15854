"""The place of a run: a simulated cluster, gangboard's rows about it, and a poll between the two."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from typing import Any, cast
from unittest import mock

from django.contrib.auth.models import User
from django.db import models

from gangboard.decode.events import EVENT
from gangboard.kube.connection import JSON, Connection, Query
from gangboard.kube.faults import SentRequest, status_fault
from gangboard.polling import reflector, store_writer, window
from gangboard.polling.changes import News
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.reflector import Reflector
from gangboard.polling.watched import Watched
from gangboard.polling.window import Window
from gangboard.simulator import Fleet, Gang, NodePool, PodTemplate, Role
from gangboard.simulator import resources as resources_of_cluster
from gangboard.simulator.clock import SteppedClock
from gangboard.simulator.plane import Plane
from gangboard.simulator.requests import parse
from gangboard.store.cluster_leases import acquire_lease
from gangboard.store.lever_proofs import save_lever_proof
from gangboard.store.models import Cluster, Grant
from tests.interleavings.wire import HOST, owner_uids, target_of

Json = dict[str, Any]

BEGAN = datetime(2020, 1, 6, 8, 0, tzinfo=UTC)
"""Long ago: where the product takes the earlier of the database's time and ours, ours is meant."""
CLUSTER, NAMESPACE, JOBSET = "sim", "team", "run"
JOBSETS, JOBS, HOLDS, PODS = (
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("batch/v1", "Job"),
    ("gangboard.dev/v1alpha1", "Hold"),
    ("v1", "Pod"),
)
_FOREVER = 1e9
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
"""One JobSet of three Jobs of one pod each, on nodes with room for all."""


class Moments:
    """The time as one worker sees it, a little off the database's, and the database's own."""

    def __init__(self, clock: SteppedClock, skew: float = 0.0) -> None:
        self._clock = clock
        self._skew = skew

    def now(self) -> datetime:
        """The time of this worker, in UTC."""
        return datetime.fromtimestamp(self._clock.now().timestamp() + self._skew, UTC)

    def monotonic(self) -> float:
        """Seconds that only go up."""
        return self._clock.seconds

    def database_now(self, later: float = 0.0) -> models.Expression:
        """The time of the database, plus seconds."""
        moment = datetime.fromtimestamp(self._clock.now().timestamp() + later, UTC)
        return models.Value(moment, output_field=models.DateTimeField())


class Site:
    """Everything that a run happens on. Made inside a transaction that is rolled back afterwards."""

    def __init__(self, seed: int, lever: str = "hold") -> None:
        """`lever` is the best that there is for a child Job."""
        self.clock = SteppedClock(BEGAN)
        self.plane = Plane(
            FLEET,
            "1.37",
            self.clock,
            seed=seed,
            hold=lever != "parallelism",
            independent=lever == "native",
        )
        if lever == "native":
            self.plane.objects.update(*JOBSETS, JOBSET, _ask_for_independent, NAMESPACE)
        self.plane.world.scripted.clear()  # the controllers have it from the first moment on
        self.cluster = Cluster.objects.create(
            name=CLUSTER,
            server=f"https://{HOST}",
            credentials=b"",
            actor_credentials=b"actor",
            parallelism_lever=lever == "parallelism",
        )
        if lever == "native":
            save_lever_proof(self.cluster.pk, lever, held=True, at=BEGAN, build=_BUILD)
        self.people = [self._operator("ada"), self._operator("bob")]
        self._cache = self._new_cache()
        self._window = Window(
            self._cache, seconds=_FOREVER, repair_interval=_FOREVER, list_only=True
        )
        self._seen: dict[str, int] = {}
        self.poll()
        # The poll takes it from the schema of JobSets, which this API server does not publish.
        Cluster.objects.filter(pk=self.cluster.pk).update(controller_build=_BUILD)

    def _operator(self, name: str) -> User:
        user = User.objects.create(username=name)
        Grant.objects.create(user=user, role="operator", cluster=self.cluster)
        return user

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

    def ask(self, method: str, path: str, body: bytes = b"", content_type: str = JSON) -> int:
        """Send a request as somebody with kubectl; return the status."""
        headers = {"Content-Type": content_type, "User-Agent": "kubectl/v1.37.0"}
        return self.plane.api.answer(parse(method, path, headers, body)).code

    # The poll

    def _new_cache(self) -> ClusterCache:
        held = acquire_lease(self.cluster.pk, "poll")
        assert held is not None
        return ClusterCache(
            claim=held,
            cluster_name=CLUSTER,
            credentials_stamp=b"",
            connection=_Reader(self.plane),
            watched={resource.key: Watched(resource) for resource in resources()},
        )

    def poll(self) -> None:
        """List what has changed since the last poll, store it, assess it: in one moment."""
        with _polling_at(self.clock):
            if self._cache.discovery is None:
                assert self._window._discover()
            for watched in self._cache.watched.values():
                if watched.version and watched.resource.key != EVENT.key and self._is_new(watched):
                    self._list(watched)
            self._window.writer.commit()

    def _is_new(self, watched: Watched) -> bool:
        resource = watched.resource
        for table in self.plane.store.resources():
            if (table.group, table.plural) == (resource.group, resource.plural):
                end = self.plane.store.table(table).history.end
                is_new = self._seen.get(resource.key) != end
                self._seen[resource.key] = end
                return is_new
        return True

    def _list(self, watched: Watched) -> None:
        news: queue.Queue[News] = queue.Queue()
        one = Reflector(
            connection=self._cache.connection,
            watched=watched,
            versions=self._cache.versions[watched.resource.key],
            list_slots=threading.BoundedSemaphore(1),
            out=news,
            ends_at=_FOREVER,
            list_only=True,
            on_contact=lambda: None,
        )
        one.run()
        if one.crash is not None:
            raise one.crash
        state = watched.state
        while not news.empty():
            self._window.writer.take(news.get())
        # That only its resourceVersion has moved on is of no use to a poll that lists.
        watched.changed = watched.state != state


class _Reader(Connection):
    """The poll's way to the API server: it always gets its answer."""

    def __init__(self, plane: Plane) -> None:
        self.host = HOST
        self.total_deadline = 30.0
        self._plane = plane

    def close(self) -> None:
        """There is nothing to give back."""

    def get(
        self, path: str, query: Query = None, *, deadline: float | None = None, accept: str = JSON
    ) -> bytes:
        """Return the answer to a GET. Raises KubeError."""
        answer = self._plane.api.answer(
            parse("GET", target_of(path, query), {"Accept": accept}, b"")
        )
        if answer.code >= 400:
            asked = SentRequest(HOST, "GET", path, 3.0, 30.0, 0.0)
            raise status_fault(answer.code, answer.headers, answer.body, asked)
        return answer.body


def _ask_for_independent(jobset: Json) -> None:
    annotations = jobset["metadata"].setdefault("annotations", {})
    annotations["jobset.sigs.k8s.io/reconciliation-mode"] = "Independent"


@contextmanager
def _polling_at(clock: SteppedClock) -> Iterator[None]:
    """Have the poll take its time from a clock."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Then:
            return cast("Then", clock.now())

    with (
        mock.patch.object(reflector, "datetime", Then),
        mock.patch.object(window, "datetime", Then),
        mock.patch.object(store_writer, "datetime", Then),
    ):
        yield
