"""Advice to stop another gang: place of the button, text of the dialog and permissions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gangboard.domain.action import ActionTarget
from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence
from gangboard.pages.core.forms import element_key, write_target
from gangboard.store.gangs import Detail, pack_advice
from gangboard.store.models import Cluster, Gang
from tests.factories import make_finding, make_gang
from tests.personas import Person, make_operator
from tests.stored_jobsets import GENERATION
from tests.web.acting import confirm_query, job_target, job_targets, make_run, text_of

pytestmark = pytest.mark.django_db
COSTS = re.compile(r'<p class="act-totals">((?:moe|half) .*?)</p>', re.DOTALL)
PLAIN = re.compile(r"<[^>]*>")
FOLDED = re.compile(r'<details class="last-steps">.*?</details>', re.DOTALL)


@pytest.fixture
def victim(cluster: Cluster) -> Gang:
    columns = {"stage": "run", "code": "running", "health": "running", "ready": 6, "desired": 6}
    return make_run(cluster, "moe", now=timezone.now(), **columns)


def ref_of(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def advised(cluster: Cluster, name: str, *victims: Gang, **columns: Any) -> Gang:
    """Make a gang that waits and is advised to stop others, which its findings name."""
    refs = [
        ObjectRef(victim.api_group, victim.kind, victim.namespace, victim.name, victim.uid)
        for victim in victims
    ]
    steps = (
        AdvisedStep("Wait for 8 cpu.", AdviceKind.WAIT_FOR_ROOM),
        *(
            AdvisedStep(
                f"Suspend {ref.kind} {ref.namespace}/{ref.name}.",
                AdviceKind.SUSPEND_GANGS,
                objects=(ref,),
            )
            for ref in refs
        ),
    )
    evidence = tuple(Evidence(NAMED_IN_ADVICE, ref.name, ref) for ref in refs)
    finding = make_finding(advice=steps, evidence=evidence)
    values = {"advice": pack_advice(steps), "detail": Detail((finding,))}
    return make_gang(cluster, name, now=timezone.now(), **{**values, **columns})


def dialog(person: Person, gang: Gang) -> str:
    target = write_target(
        ActionTarget(
            cluster=gang.cluster.name,
            api_group=gang.api_group,
            kind=gang.kind,
            namespace=gang.namespace,
            name=gang.name,
            uid=gang.uid,
            generation=GENERATION,
        )
    )
    response = person.client.get("/actions/confirm/", confirm_query(target))
    assert response.status_code == 200
    return text_of(response)


@pytest.mark.parametrize("fragment", ["", "row/"])
def test_the_red_button_stands_in_the_folded_group_only(
    operator: Person, cluster: Cluster, victim: Gang, fragment: str
) -> None:
    run = advised(cluster, "run", victim)
    page = operator.client.get(f"/gangs/{run.pk}/{fragment}").content.decode()
    (folded,) = FOLDED.findall(page)
    button = f'suspend-{element_key(victim.uid)}" class="button danger"'
    assert (folded.count(button), page.count(button)) == (1, 1)
    outside = page.replace(folded, "")
    assert 'class="button danger"' not in outside
    assert "Suspend JobSet research/moe" not in outside
    assert "Wait for 8 cpu." in outside


def test_a_gang_without_such_advice_has_no_such_group(
    operator: Person, cluster: Cluster, victim: Gang
) -> None:
    run = advised(cluster, "run")
    assert "last-steps" not in operator.client.get(f"/gangs/{run.pk}/").content.decode()


@pytest.mark.parametrize(("number", "message"), [(1, "1 waiting gang"), (3, "3 waiting gangs")])
def test_the_dialog_shows_the_cost_and_the_number_of_beneficiaries(
    operator: Person, cluster: Cluster, victim: Gang, number: int, message: str
) -> None:
    for index in range(number):
        advised(cluster, f"run-{index}", victim)
    page = dialog(operator, victim)
    cost = page[page.index("moe runs") :]
    assert f"6 of 6 ready, namespace research, priority 0, advised to {message}." in cost


def test_the_dialog_of_an_unadvised_stop_counts_no_beneficiary(
    operator: Person, victim: Gang
) -> None:
    page = dialog(operator, victim)
    assert "6 of 6 ready, namespace research, priority 0." in page
    assert "advised to" not in page


def jobs_dialog(person: Person, *targets: str) -> str:
    response = person.client.get("/actions/confirm/", confirm_query(*targets))
    return text_of(response)


def test_the_dialog_of_jobs_shows_the_cost_for_their_gang(
    operator: Person, cluster: Cluster, victim: Gang
) -> None:
    """As from a node: Jobs of two gangs. One runs whole, and one does not."""
    advised(cluster, "run", victim)
    half = make_run(
        cluster,
        "half",
        now=timezone.now(),
        health="degraded",
        code="below-size",
        ready=4,
        desired=6,
    )
    page = jobs_dialog(operator, *job_targets(victim, 0, 2), job_target(half, 1))
    costs = COSTS.findall(page)
    assert [PLAIN.sub("", cost) for cost in costs] == [
        "half degraded for 38 min, 4 of 6 ready, namespace research, priority 0.",
        "moe runs 38 min, 6 of 6 ready, namespace research, priority 0. Without Jobs moe-workers-0 "
        "and moe-workers-2 it will not be whole.",
    ]


def test_the_dialog_of_one_job_names_it(operator: Person, victim: Gang) -> None:
    page = jobs_dialog(operator, job_target(victim, 1))
    assert "priority 0. Without Job moe-workers-1 it will not be whole." in page


def test_a_gang_that_stops_as_a_whole_has_no_stopped_jobs(operator: Person, victim: Gang) -> None:
    """Its owner and one of its Jobs are selected."""
    target = write_target(
        ActionTarget(
            victim.cluster.name, victim.api_group, victim.kind, victim.namespace, victim.name,
            victim.uid, GENERATION,
        )
    )  # fmt: skip
    page = jobs_dialog(operator, target, job_target(victim, 1))
    assert len(COSTS.findall(page)) == 1
    assert "it will not be whole" not in page


def test_a_gang_without_a_ready_pod_costs_nothing(operator: Person, victim: Gang) -> None:
    Gang.objects.filter(pk=victim.pk).update(ready=0, health="starting", code="starting")
    assert COSTS.findall(jobs_dialog(operator, job_target(victim, 1))) == []


def test_a_resume_of_a_job_costs_nothing(operator: Person, victim: Gang) -> None:
    query = confirm_query(job_target(victim, 1), verb="resume")
    assert COSTS.findall(text_of(operator.client.get("/actions/confirm/", query))) == []


def test_the_dialog_counts_only_gangs_that_its_reader_may_see(
    operator: Person, cluster: Cluster, victim: Gang
) -> None:
    advised(cluster, "run", victim)
    advised(cluster, "other", victim, namespace="vision")
    assert "advised to 1 waiting gang." in dialog(operator, victim)


def test_the_dialog_of_a_hidden_gang_is_a_404(cluster: Cluster, victim: Gang) -> None:
    """No step stops it, because its reader cannot; a step to wait for its end does not name it."""
    ref = ref_of(victim)
    steps = (
        AdvisedStep(
            "Wait for JobSet research/moe to end.", AdviceKind.WAIT_FOR_END, objects=(ref,)
        ),
        AdvisedStep("Suspend JobSet research/moe.", AdviceKind.SUSPEND_GANGS, objects=(ref,)),
    )
    finding = make_finding(advice=steps, evidence=(Evidence(NAMED_IN_ADVICE, ref.name, ref),))
    run, _ = (
        make_gang(
            cluster,
            f"run-{index}",
            now=timezone.now(),
            namespace="vision",
            advice=pack_advice(steps),
            detail=Detail((finding,)),
        )
        for index in range(2)
    )
    person = make_operator(cluster, "vision", name="vera")
    addresses = (f"/gangs/{run.pk}/", f"/gangs/{run.pk}/row/", "/", f"/api/v1/gangs/{run.pk}/")
    for address in addresses:
        page = person.client.get(address).content.decode()
        for message in ("moe", victim.uid, "6 of 6", "advised to", "priority,", "button danger"):
            assert message not in page, address
        assert "you may not see to end." in page, address
        assert "Suspend a gang" not in page, address


@pytest.mark.parametrize("address", ["/", "/api/v1/gangs/"])
def test_a_list_reads_all_victims_with_one_query(
    operator: Person,
    cluster: Cluster,
    victim: Gang,
    address: str,
) -> None:
    """As many queries for ten rows with ten victims as for one with one."""
    advised(cluster, "run", victim)
    operator.client.get(address)  # fill the caches that live between requests
    with CaptureQueriesContext(connection) as first:
        assert operator.client.get(address).status_code == 200
    for index in range(9):
        advised(cluster, f"run-{index}", make_gang(cluster, f"moe-{index}", now=timezone.now()))
    with CaptureQueriesContext(connection) as later:
        assert operator.client.get(address).status_code == 200
    assert len(later) == len(first)
