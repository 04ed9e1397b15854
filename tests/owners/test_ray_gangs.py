"""Gangs that Ray's objects ask for by a label, on clusters where KubeRay makes no group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.owners.ray.raycluster import RayCluster
from tests.decode.reading import model
from tests.domain_objects import a_group
from tests.kinds import registered
from tests.owners.test_ray import _object, cluster_spec, pods_of, verdict_of

RAYCLUSTER = registered(RayCluster)

LABEL = {"labels": {"ray.io/gang-scheduling-enabled": "true"}}
V1_37 = {"kubernetes": (1, 37), "gang_api_version": "v1beta1"}


def asking(**spec: Any) -> Owner:
    """Return a RayCluster with the label."""
    result: Owner = model(
        RAYCLUSTER.resource, _object("RayCluster", "run", cluster_spec(**spec), {}, **LABEL)
    )
    return result


def pods(cluster: Owner, **fields: Any) -> list[Pod]:
    return pods_of(cluster, **fields)


def test_kuberay_makes_no_group_with_an_api_that_it_does_not_know() -> None:
    cluster = asking()
    verdict = verdict_of(cluster, *pods(cluster), **V1_37)
    assert (verdict.finding.code, verdict.finding.health) == ("not-ganged", "degraded")
    assert "scheduling.k8s.io/v1alpha2" in verdict.finding.message
    assert "v1beta1" in verdict.finding.message


def test_a_cluster_without_podgroups_is_reported() -> None:
    cluster = asking()
    verdict = verdict_of(cluster, *pods(cluster), kubernetes=(1, 38), gang_api_version="")
    assert verdict.finding.code == "not-ganged"
    assert "serves no PodGroups" in verdict.finding.message


def test_an_autoscaled_cluster_has_no_group_by_design() -> None:
    cluster = asking(enableInTreeAutoscaling=True)
    verdict = verdict_of(cluster, *pods(cluster), kubernetes=(1, 36), gang_api_version="v1alpha2")
    assert verdict.finding.code == "not-ganged"
    assert "autoscaler" in verdict.finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"kubernetes": (1, 36), "gang_api_version": "v1alpha2"},
        {"kubernetes": None, "gang_api_version": "v1beta1"},
        {**V1_37, "groups_unobserved": True},
    ],
)
def test_a_possible_group_is_not_reported(facts: dict[str, Any]) -> None:
    """Near miss: its version is served, or the served versions are unknown."""
    cluster = asking()
    assert verdict_of(cluster, *pods(cluster), **facts).finding.code == "running"


def test_a_cluster_without_the_label_is_not_reported() -> None:
    cluster: Owner = model(RAYCLUSTER.resource, _object("RayCluster", "run", cluster_spec(), {}))
    assert verdict_of(cluster, *pods(cluster), **V1_37).finding.code == "running"


def test_pods_in_a_group_are_a_gang() -> None:
    cluster, group = asking(), a_group("run", quorum=4)
    grouped = [replace(pod, group_name="run") for pod in pods(cluster)]
    assert verdict_of(cluster, *grouped, group, **V1_37).finding.code == "running"


def test_pods_of_another_scheduler_are_its_matter() -> None:
    """Near miss: KubeRay gives them to Volcano, which keeps groups of its own."""
    cluster = asking()
    other = [replace(pod, scheduler_name="volcano", other_scheduler=True) for pod in pods(cluster)]
    assert verdict_of(cluster, *other, **V1_37).finding.code == "running"
