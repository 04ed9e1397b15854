"""A confirmation of many Jobs of one JobSet reads their gang once."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from gangboard.store.models import Action, Cluster, Gang
from tests.personas import Person
from tests.stored_jobsets import GENERATION, make_jobset
from tests.web.acting import REASON, confirm_query, job_target

pytestmark = pytest.mark.django_db
JOBS = 50
"""The most that one confirmation takes."""


@pytest.fixture
def gang(cluster: Cluster) -> Gang:
    return make_jobset(cluster, "large", jobs=JOBS, now=timezone.now())


@pytest.mark.parametrize("verb", ["suspend", "resume"])
@pytest.mark.parametrize("generation", [GENERATION, GENERATION - 1])
def test_shown(
    operator: Person,
    gang: Gang,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    verb: str,
    generation: int,
) -> None:
    targets = [job_target(gang, index, generation) for index in range(JOBS)]
    with django_assert_max_num_queries(60):
        page = operator.client.get("/actions/confirm/", confirm_query(*targets, verb=verb))
    assert page.status_code == 200
    assert len(page.context["confirmation"].ready) == (JOBS if verb == "suspend" else 0)


def test_sent(
    operator: Person, gang: Gang, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """Each action is a transaction of its own: 9 of these are of each."""
    targets = [job_target(gang, index) for index in range(JOBS)]
    data = {**confirm_query(*targets), "reason": REASON, "key": "k" * 20}
    with django_assert_max_num_queries(520):
        assert operator.client.post("/actions/confirm/", data).status_code == 303
    with django_assert_max_num_queries(60):
        assert operator.client.post("/actions/confirm/", data).status_code == 303
    assert Action.objects.count() == JOBS
    assert {action.gang_id for action in Action.objects.all()} == {gang.pk}
