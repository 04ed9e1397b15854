from typing import Any

import pytest

from gangboard.domain.group import Group, GroupClaim, GroupTemplate, Policy
from gangboard.groups.core import Kubernetes
from tests.decode.reading import Json, captured, captures, model, read, with_identity

RESOURCES = {resource.plural: resource for resource in Kubernetes.resources}
PODGROUP = RESOURCES["podgroups"]
COMPOSITE = RESOURCES["compositepodgroups"]
WORKLOAD = RESOURCES["workloads"]


def group(
    policy: Any = None, conditions: Any = None, version: str = "v1beta1", **spec: Any
) -> Group:
    obj = {"spec": {"schedulingPolicy": policy, **spec}, "status": {"conditions": conditions}}
    built: Group = model(PODGROUP, with_identity(obj), version)
    return built


# k8s-gang-api.md §2.2 and §2.3.
WORKLOAD_1_36: Json = {
    "metadata": {"name": "llm-train-5f7b9d6c44", "namespace": "team-a", "uid": "a1"},
    "spec": {
        "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "llm-train"},
        "podGroupTemplates": [
            {"name": "llm-train-pgt-0", "schedulingPolicy": {"gang": {"minCount": 4}},
             "schedulingConstraints": None}
        ],
    },
}  # fmt: skip
PODGROUP_1_36: Json = {
    "metadata": {
        "name": "llm-train-5f7b9d6c44-llm-train-pgt-0-76c9d8", "namespace": "team-a", "uid": "b2",
        "generation": 1, "finalizers": ["scheduling.k8s.io/podgroup-protection"],
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "llm-train", "uid": "77aa",
             "controller": True, "blockOwnerDeletion": True},
            {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "Workload",
             "name": "llm-train-5f7b9d6c44", "uid": "a1"},
        ],
    },
    "spec": {
        "podGroupTemplateRef": {"workload": {"workloadName": "llm-train-5f7b9d6c44",
                                             "podGroupTemplateName": "llm-train-pgt-0"}},
        "schedulingPolicy": {"gang": {"minCount": 4}}, "disruptionMode": "Pod", "priority": 0,
    },
    "status": {"conditions": [
        {"type": "PodGroupScheduled", "status": "False", "reason": "Unschedulable",
         "observedGeneration": 1, "lastTransitionTime": "2026-05-04T10:00:07Z",
         "message": "pod group is unschedulable"}]},
}  # fmt: skip
PODGROUP_1_37: Json = {
    "metadata": {
        "name": "llm-train-6b8c5d7f99-llm-train-pgt-0-84b7c", "namespace": "team-a", "uid": "d4",
        "generation": 1, "resourceVersion": "55190", "creationTimestamp": "2026-10-02T08:00:00Z",
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "llm-train", "uid": "77aa",
             "controller": True, "blockOwnerDeletion": True},
            {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload",
             "name": "llm-train-6b8c5d7f99", "uid": "c3"},
        ],
    },
    "spec": {
        "workloadRef": {"workloadName": "llm-train-6b8c5d7f99", "templateName": "llm-train-pgt-0"},
        "schedulingPolicy": {"gang": {"minCount": 4}}, "disruptionMode": {"all": {}}, "priority": 0,
    },
    "status": {"conditions": [
        {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable",
         "observedGeneration": 1, "lastTransitionTime": "2026-10-02T08:00:03Z",
         "message": "pod group is unschedulable, minCount (4) cannot be satisfied: 1 scheduled, "
                    "2 remaining, pod group preemption: No preemption victims found for incoming "
                    "preemptor"}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "preempts"), [(None, True), ("PreemptLowerPriority", True), ("Never", False)]
)
def test_the_preemption_policy_of_a_group(policy: str | None, preempts: bool) -> None:
    """A field behind the gate PodGroupPreemptionPolicy (1.37)."""
    spec = {**PODGROUP_1_37["spec"], "preemptionPolicy": policy}
    for resource in (PODGROUP, COMPOSITE):
        result: Group = model(resource, {**PODGROUP_1_37, "spec": spec})
        assert result.preempts is preempts


def test_a_pod_group_of_1_36() -> None:
    result: Group = model(PODGROUP, PODGROUP_1_36, "v1alpha2")
    assert result.meta.api_version == "v1alpha2"
    assert (result.policy, result.quorum) == (Policy.GANG, 4)
    assert (result.workload_name, result.template_name) == (
        "llm-train-5f7b9d6c44",
        "llm-train-pgt-0",
    )
    assert (result.disruption_mode, result.priority) == ("Pod", 0)
    assert result.meta.controller is not None
    assert result.meta.controller.name == "llm-train"
    assert result.meta.owner_uids == ("77aa", "a1")
    assert result.placed is not None
    assert (result.placed.type, result.placed.status) == ("PodGroupScheduled", "False")
    assert result.conditions == (result.placed,)


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_a_pod_group_of_1_37(version: str) -> None:
    result: Group = model(PODGROUP, PODGROUP_1_37, version)
    assert result.meta.api_version == version
    assert (result.policy, result.quorum, result.policy_text) == (Policy.GANG, 4, "")
    assert (result.workload_name, result.template_name) == (
        "llm-train-6b8c5d7f99",
        "llm-train-pgt-0",
    )
    assert result.disruption_mode == "all"
    assert result.placed is not None
    assert result.placed.type == "PodGroupInitiallyScheduled"
    assert result.placed.reason == "Unschedulable"
    assert "1 scheduled, 2 remaining" in result.placed.message


def test_a_workload_has_templates_and_no_policy() -> None:
    result: Group = model(WORKLOAD, WORKLOAD_1_36, "v1alpha2")
    assert result.templates == (GroupTemplate("llm-train-pgt-0", Policy.GANG, 4),)
    assert result.controller_ref == ("batch", "Job", "llm-train")
    assert (result.policy, result.quorum, result.policy_text) == (Policy.UNKNOWN, None, "")
    assert (result.conditions, result.placed) == ((), None)


def test_a_workload_of_1_35_has_entries() -> None:
    """k8s-gang-api.md §2.1, and an entry whose pods are placed one by one."""
    obj = {
        "metadata": {"name": "llm-train", "namespace": "team-a", "uid": "0d4f"},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "llm-train"},
            "podGroups": [
                {"name": "workers", "policy": {"gang": {"minCount": 4}}},
                {"name": "driver", "policy": {"basic": {}}},
                {"name": "new", "policy": {"elastic": {}}},
            ],
        },
    }
    result: Group = model(WORKLOAD, obj, "v1alpha1")
    assert result.meta.api_version == "v1alpha1"
    assert result.controller_ref == ("batch", "Job", "llm-train")
    assert result.templates == (
        GroupTemplate("workers", Policy.GANG, 4),
        GroupTemplate("driver", Policy.BASIC),
        GroupTemplate("new", Policy.UNKNOWN),
    )


@pytest.mark.parametrize("file", captures(profile="1.35"), ids=lambda file: file.stem)
def test_captured_workloads_of_1_35_have_entries(file: Any) -> None:
    for result in captured(file, WORKLOAD):
        assert result.meta.api_version == "v1alpha1"
        assert {template.name for template in result.templates} <= {"workers", "driver"}
        assert result.templates
        assert (result.conditions, result.placed) == ((), None)


def test_templates_of_composite_groups_follow_each_other() -> None:
    def leaf(name: str) -> Json:
        return {"name": name, "schedulingPolicy": {"gang": {"minCount": 2}}}

    tree = {
        "podGroupTemplates": None,
        "compositePodGroupTemplates": [
            {
                "name": "serve",
                "schedulingPolicy": {"gang": {"minGroupCount": 3}},
                "schedulingConstraints": {"topology": [{"key": "example.com/zone"}]},
                "podGroupTemplates": [leaf("router")],
                "compositePodGroupTemplates": [
                    {"name": "replica", "schedulingPolicy": {"basic": {}},
                     "podGroupTemplates": [leaf("prefill"), leaf("decode")]},
                ],
            },
        ],
    }  # fmt: skip
    result: Group = model(WORKLOAD, with_identity({"spec": tree}), "v1alpha3")
    assert result.templates == (
        GroupTemplate("serve", Policy.GANG, 3, ("example.com/zone",), composite=True),
        GroupTemplate("router", Policy.GANG, 2),
        GroupTemplate("replica", Policy.BASIC, composite=True),
        GroupTemplate("prefill", Policy.GANG, 2),
        GroupTemplate("decode", Policy.GANG, 2),
    )
    assert result.controller_ref is None


def test_a_composite_pod_group() -> None:
    obj = {
        "metadata": {"name": "serve-rank-set", "namespace": "team-a", "uid": "f6", "generation": 1},
        "spec": {
            "workloadRef": {"workloadName": "serve", "templateName": "replica"},
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            "disruptionMode": {"single": {}},
        },
        "status": {},
    }
    result: Group = model(COMPOSITE, obj)
    assert result.meta.ref.kind == "CompositePodGroup"
    assert (result.policy, result.quorum) == (Policy.GANG, 2)
    assert result.disruption_mode == "single"
    assert result.placed is None


def test_an_invalid_composite_group_is_not_placed_for_any_status() -> None:
    conditions = [
        {"type": "CompositePodGroupInitiallyScheduled", "status": "True", "reason": "Invalid"}
    ]
    result: Group = model(COMPOSITE, with_identity({"status": {"conditions": conditions}}))
    assert result.placed is not None
    assert not result.placed.is_true
    assert result.conditions[0].status == "True"


def test_a_child_of_a_composite_group_names_its_parent() -> None:
    assert group(parentCompositePodGroupName="serve-0").parent_name == "serve-0"


@pytest.mark.parametrize(
    ("policy", "expected", "quorum", "text"),
    [
        ({"basic": {}}, Policy.BASIC, None, ""),
        ({"gang": {"minCount": 1}}, Policy.GANG, 1, ""),
        ({"gang": {"minCount": 4}, "basic": None}, Policy.GANG, 4, ""),
        ({}, Policy.UNKNOWN, None, "{}"),
        (None, Policy.UNKNOWN, None, ""),
        ({"elastic": {}}, Policy.UNKNOWN, None, '{"elastic":{}}'),
        ({"gang": {"minCount": 4}, "elastic": {}}, Policy.UNKNOWN, None,
         '{"gang":{"minCount":4},"elastic":{}}'),
    ],
)  # fmt: skip
def test_the_presence_of_a_member_is_the_policy(
    policy: Json | None, expected: Policy, quorum: int | None, text: str
) -> None:
    result = group(policy)
    assert (result.policy, result.quorum) == (expected, quorum)
    assert result.policy_text.replace(" ", "") == text


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("Pod", "Pod"),
        ("PodGroup", "PodGroup"),
        ("Rack", "Rack"),
        ({"single": {}}, "single"),
        ({"all": {}}, "all"),
        ({"rack": {}}, "rack"),
        (None, ""),
    ],
)
def test_the_disruption_mode_is_text_or_object(mode: Any, expected: str) -> None:
    assert group(disruptionMode=mode).disruption_mode == expected


def test_null_fields_are_empty() -> None:
    result = group(schedulingConstraints=None, workloadRef=None, podGroupTemplateRef=None)
    assert (result.topology_keys, result.workload_name, result.conditions) == ((), "", ())
    made_by_hand = group({"gang": {"minCount": 2}}, podGroupTemplateRef={"workload": None})
    assert made_by_hand.workload_name == ""
    topology = {"topology": [{"key": "example.com/rack"}]}
    assert group(schedulingConstraints=topology).topology_keys == ("example.com/rack",)


def test_a_condition_of_another_name_does_not_place_it() -> None:
    result = group(conditions=[{"type": "DisruptionTarget", "status": "True"}])
    assert result.placed is None
    assert result.conditions[0].type == "DisruptionTarget"


def test_a_gang_that_is_no_object_is_a_problem_with_its_name() -> None:
    obj = with_identity({"spec": {"schedulingPolicy": {"gang": "four"}}}, "ring")
    result, problem = read(PODGROUP, obj)
    assert result is None
    assert problem is not None
    assert problem.sentence.startswith("PodGroup team-a/ring cannot be read")


def test_versions_that_are_read() -> None:
    assert PODGROUP.versions == ("v1", "v1beta1", "v1alpha3", "v1alpha2")
    assert WORKLOAD.versions == (*PODGROUP.versions, "v1alpha1")  # 1.35 has no PodGroups
    assert COMPOSITE.versions == ("v1beta1", "v1alpha3")
    assert all(resource.needed for resource in Kubernetes.resources)


PLACED = {
    "job-running": "True",
    "job-at-quorum": "True",
    "job-basic-running": "True",
    "job-unschedulable": "False",
    "job-fragmented": "False",
    "job-no-matching-node": "False",
    "job-topology-does-not-fit": "False",
    "job-suspended": None,
    "job-quota-refused": None,
    "job-scheduler-of-nobody": None,
    "group-running": "True",
    "group-below-quorum": None,
    "group-scheduling-gate": None,
    "group-mixed-schedulers": None,
}
GANG_FILES = [
    file
    for profile in ("1.36", "1.37")
    for file in captures(profile=profile)
    if file.stem in PLACED
]


@pytest.mark.parametrize("file", GANG_FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_captured_groups_have_their_placement(file: Any) -> None:
    groups = captured(file, PODGROUP)
    assert groups
    condition = {"1.36": "PodGroupScheduled", "1.37": "PodGroupInitiallyScheduled"}
    for result in groups:
        assert (result.placed.status if result.placed else None) == PLACED[file.stem]
        assert result.policy is (Policy.BASIC if "basic" in file.stem else Policy.GANG)
        if result.placed:
            assert result.placed.type == condition[file.parent.name]
        if result.workload_name:
            workloads = captured(file, WORKLOAD)
            assert result.workload_name in {workload.meta.ref.name for workload in workloads}
            templates = {template.name for workload in workloads for template in workload.templates}
            assert result.template_name in templates


@pytest.mark.parametrize("file", captures("group-composite"), ids=lambda file: file.parent.name)
def test_a_captured_tree_of_groups(file: Any) -> None:
    (root,) = captured(file, COMPOSITE)
    assert (root.policy, root.quorum) == (Policy.GANG, 2)
    children = captured(file, PODGROUP)
    assert {child.parent_name for child in children} >= {root.meta.ref.name}
    templates = {
        (template.name, template.composite)
        for workload in captured(file, WORKLOAD)
        for template in workload.templates
    }
    assert {("replica", True), ("left", False), ("right", False)} <= templates


def test_shared_claims_include_those_of_templates() -> None:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "resourceClaims": [
            {"name": "imex", "resourceClaimTemplateName": "imex-channel"},
            {"name": "fresh", "resourceClaimTemplateName": "other"},
            {"name": "shared", "resourceClaimName": "switch"},
        ],
    }
    status = {"resourceClaimStatuses": [{"name": "imex", "resourceClaimName": "imex-7k2p"}]}
    result: Group = model(PODGROUP, with_identity({"spec": spec, "status": status}), "v1beta1")
    assert result.claims == (
        GroupClaim("imex", "imex-7k2p", "imex-channel"),
        GroupClaim("fresh", "", "other"),
        GroupClaim("shared", "switch", ""),
    )
