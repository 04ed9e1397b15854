"""A kind that cannot be read makes its gangs unknown, those below it and those made by it, and no other gang."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.unobserved import concerning
from tests.domain_objects import a_job, a_jobset, a_meta, a_pod

TRAINJOBS = Unobserved("trainjobs.trainer.kubeflow.org", "forbidden", "")
JOBSETS = Unobserved("jobsets.jobset.x-k8s.io", "forbidden", "")
JOBS = Unobserved("jobs.batch", "forbidden", "")
SETS = Unobserved("leaderworkersets.leaderworkerset.x-k8s.io", "forbidden", "")
PODGANGS = Unobserved("podgangs.scheduler.grove.io", "forbidden", "")
PODCLIQUES = Unobserved("podcliques.grove.io", "forbidden", "")
PODS = Unobserved("pods", "forbidden", "")


def under(item: Owner, group: str, kind: str) -> Owner:
    """The same object, controlled by one of that kind."""
    return replace(item, meta=replace(item.meta, controller=Controller(group, kind, "x", "uid-x")))


@pytest.mark.parametrize(
    ("unobserved", "root", "concerned"),
    [
        (TRAINJOBS, a_job("train"), False),
        (TRAINJOBS, a_jobset("run"), False),
        (TRAINJOBS, under(a_jobset("run"), "trainer.kubeflow.org", "TrainJob"), True),
        (TRAINJOBS, under(a_jobset("run"), "other.example", "TrainJob"), False),
        (JOBSETS, a_job("train"), False),
        (JOBSETS, under(a_job("train"), "jobset.x-k8s.io", "JobSet"), True),
        (JOBSETS, Owner(a_meta("trainer.kubeflow.org", "TrainJob", "fine-tune")), True),
        (JOBS, a_jobset("run"), True),
        (JOBS, Owner(a_meta("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "serve")), False),
        (SETS, Owner(a_meta("disaggregatedset.x-k8s.io", "DisaggregatedSet", "serve")), True),
        (SETS, Owner(a_meta("unheard.example", "Thing", "x")), True),
        (PODGANGS, Owner(a_meta("grove.io", "PodCliqueSet", "chat")), True),
        (PODGANGS, a_job("train"), False),
        (PODCLIQUES, Owner(a_meta("grove.io", "PodCliqueSet", "chat")), True),
        (PODCLIQUES, a_job("train"), False),
        (PODS, a_job("train"), True),
    ],
)
def test_unobserved_kinds_concern_related_gangs(
    unobserved: Unobserved, root: Owner, concerned: bool
) -> None:
    assert concerning((unobserved,), root, ()) == ((unobserved,) if concerned else ())


def test_a_pod_label_relates_a_gang_to_an_unobserved_kind() -> None:
    pod = replace(a_pod("serve-0"), labels={"leaderworkerset.sigs.k8s.io/name": "serve"})
    assert concerning((SETS,), pod, ()) == (SETS,)
    assert concerning((SETS,), a_pod("alone"), ()) == ()


def test_group_marks_of_pods_relate_a_gang_to_an_unobserved_kind() -> None:
    """Near miss: other gangs are assessed as if that API was not served."""
    groups = Unobserved("podgroups.scheduling.x-k8s.io", "forbidden", "")
    kind = "PodGroup.scheduling.x-k8s.io"
    member = replace(a_pod("train-0"), group_name="ring", group_kind=kind)
    assert concerning((groups,), a_job("train"), (member,)) == (groups,)
    assert concerning((groups,), member, ()) == (groups,)
    assert concerning((groups,), a_job("train"), (a_pod("train-0", group="ring"),)) == ()
