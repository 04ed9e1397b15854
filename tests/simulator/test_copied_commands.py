"""Every command to copy of the whole demo names its cluster: by `--context`, or beside it by the cluster's name."""

from __future__ import annotations

import html
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client

from gangboard.pages.check.queries import begin
from gangboard.pages.core.forms import write_target
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.text_report import explain
from gangboard.polling.checks.runs import run_check
from gangboard.queues.volcano import VolcanoQueues
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import GangFilters, list_gangs
from gangboard.store.checks import due_checks
from gangboard.store.models import Cluster, Gang, NodeCapacity, ResourceState
from simulator import fleets as fleets
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from simulator.fleet_spec import Fleet
from tests import random_sets
from tests.decode.reading import model
from tests.factories import make_cluster, make_heartbeats, store_object
from tests.personas import Person, make_owner
from tests.polled_plane import PolledPlane
from tests.stored_jobsets import make_hold
from tools.reasons_docs import read_examples

pytestmark = pytest.mark.django_db
LOOKS, SECONDS = 2, 300.0
CONTEXT = "admin@prod/west"
"""As a person's kubeconfig has it: a shell takes it as one plain word."""
_VERBS = "annotate|apply|config|cordon|create|delete|describe|drain|edit|get|label|logs|patch|rollout|scale|taint|uncordon"
COMMAND = re.compile(
    rf"(?<![\w-])(?:kubectl (?:--context (?P<context>\S+) )?(?P<verb>{_VERBS})|(?P<program>vcctl) queue operate)\b"
)
"""vcctl has no option for a context, so its cluster is always named beside the command."""
BLOCK = re.compile(r"<(?:li|p|tr|td|dd|dt|pre|section|h\d)\b")
SHOWN = {
    "east": {"get", "describe", "logs", "patch", "uncordon", "delete", "vcctl"},
    "west": {"get", "describe", "logs", "apply", "delete", "uncordon", "vcctl"},
}
"""What is shown in each of them."""
NODES_PER_WALK = 8
CLOSED = "closed"
WAITS_FOR_QUEUE = f"""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: asks, namespace: team-maps}}
spec:
  queue: {CLOSED}
  minAvailable: 2
  schedulerName: volcano
  tasks:
  - name: workers
    replicas: 2
    template:
      spec:
        restartPolicy: Never
        containers:
        - {{name: main, image: python, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""
LISTS = (
    "",
    "reasons/",
    "queues/",
    "capacity/",
    "groups/",
    "clusters/",
    "actions/",
    "holds/",
    "actions/audit/",
)


class Walk:
    """The commands that were met, and those that do not name their cluster."""

    def __init__(self, cluster: str, context: str) -> None:
        self.context = context
        self.named = re.compile(
            rf"\bcluster {re.escape(cluster)}\b|--cluster {re.escape(cluster)}\b"
        )
        self.verbs: Counter[str] = Counter()
        self.unnamed: set[str] = set()

    def read_text(self, text: str, source: str) -> None:
        """Look at one line, or at what stands together on a page."""
        for found in COMMAND.finditer(text):
            self.verbs[found["verb"] or found["program"]] += 1
            needs_name = not self.context or found["program"]
            is_named = self.named.search(text) if needs_name else found["context"] == self.context
            if not is_named:
                line = text[max(found.start() - 80, 0) : found.end() + 60]
                self.unnamed.add(f"{source}: {' '.join(line.split())}")

    def read_page(self, page: bytes, source: str) -> None:
        """Look at the blocks of a page, with the attributes in them."""
        for block in BLOCK.split(page.decode()):
            self.read_text(html.unescape(block), source)

    def read_answer(self, value: Any, source: str) -> None:
        """Look at each text of an answer of the API."""
        if isinstance(value, dict) and value.get("commands") and "text" in value:
            # The step of a plan: its sentence stands beside its commands.
            self.read_text(" ".join([value["text"], *value["commands"]]), source)
        elif isinstance(value, dict):
            for one in value.values():
                self.read_answer(one, source)
        elif isinstance(value, list):
            for one in value:
                self.read_answer(one, source)
        elif isinstance(value, str):
            self.read_text(value, source)


def walked_fleet(name: str) -> Fleet:
    """Return a fleet of the demo. West gets a cordoned node, on which a gang that waits would run."""
    fleet = fleets.FLEETS[name]
    pools = tuple(
        replace(pool, count=pool.count + 1, cordoned=(pool.count + 1,))
        if name == "west" and pool.name == "t4"
        else pool
        for pool in fleet.pools
    )
    return replace(fleet, pools=pools)


def walked(cluster: Cluster) -> list[Gang]:
    """Return gangs of every kind and every reason, or all gangs where the tests take their time."""
    gangs = list(Gang.objects.filter(cluster=cluster, gone_at=None).order_by("name"))
    kinds_and_reasons: set[object] = set()
    chosen = []
    for gang in gangs:
        shown = {(gang.api_group, gang.kind), gang.code}
        if not shown <= kinds_and_reasons:
            chosen.append(gang)
            kinds_and_reasons |= shown
    return random_sets.sized(chosen, gangs)


def walked_nodes(cluster: Cluster) -> list[str]:
    """Return the names of some nodes, or of all where the tests take their time."""
    names = list(NodeCapacity.objects.filter(cluster=cluster).values_list("name", flat=True))
    return random_sets.sized(names[::NODES_PER_WALK], names)


def addresses(person: Person, cluster: Cluster) -> Iterator[str]:
    """Yield the pages and lists of the API that can show a command of the cluster."""
    yield from (f"/{route}" for route in LISTS)
    yield f"/clusters/{cluster.name}/"
    for node in walked_nodes(cluster):
        yield f"/nodes/{cluster.name}/{node}/"
    yield from (f"/api/v1/{name}/" for name in ("gangs", "clusters", "reasons", "holds", "queues"))
    yield f"/queues/{cluster.name}/{CLOSED}/"
    yield from checks(person, cluster)
    for gang in walked(cluster):
        yield f"/gangs/{gang.pk}/?open=*"
        yield f"/gangs/{gang.pk}/bundle.md"
        yield f"/api/v1/gangs/{gang.pk}/"
    yield from confirmations(person, cluster)


def checks(person: Person, cluster: Cluster) -> Iterator[str]:
    """Yield the result of a check of a Job that would wait until its queue is opened."""
    check_id = begin(viewer=person.viewer, text=WAITS_FOR_QUEUE, clusters=[cluster.name])
    for run_id in due_checks():
        assert run_check(run_id)
    yield f"/check/{check_id}/"
    yield f"/api/v1/checks/{check_id}/"


def close_queue(cluster: Cluster) -> None:
    """Store a closed queue of Volcano as the poll would, in a cluster that serves its Jobs, too."""
    (resource,) = VolcanoQueues.resources
    for key, version in (
        (resource.key, "v1beta1"),
        ("podgroups.scheduling.volcano.sh", "v1beta1"),
        ("jobs.batch.volcano.sh", "v1alpha1"),
    ):
        states = {"state": "ok", "version": version, "needed": False}
        ResourceState.objects.update_or_create(cluster=cluster, resource=key, defaults=states)
    metadata = {"name": CLOSED, "uid": "uid-closed", "resourceVersion": "1"}
    closed = model(resource, {"metadata": metadata, "spec": {}, "status": {"state": "Closed"}})
    store_object(cluster, resource.key, closed)


def confirmations(person: Person, cluster: Cluster) -> Iterator[str]:
    """Yield the confirmation of the first offer of each gang. It also says why an action is not possible."""
    viewer, now = person.viewer, datetime.now(UTC)
    clusters = read_freshness(viewer=viewer, now=now)
    chosen = {gang.pk for gang in walked(cluster)}
    listed = list_gangs(viewer=viewer, filters=GangFilters(), limit=500, now=now).rows
    rows = [row for row in listed if row.id in chosen]
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


def explained(person: Person, cluster: Cluster) -> Iterator[str]:
    """Yield the lines that a terminal shows of each gang."""
    viewer, now = person.viewer, datetime.now(UTC)
    freshness = read_freshness(viewer=viewer, now=now)[cluster.pk]
    for gang in walked(cluster):
        detail = gang_detail(viewer=viewer, gang_id=gang.pk, now=now)
        assert detail is not None
        yield from explain(detail, freshness=freshness, now=now)


def printed(*arguments: str) -> str:
    """Return what a management command prints."""
    out = io.StringIO()
    call_command(*arguments, stdout=out, no_color=True)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "context"),
    [("east", CONTEXT), ("west", "")],
    ids=["east, known context", "west, unknown context"],
)
def test_commands_of_the_demo_name_their_cluster(name: str, context: str) -> None:
    now = datetime.now(UTC)
    make_heartbeats(now=now)
    clock = SteppedClock(now - timedelta(seconds=SECONDS * (LOOKS - 1)))
    # As `make run` starts them: the Hold is missing in the second.
    plane = SimulatedControlPlane(
        walked_fleet(name), fleets.MINORS[name], clock, hold=name == "east"
    )
    demo = PolledPlane(plane, clock, name, context=context)
    for look in range(LOOKS):
        clock.advance(SECONDS if look else 0)
        demo.poll()
    Cluster.objects.update(contact_at=datetime.now(UTC), listed_at=now)
    jobset = Gang.objects.filter(cluster=demo.cluster, kind="JobSet", gone_at=None).first()
    assert jobset is not None
    make_hold(demo.cluster, jobset, "no-such-job")
    close_queue(demo.cluster)
    person, found = make_owner(), Walk(name, context)
    walk(person.client, addresses(person, demo.cluster), found)
    for line in explained(person, demo.cluster):
        found.read_text(line, "explain")
    print(f"{name}: {dict(found.verbs)}")
    assert set(found.verbs) >= SHOWN[name]
    assert sorted(found.unnamed) == []


LOCAL = re.compile(r"^# +kubectl config --kubeconfig=.*$", re.MULTILINE)
"""They write a file and ask no cluster, but for what stands in `$(…)`."""


@pytest.mark.parametrize("context", ["", CONTEXT], ids=["unknown context", "known context"])
def test_printed_commands_name_their_cluster(context: str) -> None:
    make_cluster("west", context=context)
    found = Walk("west", context)
    found.read_text(printed("set_lever", "west", "parallelism", "on"), "set_lever")
    roles = printed("print_rbac", "--cluster", "west", "--namespace", "team-a")
    roles = LOCAL.sub(lambda line: "\n".join(re.findall(r"\$\((.*?)\)", line[0])), roles)
    heading, *_, ending = roles.split("---\n")
    found.read_text(heading, "print_rbac")
    found.read_text(ending, "print_rbac")
    assert set(found.verbs) == {"apply", "delete", "config", "create"}
    assert sorted(found.unnamed) == []


def test_no_rule_hides_a_command_in_a_sentence() -> None:
    """Each command of advice is a field: only then it gets the context. The examples are those of all rules."""
    hidden = [
        step
        for example in read_examples()
        for step in (example.message, *example.advice)
        if COMMAND.search(re.sub(r"^(.*): (?:kubectl|vcctl) .*$", r"\1", step))
    ]
    assert hidden == []
