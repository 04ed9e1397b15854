"""The five steps of a gang and where it is in them."""

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
    """The step where the gang is."""
    note: str

    @property
    def state_label(self) -> str:
        """The state in words, for who cannot see the line."""
        return {"done": "done", "here": "now", "ahead": "not yet", "unknown": "not known"}[
            self.state
        ]


def make_steps(row: GangRow) -> tuple[StageStep, ...]:
    """Return the five steps: passed, where it is, ahead; all unknown when we could not look."""
    position = {stage.value: stage.position for stage in Stage}.get(row.stage, 0)
    blind = row.health == Health.UNKNOWN
    over = row.health in (Health.RUNNING, Health.SUCCEEDED)
    notes = _notes(row)
    steps = []
    for stage in Stage:
        step = StageStep(stage.value, STAGE_LABELS[stage], "ahead", None, notes.get(stage, ""))
        if blind:
            step = replace(step, state="unknown", note="")
        elif stage.position < position or (over and stage.position == position):
            step = replace(step, state="done")
        elif stage.position == position:
            step = replace(step, state="here", face=row.face)
        steps.append(step if step.state != "ahead" else replace(step, note=""))
    return tuple(steps)


def _notes(row: GangRow) -> dict[Stage, str]:
    """Return the numbers under the steps."""
    members = row.members
    wanted = members.desired - members.held
    return {
        Stage.ADMISSION: f"queue {row.queue}" if row.queue else "",
        Stage.FORMATION: f"{members.created} of {wanted} pods",
        Stage.PLACEMENT: f"{members.scheduled} of {wanted}",
        Stage.START: f"{members.ready + members.succeeded} of {wanted} ready",
        Stage.RUN: _run_note(row),
    }


def _run_note(row: GangRow) -> str:
    """Return `3 of 5, 2 held` where some Jobs are held and all others run, else the title."""
    members = row.members
    if row.stage != Stage.RUN or not members.held:
        return row.title
    return f"{members.ready + members.succeeded} of {members.desired}, {members.held} held"
