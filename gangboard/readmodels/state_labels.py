"""Icon, label and tone of each state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import JobState
from gangboard.plugins import reasons
from gangboard.readmodels.formatting import printable


@dataclass(frozen=True, slots=True)
class Face:
    """The look of a state. Colour is never the only sign, because icon and label say the same."""

    word: str
    """The state in the API and in addresses."""
    label: str
    """The state on pages."""
    icon: str
    tone: str
    """Name of its colours in the stylesheets."""


@dataclass(frozen=True, slots=True)
class HealthCount:
    """The number of gangs with one health."""

    face: Face
    gangs: int


_ICONS = {
    Health.FAILED: "✕",
    Health.BLOCKED: "■",
    Health.DEGRADED: "▲",
    Health.WAITING: "◔",
    Health.STARTING: "◌",
    Health.SUSPENDED: "❚❚",
    Health.RUNNING: "●",
    Health.SUCCEEDED: "✓",
    Health.UNKNOWN: "?",
}

_FACES = {
    health: Face(health.value, health.value.capitalize(), _ICONS[health], health.value)
    for health in Health
}

_LASTING = frozenset({Health.FAILED, Health.SUCCEEDED, Health.UNKNOWN})
"""States whose label needs no past tense."""
_PAST = {Health.FAILED: "It had failed.", Health.SUCCEEDED: "It had succeeded."}

STAGE_LABELS = {
    Stage.ADMISSION: "Admission",
    Stage.FORMATION: "Formation",
    Stage.PLACEMENT: "Placement",
    Stage.START: "Start",
    Stage.RUN: "Run",
}

NOT_OBSERVED = "not-observed"
"""Code of a gang that was not observed."""
NOT_OBSERVED_TITLE = "Not observed"


def face_of(health: str) -> Face:
    """Return the face of a health. A health of a newer release is shown as unknown."""
    try:
        return _FACES[Health(health)]
    except ValueError:
        return Face(health, health.capitalize(), "?", Health.UNKNOWN.value)


def past_sentence(health: str) -> str:
    """Return `It was running.` for a health, or an empty text for an empty or unknown one."""
    if health in ("", Health.UNKNOWN):
        return ""
    try:
        return _PAST.get(Health(health), f"It was {health}.")
    except ValueError:
        return f"It was {health}."


def past_face(face: Face) -> Face:
    """Return the face of a last state, in grey: `Was running`."""
    label = face.label if face.word in _LASTING else f"Was {face.label.lower()}"
    return replace(face, label=label, tone=Health.UNKNOWN.value)


@cache
def _titles() -> dict[str, str]:
    return reasons.titles()


def known_codes() -> frozenset[str]:
    """Return the reason codes of this release."""
    return frozenset((*_titles(), NOT_OBSERVED))


def reason_title(code: str) -> str:
    """Return the title of a reason code. The title of an unknown code is made of its words."""
    if code == NOT_OBSERVED:
        return NOT_OBSERVED_TITLE
    return _titles().get(code) or printable(code).replace("-", " ").capitalize()


def job_face(job: JobState) -> Face:
    """Return the state of a Job, from its end, its Hold, its finding or its pods, in this order."""
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
