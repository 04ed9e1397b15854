"""The five stages of a gang as steps, with its current position."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gangboard.domain.health import Health, Stage
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.state_labels import STAGE_LABELS, Face


@dataclass(frozen=True, slots=True)
class StageStep:
    """One of the five steps of a gang."""

    stage: str
    label: str
    state: str
    """done, here, ahead or unknown."""
    face: Face | None
    """The state of the gang, only for its current step."""
    note: str

    @property
    def state_label(self) -> str:
        """The state in words, for screen readers."""
        return {"done": "done", "here": "now", "ahead": "not yet", "unknown": "not known"}[
            self.state
        ]


def make_steps(row: GangRow) -> tuple[StageStep, ...]:
    """Return the five steps: done, current or ahead. All are unknown if the health is unknown."""
    position = {stage.value: stage.position for stage in Stage}.get(row.stage, 0)
    is_unknown = row.health == Health.UNKNOWN
    has_arrived = row.health in (Health.RUNNING, Health.SUCCEEDED)
    notes = _notes(row)
    steps = []
    for stage in Stage:
        step = StageStep(stage.value, STAGE_LABELS[stage], "ahead", None, notes.get(stage, ""))
        if is_unknown:
            step = replace(step, state="unknown", note="")
        elif stage.position < position or (has_arrived and stage.position == position):
            step = replace(step, state="done")
        elif stage.position == position:
            step = replace(step, state="here", face=row.face)
        steps.append(step if step.state != "ahead" else replace(step, note=""))
    return tuple(steps)


def _notes(row: GangRow) -> dict[Stage, str]:
    """Return the note below each step."""
    members = row.members
    expected = members.desired - members.held
    return {
        Stage.ADMISSION: f"queue {row.queue}" if row.queue else "",
        Stage.FORMATION: f"{members.created} of {expected} pods",
        Stage.PLACEMENT: f"{members.scheduled} of {expected}",
        Stage.START: f"{members.ready + members.succeeded} of {expected} ready",
        Stage.RUN: _run_note(row),
    }


def _run_note(row: GangRow) -> str:
    """Return the title, or `3 of 5, 2 held` if some Jobs are held and all others run."""
    members = row.members
    if row.stage != Stage.RUN or not members.held:
        return row.title
    return f"{members.ready + members.succeeded} of {members.desired}, {members.held} held"
