"""Every button of the demo: what the fleets offer is taken by their API servers, and ends as it says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User

from gangboard.actions import actor_client, service
from gangboard.actions.actor_client import KubeActorClient
from gangboard.actions.engine import Engine
from gangboard.actions.verify import watching
from gangboard.diagnosis.policy.plan import all_offers
from gangboard.domain.action import ActionRequest, ActionTarget, Plan, StepKind
from gangboard.domain.objects import ObjectRef
from gangboard.kube.errors import KubeError
from gangboard.simulator import fleet as fleets
from gangboard.simulator.clock import SteppedClock
from gangboard.simulator.plane import Plane
from gangboard.store.access import Viewer, viewer_of
from gangboard.store.action_context import read_action_context
from gangboard.store.levers import read_levers
from gangboard.store.models import Action, Cluster, Gang, Grant
from tests.polled_plane import DirectConnection, Moments, PolledPlane

pytestmark = pytest.mark.django_db
BEGAN = datetime(2020, 1, 6, 8, 0, tzinfo=UTC)
_WRITES = (StepKind.PATCH, StepKind.CREATE)

Shape = tuple[str, str, str, str]
"""API group and kind of the object, verb, lever."""


class _Passing(Moments):
    """A worker's clock: whoever sleeps lets the cluster go on."""

    def sleep(self, seconds: float) -> None:
        self._clock.advance(seconds)


class Demo(PolledPlane):
    """One fleet of the demo as a cluster, and an operator of it."""

    def __init__(self, name: str) -> None:
        clock = SteppedClock(BEGAN)
        plane = Plane(fleets.FLEETS[name], fleets.MINORS[name], clock)
        super().__init__(plane, clock, name)
        user = User.objects.create(username="olga")
        Grant.objects.create(user=user, role="operator", cluster=self.cluster)
        self.viewer: Viewer = viewer_of(user)
        self.times = _Passing(clock)
        self.look()

    def look(self) -> None:
        """Poll; the cluster has answered."""
        self.poll()
        Cluster.objects.filter(pk=self.cluster.pk).update(contact_at=self.times.now())

    def offers(self, **columns: Any) -> Iterator[tuple[Shape, Plan]]:
        """Yield each button that can be pressed now, of all gangs or of those with these columns."""
        levers = read_levers(Cluster.objects.get(pk=self.cluster.pk))
        for gang in Gang.objects.filter(cluster=self.cluster, gone_at=None, **columns):
            context = read_action_context(self.cluster.pk, gang)
            for plans in all_offers(context, levers, self.times.now()).values() if context else ():
                for plan in plans:
                    if plan.allowed:
                        yield _shape(plan), plan

    def request_of(self, plan: Plan) -> ActionRequest:
        """Return the request that a button sends."""
        ref = plan.subject
        target = ActionTarget(
            self.cluster.name, ref.group, ref.kind, ref.namespace, ref.name, ref.uid
        )
        return ActionRequest(plan.verb, target, "every button is pressed")

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


def _shape(plan: Plan) -> Shape:
    return plan.subject.group, plan.subject.kind, plan.verb.value, plan.lever or ""


def _text(ref: ObjectRef) -> str:
    return f"{ref.kind} {ref.namespace}/{ref.name}"


@pytest.fixture(params=["east", "west"])
def demo(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Demo:
    monkeypatch.setattr("gangboard.actions.service.wake", lambda _action: None)
    monkeypatch.setattr(watching, "PAUSE", 1.0)  # fewer looks at what is watched for up to 40 s
    monkeypatch.setattr(watching, "LONG_PAUSE", 4.0)
    return Demo(request.param)


def test_no_button_fails(demo: Demo) -> None:
    """Each button is tried as a dry run; of each kind, verb and lever the first is pressed, and then its opposite."""
    client = demo.open_client(demo.cluster, "dry")
    first: dict[Shape, Plan] = {}
    failed: dict[str, str] = {}
    for shape, offer in demo.offers():
        first.setdefault(shape, offer)
        plan = service.preview(demo.viewer, demo.request_of(offer), now=demo.times.now())
        assert plan.allowed, f"{_text(plan.subject)}: {plan.why_not}"
        for step in plan.steps:
            if step.kind in _WRITES:
                try:
                    actor_client.send(client, step, dry_run=True)
                except KubeError as error:
                    failed[f"dry run: {plan.verb} {_text(plan.subject)}"] = error.sentence
    assert len(first) >= 5
    for offer in first.values():
        pressed = demo.press(offer)
        opposite = _opposite(demo, pressed.gang_id, offer)
        for action in (pressed, *([demo.press(opposite)] if opposite is not None else [])):
            if action.state != "verified":
                failed[f"{action.verb} {action.kind} {action.name}"] = action.message
    assert failed == {}


def _opposite(demo: Demo, gang_id: str, pressed: Plan) -> Plan | None:
    """Return what undoes it, where that is offered now."""
    for _, plan in demo.offers(pk=gang_id):
        if plan.subject == pressed.subject and plan.verb is not pressed.verb:
            return plan
    return None
