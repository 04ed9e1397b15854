"""`preempting`: job-preempting and group-preempting as captured on 1.37.0; texts of 1.36."""

from dataclasses import replace

import pytest

from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.facts.gang import Victim
from gangboard.facts.unit import Unit
from tests.domain_objects import a_group, a_job, a_pod, ago
from tests.domain_objects import placed as said_of_group
from tests.placement.making import node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.rules.waiting_gangs import capacity_of, evidence_values, pod_requests, with_placement

TWO = (
    "pod group is unschedulable, 0/1 placements are available, first placement status: minCount (2) "
    "cannot be satisfied: 0 scheduled, 1 remaining, pod group preemption: found a placement for "
    "podgroup, preempting 2 victims"
)
ONGOING = "pod group is unschedulable, ongoing preemption on nominated nodes"
WAITS_136 = "pod group is unschedulable, pod group is waiting for preemption to complete"
TERMINATING = (
    "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: not eligible due to a "
    "terminating pod on the nominated node."
)


# All that 1.36.3 says of a gang for which others are taken away, with the pods' nodes not nominated.
GROUP_136 = "pod group is unschedulable"
POD_136 = (
    "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
    "not eligible due to workload aware preemption enabled"
)
HOLDERS = tuple(ObjectRef("", "Pod", "team-b", f"holder-{n}", f"uid-holder-{n}") for n in range(2))


def leaving(taker: str, *pods: ObjectRef) -> tuple[Victim, ...]:
    return tuple(Victim(pod, taker, ago(20)) for pod in pods)


def urgent(
    message: str, *pod_texts: str, nominated: str = "n0", victims: tuple[Victim, ...] = ()
) -> Unit:
    job = a_job("urgent", group_name="ring")
    group = a_group("ring", quorum=2, placed=said_of_group("False", message))
    pods = [
        a_pod(
            f"urgent-{n}",
            of=job,
            group="ring",
            text=text,
            nominated_node=nominated,
            requests=pod_requests(4),
        )
        for n, text in enumerate(pod_texts)
    ]
    full = capacity_of(node("n0", used=4), node("n1", used=4))
    return with_placement(unit_of(job, group, *pods, facts={"room": full, "victims": victims}))


def test_two_victims_are_going() -> None:
    unit = urgent(TWO, texts.GPU_SHORT, texts.POD_OF_GROUP)
    finding = require_finding("preempting", unit)
    assert finding.health is Health.WAITING
    assert finding.message == ("2 pods wait until 2 pods of lower priority are gone.")
    assert evidence_values(finding, "scheduler says") == [TWO]
    (nominated,) = [item for item in finding.evidence if item.label == "nominated node"]
    assert nominated.source is not None
    assert nominated.source.kind == "Node"
    assert first_code(unit) == "preempting"


def test_a_number_that_is_none_is_not_read() -> None:
    endless = TWO.replace("preempting 2", f"preempting {'2' * 5000}")
    assert first_code(urgent(endless, texts.GPU_SHORT, texts.POD_OF_GROUP)) == "preempting"


@pytest.mark.parametrize("text", [ONGOING, WAITS_136])
def test_other_messages_of_the_group(text: str) -> None:
    assert first_code(urgent(text, texts.POD_OF_GROUP, texts.POD_OF_GROUP)) == "preempting"


def test_a_pod_of_its_own_has_a_nominated_node() -> None:
    job = a_job("urgent", pods=1)
    for text in (texts.GPU_SHORT, TERMINATING):
        pod = a_pod("urgent-0", of=job, text=text, nominated_node="n0")
        assert first_code(unit_of(job, pod)) == "preempting"


def test_victims_are_the_only_evidence_on_kubernetes_136() -> None:
    unit = urgent(GROUP_136, POD_136, POD_136, nominated="", victims=leaving("uid-ring", *HOLDERS))
    finding = require_finding("preempting", unit)
    assert finding.message == (
        "2 pods wait until 2 pods of lower priority are gone (team-b/holder-0 and team-b/holder-1)."
    )
    named = [item for item in finding.evidence if item.label == "makes room"]
    assert [(item.value, item.source) for item in named] == [
        ("team-b/holder-0", HOLDERS[0]),
        ("team-b/holder-1", HOLDERS[1]),
    ]
    assert evidence_values(finding, "scheduler says") == [POD_136]
    assert finding.since == ago(20)
    assert first_code(unit) == "preempting"


def test_a_single_victim_remains() -> None:
    unit = urgent(GROUP_136, POD_136, nominated="", victims=leaving("uid-ring", HOLDERS[0]))
    assert require_finding("preempting", unit).message == (
        "1 pod waits until 1 pod of lower priority is gone (team-b/holder-0)."
    )


def test_more_victims_than_are_known() -> None:
    """The scheduler's text tells of two, and the event of one of them has come."""
    unit = urgent(TWO, texts.POD_OF_GROUP, victims=leaving("uid-ring", HOLDERS[1]))
    assert require_finding("preempting", unit).message == (
        "1 pod waits until 2 pods of lower priority are gone (among them team-b/holder-1)."
    )


def test_several_victims_are_represented_by_the_first() -> None:
    pods = [ObjectRef("", "Pod", "team-b", f"old-{n}", f"uid-old-{n}") for n in (4, 0, 3, 1, 2)]
    unit = urgent(GROUP_136, POD_136, nominated="", victims=leaving("uid-ring", *pods))
    finding = require_finding("preempting", unit)
    assert " are gone (team-b/old-0, team-b/old-1 and 3 more)." in finding.message
    # Each name in the sentence goes with its reference: it is hidden from who may not see it.
    assert {"team-b/old-0", "team-b/old-1"} <= set(evidence_values(finding, "makes room"))


def test_twin_with_a_group_that_preempts_no_pods_on_kubernetes_136() -> None:
    elsewhere = leaving("uid-another-ring", *HOLDERS)
    assert first_code(urgent(GROUP_136, POD_136, POD_136, nominated="", victims=elsewhere)) == (
        "insufficient-resources"
    )


def test_each_pod_lists_its_own_victims() -> None:
    """As written by 1.37.0 on a cluster without gangs: one text for each pod."""
    job = a_job("urgent", pods=2)
    pods = [
        a_pod(
            f"urgent-{n}",
            of=job,
            text="0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential "
            f"placement for pod on node n{n}, preempting 1 victims",
            nominated_node=f"n{n}",
        )
        for n in range(2)
    ]
    victims = (*leaving("uid-urgent-0", HOLDERS[0]), *leaving("uid-urgent-1", HOLDERS[1]))
    finding = require_finding("preempting", unit_of(job, *pods, facts={"victims": victims}))
    assert finding.message.startswith("2 pods wait until 2 pods of lower priority are gone ")
    assert evidence_values(finding, "makes room") == ["team-b/holder-0", "team-b/holder-1"]


def test_twin_without_terminating_victims() -> None:
    unit = urgent(texts.GROUP_SHORT, texts.GPU_SHORT_NO_VICTIMS, texts.POD_OF_GROUP, nominated="")
    assert first_code(unit) == "insufficient-resources"


def test_a_gated_pod_on_kubernetes_135_preempts_no_pods() -> None:
    job = a_job("train", group_name="ring")
    timeout = a_pod("train-0", of=job, group="ring", text=texts.PERMIT_TIMEOUT, nominated_node="n0")
    short = a_pod("train-1", of=job, group="ring", text=texts.GPU_SHORT_NO_VICTIMS)
    unit = unit_of(job, a_group("ring", quorum=2), timeout, short)
    assert evaluate("preempting", unit) is None
    victims = replace(short, nominated_node="n1")
    assert evaluate("preempting", unit_of(job, a_group("ring", quorum=2), timeout, victims)) is None


def test_pods_that_never_preempt_have_no_victims() -> None:
    """A nominated node is then no preemption, because other components also nominate nodes."""
    job = a_job("urgent", pods=1)
    pod = a_pod("urgent-0", of=job, text=texts.GPU_SHORT, nominated_node="n0", preempts=False)
    assert evaluate("preempting", unit_of(job, pod)) is None


@pytest.mark.parametrize("preempts", [True, False])
def test_groups_that_never_preempt_have_no_victims(preempts: bool) -> None:
    unit = urgent(GROUP_136, texts.GPU_SHORT)
    assert unit.group is not None
    unit = replace(unit, group=replace(unit.group, preempts=preempts))
    assert (evaluate("preempting", unit) is not None) is preempts
