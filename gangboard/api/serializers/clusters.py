"""The JSON of clusters and of the summary, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rest_framework import serializers

from gangboard.api.fields import PageSerializer, QuantityField, TimeField, WordField
from gangboard.api.serializers.unseen_clusters import UnseenClusterSerializer
from gangboard.domain.watch_state import WatchState
from gangboard.readmodels.clusters import ResourceRow
from gangboard.readmodels.summary import Tally


class ObjectProblemSerializer(serializers.Serializer[Any]):
    """An object that was read and not understood."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    sentence = serializers.CharField()


class ResourceSerializer(serializers.Serializer[Any]):
    """How one resource of a cluster can be seen."""

    resource = serializers.CharField(help_text="As RBAC names it: `jobs.batch`.")
    version = WordField()
    state = serializers.CharField(
        help_text="ok, listing, not-served, not-needed, forbidden, failing, unknown-version or undecodable."
    )
    sentence = serializers.CharField()
    needed = serializers.BooleanField(help_text="Without it no verdict can be given.")
    objects = serializers.IntegerField(
        allow_null=True, help_text="Objects read; null when they cannot be counted."
    )
    listed_at = TimeField(allow_null=True)
    contact_at = TimeField(allow_null=True)
    problems = ObjectProblemSerializer(many=True, help_text="The first objects not understood.")
    problems_count = serializers.IntegerField()


class ResourceNamesField(serializers.ListField):
    """Names of the resources whose state is as wanted."""

    child = serializers.CharField()

    def __init__(self, wanted: Callable[[str], bool], **options: Any) -> None:
        super().__init__(**{"source": "resources", **options})
        self._wanted = wanted

    def to_representation(self, value: Iterable[ResourceRow]) -> list[str]:
        """Return the names, in their order."""
        return [row.resource for row in value if self._wanted(row.state)]


class LeverSerializer(serializers.Serializer[Any]):
    """One way to stop something on this cluster, and whether it may be used now."""

    lever = serializers.CharField(help_text="A key of a lever, such as suspend or hold.")
    ready = serializers.BooleanField(help_text="A Hold is proved each time before it is used.")
    sentence = serializers.CharField()
    proved_at = TimeField(
        allow_null=True, help_text="Last proof that held; null for levers that need none."
    )
    refuted_at = TimeField(allow_null=True, help_text="Last proof that failed, if none held since.")


class OutageSerializer(serializers.Serializer[Any]):
    """A time in which nothing was seen of a cluster."""

    began_at = TimeField(help_text="Its last answer before.")
    ended_at = TimeField(allow_null=True, help_text="Null: it is silent now.")
    problem = WordField(help_text="Code of the error; null: no poll worker asked it.")
    title = serializers.CharField()
    message = serializers.CharField()


class ClusterSerializer(serializers.Serializer[Any]):
    """A cluster: whether and how well it can be seen."""

    name = serializers.CharField()
    server = WordField(help_text="Null without a role on the whole cluster.")
    server_version = WordField()
    reachable = serializers.BooleanField()
    freshness = serializers.CharField(
        source="freshness.level", help_text="live, stale, silent or never."
    )
    stale = serializers.BooleanField()
    message = serializers.CharField(source="headline", help_text="One sentence about it.")
    problem = WordField(
        help_text="Code of the error that keeps us from looking at all, such as unreachable, timeout, tls, "
        "unauthorized, forbidden, credentials; same-cluster: it is watched under another name already; "
        "other-cluster: another cluster answers at its address; forbidden-address: "
        "GANGBOARD_CLUSTER_NETWORKS does not allow its address."
    )
    problem_since = TimeField(allow_null=True)
    contact_at = TimeField(allow_null=True, help_text="Last answer as it should be.")
    listed_at = TimeField(
        allow_null=True, help_text="Null until everything was read once: absence means nothing."
    )
    discovered_at = TimeField(allow_null=True)
    answer_ms = serializers.IntegerField(
        allow_null=True,
        help_text="How long the API server took for the last small request, in milliseconds. Null while it does "
        "not answer, in the first minute, and without a role on the whole cluster.",
    )
    events_a_minute = serializers.IntegerField(
        allow_null=True,
        help_text="Changes that its watches told in the last minute. Null as for `answer_ms`.",
    )
    credentials_expire_at = TimeField(source="expiry.at", allow_null=True)
    actor_credentials_expire_at = TimeField(source="actor_expiry.at", allow_null=True)
    levers = LeverSerializer(source="levers.rows", many=True)
    levers_closed = WordField(
        source="levers.sentence", help_text="Why nothing may be sent to it; null when it may."
    )
    next_command = WordField(
        help_text="What would make it readable, else what would make the next lever ready."
    )
    gangs = serializers.IntegerField(
        allow_null=True,
        help_text="Gangs of it that the caller may see; null: none was seen, and not all could be read.",
    )
    served = ResourceNamesField(lambda state: state != WatchState.NOT_SERVED)
    not_served = ResourceNamesField(lambda state: state == WatchState.NOT_SERVED)
    forbidden = ResourceNamesField(lambda state: state == WatchState.FORBIDDEN)
    resources = ResourceSerializer(many=True)
    outages = OutageSerializer(many=True, help_text="The last 10, newest first.")


class ClusterListSerializer(PageSerializer):
    """All clusters."""

    results = ClusterSerializer(many=True)


class TallySerializer(serializers.Serializer[Any]):
    """How many gangs have something in common."""

    gangs = serializers.IntegerField(
        allow_null=True, help_text="Null: none was seen, and where they would be could not be read."
    )
    accelerators = QuantityField(allow_null=True)


class TalliesField(serializers.DictField):
    """Tallies by what their gangs have in common."""

    def to_representation(self, value: Iterable[Tally]) -> dict[str, Any]:
        """Return a read model's list of tallies as one object, in its order."""
        return {tally.key: self.child.to_representation(tally) for tally in value}


class SummarySerializer(serializers.Serializer[Any]):
    """Counts that add up: every gang is counted once in each of the three."""

    gangs = serializers.IntegerField(
        allow_null=True, help_text="Null: none was seen, and no cluster was read yet."
    )
    accelerators = QuantityField(allow_null=True)
    by_health = TalliesField(
        child=TallySerializer(), help_text="Every health; zeros where they are known."
    )
    by_code = TalliesField(child=TallySerializer())
    by_cluster = TalliesField(child=TallySerializer())
    observed_at = TimeField(
        allow_null=True,
        help_text="Oldest last contact of a cluster; null when one has never answered.",
    )
    stale = serializers.BooleanField()
    unseen = UnseenClusterSerializer(
        many=True, help_text="Clusters of which something could not be looked at."
    )
