"""PodCliqueSets with all that Grove's operator makes of one: the gang and its verdict.

The operator is played as on real API servers (tests/controlplane/grove.py), here against a dict.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, cast

import pytest

from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import Resource
from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.plugins import registry
from gangboard.policy.plan import offers
from tests.controlplane.client import Client
from tests.controlplane.grove import (
    Operator,
    clique,
    last_error,
    podcliqueset,
    scaling_group,
)
from tests.decode.reading import Json, model, read
from tests.domain_objects import NOW, ago, an_event
from tests.gangs import a_gang, assemble
from tests.policy.builders import READY
from tests.sentence_values import values_in

FORMS = ("v1alpha1", "v1alpha2", "v1alpha3")
SERVED = {"v1alpha1": "v1alpha1", "v1alpha2": "v1alpha2", "v1alpha3": "v1beta1", "": ""}
PAIR = (clique("pre", 2, 2), clique("dec", 3, 1))
_MANY = 1_000


class Stored:
    """A fake API server: it keeps created and patched objects by kind and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Json] = {}

    def create(self, obj: Json) -> Json:
        created = deepcopy(obj)
        name = created["metadata"]["name"]
        created["metadata"] |= {
            "uid": f"uid-{created['kind']}-{name}",
            "resourceVersion": "7",
            "creationTimestamp": created["metadata"].get(
                "creationTimestamp", "2026-11-21T11:50:00Z"
            ),
        }
        self.objects[created["kind"], name] = created
        return created

    def create_all(self, objects: Iterator[Json]) -> list[Json]:
        return [self.create(obj) for obj in objects]

    def patch(self, _version: str, kind: str, name: str, body: Json, _namespace: str) -> Json:
        _merge(self.objects[kind, name], body)
        return self.objects[kind, name]

    def patch_status(
        self, version: str, kind: str, name: str, status: Json, namespace: str
    ) -> Json:
        return self.patch(version, kind, name, {"status": status}, namespace)

    def models(self) -> list[Any]:
        """Return all as the product reads them."""
        return [model(_resource(obj), obj, _version(obj)) for obj in self.objects.values()]

    def list(self, _version: str, kind: str, _namespace: str, *, labels: str = "") -> list[Json]:
        key, _, value = labels.partition("=")
        return [
            obj
            for (of, _), obj in self.objects.items()
            if of == kind and obj["metadata"]["labels"].get(key) == value
        ]


def _merge(into: Json, body: Json) -> None:
    for key, value in body.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _version(obj: Json) -> str:
    return str(obj["apiVersion"].rpartition("/")[2])


def _resource(obj: Json) -> Resource:
    if obj["kind"] == "Pod":
        return POD
    group = obj["apiVersion"].rpartition("/")[0]
    result = (
        resource
        for resource in registry.resources()
        if (resource.group, resource.kind) == (group, obj["kind"])
    )
    return next(result)


class Play:
    """One PodCliqueSet `chat`, its objects, and its verdict."""

    def __init__(self, version: str = "v1alpha3") -> None:
        self.store = Stored()
        self.version = version
        self.operator = Operator(cast("Client", self.store), version)
        self.events: list[Event] = []

    def make(self, *cliques: Json, groups: tuple[Json, ...] = (), replicas: int = 1) -> Json:
        return podcliqueset("chat", "team-a", cliques or PAIR, groups=groups, replicas=replicas)

    def obj(self, kind: str, name: str) -> Json:
        return self.store.objects[kind, name]

    def run(self, *names: str) -> None:
        """Place these pods, or all, and let them be ready."""
        for (kind, name), obj in self.store.objects.items():
            if kind == "Pod" and (not names or name in names):
                since = {"status": "True", "lastTransitionTime": "2026-11-21T11:55:00Z"}
                obj["spec"]["nodeName"] = "n0"
                obj["status"] = {
                    "phase": "Running",
                    "conditions": [{"type": item, **since} for item in ("PodScheduled", "Ready")],
                }

    def refuse(self, *names: str) -> None:
        """Let the scheduler find no room for these pods."""
        message = {
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient cpu.",
        }
        for name in names:
            condition = {"type": "PodScheduled", "status": "False", **message}
            self.obj("Pod", name)["status"] = {"phase": "Pending", "conditions": [condition]}

    def verdict(self) -> Verdict:
        models = self.store.models()
        root = next(item for item in models if item.meta.ref.kind == "PodCliqueSet")
        rest = [item for item in models if item is not root]
        return assess(
            assemble(
                root,
                rest,
                now=NOW,
                events=self.events,
                gang_api_version=SERVED[self.version],
            )
        )

    def told(self) -> tuple[str, Health, str]:
        result = self.verdict().finding
        return result.code, result.health, result.message


def played(version: str = "v1alpha3", *cliques: Json, **options: Any) -> Play:
    """Return a set with all that is made of it, its pods free for the scheduler."""
    play = Play(version)
    play.operator.play(play.make(*cliques, **options))
    return play


# One gang


@pytest.mark.parametrize("version", ["", *FORMS])
def test_a_set_is_one_gang_with_all_its_objects_in_every_form(version: str) -> None:
    play = played(version, groups=(scaling_group("more", "dec", replicas=2, minimum=1),))
    models = play.store.models()
    for order in (models, models[::-1]):
        graph = OwnershipGraph()
        for item in order:
            graph.put(item)
        assert graph.roots() == {"uid-PodCliqueSet-chat"}
        assert len(graph.members("uid-PodCliqueSet-chat")) == len(models)


@pytest.mark.parametrize("version", ["", *FORMS])
def test_every_pod_and_quorum_is_counted_once_in_every_form(version: str) -> None:
    play = played(version)
    play.run()
    result = play.verdict()
    assert (result.finding.code, result.finding.message) == ("running", "All 5 pods are ready.")
    assert (result.members.desired, result.members.created, result.members.ready) == (5, 5, 5)
    assert result.members.quorum == 2 + 1


def test_its_groups_are_listed_from_the_podgang_down() -> None:
    kinds = [ref.kind for ref in played("v1alpha3").verdict().groups]
    assert sorted(kinds) == ["CompositePodGroup", "PodGang", "PodGroup", "PodGroup", "Workload"]


def test_pods_that_only_their_label_leads_to_it_are_its_own() -> None:
    """Near miss: `part-of` alone, which many things have, leads nowhere."""
    play = played("")
    orphan = play.store.models()
    for obj in orphan:
        if isinstance(obj, Pod):
            object.__setattr__(obj.meta, "controller", None)
            object.__setattr__(obj.meta, "owner_uids", ())
    graph = OwnershipGraph()
    for obj in orphan:
        graph.put(obj)
    assert graph.roots() == {"uid-PodCliqueSet-chat"}
    stranger = next(obj for obj in play.store.models() if isinstance(obj, Pod))
    object.__setattr__(stranger.meta, "controller", None)
    object.__setattr__(stranger.meta, "owner_uids", ())
    object.__setattr__(stranger.meta.ref, "uid", "uid-stranger")
    del stranger.labels["grove.io/podclique"]
    graph.put(stranger)
    assert graph.root_of("uid-stranger") == "uid-stranger"


# Its size


def test_the_template_has_the_size_before_the_objects_exist() -> None:
    play = Play()
    play.store.create(
        play.make(groups=(scaling_group("more", "dec", replicas=3, minimum=1),), replicas=2)
    )
    result = play.verdict()
    assert result.members.desired == 2 * (2 + 3 * 3)
    assert result.requests == {"cpu": "22"}
    assert (result.finding.code, result.finding.health) == ("pods-not-created", Health.BLOCKED)


def test_a_missing_podclique_is_named() -> None:
    play = played("", groups=(scaling_group("more", "dec", replicas=2, minimum=1),))
    play.run()
    for kind, name in list(play.store.objects):
        if name.startswith("chat-0-more-1-dec"):
            del play.store.objects[kind, name]
    result = play.verdict()
    assert (result.members.desired, result.finding.unit) == (8, "chat-0-more-1-dec")
    assert result.finding.message == (
        "PodClique chat-0-more-1-dec: PodCliqueSet chat has created none of its 3 pods."
    )


def test_a_scaling_group_has_the_size_that_an_autoscaler_gave_it() -> None:
    group = scaling_group("more", "dec", replicas=2, minimum=1)
    grown, shrunk = played("", groups=(group,)), played("", groups=(group,))
    grown.obj("PodCliqueScalingGroup", "chat-0-more")["spec"]["replicas"] = 4
    assert grown.verdict().members.desired == 2 + 4 * 3
    shrunk.obj("PodCliqueScalingGroup", "chat-0-more")["spec"]["replicas"] = 1
    for kind, name in list(shrunk.store.objects):
        if name.startswith("chat-0-more-1-dec"):
            del shrunk.store.objects[kind, name]
    assert shrunk.verdict().members.desired == 2 + 3


def test_a_podclique_has_the_size_that_an_autoscaler_gave_it() -> None:
    play = played("")
    play.obj("PodClique", "chat-0-dec")["spec"]["replicas"] = 1
    assert play.verdict().members.desired == 2 + 1


def test_terminating_objects_are_recreated_and_not_counted() -> None:
    play = played("")
    play.run()
    play.obj("PodClique", "chat-0-dec")["metadata"]["deletionTimestamp"] = "2026-11-21T11:59:30Z"
    result = play.verdict()
    assert (result.members.desired, result.members.created) == (5, 2)
    assert (result.finding.code, result.finding.unit) == ("pods-not-created", "chat-0-dec")


# How much of it is enough


def test_the_rest_above_the_minimum_of_a_podclique_is_missing_to_its_size() -> None:
    play = played("")
    play.run("chat-0-pre-0", "chat-0-pre-1", "chat-0-dec-0")
    play.refuse("chat-0-dec-1", "chat-0-dec-2")
    code, health, message = play.told()
    assert (code, health) == ("below-size", Health.DEGRADED)
    assert message.startswith("PodClique chat-0-dec: 1 of 3 members runs (quorum 1).")


def test_below_it_pods_that_hold_nodes_hold_them_in_vain() -> None:
    """Near miss: the default scheduler alone keeps no PodGang together."""
    play = played("")
    play.run("chat-0-dec-0", "chat-0-dec-1", "chat-0-dec-2", "chat-0-pre-0")
    play.refuse("chat-0-pre-1")
    assert play.told()[:2] == ("partly-placed", Health.DEGRADED)


@pytest.mark.parametrize("version", FORMS)
def test_three_different_minima_are_all_shown(version: str) -> None:
    """Grove lowers `minReplicas` to 0 after a PodGang was placed. The core group keeps its quorum."""
    play = played(version)
    play.refuse("chat-0-pre-0", "chat-0-pre-1")
    play.run("chat-0-dec-0", "chat-0-dec-1", "chat-0-dec-2")
    assert not _numbers(play.verdict())
    play.obj("PodGang", "chat-0")["spec"]["podgroups"][0]["minReplicas"] = 0
    assert _numbers(play.verdict()) == {
        "spec.minAvailable": "2",
        "spec.podgroups[].minReplicas in the PodGang": "0",
        "quorum of the group": "2",
    }


def _numbers(verdict: Verdict) -> dict[str, str]:
    return {
        item.label: item.value
        for finding in verdict.findings
        for item in finding.evidence
        if "min" in item.label or item.label == "quorum of the group"
    }


# Gates


def gated(*, lacking: int = 0, **options: Any) -> Play:
    play = Play("")
    play.operator.create(play.make(**options), lacking=lacking)
    return play


def test_gated_pods_wait_for_the_pods_of_their_podgang() -> None:
    play = gated(lacking=1)
    code, health, message = play.told()
    assert (code, health) == ("scheduling-gated", Health.WAITING)
    assert message == (
        "PodClique chat-0-dec: 2 of 2 pods wait for PodGang chat-0, of which 4 of 5 pods exist."
    )


def test_a_podgang_that_names_a_deleted_podclique_is_reported() -> None:
    play = gated()
    play.obj("PodGang", "chat-0")["spec"]["podgroups"].append(
        {"name": "chat-0-old", "minReplicas": 1, "podReferences": []}
    )
    code, health, message = play.told()
    assert (code, health) == ("scheduling-gated", Health.BLOCKED)
    assert message.endswith(
        "3 of 3 pods wait for PodGang chat-0, which names PodClique chat-0-old that does not exist."
    )


def test_a_podgang_that_lists_only_deleted_pods_is_reported() -> None:
    play = gated()
    for name in ("chat-0-pre", "chat-0-dec"):
        play.operator.pods[name] = ["gone"]
    play.operator.initialize("chat-0")
    assert play.told()[2].endswith("3 of 3 pods wait for PodGang chat-0 to list them.")


def test_a_missing_podgang_is_reported() -> None:
    play = gated()
    del play.store.objects["PodGang", "chat-0"]
    assert play.told()[1:] == (
        Health.BLOCKED,
        "PodClique chat-0-dec: 3 of 3 pods wait for PodGang chat-0, which does not exist.",
    )


def scaled() -> Play:
    """A base PodGang whose pods are free, and one that follows it whose pods are not."""
    play = gated(groups=(scaling_group("more", "dec", replicas=2, minimum=1),))
    for name in ("chat-0", "chat-0-more-0"):
        play.operator.initialize(name)
    play.operator.ungate("chat-0")
    return play


def test_a_scaled_podgang_waits_for_the_placement_of_its_base() -> None:
    play = scaled()
    play.run("chat-0-pre-0", *(f"chat-0-more-0-dec-{index}" for index in range(3)))
    play.refuse("chat-0-pre-1")
    play.operator.cliques.pop("chat-0-more-1-dec")
    play.operator.observe()
    result = {finding.unit: finding for finding in play.verdict().findings}["chat-0-more-1-dec"]
    assert (result.code, result.health) == ("scheduling-gated", Health.WAITING)
    assert result.message == (
        "PodClique chat-0-more-1-dec: 3 of 3 pods wait for base PodGang chat-0: PodClique "
        "chat-0-pre has 1 of 2 pods placed."
    )
    assert [item.value for item in result.evidence[:2]] == ["1", "2"]


def test_a_placed_base_leaves_only_the_operator_to_wait_for() -> None:
    """Near miss."""
    play = scaled()
    play.run("chat-0-pre-0", "chat-0-pre-1", *(f"chat-0-more-0-dec-{n}" for n in range(3)))
    play.operator.observe()
    assert play.told() == (
        "scheduling-gated",
        Health.BLOCKED,
        "PodClique chat-0-more-1-dec: 3 of 3 pods wait for the Grove operator: PodGang "
        "chat-0-more-0 is complete.",
    )


def test_a_missing_base_podgang_is_reported() -> None:
    play = scaled()
    play.run("chat-0-pre-0", "chat-0-pre-1", *(f"chat-0-more-0-dec-{n}" for n in range(3)))
    del play.store.objects["PodGang", "chat-0"]
    assert play.told()[2].endswith("for base PodGang chat-0, which does not exist.")


def test_foreign_gates_are_reported_as_gates() -> None:
    play = gated()
    for (kind, _), obj in play.store.objects.items():
        if kind == "Pod":
            obj["spec"]["schedulingGates"].append({"name": "example.com/other"})
    assert play.told()[2].endswith(
        "scheduling gates example.com/other and grove.io/podgang-pending-creation."
    )


# Groups that are not made


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha3"])
def test_a_missing_predecessor_is_named(version: str) -> None:
    """The Workload, then its groups, then the gates."""
    play = Play(version)
    play.operator.create(play.make())
    play.operator.initialize("chat-0")
    code, health, message = play.told()
    assert (code, health) == ("podgroup-missing", Health.BLOCKED)
    assert message.endswith(
        "3 pods wait for PodGroup chat-0-dec: not even a Workload was created for PodGang chat-0."
    )
    play.operator.make_groups("chat-0", only="Workload")
    assert play.told()[2].endswith(": only Workload chat-0 was created for PodGang chat-0.")
    play.operator.make_groups("chat-0")
    assert play.told()[0] == "scheduling-gated"


def test_a_group_is_not_missing_before_its_podgang_is_complete() -> None:
    """Near miss: it is made of a complete one."""
    play = Play("v1alpha2")
    play.operator.create(play.make(), lacking=1)
    assert play.told()[0] == "scheduling-gated"


def test_a_workload_is_missing_on_kubernetes_135() -> None:
    play = Play("v1alpha1")
    play.operator.create(play.make())
    play.operator.initialize("chat-0")
    assert play.told()[2].endswith(
        "wait for podGroup chat-0-dec of Workload chat-0: not even a Workload "
        "was created for PodGang chat-0."
    )


def test_a_group_that_comes_any_moment_is_not_missed() -> None:
    play = Play("v1alpha2")
    play.operator.create(play.make())
    play.operator.initialize("chat-0")
    for (kind, _), obj in play.store.objects.items():
        if kind == "Pod":
            obj["metadata"]["creationTimestamp"] = "2026-11-21T11:59:45Z"
    result = play.verdict().finding
    assert (result.code, result.health, result.recheck_at) == (
        "starting",
        Health.STARTING,
        ago(-15),
    )


BACKEND = last_error(
    "ERR_BUILD_POD_RESOURCE",
    "failed to prepare pod spec with scheduler backend",
    "preferred topology is not supported by the scheduler backend",
)
QUOTA = last_error(
    "ERR_CREATE_POD",
    "failed to create Pods for PodClique team-a/chat-0-dec",
    'pods "chat-0-dec-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, '
    "limited: pods=2",
)


def without_pods(error: Json, kind: str = "PodClique", name: str = "chat-0-dec") -> Play:
    play = Play("")
    play.operator.create(play.make())
    for key in list(play.store.objects):
        if key[0] == "Pod" and key[1].startswith("chat-0-dec"):
            del play.store.objects[key]
    play.operator.fail(kind, name, "team-a", error)
    return play


def test_a_backend_that_cannot_express_it_is_quoted() -> None:
    play = without_pods(BACKEND)
    result = play.verdict().finding
    assert (result.code, result.health) == ("group-not-expressible", Health.BLOCKED)
    assert values_in(result.message) == "chat-0-dec chat-0"
    assert result.advice_texts[0].startswith("Re-create PodCliqueSet ")
    assert result.evidence[0].label == "status.lastErrors"
    assert result.evidence[0].value == BACKEND["description"]


def test_an_event_of_a_backend_is_quoted() -> None:
    play = gated()
    podgang = next(item for item in play.store.models() if item.meta.ref.kind == "PodGang")
    note = "topology name cannot be empty when topology constraints are defined"
    play.events = [an_event(podgang, "KAIBackendMappingFailed", note=note)]
    code, health, message = play.told()
    assert (code, health) == ("group-not-expressible", Health.BLOCKED)
    assert message.endswith(f"The scheduler backend rejects PodGang chat-0: {note}.")


def test_once_its_pods_have_nodes_it_was_expressed() -> None:
    """Near miss: an error that was, and members that run."""
    play = played("")
    play.run()
    play.operator.fail("PodCliqueSet", "chat", "team-a", BACKEND)
    assert play.told()[0] == "running"


@pytest.mark.parametrize(
    ("code", "told"),
    [("ERR_CREATE_POD", "pod-creation-refused"), ("ERR_CREATE_PODGANG", "group-creation-failed")],
)
def test_objects_refused_by_the_api_server_are_named(code: str, told: str) -> None:
    play = without_pods({**QUOTA, "code": code})
    result = play.verdict().finding
    assert (result.code, result.health) == (told, Health.BLOCKED)
    assert result.message == (
        "0 of 3 pods exist, and Grove failed at PodClique chat-0-dec: exceeded quota: small, requested: "
        "pods=1, used: pods=2, limited: pods=2."
    )


def test_other_errors_of_the_set_explain_missing_objects() -> None:
    error = last_error("ERR_GET_CLUSTER_TOPOLOGY_LEVELS", "failed", "timeout")
    play = without_pods(error, "PodCliqueSet", "chat")
    assert play.told() == (
        "pods-not-created",
        Health.BLOCKED,
        "PodClique chat-0-dec: 0 of 3 pods exist, and Grove failed at PodCliqueSet chat: timeout.",
    )


def test_transient_states_of_grove_are_no_errors() -> None:
    """Near miss: it writes such a word while it has not made everything yet."""
    play = without_pods(last_error("ERR_REQUEUE_AFTER", "waiting", "x"))
    assert "failed at" not in play.told()[2]


def test_an_error_is_evidence_for_any_finding() -> None:
    play = played("")
    play.run("chat-0-pre-0", "chat-0-pre-1", "chat-0-dec-0")
    play.refuse("chat-0-dec-1", "chat-0-dec-2")
    play.operator.fail("PodClique", "chat-0-dec", "team-a", QUOTA)
    result = play.verdict().finding
    assert result.code == "below-size"
    assert result.evidence[-1].value == QUOTA["description"]


# Nothing suspends it


def of_kind(play: Play, kind: str) -> Owner:
    result: Owner = next(item for item in play.store.models() if item.meta.ref.kind == kind)
    return result


def test_no_lever_suspends_a_set_or_its_objects() -> None:
    play = played("")
    owner, part = of_kind(play, "PodCliqueSet"), of_kind(play, "PodClique")
    context = a_gang(owner=owner, middle=(part,))
    for plan in offers(context, READY, owner.meta.ref.uid, ago(0)):
        assert plan.why_not == (
            "PodCliqueSet chat cannot be suspended: PodCliqueSets have no suspend field, and scaling "
            "to 0 would end all pods and their PodGangs without a record of how many there were."
        )
    for plan in offers(context, READY, part.meta.ref.uid, ago(0)):
        assert "belongs to PodCliqueSet chat" in plan.why_not


def test_an_unknown_owner_is_named() -> None:
    play = Play("")
    created = play.make()
    created["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "name": "graph",
            "uid": "uid-graph",
            "controller": True,
        }
    ]
    play.operator.play(created)
    play.run()
    assert play.told()[0] == "running"
    owner = of_kind(play, "PodCliqueSet")
    for plan in offers(a_gang(owner=owner), READY, owner.meta.ref.uid, ago(0)):
        assert "DynamoGraphDeployment/graph" in plan.why_not


# Bad input


def test_thousands_of_podcliques_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds. No check scans all replicas for each replica."""
    monkeypatch.setattr(Operator, "observe", lambda _self: None)
    play = Play("")
    play.operator.play(play.make(*(clique(f"c{index}", 1, 1) for index in range(_MANY))))
    play.run()
    result = play.verdict()
    assert result.finding.message == f"All {_MANY} pods are ready."
    assert (result.members.desired, result.members.created) == (_MANY, _MANY)


def test_invalid_numbers_are_read_as_the_api_server_would_allow() -> None:
    play = Play("")
    created = play.make(clique("odd", -3, -1))
    created["spec"]["replicas"] = -1
    play.store.create(created)
    assert play.verdict().members.desired == 0


def test_excessive_replicas_are_not_expanded() -> None:
    play = Play("")
    play.store.create(play.make(replicas=2_000_000_000))
    result = play.verdict()
    assert result.members.desired == 2_000_000_000 * 5


def test_a_template_that_cannot_be_read_in_part_is_a_problem_and_the_rest_is_kept() -> None:
    play = Play("")
    created = play.store.create(play.make())
    created["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "lots"}
    }
    owner, problem = read(_resource(created), created)
    assert owner.desired == 5
    assert problem is not None
    assert "in clique pre" in problem.sentence


def test_groups_of_a_podgang_without_its_set_are_the_gang_of_that_podgang() -> None:
    play = played("v1alpha3")
    models = [item for item in play.store.models() if isinstance(item, Group)]
    graph = OwnershipGraph()
    for item in models:
        graph.put(item)
    assert graph.roots() == {"uid-PodGang-chat-0"}
    assert len(graph.members("uid-PodGang-chat-0")) == len(models)
