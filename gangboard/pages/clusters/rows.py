"""Rows of a cluster, with each field declared once for its pages and for `clusters/`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.api_resource import WatchState
from gangboard.pages.clusters.lever_board import LeverBoard, LeverRow
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.freshness import Freshness, Level, ReachStep
from gangboard.readmodels.outages import OutageRow
from gangboard.readmodels.state_labels import Face

_WITHOUT_FAULT = frozenset(
    {WatchState.OK, WatchState.LISTING, WatchState.NOT_SERVED, WatchState.NOT_NEEDED}
)


@dataclass(frozen=True, slots=True)
class ObjectProblem:
    """An object that was read and not understood."""

    namespace: str = shown("Namespace")
    name: str = shown("Name")
    sentence: str = shown("Message")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRow:
    """How one resource of a cluster can be seen."""

    resource: str = shown("Resource", "As RBAC names it: `jobs.batch`.")
    version: str = shown("Version", empty_is_null=True)
    state: str = shown(
        "State",
        "ok, listing, not-served, not-needed, forbidden, failing, unknown-version or undecodable.",
    )
    face: Face
    sentence: str = shown("Meaning")
    needed: bool = shown("Needed", "No verdict is possible without it.")
    stored_objects: int | None
    """Number of stored objects at the last successful read, or None if the viewer may not know it."""

    @shown_property("Objects", "Objects read; null when they cannot be counted.")
    def objects(self) -> int | None:
        """Return the number of objects, or None if they cannot be counted now."""
        return self.stored_objects if self.state == WatchState.OK else None

    listed_at: datetime | None = shown("Listed")
    contact_at: datetime | None = shown("Last answer")
    problems: tuple[ObjectProblem, ...] = shown("Problems", "The first objects not understood.")
    problems_count: int = shown("Number of problems")

    @property
    def problems_more(self) -> int:
        """The number of undecodable objects that `problems` does not name."""
        return max(0, self.problems_count - len(self.problems))

    @property
    def is_fault(self) -> bool:
        """Whether it needs a person's attention."""
        return self.state not in _WITHOUT_FAULT or self.problems_count > 0


@dataclass(frozen=True, slots=True)
class Expiry:
    """The expiry of credentials of a cluster."""

    expires_at: datetime
    sentence: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """A cluster: whether and how well it can be seen."""

    name: str = shown("Cluster")
    freshness: Freshness
    server: str = shown(
        "API server", "Null without a role on the whole cluster.", empty_is_null=True
    )
    server_version: str = shown("Kubernetes", empty_is_null=True)
    reachable: bool = shown("Reachable")
    """True if it answered recently and has no `problem`."""

    @shown_property("Freshness", "live, stale, silent or never.", api_name="freshness")
    def level(self) -> str:
        """Return how fresh it is."""
        return self.freshness.level

    @shown_property("Stale")
    def stale(self) -> bool:
        """Return whether its data may be out of date."""
        return self.freshness.is_stale

    @shown_property("State", "One sentence about it.", api_name="message")
    def headline(self) -> str:
        """Return one sentence about the cluster, without ages."""
        if self.freshness.level is Level.NEVER:
            return self.sentence or f"It {self.freshness.has_not_once}."
        if self.sentence:
            return self.sentence
        if self.freshness.is_silent:
            return f"It {self.freshness.does_not}: all of its gangs count as unknown."
        if self.freshness.is_stale:
            return f"It {self.freshness.has_not} lately: the data may be outdated."
        if self.listed_at is None:
            return "It is being read for the first time, so objects may be missing."
        faults = [row.resource for row in self.resources if row.is_fault]
        if faults:
            return f"It answers, but these resources cannot be read: {', '.join(faults)}."
        return "It answers, and all its resources can be read."

    @shown_property(
        "Problem",
        "Error code if the cluster cannot be read, such as unreachable, timeout, tls, unauthorized, "
        "forbidden, credentials; same-cluster: it is watched under another name already; other-cluster: "
        "another cluster answers at its address; forbidden-address: GANGBOARD_CLUSTER_NETWORKS does not allow "
        "its address.",
        empty_is_null=True,
    )
    def problem(self) -> str:
        """Return the code of the error; empty without one."""
        return self.freshness.problem

    problem_since: datetime | None = shown("Problem since")

    @shown_property("Contact", "Last valid answer.")
    def contact_at(self) -> datetime | None:
        """Return the time of the last answer."""
        return self.freshness.contact_at

    listed_at: datetime | None = shown(
        "Fully read", "Null until everything was read once. Until then objects may be missing."
    )
    discovered_at: datetime | None = shown("Discovered")
    answer_ms: int | None = shown(
        "Answers in",
        "How long the API server took for the last small request, in milliseconds. Null while it does not "
        "answer, in the first minute, and without a role on the whole cluster.",
    )
    events_a_minute: int | None = shown(
        "Events", "Watch events of the last minute. Null as for `answer_ms`."
    )
    accelerator_use: str = shown(
        "Accelerator use",
        "Whether its Prometheus can be read. Null without one, and without a role on the whole cluster.",
        empty_is_null=True,
    )
    expiry: Expiry | None
    actor_expiry: Expiry | None
    """The expiry of the actor's credentials."""

    @shown_property("Credentials end")
    def credentials_expire_at(self) -> datetime | None:
        """Return when the credentials expire, or None if that is unknown."""
        return self.expiry.expires_at if self.expiry is not None else None

    @shown_property("Credentials of the actor end")
    def actor_credentials_expire_at(self) -> datetime | None:
        """Return when the actor's credentials expire, or None if that is unknown."""
        return self.actor_expiry.expires_at if self.actor_expiry is not None else None

    levers: LeverBoard

    @shown_property("Levers", api_name="levers")
    def lever_rows(self) -> tuple[LeverRow, ...]:
        """Return the levers."""
        return self.levers.rows

    @shown_property(
        "Closed", "Why gangboard may not change it. Null if it may.", empty_is_null=True
    )
    def levers_closed(self) -> str:
        """Return why no lever may be used, or an empty string."""
        return self.levers.sentence

    step: ReachStep | None
    """The step that makes it readable, or None for readable clusters and viewers of only a part of it."""

    @shown_property(
        "Next command",
        "The command that makes the cluster readable, or else the next lever ready.",
        empty_is_null=True,
    )
    def next_command(self) -> str:
        """Return the command of the next step, or an empty string."""
        return self.step.command if self.step is not None else self.levers.command

    gangs: int | None = shown(
        "Gangs",
        "Gangs of it that the caller may see; null: none was seen, and not all could be read.",
    )

    @shown_property("Served", api_name="served")
    def served_names(self) -> tuple[str, ...]:
        """Return the names of the resources that it serves or may serve."""
        return tuple(row.resource for row in self.resources if row.state != WatchState.NOT_SERVED)

    @shown_property("Not served", api_name="not_served")
    def not_served_names(self) -> tuple[str, ...]:
        """Return the names of the resources that it does not serve."""
        return tuple(row.resource for row in self.not_served)

    @shown_property("Forbidden")
    def forbidden(self) -> tuple[str, ...]:
        """Return the names of the resources that the reader may not read."""
        return tuple(row.resource for row in self.resources if row.state == WatchState.FORBIDDEN)

    resources: tuple[ResourceRow, ...] = shown("Resources")
    outages: tuple[OutageRow, ...] = shown("Outages", "The last 10, newest first.", default=())
    holder: str
    """The worker that polls it now, or empty."""
    claims: tuple[str, ...] | None = None
    """Owners that claim independent Jobs, as `namespace/name`. Lists do not read them and have None."""

    @property
    def sentence(self) -> str:
        """The error in words. Empty without an error, and for viewers of only a part of the cluster."""
        return self.freshness.sentence

    @property
    def faults(self) -> tuple[ResourceRow, ...]:
        """The resources that need attention. The headline covers a failure of all of them."""
        return tuple(
            row
            for row in self.resources
            if row.is_fault and not (row.state == WatchState.FAILING and self.problem)
        )

    @property
    def served(self) -> tuple[ResourceRow, ...]:
        """The resources that it serves or may serve, those with a fault first."""
        rows = (row for row in self.resources if row.state != WatchState.NOT_SERVED)
        return tuple(sorted(rows, key=lambda row: not row.is_fault))

    @property
    def not_served(self) -> tuple[ResourceRow, ...]:
        """The resources that it does not serve."""
        return tuple(row for row in self.resources if row.state == WatchState.NOT_SERVED)

    @property
    def objects(self) -> int | None:
        """The number of stored objects at the last successful reads, or None before the first answer."""
        if self.freshness.level is Level.NEVER:
            return None
        return sum(row.stored_objects or 0 for row in self.resources)

    @property
    def printed_fields(self) -> tuple[object, ...]:
        """The fields that its card prints, without ages."""
        return (
            self.freshness.shown,
            self.headline,
            self.problem_since,
            self.server,
            self.server_version,
            self.listed_at,
            without_contact(self.faults),
            self.objects,
            self.expiry and self.expiry.tone,
            self.actor_expiry and self.actor_expiry.tone,
            self.levers,
            self.step,
            self.claims,
            self.holder,
            self.gangs,
        )


def without_contact(rows: Iterable[ResourceRow]) -> tuple[ResourceRow, ...]:
    """Return the rows without the time of their last answer. Each poll changes it, and no page prints it."""
    return tuple(replace(row, contact_at=None) for row in rows)


@dataclass(frozen=True, slots=True)
class Slots:
    """A shortage of poll slots: fewer slots than clusters."""

    clusters: int
    slots: int

    @property
    def sentence(self) -> str:
        """The problem and the remedy."""
        slots = "1 slot" if self.slots == 1 else f"{self.slots} slots"
        return f"{self.clusters} clusters share {slots} of poll workers, so they are read in turns and changes appear late. Start another poll worker or raise GANGBOARD_POLL_SLOTS."
