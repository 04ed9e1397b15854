"""Jobs of a real Volcano (1.14): aborted and resumed by a click, the verdicts on the way, and the actor's permissions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.gang_schedulers import vcjob
from tests.controlplane.nodes import lose_node, make_nodes, node
from tests.installation import Installation
from tests.permissions.installed import Installed
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

VCJOB = "batch.volcano.sh/v1alpha1"
NEVER_READY = {"test.gangboard.dev/never-ready": "pending"}
AFTER_DRIVER = {"dependsOn": {"name": ["driver"]}}
LINGER = {"test.gangboard.dev/linger": "1h"}


@dataclass
class Place(PlaceOnBoard):
    """A namespace with a node, in which Jobs of Volcano are made."""

    kind: ClassVar[str] = "Job"
    before: Json = field(default_factory=dict)
    """The Job before it was clicked at."""
    stopped: Json = field(default_factory=dict)
    """The action that aborted it, when it was over."""

    def job(
        self,
        name: str = "run",
        cpu: str = "1",
        driver: Json | None = None,
        worker: Json | None = None,
        **spec: Any,
    ) -> None:
        """Make one of a driver and two workers. `driver` and `worker` are more fields of their tasks."""
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
        # The end of an action is waited for as long as its pods may take to end.
        pods = {
            "containers": [container],
            "nodeSelector": {POOL: self.name},
            "terminationGracePeriodSeconds": 1,
        }
        tasks = {
            "driver": {**pods, "replicas": 1, **(driver or {})},
            "worker": {**pods, "replicas": 2, **(worker or {})},
        }
        self.client.create(vcjob(name, self.name, tasks, **spec))

    def pod_on(self, node_name: str) -> str:
        """Return the name of a pod that is bound to a node."""
        pods = self.client.list("v1", "Pod", self.name)
        return next(
            str(pod["metadata"]["name"]) for pod in pods if pod["spec"].get("nodeName") == node_name
        )

    def phase(self, name: str = "run") -> str:
        """Return the controller's status of it."""
        status = self.client.get(VCJOB, "Job", name, self.name).get("status") or {}
        return str((status.get("state") or {}).get("phase", ""))

    def wait_phase(self, phase: str, name: str = "run") -> None:
        """Wait until its controller says so."""
        wait(
            lambda: self.phase(name) == phase,
            what=f"{phase} of {name}",
            seen=lambda: self.phase(name),
            timeout=90,
        )


def _whole(place: Place) -> None:
    """Twin: asks for more than the cluster has, so its queue does not let it in and it gets no pods."""
    place.job()
    place.job("twin", "90")


def _aborted(place: Place) -> None:
    """Aborted by a click. Twin: nobody clicks."""
    for name in ("run", "twin"):
        place.job(name)
    place.wait_told("running")
    place.before = place.client.get(VCJOB, "Job", "run", place.name)
    place.stopped = place.act("suspend")


def _last_try(place: Place) -> None:
    """Aborted, and its only retry would be the last. Twin: it runs."""
    for name in ("run", "twin"):
        place.job(name, maxRetry=1)
        place.wait_phase("Running", name)
    place.wait_told("running")
    place.act("suspend")


def _restart_waits(place: Place) -> None:
    """A pod fails, and another one cannot end: its node does not answer. Twin: all of its pods end."""
    restart = [{"event": "PodFailed", "action": "RestartJob"}]
    lost, extra = (
        node(f"{place.name}-{name}", cpu=cpu, labels={POOL: place.name})
        for name, cpu in (("lost", "1"), ("more", "4"))
    )
    make_nodes(place.client, [lost])
    place.job(policies=restart)
    place.wait_told("running")
    make_nodes(place.client, [extra])
    place.job("twin", policies=restart)
    place.wait_told("running", "twin")
    stored = place.pod_on(f"{place.name}-lost")
    place.client.patch("v1", "Pod", stored, {"metadata": {"annotations": LINGER}}, place.name)
    lose_node(place.client, f"{place.name}-lost")
    for item in (place.pod_on(place.name), "twin-driver-0"):
        place.client.patch_status("v1", "Pod", item, {"phase": "Failed"}, place.name)
    place.wait_phase("Restarting")


def _staged(place: Place) -> None:
    """The driver never becomes ready, so its workers are not made. Twin: it becomes ready."""
    place.job(minAvailable=1, driver={"annotations": NEVER_READY}, worker=AFTER_DRIVER)
    place.job("twin", minAvailable=1, worker=AFTER_DRIVER)


def _staged_gang(place: Place) -> None:
    """Two drivers are a gang, and the workers join them later. Twin: the drivers become ready."""
    drivers = {"replicas": 2}
    place.job(minAvailable=2, driver={**drivers, "annotations": NEVER_READY}, worker=AFTER_DRIVER)
    place.job("twin", minAvailable=2, driver=drivers, worker=AFTER_DRIVER)


def _deadlock(place: Place) -> None:
    """The quorum needs workers, which wait for the driver. Twin: the workers do not wait."""
    place.job(worker=AFTER_DRIVER)
    place.job("twin")


SITUATIONS: dict[str, Situation[Place]] = {
    "vcjob-whole": Situation(
        _whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": 3}, twin="waiting-for-quota",
    ),
    "vcjob-aborted": Situation(
        _aborted, "suspended", "suspended", None,
        {"desired": 3, "created": 0, "ready": 0}, twin="running",
    ),
    "vcjob-last-try": Situation(
        _last_try, "suspended", "suspended", None,
        {"desired": 3, "created": 0, "ready": 0}, twin="running",
    ),
    "vcjob-restart-waits": Situation(
        _restart_waits, "termination-stuck", "blocked", None,
        {"desired": 3, "ready": 0, "quorum": 3}, twin="running", cpu="2",
    ),
    "vcjob-staged": Situation(
        _staged, "dependency-waiting", "waiting",
        "worker waits until driver is Ready: 0 of 1 pods are.",
        # A PodGroup of one is no gang, so the quorum is that of the tasks.
        {"desired": 3, "created": 1, "scheduled": 1, "ready": 0, "quorum": 3}, twin="running",
        cpu="8",
    ),
    "vcjob-staged-gang": Situation(
        _staged_gang, "dependency-waiting", "waiting",
        "worker waits until driver is Ready: 0 of 2 pods are.",
        {"desired": 4, "created": 2, "scheduled": 2, "ready": 0, "quorum": 2}, twin="running",
        cpu="8",
    ),
    "vcjob-deadlock": Situation(
        _deadlock, "quorum-deadlock", "blocked", None,
        {"desired": 3, "created": 1, "scheduled": 0, "quorum": 3}, twin="running", cpu="8",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    result = {name: Place(gang_plane, name, board) for name in SITUATIONS}
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_a_volcano_job_is_not_a_kubernetes_job(places: dict[str, Place]) -> None:
    gang = places["vcjob-whole"].told()
    assert (gang["api_group"], gang["kind"]) == ("batch.volcano.sh", "Job")


def test_a_click_aborts_the_job_and_another_click_resumes_it(places: dict[str, Place]) -> None:
    place = places["vcjob-aborted"]
    stopped = place.stopped
    assert (stopped["state"], stopped["lever"]) == ("verified", "volcano_command"), stopped
    assert place.phase() == "Aborted"
    assert place.client.list("v1", "Pod", place.name, labels="volcano.sh/job-name=run") == []
    place.wait_told("suspended")
    resumed = place.act("resume")
    assert resumed["state"] == "verified", resumed
    assert resumed["warnings"] == ["A resume counts as a retry: 2 are left after it."]
    place.wait_told("running")
    after = place.client.get(VCJOB, "Job", "run", place.name)
    assert after["metadata"]["uid"] == place.before["metadata"]["uid"]
    assert after["status"]["retryCount"] == 1
    # Its Commands are gone: the controller deletes each before it acts.
    assert place.client.list("bus.volcano.sh/v1alpha1", "Command", place.name) == []


def test_a_resume_that_would_end_it_is_refused(places: dict[str, Place]) -> None:
    place = places["vcjob-last-try"]
    place.wait_told("suspended")
    refused = place.act("resume")
    assert refused["state"] == "refused"
    assert refused["message"] == (
        "A resume would end Job run: it counts as a retry, 0 of 1 are used, and at maxRetry the Job fails. "
        "What is needed: Raise spec.maxRetry of Job run first."
    )
    assert place.phase() == "Aborted"


def test_a_restart_continues_after_a_pod_of_a_lost_node_is_force_deleted(
    places: dict[str, Place],
) -> None:
    place = places["vcjob-restart-waits"]
    lost = f"{place.name}-lost"
    place.wait_told("termination-stuck")
    kept, verdict = place.pod_on(lost), place.told()
    assert verdict["message"].startswith(f"Job run waits for pod {kept}, which ")
    back, _, force = verdict["advice"]
    assert back == f"Bring node {lost} back: its kubelet ends its pods."
    assert force.endswith(
        f"kubectl --context test delete pod -n {place.name} {kept} --grace-period=0 --force"
    )
    place.client.delete("v1", "Pod", kept, place.name, grace=0)
    place.wait_told("running")


def test_a_lower_quorum_ends_a_deadlock(places: dict[str, Place]) -> None:
    """The controller writes the new quorum to its PodGroup, as the advice says."""
    place = places["vcjob-deadlock"]
    place.wait_told("quorum-deadlock")
    assert place.told()["advice"] == [
        "Lower minAvailable of Job run to 1 (no restart): kubectl --context test patch "
        f"jobs.batch.volcano.sh run -n {place.name} --type=merge -p "
        '\'{"spec":{"minAvailable":1}}\''
    ]
    place.client.patch(VCJOB, "Job", "run", {"spec": {"minAvailable": 1}}, place.name)
    place.wait_told("running")


def test_the_actor_may_create_volcano_commands_only(
    places: dict[str, Place], accounts: Installed
) -> None:
    place = places["vcjob-last-try"]
    uid = place.client.get(VCJOB, "Job", "twin", place.name)["metadata"]["uid"]
    target = {
        "apiVersion": VCJOB,
        "kind": "Job",
        "name": "twin",
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }

    def command(action: str = "AbortJob", **changes: Any) -> Json:
        fields = {**target, **changes.pop("target", {})}
        owners = changes.pop("owners", [target])
        meta = {"name": "probe", "namespace": place.name, "ownerReferences": owners}
        created = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": meta}
        return {**created, "target": fields, "action": action, **changes}

    for action in ("AbortJob", "ResumeJob"):
        accounts.actor.create(command(action), dry_run=True)
    other = {**target, "uid": "other", "controller": False}
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    denied = [
        command("RestartJob"),
        command("TerminateJob"),
        command("CloseQueue", target=queue),
        command(target=queue),
        command(target={"apiVersion": "batch/v1"}),
        command(owners=[]),
        command(owners=[other]),
        command(owners=[target, other]),
    ]
    for item in denied:
        place.client.create(item, dry_run=True)  # an admin may
        with pytest.raises(ApiError, match="gangboard-actor-commands") as caught:
            accounts.actor.create(item, dry_run=True)
        assert caught.value.status in (403, 422), item
    with pytest.raises(ApiError, match="cannot patch"):
        accounts.actor.patch(VCJOB, "Job", "twin", {"spec": {"maxRetry": 9}}, place.name)
    with pytest.raises(ApiError, match="cannot delete"):
        accounts.actor.request("DELETE", f"/apis/{VCJOB}/namespaces/{place.name}/jobs/twin")
