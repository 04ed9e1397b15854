"""Rows of a check: one for each gang of the manifests and each cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gangboard.domain.check import CheckVerdict
from gangboard.readmodels.advice import AdviceStepRow
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.fit import FitShape


@dataclass(frozen=True, slots=True)
class ForecastFace:
    """The badge of a forecast: label, icon, tone."""

    label: str
    icon: str
    tone: str


_FACES: Mapping[CheckVerdict, ForecastFace] = {
    CheckVerdict.WOULD_RUN: ForecastFace("would run now", "●", "running"),
    CheckVerdict.WOULD_WAIT: ForecastFace("would wait", "◷", "waiting"),
    CheckVerdict.UNKNOWN: ForecastFace("unknown", "?", "unknown"),
    CheckVerdict.WOULD_BLOCK: ForecastFace("would be blocked", "■", "blocked"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedBeforeRow:
    """A gang before this one in its queue."""

    json_name: ClassVar[str] = "QueuedBefore"

    kind: str = shown("Kind")
    namespace: str | None = shown("Namespace", "Null for a gang that the caller may not see.")
    name: str | None = shown("Name", "Null for a gang that the caller may not see.")

    @property
    def text(self) -> str:
        """Kind and name, or words for a hidden gang."""
        if self.name is None:
            return "a gang you may not see"
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypicalWaitRow:
    """The typical wait of similar gangs: same cluster, queue, request and size."""

    json_name: ClassVar[str] = "TypicalWait"

    seconds: int = shown("Seconds", "Median time from creation to the first run.")
    text: str = shown("Wait")
    gangs: int = shown("Gangs", "Number of gangs with a known wait.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFaultRow:
    """A fault for which the API server, a webhook or a controller would refuse the object."""

    json_name: ClassVar[str] = "ManifestFault"

    field: str = shown("Field", "Such as `spec.replicatedJobs[0].name`.")
    sentence: str = shown("Fault", "With the limit and the value.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """The forecast about one gang in one cluster."""

    json_name: ClassVar[str] = "Check"

    document: int = shown("Document", "Number of the YAML document of the gang, from 1.")
    api_group: str = shown("API group", "Empty for the core group.")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")
    cluster: str = shown("Cluster")
    verdict: str = shown(
        "Forecast",
        "`admitted-and-placed`: its queue admits it and its pods fit now.",
        choices=CheckVerdict,
    )
    code: str = shown("Code", "Reason code, as for gangs that exist.")
    title: str = shown("Title")
    message: str = shown("Why", "One sentence.")
    behind: tuple[QueuedBeforeRow, ...] = shown(
        "Behind", "Gangs before it in its queue, the first in line first."
    )
    typical_wait: TypicalWaitRow | None = shown(
        "Typical wait", "Null without enough similar gangs, and for a gang that would run now."
    )
    advice: tuple[AdviceStepRow, ...] = shown(
        "Advice", "Steps that would help, the least harm first."
    )
    faults: tuple[ManifestFaultRow, ...] = shown("Faults")
    fit: tuple[FitShape, ...] = shown("Fit", "Where its waiting pods could go.")
    notes: tuple[str, ...] = shown("Notes", "Assumptions of the check.")

    @property
    def gang(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}".strip()

    @property
    def face(self) -> ForecastFace:
        """The badge of the forecast."""
        return _FACES[CheckVerdict(self.verdict)]

    @property
    def further_faults(self) -> tuple[ManifestFaultRow, ...]:
        """The faults that `message` does not have."""
        return self.faults[1:]

    @property
    def harmless_advice(self) -> tuple[AdviceStepRow, ...]:
        """Steps that stop no gang that runs whole."""
        return tuple(step for step in self.advice if not step.stops_whole_gangs)

    @property
    def harmful_advice(self) -> tuple[AdviceStepRow, ...]:
        """Steps that stop other gangs that run whole. The page folds them."""
        return tuple(step for step in self.advice if step.stops_whole_gangs)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """A check: the forecasts about each gang of the manifests, the best cluster first."""

    json_name: ClassVar[str] = "CheckResult"

    id: str = shown("Id", "Id of the check. Its page is `/check/{id}/` for 10 minutes.")
    complete: bool = shown(
        "Complete",
        "False if a cluster has not answered in time. Its rows are `unknown`.",
    )
    created_at: datetime = shown("Checked", "When the check began.")
    results: tuple[CheckRow, ...] = shown(
        "Results", "One for each gang and cluster, by gang, the best cluster first."
    )
    notes: tuple[str, ...] = shown("Notes", "About documents that are not checked.")
    answered: int = 0
    """Number of clusters that have answered."""

    @property
    def gangs(self) -> tuple[CheckedGangRows, ...]:
        """The rows of each gang."""
        gangs: dict[tuple[int, str, str, str], list[CheckRow]] = {}
        for row in self.results:
            gangs.setdefault((row.document, row.kind, row.namespace, row.name), []).append(row)
        return tuple(CheckedGangRows(rows[0], tuple(rows)) for rows in gangs.values())


@dataclass(frozen=True, slots=True)
class CheckedGangRows:
    """One gang of the manifests, with its forecast in each cluster."""

    best: CheckRow
    rows: tuple[CheckRow, ...]

    @property
    def title(self) -> str:
        """Kind and name, or words for a text that no cluster has read yet."""
        return self.best.gang or "All manifests"

    @property
    def place(self) -> str:
        """Its namespace and the number of its document. Empty if unknown."""
        row = self.best
        return f"namespace {row.namespace}, document {row.document}" if row.kind else ""

    @property
    def anchor(self) -> str:
        """Id of its heading, unique on the page."""
        row = self.best
        return f"check-{row.document}-{row.kind}-{row.namespace}-{row.name}".lower()
