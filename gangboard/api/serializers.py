"""The JSON of the API, field by field: what the OpenAPI document says is what is sent.

Plain serializers over the dataclasses of readmodels. Times are RFC 3339 in UTC, quantities decimal
strings, empty words of a read model are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC
from decimal import Decimal
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gangboard.api.errors import PROBLEM_TYPE
from gangboard.api.parameters import HEALTHS, STAGES
from gangboard.readmodels.clusters import ResourceRow
from gangboard.readmodels.gang_page import GangDetail
from gangboard.readmodels.summary import Tally


@extend_schema_field(OpenApiTypes.STR)
class WordField(serializers.CharField):
    """A text that may be absent: null instead of the empty string."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_null": True, **options})

    def to_representation(self, value: Any) -> Any:
        """Return the text, None for the empty one."""
        return str(value) or None


class ChoiceOrNullField(serializers.ChoiceField):
    """One of some words, or null instead of the empty string."""

    def __init__(self, choices: Any, **options: Any) -> None:
        super().__init__(choices, **{"allow_null": True, **options})

    def to_representation(self, value: Any) -> Any:
        """Return the word, None for the empty one."""
        return super().to_representation(value) if value else None


class QuantityField(serializers.CharField):
    """A number of devices as a decimal string."""

    def to_representation(self, value: Any) -> str:
        """Return `8` for 8.0 and `0.5` for 0.5, never an exponent."""
        return f"{Decimal(str(value)).normalize():f}"


class TimeField(serializers.DateTimeField):
    """A moment as RFC 3339 in UTC, with a Z."""

    def __init__(self, **options: Any) -> None:
        super().__init__(default_timezone=UTC, **options)


class ProblemSerializer(serializers.Serializer[Any]):
    """An error, as RFC 9457 says."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="One sentence for a person.")
    errors = serializers.DictField(  # type: ignore[assignment]  # as DRF's own attribute
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="Sentences by parameter.",
    )


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """Return the answers of an operation that goes wrong, for its entry in the OpenAPI document."""
    return {(status, PROBLEM_TYPE): ProblemSerializer for status in statuses}


class MembersSerializer(serializers.Serializer[Any]):
    """Pods of the current attempt."""

    desired = serializers.IntegerField(
        help_text="Pods that the owner asks for, held ones included."
    )
    quorum = serializers.IntegerField(
        allow_null=True,
        help_text="Pods without which it does not start; null without a gang group.",
    )
    created = serializers.IntegerField()
    scheduled = serializers.IntegerField()
    ready = serializers.IntegerField()
    succeeded = serializers.IntegerField()
    failed = serializers.IntegerField()
    held = serializers.IntegerField(help_text="Pods of suspended Jobs.")


class GangSerializer(serializers.Serializer[Any]):
    """A gang with its verdict."""

    id = serializers.CharField()
    cluster = serializers.CharField()
    api_group = serializers.CharField(help_text="API group of the owner; empty for the core group.")
    api_version = serializers.CharField(help_text="Version without the group, such as `v1`.")
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    generation = serializers.IntegerField()
    health = serializers.ChoiceField(HEALTHS)
    last_health = ChoiceOrNullField(HEALTHS, help_text="What it was before it became unknown.")
    stage = serializers.ChoiceField(STAGES)
    code = serializers.CharField(help_text="Reason code, such as `fragmented`.")
    title = serializers.CharField()
    message = serializers.CharField(help_text="One sentence with names and numbers.")
    advice = serializers.ListField(
        child=serializers.CharField(), help_text="What would let it go, the next step first."
    )
    members: serializers.BaseSerializer[Any] = MembersSerializer()
    requests = serializers.DictField(
        child=serializers.CharField(),
        help_text="Sum over all desired pods: decimal strings in base units.",
    )
    queue = WordField()
    priority = WordField(help_text="Priority class, or the number as text.")
    created_at = TimeField(allow_null=True)
    since = TimeField(help_text="Since when the verdict has been this one.")
    observed_at = TimeField(help_text="When this was last known to be true.")
    stale = serializers.BooleanField(help_text="The cluster has not answered for 30 seconds.")


class PageSerializer(serializers.Serializer[Any]):
    """What every list has besides its results."""

    next = serializers.URLField(allow_null=True, help_text="The next page; null on the last one.")


class GangListSerializer(PageSerializer):
    """One page of gangs."""

    results = GangSerializer(many=True)


class ObjectSerializer(serializers.Serializer[Any]):
    """One object of the cluster."""

    api_group = serializers.CharField(source="group")
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()


class ConditionSerializer(serializers.Serializer[Any]):
    """A condition, texts as they were on the wire."""

    type = serializers.CharField()
    status = serializers.CharField()
    reason = serializers.CharField()
    message = serializers.CharField()
    since = TimeField(allow_null=True)


class GroupTemplateSerializer(serializers.Serializer[Any]):
    """One template of a Workload."""

    name = serializers.CharField()
    policy = serializers.CharField()
    quorum = serializers.IntegerField(allow_null=True)
    topology_keys = serializers.ListField(child=serializers.CharField())
    composite = serializers.BooleanField()


class GangNameSerializer(serializers.Serializer[Any]):
    """The gang to which a group belongs."""

    id = serializers.CharField()
    kind = serializers.CharField()
    name = serializers.CharField()


class GroupSerializer(serializers.Serializer[Any]):
    """A Workload, PodGroup or CompositePodGroup (or an equivalent) as it is stored."""

    id = serializers.CharField()
    cluster = serializers.CharField()
    api_group = serializers.CharField()
    api_version = serializers.CharField()
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    generation = serializers.IntegerField()
    policy = serializers.CharField(help_text="`gang`, `basic` or `unknown`.")
    policy_text = WordField(help_text="The policy as served, when this release does not know it.")
    quorum = serializers.IntegerField(
        allow_null=True, help_text="Its own `minCount`, of a CompositePodGroup `minGroupCount`."
    )
    workload = WordField()
    template = WordField(source="template_name")
    template_quorum = serializers.IntegerField(allow_null=True)
    parent = WordField(help_text="The CompositePodGroup that it is part of.")  # type: ignore[assignment]  # as DRF's own attribute
    topology_keys = serializers.ListField(child=serializers.CharField())
    priority = serializers.IntegerField(allow_null=True)
    disruption_mode = WordField()
    placed = ConditionSerializer(allow_null=True, help_text="What the scheduler said last of it.")
    templates = GroupTemplateSerializer(many=True)
    controller = WordField(help_text="Kind and name of what made it.")
    created_at = TimeField(allow_null=True)
    deleting_since = TimeField(allow_null=True)
    stale = serializers.BooleanField()


class GroupWithGangSerializer(GroupSerializer):
    """A group and the gang to which it belongs."""

    gang = GangNameSerializer(allow_null=True, help_text="Null when the caller may see none.")


class GroupListSerializer(PageSerializer):
    """One page of groups."""

    results = GroupWithGangSerializer(many=True)


class EvidenceSerializer(serializers.Serializer[Any]):
    """One fact behind a sentence."""

    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    value = serializers.CharField()
    source = ObjectSerializer(  # type: ignore[assignment]  # as DRF's own attribute
        allow_null=True, help_text="Where it was read; null when the caller may not see that."
    )


class FindingSerializer(serializers.Serializer[Any]):
    """One of the findings about a gang."""

    code = serializers.CharField()
    health = serializers.ChoiceField(HEALTHS)
    stage = serializers.ChoiceField(STAGES)
    title = serializers.CharField()
    message = serializers.CharField()
    unit = WordField(help_text="The group or Job that it is about; null: the whole gang.")
    advice = serializers.ListField(child=serializers.CharField())
    evidence = EvidenceSerializer(many=True)
    since = TimeField(allow_null=True)


class SchedulingSerializer(serializers.Serializer[Any]):
    """How the pods of a Job are scheduled, and why."""

    mode = serializers.CharField()
    label = serializers.CharField(source="mode_label")  # type: ignore[assignment]  # as DRF's own attribute
    reason = serializers.CharField(source="mode_reason")


class JobSerializer(serializers.Serializer[Any]):
    """A child Job."""

    name = serializers.CharField()
    uid = serializers.CharField()
    generation = serializers.IntegerField()
    suspended = serializers.BooleanField()
    held = serializers.BooleanField()
    finished = ChoiceOrNullField(["succeeded", "failed"])
    nodes = serializers.ListField(child=serializers.CharField())
    desired = serializers.IntegerField()
    created = serializers.IntegerField()
    ready = serializers.IntegerField()
    restarts = serializers.IntegerField()
    scheduling = SchedulingSerializer(source="*")


class MemberSerializer(serializers.Serializer[Any]):
    """A pod."""

    name = serializers.CharField()
    uid = serializers.CharField()
    job = WordField()
    node = WordField()
    state = serializers.ChoiceField(HEALTHS, source="health")
    label = serializers.CharField(help_text="Its state in a word of Kubernetes.")  # type: ignore[assignment]  # as DRF's own attribute
    reason = WordField()
    group = WordField()


class MembersWithPodsSerializer(MembersSerializer):
    """The counts of a gang, and the pods that were counted."""

    pods = MemberSerializer(many=True, source="members")

    def to_representation(self, instance: GangDetail) -> dict[str, Any]:
        """Return the counts of the row beside the pods of the detail."""
        counts = MembersSerializer().to_representation(instance.row.members)
        return {**counts, "pods": self.fields["pods"].to_representation(instance.members)}


class GangDetailSerializer(GangSerializer):
    """A gang with everything that explains its verdict."""

    members = MembersWithPodsSerializer(source="*")
    findings = FindingSerializer(many=True, help_text="Ranked, the one of the verdict first.")
    groups = GroupSerializer(many=True)
    jobs = JobSerializer(many=True)

    def to_representation(self, instance: GangDetail) -> dict[str, Any]:
        """Return the Gang as in lists, with more beside it."""
        more = ("members", "findings", "groups", "jobs")
        return {
            **GangSerializer().to_representation(instance.row),
            **{
                name: self.fields[name].to_representation(self.fields[name].get_attribute(instance))
                for name in more
            },
        }


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
        help_text="ok, listing, not-served, forbidden, failing, unknown-version or undecodable."
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
    problem = WordField(help_text="Code of the error that keeps us from looking at all.")
    problem_since = TimeField(allow_null=True)
    contact_at = TimeField(allow_null=True, help_text="Last answer as it should be.")
    listed_at = TimeField(
        allow_null=True, help_text="Null until everything was read once: absence means nothing."
    )
    discovered_at = TimeField(allow_null=True)
    credentials_expire_at = TimeField(source="expiry.at", allow_null=True)
    gangs = serializers.IntegerField(help_text="Gangs of it that the caller may see.")
    served = ResourceNamesField(lambda state: state != "not-served")
    not_served = ResourceNamesField(lambda state: state == "not-served")
    forbidden = ResourceNamesField(lambda state: state == "forbidden")
    resources = ResourceSerializer(many=True)


class ClusterListSerializer(PageSerializer):
    """All clusters."""

    results = ClusterSerializer(many=True)


class TalliesField(serializers.DictField):
    """Tallies by what their gangs have in common."""

    def to_representation(self, value: Iterable[Tally]) -> dict[str, Any]:
        """Return a read model's list of tallies as one object, in its order."""
        return {tally.key: self.child.to_representation(tally) for tally in value}


class TallySerializer(serializers.Serializer[Any]):
    """How many gangs have something in common."""

    gangs = serializers.IntegerField()
    accelerators = QuantityField()


class SummarySerializer(serializers.Serializer[Any]):
    """Counts that add up: every gang is counted once in each of the three."""

    gangs = serializers.IntegerField()
    accelerators = QuantityField()
    by_health = TalliesField(child=TallySerializer(), help_text="Zeros included.")
    by_code = TalliesField(child=TallySerializer())
    by_cluster = TalliesField(child=TallySerializer())
    observed_at = TimeField(
        allow_null=True,
        help_text="Oldest last contact of a cluster; null when one has never answered.",
    )
    stale = serializers.BooleanField()
