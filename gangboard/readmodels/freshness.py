"""How long ago each cluster answered, and what that means for everything said about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gangboard.domain import cluster_reach
from gangboard.readmodels.ages import age_text
from gangboard.readmodels.cluster_reach import problem_sentence
from gangboard.readmodels.state_labels import past_sentence
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster
from gangboard.store.outages import SILENT_AFTER

STALE_AFTER = timedelta(seconds=30)
"""Without contact for this long what we say is marked; the health is kept."""


class Level(StrEnum):
    """How fresh what we know of a cluster is."""

    LIVE = "live"
    STALE = "stale"
    SILENT = "silent"
    NEVER = "never"
    """It has not answered once."""


_TONES = {
    Level.LIVE: "running",
    Level.STALE: "degraded",
    Level.SILENT: "blocked",
    Level.NEVER: "unknown",
}
_ICONS = {Level.LIVE: "●", Level.STALE: "▲", Level.SILENT: "■", Level.NEVER: "?"}
_LABELS = {
    Level.LIVE: "live",
    Level.STALE: "stale",
    Level.SILENT: "silent",
    Level.NEVER: "never answered",
}


@dataclass(frozen=True, slots=True)
class Freshness:
    """One cluster in the bar on top of every page."""

    cluster_id: int
    cluster: str
    level: Level
    contact_at: datetime | None
    problem: str
    """Code of the error that keeps us from looking at all, or empty."""
    sentence: str
    """That error in words; empty for who may not read cluster-wide texts."""
    data_version: int
    listed: bool
    """Whether all that it serves has been read once: until then gangs may be missing."""
    context: str = ""
    """Its kubeconfig context, for commands to copy. Empty if unknown."""

    @property
    def is_silent(self) -> bool:
        """Whether everything in the cluster counts as unknown."""
        return self.level in (Level.SILENT, Level.NEVER)

    @property
    def was_read(self) -> bool:
        """Whether everything in the cluster was read once. Until then no number of it is a zero."""
        return self.listed and self.level is not Level.NEVER

    @property
    def why_closed(self) -> str:
        """Why nothing can be asked for in the cluster now; empty while it answers."""
        if not self.is_silent:
            return ""
        return cluster_reach.silence_sentence(self.cluster, self.contact_at, self.problem)

    @property
    def has_not(self) -> str:
        """`has not answered`, or read by nobody."""
        return cluster_reach.silent_since_text(self.problem)

    @property
    def has_not_once(self) -> str:
        """`has never answered`, or was read by nobody yet."""
        return cluster_reach.always_silent_text(self.problem)

    @property
    def does_not(self) -> str:
        """`does not answer`, or is read by nobody."""
        return cluster_reach.silent_text(self.problem)

    @property
    def is_stale(self) -> bool:
        """Whether what is said of the cluster may be out of date."""
        return self.level is not Level.LIVE

    @property
    def label(self) -> str:
        """The word beside its name."""
        if self.level is Level.NEVER and not self.problem:
            return "not read yet"
        return _LABELS[self.level]

    @property
    def icon(self) -> str:
        """The sign beside its name."""
        return _ICONS[self.level]

    @property
    def tone(self) -> str:
        """The pair of colours of its sign."""
        return _TONES[self.level]

    @property
    def aged_from(self) -> datetime | None:
        """From when its age is counted beside its name; None when there is no need to say it."""
        return self.contact_at if self.level in (Level.STALE, Level.SILENT) else None

    @property
    def shown(self) -> tuple[object, ...]:
        """All that a page prints of it besides what a clock changes."""
        return (self.cluster, self.level, self.aged_from, self.problem, self.sentence)


def level_of(contact_at: datetime | None, now: datetime) -> Level:
    """Return how fresh a cluster is that answered last at `contact_at`."""
    if contact_at is None:
        return Level.NEVER
    age = now - contact_at
    if age > SILENT_AFTER:
        return Level.SILENT
    return Level.STALE if age > STALE_AFTER else Level.LIVE


def read_freshness(*, viewer: Viewer, now: datetime) -> dict[int, Freshness]:
    """Return the clusters of which the viewer may see something, by id, ordered by name (1 query; see `problem_sentence`)."""
    rows = Cluster.objects.filter(viewer.cluster_filter()).values_list(
        "id", "name", "contact_at", "problem", "sentence", "data_version", "listed_at", "context"
    )
    return {
        id_: Freshness(
            cluster_id=id_,
            cluster=name,
            level=level_of(contact_at, now),
            contact_at=contact_at,
            problem=problem,
            sentence=problem_sentence(id_, sentence, viewer=viewer),
            data_version=data_version,
            listed=listed_at is not None,
            context=context,
        )
        for id_, name, contact_at, problem, sentence, data_version, listed_at, context in rows
    }


def knows_zero(clusters: Iterable[Freshness]) -> bool:
    """Return whether a sum over the clusters can be zero. It is unknown if none of them was read yet."""
    read = [cluster.was_read for cluster in clusters]
    return any(read) or not read


def silent_ids(clusters: Mapping[int, Freshness]) -> tuple[int, ...]:
    """Return the clusters whose gangs all count as unknown."""
    return tuple(id_ for id_, cluster in clusters.items() if cluster.is_silent)


def silence_parts(cluster: Freshness, last_health: str) -> tuple[str, datetime | None, str]:
    """Return the sentence about a gang of a silent cluster: before its age, since when, after it."""
    past = past_sentence(last_health)
    if cluster.contact_at is None:
        return (f"Cluster {cluster.cluster} {cluster.has_not_once}. {past}".strip(), None, "")
    return (
        f"Cluster {cluster.cluster} {cluster.has_not} for ",
        cluster.contact_at,
        f". {past}".rstrip(),
    )


def joined(parts: tuple[str, datetime | None, str], now: datetime) -> str:
    """Return a sentence whose middle is an age."""
    before, since, after = parts
    return before + (age_text(since, now) if since is not None else "") + after
