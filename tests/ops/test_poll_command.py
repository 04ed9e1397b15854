"""Output of `manage.py poll --once` for a partly readable cluster."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from gangboard.ops.management.commands import poll
from gangboard.polling.poll import PollReport

READ = {"pods": "ok", "jobs.batch": "ok", "nodes": "ok", "jobsets.jobset.x-k8s.io": "not-served"}


def printed(monkeypatch: pytest.MonkeyPatch, **states: str) -> tuple[str, str]:
    """Return the output for a cluster with these states, and the final error."""
    report = PollReport("east", "", resources={**READ, **states}, objects=7, gangs=2, seconds=0.8)
    monkeypatch.setattr(poll, "poll_once", lambda name: [report])
    out = io.StringIO()
    try:
        call_command("poll", "--once", stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


@pytest.mark.django_db
def test_a_complete_read_is_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    line, error = printed(monkeypatch)
    assert line == "east: ok, 3 resources read, 7 objects, 2 gangs, 0 problems, in 0.8 s\n"
    assert error == ""


@pytest.mark.django_db
def test_an_optional_resource_is_named_without_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    line, error = printed(monkeypatch, nodes="forbidden")
    assert line.startswith("east: ok, 2 resources read, ")
    assert line.endswith("; nodes forbidden\n")
    assert error == ""


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["failing", "forbidden", "listing", "unknown-version"])
def test_an_unread_required_resource_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    line, error = printed(monkeypatch, pods=state)
    assert line.startswith("east: read in part, 2 resources read, ")
    assert line.endswith(f"; pods {state}\n")
    assert error == "could not read everything that verdicts need of east"
