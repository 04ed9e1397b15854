"""Printed manifests, without a server: least rights, rules of new kinds, and readable text."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from gangboard.actions.permissions import admission_policy
from gangboard.actions.permissions.manifests import manifests, yaml_text
from gangboard.domain.hold_manifest import Manifest
from gangboard.kube.kubeconfig import COMMANDS
from gangboard.kube.service_accounts import ACTOR, READER
from gangboard.owners.job import Job
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.polling.cluster_cache import resources
from gangboard.prometheus_sources import read_sources

READ = {"get", "list", "watch"}


def find(options: PermissionOptions, kind: str, name: str) -> list[Manifest]:
    printed = manifests(options)
    return [m for m in printed if (m["kind"], m["metadata"]["name"]) == (kind, name)]


def rights(role: Manifest) -> dict[str, set[str]]:
    """Resource key → verbs."""
    verbs: dict[str, set[str]] = {}
    for rule in role["rules"]:
        for group in rule.get("apiGroups", []):
            for plural in rule["resources"]:
                key = f"{plural}.{group}" if group else plural
                verbs.setdefault(key, set()).update(rule["verbs"])
    return verbs


def test_the_reader_may_read_exactly_the_polled_resources() -> None:
    (role,) = find(PermissionOptions(), "ClusterRole", READER)
    (identity,) = (rule for rule in role["rules"] if rule.get("resources") == ["namespaces"])
    assert (identity["resourceNames"], identity["verbs"]) == (["kube-system"], ["get"])
    granted = rights(role)
    del granted["namespaces"]
    assert set(granted) == {resource.key for resource in resources()}
    assert all(verbs == READ for verbs in granted.values())
    assert not {"secrets", "configmaps", "pods/log"} & set(granted)


def test_the_reader_may_read_logs_only_if_they_are_switched_on() -> None:
    assert find(PermissionOptions(), "ClusterRole", f"{READER}-logs") == []
    (role,) = find(PermissionOptions(logs=True), "ClusterRole", f"{READER}-logs")
    assert rights(role) == {"pods/log": {"get"}}
    (binding,) = find(PermissionOptions(logs=True), "ClusterRoleBinding", f"{READER}-logs")
    assert binding["roleRef"]["name"] == f"{READER}-logs"
    assert [subject["name"] for subject in binding["subjects"]] == [READER]


def test_the_actor_may_cordon_nodes_only_if_that_is_switched_on() -> None:
    name = f"{ACTOR}-nodes"
    assert not any(m["metadata"]["name"] == name for m in manifests(PermissionOptions()))
    for options in (
        PermissionOptions(cordon=True),
        PermissionOptions(cordon=True, namespaces=("a",)),
    ):
        (role,) = find(options, "ClusterRole", name)
        assert rights(role) == {"nodes": {"get", "patch"}}
        (binding,) = find(options, "ClusterRoleBinding", name)
        assert [subject["name"] for subject in binding["subjects"]] == [ACTOR]
        (policy,) = find(options, "ValidatingAdmissionPolicy", name)
        (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
        assert (rule["apiGroups"], rule["resources"]) == ([""], ["nodes"])
        order = [m["kind"] for m in manifests(options) if m["metadata"]["name"] == name]
        assert order.index("ValidatingAdmissionPolicyBinding") < order.index("ClusterRole")


@pytest.mark.parametrize("cordon", [False, True])
def test_print_rbac_has_nodes_for_the_setting(settings: Any, cordon: bool) -> None:
    settings.CORDON = cordon
    printed = StringIO()
    call_command("print_rbac", stdout=printed)
    assert ("gangboard-actor-nodes" in printed.getvalue()) is cordon


@pytest.mark.parametrize("logs", [False, True])
def test_print_rbac_follows_the_setting(settings: Any, logs: bool) -> None:
    settings.LOGS = logs
    printed = StringIO()
    call_command("print_rbac", stdout=printed)
    assert ("pods/log" in printed.getvalue()) is logs


def test_the_reader_may_ask_the_service_of_the_setting(settings: Any) -> None:
    settings.PROMETHEUS_SOURCES = read_sources("*=service:monitoring/prometheus:9090")
    printed = StringIO()
    call_command("print_rbac", stdout=printed)
    documents = [m for m in yaml.safe_load_all(printed.getvalue()) if m]
    (role,) = (m for m in documents if m["kind"] == "Role")
    assert (role["metadata"]["namespace"], role["rules"]) == (
        "monitoring",
        [
            {
                "apiGroups": [""],
                "resources": ["services/proxy"],
                "resourceNames": ["prometheus:9090"],
                "verbs": ["get"],
            }
        ],
    )
    settings.PROMETHEUS_SOURCES = read_sources("*=https://prometheus.example.com")
    printed = StringIO()
    call_command("print_rbac", stdout=printed)
    assert "services/proxy" not in printed.getvalue()


def test_the_actor_has_only_the_rights_of_its_levers() -> None:
    (role,) = find(PermissionOptions(), "ClusterRole", ACTOR)
    assert rights(role) == {
        "cronjobs.batch": {"get", "patch"},
        "jobs.batch": {"get", "list", "patch"},
        # Volcano Jobs are read, and controlled through a separate object.
        "jobs.batch.volcano.sh": {"get"},
        "commands.bus.volcano.sh": {"create", "get"},
        "jaxjobs.kubeflow.org": {"get", "patch"},
        "jobsets.jobset.x-k8s.io": {"get", "patch"},
        "mpijobs.kubeflow.org": {"get", "patch"},
        "paddlejobs.kubeflow.org": {"get", "patch"},
        "pytorchjobs.kubeflow.org": {"get", "patch"},
        "rayclusters.ray.io": {"get", "patch"},
        "rayjobs.ray.io": {"get", "patch"},
        "rayservices.ray.io": {"get", "patch"},
        "tfjobs.kubeflow.org": {"get", "patch"},
        "xgboostjobs.kubeflow.org": {"get", "patch"},
        "trainjobs.trainer.kubeflow.org": {"get", "patch"},
        "workloads.kueue.x-k8s.io": {"get", "list", "patch"},
        "pods": {"list"},
        "holds.gangboard.dev": {"create", "delete", "get", "list"},
    }


def test_an_unserved_resource_is_no_lever() -> None:
    options = PermissionOptions(not_served=frozenset({"workloads.kueue.x-k8s.io"}))
    (role,) = find(options, "ClusterRole", ACTOR)
    assert "workloads.kueue.x-k8s.io" not in rights(role)
    assert not find(options, "ValidatingAdmissionPolicy", f"{ACTOR}-workloads.kueue.x-k8s.io")
    assert find(options, "ValidatingAdmissionPolicy", f"{ACTOR}-jobs.batch")


def test_a_lever_without_served_owners_has_no_rights() -> None:
    (role,) = find(
        PermissionOptions(not_served=frozenset({"jobs.batch.volcano.sh"})), "ClusterRole", ACTOR
    )
    assert not {key for key in rights(role) if key.endswith("volcano.sh")}


def test_every_resource_the_actor_may_change_has_a_bound_limit() -> None:
    for options in (
        PermissionOptions(),
        PermissionOptions(parallelism=True),
        PermissionOptions(namespaces=("a", "b")),
    ):
        role = next(
            m
            for m in manifests(options)
            if m["metadata"]["name"] == ACTOR and m["kind"] in ("Role", "ClusterRole")
        )
        changed = {key for key, verbs in rights(role).items() if verbs & {"patch", "create"}}
        for key in changed:
            (policy,) = find(options, "ValidatingAdmissionPolicy", f"{ACTOR}-{key}")
            (binding,) = find(options, "ValidatingAdmissionPolicyBinding", f"{ACTOR}-{key}")
            assert policy["spec"]["failurePolicy"] == "Fail"
            assert binding["spec"] == {
                "policyName": policy["metadata"]["name"],
                "validationActions": ["Deny"],
            }
            (condition,) = policy["spec"]["matchConditions"]
            assert "'system:serviceaccount:gangboard:gangboard-actor'" in condition["expression"]


def test_parallelism_is_a_lever_only_if_switched_on() -> None:
    def of_jobs(options: PermissionOptions) -> str:
        (policy,) = find(options, "ValidatingAdmissionPolicy", f"{ACTOR}-jobs.batch")
        return str(policy["spec"])

    assert "parallelism" not in of_jobs(PermissionOptions())
    assert "paused-parallelism" in of_jobs(PermissionOptions(parallelism=True))
    (jobsets,) = find(
        PermissionOptions(parallelism=True),
        "ValidatingAdmissionPolicy",
        f"{ACTOR}-jobsets.jobset.x-k8s.io",
    )
    assert "parallelism" not in str(jobsets["spec"])


def test_an_actor_limited_to_namespaces_has_no_right_elsewhere() -> None:
    options = PermissionOptions(namespaces=("team-a", "team-b"))
    assert not find(options, "ClusterRole", ACTOR)
    assert not find(options, "ClusterRoleBinding", ACTOR)
    for kind in ("Role", "RoleBinding"):
        objects = find(options, kind, ACTOR)
        assert [m["metadata"]["namespace"] for m in objects] == ["team-a", "team-b"]
    assert find(options, "ClusterRole", READER)


def test_the_policy_uses_the_served_version() -> None:
    (policy,) = find(
        PermissionOptions(policy_version="v1beta1"), "MutatingAdmissionPolicy", "gangboard-hold"
    )
    assert policy["apiVersion"] == "admissionregistration.k8s.io/v1beta1"
    assert not find(
        PermissionOptions(policy_version=""), "MutatingAdmissionPolicy", "gangboard-hold"
    )
    assert "serves no MutatingAdmissionPolicy" in yaml_text(PermissionOptions(policy_version=""))


@pytest.fixture
def new_kind(monkeypatch: pytest.MonkeyPatch) -> OwnerKind:
    """A kind as a later release may bring it: it is suspended two levels down."""
    known = registry.owner_kinds()

    class Ring(Job):
        group = "toys.example"
        kind = "Ring"
        suspend_field = ("spec", "runPolicy", "suspend")
        own_managers = ("toys.example/rings",)
        managed_by_field = ("spec", "runPolicy", "managedBy")

    kind = Ring()
    monkeypatch.setattr(registry, "owner_kinds", lambda: (*known, kind))
    return kind


def test_a_new_kind_gets_its_rules_automatically(new_kind: OwnerKind) -> None:
    (reader,), (actor,) = (
        find(PermissionOptions(), "ClusterRole", name) for name in (READER, ACTOR)
    )
    assert rights(reader)["rings.toys.example"] == READ
    assert rights(actor)["rings.toys.example"] == {"get", "patch"}
    (policy,) = find(
        PermissionOptions(), "ValidatingAdmissionPolicy", f"{ACTOR}-rings.toys.example"
    )
    forbidden = {
        variable["name"]: variable["expression"].rpartition(".filter(k, ")[2]
        for variable in policy["spec"]["variables"]
        if variable["name"].startswith("forbidden")
    }
    assert forbidden["forbiddenSpec"] == "!(k in ['runPolicy']))"
    assert forbidden["forbiddenSpecRunPolicy"] == "!(k in ['suspend']))"
    rules = [rule["expression"] for rule in policy["spec"]["validations"]]
    assert "variables.forbiddenSpecRunPolicy.size() == 0" in rules
    assert (
        "variables.oldSpecRunPolicy.?managedBy.orValue('toys.example/rings')"
        " in ['toys.example/rings']" in rules
    )


def test_the_output_is_yaml_and_ends_with_the_commands_of_the_refused_kubeconfig() -> None:
    text = yaml_text(PermissionOptions(), "east")
    documents: list[Any] = [document for document in yaml.safe_load_all(text) if document]
    assert documents == manifests(PermissionOptions())
    assert "&id" not in text
    ending = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    assert ending[:-1] == list(COMMANDS[1:-1])
    assert ending[-1] == COMMANDS[-1].replace("NAME", "east")
    assert text.rstrip().splitlines()[-1].startswith("#   manage.py add_cluster east")


def test_limits_precede_rights() -> None:
    kinds = [manifest["kind"] for manifest in manifests(PermissionOptions())]
    assert max(
        index for index, kind in enumerate(kinds) if kind.startswith("Validating")
    ) < kinds.index("ClusterRoleBinding")


@pytest.mark.parametrize("text", ["it's", "a\\b", "a\nb"])
def test_text_cannot_break_out_of_an_expression(text: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in an expression"):
        admission_policy.cel_text(text)


def test_holds_are_created_for_known_owners_only() -> None:
    name = f"{ACTOR}-holds.gangboard.dev"
    (policy,) = find(PermissionOptions(), "ValidatingAdmissionPolicy", name)
    assert "o.kind == 'JobSet' && o.apiVersion.startsWith('jobset.x-k8s.io/')" in str(
        policy["spec"]
    )
