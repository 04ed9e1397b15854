"""Rows of accelerator time, on the page, in the API and in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType
from typing import ClassVar

from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.state_labels import reason_title

_HOUR = 3600.0

GROUPINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "namespace": ("namespace",),
        "queue": ("queue",),
        "submitter": ("submitter",),
        "reason": ("stage", "code"),
        "cluster": ("cluster",),
        "week": ("week",),
        "day": ("day",),
    }
)
"""What time can be summed by → the fields of a row that differ then."""
GROUPING_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "namespace": "Namespace",
        "queue": "Queue",
        "submitter": "Submitter",
        "reason": "Reason",
        "cluster": "Cluster",
        "week": "Week",
        "day": "Day",
    }
)


@dataclass(frozen=True, slots=True)
class Hours:
    """Accelerator-hours by what the accelerators were for."""

    json_name: ClassVar = "UsageHours"
    used: float = shown("Used", "On nodes, by gangs that ran whole or had run whole.")
    held: float = shown("Held", "On nodes, by gangs that were not whole yet.")
    eligible: float = shown(
        "Waited, eligible",
        "Requested and not on nodes, while nothing held the gang back on purpose.",
    )
    ineligible: float = shown(
        "Waited, ineligible",
        "Requested and not on nodes, while the gang was suspended, not admitted by its queue, gated, or waited for another part of itself.",
    )
    unobserved: float = shown(
        "Not observed",
        "Requested while gangboard could not tell what the gang did. These hours are in no other number.",
    )

    @property
    def total(self) -> float:
        """The sum of all amounts."""
        return self.used + self.held + self.eligible + self.ineligible + self.unobserved


NO_HOURS = Hours(0.0, 0.0, 0.0, 0.0, 0.0)


def hours_of(seconds: tuple[float, ...]) -> Hours:
    """Return accelerator-seconds, in the order of the fields, as hours."""
    return Hours(*(round(amount / _HOUR, 3) for amount in seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """The accelerator-hours of one group. Fields that are not grouped by are null."""

    json_name: ClassVar = "UsageEntry"
    week: date | None = shown(
        "Week", "Monday of the week (UTC). Null: not grouped by.", default=None
    )
    day: date | None = shown("Day", "Day (UTC). Null: not grouped by.", default=None)
    cluster: str | None = shown("Cluster", "Null: not grouped by.", default=None)
    namespace: str | None = shown("Namespace", "Null: not grouped by.", default=None)
    queue: str | None = shown(
        "Queue", "Empty: the gangs name no queue. Null: not grouped by.", default=None
    )
    submitter: str | None = shown(
        "Submitter", "Empty: unknown. Null: not grouped by.", default=None
    )
    stage: str | None = shown("Stage", "Null: not grouped by reason.", default=None)
    code: str | None = shown("Code", "Reason code. Null: not grouped by reason.", default=None)
    hours: Hours = shown("Accelerator-hours")

    @property
    def keys(self) -> tuple[str, ...]:
        """The texts of the fields that the row is grouped by, in the order of the columns."""
        return tuple(
            text
            for text in (
                *(str(value) if value else None for value in (self.week, self.day)),
                self.cluster,
                self.namespace,
                None if self.queue is None else self.queue or "no queue",
                None if self.submitter is None else self.submitter or "unknown",
                None if self.code is None else reason_title(self.code),
            )
            if text is not None
        )

    # The columns of a file

    @property
    def used_hours(self) -> float:
        """Accelerator-hours used."""
        return self.hours.used

    @property
    def held_hours(self) -> float:
        """Accelerator-hours held by incomplete gangs."""
        return self.hours.held

    @property
    def waited_eligible_hours(self) -> float:
        """Accelerator-hours of eligible waiting."""
        return self.hours.eligible

    @property
    def waited_ineligible_hours(self) -> float:
        """Accelerator-hours of ineligible waiting."""
        return self.hours.ineligible

    @property
    def not_observed_hours(self) -> float:
        """Accelerator-hours that were not observed."""
        return self.hours.unobserved


FILE_COLUMNS = (
    *("week", "day", "cluster", "namespace", "queue", "submitter", "stage", "code"),
    *("used_hours", "held_hours", "waited_eligible_hours", "waited_ineligible_hours"),
    "not_observed_hours",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRow:
    """A time of the period in which the accelerator time of a cluster is not known."""

    json_name: ClassVar = "UsageGap"
    cluster: str = shown("Cluster")
    began_at: datetime = shown("From")
    ended_at: datetime | None = shown("To", "Null if it lasts.", empty="now")
    reason: str = shown(
        "Why",
        "`not-recorded`: gangboard did not record it yet. `outage`: the cluster or gangboard did not answer. `deleted`: older than GANGBOARD_USAGE_DAYS.",
        choices=("not-recorded", "outage", "deleted"),
    )

    @property
    def text(self) -> str:
        """The reason in words."""
        return _GAP_TEXTS[self.reason]


_GAP_TEXTS = {
    "not-recorded": "not recorded yet",
    "outage": "not read: the cluster or gangboard did not answer",
    "deleted": "deleted: older than GANGBOARD_USAGE_DAYS",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """How much of the period is known of one cluster."""

    json_name: ClassVar = "UsageCoverage"
    cluster: str = shown("Cluster")
    observed_seconds: int = shown("Observed", "Seconds of the period in which it was observed.")
    period_seconds: int = shown("Period", "Seconds of the period up to now.")

    @property
    def percent(self) -> int:
        """The observed share, rounded down so that 100 means all."""
        return int(100 * self.observed_seconds / self.period_seconds) if self.period_seconds else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of a period is known."""

    coverage: tuple[CoverageRow, ...] = shown(
        "Coverage", "How much of the period is known of each selected cluster."
    )
    gaps: tuple[GapRow, ...] = shown("Gaps", "Times that are not known, the newest first.")

    @property
    def incomplete(self) -> tuple[CoverageRow, ...]:
        """The clusters that were not observed in the whole period."""
        gaps = {gap.cluster for gap in self.gaps}
        return tuple(row for row in self.coverage if row.cluster in gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorUsage:
    """The accelerator time of a period."""

    json_name: ClassVar = "UsageTotals"
    begin: date = shown("From", "First day (UTC).")
    end: date = shown("To", "Last day (UTC).")
    by: tuple[str, ...] = shown("Grouped by")
    rows: tuple[UsageRow, ...]
    """The largest first; with weeks or days, the newest first."""
    sums: Hours | None = shown(
        "Sums", "Over all rows. Null if no selected cluster was observed in the period."
    )
    known: Coverage = shown("Known", "How much of the period is known.")

    @shown_property("Complete", "Whether all selected clusters were observed in the whole period.")
    def complete(self) -> bool:
        """Return whether there is no gap."""
        return not self.known.gaps

    @property
    def labels(self) -> tuple[str, ...]:
        """The headings of the columns that rows are grouped by, as in `UsageRow.keys`."""
        return tuple(label for name, label in _COLUMN_ORDER if name in self.by)


_COLUMN_ORDER = tuple(
    (name, GROUPING_LABELS[name])
    for name in ("week", "day", "cluster", "namespace", "queue", "submitter", "reason")
)


def row_of(values: Mapping[str, object], hours: Hours) -> UsageRow:
    """Return the row of a group. `values` has its fields by name; names of clusters allow any text."""
    texts = {
        name: printable(value) if isinstance(value, str) else value
        for name, value in values.items()
    }
    return UsageRow(**texts, hours=hours)  # type: ignore[arg-type]  # by name
