"""Verdict spans of a poll: one open span per gang until its verdict changes."""

from __future__ import annotations

from collections.abc import Callable

from gangboard.store.models import Gang, VerdictSpan
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]


def test_each_gang_has_one_open_span_that_says_what_its_row_says(watch: Watch) -> None:
    watching = watch(fleet="east")
    for _ in range(2):
        assert watching.once().ok
        gangs = Gang.objects.filter(gone_at=None).values_list("id", "code", "health", "since")
        spans = VerdictSpan.objects.values_list("gang_id", "code", "health", "began_at")
        assert len(gangs) > 20
        assert set(spans.filter(ended_at=None)) == set(gangs)
        assert not VerdictSpan.objects.exclude(ended_at=None).exists()


def test_the_span_of_a_deleted_owner_ends_with_it(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    job = next(
        job
        for job in watching.simulator.objects.list("batch/v1", "Job")
        if not job["metadata"].get("ownerReferences")
    )
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    watching.simulator.objects.delete("batch/v1", "Job", name, namespace)
    assert watching.once().ok
    gang = Gang.objects.get(name=name, namespace=namespace, kind="Job")
    span = VerdictSpan.objects.get(gang_id=gang.pk)
    assert (span.last, span.ended_at) == (True, gang.gone_at)
