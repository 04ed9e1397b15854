"""A deleted gang is past: no page, file or answer advises a step about it, or has a button for one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Evidence
from gangboard.store.gangs import Detail, pack_advice
from gangboard.store.models import Cluster, Gang
from tests.factories import make_finding, make_gang, make_job
from tests.personas import Person
from tests.stored_jobsets import make_jobset

VICTIM = "healthy-run"
FREES = "to free 8 GPUs"


@pytest.fixture
def gang(cluster: Cluster) -> Gang:
    """A waiting gang with the advice to suspend another team's running gang."""
    now = timezone.now()
    victim = make_jobset(cluster, VICTIM, now=now)
    ref = ObjectRef(victim.api_group, victim.kind, victim.namespace, victim.name, victim.uid)
    step = AdvisedStep(
        f"Suspend JobSet {VICTIM} {FREES}.", AdviceKind.SUSPEND_GANGS, objects=(ref,)
    )
    evidence = (Evidence("GPUs free", "3"), Evidence("runs", VICTIM, ref))
    finding = make_finding(advice=(step,), evidence=evidence)
    return make_gang(
        cluster,
        "waits",
        now=now,
        advice=pack_advice((step,)),
        detail=Detail((finding,), jobs=(make_job("waits-0"),)),
    )


def _delete(gang: Gang) -> None:
    Gang.objects.filter(pk=gang.pk).update(gone_at=timezone.now() - timedelta(minutes=3))


def test_the_page_of_a_deleted_gang_offers_no_stop(operator: Person, gang: Gang) -> None:
    """The button on such a page suspended another team's healthy gang."""
    alive = operator.client.get(f"/gangs/{gang.pk}/").content.decode()
    assert "Next step" in alive
    assert 'class="steps"' in alive
    assert "data-tell" in alive
    assert "/actions/confirm/?" in alive
    _delete(gang)
    page = operator.client.get(f"/gangs/{gang.pk}/").content.decode()
    assert "Deleted <time" in page
    assert "Last state: Waiting." in page
    for live in ("Next step", 'class="steps"', "data-tell", "/actions/confirm/?", "kubectl"):
        assert live not in page, live
    assert FREES not in page


@pytest.mark.parametrize("path", ["/gangs/{}/row/", "/gangs/{}/bundle.md"])
def test_files_and_rows_of_a_deleted_gang_have_no_advice(
    operator: Person, gang: Gang, path: str
) -> None:
    assert FREES in operator.client.get(path.format(gang.pk)).content.decode()
    _delete(gang)
    answer = operator.client.get(path.format(gang.pk))
    assert FREES not in answer.content.decode()


def test_the_api_answer_for_a_deleted_gang_has_no_advice(operator: Person, gang: Gang) -> None:
    _delete(gang)
    answer = operator.client.get(f"/api/v1/gangs/{gang.pk}/").json()
    assert (answer["advice"], answer["next_steps"]) == ([], [])
    assert [finding["advice"] for finding in answer["findings"]] == [[]]
    assert answer["findings"][0]["evidence"], "what was so is kept"
