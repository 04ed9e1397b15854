"""Claims that a pod names (resourceclaim.Name and ephemeral.VolumeClaimName of 1.35 to 1.37)."""

import pytest

from gangboard.decode.pods import POD
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import OF_DEVICES, OF_VOLUMES, PodClaim
from gangboard.store.objects import pack, unpack
from tests.decode.reading import Json, model, read, with_identity


def pod(spec: Json, status: Json | None = None) -> Pod:
    result: Pod = model(POD, with_identity({"spec": spec, "status": status}, "run-0"))
    return result


def test_claims_of_volumes_are_decoded() -> None:
    result = pod(
        {
            "volumes": [
                {"name": "token", "projected": {"sources": []}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-of-all"}},
                {"name": "again", "persistentVolumeClaim": {"claimName": "data-of-all"}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "odd", "persistentVolumeClaim": {"claimName": None}},
            ]
        }
    )
    assert result.claims == (
        PodClaim(OF_VOLUMES, "data-of-all"),
        PodClaim(OF_VOLUMES, "run-0-scratch", generated=True),
    )
    assert unpack(pack(result), Pod) == result


def test_claims_of_devices_are_decoded() -> None:
    claims = [
        {"name": "named", "resourceClaimName": "links"},
        {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "not-needed", "resourceClaimTemplateName": "t"},
        {"name": "not-made", "resourceClaimTemplateName": "t"},
        {"name": "of-a-later-release"},
    ]
    created = [
        {"name": "made", "resourceClaimName": "run-0-made-x7k2p"},
        {"name": "not-needed"},
    ]
    result = pod({"resourceClaims": claims}, {"resourceClaimStatuses": created})
    assert result.claims == (
        PodClaim(OF_DEVICES, "links"),
        PodClaim(OF_DEVICES, "run-0-made-x7k2p", generated=True),
        PodClaim(OF_DEVICES, "not-made", generated=True, unmade=True),
    )


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"volumes": None, "resourceClaims": None},
        {"volumes": [{"name": "token", "projected": {}}, {"name": "tmp", "emptyDir": {}}]},
        {"volumes": [{"name": "disk", "iscsi": {}}], "resourceClaims": []},
    ],
)
def test_pod_without_claims(spec: Json) -> None:
    assert pod(spec).claims == ()


def test_malformed_claims_are_reported_and_the_pod_is_stored() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": 5}}]
    built, problem = read(POD, with_identity({"spec": {"volumes": volumes}}, "run-0"))
    assert built.claims == ()
    assert problem is not None
    assert not problem.lost
