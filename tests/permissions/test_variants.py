"""Other things than everything everywhere: the lever parallelism, single namespaces, old servers, Kueue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from gangboard.domain.action import Verb
from gangboard.domain.hold import PAUSED_PARALLELISM
from gangboard.domain.owner import Owner
from gangboard.plugins import registry
from gangboard.policy.decision import Decision
from gangboard.policy.lever_permissions import PermissionOptions
from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.grove import CRD
from tests.controlplane.kubeflow import kubeflow_job, replicas, roles_field, version_of
from tests.controlplane.objects import job, pod_template
from tests.controlplane.rays import cluster_spec, ray_pods, raycluster, rayjob, rayservice
from tests.controlplane.trainjobs import TRAINER, create_when_taken, runtime, trainjob
from tests.gangs import a_gang
from tests.permissions.installed import DENIED, Installed, installed, trial_of_actor
from tests.permissions.steps import DESIRED, read, send
from tests.permissions.writes import hold, make_world

pytestmark = pytest.mark.controlplane

NO_KUEUE = frozenset({"workloads.kueue.x-k8s.io"})


def test_parallelism_is_set_to_zero_and_restored_to_its_recorded_value(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    options = PermissionOptions(not_served=NO_KUEUE, parallelism=True)
    with installed(controlplane_137, options) as installation:
        ns = namespace(controlplane_137)
        installation.admin.create(job("solo", ns, parallelism=3, completions=9, suspend=True))
        refused_pauses(installation.actor, ns, [(0, None), (0, "9"), (2, "3"), (None, "9")])
        pause(installation.actor, ns, 0, "3")
        refused_pauses(installation.actor, ns, [(9, "9"), (9, None), (None, "9")])
        pause(installation.actor, ns, 3, None)
        job_now = installation.admin.get("batch/v1", "Job", "solo", ns)
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


def test_the_actor_has_no_rights_outside_its_namespaces(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    inside, outside = namespace(controlplane_137), namespace(controlplane_137)
    options = PermissionOptions(not_served=NO_KUEUE, namespaces=(inside,))
    with installed(controlplane_137, options) as installation:
        suspend = {"spec": {"suspend": False}}
        installation.admin.create(job("solo", inside, suspend=True))
        world = make_world(installation.admin, outside)
        assert (
            installation.actor.patch("batch/v1", "Job", "solo", suspend, inside)["spec"]["suspend"]
            is False
        )
        for attempt in (
            lambda: installation.actor.patch("batch/v1", "Job", "solo", suspend, outside),
            lambda: installation.actor.get("batch/v1", "Job", "solo", outside),
            lambda: installation.actor.list("v1", "Pod", outside),
            lambda: installation.actor.list("v1", "Pod"),
            lambda: installation.actor.create(hold(world)),
            lambda: installation.actor.delete("gangboard.dev/v1alpha1", "Hold", "h", outside),
        ):
            with pytest.raises(ApiError, match=r"403 Forbidden.* cannot "):
                attempt()
        label = {"metadata": {"labels": {"x": "y"}}}
        with pytest.raises(ApiError, match=DENIED):
            installation.actor.patch("batch/v1", "Job", "solo", label, inside)
        trial = trial_of_actor(controlplane_137, [outside, inside])
        sentence = f"it may use 0 of 5 levers in every namespace; 5 of 5 in {inside}"
        assert trial.sentence.endswith(sentence)
        assert not trial.needs_rights
        assert trial_of_actor(controlplane_137, [outside]).needs_rights


def test_the_actor_changes_only_active_in_kueue(
    controlplane_kueue: ControlPlane, namespace: Namespaces
) -> None:
    ns = namespace(controlplane_kueue)
    pods = {"name": "main", "count": 1, "template": pod_template({})}
    workload: Json = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": ns},
        "spec": {"queueName": "q", "podSets": [pods]},
    }
    with installed(controlplane_kueue, PermissionOptions()) as installation:
        installation.admin.create(workload)
        key = (workload["apiVersion"], workload["kind"], "w")
        assert len(installation.actor.list(*key[:2], ns)) == 1
        for body in (
            {"spec": {"queueName": "other"}},
            {"spec": {"active": False, "queueName": "other"}},
            {"spec": {"active": False, "priority": 9}},
            {"metadata": {"labels": {"x": "y"}}},
            {"metadata": {"finalizers": ["example.com/kept"]}},
            {"metadata": {"annotations": {"x": "y"}}},
        ):
            installation.admin.patch(*key, body, ns, dry_run=True)
            with pytest.raises(ApiError, match=DENIED):
                installation.actor.patch(*key, body, ns)
        for active in (False, True):
            answer = installation.actor.patch(*key, {"spec": {"active": active}}, ns)
            assert answer["spec"]["active"] is active


def test_the_actor_changes_only_suspend_in_each_kind(
    controlplane_kueue: ControlPlane, namespace: Namespaces
) -> None:
    """Sends the lever's own request. Objects with another controller are refused."""
    ns = namespace(controlplane_kueue)
    with (
        installed(controlplane_kueue, PermissionOptions()) as installation,
        rayservices_of_kuberay_17(installation.admin),
    ):
        for kind in RUN_POLICIES:
            _only_suspend(installation, *_of_run_policy(kind, ns))
            elsewhere = {"managedBy": "kueue.x-k8s.io/multikueue"}
            outside = kubeflow_job(kind, "far", ns, _roles(kind), suspend=True, policy=elsewhere)
            installation.admin.create(outside)
            resume = {"spec": {"runPolicy": {"suspend": False}}}
            with pytest.raises(ApiError, match="another controller manages"):
                installation.actor.patch(version_of(kind), kind, "far", resume, ns)
        installation.admin.create_all([runtime(ns)])
        try:
            for manifest, changes in _of_suspend_fields(ns):
                _only_suspend(installation, manifest, changes)
        finally:
            installation.admin.delete(TRAINER, "ClusterTrainingRuntime", ns)


RUN_POLICIES = ("JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")


def _roles(kind: str) -> dict[str, Json]:
    roles = {"MPIJob": ("Launcher", "Worker"), "JAXJob": ("Worker",), "TFJob": ("Chief", "PS")}
    return {role: replicas(1) for role in roles.get(kind, ("Master", "Worker"))}


def _of_run_policy(kind: str, ns: str) -> tuple[Json, list[Json]]:
    """Return a suspended job, and changes of it that gangboard does not make."""
    roles = _roles(kind)
    larger = {roles_field(kind): {next(iter(roles)): {"replicas": 2}}}
    changes: list[Json] = [
        {"runPolicy": {"ttlSecondsAfterFinished": 1}},
        {"runPolicy": {"suspend": False, "backoffLimit": 1}},
        {"runPolicy": {"suspend": False}, **larger},
    ]
    return kubeflow_job(kind, "run", ns, roles, suspend=True), changes


def _of_suspend_fields(ns: str) -> list[tuple[Json, list[Json]]]:
    """Return objects of the kinds with `spec.suspend`, suspended where they can be, each with such changes."""
    template = ray_pods(on={})
    spec = cluster_spec(template, template, workers=1)
    submitter = ray_pods(on={}, name="ray-job-submitter", restart_policy="Never")
    cronjob: Json = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "run", "namespace": ns},
        "spec": {
            "schedule": "0 0 1 1 *",
            "suspend": True,
            "jobTemplate": {"spec": job("x", ns)["spec"]},
        },
    }
    return [
        (trainjob("run", ns, ns, suspend=True), [{"suspend": False, "trainer": {"numNodes": 2}}]),
        (
            raycluster("run", ns, {**spec, "suspend": True}),
            [{"enableInTreeAutoscaling": True}, {"suspend": False, "rayVersion": "9"}],
        ),
        (rayjob("run", ns, spec, submitter, suspend=True), [{"suspend": False, "entrypoint": "x"}]),
        # KubeRay 1.6 drops a field that it does not know: it is suspended here, not resumed.
        (rayservice("run", ns, spec), [{"suspend": True, "serveConfigV2": "x"}]),
        (cronjob, [{"suspend": False, "schedule": "* * * * *"}]),
    ]


def _only_suspend(installation: Installed, manifest: Json, changes: list[Json]) -> None:
    """Check that the actor may send the lever's own request for an object, and none of these
    changes of its spec."""
    create_when_taken(installation.admin, manifest)
    meta = manifest["metadata"]
    key = (manifest["apiVersion"], manifest["kind"], meta["name"])
    labels = {"metadata": {"labels": {"x": "y"}}}
    for body in (*({"spec": spec} for spec in changes), labels):
        with pytest.raises(ApiError, match=DENIED):
            installation.actor.patch(*key, body, meta["namespace"], dry_run=True)
    before, answer = wait(
        lambda: _pulled(installation, key, meta["namespace"]), what=f"{key} to stay as read"
    )
    policy = answer["spec"].get("runPolicy", answer["spec"])
    assert policy["suspend"] is not before.suspended, key
    assert answer["metadata"]["annotations"]["gangboard.dev/action"] == "act-1"


def _pulled(
    installation: Installed, key: tuple[str, str, str], ns: str
) -> tuple[Owner, Json] | None:
    """Send the lever's request. Return the owner before and after, or None if its controller wrote
    meanwhile."""
    owner = read(installation.actor.get(*key, ns))
    lever = registry.lever("suspend")
    assert lever is not None
    verb = Verb.RESUME if owner.suspended else Verb.SUSPEND
    desired = replace(DESIRED, verb=verb, until=None)
    decision = lever.decide(a_gang(owner=owner), owner, desired)
    assert isinstance(decision, Decision), (key, decision)
    (step,) = decision.steps()
    try:
        return owner, send(installation.actor, replace(step, dry_run=True))
    except ApiError as error:
        # The patch first tests that the owner is unchanged. The server answers this if it is not.
        if error.status == 422 and "due to an error in our request" in error.message:
            return None
        raise


@contextmanager
def rayservices_of_kuberay_17(admin: Client) -> Iterator[None]:
    """Serve RayServices with the field by which KubeRay 1.7 suspends them (rayservice_types.go), in the CRD of 1.6."""
    key = (*CRD, "rayservices.ray.io")
    versions = admin.get(*key)["spec"]["versions"]
    index = next(number for number, version in enumerate(versions) if version["name"] == "v1")
    path = f"/spec/versions/{index}/schema/openAPIV3Schema/properties/spec/properties/suspend"
    admin.patch(*key, [{"op": "add", "path": path, "value": {"type": "boolean"}}], type="json")
    probe = rayservice("probe", "default", cluster_spec(ray_pods(on={}), ray_pods(on={})))
    probe["spec"]["suspend"] = True
    try:
        wait(
            lambda: "suspend" in admin.create(probe, dry_run=True)["spec"],
            what="the field to be served",
        )
        yield
    finally:
        admin.patch(*key, [{"op": "remove", "path": path}], type="json")


@pytest.mark.parametrize(
    ("profile", "version"),
    [
        pytest.param("135", "", id="no mutating policies"),
        pytest.param("135_map", "v1beta1", id="v1beta1"),
    ],
)
def test_limits_are_the_same_on_135(
    request: pytest.FixtureRequest, namespace: Namespaces, profile: str, version: str
) -> None:
    plane: ControlPlane = request.getfixturevalue(f"controlplane_{profile}")
    ns = namespace(plane)
    with installed(
        plane, PermissionOptions(policy_version=version, not_served=NO_KUEUE)
    ) as installation:
        installation.admin.create(job("solo", ns, suspend=True))
        with pytest.raises(ApiError, match=DENIED):
            installation.actor.patch("batch/v1", "Job", "solo", {"spec": {"backoffLimit": 1}}, ns)
        answer = installation.actor.patch(
            "batch/v1", "Job", "solo", {"spec": {"suspend": False}}, ns
        )
        assert answer["spec"]["suspend"] is False
