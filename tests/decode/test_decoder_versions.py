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
from gangboard.domain.registry import Resource
from gangboard.polling.cluster_cache import resources

KNOWN: dict[str, tuple[int, str]] = {
    "admissionchecks.kueue.x-k8s.io": (1, "27d95805e753"),
    "clusterqueues.kueue.x-k8s.io": (1, "46489af0fe2e"),
    "clustertrainingruntimes.trainer.kubeflow.org": (2, "dd370d9ede6e"),
    "cohorts.kueue.x-k8s.io": (1, "46489af0fe2e"),
    "compositepodgroups.scheduling.k8s.io": (4, "c848af4d802e"),
    "cronjobs.batch": (5, "df7fa06009be"),
    "deployments.apps": (2, "59a1fdfabd25"),
    "disaggregatedsets.disaggregatedset.x-k8s.io": (5, "898569c1c643"),
    "events.events.k8s.io": (2, "367a4ab35c89"),
    "holds.gangboard.dev": (1, "f46bb6c85482"),
    "jaxjobs.kubeflow.org": (4, "7ac0859c01c6"),
    "jobs.batch": (8, "49450f861081"),
    "jobs.batch.volcano.sh": (3, "d97810f80e05"),
    "jobsets.jobset.x-k8s.io": (9, "924a597eb011"),
    "leaderworkersets.leaderworkerset.x-k8s.io": (8, "9f7eaa084dac"),
    "localqueues.kueue.x-k8s.io": (1, "46489af0fe2e"),
    "miniclusters.flux-framework.org": (2, "6b67733ce65b"),
    "mpijobs.kubeflow.org": (4, "7ac0859c01c6"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": (1, "0f6d8cbf6a68"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": (1, "0f6d8cbf6a68"),
    "nodeclaims.karpenter.sh": (1, "8ddb5fb36775"),
    "nodes": (3, "c4e93d935d93"),
    "paddlejobs.kubeflow.org": (4, "7ac0859c01c6"),
    "persistentvolumeclaims": (1, "aae1a3baa6cd"),
    "podcliques.grove.io": (6, "9faf122ca67f"),
    "podcliquescalinggroups.grove.io": (6, "0eabd433a247"),
    "podcliquesets.grove.io": (5, "be095fe9756e"),
    "podgangs.scheduler.grove.io": (2, "1e02aea7e69c"),
    "podgroups.scheduling.k8s.io": (4, "c848af4d802e"),
    "podgroups.scheduling.run.ai": (3, "47d573f1aefe"),
    "podgroups.scheduling.volcano.sh": (1, "50eed3a3dc85"),
    "podgroups.scheduling.x-k8s.io": (1, "65901b09cc4c"),
    "pods": (833411005, "10327d115b44"),
    "provisioningrequests.autoscaling.x-k8s.io": (1, "514febf08b75"),
    "pytorchjobs.kubeflow.org": (4, "7ac0859c01c6"),
    "queues.scheduling.run.ai": (1, "4f84812c8d2b"),
    "queues.scheduling.volcano.sh": (2, "d5c4f0fc4a1f"),
    "rayclusters.ray.io": (3, "50185cea0620"),
    "rayjobs.ray.io": (3, "f939a17ed452"),
    "rayservices.ray.io": (3, "8511fb8dd991"),
    "resourceclaims.resource.k8s.io": (1, "74a018cdb1bc"),
    "resourceflavors.kueue.x-k8s.io": (1, "9030d019a784"),
    "statefulsets.apps": (2, "59a1fdfabd25"),
    "storageclasses.storage.k8s.io": (1, "94ea2bacd232"),
    "tfjobs.kubeflow.org": (4, "7ac0859c01c6"),
    "trainingruntimes.trainer.kubeflow.org": (2, "dd370d9ede6e"),
    "trainjobs.trainer.kubeflow.org": (5, "3320b6a5f38d"),
    "workloads.kueue.x-k8s.io": (7, "3f7440d16fb5"),
    "workloads.scheduling.k8s.io": (4, "c7c590748546"),
    "xgboostjobs.kubeflow.org": (4, "7ac0859c01c6"),
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
