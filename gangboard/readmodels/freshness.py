"""Freshness of clusters: when each answered last, and the next step for one that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gangboard.domain import cluster_reach
from gangboard.domain.cluster_reach import first_name, without_first_name
from gangboard.domain.shell import command, command_line
from gangboard.readmodels.formatting import age_text, printable
from gangboard.readmodels.state_labels import past_sentence
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster
from gangboard.store.observations import SILENT_AFTER

STALE_AFTER = timedelta(seconds=30)
"""Time without contact after which data is marked as stale. The health is still shown."""


class Level(StrEnum):
    """Freshness of the data of a cluster."""

    LIVE = "live"
    STALE = "stale"
    SILENT = "silent"
    NEVER = "never"
    """The cluster has never answered."""


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
    """Code of the error that prevents any read, or empty."""
    sentence: str
    """The error in words. Empty for viewers who may not read cluster-wide texts."""
    data_version: int
    listed: bool
    """Whether all its resources were listed once. Until then, gangs may be missing."""
    context: str = ""
    """Its kubeconfig context, for commands to copy. Empty if unknown."""

    @property
    def is_silent(self) -> bool:
        """Whether everything in the cluster counts as unknown."""
        return self.level in (Level.SILENT, Level.NEVER)

    @property
    def was_read(self) -> bool:
        """Whether all of the cluster was read once. Until then, an empty count is not zero but unknown."""
        return self.listed and self.level is not Level.NEVER

    @property
    def why_closed(self) -> str:
        """Why no action is possible in the cluster. Empty while it answers."""
        if not self.is_silent:
            return ""
        return cluster_reach.silence_sentence(self.cluster, self.contact_at, self.problem)

    @property
    def has_not(self) -> str:
        """`has not answered`, or the words for a cluster that no worker reads."""
        return cluster_reach.silent_since_text(self.problem)

    @property
    def has_not_once(self) -> str:
        """`has never answered`, or the words for a cluster that no worker has read yet."""
        return cluster_reach.always_silent_text(self.problem)

    @property
    def does_not(self) -> str:
        """`does not answer`, or the words for a cluster that no worker reads."""
        return cluster_reach.silent_text(self.problem)

    @property
    def is_stale(self) -> bool:
        """Whether the data of the cluster may be out of date."""
        return self.level is not Level.LIVE

    @property
    def label(self) -> str:
        """The word beside its name."""
        if self.level is Level.NEVER and not self.problem:
            return "not read yet"
        return _LABELS[self.level]

    @property
    def icon(self) -> str:
        """The icon beside its name."""
        return _ICONS[self.level]

    @property
    def tone(self) -> str:
        """The colour tone of its icon."""
        return _TONES[self.level]

    @property
    def aged_from(self) -> datetime | None:
        """The start of the age beside its name. None if the page shows no age."""
        return self.contact_at if self.level in (Level.STALE, Level.SILENT) else None

    @property
    def shown(self) -> tuple[object, ...]:
        """The printed values without ages."""
        return (self.cluster, self.level, self.aged_from, self.problem, self.sentence)


def level_of(contact_at: datetime | None, now: datetime) -> Level:
    """Return the freshness of a cluster that answered last at `contact_at`."""
    if contact_at is None:
        return Level.NEVER
    age = now - contact_at
    if age > SILENT_AFTER:
        return Level.SILENT
    return Level.STALE if age > STALE_AFTER else Level.LIVE


def read_freshness(*, viewer: Viewer, now: datetime) -> dict[int, Freshness]:
    """Return the visible clusters by id, ordered by name (1 query, see `problem_sentence`)."""
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
    """Return whether an empty sum over the clusters means zero. It is unknown until one of them was read."""
    read = [cluster.was_read for cluster in clusters]
    return any(read) or not read


def silent_ids(clusters: Mapping[int, Freshness]) -> tuple[int, ...]:
    """Return the ids of the clusters whose gangs all count as unknown."""
    return tuple(id_ for id_, cluster in clusters.items() if cluster.is_silent)


def silence_parts(cluster: Freshness, last_health: str) -> tuple[str, datetime | None, str]:
    """Return the sentence about a gang of a silent cluster: the text before the age, its start, and the text after."""
    past = past_sentence(last_health)
    if cluster.contact_at is None:
        return (f"Cluster {cluster.cluster} {cluster.has_not_once}. {past}".strip(), None, "")
    return (
        f"Cluster {cluster.cluster} {cluster.has_not} for ",
        cluster.contact_at,
        f". {past}".rstrip(),
    )


def joined(sentence_parts: tuple[str, datetime | None, str], now: datetime) -> str:
    """Return a sentence from its text before the age, the start of the age, and the text after."""
    before, since, after = sentence_parts
    return before + (age_text(since, now) if since is not None else "") + after


_RENEW = "manage.py add_cluster {} --kubeconfig FILE"
_REMOVE = "manage.py remove_cluster {}"
_RIGHTS = "manage.py print_rbac --cluster {}"
_ADDRESS = (
    "Check that the address is right and that gangboard can reach it. Then add the cluster again with its "
    "kubeconfig:"
)
STEPS: Mapping[str, tuple[str, str]] = {
    "unreachable": (_ADDRESS, _RENEW),
    "timeout": (_ADDRESS, _RENEW),
    "redirected": (_ADDRESS, _RENEW),
    "not-json": (_ADDRESS, _RENEW),
    "tls": (
        "Add it again with a kubeconfig that has the CA of this server (certificate-authority-data):",
        _RENEW,
    ),
    "unauthorized": ("Add it again with a kubeconfig that has a new token:", _RENEW),
    "credentials": ("Add it again with a kubeconfig that works:", _RENEW),
    "forbidden": (
        "Give the account the rights of the reader. This command prints them:",
        _RIGHTS,
    ),
    "same-cluster": ("Remove the second name:", _REMOVE),
    "other-cluster": (
        "Add it again with the kubeconfig of the original cluster. If the cluster was rebuilt on purpose, "
        "first remove it from gangboard. Then run:",
        _RENEW,
    ),
}
"""Code of the stored problem (`KubeErrorCode`) → the sentence of the step, and the template of its command."""


@dataclass(frozen=True, slots=True)
class ReachStep:
    """The next step for a cluster that cannot be read."""

    text: str
    command: str


def problem_sentence(cluster_id: int, sentence: str, *, viewer: Viewer) -> str:
    """Return why a cluster cannot be read. Empty for viewers who may not read cluster-wide texts.

    A sentence that names another cluster takes 1 query if the viewer does not see all clusters.
    """
    if not viewer.sees_cluster(cluster_id):
        return ""
    visible, other_name = viewer.cluster_filter(), first_name(sentence)
    if other_name and visible and not Cluster.objects.filter(visible, name=other_name).exists():
        sentence = without_first_name(sentence)
    return printable(sentence)


def reach_step(cluster: str, problem: str) -> ReachStep | None:
    """Return the step for a problem, or None for a problem that ends by itself."""
    step = STEPS.get(problem)
    if step is None:
        return None
    text, template = step
    return ReachStep(text, command_line(command(template, cluster)))
