"""`command`: a Command that the toys' controller obeys, confirmed by the status of the toy Job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gangboard.domain.action import Step, StepKind, Verb
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import AdmissionRule, CreatedResource, Lever
from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal, nothing_to_do
from gangboard.policy.phrases import gang_resumed, gang_stopped
from gangboard.policy.requests import json_text, object_path


class Command(Lever):
    """A Command about a toy Job."""

    key = "command"
    position = 90
    label = "a Command"
    title = "Command a toy"
    description = "A Command to the controller of toys."

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        stops = desired.verb is Verb.SUSPEND
        if subject.suspended is stops:
            return nothing_to_do(f"{gang.name} is {'stopped already' if stops else 'not stopped'}")
        text = "Stop" if stops else "Go"
        return Decision(
            lambda: (_command(subject, desired, text),),
            before={"status.phase": "Running" if stops else "Stopped"},
            after={"status.phase": "Stopped" if stops else "Running"},
            watch_seconds=3.0,
            reactions=(gang_stopped(gang) if stops else gang_resumed(gang),),
        )

    def confirms_action(self, raw: Mapping[str, Any], suspend: bool) -> bool:
        phase = (raw.get("status") or {}).get("phase")
        return phase == "Stopped" if suspend else phase in ("Running", "Waiting")

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource:
        rule = AdmissionRule(
            "object.spec.word in ['Stop', 'Go']", "gangboard commands toys to stop and to go"
        )
        return CreatedResource("toys.example", "commands", "Command", ("create", "get"), (rule,))


def _command(owner: Owner, desired: DesiredAction, text: str) -> Step:
    ref = owner.meta.ref
    name = f"{ref.name}-{desired.action}"
    body = {
        "apiVersion": "toys.example/v1",
        "kind": "Command",
        "metadata": {
            "name": name,
            "namespace": ref.namespace,
            "annotations": {ACTION_ANNOTATION: desired.action},
        },
        "spec": {"word": text, "job": ref.name, "uid": ref.uid},
    }
    return Step(
        StepKind.CREATE,
        f"Create Command {name}",
        ObjectRef("toys.example", "Command", ref.namespace, name, ""),
        "POST",
        object_path("toys.example", "v1", ref.namespace, "commands"),
        json_text(body),
    )
