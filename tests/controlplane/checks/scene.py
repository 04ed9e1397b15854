"""Prediction against truth: manifests are checked, then created, and compared a minute later.

All cases exist at once on one control plane, each in a namespace and on nodes of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from gangboard.decode.manifests import Document
from gangboard.domain.check import CheckedGang, CheckVerdict
from gangboard.kube.credentials import read_kubeconfig
from gangboard.plugins.manifest_shapes import shape_of
from gangboard.polling.checks.engine import check_cluster
from gangboard.polling.checks.loaded_cluster import drop_kept
from gangboard.polling.poll import poll_once
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Gang
from tests.check_manifests import TruthCase
from tests.controlplane.clearing import empty_namespaces
from tests.controlplane.client import ApiError, Client, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import namespace as namespace_object
from tests.controlplane.queues import KUEUE

CLUSTER_WIDE = ("ClusterQueue", "ResourceFlavor", "ClusterTrainingRuntime")
SETTLED_SECONDS = 62.0
"""How long after the creation the gangs are judged: gangboard gives schedulers a minute to report about a pod."""
AT_ONCE = 6


@dataclass(frozen=True)
class Truth:
    """What became of a manifest."""

    word: CheckVerdict
    code: str
    message: str


@dataclass(frozen=True)
class Compared:
    """A forecast and the truth."""

    case: str
    forecast: CheckedGang
    truth: Truth

    @property
    def is_right(self) -> bool:
        """Whether forecast and code are those of the truth."""
        if self.truth.code == "refused":
            return self.forecast.verdict is CheckVerdict.WOULD_BLOCK
        return (self.forecast.verdict, self.forecast.code) == (self.truth.word, self.truth.code)

    @property
    def line(self) -> str:
        """The line of the table."""
        mark = " " if self.is_right else "x"
        forecast, truth = self.forecast, self.truth
        line = f"{mark} {self.case:<36} {forecast.verdict:<20} {forecast.code:<24} {truth.word:<20} {truth.code}"
        return line if self.is_right else f"{line}\n    {forecast.message}\n    {truth.message}"


class Scene:
    """All cases on one control plane, each in a namespace and on nodes of its own."""

    def __init__(self, plane: ControlPlane, client: Client, cases: Sequence[TruthCase]) -> None:
        self._client, self.cases = client, cases
        credentials = read_kubeconfig(plane.kubeconfig.read_text())
        self._cluster = add_cluster(
            name=plane.profile.name.replace(".", "-"),
            document=credentials.to_document(),
            server=credentials.server,
        )

    def prepare(self) -> None:
        """Create nodes, namespaces, queues, and what exists before the checks."""
        make_nodes(self._client, [item for case in self.cases for item in case.nodes])
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._prepare, self.cases))
        wait(self._runs_before, what="pods that exist before the checks")

    def _prepare(self, case: TruthCase) -> None:
        client = self._client
        client.create(namespace_object(case.name))
        wait(lambda: client.list("v1", "ServiceAccount", case.name), what="the default account")
        client.create_all(case.before)
        if case.queue and not _is_stopped(case):
            client.wait_for(KUEUE, "ClusterQueue", case.queue, until=lambda o: is_true(o, "Active"))

    def _runs_before(self) -> bool:
        phases = [pod["status"].get("phase") for pod in self._client.list("v1", "Pod")]
        wanted = sum(_pods_before(item) for case in self.cases for item in case.before)
        return len(phases) >= wanted and set(phases) <= {"Running"}

    def check(self, case: TruthCase) -> CheckedGang:
        """Return the forecast about the manifest of a case, from its stored shape."""
        documents = [
            shape_of(Document(number, item)) for number, item in enumerate(case.manifest, start=1)
        ]
        self._cluster.refresh_from_db()
        result = check_cluster(self._cluster, documents, timezone.now())
        assert result.gangs, result.why_unknown
        return result.gangs[0]

    def create(self, case: TruthCase) -> str:
        """Create the manifest. Return why the API server refused it, or an empty text."""
        for item in case.manifest:
            try:
                self._client.create(item)
            except ApiError as error:
                return error.message or error.reason
        return ""

    def poll(self) -> None:
        """Read the cluster, and assess its gangs."""
        (report,) = poll_once(self._cluster.name)
        assert report.ok, report.sentence

    def truth(self, case: TruthCase, forecast: CheckedGang, refusal: str) -> Truth:
        """Return what became of the manifest."""
        if refusal:
            return Truth(CheckVerdict.WOULD_BLOCK, "refused", refusal)
        gangs = Gang.objects.filter(cluster=self._cluster, namespace=case.name, gone_at=None)
        row = gangs.filter(kind=forecast.kind, name=forecast.name).first()
        if row is None:
            return Truth(CheckVerdict.UNKNOWN, "no gang", str(list(gangs.values_list("name"))))
        return Truth(_word(row), row.code, row.message)

    def clear(self) -> None:
        """Delete all that was created."""
        client = self._client
        empty_namespaces(client, [case.name for case in self.cases])
        for case in self.cases:
            for item in case.before:
                if item["kind"] in CLUSTER_WIDE:
                    client.delete(item["apiVersion"], item["kind"], item["metadata"]["name"])
        self._cluster.delete()
        drop_kept()


def _word(row: Gang) -> CheckVerdict:
    """Return the forecast that would have been right about a gang."""
    needed = row.desired if row.quorum is None else row.quorum
    if row.health in ("running", "succeeded"):
        return CheckVerdict.WOULD_RUN
    if row.health in ("degraded", "starting"):
        is_placed = 0 < needed <= row.scheduled
        return CheckVerdict.WOULD_RUN if is_placed else CheckVerdict.WOULD_WAIT
    if row.health == "unknown":
        return CheckVerdict.UNKNOWN
    return CheckVerdict.WOULD_WAIT if row.health == "waiting" else CheckVerdict.WOULD_BLOCK


def _is_stopped(case: TruthCase) -> bool:
    return any("stopPolicy" in item.get("spec", {}) for item in case.before)


def _pods_before(item: dict[str, Any]) -> int:
    """Return how many pods an object that exists before the check has."""
    if item["kind"] == "Pod":
        return 1
    return int(item["spec"].get("parallelism") or 1) if item["kind"] == "Job" else 0


@contextmanager
def prepared(plane: ControlPlane, client: Client, cases: Sequence[TruthCase]) -> Iterator[Scene]:
    """Prepare all cases, and delete their objects afterwards."""
    drop_kept()
    scene = Scene(plane, client, cases)
    try:
        scene.prepare()
        yield scene
    finally:
        scene.clear()


def compare(*scenes: Scene) -> list[list[Compared]]:
    """Check all manifests, create them, and compare a minute later. Print and return a table for each control plane."""
    forecasts, refusals = [], []
    for scene in scenes:
        scene.poll()
        forecasts.append([scene.check(case) for case in scene.cases])
    began = time.monotonic()
    for scene in scenes:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            refusals.append(list(pool.map(scene.create, scene.cases)))
    for seconds in (SETTLED_SECONDS / 2, SETTLED_SECONDS):
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        for scene in scenes:
            scene.poll()
    tables = [
        [
            Compared(case.name, forecast, scene.truth(case, forecast, refusal))
            for case, forecast, refusal in zip(scene.cases, foreseen, refused, strict=True)
        ]
        for scene, foreseen, refused in zip(scenes, forecasts, refusals, strict=True)
    ]
    for table in tables:
        right = sum(item.is_right for item in table)
        lines = "\n".join(item.line for item in table)
        print(f"\n{right} of {len(table)} forecasts came true\n{lines}")
    return tables


def assert_true(compared: Sequence[Compared], *, most_wrong: float) -> None:
    """Assert that no gang waits that should run, and that few forecasts differ (a share)."""
    too_good = [
        item.case
        for item in compared
        if item.forecast.verdict is CheckVerdict.WOULD_RUN
        and item.truth.word is not CheckVerdict.WOULD_RUN
    ]
    assert not too_good, "these did not run, and the check had said so"
    wrong = [item.line for item in compared if not item.is_right]
    assert len(wrong) <= most_wrong * len(compared), "\n".join(wrong)
