"""First advice in the demo never stops a complete running gang, and each victim has its cost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from gangboard.domain.advice import Harm
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.store.access import viewer_of
from gangboard.store.models import Cluster, Gang, Grant
from simulator import fleets as fleets
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from tests.polled_plane import Moments, PolledPlane

pytestmark = pytest.mark.django_db
BEGAN = datetime(2020, 1, 6, 8, 0, tzinfo=UTC)
LOOKS, SECONDS = 4, 300.0


@pytest.mark.parametrize("name", ["east", "west"])
def test_no_first_advice_stops_a_gang_that_runs_whole(name: str) -> None:
    clock = SteppedClock(BEGAN)
    demo = PolledPlane(
        SimulatedControlPlane(fleets.FLEETS[name], fleets.MINORS[name], clock), clock, name
    )
    user = User.objects.create(username="olga")
    Grant.objects.create(user=user, role="operator", cluster=demo.cluster)
    advised: set[str] = set()
    for _ in range(LOOKS):
        demo.poll()
        now = Moments(clock).now()
        Cluster.objects.filter(pk=demo.cluster.pk).update(contact_at=now)
        running = set(Gang.objects.filter(health="running", gone_at=None).values_list("uid"))
        for gang in Gang.objects.filter(cluster=demo.cluster, gone_at=None):
            detail = gang_detail(viewer=viewer_of(user), gang_id=gang.pk, now=now)
            assert detail is not None
            advised |= {gang.pk} if _is_right(detail, {uid for (uid,) in running}) else set()
        clock.advance(SECONDS)
    print(
        f"{name}: {len(advised)} gangs are advised to stop one that runs whole, none of them first"
    )
    assert advised


def _is_right(detail: GangDetail, running: set[str]) -> bool:
    """Return whether some step stops a gang that runs; raises AssertionError where one is out of order."""
    result = False
    lists = [detail.row.next_steps]
    for steps in lists:
        ranks = [step.harm.rank for step in steps]
        assert ranks == sorted(ranks), detail.row.name
        for index, step in enumerate(steps):
            stopped = {ref.uid for ref in step.objects if step.kind.startswith("suspend")}
            if not stopped & running:
                continue
            result = True
            assert index > 0, (detail.row.name, step.text)
            assert step.harm is Harm.WHOLE_GANGS
            assert {victim.uid for victim in step.victims} == stopped
            for victim in step.victims:
                assert victim.others is not None
                assert victim.name in step.sentence
    return result
