"""Any data of a server raises DecodeError only, and good objects are decoded."""

import json
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.decode.events import EVENT
from gangboard.decode.holds import HOLD
from gangboard.decode.list_watch_decoder import build_model, read_event, read_page
from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import DecodeError, Resource
from gangboard.plugins.registry import grouping_apis, owner_kinds, queue_systems
from tests.decode.reading import list_body, with_identity

RESOURCES = [
    POD,
    NODE,
    EVENT,
    HOLD,
    POLICY,
    BINDING,
    VOLUME_CLAIM,
    STORAGE_CLASS,
    RESOURCE_CLAIM,
    *(kind.resource for kind in owner_kinds()),
    *(resource for api in grouping_apis() for resource in api.resources),
    *(resource for queue in queue_systems() for resource in queue.resources),
]
# Resources of which not every object is kept.
PICKED = (EVENT, POLICY, BINDING)
# The words of the API, so that junk reaches the fields that are read.
WORDS = st.sampled_from(
    [
        "metadata", "name", "uid", "namespace", "labels", "ownerReferences", "spec", "status",
        "conditions", "type", "status", "items", "object", "containers", "resources", "requests",
        "cpu", "template", "replicatedJobs", "replicas", "schedulingPolicy", "gang", "basic",
        "minCount", "podGroupTemplates", "disruptionMode", "parallelism", "completions", "phase",
        "scheduling", "state", "waiting", "reason", "series", "regarding", "topology",
        "annotations", "successPolicy", "failurePolicy", "rules", "coordinator", "jobName",
        "ownerUID", "until", "active", "queueName", "matchConstraints", "resourceRules",
        "affinity", "podAntiAffinity", "nodeAffinity", "nodeSelectorTerms", "tolerations", "taints",
        "requiredDuringSchedulingIgnoredDuringExecution", "labelSelector", "topologyKey",
        "allocatable", "ports", "hostPort", "volumes", "allocatedResources", "initContainers",
        "containerStatuses", "key", "values", "matchExpressions", "nodeSelector",
        "persistentVolumeClaim", "claimName", "ephemeral", "resourceClaims", "resourceClaimName",
        "resourceClaimStatuses", "resourceClaimTemplateName", "volumeName", "storageClassName",
    ]
)  # fmt: skip
VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["True", "ADDED", "ERROR", "BOOKMARK", "1Gi", "FailedCreate"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)
BODIES = st.binary(max_size=40) | VALUES.map(lambda value: json.dumps(value).encode())


def poll(body: bytes, resource: Resource) -> None:
    """Process bytes like a poll does. Only DecodeError may be raised."""
    try:
        page = read_page(body, resource)
    except DecodeError:
        return
    for wire in page.objects:
        built, problem = build_model(resource, wire, resource.versions[0])
        assert built is not None or problem is not None or resource in PICKED


@settings(max_examples=3 * settings().max_examples, suppress_health_check=[HealthCheck.too_slow])
@given(body=BODIES, item=VALUES, more=st.dictionaries(WORDS, VALUES, max_size=3))
def test_junk_in_a_list_raises_decode_errors_only(
    body: bytes, item: Any, more: dict[str, Any]
) -> None:
    """Each example is read as every resource, because making it takes longer than reading it."""
    spoiled = with_identity({**more, "metadata": {}}, "gangboard-hold")
    good = with_identity({"reason": "FailedCreate"}, "good")
    both = list_body([spoiled, good])
    for resource in RESOURCES:
        note(resource.key)
        poll(body, resource)
        poll(list_body([item]), resource)
        poll(both, resource)
        names = {wire.metadata.name for wire in read_page(both, resource).objects}
        assert "good" in names


@given(
    line=BODIES, type_=st.sampled_from(["ADDED", "DELETED", "BOOKMARK", "ERROR", "?"]), obj=VALUES
)
def test_junk_in_a_watch_raises_decode_errors_only(line: bytes, type_: str, obj: Any) -> None:
    for sent in (line, json.dumps({"type": type_, "object": obj}).encode()):
        try:
            event = read_event(sent, POD)
        except DecodeError:
            continue
        assert event.object is None or event.problem is None
