"""Constraints of a pod that the filters of kube-scheduler read."""

from __future__ import annotations

import pytest

from gangboard.decode.pods import POD
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import (
    HOSTNAME,
    HostPort,
    PodConstraints,
    Requirement,
    Term,
    Toleration,
)
from gangboard.placement.matching import matches_pod
from tests.decode.needing import PREFERRED, REQUIRED, ZONE, by_host, needs, pod
from tests.decode.reading import Json, model, read, with_identity


def test_pod_without_constraints() -> None:
    assert needs() == PodConstraints()
    assert (
        needs(
            nodeSelector=None,
            affinity=None,
            tolerations=None,
            volumes=None,
            topologySpreadConstraints=None,
            resourceClaims=None,
            preemptionPolicy=None,
            containers=[{"name": "c", "ports": None}],
        )
        == PodConstraints()
    )


def test_node_selector_in_order() -> None:
    assert needs(nodeSelector={"pool": "gpu", "arch": "amd64"}).node_selector == (
        ("arch", "amd64"),
        ("pool", "gpu"),
    )


def test_required_node_affinity_any_of_the_terms() -> None:
    terms = [
        {
            "matchExpressions": [
                {"key": "gpu", "operator": "In", "values": ["h100", "h200"]},
                {"key": "spot", "operator": "DoesNotExist"},
            ]
        },
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        {},
    ]
    soft = [{"weight": 1, "preference": {"matchExpressions": []}}]
    result = needs(
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, PREFERRED: soft}}
    )
    assert result.affinity == (
        Term((Requirement("gpu", "In", ("h100", "h200")), Requirement("spot", "DoesNotExist"))),
        Term(fields=(Requirement("metadata.name", "In", ("n1",)),)),
        Term(),
    )


def test_soft_node_affinity_is_ignored_and_empty_terms_match_no_node() -> None:
    soft = {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {}}]}}
    assert needs(affinity=soft).affinity is None
    assert needs(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}).affinity == ()


def test_tolerations_are_decoded() -> None:
    result = needs(
        tolerations=[
            {"operator": "Exists"},
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "late", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ]
    )
    assert result.tolerations == (
        Toleration(operator="Exists"),
        Toleration("gpu", "Equal", "yes", "NoSchedule"),
        Toleration("late", "Exists", "", "NoExecute"),
    )


def test_host_ports_of_containers_and_sidecars() -> None:
    # GetHostPorts of kube-scheduler: init containers that end do not count.
    result = needs(
        hostNetwork=True,
        containers=[
            {"ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
                       {"containerPort": 81, "protocol": "TCP"},
                       {"containerPort": 82, "hostPort": 0}]},
            {"ports": [{"containerPort": 53, "hostPort": 5353, "protocol": "UDP",
                        "hostIP": "127.0.0.1"}]},
        ],
        initContainers=[
            {"restartPolicy": "Always", "ports": [{"containerPort": 9, "hostPort": 9000}]},
            {"ports": [{"containerPort": 1, "hostPort": 1000}]},
        ],
    )  # fmt: skip
    assert result.host_ports == {
        HostPort(80),
        HostPort(5353, "UDP", "127.0.0.1"),
        HostPort(9000),
    }


def test_soft_constraints_are_ignored() -> None:
    term = {"weight": 100, "podAffinityTerm": by_host()}
    result = needs(
        affinity={"podAntiAffinity": {PREFERRED: [term]}, "podAffinity": {PREFERRED: [term]}},
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    )
    assert result == PodConstraints()


def test_unsupported_constraints_are_named() -> None:
    elsewhere = {**by_host(), "topologyKey": ZONE}
    result = needs(
        affinity={"podAffinity": {REQUIRED: [by_host(), elsewhere]}},
        topologySpreadConstraints=[
            {"topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"} for key in (ZONE, HOSTNAME)
        ],
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}],
    )
    assert result.spread_keys == (HOSTNAME, ZONE)
    assert result.unsupported == (
        "pod affinity",
        "spread constraints",
        "volumes",
        "resource claims",
    )
    assert result.undecidable == ()


@pytest.mark.parametrize(
    "source",
    [
        {"emptyDir": {}},
        {"configMap": {"name": "c"}},
        {"secret": {"secretName": "s"}},
        {"projected": {"sources": []}},
        {"downwardAPI": {}},
        {"hostPath": {"path": "/x"}},
        {"nfs": {"server": "s", "path": "/"}},
        {"image": {"reference": "r"}},
        {"csi": {"driver": "secrets.example.com"}},
    ],
)
def test_volumes_without_node_restrictions(source: Json) -> None:
    assert needs(volumes=[{"name": "v", **source}]) == PodConstraints()


@pytest.mark.parametrize(
    "source",
    [
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"ephemeral": {"volumeClaimTemplate": {}}},
        {"awsElasticBlockStore": {"volumeID": "v"}},
        {"azureDisk": {"diskName": "d", "diskURI": "u"}},
        {"azureFile": {"secretName": "s", "shareName": "s"}},
        {"cinder": {"volumeID": "v"}},
        {"gcePersistentDisk": {"pdName": "p"}},
        {"iscsi": {"targetPortal": "t", "iqn": "i", "lun": 0}},
        {"portworxVolume": {"volumeID": "v"}},
        {"rbd": {"monitors": ["m"], "image": "i"}},
        {"vsphereVolume": {"volumePath": "p"}},
    ],
)
def test_volumes_with_node_restrictions(source: Json) -> None:
    volumes = [{"name": "tmp", "emptyDir": {}}, {"name": "v", **source}]
    assert needs(volumes=volumes).unsupported == ("volumes",)


RESTARTS_ALL = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "c", "restartPolicyRules": [RESTARTS_ALL]}]},
        {"initContainers": [{"name": "i", "restartPolicyRules": [RESTARTS_ALL]}]},
        {"hostUsers": False, "hostNetwork": True},
    ],
)
def test_features_that_a_node_must_declare(spec: Json) -> None:
    # InferForScheduling in k8s.io/component-helpers/nodedeclaredfeatures (0.36, 0.37).
    assert needs(**spec).unsupported == ("features that nodes declare",)


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]},
        {"containers": [{"name": "c", "restartPolicyRules": None}]},
        {"hostUsers": False},
        {"hostNetwork": True},
        {"hostUsers": True, "hostNetwork": True},
    ],
)
def test_pods_without_required_node_features(spec: Json) -> None:
    assert needs(**spec) == PodConstraints()


def test_device_classes_are_undecidable() -> None:
    resource = "deviceclass.resource.kubernetes.io/gpu.example.com"
    containers = [{"name": "c", "resources": {"requests": {resource: "1"}}}]
    assert needs(containers=containers).undecidable == ("devices of the class gpu.example.com",)


def test_equal_constraints_share_an_object() -> None:
    def constrained(number: int) -> PodConstraints:
        return pod(
            labels={"app": "train", "rank": str(number)},
            nodeSelector={"pool": "gpu"},
            tolerations=[{"operator": "Exists"}],
            affinity={"podAntiAffinity": {REQUIRED: [by_host()]}},
            volumes=[{"name": f"token-{number}", "projected": {}}],
        ).needs

    assert constrained(1) is constrained(2)
    assert needs(nodeSelector={"pool": "gpu"}) is needs(nodeSelector={"pool": "gpu"})


def test_long_constraints_are_decoded() -> None:
    values = [f"value-{number}" for number in range(5_000)]
    terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]
    result = needs(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})
    assert result.affinity == (Term((Requirement("k", "In", tuple(values)),)),)
    long = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["train", *values]}]}
    (term,) = needs(affinity={"podAntiAffinity": {REQUIRED: [by_host(long)]}}).anti_affinity
    assert term.is_exact
    assert matches_pod(term, "team-a", {"app": "value-4999"})


@pytest.mark.parametrize(
    "spec",
    [
        {"tolerations": [{"key": 5}]},
        {"affinity": {"nodeAffinity": []}},
        {"nodeSelector": ["pool"]},
        {"volumes": {"v": 1}},
        {"containers": [{"name": "c", "ports": [{"hostPort": "eighty"}]}]},
        {"affinity": {"podAntiAffinity": {REQUIRED: [by_host({"matchLabels": {"app": 1}})]}}},
        {"labels": {"app": 1}},
    ],
)
def test_malformed_constraints_are_reported_and_the_pod_is_stored(spec: Json) -> None:
    metadata = {"labels": spec.get("labels")}
    obj = with_identity({"metadata": metadata, "spec": {**spec, "nodeName": "n1"}})
    built, problem = read(POD, obj)
    assert built.node == "n1"
    assert built.needs.undecidable == ("a part of its spec that could not be read",)
    assert problem is not None
    assert not problem.lost
    assert problem.sentence.startswith(
        "Pod team-a/x is read only in part: what it asks of a node is left out: "
    )


def controlled(kind: str, api_version: str, controller: bool = True) -> Pod:
    owner = {"kind": kind, "apiVersion": api_version, "name": "o", "uid": "o"}
    references = [{**owner, "controller": controller}]
    built: Pod = model(POD, with_identity({"metadata": {"ownerReferences": references}}))
    return built


def test_pods_of_a_daemonset_and_static_pods_are_pinned() -> None:
    assert controlled("DaemonSet", "apps/v1").stays
    assert controlled("Node", "v1").stays
    assert not controlled("DaemonSet", "apps/v1", controller=False).stays
    assert not controlled("DaemonSet", "example.com/v1").stays
    assert not controlled("Job", "batch/v1").stays
    assert not pod().stays


def test_preemption_and_deadline() -> None:
    assert pod().preempts
    assert pod(preemptionPolicy="PreemptLowerPriority").preempts
    assert not pod(preemptionPolicy="Never").preempts
    assert pod().deadline_seconds is None
    assert pod(activeDeadlineSeconds=3600).deadline_seconds == 3600


def test_termination_grace_period() -> None:
    assert pod().stop_seconds == 30
    assert pod(terminationGracePeriodSeconds=600).stop_seconds == 600
    assert pod(terminationGracePeriodSeconds=0).stop_seconds == 0
