"""A kind that is not served, comes later, is served in a newer version or has an unreadable object.

Verdicts of other kinds stay the same, and the Clusters page reports the problem. Covers all kinds,
groups and queues at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.utils import timezone

from gangboard.kube import discovery
from gangboard.kube.discovery import Discovery
from gangboard.pages.clusters.queries import cluster_detail
from gangboard.pages.clusters.rows import ResourceRow
from gangboard.plugins import registry
from gangboard.polling import poll_window
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Gang
from simulator.resources import Resource, served
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]

ALWAYS_SERVED = {one.full for one in served("1.37", hold=True)}
OTHERS = [
    one for one in registry.resources() if one.key not in ALWAYS_SERVED | registry.read_on_demand()
]
"""Kinds and queues of custom resources, which the simulated cluster does not serve by default."""
QUEUED = ("queue-evaluating", "unknown")
"""Verdict of the JobSet `retrieval-ft` while its queue is unreadable."""
EVERYTHING = Viewer(1, "olga", (Scope(None, "", "admin"),))


def custom(version: str = "") -> tuple[Resource, ...]:
    """Return them as a cluster would serve them, in the version that we prefer or in another."""
    return tuple(
        Resource(
            resource.group,
            (version or resource.versions[0],),
            resource.plural,
            resource.kind,
            custom=True,
        )
        for resource in OTHERS
    )


def fill(watching: Watching, **content: object) -> None:
    """Put one object of each of them into the cluster, in a namespace of their own."""
    for resource in custom():
        watching.simulator.objects.put(
            {
                "apiVersion": resource.api_version(),
                "kind": resource.kind,
                "metadata": {"name": f"a-{resource.plural}", "namespace": "mixed"},
                **content,
            }
        )


def verdicts() -> dict[str, tuple[str, str]]:
    """Return the verdicts of gangs outside that namespace."""
    gangs = Gang.objects.filter(gone_at=None).exclude(namespace="mixed")
    rows = gangs.values_list("name", "code", "health")
    return {name: (code, health) for name, code, health in rows}


def resource_rows(watching: Watching) -> dict[str, ResourceRow]:
    """Return the rows of the Clusters page for each of them."""
    detail = cluster_detail(watching.cluster.name, viewer=EVERYTHING, now=timezone.now())
    assert detail is not None
    rows = {row.resource: row for row in detail.resources}
    return {resource.key: rows[resource.key] for resource in OTHERS}


@pytest.fixture
def expected(watch: Watch) -> dict[str, tuple[str, str]]:
    """Return the verdicts of a cluster that serves none of them."""
    watching = watch("plain")
    assert watching.once().ok
    expected_verdicts = verdicts()
    assert len(expected_verdicts) > 3
    assert {row.state for row in resource_rows(watching).values()} == {"not-served"}
    assert not any(row.is_fault for row in resource_rows(watching).values())
    watching.cluster.delete()
    return expected_verdicts


def test_the_test_covers_at_least_one_kind() -> None:
    assert len(OTHERS) > 8


def test_a_kind_is_read_once_the_cluster_serves_it(
    watch: Watch, expected: dict[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_yet(*arguments: object, **options: object) -> Discovery:
        result = discovery.discover(*arguments, **options)  # type: ignore[arg-type]
        later = {(resource.group, resource.plural) for resource in OTHERS}
        remaining = {key: value for key, value in result.resources.items() if key not in later}
        return replace(result, resources=remaining)

    watching = watch("late", extra=custom())
    fill(watching)
    with monkeypatch.context() as moment:
        moment.setattr(poll_window, "discover", not_yet)
        assert watching.once().ok
    assert {row.state for row in resource_rows(watching).values()} == {"not-served"}
    assert verdicts() == expected
    assert watching.once().ok
    assert {key: row.state for key, row in resource_rows(watching).items()} == dict.fromkeys(
        (resource.key for resource in OTHERS), "ok"
    )
    assert {resource.key: watching.objects(resource.key) for resource in OTHERS} == dict.fromkeys(
        (resource.key for resource in OTHERS), 1
    )
    assert verdicts() == expected


def test_a_kind_in_a_newer_version_is_reported_and_other_gangs_stay_known(
    watch: Watch, expected: dict[str, tuple[str, str]]
) -> None:
    watching = watch("new", extra=custom("v9"))
    watching.once()
    tried = {resource.key for resource in OTHERS if resource.fields}
    assert tried
    for key, row in resource_rows(watching).items():
        assert row.state == ("ok" if key in tried else "unknown-version"), key
        assert f"{key} is served as v9, which this release " in row.sentence
    # Workloads of Kueue are read in that version, and there are none.
    assert verdicts() == {**expected, "retrieval-ft": ("queue-evaluating", "blocked")}


def test_an_object_that_cannot_be_read_is_named_and_hides_its_namespace_only(
    watch: Watch, expected: dict[str, tuple[str, str]]
) -> None:
    watching = watch("bad", extra=custom())
    fill(watching, spec="nonsense", status="nonsense")
    watching.once()
    for resource in OTHERS:
        row = resource_rows(watching)[resource.key]
        assert row.is_fault, resource.key
        assert any(f"a-{resource.plural}" in problem.name for problem in row.problems), resource.key
    assert verdicts() == {**expected, "retrieval-ft": QUEUED}
