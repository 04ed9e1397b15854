"""The commands that let gangboard act, and stop it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from gangboard.ops.database_command import command_author
from gangboard.plugins import registry
from gangboard.store.levers import read_levers
from gangboard.store.models import AuditEntry, Cluster
from tests.factories import make_resource
from tests.ops.kubeconfigs import jwt, write_kubeconfig

pytestmark = pytest.mark.django_db

POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
HOLDS = "holds.gangboard.dev"


def run(*arguments: Any) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, no_color=True)
    return out.getvalue()


def refused(*arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    return str(caught.value)


@pytest.fixture
def east(tmp_path: Path) -> Cluster:
    run(
        "add_cluster",
        "east",
        "--kubeconfig",
        write_kubeconfig(tmp_path / "reader"),
        "--without-trying",
    )
    return Cluster.objects.get()


def reread(cluster: Cluster) -> Cluster:
    cluster.refresh_from_db()
    return cluster


def test_without_an_actor_a_cluster_is_read_only(east: Cluster) -> None:
    assert not read_levers(east).has_actor


def test_add_cluster_accepts_an_actor(tmp_path: Path) -> None:
    reader = write_kubeconfig(tmp_path / "reader")
    actor = write_kubeconfig(tmp_path / "actor", user={"token": jwt(1_900_000_000)})
    out = run(
        "add_cluster",
        "east",
        "--kubeconfig",
        reader,
        "--actor-kubeconfig",
        actor,
        "--without-trying",
    )
    assert out.splitlines() == [
        "Cluster east at https://127.0.0.1:1 is watched from now on.",
        "gangboard may act on it.",
        "The actor's credentials expire at 2030-03-17 17:46 UTC.",
    ]
    assert read_levers(Cluster.objects.get()).has_actor


def test_a_bad_actor_adds_no_cluster(tmp_path: Path) -> None:
    reader = write_kubeconfig(tmp_path / "reader")
    elsewhere = write_kubeconfig(tmp_path / "actor", server="https://127.0.0.1:2")
    message = refused(
        "add_cluster", "east", "--kubeconfig", reader, "--actor-kubeconfig", elsewhere
    )
    assert "both identities must name the same address" in message
    program = write_kubeconfig(tmp_path / "exec", user={"exec": {"command": "aws"}})
    message = refused("add_cluster", "east", "--kubeconfig", reader, "--actor-kubeconfig", program)
    assert "manage.py print_rbac | kubectl apply -f -" in message
    assert not Cluster.objects.exists()


def test_set_actor_stores_the_actor(east: Cluster, tmp_path: Path) -> None:
    actor = write_kubeconfig(tmp_path / "actor", user={"token": "sesame"})
    assert run("set_actor", "east", "--kubeconfig", actor, "--without-trying") == (
        "gangboard may act on cluster east from now on.\n"
    )
    assert read_levers(reread(east)).has_actor
    out = run("set_actor", "east", "--kubeconfig", actor, "--context", "dev")
    assert out.splitlines() == [
        "Cluster east does not answer the actor now: 127.0.0.1:1 refuses connections: nothing listens there. "
        "gangboard keeps these credentials.",
        "Check the address on the machine or in the pod of a poll worker. Any HTTP answer is good.",
        "    curl --insecure --max-time 5 https://127.0.0.1:1/version",
        "The actor of cluster east has new credentials.",
    ]
    assert AuditEntry.objects.filter(event="switch", actor_name=command_author()).count() == 2
    assert refused("set_actor", "west", "--kubeconfig", actor) == (
        "there is no cluster 'west'; the clusters are: east"
    )
    assert "There is no context no" in refused(
        "set_actor", "east", "--kubeconfig", actor, "--context", "no"
    )


def test_set_lever_switches_a_lever(east: Cluster) -> None:
    out = run("set_lever", "east", "parallelism", "on")
    assert out.splitlines()[0] == "Lever parallelism is on on cluster east."
    assert "manage.py print_rbac --cluster east | kubectl --context dev apply -f -" in out
    assert reread(east).parallelism_lever
    run("set_lever", "east", "parallelism", "off")
    assert not reread(east).parallelism_lever
    for wrong in (("east", "hold", "on"), ("east", "parallelism", "maybe")):
        refused("set_lever", *wrong)
    assert "there is no cluster 'west'" in refused("set_lever", "west", "parallelism", "on")


def test_set_read_only_switches_acting(east: Cluster) -> None:
    assert run("set_read_only", "east", "on") == "Read-only is on for cluster east.\n"
    levers = read_levers(reread(east))
    assert levers.read_only == "Cluster east is switched to read-only."
    assert levers.read_only_command == "manage.py set_read_only east off"
    run("set_read_only", "east", "off")
    assert run("set_read_only", "on") == "Read-only is on for every cluster.\n"
    levers = read_levers(reread(east))
    assert levers.read_only == "gangboard is switched to read-only."
    assert levers.read_only_command == "manage.py set_read_only off"
    run("set_read_only", "off")
    assert read_levers(east).read_only == ""
    assert "there is no cluster 'west'" in refused("set_read_only", "west", "on")


def test_print_rbac_is_specific_to_the_cluster(east: Cluster) -> None:
    served = {"jobs.batch", "cronjobs.batch", "jobsets.jobset.x-k8s.io"}
    for key in sorted({kind.resource.key for kind in registry.owner_kinds()} - served):
        make_resource(east, key, state="not-served")
    make_resource(east, "workloads.kueue.x-k8s.io", state="not-served")
    make_resource(east, POLICIES, version="v1beta1")
    run("set_lever", "east", "parallelism", "on")
    text = run("print_rbac", "--cluster", "east")
    result = {(m["kind"], m["metadata"]["name"]): m for m in yaml.safe_load_all(text) if m}
    policy = result["MutatingAdmissionPolicy", "gangboard-hold"]
    assert policy["apiVersion"] == "admissionregistration.k8s.io/v1beta1"
    limits = {name for kind, name in result if kind == "ValidatingAdmissionPolicy"}
    assert limits == {
        "gangboard-actor-cronjobs.batch",
        "gangboard-actor-jobs.batch",
        "gangboard-actor-jobsets.jobset.x-k8s.io",
        "gangboard-actor-holds.gangboard.dev",
    }
    jobs = result["ValidatingAdmissionPolicy", "gangboard-actor-jobs.batch"]
    assert "spec.parallelism" in str(jobs)
    command = (
        "manage.py add_cluster east --kubeconfig gangboard-reader.kubeconfig"
        " --actor-kubeconfig gangboard-actor.kubeconfig"
    )
    assert f"#   {command}\n" in text
    # No poll has seen a Hold there.
    assert ("MutatingAdmissionPolicyBinding", "gangboard-hold") not in result
    assert text.rstrip().endswith(
        "#   manage.py print_rbac --hold | kubectl --context dev apply -f -"
    )
    make_resource(east, HOLDS, state="ok")
    text = run("print_rbac", "--cluster", "east")
    assert "MutatingAdmissionPolicyBinding" in [m["kind"] for m in yaml.safe_load_all(text) if m]
    assert text.rstrip().endswith(command)


def test_print_rbac_prints_the_hold_binding_alone(east: Cluster) -> None:
    (results,) = [m for m in yaml.safe_load_all(run("print_rbac", "--hold")) if m]
    assert (results["apiVersion"], results["kind"], results["metadata"]["name"]) == (
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicyBinding",
        "gangboard-hold",
    )
    make_resource(east, POLICIES, version="v1beta1")
    (results,) = yaml.safe_load_all(run("print_rbac", "--hold", "--cluster", "east"))
    assert results["apiVersion"] == "admissionregistration.k8s.io/v1beta1"


def test_print_rbac_needs_no_cluster_and_takes_namespaces() -> None:
    results = [m for m in yaml.safe_load_all(run("print_rbac")) if m]
    kinds = [m["kind"] for m in results]
    assert kinds[:2] == ["CustomResourceDefinition", "MutatingAdmissionPolicy"]
    # API servers would refuse what JobSet writes until they know Holds.
    assert "MutatingAdmissionPolicyBinding" not in kinds
    assert "Role" not in kinds
    text = run("print_rbac", "--namespace", "a", "b", "--namespace", "a")
    roles = [m for m in yaml.safe_load_all(text) if m and m["kind"] == "Role"]
    assert [role["metadata"]["namespace"] for role in roles] == ["a", "b"]
    assert "namespaces a, b" in text
    assert "cannot be the name of a namespace" in refused("print_rbac", "--namespace", "A")
    assert "there is no cluster 'x'" in refused("print_rbac", "--cluster", "x")
