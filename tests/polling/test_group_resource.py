"""The resource that holds the pod groups of a cluster, which depends on the minor version."""

from __future__ import annotations

import pytest

from gangboard.domain.api_resource import WatchState
from gangboard.groups.core import Kubernetes
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.visibility import group_resource

PODGROUPS, WORKLOADS = "podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io"
RESOURCES = {resource.key: resource for resource in Kubernetes.resources}


def watched(key: str, state: str, version: str = "") -> WatchedResource:
    return WatchedResource(RESOURCES[key], version=version, state=WatchState(state))


@pytest.mark.parametrize(
    ("podgroups", "workloads", "told_by", "version"),
    [
        (("ok", "v1beta1"), ("ok", "v1beta1"), PODGROUPS, "v1beta1"),
        (("ok", "v1alpha2"), ("forbidden", "v1alpha2"), PODGROUPS, "v1alpha2"),
        (("forbidden", "v1alpha2"), ("ok", "v1alpha2"), PODGROUPS, "v1alpha2"),
        # 1.35 serves Workloads alone.
        (("not-served", ""), ("ok", "v1alpha1"), WORKLOADS, "v1alpha1"),
        (("not-served", ""), ("forbidden", "v1alpha1"), WORKLOADS, "v1alpha1"),
        (("not-served", ""), ("not-served", ""), PODGROUPS, ""),
    ],
)
def test_the_watched_resource_of_pod_groups_is_returned(
    podgroups: tuple[str, str], workloads: tuple[str, str], told_by: str, version: str
) -> None:
    visibility = {
        PODGROUPS: watched(PODGROUPS, *podgroups),
        WORKLOADS: watched(WORKLOADS, *workloads),
    }
    resource = group_resource(visibility)
    assert resource is not None
    assert (resource.resource.key, resource.version) == (told_by, version)


def test_no_resource_is_returned_if_none_is_watched() -> None:
    assert group_resource({}) is None
