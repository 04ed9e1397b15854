"""Submitters by the label or annotation of the installation, for clusters that were polled without it."""

from __future__ import annotations

from collections.abc import Callable

from pytest_django import Settings

from gangboard.domain.owner import Owner
from gangboard.polling import cluster_cache
from gangboard.store.models import Gang, GangSearch
from tests.polling.conftest import Watching


def test_only_owners_have_the_keys(settings: Settings) -> None:
    settings.SUBMITTER_LABEL, settings.SUBMITTER_ANNOTATION = "a", "b"
    for resource in cluster_cache.resources():
        expected = ("a", "b") if resource.model is Owner else ("", "")
        assert (resource.submitter.label, resource.submitter.annotation) == expected, resource.key


def test_a_new_setting_fills_the_gangs_that_exist(
    watch: Callable[..., Watching], settings: Settings
) -> None:
    watching = watch()
    watching.once()
    gang = Gang.objects.filter(cluster=watching.cluster).exclude(labels={}).first()
    assert gang is not None
    key, value = next(iter(gang.labels.items()))
    assert gang.submitter_source != "label"
    settings.SUBMITTER_LABEL = key
    watching.forget()
    watching.settle()
    gang.refresh_from_db()
    assert (gang.submitter, gang.submitter_source) == (value, "label")
    index = GangSearch.objects.get(pk=gang.pk)
    assert (index.submitter, index.gone) == (value.lower(), False)
    assert f"\n{key}={value}\n".lower() in index.labels
