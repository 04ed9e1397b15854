"""Discovery: not served, unknown version and failing are three different states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.domain.group import Group
from gangboard.kube import discovery
from gangboard.kube.discovery import Discovery, ServedVersion
from gangboard.polling import poll, poll_window, reflector
from gangboard.polling.cluster_cache import resources
from gangboard.store.models import Gang, ResourceState, WatchedObject
from gangboard.store.objects import unpack
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
PODGROUPS = "podgroups.scheduling.k8s.io"
GROUPS = ("workloads", "podgroups", "compositepodgroups")


def _serve_as(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    """Let discovery say that the core groups are served in this version only; None: not at all."""

    def discover(*arguments: object, **options: object) -> Discovery:
        result = discovery.discover(*arguments, **options)  # type: ignore[arg-type]
        resources = dict(result.resources)
        for plural in GROUPS:
            served = resources.pop(("scheduling.k8s.io", plural), ())
            if version is not None and served:
                later: ServedVersion = replace(served[0], version=version)
                resources["scheduling.k8s.io", plural] = (later,)
        return replace(result, resources=resources)

    monkeypatch.setattr(poll_window, "discover", discover)


def _play(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Let the simulator serve the core groups in this version only; objects look as in v1alpha3."""
    _serve_as(monkeypatch, version)

    def path_for(
        group: str, requested_version: str, plural: str, namespace: str | None = None
    ) -> str:
        served = (
            "v1alpha3" if plural in GROUPS and requested_version == version else requested_version
        )
        return discovery.path_for(group, served, plural, namespace)

    monkeypatch.setattr(reflector, "path_for", path_for)


def _codes() -> dict[str, str]:
    return dict(Gang.objects.filter(gone_at=None).values_list("uid", "code"))


def _versions_read() -> set[str]:
    """Return the API versions in which the stored PodGroups were read."""
    rows = WatchedObject.objects.filter(resource=PODGROUPS).values_list("data", flat=True)
    return {unpack(bytes(data), Group).meta.api_version for data in rows}


def _drop_policy(group: dict[str, Any]) -> None:
    del group["spec"]["schedulingPolicy"]


def _break_podgroup(watching: Watching) -> str:
    """Take the policy from a PodGroup; return its name."""
    objects = watching.simulator.objects
    version = "scheduling.k8s.io/v1beta1"
    meta = objects.list(version, "PodGroup")[0]["metadata"]
    objects.update(version, "PodGroup", meta["name"], _drop_policy, meta["namespace"])
    return str(meta["name"])


def test_the_version_of_the_next_release_is_read(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    before = _codes()
    _play(monkeypatch, "v1")
    watching.once()
    state = watching.state(PODGROUPS)
    assert (state.state, state.version, state.sentence) == ("ok", "v1", "")
    assert _codes() == before
    assert _versions_read() == {"v1"}


def test_an_unknown_version_is_read_as_the_newest_one_and_reported(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    before, count = _codes(), watching.objects(PODGROUPS)
    _play(monkeypatch, "v2")
    watching.once()
    state = watching.state(PODGROUPS)
    assert (state.state, state.version) == ("ok", "v2")
    assert state.sentence == (
        "podgroups.scheduling.k8s.io is served as v2, which this release does not know; it is read as v1"
    )
    assert watching.objects(PODGROUPS) == count > 0
    assert _codes() == before
    assert _versions_read() == {"v2"}
    watching.settle()
    assert watching.state(PODGROUPS).sentence == state.sentence


def test_an_unknown_version_without_the_expected_fields_is_not_read(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    count = watching.objects(PODGROUPS)
    name = _break_podgroup(watching)
    _play(monkeypatch, "v2")
    for _ in range(2):  # the reader tries again, and reports no problem meanwhile
        watching.once()
        state = watching.state(PODGROUPS)
        assert (state.state, state.version) == ("unknown-version", "")
        assert "v2" in state.sentence
        assert name not in state.sentence
        assert watching.objects(PODGROUPS) == count
        assert set(_codes().values()) == {"not-observed"}


def test_a_later_object_without_the_expected_fields_stops_the_reading(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    _play(monkeypatch, "v2")
    watching.settle()
    assert watching.state(PODGROUPS).state == "ok"
    assert "not-observed" not in _codes().values()
    count = watching.objects(PODGROUPS)
    _break_podgroup(watching)
    watching.windows_until(lambda: watching.state(PODGROUPS).state == "unknown-version")
    assert watching.objects(PODGROUPS) == count > 0
    assert set(_codes().values()) == {"not-observed"}


def test_an_unknown_version_without_key_fields_is_not_tried(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    before = watching.objects(PODGROUPS)
    _serve_as(monkeypatch, "v2")
    grouped = {resource.key: resource for resource in resources()}
    without = [replace(candidate, fields=()) for candidate in grouped.values()]
    monkeypatch.setattr(poll, "resources", lambda: without)
    watching.forget()
    watching.once()
    assert watching.objects(PODGROUPS) == before > 0
    state = watching.state(PODGROUPS)
    assert state.state == "unknown-version"
    assert "v2" in state.sentence
    assert set(_codes().values()) == {"not-observed"}


def test_an_api_that_is_not_served_is_no_fault(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    _serve_as(monkeypatch, None)
    watching.once()
    assert watching.state("podgroups.scheduling.k8s.io").state == "not-served"
    assert not Gang.objects.filter(code="not-observed", gone_at=None).exists()


def test_an_api_that_is_missing_for_a_moment_keeps_its_objects(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API server that has just started does not know its custom resources yet."""
    watching = watch()
    watching.once()
    before = watching.objects(PODGROUPS)
    with monkeypatch.context() as moment:
        _serve_as(moment, None)
        watching.once()
    assert watching.objects(PODGROUPS) == before > 0
    assert watching.state(PODGROUPS).state == "failing"
    watching.once()
    assert watching.state(PODGROUPS).state == "ok"


def test_objects_of_an_api_that_is_no_longer_served_are_deleted(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    assert watching.objects(PODGROUPS) > 0
    ResourceState.objects.update(contact_at=timezone.now() - timedelta(seconds=61))
    _serve_as(monkeypatch, None)
    watching.once()
    assert watching.state(PODGROUPS).state == "not-served"
    assert watching.objects(PODGROUPS) == 0
