"""Every command to copy of the whole demo names its cluster: by `--context`, or beside it by the cluster's name."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import GangFilters, list_gangs
from gangboard.simulator import fleet as fleets
from gangboard.simulator.clock import SteppedClock
from gangboard.simulator.plane import Plane
from gangboard.store.models import Cluster, Gang, NodeCapacity
from gangboard.web.forms import write_target
from tests.factories import make_heartbeats
from tests.personas import Person, make_owner
from tests.polled_plane import PolledPlane

pytestmark = pytest.mark.django_db
LOOKS, SECONDS = 2, 300.0
CONTEXT = "admin@prod/west"
"""As a person's kubeconfig has it: a shell takes it as one plain word."""
_VERBS = "annotate|apply|config|cordon|create|delete|describe|drain|edit|get|label|logs|patch|rollout|scale|uncordon"
COMMAND = re.compile(rf"(?<![\w-])kubectl (?:--context (?P<context>\S+) )?(?P<verb>{_VERBS})\b")
BLOCK = re.compile(r"<(?:li|p|tr|td|dd|dt|pre|section|h\d)\b")
LISTS = ("", "reasons/", "queues/", "capacity/", "groups/", "clusters/", "actions/", "holds/", "actions/audit/")


class Walk:
    """The commands that were met, and those that do not name their cluster."""

    def __init__(self, cluster: str, context: str) -> None:
        self.context = context
        self.named = re.compile(rf"\bcluster {re.escape(cluster)}\b|--cluster {re.escape(cluster)}\b")
        self.verbs: Counter[str] = Counter()
        self.unnamed: set[str] = set()

    def read_text(self, text: str, source: str) -> None:
        """Look at one line, or at what stands together on a page."""
        for found in COMMAND.finditer(text):
            self.verbs[found["verb"]] += 1
            beside = not self.context and self.named.search(text)
            if not beside and (not self.context or found["context"] != self.context):
                line = text[max(found.start() - 80, 0) : found.end() + 60]
                self.unnamed.add(f"{source}: {' '.join(line.split())}")

    def read_page(self, page: bytes, source: str) -> None:
        """Look at the blocks of a page, with the attributes in them."""
        for block in BLOCK.split(page.decode()):
            self.read_text(html.unescape(block), source)

    def read_answer(self, value: Any, source: str) -> None:
        """Look at each text of an answer of the API."""
        if isinstance(value, dict):
            for one in value.values():
                self.read_answer(one, source)
        elif isinstance(value, list):
            for one in value:
                self.read_answer(one, source)
        elif isinstance(value, str):
            self.read_text(value, source)


def addresses(person: Person, cluster: Cluster) -> Iterator[str]:
    """Yield the pages and lists of the API that can show a command of the cluster."""
    yield from (f"/{route}" for route in LISTS)
    yield f"/clusters/{cluster.name}/"
    for node in NodeCapacity.objects.filter(cluster=cluster).values_list("name", flat=True):
        yield f"/nodes/{cluster.name}/{node}/"
    yield from (f"/api/v1/{name}/" for name in ("gangs", "clusters", "reasons", "holds", "queues"))
    for gang in Gang.objects.filter(cluster=cluster, gone_at=None):
        yield f"/gangs/{gang.pk}/?open=*"
        yield f"/gangs/{gang.pk}/bundle.md"
        yield f"/api/v1/gangs/{gang.pk}/"
    yield from confirmations(person)


def confirmations(person: Person) -> Iterator[str]:
    """Yield the confirmation of the first offer of each gang: it says why not, too."""
    viewer, now = person.viewer, datetime.now(UTC)
    clusters = read_freshness(viewer=viewer, now=now)
    rows = list_gangs(viewer=viewer, filters=GangFilters(), limit=500, now=now).rows
    for found in board_offers(viewer=viewer, rows=rows, clusters=clusters).values():
        for offer in found[:1]:
            pairs = {"verb": offer.verb, "target": write_target(offer)}
            yield f"/actions/confirm/?{urlencode(pairs)}"


def walk(client: Client, paths: Iterator[str], found: Walk) -> None:
    """Read all of them."""
    for path in paths:
        answer = client.get(path)
        assert answer.status_code in (200, 303), path
        if path.startswith("/api/"):
            found.read_answer(answer.json(), path)
        elif path.endswith(".md"):
            for line in re.split(r"\n(?=#|\d+\. )", answer.content.decode()):
                found.read_text(line, path)
        else:
            found.read_page(answer.content, path)


@pytest.mark.parametrize("context", ["", CONTEXT], ids=["unknown context", "known context"])
@pytest.mark.parametrize("name", ["east", "west"])
def test_commands_of_the_demo_name_their_cluster(name: str, context: str) -> None:
    now = datetime.now(UTC)
    make_heartbeats(now=now)
    clock = SteppedClock(now - timedelta(seconds=SECONDS * (LOOKS - 1)))
    demo = PolledPlane(
        Plane(fleets.FLEETS[name], fleets.MINORS[name], clock), clock, name, context=context
    )
    for look in range(LOOKS):
        clock.advance(SECONDS if look else 0)
        demo.poll()
    Cluster.objects.update(contact_at=datetime.now(UTC), listed_at=now)
    person, found = make_owner(), Walk(name, context)
    walk(person.client, addresses(person, demo.cluster), found)
    print(f"{name}: {dict(found.verbs)}")
    assert {"get", "describe", "logs"} <= set(found.verbs)
    print("\n".join(sorted(found.unnamed)))
    assert sorted(found.unnamed) == []
