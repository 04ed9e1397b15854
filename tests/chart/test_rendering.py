"""Helm lints and renders the chart, and reports a missing value in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.chart.helm import (
    ALL,
    CHART,
    FULL,
    REFERENCES,
    TRIAL,
    HelmError,
    Manifest,
    Values,
    helm,
    pod_template,
    rendered,
)
from tests.chart.manifests import FOLDER, plain_manifests

pytestmark = [pytest.mark.controlplane, pytest.mark.usefixtures("helm_is_built")]


def without(path: str, values: Values) -> Values:
    key, _, inner = path.partition(".")
    if not inner:
        return {name: value for name, value in values.items() if name != key}
    nested: Any = values[key]
    return {**values, key: without(inner, nested)}


def named(objects: list[Manifest], kind: str, name: str) -> Manifest:
    (obj,) = [
        obj
        for obj in objects
        if obj["kind"] == kind and obj["metadata"]["name"] == f"gangboard-{name}"
    ]
    return obj


@pytest.mark.parametrize(("value", "expected"), [("on", 1), ("off", 0), (None, 0)])
def test_the_reader_may_read_logs_if_the_setting_is_on(value: object, expected: int) -> None:
    settings = {} if value is None else {"settings": {"GANGBOARD_LOGS": value}}
    roles = [
        obj
        for obj in rendered({**REFERENCES, **settings})
        if obj["kind"] == "ClusterRole" and obj["metadata"]["name"] == "gangboard-reader-logs"
    ]
    assert len(roles) == expected


@pytest.mark.parametrize(("value", "expected"), [("on", 1), ("off", 0), (None, 0)])
def test_the_actor_may_cordon_nodes_if_the_setting_is_on(value: object, expected: int) -> None:
    settings = {} if value is None else {"settings": {"GANGBOARD_CORDON": value}}
    objects = rendered({**REFERENCES, "actor": {"enabled": True}, **settings})
    kinds = [obj["kind"] for obj in objects if obj["metadata"]["name"] == "gangboard-actor-nodes"]
    assert kinds.count("ClusterRole") == expected
    assert kinds.count("ValidatingAdmissionPolicy") == expected


def test_helm_lint_passes() -> None:
    for values in (REFERENCES, TRIAL, FULL):
        assert "0 chart(s) failed" in helm("lint", str(CHART), "--strict", values=values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (without("image.repository", REFERENCES), "Set image.repository: build the image"),
        (without("image.tag", REFERENCES), "Set image.tag or image.digest: "),
        (without("url", REFERENCES), "Set url: the address under which people reach gangboard"),
        (without("trustedProxies", REFERENCES), "Set trustedProxies: the networks of the Ingress"),
        (without("keys", REFERENCES), "Set keys.existingSecret: a Secret with secret_key"),
        (without("database", REFERENCES), "Set database.existingSecret: a Secret with the address"),
        (without("redis", REFERENCES), "Set redis.existingSecret: a Secret with the address"),
        (without("httpRoute.parentRefs", FULL), "Set httpRoute.parentRefs: the Gateway"),
        (without("metrics.existingSecret", FULL), "Set metrics.existingSecret: the ServiceMonitor"),
        ({**REFERENCES, "workers": {"poll": None}}, "Set workers.poll: without a poll worker"),
        ({**REFERENCES, "imgae": {}}, "additional properties 'imgae' not allowed"),
        (
            {**REFERENCES, "url": "gangs.example.com"},
            "at '/url': 'gangs.example.com' does not match",
        ),
        (
            {**REFERENCES, "web": {"replicas": "two"}},
            "at '/web/replicas': got string, want integer",
        ),
        ({**REFERENCES, "settings": {"POLL_SLOTS": "9"}}, "'POLL_SLOTS' does not match pattern"),
        (
            {**REFERENCES, "cluster": {"name": "a; reboot"}},
            "at '/cluster/name': 'a; reboot' does not match",
        ),
    ],
)
def test_a_missing_or_wrong_value_is_reported_in_one_sentence(
    values: Values, sentence: str
) -> None:
    with pytest.raises(HelmError) as caught:
        rendered(values)
    assert [line for line in str(caught.value).splitlines() if sentence in line], caught.value


def test_plain_manifests_are_fresh() -> None:
    # make manifests
    assert (FOLDER / "gangboard.yaml").read_text() == plain_manifests()


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_every_container_is_confined(values: Values) -> None:
    pods = [pod for obj in rendered(values) if (pod := pod_template(obj)) is not None]
    assert len(pods) >= 6
    for pod in pods:
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {*spec} & {"hostNetwork", "hostPID", "hostIPC"} == set()
        for container in [*spec.get("initContainers", ()), *spec["containers"]]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
        for container in spec["containers"]:
            assert "memory" in container["resources"]["limits"], container["name"]
            for variable in container["env"]:
                secret = "PASSWORD" in variable["name"] or "KEY" in variable["name"]
                assert not secret or "valueFrom" in variable or variable["name"].endswith("_FILE")


def test_only_cluster_readers_have_the_service_account() -> None:
    accounts = {
        obj["metadata"]["name"].removeprefix("gangboard-"): pod["spec"][
            "automountServiceAccountToken"
        ]
        for obj in rendered(FULL)
        if (pod := pod_template(obj)) is not None
    }
    assert accounts == {
        **dict.fromkeys(("web", "poll", "act", "prove", "notify", "add-cluster"), True),
        **dict.fromkeys(("beat", "migrate"), False),
    }


def test_replicas_probes_and_strategies_are_rendered() -> None:
    objects = rendered(REFERENCES)
    deployments = {
        obj["metadata"]["name"].removeprefix("gangboard-"): obj["spec"]
        for obj in objects
        if obj["kind"] == "Deployment"
    }
    replicas = {name: spec["replicas"] for name, spec in deployments.items()}
    assert replicas == {"web": 2, "poll": 2, "act": 1, "prove": 1, "notify": 1, "beat": 1}
    assert deployments["beat"]["strategy"] == {"type": "Recreate"}
    assert deployments["web"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    (web,) = deployments["web"]["template"]["spec"]["containers"]
    assert web["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert web["livenessProbe"]["httpGet"]["path"] == "/healthz"
    budgets = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "PodDisruptionBudget"]
    assert sorted(budgets) == [
        f"gangboard-{name}" for name in ("act", "notify", "poll", "prove", "web")
    ]


def test_an_additional_worker_is_one_line() -> None:
    values = {
        **REFERENCES,
        "workers": {"other": {"replicas": 1, "concurrency": 3, "resources": {}}},
    }
    spec = named(rendered(values), "Deployment", "other")["spec"]["template"]["spec"]
    assert spec["containers"][0]["command"] == [
        *("celery", "-A", "gangboard.celery", "worker", "--queues", "other", "--concurrency", "3")
    ]


def test_hooks_of_a_trial_are_ordered() -> None:
    by_reference, trial = rendered(REFERENCES), rendered(TRIAL)
    annotations = named(by_reference, "Job", "migrate")["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"
    # Its database is of the same release: no hook may wait for it.
    assert "annotations" not in named(trial, "Job", "migrate-1")["metadata"]
    for name in ("web", "poll", "act", "prove", "notify", "beat"):
        spec = named(trial, "Deployment", name)["spec"]["template"]["spec"]
        assert "migrate --check" in spec["initContainers"][0]["command"][2]


def test_every_account_is_in_the_release_namespace() -> None:
    objects = rendered(FULL, "team-x")
    text = yaml.safe_dump_all(objects)
    assert "system:serviceaccount:team-x:gangboard-actor" in text
    assert "system:serviceaccount:gangboard:" not in text
    assert "namespace: gangboard\n" not in text
    subjects = [
        subject["namespace"]
        for obj in objects
        if obj["kind"] in ("ClusterRoleBinding", "RoleBinding")
        for subject in obj["subjects"]
    ]
    assert set(subjects) == {"team-x"}
