"""What a cluster serves: not served, unknown, and failing are three different things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.kube import discovery
from gangboard.kube.discovery import Discovery, ServedVersion
from gangboard.polling import window
from gangboard.store.models import Gang, ResourceState
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
PODGROUPS = "podgroups.scheduling.k8s.io"
GROUPS = ("workloads", "podgroups", "compositepodgroups")


def _serve_as(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    """Let discovery say that the core groups are served in this version only; None: not at all."""

    def discover(*given: object, **options: object) -> Discovery:
        found = discovery.discover(*given, **options)  # type: ignore[arg-type]
        resources = dict(found.resources)
        for plural in GROUPS:
            served = resources.pop(("scheduling.k8s.io", plural), ())
            if version is not None and served:
                later: ServedVersion = replace(served[0], version=version)
                resources["scheduling.k8s.io", plural] = (later,)
        return replace(found, resources=resources)

    monkeypatch.setattr(window, "discover", discover)


def test_a_later_version_is_said_and_not_guessed(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    before = watching.objects(PODGROUPS)
    _serve_as(monkeypatch, "v2")
    watching.once()
    assert watching.objects(PODGROUPS) == before > 0
    state = watching.state("podgroups.scheduling.k8s.io")
    assert state.state == "unknown-version"
    assert "v2" in state.sentence
    found = Gang.objects.filter(gone_at=None)
    assert found.exists()
    assert set(found.values_list("code", "health")) == {("not-observed", "unknown")}


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


def test_an_api_that_is_no_longer_served_takes_its_objects_along(
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
