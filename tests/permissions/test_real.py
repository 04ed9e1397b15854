"""The printed roles and policies in real API servers: required requests work, all others fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from gangboard.actions.permissions.roles import log_roles, prometheus_roles
from gangboard.domain.action import ClusterLevers, Verb
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.pod_logs import LogRequest, read_log
from gangboard.kube.service_accounts import NAMESPACE, READER
from gangboard.plugins import registry
from gangboard.policy.decision import Decision
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.policy.requests import FieldChange, patch_owner, suspend_job
from gangboard.polling.actor_trial import ActorTrial
from gangboard.polling.cluster_cache import resources
from gangboard.polling.prometheus import PrometheusError, read_service
from gangboard.prometheus_sources import PrometheusSource
from tests.controlplane.client import ApiError, Client, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.objects import jobset, pod
from tests.gangs import a_gang
from tests.permissions.installed import DENIED, Installed, installed, trial_of_actor
from tests.permissions.steps import DESIRED, read, send
from tests.permissions.writes import (
    Write,
    make_world,
    refused_by_policy,
    refused_by_rbac,
)

pytestmark = pytest.mark.controlplane

NO_KUEUE = PermissionOptions(
    not_served=frozenset({"workloads.kueue.x-k8s.io", "jobs.batch.volcano.sh"})
)


@pytest.fixture(scope="module", params=["137", "136"])
def everywhere(request: pytest.FixtureRequest) -> Iterator[Installed]:
    """Everything, as `manage.py print_rbac --cluster` prints it where there is no Kueue."""
    plane: ControlPlane = request.getfixturevalue(f"controlplane_{request.param}")
    with installed(plane, NO_KUEUE) as installation:
        yield installation


def refusal(client: Client, write: Write) -> ApiError:
    """Return how the server refuses; fails when it does not."""
    with pytest.raises(ApiError) as caught:
        write.send(client)
    return caught.value


def test_thirty_other_writes_are_refused(everywhere: Installed, namespace: Namespaces) -> None:
    world = make_world(everywhere.admin, namespace(everywhere.plane))
    by_policy, by_rbac = list(refused_by_policy(world)), list(refused_by_rbac(world))
    for write in by_policy:
        # RBAC alone would allow it, and so would the API: to an admin it is a valid change.
        write.send(everywhere.admin, dry_run=True)
        error = refusal(everywhere.actor, write)
        assert (error.status, error.reason) == (403, "Forbidden"), (write.name, error)
        assert DENIED in error.message, (write.name, error)
        assert write.says in error.message, (write.name, error)
    for write in by_rbac:
        error = refusal(everywhere.actor, write)
        assert error.status == 403, (write.name, error)
        assert 'User "system:serviceaccount:gangboard:gangboard-actor" cannot' in error.message
    assert len(by_policy) >= 15
    assert len(by_policy) + len(by_rbac) >= 30


def test_every_served_field_of_a_job_or_jobset_is_covered(everywhere: Installed) -> None:
    """A later Kubernetes may add fields to either: the policies name none, so none is missing."""
    limits = {
        manifest["metadata"]["name"]: json.dumps(manifest["spec"])
        for manifest in everywhere.made
        if manifest["kind"] == "ValidatingAdmissionPolicy"
    }
    for name, schema, path, writable in (
        ("jobs.batch", "io.k8s.api.batch.v1.JobSpec", "batch/v1", ["suspend", "template"]),
        (
            "jobsets.jobset.x-k8s.io",
            "io.x-k8s.jobset.v1alpha2.JobSet",
            "jobset.x-k8s.io/v1alpha2",
            ["suspend"],
        ),
    ):
        document = everywhere.admin.request("GET", f"/openapi/v3/apis/{path}")["components"][
            "schemas"
        ]
        properties = document[schema]["properties"]
        fields = properties.get("spec", {}).get("properties") or properties
        assert len(fields) >= 10
        text = limits[f"gangboard-actor-{name}"]
        assert [field for field in fields if f"'{field}'" in text] == writable


def test_the_actor_can_use_its_levers(everywhere: Installed, namespace: Namespaces) -> None:
    ns = namespace(everywhere.plane)
    everywhere.admin.create(jobset("run", ns, jobs={"w": {"replicas": 2}}))
    child = everywhere.admin.wait_for("batch/v1", "Job", "run-w-1", ns, until=bool)
    actor = everywhere.actor
    for kind, version, name in (
        ("Job", "batch/v1", "run-w-1"),
        ("JobSet", "jobset.x-k8s.io/v1alpha2", "run"),
    ):
        assert actor.get(version, kind, name, ns)["metadata"]["name"] == name
    assert len(actor.list("batch/v1", "Job", ns)) == 2
    actor.list("v1", "Pod", ns)
    assert actor.list("gangboard.dev/v1alpha1", "Hold", ns) == []
    context = a_gang(owner=read(actor.get("jobset.x-k8s.io/v1alpha2", "JobSet", "run", ns)))
    hold = registry.lever("hold")
    assert hold is not None
    decision = hold.decide(context, read(child), DESIRED)
    assert isinstance(decision, Decision)
    create, prove, _ = decision.steps()
    created = send(actor, create)
    assert created["spec"]["until"] == "2030-01-01T00:00:00Z"
    current = read(actor.get("batch/v1", "Job", "run-w-1", ns))
    send(actor, prove)
    gang = context
    suspended = send(actor, suspend_job(gang, current, "act-1", suspend=True))
    assert suspended["spec"]["suspend"] is True
    current = read(actor.get("batch/v1", "Job", "run-w-1", ns))
    resumed = send(actor, suspend_job(gang, current, "act-2", suspend=False))
    assert resumed["metadata"]["annotations"]["gangboard.dev/action"] == "act-2"
    path = f"/apis/gangboard.dev/v1alpha1/namespaces/{ns}/holds/{created['metadata']['name']}"
    preconditions = {"preconditions": {"uid": created["metadata"]["uid"]}}
    actor.request("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **preconditions})
    owner = read(actor.get("jobset.x-k8s.io/v1alpha2", "JobSet", "run", ns))
    change = FieldChange(("spec", "suspend"), True)
    gang = a_gang(owner=owner)
    patch = patch_owner(gang, owner, "Suspend", [change], {"gangboard.dev/action": "a"})
    assert send(actor, patch)["spec"]["suspend"] is True


def test_a_trial_of_the_actor_reports_the_usable_levers(everywhere: Installed) -> None:
    admin, role = (
        everywhere.admin,
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "gangboard-actor"),
    )
    version = rf"answers the actor, v1\.{everywhere.plane.minor}\.\d+"
    trial = trial_of_actor(everywhere.plane)
    assert {lever.lever for lever in trial.levers} == {
        "native",
        "hold",
        "hold-exclusion",
        "suspend",
        "exclusion",
    }
    assert re.fullmatch(f"{version}: it may use 5 of 5 levers", trial.sentence)
    rules = admin.get(*role)["rules"]
    try:
        fewer = [
            {**rule, "verbs": [verb for verb in rule["verbs"] if verb != "create"]}
            for rule in rules
        ]
        admin.patch(*role, {"rules": fewer})
        trial = wait(lambda: _lacks(everywhere.plane, 2), what="the role to be in force")
        assert trial.sentence.endswith("3 of 5 levers; may not create holds.gangboard.dev")
        without_jobs = [rule for rule in rules if "jobs" not in rule["resources"]]
        admin.patch(*role, {"rules": without_jobs})
        trial = wait(lambda: _lacks(everywhere.plane, 5), what="the role to be in force")
        assert "0 of 5 levers; may not get, list or patch jobs.batch" in trial.sentence
        assert trial.needs_rights
    finally:
        admin.patch(*role, {"rules": rules})
        wait(lambda: _lacks(everywhere.plane, 0), what="the role to be in force")


def _lacks(plane: ControlPlane, number: int = 1) -> ActorTrial | None:
    """Return the trial once the actor may not use so many levers."""
    trial = trial_of_actor(plane)
    return trial if sum(not lever.is_usable for lever in trial.levers) == number else None


def test_jobs_with_an_external_manager_are_switched_by_their_field_only(
    everywhere: Installed, namespace: Namespaces
) -> None:
    """Sends the lever's own request, for one Job and for a whole gang. No release of JobSet leaves
    Jobs in this state afterwards."""
    ns, admin, actor = namespace(everywhere.plane), everywhere.admin, everywhere.actor
    lever = registry.lever("native")
    assert lever is not None
    levers = ClusterLevers(native_honoured=True)
    for name, suspended in (("run", False), ("rest", True)):
        admin.create(jobset(name, ns, jobs={"w": {"replicas": 2}}, suspend=suspended))
        jobs = [f"{name}-w-{index}" for index in range(2)]
        children = tuple(
            read(admin.wait_for("batch/v1", "Job", job, ns, until=bool)) for job in jobs
        )
        created = read(admin.get("jobset.x-k8s.io/v1alpha2", "JobSet", name, ns))
        owner = replace(created, independent_claim="Independent")
        gang = a_gang(owner, children)
        verb = Verb.RESUME if suspended else Verb.SUSPEND
        desired = replace(DESIRED, levers=levers, verb=verb, until=None)
        for subject, number in ((children[0], 1), (owner, 2)):
            decision = lever.decide(gang, subject, desired)
            assert isinstance(decision, Decision)
            steps = decision.steps()
            assert len(steps) == number
            for step in steps:
                for changes in (
                    {"op": "replace", "path": "/spec/backoffLimit", "value": 9},
                    {"op": "add", "path": "/metadata/labels/x", "value": "y"},
                ):
                    patch = json.dumps([*json.loads(step.patch), changes])
                    with pytest.raises(ApiError, match=DENIED):
                        send(actor, replace(step, patch=patch, dry_run=True))
                response = send(actor, replace(step, dry_run=True))
                assert response["spec"]["suspend"] is not suspended


def test_the_actor_cannot_read_other_resources(
    everywhere: Installed, namespace: Namespaces
) -> None:
    ns = namespace(everywhere.plane)
    for version, kind in (
        ("v1", "Secret"),
        ("v1", "ConfigMap"),
        ("v1", "Node"),
        ("v1", "ServiceAccount"),
    ):
        with pytest.raises(ApiError, match="403"):
            everywhere.actor.list(version, kind, ns)


def test_the_reader_can_read_exactly_the_polled_resources(
    everywhere: Installed, namespace: Namespaces
) -> None:
    reader, ns = everywhere.reader, namespace(everywhere.plane)
    requests = [
        (f"{root}/{resource.plural}", dict(resource.query))
        for resource in resources()
        for version in resource.versions
        for root in [f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"]
    ]
    served = [request for request in requests if is_served(everywhere.admin, request[0])]
    assert len(served) >= 10
    with ThreadPoolExecutor(len(served)) as pool:
        list(pool.map(lambda request: list_and_watch(reader, *request), served))
    for path in ("/api", "/apis", "/version", "/openapi/v3"):
        reader.request("GET", path)
    for plural in ("secrets", "configmaps", "serviceaccounts", "pods/p/log"):
        with pytest.raises(ApiError, match="403"):
            reader.request("GET", f"/api/v1/namespaces/{ns}/{plural}")
    world = make_world(everywhere.admin, ns)
    for write in (*refused_by_policy(world), *refused_by_rbac(world)):
        response = refusal(reader, write)
        assert (response.status, "cannot" in response.message) == (403, True), (
            write.name,
            response,
        )


def test_other_users_are_not_limited(everywhere: Installed, namespace: Namespaces) -> None:
    world = make_world(everywhere.admin, namespace(everywhere.plane))
    everywhere.admin.patch(
        "batch/v1", "Job", "solo", {"spec": {"backoffLimit": 2}}, world.namespace
    )


def log_or_refusal(connection: Connection, namespace: str) -> bytes | str:
    """Return the log of a pod without a node, or the code of the refusal."""
    request = LogRequest(namespace, "quiet", "", previous=False, tail=200)
    try:
        return read_log(connection, request, kept_bytes=1024).text
    except KubeError as error:
        return error.code


def prometheus_problem(connection: Connection, source: PrometheusSource) -> str:
    """Return why a Service without pods cannot be asked."""
    with pytest.raises(PrometheusError) as caught:
        read_service(connection, source, "up")
    return str(caught.value)


def test_the_reader_needs_roles_of_their_own_for_logs_and_the_prometheus(
    everywhere: Installed, namespace: Namespaces
) -> None:
    plane, admin, ns = everywhere.plane, everywhere.admin, namespace(everywhere.plane)
    admin.create(pod("quiet", ns, node_selector={"no": "node"}))
    ports = [{"port": 9090}]
    for name in ("prometheus", "another"):
        meta = {"name": name, "namespace": ns}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": meta}
        admin.create({**service, "spec": {"selector": {"no": "pod"}, "ports": ports}})
    source = PrometheusSource(namespace=ns, service="prometheus:9090")
    token = plane.service_account_token(NAMESPACE, READER)
    kubeconfig = plane.kubeconfig_for(token, name="reader-of-logs")
    with Connection(read_kubeconfig(kubeconfig.read_text())) as connection:
        assert log_or_refusal(connection, ns) == KubeErrorCode.FORBIDDEN
        assert "services/proxy" in prometheus_problem(connection, source)
        made = [*log_roles(), *prometheus_roles(ns, source.service)]
        try:
            for manifest in made:
                admin.create(manifest)
            wait(lambda: log_or_refusal(connection, ns) != KubeErrorCode.FORBIDDEN)
            # An API server asks no kubelet for a pod without a node, and answers with an empty text.
            assert log_or_refusal(connection, ns) == b""
            # The role is in force. The answer is that the Service is not known yet, or has no pods.
            wait(lambda: "services/proxy" not in prometheus_problem(connection, source))
            other = replace(source, service="another:9090")
            assert "services/proxy" in prometheus_problem(connection, other)
        finally:
            for manifest in reversed(made):
                meta = manifest["metadata"]
                key = (manifest["apiVersion"], manifest["kind"], meta["name"])
                admin.delete(*key, meta.get("namespace"))


def list_and_watch(reader: Client, path: str, query: dict[str, str]) -> None:
    """Read a resource as a poll does, for one second."""
    listed = reader.request("GET", path, query=query)
    version = listed["metadata"]["resourceVersion"]
    watch = {**query, "watch": "1", "timeoutSeconds": "1", "resourceVersion": version}
    reader.request("GET", path, query=watch)


def is_served(admin: Client, path: str) -> bool:
    try:
        admin.request("GET", path, query={"limit": 1})
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
