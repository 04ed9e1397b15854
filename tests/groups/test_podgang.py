"""PodGangs as Grove writes them."""

from __future__ import annotations

from gangboard.domain.group import Group, Policy
from gangboard.groups.podgang import PodGangs
from tests.controlplane.grove import initialized, labels, podgang
from tests.decode.reading import Json, model

SET: Json = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodCliqueSet",
    "metadata": {"name": "chat", "namespace": "serving", "uid": "uid-chat"},
}


def a_podgang(status: Json | None = None, **spec: object) -> Group:
    created = podgang("chat-0", SET, {"chat-0-pre": 2, "chat-0-dec": 0}, {"chat-0-pre": ["a", "b"]})
    created["metadata"] |= {"uid": "uid-chat-0", "resourceVersion": "7"}
    created["spec"] |= spec
    result: Group = model(PodGangs.resources[0], created | ({"status": status} if status else {}))
    return result


def test_each_podclique_is_a_role_with_its_requests() -> None:
    result = a_podgang()
    assert result.policy is Policy.GANG
    assert [
        (template.name, template.quorum, template.members) for template in result.templates
    ] == [
        ("chat-0-pre", 2, ("a", "b")),
        ("chat-0-dec", 0, ()),
    ]
    assert result.quorum == 2
    assert result.meta.controller is not None
    assert result.meta.controller.uid == "uid-chat"


def test_placement_is_a_condition_and_not_the_phase() -> None:
    assert a_podgang(initialized(True)).placed is None
    placed = initialized(True)
    placed["conditions"].append({**placed["conditions"][0], "type": "Scheduled"})
    result = a_podgang(placed)
    assert result.placed is not None
    assert result.placed.is_true


def test_the_required_topology_is_decoded_without_the_preferred() -> None:
    required = {"packConstraint": {"required": "rack", "preferred": "kubernetes.io/hostname"}}
    assert a_podgang(topologyConstraint=required).topology_keys == ("rack",)
    preferred = {"packConstraint": {"preferred": "kubernetes.io/hostname"}}
    assert a_podgang(topologyConstraint=preferred).topology_keys == ()


def test_a_podgang_without_a_spec_has_no_roles() -> None:
    """The API server rejects such an object. A modified CRD would accept it."""
    created = {"metadata": {"name": "odd", "namespace": "x", "uid": "u", "resourceVersion": "1"}}
    result: Group = model(PodGangs.resources[0], created)
    assert (result.quorum, result.templates) == (0, ())


def test_labels_are_those_that_grove_writes() -> None:
    assert labels("chat", base_podgang="chat-0") == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "chat",
        "grove.io/base-podgang": "chat-0",
    }
