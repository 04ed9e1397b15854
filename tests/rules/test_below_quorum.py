"""`below-quorum`: observed on 1.35.4 to 1.37.0, no condition and no event."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.event import Event
from gangboard.domain.group import GroupTemplate, Policy
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import GangRequest, Owner
from gangboard.domain.suspension import FieldWriter
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_meta,
    a_pod,
    a_role,
    ago,
    an_event,
    child_jobs,
    pods_of,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def short(age: float = 600, memory: UnitMemory | None = None, **facts: Any) -> Unit:
    job = a_job("train", pods=4, group_name="ring")
    return unit_of(
        job,
        a_group("ring", quorum=4),
        *pods_of(job, 2, created_at=ago(age)),
        memory=memory or UnitMemory(),
        facts=facts,
    )


def steps(unit: Unit) -> tuple[str, ...]:
    """Return the sentences of its next steps, without their commands."""
    return tuple(step.text for step in require_finding("below-quorum", unit).advice)


def test_two_of_four() -> None:
    finding = require_finding("below-quorum", short())
    assert (finding.code, finding.health) == ("below-quorum", Health.BLOCKED)
    assert finding.message == (
        "Group ring has 2 of the 4 pods that it needs; no refusal of the rest is reported."
    )
    assert [(item.label, item.value) for item in finding.evidence] == [
        ("quorum", "4"),
        ("live pods", "2"),
        ("pods asked for", "4"),
    ]
    assert first_code(short()) == "below-quorum"


@pytest.mark.parametrize(("age", "code"), [(29, "starting"), (30, "below-quorum")])
def test_a_large_start_does_not_flash(age: float, code: str) -> None:
    finding = require_finding("below-quorum", short(age))
    assert finding.code == code
    assert finding.recheck_at == (ago(-1) if code == "starting" else None)


def test_the_count_that_just_changed_counts_not_the_age_of_the_pods() -> None:
    finding = require_finding(
        "below-quorum", short(memory=UnitMemory(created=2, created_since=ago(10)))
    )
    assert (finding.code, finding.recheck_at) == ("starting", ago(-20))


@pytest.mark.parametrize("facts", [{}, {"memory_since": ago(3600)}], ids=["later", "first sight"])
def test_a_count_that_drops_has_changed_now(facts: dict[str, Any]) -> None:
    """A gang of four waits for an hour, and two of its pods go."""
    memory = UnitMemory(created=4, created_since=ago(3600))
    finding = require_finding("below-quorum", short(3600, memory=memory, **facts))
    assert (finding.code, finding.recheck_at) == ("starting", ago(-30))
    assert finding.message == "Group ring has 2 of the 4 pods that it needs."
    assert finding.advice_texts == ()


def test_the_first_sight_of_an_old_gang_is_not_a_change() -> None:
    memory = UnitMemory(created=2, created_since=ago(10))
    unit = short(memory=memory, memory_since=ago(10))
    assert require_finding("below-quorum", unit).code == "below-quorum"


def test_an_owner_requests_fewer_pods_than_the_quorum() -> None:
    job = a_job("train", pods=2, group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2))
    assert require_finding("below-quorum", unit).message == (
        "Group ring has 2 of the 4 pods that it needs, and its owner requests only 2."
    )


def test_an_old_refusal_is_no_cause_when_no_pod_is_missing() -> None:
    """All requested pods exist, so an earlier refusal does not explain the missing quorum."""
    job = a_job("train", pods=2, group_name="ring")
    refused = an_event(job, "FailedCreate", texts.QUOTA)
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2), refused)
    assert first_code(unit) == "below-quorum"


def test_missing_refusals_are_not_asserted() -> None:
    assert values_in(require_finding("below-quorum", short(events_known=False)).message) == "2 4"


STATEFUL_SET = Controller("apps", "StatefulSet", "ring", "uid-sts")


def bare(*extra: Event, of: Controller | None = None) -> Unit:
    """A PodGroup without an owner, with two of the four pods that it needs."""
    group = a_group("ring", quorum=4)
    pods = [a_pod(f"ring-{n}", group="ring", of=of) for n in (0, 1)]
    return unit_of(Owner(meta=group.meta, desired=4), group, *pods, *extra)


@pytest.mark.parametrize(
    ("of", "rest"),
    [
        (STATEFUL_SET, "; no refusal of the rest is reported."),
        (None, "; no known controller creates the rest."),
        (
            Controller("ray.io", "RayCluster", "ring", "uid-ray"),
            "; no known controller creates the rest.",
        ),
    ],
    ids=["StatefulSet", "by hand", "another controller"],
)
def test_missing_refusals_are_stated_for_known_controllers(
    of: Controller | None, rest: str
) -> None:
    assert require_finding("below-quorum", bare(of=of)).message == (
        f"Group ring has 2 of the 4 pods that it needs{rest}"
    )


def emptied(**memory: Any) -> Unit:
    """A PodGroup without an owner and without pods, with or without a memory of earlier ones."""
    group = a_group("ring", quorum=4, created_at=ago(900))
    owner = Owner(meta=group.meta, desired=4)
    return unit_of(owner, group, memory=UnitMemory(created_since=ago(60), **memory))


def test_a_bare_group_that_lost_all_its_pods() -> None:
    unit = emptied(whole_at=ago(120))
    finding = require_finding("below-quorum", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "Group ring has 0 of the 4 pods that it needs; its former pods are gone."
    )
    assert finding.advice_texts == ("Create 4 pods in PodGroup ring.",)
    assert first_code(unit) == "below-quorum"


def test_a_bare_group_all_of_whose_pods_were_preempted() -> None:
    urgent = ObjectRef("batch", "Job", "team-b", "urgent", "uid-urgent")
    unit = emptied(whole_at=ago(120), preempted_at=ago(90), preempted_by=(urgent,))
    finding = require_finding("below-quorum", unit)
    assert values_in(finding.message) == "0 4 team-b/urgent"
    (preemptors,) = [item for item in finding.evidence if item.label == "preempted by Job"]
    assert (preemptors.value, preemptors.source) == ("team-b/urgent", urgent)
    assert first_code(unit) == "below-quorum"


def test_twin_that_never_had_a_pod() -> None:
    assert first_code(emptied()) == "pods-not-created"


def test_refused_pods_of_a_stateful_set_are_explained() -> None:
    """The event is about the StatefulSet, which belongs to no gang."""
    event = an_event(a_pod("ring", uid="uid-sts"), "FailedCreate", texts.QUOTA)
    assert first_code(bare(event, of=STATEFUL_SET)) == "pod-creation-refused"


def test_pods_of_another_gang_in_the_same_group_count() -> None:
    job = a_job("train", pods=2, group_name="ring")
    foreign_pod = a_pod("other", group="ring")
    unit = unit_of(
        job, a_group("ring", quorum=3), *pods_of(job, 2), facts={"foreign_pods": (foreign_pod,)}
    )
    assert evaluate("below-quorum", unit) is None


def test_a_refusal_is_another_reason() -> None:
    job = a_job("train", pods=4, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA)
    unit = unit_of(job, a_group("ring", quorum=4), event, *pods_of(job, 2))
    assert evaluate("below-quorum", unit) is None


def test_finished_members_lose_the_quorum() -> None:
    job = a_job("train", pods=4, group_name="ring", succeeded_pods=2)
    done = [
        a_pod(f"d{index}", of=job, group="ring", on="n0", phase="Succeeded") for index in (0, 1)
    ]
    unit = unit_of(job, a_group("ring", quorum=4), *done, *pods_of(job, 2))
    assert first_code(unit) == "quorum-lost"


def test_the_last_members_of_a_finishing_gang_run() -> None:
    job = a_job("train", pods=2, group_name="ring")
    done = a_pod("train-0", of=job, group="ring", on="n0", phase="Succeeded")
    unit = unit_of(job, a_group("ring", quorum=2), done, a_pod("train-1", group="ring", on="n1"))
    assert first_code(unit) == "running"


def test_a_basic_group_has_no_quorum() -> None:
    job = a_job("train", pods=4, group_name="ring")
    assert evaluate("below-quorum", unit_of(job, a_group("ring"), *pods_of(job, 2))) is None


@pytest.mark.parametrize(
    ("minor", "way"),
    [
        ((1, 39), "no restart"),
        ((1, 37), "no restart"),
        ((1, 36), "needs re-creating"),
        (None, "needs re-creating"),
    ],
)
def test_a_bare_group_needs_more_pods_or_a_lower_quorum(
    minor: tuple[int, int] | None, way: str
) -> None:
    """A PodGroup that was created by hand, with two pods of the four that it needs."""
    group = a_group("ring", quorum=4)
    pods = [a_pod(f"m-{n}", group="ring") for n in (0, 1)]
    unit = unit_of(Owner(meta=group.meta, desired=4), group, *pods, facts={"kubernetes": minor})
    assert steps(unit) == (
        "Create 2 more pods in PodGroup ring.",
        f"Lower the quorum of PodGroup ring from 4 to 2 ({way}).",
    )


@pytest.mark.parametrize(
    ("minor", "way"),
    [((1, 38), "no restart"), ((1, 37), "no restart"), ((1, 36), "needs re-creating")],
)
def test_a_job_requests_fewer_pods_than_the_quorum(minor: tuple[int, int], way: str) -> None:
    """1.36.3 forbids another parallelism of a Job in a gang, and any change of a PodGroup."""
    job = a_job("train", pods=2, group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2), facts={"kubernetes": minor})
    assert steps(unit) == (
        f"Scale Job train up by 2 pods ({way}).",
        f"Lower the quorum of PodGroup ring from 4 to 2 ({way}).",
    )


@pytest.mark.parametrize(
    ("fields", "way"),
    [
        # A Job with a work queue creates no more pods than completions are left. Completions are immutable.
        ({"indexed": False}, "needs re-creating"),
        ({"indexed": False, "completions": 3}, "needs re-creating"),
        (
            {"indexed": False, "completions": 5, "succeeded_pods": 2, "desired": 4},
            "needs re-creating",
        ),
        ({"indexed": False, "completions": 10}, "no restart"),
        ({"indexed": False, "completions": None}, "no restart"),
        # Completions of an Indexed Job can be changed to another parallelism, in one change.
        ({"completions": 3}, "no restart"),
        ({"completions": 10}, "no restart"),
    ],
)
def test_a_job_gets_a_step_to_request_more_pods(fields: dict[str, Any], way: str) -> None:
    job = a_job("train", pods=2, group_name="ring", **fields)
    group = a_group("ring", quorum=4)
    unit = unit_of(job, group, *pods_of(job, 2), facts={"kubernetes": (1, 37)})
    more = f"Scale Job train up by 2 pods ({way})."
    lower = "Lower the quorum of PodGroup ring from 4 to 2 (no restart)."
    assert steps(unit) == ((more, lower) if way == "no restart" else (lower, more))


def test_a_job_has_not_created_its_remaining_pods() -> None:
    assert steps(short(kubernetes=(1, 37))) == (
        "Lower the quorum of PodGroup ring from 4 to 2 (no restart).",
    )


def test_a_job_that_backs_off_makes_them_by_itself() -> None:
    job = a_job("train", pods=4, group_name="ring", retries=2)
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2))
    assert require_finding("below-quorum", unit).advice_texts == ()


def test_held_pods_are_missing_to_the_quorum() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2, group_name="ring"))
    first, second = child_jobs(jobset)
    held = replace(second, suspended=True)
    unit = unit_of(jobset, first, held, a_group("ring", quorum=4), *pods_of(first, 2))
    assert require_finding("below-quorum", unit).advice_texts == ("Resume Job run-workers-1.",)
    unit = unit_of(jobset, first, held, a_hold(held), a_group("ring", quorum=4), *pods_of(first, 2))
    assert require_finding("below-quorum", unit).advice_texts == (
        "Release Hold run-workers-1 of Job run-workers-1.",
    )


def test_the_quorum_of_a_job_group_is_a_field_of_the_job() -> None:
    job = a_job("train", pods=4, gang_request=GangRequest("gang", 4))
    own = a_group("train-7d-train-pgt-0-99", quorum=4, of=job)
    pods = pods_of(job, 2, group=own)
    unit = unit_of(job, own, *pods, facts={"kubernetes": (1, 37)})
    assert steps(unit) == ("Lower the quorum of Job train from 4 to 2 (no restart).",)
    size = a_job("train", pods=4, gang_request=GangRequest("gang"))
    assert require_finding("below-quorum", unit_of(size, own, *pods)).advice_texts == ()


def scaled_down(group: str, *, by: str = "RayCluster") -> Unit:
    """A PodGroup that its controller made for six pods, and an owner that asks for three by now."""
    owner = Owner(meta=a_meta("ray.io", by, "tune", version="v1"), desired=3)
    pods = [a_pod(f"tune-{index}", of=owner, group="ring") for index in range(3)]
    objects = a_group("ring", quorum=6, of=owner)
    ref = replace(objects.meta.ref, group=group)
    return unit_of(owner, replace(objects, meta=replace(objects.meta, ref=ref)), *pods)


def test_the_minimum_of_an_unmanaged_group_can_be_lowered() -> None:
    assert steps(scaled_down("scheduling.x-k8s.io")) == (
        "Lower the quorum of PodGroup ring from 6 to 3 (no restart).",
        "Scale RayCluster tune up by 3 pods.",
    )


@pytest.mark.parametrize(
    ("group", "by"),
    [("scheduling.volcano.sh", "RayCluster"), ("scheduling.x-k8s.io", "RayThing")],
)
def test_the_minimum_of_a_group_that_is_kept_up_to_date_is_not(group: str, by: str) -> None:
    (advice,) = require_finding("below-quorum", scaled_down(group, by=by)).advice_texts
    assert advice == "Scale RayCluster tune up by 3 pods.".replace("RayCluster", by)


def in_parts(pods: int, age: float = 600, by: FieldWriter | None = None) -> Unit:
    """A group of two subgroups. One of them has no pod, because its maker has this size."""
    owner = Owner(meta=a_meta("grove.io", "PodCliqueSet", "front", version="v1alpha1"), desired=1)
    web, decode = (
        Owner(
            meta=a_meta("grove.io", "PodClique", name, version="v1alpha1", of=owner),
            desired=number,
            paused_by=None if number else by,
        )
        for name, number in (("front-0-web", 1), ("front-0-decode", pods))
    )
    parts = tuple(GroupTemplate(obj.meta.ref.name, Policy.GANG, 1) for obj in (web, decode))
    group = a_group("ring", quorum=2, templates=parts, part_label="part")
    labels = {"part": "front-0-web"}
    pod = a_pod("front-0-web-0", of=web, group="ring", labels=labels, created_at=ago(age))
    return unit_of(owner, group, pod, facts={"middle": (web, decode)})


@pytest.mark.parametrize("age", [1, 600])
def test_a_part_that_is_scaled_to_zero(age: float) -> None:
    """The finding has no grace period, because no pod of the part will come."""
    finding = require_finding("below-quorum", in_parts(0, age))
    assert finding.code == "below-quorum"
    assert values_in(finding.message) == "1 front-0-decode 0"
    assert finding.advice_texts == ("Scale PodClique front-0-decode to 1.",)


@pytest.mark.parametrize(
    ("manager", "author"),
    [
        ("kubectl", " with kubectl at 2026-11-21 11:58 UTC or before"),
        # Its own controller writes the field when it makes the part.
        ("grove-operator", ""),
    ],
)
def test_who_scaled_a_part_to_zero_is_shown(manager: str, author: str) -> None:
    finding = require_finding("below-quorum", in_parts(0, by=FieldWriter(manager, ago(120))))
    assert finding.message.endswith(f" PodClique front-0-decode, which is scaled to 0{author}.")


def test_a_role_with_a_recent_pod_request_is_not_reported() -> None:
    assert require_finding("below-quorum", in_parts(1, 1)).code == "starting"


def test_a_part_whose_pod_is_still_to_come() -> None:
    finding = require_finding("below-quorum", in_parts(1))
    assert "scaled to 0" not in finding.message
    assert "Scale PodClique " not in " ".join(finding.advice_texts)
