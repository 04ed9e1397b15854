"""`suspend` writes the suspend field of the kind, unless it has that value already."""

from __future__ import annotations

import json

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.levers.suspend import Suspend
from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal
from tests.domain_objects import NOW, a_jobset, a_role
from tests.gangs import a_gang

LEVER = Suspend()


def test_the_patch_tests_uid_and_generation_before_it_writes() -> None:
    owner = a_jobset("run", a_role("w", jobs=2, pods=2))
    gang = a_gang(owner, api_versions={"jobsets.jobset.x-k8s.io": "v1beta1"})
    desired = DesiredAction(Verb.SUSPEND, ClusterLevers(), NOW, action="a-1")
    decision = LEVER.decide(gang, owner, desired)
    assert isinstance(decision, Decision)
    (step,) = decision.steps()
    assert step.path == "/apis/jobset.x-k8s.io/v1beta1/namespaces/team-a/jobsets/run"
    operations = json.loads(step.patch)
    assert [operation["path"] for operation in operations[:2]] == [
        "/metadata/uid",
        "/metadata/generation",
    ]
    assert {"op": "add", "path": "/spec/suspend", "value": True} in operations
    repeated = LEVER.decide(gang, owner, DesiredAction(Verb.RESUME, ClusterLevers(), NOW))
    assert repeated == PlanRefusal("JobSet run is not suspended: nothing to do.")
