"""A fleet of the demo as a cluster: its buttons can be pressed and the cluster polled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from gangboard.actions import service
from gangboard.actions.actor_client import KubeActorClient
from gangboard.actions.engine import Engine
from gangboard.actions.verify import watching
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, Verb
from gangboard.policy.plan import all_offers
from gangboard.store.access import Viewer, viewer_of
from gangboard.store.gang_objects import read_gang
from gangboard.store.levers import read_levers
from gangboard.store.models import Action, Cluster, Gang, Grant
from simulator import fleets as fleets
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from tests.polled_plane import DirectConnection, Moments, PolledPlane

BEGAN = datetime(2020, 1, 6, 8, 0, tzinfo=UTC)
REASON = "every button is pressed"

Shape = tuple[str, str, str, str]
"""API group and kind of the object, verb, lever."""


class _Passing(Moments):
    """A worker's clock. A sleep advances the cluster."""

    def sleep(self, seconds: float) -> None:
        self._clock.advance(seconds)


class Demo(PolledPlane):
    """One fleet of the demo as a cluster, and an operator of it."""

    def __init__(self, name: str, *, hold: bool = True) -> None:
        """Without the Hold, Jobs can be paused by parallelism 0."""
        clock = SteppedClock(BEGAN)
        plane = SimulatedControlPlane(fleets.FLEETS[name], fleets.MINORS[name], clock, hold=hold)
        super().__init__(plane, clock, name, parallelism_lever=not hold)
        user = User.objects.create(username="olga")
        Grant.objects.create(user=user, role="operator", cluster=self.cluster)
        self.viewer: Viewer = viewer_of(user)
        self.times = _Passing(clock)
        self.look()

    def look(self) -> None:
        """Poll; the cluster has answered."""
        self.poll()
        Cluster.objects.filter(pk=self.cluster.pk).update(contact_at=self.times.now())

    def look_at_all(self) -> None:
        """List all resources again. After a long watch no gang is assessed before that."""
        self._seen.clear()
        self.look()

    def offers(self, **columns: Any) -> Iterator[tuple[Shape, Plan]]:
        """Yield each button that can be pressed now, of all gangs or of those with these columns."""
        levers = read_levers(Cluster.objects.get(pk=self.cluster.pk))
        for gang in Gang.objects.filter(cluster=self.cluster, gone_at=None, **columns):
            context = read_gang(self.cluster.pk, gang)
            for plans in all_offers(context, levers, self.times.now()).values() if context else ():
                for plan in plans:
                    # A relocation needs a place, and nodes that this poll does not store.
                    if plan.allowed and plan.verb is not Verb.RELOCATE:
                        yield shape_of(plan), plan

    def request_of(self, plan: Plan) -> ActionRequest:
        """Return the request that a button sends."""
        ref = plan.subject
        target = ActionTarget(
            self.cluster.name, ref.group, ref.kind, ref.namespace, ref.name, ref.uid
        )
        return ActionRequest(plan.verb, target, REASON)

    def open_client(self, _cluster: Cluster, action: str) -> KubeActorClient:
        """Return the actor's client of an action."""
        return KubeActorClient(DirectConnection(self.plane), action)

    def press(self, plan: Plan) -> Action:
        """Ask, carry it out to its end, and poll."""
        taken = service.request(
            self.viewer, self.request_of(plan), now=self.times.now(), clock=self.times
        )
        engine = Engine(clock=self.times, open_client=self.open_client)
        action = engine.finish(taken.action_id)
        self.look()
        return action


def shape_of(plan: Plan) -> Shape:
    return plan.subject.group, plan.subject.kind, plan.verb.value, plan.lever or ""


def begin_demo(name: str, monkeypatch: pytest.MonkeyPatch, *, hold: bool = True) -> Demo:
    """Return a demo without waits for a worker, with fewer polls in long watches."""
    monkeypatch.setattr("gangboard.actions.service.wake", lambda _action: None)
    monkeypatch.setattr(watching, "PAUSE", 1.0)
    monkeypatch.setattr(watching, "LONG_PAUSE", 4.0)
    return Demo(name, hold=hold)
