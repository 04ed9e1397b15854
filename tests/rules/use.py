"""A running JobSet with conspicuous accelerator use."""

from __future__ import annotations

from datetime import timedelta

from gangboard.diagnosis.engine import assess
from gangboard.domain.measured_use import UseAlert
from gangboard.domain.verdict import Verdict
from tests.domain_objects import NOW, a_jobset, a_role, child_jobs, pods_of
from tests.gangs import assemble

SINCE = NOW - timedelta(minutes=20)


def judged(use: UseAlert, *, ready: int = 2) -> Verdict:
    """Return the verdict on two Jobs of two pods each. The first Job has `ready` ready pods."""
    owner = a_jobset("run", a_role("workers", jobs=2, pods=2))
    jobs = child_jobs(owner)
    pods = [
        pod
        for job, number in zip(jobs, (ready, 2), strict=True)
        for pod in pods_of(job, number, on="n1")
    ]
    return assess(assemble(owner, (*jobs, *pods), now=NOW, use_alert=use))


def codes(verdict: Verdict) -> list[str]:
    return [finding.code for finding in verdict.findings]
