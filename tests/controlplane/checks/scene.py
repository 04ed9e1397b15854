"""Prediction against truth: manifests are checked, then created, and compared as if a minute had gone by.

All cases exist at once on one control plane, each in a namespace and on nodes of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from gangboard.decode.manifests import Document
from gangboard.domain.check import CheckedGang, CheckVerdict
from gangboard.kube.credentials import read_kubeconfig
from gangboard.plugins.manifest_shapes import shape_of
from gangboard.polling import poll, poll_window, reflector, store_writer
from gangboard.polling.checks.engine import check_cluster
from gangboard.polling.checks.loaded_cluster import drop_kept
from gangboard.polling.poll import poll_once
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Gang
from tests.check_manifests import TruthCase
from tests.controlplane.clearing import delete_namespaces
from tests.controlplane.client import ApiError, Client, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import namespace as namespace_object
from tests.controlplane.queues import KUEUE

CLUSTER_WIDE = ("ClusterQueue", "ResourceFlavor", "ClusterTrainingRuntime")
MINUTE = timedelta(seconds=62)
"""How long after the creation the gangs are judged: gangboard gives schedulers a minute to report about a pod."""
FIRST_LOOK_SECONDS = 10.0
LOOKS_SECONDS = (18.0, 25.0, 35.0, 62.0)
"""When the truth is read. Only a busy control plane needs more than the first time."""
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

    def poll(self, *, later: timedelta = timedelta()) -> None:
        """Read the cluster, and assess its gangs as if it were so much later."""

        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return datetime.now(tz) + later

        with ExitStack() as stack:
            for module in (poll, poll_window, reflector, store_writer):
                stack.enter_context(patch.object(module, "datetime", Later))
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
        delete_namespaces(client, [case.name for case in self.cases])
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


def assert_true(*scenes: Scene, most_wrong: float) -> None:
    """Check all manifests, create them, and compare. Print a table for each control plane.

    Assert that no gang waits that should run, and that few forecasts differ (a share). A control plane that has not
    come so far is looked at again, until a minute has gone by.
    """
    comparisons = [Comparison(scene) for scene in scenes]
    began = time.monotonic()
    _sleep_until(began + FIRST_LOOK_SECONDS)
    for scene in scenes:
        scene.poll()
    left = comparisons
    for seconds in LOOKS_SECONDS:
        _sleep_until(began + seconds)
        later = max(timedelta(), MINUTE - timedelta(seconds=time.monotonic() - began))
        for comparison in left:
            comparison.look(later)
        left = [comparison for comparison in left if not comparison.holds(most_wrong)]
        if not left:
            break
    for comparison in comparisons:
        comparison.print_table()
    for comparison in comparisons:
        assert not comparison.too_good, "these did not run, and the check had said so"
        assert comparison.holds(most_wrong), "\n".join(comparison.wrong)


class Comparison:
    """The forecasts about all manifests of a scene, which are created then, and what became of them."""

    def __init__(self, scene: Scene) -> None:
        scene.poll()
        self._scene = scene
        self._forecasts = {case.name: scene.check(case) for case in scene.cases}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = pool.map(scene.create, scene.cases)
            self._refusals = dict(zip(self._forecasts, answers, strict=True))
        self._compared: list[Compared] = []

    def look(self, later: timedelta) -> None:
        """Read what became of them, as if it were so much later."""
        self._scene.poll(later=later)
        self._compared = [
            Compared(
                case.name,
                forecast := self._forecasts[case.name],
                self._scene.truth(case, forecast, self._refusals[case.name]),
            )
            for case in self._scene.cases
        ]

    @property
    def too_good(self) -> list[str]:
        """Names of the cases that should run and do not."""
        return [
            item.case
            for item in self._compared
            if item.forecast.verdict is CheckVerdict.WOULD_RUN
            and item.truth.word is not CheckVerdict.WOULD_RUN
        ]

    @property
    def wrong(self) -> list[str]:
        """Lines of the forecasts that differ."""
        return [item.line for item in self._compared if not item.is_right]

    def holds(self, most_wrong: float) -> bool:
        """Return whether the truth was read, and bears the forecasts out with so large a share of wrong ones."""
        few = len(self.wrong) <= most_wrong * len(self._compared)
        return bool(self._compared) and few and not self.too_good

    def print_table(self) -> None:
        """Print a line for each forecast."""
        number = len(self._compared)
        table = "\n".join(item.line for item in self._compared)
        print(f"\n{number - len(self.wrong)} of {number} forecasts came true\n{table}")


def _sleep_until(moment: float) -> None:
    """Sleep until this time of `time.monotonic()`."""
    time.sleep(max(0.0, moment - time.monotonic()))
