"""A decoder that reads or keeps something else has another version: else stored rows lack it for ever.

What is not seen here: a `build` that fills the same fields otherwise. It needs a new version too.
"""

from __future__ import annotations

import hashlib
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import msgspec
import pytest

from gangboard.decode.fitting import KeyField
from gangboard.domain.api_resource import Resource
from gangboard.polling.cluster_cache import resources

KNOWN: dict[str, tuple[int, str]] = {
    "admissionchecks.kueue.x-k8s.io": (1, "27d95805e753"),
    "clusterqueues.kueue.x-k8s.io": (1, "6de5e2e8d9cd"),
    "clustertrainingruntimes.trainer.kubeflow.org": (2, "dd370d9ede6e"),
    "cohorts.kueue.x-k8s.io": (1, "6de5e2e8d9cd"),
    "compositepodgroups.scheduling.k8s.io": (4, "efb10ecf348a"),
    "cronjobs.batch": (5, "816d3945e0df"),
    "deployments.apps": (2, "5ae7ae784106"),
    "disaggregatedsets.disaggregatedset.x-k8s.io": (5, "38197b19b20d"),
    "events.events.k8s.io": (2, "367a4ab35c89"),
    "holds.gangboard.dev": (1, "f46bb6c85482"),
    "jaxjobs.kubeflow.org": (4, "bd8522e46d3d"),
    "jobs.batch": (8, "714bb182f89c"),
    "jobs.batch.volcano.sh": (4, "c37c0b64db21"),
    "jobsets.jobset.x-k8s.io": (9, "8ce1807d65b6"),
    "leaderworkersets.leaderworkerset.x-k8s.io": (8, "bc029c888ae0"),
    "localqueues.kueue.x-k8s.io": (1, "6de5e2e8d9cd"),
    "miniclusters.flux-framework.org": (2, "10e29b351750"),
    "mpijobs.kubeflow.org": (4, "bd8522e46d3d"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": (1, "0f6d8cbf6a68"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": (1, "0f6d8cbf6a68"),
    "nodeclaims.karpenter.sh": (1, "8ddb5fb36775"),
    "nodes": (4, "31cd1ceddeae"),
    "paddlejobs.kubeflow.org": (4, "bd8522e46d3d"),
    "persistentvolumeclaims": (1, "aae1a3baa6cd"),
    "podcliques.grove.io": (6, "85d0c3e6df1e"),
    "podcliquescalinggroups.grove.io": (6, "dc83061b064d"),
    "podcliquesets.grove.io": (5, "5e0b4d47f262"),
    "podgangs.scheduler.grove.io": (2, "49ea4e01792e"),
    "podgroups.scheduling.k8s.io": (4, "efb10ecf348a"),
    "podgroups.scheduling.run.ai": (5, "13f8ee2751a6"),
    "podgroups.scheduling.volcano.sh": (3, "515f0e158dac"),
    "podgroups.scheduling.x-k8s.io": (1, "fa3bc9e6e07f"),
    "pods": (833411005, "10327d115b44"),
    "provisioningrequests.autoscaling.x-k8s.io": (1, "514febf08b75"),
    "pytorchjobs.kubeflow.org": (4, "bd8522e46d3d"),
    "queues.scheduling.run.ai": (3, "850a3f18a6fc"),
    "queues.scheduling.volcano.sh": (3, "84d225ee3c6c"),
    "rayclusters.ray.io": (3, "f5762075423e"),
    "rayjobs.ray.io": (3, "79cf1f923ee7"),
    "rayservices.ray.io": (3, "164da2ff477a"),
    "resourceclaims.resource.k8s.io": (1, "74a018cdb1bc"),
    "resourceflavors.kueue.x-k8s.io": (1, "9030d019a784"),
    "statefulsets.apps": (2, "5ae7ae784106"),
    "storageclasses.storage.k8s.io": (1, "94ea2bacd232"),
    "tfjobs.kubeflow.org": (4, "bd8522e46d3d"),
    "trainingruntimes.trainer.kubeflow.org": (2, "dd370d9ede6e"),
    "trainjobs.trainer.kubeflow.org": (5, "1c6611400dbb"),
    "workloads.kueue.x-k8s.io": (8, "ee2d20b885a7"),
    "workloads.scheduling.k8s.io": (4, "d3ba665e1319"),
    "xgboostjobs.kubeflow.org": (4, "bd8522e46d3d"),
}
"""Resource → version of its decoder, and the fingerprint of all fields that it reads and keeps."""

WHAT_TO_DO = """
What is read or kept of {key} has changed. Raise `decoder_version` of its Resource by one, so that rows
which are stored are read again, and write here:

    "{key}": ({version}, "{fingerprint}"),

The version may stay only where both decoders make the same rows of the same objects: a class or a field of
the wire was renamed here and not there.
"""


_MARK = get_args(KeyField[int])[-1]


def fields_of(kind: Any, above: tuple[Any, ...] = ()) -> Any:
    """Return the fields of a class and of all below it, as lists and names; classes have no names."""
    if kind in above:
        return "itself"
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        hints = get_type_hints(kind, include_extras=True).items()
        return sorted(
            (name, fields_of(hint, (*above, kind)))
            for name, hint in hints
            if get_origin(hint) is not ClassVar
        )
    if isinstance(kind, type) and issubclass(kind, Enum):
        return sorted(str(member.value) for member in kind)
    if arguments := get_args(kind):
        if arguments[-1] == _MARK:  # it says what a field is to us, and changes no reading
            return fields_of(arguments[0], above)
        return [str(get_origin(kind)), *(fields_of(one, above) for one in arguments)]
    return kind.__name__ if isinstance(kind, type) else repr(kind)


def fingerprint(*kinds: type[Any]) -> str:
    """Return a short digest of the fields of these classes."""
    return hashlib.sha256(repr([fields_of(kind) for kind in kinds]).encode()).hexdigest()[:12]


@pytest.mark.parametrize("resource", resources(), ids=lambda resource: resource.key)
def test_what_is_read_and_kept_belongs_to_the_version(resource: Resource) -> None:
    found = (resource.decoder_version, fingerprint(resource.wire, resource.model))
    assert found == KNOWN.get(resource.key), WHAT_TO_DO.format(
        key=resource.key, version=found[0], fingerprint=found[1]
    )


def test_nothing_is_known_of_what_is_not_read() -> None:
    assert set(KNOWN) == {resource.key for resource in resources()}


class _Port(msgspec.Struct):
    number: int = 0


class _Toy(msgspec.Struct):
    name: str
    ports: tuple[_Port, ...] = ()


class _Renamed(msgspec.Struct):
    name: str
    ports: tuple[_Port, ...] = ()


class _WiderPort(msgspec.Struct):
    number: int = 0
    protocol: str = ""


class _WithAFieldBelow(msgspec.Struct):
    name: str
    ports: tuple[_WiderPort, ...] = ()


class _OfAnotherType(msgspec.Struct):
    name: str | None
    ports: tuple[_Port, ...] = ()


def test_a_fingerprint_is_of_fields_and_types_at_any_depth() -> None:
    assert fingerprint(_Toy) == fingerprint(_Renamed)
    assert fingerprint(_Toy) != fingerprint(_WithAFieldBelow)
    assert fingerprint(_Toy) != fingerprint(_OfAnotherType)
