"""The state of one child Job, as pages show it."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.verdict import JobState
from gangboard.readmodels.state_labels import Face, face_of


def job_face(job: JobState) -> Face:
    """Return the state of one Job: its end, its Hold, else its finding, else its pods."""
    face = face_of(_job_health(job))
    if job.held and not job.finished:
        return replace(face, word="held", label="Held")
    return face


def _job_health(job: JobState) -> str:
    if job.finished:
        return job.finished
    if job.held or job.suspended:
        return Health.SUSPENDED
    if job.finding is not None:
        return job.finding.health
    return Health.RUNNING if job.ready >= job.desired else Health.STARTING
