"""Other things than everything everywhere: the lever parallelism, single namespaces, old servers, Kueue."""

from __future__ import annotations

import pytest

from gangboard.actions.permissions.names import Wanted
from gangboard.domain.hold import PAUSED_PARALLELISM
from tests.controlplane.client import ApiError, Client, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.kubeflow import kubeflow_job, replicas, version_of
from tests.controlplane.objects import job, pod_template
from tests.permissions.installed import DENIED, installed
from tests.permissions.writes import hold, make_world

pytestmark = pytest.mark.controlplane

NO_KUEUE = frozenset({"workloads.kueue.x-k8s.io"})


def test_parallelism_goes_to_zero_and_back_to_what_was_written_down(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    wanted = Wanted(not_served=NO_KUEUE, parallelism=True)
    with installed(controlplane_137, wanted) as found:
        ns = namespace(controlplane_137)
        found.admin.create(job("solo", ns, parallelism=3, completions=9, suspend=True))
        refused_pauses(found.actor, ns, [(0, None), (0, "9"), (2, "3"), (None, "9")])
        pause(found.actor, ns, 0, "3")
        refused_pauses(found.actor, ns, [(9, "9"), (9, None), (None, "9")])
        pause(found.actor, ns, 3, None)
        job_now = found.admin.get("batch/v1", "Job", "solo", ns)
        assert job_now["spec"]["parallelism"] == 3
        assert PAUSED_PARALLELISM not in job_now["metadata"].get("annotations", {})


def pause(actor: Client, ns: str, parallelism: int | None, note: str | None) -> None:
    """Set both; None leaves the parallelism as it is and removes the note."""
    body: Json = {"metadata": {"annotations": {PAUSED_PARALLELISM: note}}}
    if parallelism is not None:
        body["spec"] = {"parallelism": parallelism}
    actor.patch("batch/v1", "Job", "solo", body, ns)


def refused_pauses(actor: Client, ns: str, cases: list[tuple[int | None, str | None]]) -> None:
    for parallelism, note in cases:
        with pytest.raises(ApiError, match="to 0 with the old value in"):
            pause(actor, ns, parallelism, note)


def test_outside_its_namespaces_the_actor_may_do_nothing(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    inside, outside = namespace(controlplane_137), namespace(controlplane_137)
    wanted = Wanted(not_served=NO_KUEUE, namespaces=(inside,))
    with installed(controlplane_137, wanted) as found:
        suspend = {"spec": {"suspend": False}}
        found.admin.create(job("solo", inside, suspend=True))
        world = make_world(found.admin, outside)
        assert (
            found.actor.patch("batch/v1", "Job", "solo", suspend, inside)["spec"]["suspend"]
            is False
        )
        for attempt in (
            lambda: found.actor.patch("batch/v1", "Job", "solo", suspend, outside),
            lambda: found.actor.get("batch/v1", "Job", "solo", outside),
            lambda: found.actor.list("v1", "Pod", outside),
            lambda: found.actor.list("v1", "Pod"),
            lambda: found.actor.create(hold(world)),
            lambda: found.actor.delete("gangboard.dev/v1alpha1", "Hold", "h", outside),
        ):
            with pytest.raises(ApiError, match=r"403 Forbidden.* cannot "):
                attempt()
        label = {"metadata": {"labels": {"x": "y"}}}
        with pytest.raises(ApiError, match=DENIED):
            found.actor.patch("batch/v1", "Job", "solo", label, inside)


def test_of_kueue_the_actor_switches_active_and_nothing_else(
    controlplane_kueue: ControlPlane, namespace: Namespaces
) -> None:
    ns = namespace(controlplane_kueue)
    pods = {"name": "main", "count": 1, "template": pod_template({})}
    made: Json = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": ns},
        "spec": {"queueName": "q", "podSets": [pods]},
    }
    with installed(controlplane_kueue, Wanted()) as found:
        found.admin.create(made)
        at = (made["apiVersion"], made["kind"], "w")
        assert len(found.actor.list(*at[:2], ns)) == 1
        for body in (
            {"spec": {"queueName": "other"}},
            {"spec": {"active": False, "queueName": "other"}},
            {"spec": {"active": False, "priority": 9}},
            {"metadata": {"labels": {"x": "y"}}},
            {"metadata": {"finalizers": ["example.com/kept"]}},
            {"metadata": {"annotations": {"x": "y"}}},
        ):
            found.admin.patch(*at, body, ns, dry_run=True)
            with pytest.raises(ApiError, match=DENIED):
                found.actor.patch(*at, body, ns)
        for active in (False, True):
            said = found.actor.patch(*at, {"spec": {"active": active}}, ns)
            assert said["spec"]["active"] is active


def test_of_a_run_policy_the_actor_switches_suspend_and_nothing_else(
    controlplane_kueue: ControlPlane, namespace: Namespaces
) -> None:
    """Twin: nothing at all of a job that another controller manages."""
    ns = namespace(controlplane_kueue)
    roles = {"Worker": replicas(1)}
    with installed(controlplane_kueue, Wanted()) as found:
        for kind in ("PyTorchJob", "MPIJob"):
            at = (version_of(kind), kind)
            elsewhere = {"managedBy": "kueue.x-k8s.io/multikueue"}
            found.admin.create(kubeflow_job(kind, "run", ns, roles, suspend=True))
            found.admin.create(kubeflow_job(kind, "far", ns, roles, suspend=True, policy=elsewhere))
            for body in (
                {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}},
                {"spec": {"runPolicy": {"suspend": False, "backoffLimit": 1}}},
                {
                    "spec": {
                        "runPolicy": {"suspend": False},
                        "slotsPerWorker": 2,
                        "nprocPerNode": "2",
                    }
                },
                {"metadata": {"labels": {"x": "y"}}},
            ):
                with pytest.raises(ApiError, match=DENIED):
                    found.actor.patch(*at, "run", body, ns)
            resume = {"spec": {"runPolicy": {"suspend": False}}}
            with pytest.raises(ApiError, match="another controller manages"):
                found.actor.patch(*at, "far", resume, ns)
            said = found.actor.patch(*at, "run", resume, ns)
            assert said["spec"]["runPolicy"]["suspend"] is False


@pytest.mark.parametrize(
    ("profile", "version"),
    [
        pytest.param("135", "", id="no mutating policies"),
        pytest.param("135_map", "v1beta1", id="v1beta1"),
    ],
)
def test_on_135_the_limits_are_the_same(
    request: pytest.FixtureRequest, namespace: Namespaces, profile: str, version: str
) -> None:
    plane: ControlPlane = request.getfixturevalue(f"controlplane_{profile}")
    ns = namespace(plane)
    with installed(plane, Wanted(policy_version=version, not_served=NO_KUEUE)) as found:
        found.admin.create(job("solo", ns, suspend=True))
        with pytest.raises(ApiError, match=DENIED):
            found.actor.patch("batch/v1", "Job", "solo", {"spec": {"backoffLimit": 1}}, ns)
        said = found.actor.patch("batch/v1", "Job", "solo", {"spec": {"suspend": False}}, ns)
        assert said["spec"]["suspend"] is False
