"""A simulated cluster, an operator, and workers that tests can kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.db.models.functions import Now

from gangboard.actions import service
from gangboard.actions.engine import Engine
from gangboard.domain.action import ActionRequest, ActionTarget, Verb
from gangboard.kube.credentials import read_kubeconfig
from gangboard.polling.poll import poll_once
from gangboard.store.access import Viewer, viewer_of
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Action, Cluster, Grant
from gangboard.store.secrets import seal
from simulator import Simulator
from simulator.requests import Request
from tests.random_sets import sized

Json = dict[str, Any]
NAMESPACE = "team-nlp"
JOBSET = "train"
WORKER = "train-workers-0"
BATCH, JOBSETS, HOLDS = "batch/v1", "jobset.x-k8s.io/v1alpha2", "gangboard.dev/v1alpha1"


PATCH = "patch:about-to-send"
"""The checkpoint right before the patch leaves."""
POLICY_NOT_READY = (
    'policy "gangboard-hold" denied request: failed to configure policy: failed to find resource '
    "referenced by paramKind: 'gangboard.dev/v1alpha1, Kind=Hold'"
)
"""Message of the 403 of an API server that has just started (observed)."""


class Killed(BaseException):
    """The worker dies here, and its remaining steps do not happen."""


class QuickClock:
    """Time in which waiting is short: a pause of a second takes some hundredths of one, or nothing in an idle cluster."""

    def __init__(self, shortest: float = 0.03, is_idle: Callable[[], bool] = lambda: False) -> None:
        self._ahead = 0.0
        self._shortest = shortest
        self._is_idle = is_idle

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        slept = 0.0 if self._is_idle() else min(seconds, self._shortest)
        time.sleep(slept)
        self._ahead += seconds - slept

    def advance(self, seconds: float) -> None:
        """Let time pass while no worker runs."""
        self._ahead += seconds

    def database_now(self, later: float = 0.0) -> models.Expression:
        seconds = models.Value(timedelta(seconds=later + self._ahead))
        return models.ExpressionWrapper(Now() + seconds, output_field=models.DateTimeField())


@dataclass
class Wire:
    """The requests that have reached the API server."""

    seen: list[Request] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)
    """When each was answered, by `time.monotonic`."""

    def at(self, request: Request) -> float:
        """Return when a request was answered."""
        return self.times[id(request)]

    def writes(self, verb: str, resource: str, *, dry_run: bool = False) -> list[Request]:
        """Return the writes of one kind."""
        return [
            request
            for request in self.seen
            if request.verb == verb
            and request.resource is not None
            and request.resource.plural == resource
            and request.is_dry_run is dry_run
        ]

    @property
    def changes(self) -> list[Request]:
        """Everything that was sent to change something."""
        return [
            request
            for request in self.seen
            if request.verb in ("create", "update", "patch", "delete")
            and request.resource is not None
            and not request.is_dry_run
        ]


@dataclass
class Site:
    """One simulated cluster with an operator."""

    simulator: Simulator
    cluster: Cluster
    user: User
    wire: Wire
    clock: QuickClock

    @property
    def viewer(self) -> Viewer:
        return viewer_of(self.user)

    # The cluster

    def job(self, name: str = WORKER) -> Json:
        job_object = self.simulator.objects.get(BATCH, "Job", name, NAMESPACE)
        assert job_object is not None, name
        return job_object

    def jobset(self) -> Json:
        jobset_object = self.simulator.objects.get(JOBSETS, "JobSet", JOBSET, NAMESPACE)
        assert jobset_object is not None
        return jobset_object

    def suspended(self, name: str = WORKER) -> bool:
        return bool(self.job(name)["spec"].get("suspend"))

    def holds(self) -> list[Json]:
        return self.simulator.objects.list(HOLDS, "Hold", NAMESPACE)

    def pods(self, job: str = WORKER) -> list[Json]:
        uid = self.job(job)["metadata"]["uid"]
        return [
            pod
            for pod in self.simulator.objects.list("v1", "Pod", NAMESPACE)
            if any(ref["uid"] == uid for ref in pod["metadata"].get("ownerReferences", []))
        ]

    def uids(self, job: str) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods(job)}

    def touch(self, name: str, change: Callable[[Json], None]) -> None:
        """Let another client change a Job."""
        self.simulator.objects.update(BATCH, "Job", name, change, NAMESPACE)

    def make_anew(self, name: str = WORKER) -> None:
        """Let another Job with the same name and another uid be there."""
        job = self.job(name)
        meta = {**job["metadata"], "uid": f"anew-{job['metadata']['uid']}"}
        self.simulator.objects.put({**job, "metadata": meta}, scripted=False)

    def poll(self) -> None:
        """Let the reader look."""
        assert poll_once(self.cluster.name)[0].sentence == ""

    # Acting

    def action_request(
        self, verb: str = "suspend", name: str = WORKER, **options: Any
    ) -> ActionRequest:
        """Return a request about an object as it is now."""
        if name == JOBSET:
            owner, kind, group = self.jobset(), "JobSet", "jobset.x-k8s.io"
        else:
            owner, kind, group = self.job(name), "Job", "batch"
        meta = owner["metadata"]
        target = ActionTarget(
            self.cluster.name,
            group,
            kind,
            NAMESPACE,
            name,
            options.pop("uid", meta["uid"]),
            options.pop("generation", meta["generation"]),
        )
        return ActionRequest(
            **{"verb": Verb(verb), "target": target, "reason": "the loss explodes", **options}
        )

    def request(self, verb: str = "suspend", name: str = WORKER, **options: Any) -> str:
        """Ask and return the id of the action."""
        return service.request(
            self.viewer,
            self.action_request(verb, name, **options),
            now=self.clock.now(),
            clock=self.clock,
        ).action_id

    def engine(self, **options: Any) -> Engine:
        return Engine(**{"clock": self.clock, **options})

    def act(self, verb: str = "suspend", name: str = WORKER, **options: Any) -> Action:
        """Ask and carry it out to its end."""
        return self.engine().finish(self.request(verb, name, **options))


def record_requests(simulator: Simulator) -> Wire:
    """Remember every request from now on."""
    wire, answer = Wire(), simulator.api.answer

    def remember(request: Request) -> Any:
        try:
            return answer(request)
        finally:
            wire.times[id(request)] = time.monotonic()
            wire.seen.append(request)

    simulator.api.answer = remember  # type: ignore[method-assign]
    return wire


def make_site(
    simulator: Simulator, *, actor: bool = True, name: str = "east", user_name: str = "olga"
) -> Site:
    """Add a running simulator as a cluster, poll it once, and make an operator."""
    reader = read_kubeconfig(simulator.kubeconfig_text(read_only=True))
    cluster = add_cluster(name=name, document=reader.to_document(), server=reader.server)
    if actor:
        document = read_kubeconfig(simulator.kubeconfig_text()).to_document()
        Cluster.objects.filter(pk=cluster.pk).update(actor_credentials=seal(document))
        cluster.refresh_from_db()
    user = User.objects.create_user(user_name, password=None)
    Grant.objects.create(user=user, role="operator", cluster=cluster, namespace="")
    clock = QuickClock(is_idle=lambda: simulator.clock.is_idle)
    site = Site(simulator, cluster, user, record_requests(simulator), clock)
    site.poll()
    return site


def crash_points(boundaries: Sequence[str]) -> Sequence[str]:
    """Return the boundaries at which a worker is killed; `make exhaustive` takes all.

    Before a worker writes, and after a rehearsal, nothing differs from the boundary before.
    """
    same = (":before-writing", ":rehearsal", "rehearsal:answered")
    return sized([name for name in boundaries if not name.endswith(same)], boundaries)


def at(name: str, do: Callable[[], Any]) -> Callable[[str], None]:
    """Return a checkpoint that does something once."""
    done: list[str] = []

    def checkpoint(reached: str) -> None:
        if reached == name and not done:
            done.append(reached)
            do()

    return checkpoint


def played(site: Site, when: str, do: Callable[[], Any], **options: Any) -> Action:
    """Ask, and carry it out to its end with something happening at a checkpoint."""
    return site.engine(checkpoint=at(when, do)).finish(site.request(**options), seconds=4000)


def untouched(site: Site, action: Action, state: str, sentence: str) -> None:
    """Check that no object was changed and that the sentence gives the reason."""
    assert action.state == state, action.message
    assert sentence in action.message, action.message
    assert action.finished_at is not None
    assert action.due_at is None
    assert action.sent_at is None
    assert site.wire.changes == []
    assert not site.suspended()
