"""From the action to the sentence: a poll later Board, API and evidence bundle say who did it and why."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.utils import timezone

from gangboard.store.models import Cluster, Gang
from tests.personas import make_owner
from tests.simulator.demo import REASON, begin_demo

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("fleet", "group", "lever", "codes"),
    [
        ("east", "jobset.x-k8s.io", "suspend", {"suspended"}),
        ("west", "jobset.x-k8s.io", "kueue-active", {"deactivated"}),
        ("east", "batch.volcano.sh", "volcano_command", {"suspended"}),
        ("east", "kubeflow.org", "suspend", {"suspended"}),
        ("east", "batch", "hold", {"suspended", "job-suspended"}),
        ("west", "batch", "parallelism", {"paused"}),
    ],
)
def test_a_suspension_shows_its_author_and_reason(
    fleet: str, group: str, lever: str, codes: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    demo = begin_demo(fleet, monkeypatch, hold=lever != "parallelism")
    gang, code = None, ""
    for (of, _, verb, by), plan in demo.offers(health="running"):
        if (of, verb, by) == (group, "suspend", lever):
            action = demo.press(plan)
            demo.look_at_all()
            gang = Gang.objects.get(pk=action.gang_id)
            code = gang.code
            break
    assert gang is not None
    assert code in codes
    Cluster.objects.update(contact_at=timezone.now())
    owner = make_owner("admin")
    board = unescape(owner.client.get(f"/?q={gang.name}").content.decode())
    causes = re.findall(r'class="cause">([^<]*)', board)
    api = owner.client.get(f"/api/v1/gangs/{gang.pk}/").json()
    bundle = owner.client.get(f"/gangs/{gang.pk}/bundle.md").content.decode()
    head = next(line for line in bundle.splitlines() if line.startswith("**"))
    for sentence in (" ".join(causes), api["message"], head):
        assert "by olga" in sentence
        assert REASON in sentence
    assert not [step for step in api["advice"] if "esume" in step or "active" in step], api
