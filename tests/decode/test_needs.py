"""What the filters of kube-scheduler read of a pod besides amounts."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.domain.capacity import (
    HOSTNAME,
    HostPort,
    Needs,
    Requirement,
    Spread,
    Term,
    Toleration,
)
from gangboard.domain.pod import Pod
from tests.decode.reading import Json, model, read, with_identity

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SELECTOR: Json = {"matchLabels": {"app": "train"}}


def pod(namespace: str = "team-a", labels: Json | None = None, **spec: Any) -> Pod:
    metadata = {"labels": labels, "namespace": namespace}
    built: Pod = model(POD, with_identity({"metadata": metadata, "spec": spec}))
    return built


def needs(**spec: Any) -> Needs:
    return pod(**spec).needs


def anti(*terms: Json, **more: Any) -> Needs:
    labels = more.pop("labels", {"app": "train", "rank": "0"})
    namespace = more.pop("namespace", "team-a")
    affinity = {"podAntiAffinity": {REQUIRED: list(terms)}}
    return pod(namespace, labels, affinity=affinity).needs


def by_host(selector: Json | None = SELECTOR, **more: Any) -> Json:
    return {"topologyKey": HOSTNAME, "labelSelector": selector, **more}


def test_a_pod_that_asks_for_nothing() -> None:
    assert needs() == Needs()
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
        == Needs()
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
    found = needs(
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, PREFERRED: soft}}
    )
    assert found.affinity == (
        Term((Requirement("gpu", "In", ("h100", "h200")), Requirement("spot", "DoesNotExist"))),
        Term(fields=(Requirement("metadata.name", "In", ("n1",)),)),
        Term(),
    )


def test_soft_node_affinity_is_none_and_no_term_is_no_node() -> None:
    soft = {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {}}]}}
    assert needs(affinity=soft).affinity is None
    assert needs(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}).affinity == ()


def test_tolerations() -> None:
    found = needs(
        tolerations=[
            {"operator": "Exists"},
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "late", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ]
    )
    assert found.tolerations == (
        Toleration(operator="Exists"),
        Toleration("gpu", "Equal", "yes", "NoSchedule"),
        Toleration("late", "Exists", "", "NoExecute"),
    )


def test_host_ports_of_containers_and_sidecars() -> None:
    # GetHostPorts of kube-scheduler: init containers that end do not count.
    found = needs(
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
    assert found.host_ports == {
        HostPort(80),
        HostPort(5353, "UDP", "127.0.0.1"),
        HostPort(9000),
    }


def test_terms_that_say_the_same_are_the_same() -> None:
    same = {"key": "app", "operator": "In", "values": ["train"]}
    written = [
        by_host(),
        by_host({"matchExpressions": [same]}),
        by_host({"matchLabels": {"app": "train"}, "matchExpressions": [same, same]}),
        by_host(namespaces=["team-a"]),
        by_host(namespaces=[]),
    ]
    terms = {anti(term, labels={"rank": str(rank)}).anti_affinity
             for rank, term in enumerate(written)}  # fmt: skip
    ((term,),) = terms
    assert term.name == "team-a/app=train"
    assert term.is_exact
    assert all(anti(term).unsupported == () for term in written)


def test_keys_of_labels_are_in_the_selector_already() -> None:
    # As the API server serves `matchLabelKeys: [rank]`.
    merged = {**SELECTOR, "matchExpressions": [{"key": "rank", "operator": "In", "values": ["0"]}]}
    plain = {"matchLabels": {"app": "train", "rank": "0"}}
    assert anti(by_host(merged, matchLabelKeys=["rank"])) == anti(by_host(plain))
    assert anti(by_host(merged, matchLabelKeys=["rank"])) != anti(by_host())


def test_other_namespaces_selectors_and_topologies_are_other_terms() -> None:
    expressions = [{"key": "app", "operator": "In", "values": ["serve", "train"]}]
    team = {"matchLabels": {"team": "a"}}
    terms = [
        anti(by_host()),
        anti(by_host(), namespace="team-b"),
        anti(by_host({"matchLabels": {"app": "train", "rank": "0"}})),
        anti(by_host({"matchExpressions": expressions})),
        anti(by_host({"matchExpressions": [{"key": "app", "operator": "Exists"}]})),
        anti(by_host({})),
        anti(by_host(namespaces=["team-a", "team-b"])),
        anti(by_host(namespaceSelector={})),
        anti(by_host(namespaceSelector=team)),
        anti(by_host(namespaceSelector=team, namespaces=["team-b"])),
        anti({"topologyKey": ZONE, "labelSelector": SELECTOR}),
    ]
    assert len({term for found in terms for term in found.anti_affinity}) == len(terms)


# What labels.Selector and AffinityTerm.Matches say of the pods (team-a, app=train, rank=0),
# (team-b, app=train) and (team-a, without labels).
MATCHES: list[tuple[Json, tuple[bool, bool, bool]]] = [
    (by_host(), (True, False, False)),
    (by_host({}), (True, False, True)),
    (by_host({"matchLabels": {"app": "other"}}), (False, False, False)),
    (by_host({"matchLabels": {"app": "train", "rank": "0"}}), (True, False, False)),
    (by_host(namespaces=["team-b"]), (False, True, False)),
    (by_host(namespaces=["team-a", "team-b"]), (True, True, False)),
    (by_host(namespaceSelector={}), (True, True, False)),
    (by_host(namespaceSelector={}, namespaces=["team-b"]), (True, True, False)),
    *(
        (by_host({"matchExpressions": [expression]}), matches)
        for expression, matches in (
            ({"key": "app", "operator": "In", "values": ["a", "train"]}, (True, False, False)),
            ({"key": "app", "operator": "NotIn", "values": ["train"]}, (False, False, True)),
            ({"key": "rank", "operator": "NotIn", "values": ["1"]}, (True, False, True)),
            ({"key": "app", "operator": "Exists"}, (True, False, False)),
            ({"key": "app", "operator": "DoesNotExist"}, (False, False, True)),
        )
    ),
    # As the API server serves `mismatchLabelKeys: [rank]`: put into the selector.
    (
        by_host(
            {
                **SELECTOR,
                "matchExpressions": [{"key": "rank", "operator": "NotIn", "values": ["0"]}],
            },
            mismatchLabelKeys=["rank"],
        ),
        (False, False, False),
    ),
]


@pytest.mark.parametrize(("term", "expected"), MATCHES)
def test_which_pods_a_term_matches(term: Json, expected: tuple[bool, bool, bool]) -> None:
    found = anti(term)
    (made,) = found.anti_affinity
    assert made.is_exact
    assert found.unsupported == ()
    assert expected == (
        made.matches("team-a", {"app": "train", "rank": "0"}),
        made.matches("team-b", {"app": "train"}),
        made.matches("team-a", {}),
    )


@pytest.mark.parametrize(
    "term",
    [
        {"topologyKey": ZONE, "labelSelector": SELECTOR},
        by_host(namespaceSelector={"matchLabels": {"team": "a"}}),
        by_host(
            {**SELECTOR, "matchExpressions": [{"key": "x", "operator": "Near", "values": ["y"]}]}
        ),
    ],
)
def test_other_anti_affinity_is_more_than_is_worked_out(term: Json) -> None:
    found = anti(term)
    (made,) = found.anti_affinity
    assert not made.is_exact
    assert found.unsupported == ("pod anti-affinity",)
    # It may be about such a pod, and it is not about the other.
    assert made.matches("team-a", {"app": "train"})
    assert not made.matches("team-a", {"app": "other"})


def test_one_term_of_each_sort() -> None:
    found = anti(by_host(), {"topologyKey": ZONE, "labelSelector": SELECTOR})
    assert [term.is_exact for term in found.anti_affinity] == [True, False]
    assert found.unsupported == ("pod anti-affinity",)


def test_a_term_without_a_selector_keeps_nobody_apart() -> None:
    # LabelSelectorAsSelector: a null selector matches nothing, an empty one everything.
    assert anti(by_host(None)) == Needs()


def test_soft_constraints_are_no_needs() -> None:
    term = {"weight": 100, "podAffinityTerm": by_host()}
    found = needs(
        affinity={"podAntiAffinity": {PREFERRED: [term]}, "podAffinity": {PREFERRED: [term]}},
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    )
    assert found == Needs()


def spread(**more: Any) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": SELECTOR,
        **more,
    }


def of_spread(*constraints: Json) -> Spread:
    found = needs(topologySpreadConstraints=list(constraints))
    assert found.unsupported == ()
    assert found.spread is not None
    return found.spread


def test_one_hard_spread_constraint() -> None:
    # Defaults of filterTopologySpreadConstraints: minDomains 1, Honor, Ignore.
    found = of_spread(spread())
    assert (found.topology_key, found.max_skew, found.min_domains) == (ZONE, 1, 1)
    assert (found.honours_affinity, found.honours_taints) == (True, False)
    assert found.counted.matches("team-a", {"app": "train", "rank": "0"})
    assert not found.counted.matches("team-b", {"app": "train"})
    assert not found.counted.matches("team-a", {"app": "other"})
    assert (found.counted.is_count, found.counted.is_exact) == (True, True)
    soft = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
    assert of_spread(soft, spread()) == found


def test_a_spread_constraint_with_everything() -> None:
    found = of_spread(
        spread(
            maxSkew=3,
            minDomains=2,
            nodeAffinityPolicy="Ignore",
            nodeTaintsPolicy="Honor",
            matchLabelKeys=["pod-template-hash"],
            labelSelector={
                "matchExpressions": [
                    {"key": "app", "operator": "Exists"},
                    {"key": "pod-template-hash", "operator": "In", "values": ["a1"]},
                ]
            },
        )
    )
    assert (found.max_skew, found.min_domains) == (3, 2)
    assert (found.honours_affinity, found.honours_taints) == (False, True)
    assert found.counted.matches("team-a", {"app": "x", "pod-template-hash": "a1"})
    assert not found.counted.matches("team-a", {"app": "x", "pod-template-hash": "b2"})


def test_the_rule_of_spread_and_that_of_anti_affinity_are_told_apart() -> None:
    found = needs(
        affinity={"podAntiAffinity": {REQUIRED: [by_host()]}},
        topologySpreadConstraints=[spread(topologyKey=HOSTNAME)],
    )
    assert found.spread is not None
    assert found.spread.counted not in found.anti_affinity


def test_without_a_selector_no_pod_counts_and_with_an_empty_one_each() -> None:
    assert not of_spread(spread(labelSelector=None)).counted.matches("team-a", {"": "", "a": "b"})
    assert of_spread(spread(labelSelector={})).counted.matches("team-a", {})


@pytest.mark.parametrize(
    "constraints",
    [
        [spread(), spread(topologyKey=HOSTNAME)],
        [spread(whenUnsatisfiable="Sometimes")],
        [spread(maxSkew=0)],
        [spread(minDomains=0)],
        [spread(topologyKey="")],
        [spread(nodeTaintsPolicy="Perhaps")],
        [spread(nodeAffinityPolicy="Perhaps")],
        [spread(labelSelector={"matchExpressions": [{"key": "app", "operator": "Gt"}]})],
        # Of a pod that has no such label, or where the API server does not put it in.
        [spread(matchLabelKeys=["pod-template-hash"])],
    ],
)
def test_other_spread_is_more_than_is_worked_out(constraints: list[Json]) -> None:
    found = needs(topologySpreadConstraints=constraints)
    assert found.spread is None
    assert found.unsupported == ("spread constraints",)


@pytest.mark.parametrize(
    "broken", [{"maxSkew": "one"}, {"minDomains": 2**40}, {"labelSelector": ["app"]}]
)
def test_a_malformed_spread_constraint_is_told(broken: Json) -> None:
    spec = {"topologySpreadConstraints": [spread(**broken)]}
    _, problem = read(POD, with_identity({"spec": spec}))
    assert problem is not None


def test_what_can_only_take_nodes_away_is_named() -> None:
    found = needs(
        affinity={"podAffinity": {REQUIRED: [by_host()]}},
        topologySpreadConstraints=[
            {"topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"} for key in (ZONE, HOSTNAME)
        ],
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}],
    )
    assert found.unsupported == (
        "pod affinity",
        "spread constraints",
        "volumes",
        "resource claims",
    )
    assert found.undecidable == ()


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
def test_volumes_that_fit_everywhere(source: Json) -> None:
    assert needs(volumes=[{"name": "v", **source}]) == Needs()


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
def test_volumes_of_which_a_scheduler_asks_where_they_can_be(source: Json) -> None:
    volumes = [{"name": "tmp", "emptyDir": {}}, {"name": "v", **source}]
    assert needs(volumes=volumes).unsupported == ("volumes",)


def test_devices_of_a_class_could_be_anywhere() -> None:
    resource = "deviceclass.resource.kubernetes.io/gpu.example.com"
    containers = [{"name": "c", "resources": {"requests": {resource: "1"}}}]
    assert needs(containers=containers).undecidable == ("devices of the class gpu.example.com",)


def test_equal_needs_are_one_object() -> None:
    def made(number: int) -> Needs:
        return pod(
            labels={"app": "train", "rank": str(number)},
            nodeSelector={"pool": "gpu"},
            tolerations=[{"operator": "Exists"}],
            affinity={"podAntiAffinity": {REQUIRED: [by_host()]}},
            volumes=[{"name": f"token-{number}", "projected": {}}],
        ).needs

    assert made(1) is made(2)
    assert needs(nodeSelector={"pool": "gpu"}) is needs(nodeSelector={"pool": "gpu"})


def test_parts_of_any_length_are_read() -> None:
    values = [f"value-{number}" for number in range(5_000)]
    terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]
    found = needs(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}})
    assert found.affinity == (Term((Requirement("k", "In", tuple(values)),)),)
    long = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["train", *values]}]}
    (term,) = anti(by_host(long)).anti_affinity
    assert term.is_exact
    assert term.matches("team-a", {"app": "value-4999"})


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
def test_needs_that_cannot_be_read_keep_the_pod_and_say_so(spec: Json) -> None:
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


def test_pods_of_a_daemonset_and_static_pods_stay() -> None:
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


def test_how_long_a_pod_may_go_on_once_it_is_stopped() -> None:
    assert pod().stop_seconds == 30
    assert pod(terminationGracePeriodSeconds=600).stop_seconds == 600
    assert pod(terminationGracePeriodSeconds=0).stop_seconds == 0
