"""The pod template of a Job changes only while the Job is suspended and has no pod, as on a real API server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.placement import FreeResources
from simulator.refusals import Refusal
from simulator.resources import JOBS
from simulator.template_rules import check

Json = dict[str, Any]
STOPPED = {
    "startTime": "2026-11-28T10:00:00Z",
    "conditions": [{"type": "Suspended", "status": "True"}],
}
HOST = "kubernetes.io/hostname"


def a_job(*, suspend: bool = True, status: Json | None = None, **spec: Any) -> Json:
    template = {"spec": {"containers": [], **spec}}
    return {
        "metadata": {"name": "train"},
        "spec": {"suspend": suspend, "template": template},
        "status": status or {},
    }


def affinity(**parts: Any) -> Json:
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": parts}}}


@pytest.mark.parametrize(
    ("suspend", "status", "taken"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, STOPPED, True),
        (True, {**STOPPED, "active": 2}, False),
        (True, {**STOPPED, "active": 0, "terminating": 2}, True),
        (True, {"startTime": "2026-11-28T10:00:00Z"}, False),
    ],
)
def test_the_stored_job_decides(suspend: bool, status: Json, taken: bool) -> None:
    old = a_job(suspend=suspend, status=status)
    new = a_job(suspend=False, status=status, **affinity(nodeSelectorTerms=[]))
    if taken:
        check(JOBS, old, new)
        return
    with pytest.raises(Refusal) as caught:
        check(JOBS, old, new)
    assert (caught.value.code, caught.value.body["reason"]) == (422, "Invalid")
    assert caught.value.body["message"].startswith(
        'Job.batch "train" is invalid: spec.template: Invalid value: {'
    )


@pytest.mark.parametrize(
    ("change", "taken"),
    [
        ({"nodeSelector": {"pool": "a"}}, True),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"schedulingGates": [{"name": "x"}]}, True),
        ({"nodeName": "n1"}, False),
        ({"schedulerName": "other"}, False),
        ({"terminationGracePeriodSeconds": 5}, False),
        ({"affinity": {"podAntiAffinity": {}}}, False),
    ],
)
def test_some_fields_of_pods_never_change(change: Json, taken: bool) -> None:
    if taken:
        check(JOBS, a_job(status=STOPPED), a_job(status=STOPPED, **change))
        return
    with pytest.raises(Refusal) as caught:
        check(JOBS, a_job(status=STOPPED), a_job(status=STOPPED, **change))
    assert "spec.template.spec: Invalid value" in json.dumps(caught.value.body)


def test_the_scheduler_leaves_out_excluded_nodes() -> None:
    def node(name: str) -> Json:
        return {
            "metadata": {"name": name, "labels": {HOST: name}},
            "spec": {},
            "status": {"allocatable": {"pods": "10"}},
        }

    def term(operator: str, *names: str) -> Json:
        return {"matchExpressions": [{"key": HOST, "operator": operator, "values": [*names]}]}

    def placed(*terms: Json) -> str:
        spec = {"containers": [], **affinity(nodeSelectorTerms=[*terms])}
        pod = {"metadata": {"name": "p"}, "spec": spec}
        return FreeResources([node("n0"), node("n1")]).place(pod)[0]

    assert placed(term("NotIn", "n0")) == "n1"
    assert placed(term("In", "n1")) == "n1"
    assert placed(term("NotIn", "n0", "n1")) == ""
    # One matching term is enough, so an exclusion in one of two terms excludes nothing.
    assert placed(term("NotIn", "n0"), term("In", "n0")) == "n0"
