"""Actors of a run: operators, act workers, the sweeper and the poll."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from django.contrib.auth.models import User

from gangboard.actions import drift_detection, hold_proofs, service
from gangboard.actions.actor_client import KubeActorClient
from gangboard.actions.engine import Engine
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.actions.sweeper import Sweeper
from gangboard.domain.action import ActionRequest, ActionTarget, Avoid, Verb
from gangboard.domain.owner import Owner
from gangboard.store.access import viewer_of
from gangboard.store.models import Cluster, WatchedObject
from gangboard.store.objects import unpack
from tests.interleavings.hub import Actor, Hub
from tests.interleavings.site import CLUSTER, Site
from tests.interleavings.trace import Trace
from tests.interleavings.wire import Ledger, Weather, Wire
from tests.polled_plane import Moments

_MOST_ORDERS = 12
_IDLE = "waits for work"
_REST = 35.0
"""Seconds within which a change of verified actions is noticed. A read that has just started may
time out (10 s), and the cluster rests after it (drift_detection.REST_SECONDS)."""


@dataclass
class Broker:
    """Redis: it wakes workers, loses some orders, and gives others twice."""

    random: Random
    orders: deque[tuple[str, Any]] = field(default_factory=deque)
    """The kind of work (advance, inspect, prove) and the id it is for."""

    def give(self, task: str, subject: Any) -> None:
        """Take an order."""
        chance = self.random.random()
        times = 0 if chance < 0.2 else 2 if chance > 0.9 else 1
        self.orders.extend([(task, subject)] * times)


class Cast:
    """The actors of one run, and their shared state."""

    def __init__(self, site: Site, hub: Hub, random: Random, trace: Trace) -> None:
        self.site = site
        self.hub = hub
        self.random = random
        self.trace = trace
        self.ledger = Ledger()
        self.weather = Weather(reads=0.03, writes=0.12)
        self.broker = Broker(random)
        self.accepted: list[str] = []
        """Ids of the actions that were confirmed to operators."""
        self.crashes: list[str] = []
        self.is_calm = False
        """All disturbances are over."""
        self.on_read: Callable[[str], None] = lambda _action: None
        """Called with the action of each read of a worker, at the moment of its answer."""
        self.rest = _REST
        self._workers = 0

    def calm_down(self) -> None:
        """End all disturbances."""
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
        owners = [unpack(bytes(data), Owner) for data in rows.values_list("data", flat=True)]
        owners.sort(
            key=lambda owner: (owner.meta.ref.kind, owner.meta.ref.name, owner.meta.ref.uid)
        )
        weights = [
            3 if owner.meta.ref.kind == "Job" else 6 if owner.suspended else 1 for owner in owners
        ]
        return self.random.choices(owners, weights)[0] if owners else None

    def _ask(self, user: User, owner: Owner, number: int) -> None:
        ref = owner.meta.ref
        sensible = Verb.RESUME if owner.suspended else Verb.SUSPEND
        others = [Verb.SUSPEND, Verb.RESUME]
        verb = sensible if self.random.random() < 0.85 else self.random.choice(others)
        avoid = self._place_to_leave(owner) if self.site.relocates else None
        verb = Verb.RELOCATE if avoid is not None else verb
        self.hub.sleep(self.random.choice((0.0, 0.5, 3.0)), "reads the dialog")
        until = None
        if verb is Verb.SUSPEND and ref.kind == "Job" and self.random.random() < 0.2:
            until = self.site.clock.now() + timedelta(seconds=self.random.uniform(10, 60))
        sees_state = self.random.random() < 0.8
        target = ActionTarget(
            CLUSTER,
            ref.group,
            ref.kind,
            ref.namespace,
            ref.name,
            ref.uid,
            owner.meta.generation if sees_state else None,
        )
        name = str(user)
        key = f"{name}-{number}"
        action_request = ActionRequest(
            verb, target, "a test of gangboard", until=until, avoid=avoid, idempotency_key=key
        )
        for _ in range(self.random.choice((1, 1, 1, 2))):  # some click twice
            self._send(user, action_request)
            self.hub.pause("clicks")

    def _place_to_leave(self, owner: Owner) -> Avoid | None:
        """Return the node of a Job, in most cases, or nothing to avoid, which removes an exclusion."""
        if owner.meta.ref.kind != "Job" or self.random.random() < 0.2:
            return None
        if owner.exclusion and self.random.random() < 0.3:
            return Avoid()
        pods = self.site.pods_of(owner.meta.ref.uid)
        nodes = sorted(filter(None, (pod["spec"].get("nodeName") for pod in pods)))
        return Avoid(tuple(nodes[:1])) if nodes else None

    def _send(self, user: User, action_request: ActionRequest) -> None:
        description = (
            f"{action_request.verb} {action_request.target.kind} {action_request.target.name}"
        )
        try:
            taken = service.request(
                viewer_of(user),
                action_request,
                now=self.site.clock.now(),
                clock=Moments(self.site.clock),
            )
        except RequestError as error:
            self.trace.write(str(user), f"{description}: {error.code}: {error}")
            if error.code in (RequestErrorCode.INVALID, RequestErrorCode.KEY_REUSED):
                self.crashes.append(f"a request that was in order was called {error.code}: {error}")
            return
        if taken.created:
            self.accepted.append(taken.action_id)
            self.trace.name(taken.action_id, f"A{len(self.accepted)}")
        self.trace.write(
            str(user), f"{description} until {action_request.until}: {taken.action_id}"
        )
        self.broker.give("advance", taken.action_id)

    # Workers

    def start_worker(self, *, after: float = 0.0) -> Actor:
        """Add an act worker; a new one has a new name."""
        self._workers += 1
        name = f"worker-{self._workers}"
        moments = Moments(self.site.clock, skew=self.random.uniform(-1.5, 1.5))
        wire = Wire(self.site.plane, self.hub, self.random, self.ledger, self.weather, self.trace)

        def open_client(_cluster: Cluster, action: str) -> KubeActorClient:
            return KubeActorClient(wire.for_action(lambda _path: self.on_read(action)), action)

        engine = Engine(
            holder=name,
            clock=_Sleeping(moments, self.hub),
            open_client=open_client,
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

    def note_crash(self, actor: str, work: str, defect: BaseException) -> None:
        """Record an unexpected exception."""
        self.crashes.append(f"{type(defect).__name__} in {work}: {defect}")
        self.trace.write(actor, f"CRASH in {work}")
        self.trace.write_stack(defect)

    def _do(self, engine: Engine, task: str, subject: Any) -> None:
        """Do the same as the tasks of gangboard.actions.tasks."""
        if task == "inspect":
            drift_detection.inspect_all(subject, engine.clock, engine.open_client)
        elif task == "prove":
            hold_proofs.prove_all(subject, engine.clock, engine.open_client)
        else:
            delay = engine.advance(subject)
            if delay is not None:
                self.site.clock.soon(lambda: self.broker.give("advance", subject), delay)

    def is_busy(self, actor: Actor) -> bool:
        """Return whether it is a worker in the middle of an action."""
        return actor.name.startswith("worker") and actor.where not in (_IDLE, "begins")

    # gangboard's own clockwork

    def sweeper(self) -> None:
        """Sweep every two seconds or so, as beat has it."""
        give = self.broker.give
        sweeper = Sweeper(_Sleeping(Moments(self.site.clock), self.hub))
        while True:
            self.hub.sleep(self._now_and_then(2.0, 3.5), "sweeps")
            if len(self.broker.orders) < _MOST_ORDERS:  # stale orders expire
                sweeper.dispatch(
                    lambda action: give("advance", action),
                    lambda cluster: give("inspect", cluster),
                    lambda cluster: give("prove", cluster),
                )

    def poller(self) -> None:
        """Look at the cluster every now and then."""
        while True:
            self.hub.sleep(self._now_and_then(0.3, 1.5), "polls")
            self.site.poll()


class _Sleeping(Moments):
    """A worker's clock: a sleeping actor lets others run."""

    def __init__(self, moments: Moments, hub: Hub) -> None:
        self._clock, self._skew = moments._clock, moments._skew
        self._hub = hub

    def sleep(self, seconds: float) -> None:
        """Wait, while others run."""
        self._hub.sleep(seconds, "naps")
