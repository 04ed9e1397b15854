"""The API servers of the demo accept every offered action, which ends as promised."""

from __future__ import annotations

import pytest

from gangboard.actions import actor_client, service
from gangboard.domain.action import Plan, StepKind
from gangboard.domain.objects import ObjectRef
from gangboard.kube.errors import KubeError
from tests.simulator.demo import Demo, Shape, begin_demo

pytestmark = pytest.mark.django_db
_WRITES = (StepKind.PATCH, StepKind.CREATE)


def _text(ref: ObjectRef) -> str:
    return f"{ref.kind} {ref.namespace}/{ref.name}"


@pytest.fixture(params=["east", "west"])
def demo(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Demo:
    return begin_demo(request.param, monkeypatch)


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
