"""Who takes part in a run: operators, act workers, a sweeper, an admin, somebody with kubectl, fate."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from django.contrib.auth.models import User

from gangboard.actions import guards, proofs, service
from gangboard.actions.asks import Ask, AskError, Fault
from gangboard.actions.door import KubeDoor
from gangboard.actions.engine import Engine
from gangboard.actions.sweeper import Sweeper
from gangboard.domain.action import Target, Verb
from gangboard.domain.owner import Owner
from gangboard.store import actions
from gangboard.store.access import viewer_of
from gangboard.store.models import Cluster, Grant, Switch, WatchedObject
from gangboard.store.objects import unpack
from tests.interleavings.hub import Actor, Hub
from tests.interleavings.site import CLUSTER, HOLDS, JOBS, JOBSET, NAMESPACE, Json, Moments, Site
from tests.interleavings.trace import Trace
from tests.interleavings.wire import Ledger, Weather, Wire

_MERGE = "application/merge-patch+json"
_BATCH = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/"
_JOBSET = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{JOBSET}"
_HOLD = f"/apis/gangboard.dev/v1alpha1/namespaces/{NAMESPACE}/holds/"
_POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
_MOST_ORDERS = 12
_IDLE = "waits for work"
_REST = 25.0
"""Seconds in which the poll can notice what has become of verified actions."""


@dataclass
class Broker:
    """Redis: it wakes workers, loses some orders, and gives others twice."""

    random: Random
    orders: deque[tuple[str, Any]] = field(default_factory=deque)
    """What is to be done (advance, inspect, prove) and with which id."""

    def give(self, task: str, subject: Any) -> None:
        """Take an order."""
        chance = self.random.random()
        times = 0 if chance < 0.2 else 2 if chance > 0.9 else 1
        self.orders.extend([(task, subject)] * times)


@dataclass
class Switches:
    """When something that forbids to send was on: from second to second of the clock."""

    read_only: list[list[float]] = field(default_factory=list)
    withdrawn: dict[str, list[list[float]]] = field(default_factory=dict)
    """By the name of the person whose role was taken."""


class Cast:
    """Everybody who acts in one run, and what they share."""

    def __init__(self, site: Site, hub: Hub, random: Random, trace: Trace) -> None:
        self.site = site
        self.hub = hub
        self.random = random
        self.trace = trace
        self.ledger = Ledger()
        self.weather = Weather(reads=0.03, writes=0.12)
        self.broker = Broker(random)
        self.switches = Switches()
        self.accepted: list[str] = []
        """Ids of the actions that operators were told were taken."""
        self.crashes: list[str] = []
        self.is_calm = False
        """Nobody breaks anything any more."""
        self.on_read: Callable[[str], None] = lambda _action: None
        """Called with the action of each read of a worker, at the moment of its answer."""
        self.rest = _REST
        self._workers = 0

    def calm_down(self) -> None:
        """From now on nobody breaks anything."""
        self.is_calm = True
        self.weather.reads = self.weather.writes = 0.0
        self.trace.write("", "--- calm ---")

    def _now_and_then(self, least: float, most: float) -> float:
        """Return seconds to wait; in the calm, where order matters less, longer ones."""
        return self.random.uniform(least, most) * (2.5 if self.is_calm else 1.0)

    # Operators

    def operator(self, user: User, times: int) -> Callable[[], None]:
        """Return the work of a person who suspends and resumes, now and then with an old page."""

        def work() -> None:
            for number in range(times):
                self.hub.sleep(self.random.uniform(0.0, 25.0), "looks at the board")
                if self.is_calm:
                    return
                owner = self._pick()
                if owner is not None:
                    self._ask(user, owner, number)

        return work

    def _pick(self) -> Owner | None:
        """Return a Job or the JobSet as the page has it."""
        rows = WatchedObject.objects.filter(resource__in=("jobs.batch", "jobsets.jobset.x-k8s.io"))
        found = [unpack(bytes(data), Owner) for data in rows.values_list("data", flat=True)]
        found.sort(key=lambda owner: (owner.meta.ref.kind, owner.meta.ref.name, owner.meta.ref.uid))
        weights = [
            3 if owner.meta.ref.kind == "Job" else 6 if owner.suspended else 1 for owner in found
        ]
        return self.random.choices(found, weights)[0] if found else None

    def _ask(self, user: User, owner: Owner, number: int) -> None:
        ref = owner.meta.ref
        sensible = Verb.RESUME if owner.suspended else Verb.SUSPEND
        verb = sensible if self.random.random() < 0.85 else self.random.choice(list(Verb))
        self.hub.sleep(self.random.choice((0.0, 0.5, 3.0)), "reads the dialog")
        until = None
        if verb is Verb.SUSPEND and ref.kind == "Job" and self.random.random() < 0.2:
            until = self.site.clock.now() + timedelta(seconds=self.random.uniform(10, 60))
        seen = self.random.random() < 0.8
        target = Target(
            CLUSTER,
            ref.group,
            ref.kind,
            ref.namespace,
            ref.name,
            ref.uid,
            owner.meta.generation if seen else None,
        )
        name = str(user)
        key = f"{name}-{number}"
        ask = Ask(verb, target, "a test of gangboard", until=until, idempotency_key=key)
        for _ in range(self.random.choice((1, 1, 1, 2))):  # some click twice
            self._send(user, ask)
            self.hub.pause("clicks")

    def _send(self, user: User, ask: Ask) -> None:
        what = f"{ask.verb} {ask.target.kind} {ask.target.name}"
        try:
            taken = service.request(
                viewer_of(user), ask, now=self.site.clock.now(), clock=Moments(self.site.clock)
            )
        except AskError as error:
            self.trace.write(str(user), f"{what}: {error.fault}: {error}")
            if error.fault in (Fault.INVALID, Fault.KEY_REUSED):
                self.crashes.append(
                    f"a request that was in order was called {error.fault}: {error}"
                )
            return
        if taken.created:
            self.accepted.append(taken.action_id)
            self.trace.name(taken.action_id, f"A{len(self.accepted)}")
        self.trace.write(str(user), f"{what} until {ask.until}: {taken.action_id}")
        self.broker.give("advance", taken.action_id)

    # Workers

    def start_worker(self, *, after: float = 0.0) -> Actor:
        """Add an act worker; a new one has a new name."""
        self._workers += 1
        name = f"worker-{self._workers}"
        moments = Moments(self.site.clock, skew=self.random.uniform(-1.5, 1.5))
        wire = Wire(self.site.plane, self.hub, self.random, self.ledger, self.weather, self.trace)

        def open_door(_cluster: Cluster, action: str) -> KubeDoor:
            return KubeDoor(wire.for_action(lambda _path: self.on_read(action)), action)

        engine = Engine(
            holder=name,
            clock=_Sleeping(moments, self.hub),
            open_door=open_door,
            checkpoint=self.hub.pause,
        )
        return self.hub.spawn(name, lambda: self._serve(engine), after=after)

    def _serve(self, engine: Engine) -> None:
        while True:
            if not self.broker.orders:
                self.hub.sleep(self._now_and_then(0.02, 0.3), _IDLE)
                continue
            task, subject = self.broker.orders.popleft()
            try:
                self._do(engine, task, subject)
            except Exception as defect:  # noqa: BLE001  # the edge of a task, as in the product's worker
                self.note_crash(engine.holder, f"{task} of {subject}", defect)
            self.hub.pause(_IDLE)

    def note_crash(self, who: str, what: str, defect: BaseException) -> None:
        """Take note of an exception that nobody wanted."""
        self.crashes.append(f"{type(defect).__name__} in {what}: {defect}")
        self.trace.write(who, f"CRASH in {what}")
        self.trace.write_stack(defect)

    def _do(self, engine: Engine, task: str, subject: Any) -> None:
        """Do what the tasks of gangboard.actions.tasks do."""
        if task == "inspect":
            guards.inspect(subject, engine.clock, engine.open_door)
        elif task == "prove":
            proofs.prove_all(subject, engine.clock, engine.open_door)
        else:
            delay = engine.advance(subject)
            if delay is not None:
                self.site.clock.soon(lambda: self.broker.give("advance", subject), delay)

    def is_busy(self, actor: Actor) -> bool:
        """Whether it is a worker in the middle of an action."""
        return actor.name.startswith("worker") and actor.where not in (_IDLE, "begins")

    # gangboard's own clockwork

    def sweeper(self) -> None:
        """Sweep every two seconds or so, as beat has it."""
        give = self.broker.give
        sweeper = Sweeper(_Sleeping(Moments(self.site.clock), self.hub))
        while True:
            self.hub.sleep(self._now_and_then(2.0, 3.5), "sweeps")
            if len(self.broker.orders) < _MOST_ORDERS:  # stale orders expire
                sweeper.order(
                    lambda action: give("advance", action),
                    lambda action: give("inspect", action),
                    lambda cluster: give("prove", cluster),
                )

    def poller(self) -> None:
        """Look at the cluster every now and then."""
        while True:
            self.hub.sleep(self._now_and_then(0.3, 1.5), "polls")
            self.site.poll()

    # Those who disturb

    def admin(self) -> None:
        """Switch to read-only and back, take a role and give it back."""
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            self.hub.sleep(self.random.uniform(0.0, 60.0), "thinks")
            if self.is_calm:
                return
            self.random.choice((self._read_only, self._cluster_read_only, self._withdraw))()

    def _read_only(self) -> None:
        now = self.site.clock.now()
        Switch.objects.update_or_create(
            name=actions.READ_ONLY, defaults={"is_on": True, "changed_at": now}
        )
        self._forbid(self.switches.read_only, "switches gangboard to read-only")
        Switch.objects.filter(name=actions.READ_ONLY).update(is_on=False)
        self._allow(self.switches.read_only, "ends read-only")

    def _cluster_read_only(self) -> None:
        Cluster.objects.filter(pk=self.site.cluster.pk).update(read_only=True)
        self._forbid(self.switches.read_only, "switches the cluster to read-only")
        Cluster.objects.filter(pk=self.site.cluster.pk).update(read_only=False)
        self._allow(self.switches.read_only, "ends read-only of the cluster")

    def _withdraw(self) -> None:
        user = self.random.choice(self.site.people)
        spans = self.switches.withdrawn.setdefault(str(user), [])
        Grant.objects.filter(user=user).update(role="viewer")
        self._forbid(spans, f"withdraws the role of {user}")
        Grant.objects.filter(user=user).update(role="operator")
        self._allow(spans, f"gives the role of {user} back")

    def _forbid(self, spans: list[list[float]], what: str) -> None:
        self.trace.write("admin", what)
        spans.append([self.site.clock.seconds, float("inf")])
        self.hub.sleep(self.random.uniform(1.0, 20.0), "waits")

    def _allow(self, spans: list[list[float]], what: str) -> None:
        self.trace.write("admin", what)
        spans[-1][1] = self.site.clock.seconds

    def meddler(self) -> None:
        """Do with kubectl what people do."""
        deeds = (
            self._delete_hold,
            self._delete_hold,
            self._edit_hold,
            self._patch_job,
            self._patch_job,
            self._touch_job,
            self._patch_jobset,
            self._remove_policy,
            self._delete_jobset,
        )
        weights = (2, 2, 1, 2, 2, 2, 1, 1, 0.4)
        for _ in range(self.random.choice((0, 1, 2, 3))):
            self.hub.sleep(self.random.uniform(0.0, 50.0), "thinks")
            if self.is_calm:
                return
            self.random.choices(deeds, weights)[0]()

    def _any(self, found: Iterable[Json]) -> str:
        names = sorted(obj["metadata"]["name"] for obj in found)
        return self.random.choice(names) if names else ""

    def _kubectl(self, method: str, path: str, body: Json | None = None) -> None:
        text = json.dumps(body) if body is not None else ""
        code = self.site.ask(method, path, text.encode(), _MERGE)
        self.trace.write("kubectl", f"{method} {path} {text}: {code}")

    def _delete_hold(self) -> None:
        name = self._any(self.site.objects(HOLDS))
        if name:
            self._kubectl("DELETE", _HOLD + name)

    def _edit_hold(self) -> None:
        name = self._any(self.site.objects(HOLDS))
        if name:
            self._kubectl("PATCH", _HOLD + name, {"spec": {"jobName": "another"}})

    def _patch_job(self) -> None:
        name = self._any(self.site.objects(JOBS))
        if name:
            wanted = self.random.choice((True, False))
            self._kubectl("PATCH", _BATCH + name, {"spec": {"suspend": wanted}})

    def _touch_job(self) -> None:
        name = self._any(self.site.objects(JOBS))
        if name:
            self._kubectl("PATCH", _BATCH + name, {"metadata": {"labels": {"touched": "yes"}}})

    def _patch_jobset(self) -> None:
        wanted = self.random.choice((True, False))
        self._kubectl("PATCH", _JOBSET, {"spec": {"suspend": wanted}})

    def _delete_jobset(self) -> None:
        self._kubectl("DELETE", _JOBSET)

    def _remove_policy(self) -> None:
        kept = self.site.plane.objects.list(
            "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"
        )
        self._kubectl("DELETE", f"{_POLICIES}/gangboard-hold")
        if self.random.random() < 0.6 and kept:
            self.hub.sleep(self.random.uniform(0.1, 15.0), "notices it")
            for obj in kept:
                self.trace.write("kubectl", "applies the policy again")
                self.site.plane.objects.put(obj, scripted=False)

    def fate(self) -> None:
        """Fail a Job, so that the JobSet restarts."""
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.hub.sleep(self.random.uniform(2.0, 60.0), "spins")
            if self.is_calm:
                return
            pods = [
                pod
                for job in self.site.objects(JOBS)
                for pod in self.site.pods_of(job["metadata"]["uid"])
                if pod["status"].get("phase") == "Running"
            ]
            if pods:
                pod = self.random.choice(pods)
                self.trace.write("fate", f"pod {pod['metadata']['name']} fails")
                self.site.plane.kubelet.finish(pod, "failed")


class _Sleeping(Moments):
    """A worker's clock: whoever sleeps lets others run."""

    def __init__(self, moments: Moments, hub: Hub) -> None:
        self._clock, self._skew = moments._clock, moments._skew
        self._hub = hub

    def sleep(self, seconds: float) -> None:
        """Wait, while others run."""
        self._hub.sleep(seconds, "naps")
