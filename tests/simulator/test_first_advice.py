"""First advice in the demo never stops a complete running gang, and each victim has its cost.

This holds for the next steps of a gang, and for each further finding below its verdict.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from gangboard.domain.advice import Harm
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.store.access import viewer_of
from gangboard.store.gangs import unpack_detail
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
    walked = stops = 0
    for _ in range(LOOKS):
        demo.poll()
        now = Moments(clock).now()
        Cluster.objects.filter(pk=demo.cluster.pk).update(contact_at=now)
        running = set(Gang.objects.filter(health="running", gone_at=None).values_list("uid"))
        for gang in Gang.objects.filter(cluster=demo.cluster, gone_at=None):
            detail = gang_detail(viewer=viewer_of(user), gang_id=gang.pk, now=now)
            assert detail is not None
            uids = {uid for (uid,) in running}
            advised |= {gang.pk} if _is_right(detail, uids) else set()
            steps, stopping = _walk_other_findings(detail, gang, uids)
            walked, stops = walked + steps, stops + stopping
        clock.advance(SECONDS)
    print(
        f"{name}: {len(advised)} gangs are advised to stop one that runs whole, none of them first. "
        f"Findings below the verdict have {walked} steps, of which {stops} stop such a gang."
    )
    assert advised
    # In fleet west no verdict has another finding with a step below it.
    assert walked or name == "west"


def _is_right(detail: GangDetail, running: set[str]) -> bool:
    """Return whether some step stops a gang that runs; raises AssertionError where one is out of order."""
    result = False
    steps = detail.row.next_steps
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


def _walk_other_findings(detail: GangDetail, gang: Gang, running: set[str]) -> tuple[int, int]:
    """Return the number of steps of the findings below the verdict, and of those that stop a gang that runs.

    Raises AssertionError where such a step is the first of its finding, or where it does not say its cost.
    """
    stops = 0
    stored = unpack_detail(bytes(gang.detail)).findings
    assert len(stored) == len(detail.findings)
    others = list(zip(stored, detail.findings, strict=True))[1:]
    for finding, row in others:
        for step in finding.advice:
            stopped = [ref for ref in step.objects if step.kind.startswith("suspend")]
            if not {ref.uid for ref in stopped} & running:
                continue
            stops += 1
            text = step.text.removesuffix(".")
            (index,) = [at for at, line in enumerate(row.advice) if line.startswith(text)]
            assert index > 0, (detail.row.name, row.advice)
            _, _, cost = row.advice[index].partition(" Cost: ")
            assert all(ref.name in cost for ref in stopped), row.advice[index]
    return sum(len(finding.advice) for finding, _ in others), stops
