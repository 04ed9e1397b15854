"""Advice of the whole demo: no first advice stops a gang that runs whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from gangboard.domain.advice import AdviceKind
from gangboard.readmodels.gang_page import gang_detail
from gangboard.simulator import fleet as fleets
from gangboard.simulator.clock import SteppedClock
from gangboard.simulator.plane import Plane
from gangboard.store.access import viewer_of
from gangboard.store.models import Cluster, Gang, Grant
from tests.polled_plane import Moments, PolledPlane

pytestmark = pytest.mark.django_db
BEGAN = datetime(2020, 1, 6, 8, 0, tzinfo=UTC)
STEPS, STEP_SECONDS = 6, 300.0
STOPS = {AdviceKind.SUSPEND_GANGS}


def test_no_first_advice_stops_a_gang_that_runs_whole() -> None:
    advised, first, told = set(), set(), []
    for name in ("east", "west"):
        clock = SteppedClock(BEGAN)
        demo = PolledPlane(Plane(fleets.FLEETS[name], fleets.MINORS[name], clock), clock, name)
        user = User.objects.create(username=name)
        Grant.objects.create(user=user, role="operator", cluster=demo.cluster)
        for _ in range(STEPS):
            demo.poll()
            now = Moments(clock).now()
            Cluster.objects.filter(pk=demo.cluster.pk).update(contact_at=now)
            for gang in Gang.objects.filter(cluster=demo.cluster, gone_at=None):
                detail = gang_detail(viewer=viewer_of(user), gang_id=gang.pk, now=now)
                for at, step in enumerate(detail.row.next_steps):
                    if step.kind not in STOPS:
                        continue
                    whole = Gang.objects.filter(uid__in=[r.uid for r in step.objects], health="running")
                    if whole:
                        advised.add(gang.pk)
                        if at == 0:
                            first.add(gang.pk)
                            told.append((gang.name, step.text))
            clock.advance(STEP_SECONDS)
    print(len(advised), len(first), len(told))
    for one in sorted(set(told))[:20]: print(one)
    assert len(first) == 0
