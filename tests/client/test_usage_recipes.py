"""The recipes of docs/usage.md work verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.utils import timezone

from gangboard.store.models import Cluster
from tests.api.conftest import World, token_of
from tests.client.conftest import serving
from tests.client.recipes import Shell
from tests.factories import make_usage

TEXT = (Path(__file__).resolve().parents[2] / "docs/usage.md").read_text()
CHARGES, WAITS = re.findall(r"^```bash\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
HOUR = 3600.0


@pytest.fixture
def shell(world: World, tmp_path: Path) -> Iterator[Shell]:
    """A shell with a token of an admin."""
    with serving(WSGIHandler()) as address:
        shell = Shell(address, tmp_path)
        prepared = shell.prepare(token_of("admin"))
        assert (prepared.code, prepared.err) == (0, "")
        yield shell


def test_it_charges_a_month_to_namespaces(shell: Shell) -> None:
    cluster = Cluster.objects.get(name="east")
    november = datetime(2026, 11, 9, 12, tzinfo=UTC)
    make_usage(cluster, now=november, namespace="team-a", used=40 * HOUR, held=2 * HOUR)
    make_usage(cluster, now=november, namespace="team-b", used=HOUR, unobserved=3 * HOUR)
    make_usage(cluster, now=datetime(2026, 12, 1, tzinfo=UTC), namespace="team-b", used=HOUR)
    result = shell.run(CHARGES)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        '"namespace","used","held","not observed"',
        '"team-a",40,2,0',
        '"team-b",1,0,3',
    ]


def test_it_lists_who_waits_most(shell: Shell) -> None:
    cluster = Cluster.objects.get(name="east")
    quota = {"code": "waiting-for-quota", "stage": "admission"}
    make_usage(cluster, now=timezone.now(), **quota, ineligible=HOUR)
    make_usage(cluster, now=timezone.now(), queue="", code="fragmented", eligible=5 * HOUR)
    result = shell.run(WAITS)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "no queue: 5 h eligible, 0 h ineligible, fragmented",
        "gpu-prod: 0 h eligible, 1 h ineligible, waiting-for-quota",
    ]
