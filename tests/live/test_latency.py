"""Time that a change of a real cluster takes to the API and to an open page.

The same poll worker watches a silent cluster and one whose pods change all the time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from simulator import Simulator
from simulator.load import synthetic
from tests.browser import follow_link
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import job
from tests.controlplane.objects import namespace as namespace_object
from tests.installation import Installation
from tests.live.black_hole import black_hole
from tests.live.figures import Figures

# Both tests look at one scene, so both run in the tier of the dearer one.
pytestmark = [pytest.mark.slow, pytest.mark.browser]

NAMESPACE = "latency"
JOB = "flip"
PODS = 2
SYNTHETIC_PODS = 2_000
SYNTHETIC_GANGS = 100
CHURN = SYNTHETIC_PODS * 0.01
"""Pods that change per second: one percent."""
GIVE_UP_SECONDS = 20.0
LOOK_SECONDS = 0.03


@dataclass(frozen=True)
class Scene:
    """A gangboard over three clusters, and the Job that is suspended and resumed."""

    installation: Installation
    plane: ControlPlane
    gang_id: str

    def suspend(self, suspend: bool) -> float:
        """Toggle the Job. Return the unix time at which the cluster reached the new state.

        A Job is suspended once its spec says so, and runs once its pods are ready. The moment lies
        after the last read with the old state, so the result errs towards a longer latency.
        """
        asked_at = time.time()
        self.plane.client.patch("batch/v1", "Job", JOB, {"spec": {"suspend": suspend}}, NAMESPACE)
        if suspend:
            return asked_at
        not_yet = asked_at
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        while True:
            looked_at = time.time()
            if self._ready_pods() == PODS:
                return not_yet
            assert time.monotonic() < give_up_at, "the cluster did not start the pods"
            not_yet = looked_at
            time.sleep(LOOK_SECONDS / 3)

    def _ready_pods(self) -> int:
        pods = self.plane.client.list("v1", "Pod", NAMESPACE)
        return sum(_is_ready(pod) for pod in pods if "deletionTimestamp" not in pod["metadata"])

    def settle(self) -> None:
        """Wait until no pod of the last turn is left where the Job is suspended."""
        give_up_at = time.monotonic() + GIVE_UP_SECONDS
        while self.plane.client.list("v1", "Pod", NAMESPACE):
            assert time.monotonic() < give_up_at, "the cluster did not remove the pods"
            time.sleep(0.1)


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


@pytest.fixture(scope="module")
def scene(
    controlplane_137: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("latency")
    client = controlplane_137.client
    client.create(namespace_object(NAMESPACE))
    make_nodes(client, [node("latency-0", labels={"pool": NAMESPACE})])
    manifest = job(JOB, NAMESPACE, parallelism=PODS, node_selector={"pool": NAMESPACE})
    client.create(manifest)
    with black_hole(folder) as hole, Simulator("empty", story=False) as simulator:
        flood = synthetic(simulator, pods=SYNTHETIC_PODS, gangs=SYNTHETIC_GANGS)
        load = folder / "load.kubeconfig"
        load.write_text(simulator.kubeconfig_text())
        kubeconfigs = {"real": controlplane_137.kubeconfig, "hole": hole, "load": load}
        with Installation(kubeconfigs) as installation, flood.churn(CHURN):
            gang_id = _wait_for_gangs(installation)
            yield Scene(installation, controlplane_137, gang_id)
            assert flood.changes > CHURN, "the load was there all the time"
            levels = {
                name: installation.get(f"clusters/{name}/")["freshness"] for name in kubeconfigs
            }
            assert levels == {"real": "live", "hole": "never", "load": "live"}
    client.delete("batch/v1", "Job", JOB, NAMESPACE)
    client.delete("v1", "Node", "latency-0")


def _wait_for_gangs(installation: Installation) -> str:
    """Wait until everything has been read once; return the id of the Job's gang."""
    give_up_at = time.monotonic() + 90
    while time.monotonic() < give_up_at:
        gangs = installation.gangs(cluster="real", namespace=NAMESPACE)
        if [gang["code"] for gang in gangs] == ["running"] and (
            len(installation.gangs(cluster="load")) == SYNTHETIC_GANGS
        ):
            return str(gangs[0]["id"])
        time.sleep(0.5)
    raise AssertionError("the clusters were not read in 90 s")


def _wait_in_api(scene: Scene, code: str) -> float:
    """Return the unix time at which the API first shows the code."""
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < give_up_at:
        if scene.installation.get(f"gangs/{scene.gang_id}/")["code"] == code:
            return time.time()
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"the API does not say {code} after {GIVE_UP_SECONDS:g} s")


def test_a_change_reaches_the_api_in_time(scene: Scene) -> None:
    seconds = []
    for number in range(8):
        suspend = number % 2 == 0
        true_since = scene.suspend(suspend)
        seconds.append(_wait_in_api(scene, "suspended" if suspend else "running") - true_since)
        if suspend:
            scene.settle()
        time.sleep(0.7)  # not in step with anything
    figures = Figures.of("cluster to API", seconds)
    assert figures.median <= 0.5
    assert figures.worst <= 2.0


WATCH_ROW = """
(id) => {
  window.seen = [];
  const word = () => document.getElementById(id)?.querySelector(".face")?.textContent.trim() ?? "";
  let last = "";
  const look = () => {
    const now = word();
    if (now !== last) window.seen.push([now, Date.now() / 1000]);
    last = now;
    requestAnimationFrame(look);
  };
  look();
}
"""


def _wait_on_page(page: Page, label: str, number: int) -> float:
    """Return when (unix time) the row first showed the label, after `number` earlier changes."""
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < give_up_at:
        for text, seen_at in page.evaluate("() => window.seen")[number:]:
            if label in text:
                return float(seen_at)
        page.wait_for_timeout(50)
    changes = page.evaluate("() => window.seen")
    raise AssertionError(f"the page does not show {label} after {GIVE_UP_SECONDS:g} s: {changes}")


def test_a_change_reaches_an_open_page_in_time(scene: Scene, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    try:
        page = context.new_page()
        follow_link(page, scene.installation.sign_in_link())
        page.goto(f"{scene.installation.url}/?cluster=real&namespace={NAMESPACE}")
        page.evaluate(WATCH_ROW, f"g-{scene.gang_id}")
        _wait_on_page(page, "Running", 0)
        seconds = []
        for turn in range(6):
            suspend = turn % 2 == 0
            number = len(page.evaluate("() => window.seen"))
            true_since = scene.suspend(suspend)
            label = "Suspended" if suspend else "Running"
            seconds.append(_wait_on_page(page, label, number) - true_since)
            if suspend:
                scene.settle()
            page.wait_for_timeout(700)
    finally:
        context.close()
    figures = Figures.of("cluster to open page", seconds)
    assert figures.median <= 1.0
    assert figures.worst <= 2.5
