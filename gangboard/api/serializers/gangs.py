"""The JSON of gangs, field by field: the contract for automation."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import ChoiceOrNullField, PageSerializer, TimeField, WordField
from gangboard.api.parameters import HEALTHS, QUEUE_STATES, STAGES
from gangboard.api.serializers.actions import OfferSerializer, TargetSerializer
from gangboard.api.serializers.fit import FitSerializer
from gangboard.api.serializers.groups import (
    GangModeSerializer,
    GroupMatrixSerializer,
    GroupOfGangSerializer,
    UnseenGroupsSerializer,
)
from gangboard.api.serializers.queues import FlavorAmountSerializer, PlaceSerializer
from gangboard.api.serializers.reasons import UnseenClusterSerializer
from gangboard.domain.advice import Harm
from gangboard.readmodels.gang_page import GangDetail, JobRow

JOB = {"api_group": "batch", "kind": "Job"}
"""Child Jobs are those of Kubernetes itself."""


class MembersSerializer(serializers.Serializer[Any]):
    """Pods of the current attempt.

    Where `health` is `unknown` they are as they were seen last, which may be never: 0 is no count then.
    """

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


class ObjectSerializer(serializers.Serializer[Any]):
    """One object of the cluster."""

    api_group = serializers.CharField(source="group")
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()


class VictimSerializer(serializers.Serializer[Any]):
    """Another gang that a step would stop, as it is now."""

    gang = serializers.CharField(source="gang_id", help_text="Its id.")
    api_group = serializers.CharField()
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    health = serializers.ChoiceField(HEALTHS)
    since = TimeField(help_text="Since when its verdict has been this one.")
    ready = serializers.IntegerField(help_text="Pods that are ready.")
    desired = serializers.IntegerField(help_text="Pods that its owner asks for.")
    priority = serializers.IntegerField()
    also_advised_to = serializers.IntegerField(
        source="others",
        allow_null=True,
        help_text="Other gangs that are advised to stop it; null in lists.",
    )


class NextStepSerializer(serializers.Serializer[Any]):
    """One step of advice: its sentence, and as fields what carries it out."""

    text = serializers.CharField(help_text="The sentence without the command.")
    kind = serializers.CharField(help_text="What it is about, such as `uncordon`.")
    command = serializers.ListField(
        child=serializers.CharField(),
        help_text="Words of a command, each safe in a shell; empty without one.",
    )
    objects = ObjectSerializer(
        many=True, help_text="What it acts on: nodes, gangs or Jobs; empty if it does not name all."
    )
    harm = serializers.ChoiceField(
        [one.value for one in Harm], help_text="What it costs, and whom. Steps come in this order."
    )
    note = WordField(help_text="A sentence behind the text, such as the typical wait.")
    victims = VictimSerializer(
        many=True, help_text="Other gangs that it would stop, as far as the caller may see them."
    )


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
    next_steps = NextStepSerializer(many=True, help_text="The same as fields.")
    members: serializers.BaseSerializer[Any] = MembersSerializer()
    requests = serializers.DictField(
        child=serializers.CharField(),
        help_text="Sum over all desired pods: decimal strings in base units.",
    )
    queue = WordField()
    priority = WordField(help_text="Priority class, or the number as text.")
    labels = serializers.DictField(
        child=serializers.CharField(), help_text="Labels of the owner: the first 64 by key."
    )
    submitter = WordField(
        help_text="Field manager that made the owner, such as `kubectl-create`: the only one that wrote its "
        "spec in the second of its creation. Null if that cannot be told."
    )
    created_at = TimeField(allow_null=True)
    since = TimeField(help_text="Since when the verdict has been this one.")
    since_first_seen = serializers.BooleanField(
        allow_null=True,
        help_text="`since` is only when gangboard saw it first: it may have been so for longer; null of what is gone.",
    )
    observed_at = TimeField(help_text="When this was last known to be true.")
    stale = serializers.BooleanField(help_text="The cluster has not answered for 30 seconds.")


class GangListSerializer(PageSerializer):
    """One page of gangs."""

    results = GangSerializer(many=True)
    unseen = UnseenClusterSerializer(
        many=True, help_text="Clusters that were not read completely yet: gangs may be missing."
    )


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


class HeldSerializer(serializers.Serializer[Any]):
    """The Hold on a Job."""

    name = serializers.CharField(source="hold")
    since = TimeField(source="held_since", allow_null=True)
    by = WordField(source="held_by")
    reason = WordField(source="held_reason")
    until = TimeField(source="held_until", allow_null=True)


class JobQueueSerializer(serializers.Serializer[Any]):
    """How a queue stands to a Job that has an entry of its own in it."""

    name = WordField(source="queue")
    standing = serializers.CharField(
        source="queue_standing", help_text="`waits`, `admitted` or `deactivated`."
    )


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
    hold = HeldSerializer(
        allow_null=True, source="held_row", help_text="The Hold on it, suspended or not."
    )
    queue = JobQueueSerializer(
        allow_null=True,
        source="queued_row",
        help_text="How a queue stands to it; null: it has no entry of its own.",
    )
    actions = OfferSerializer(many=True, help_text="What the caller may do to it now.")
    target = TargetSerializer(help_text="The Job as `POST actions/` takes it.")

    def to_representation(self, instance: JobRow) -> dict[str, Any]:
        """Return the fields; the names in the target come from the gang."""
        row = self.context["row"]
        target = {
            "cluster": row.cluster,
            **JOB,
            "namespace": row.namespace,
            "name": instance.name,
            "uid": instance.uid,
            "generation": instance.generation,
        }
        shown = {
            name: field.to_representation(value)
            if (value := field.get_attribute(instance)) is not None
            else None
            for name, field in self.fields.items()
            if name != "target"
        }
        return {**shown, "target": target}


class KindFactSerializer(serializers.Serializer[Any]):
    """One thing that only the owner's kind knows of a gang."""

    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    text = serializers.CharField()


class MakerSerializer(serializers.Serializer[Any]):
    """What makes gangs such as this one: the CronJob that started a run."""

    api_group = WordField()
    kind = WordField()
    name = WordField()
    uid = serializers.CharField()
    generation = serializers.IntegerField()
    suspended = serializers.BooleanField(help_text="It makes no further one.")
    sentence = WordField()
    actions = OfferSerializer(many=True, help_text="What the caller may do to it now.")


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
    since = TimeField(allow_null=True, help_text="Since when it is in this state.")
    restarts = serializers.IntegerField(help_text="Of all its containers.")
    container = WordField(help_text="The one that ended with an error or does not come up.")
    exit_code = serializers.IntegerField(
        allow_null=True, help_text="With which that container ended last."
    )


class MembersWithPodsSerializer(MembersSerializer):
    """The counts of a gang, and the pods that were counted."""

    pods = MemberSerializer(many=True, source="members")

    def to_representation(self, instance: GangDetail) -> dict[str, Any]:
        """Return the counts of the row beside the pods of the detail."""
        counts = MembersSerializer().to_representation(instance.row.members)
        return {**counts, "pods": self.fields["pods"].to_representation(instance.members)}


class TimelineSerializer(serializers.Serializer[Any]):
    """One thing that was said of the gang or done to it."""

    at = TimeField(help_text="When the verdict or the outage began, or the action came to its end.")
    until = TimeField(
        allow_null=True, help_text="When it ended; null: it goes on. Null for an action."
    )
    kind = serializers.CharField(
        help_text="`verdict`, `action`, or `cluster`: nothing was seen of its cluster."
    )
    health = ChoiceOrNullField(HEALTHS, help_text="Of a verdict.")
    stage = ChoiceOrNullField(STAGES, help_text="Of a verdict.")
    code = WordField(help_text="Of a verdict.")
    title = serializers.CharField()
    message = serializers.CharField(
        help_text="The sentence of the verdict as it was first; how the action ended, "
        "and where its pods were before and are now."
    )
    actor = WordField(help_text="Of an action.")
    action = WordField(source="action_id", help_text="Id of the action.")


class TypicalSerializer(serializers.Serializer[Any]):
    """How long comparable gangs waited."""

    median_seconds = serializers.IntegerField()
    cases = serializers.IntegerField(help_text="Gangs that came to run, at least 5.")


class WaitsSerializer(serializers.Serializer[Any]):
    """The time before the gang ran first."""

    total_seconds = serializers.IntegerField(
        source="wait.seconds",
        help_text="From its creation, or from when it was first seen, to its first `running`, "
        "its end, or now; without the time in which it was suspended on purpose.",
    )
    by_stage = serializers.DictField(
        source="wait.by_stage",
        child=serializers.IntegerField(),
        help_text="Seconds by stage. Time in which nobody could look is in none.",
    )
    typical = TypicalSerializer(
        source="typical_with_basis",
        allow_null=True,
        help_text="Of other gangs of the same cluster, queue, size and requests per member that "
        "the caller may see; null: fewer than 5.",
    )


class GivenSerializer(serializers.Serializer[Any]):
    """What queues have given of a resource in a flavor, and their quota of it."""

    reserved = serializers.CharField()
    quota = serializers.CharField()


class LackSerializer(serializers.Serializer[Any]):
    """A resource in one flavor that has to become free, and who has it. Decimal strings in base units."""

    flavor = serializers.CharField()
    resource = serializers.CharField()
    amount = serializers.CharField(source="exact", help_text="How much has to become free.")
    queue = GivenSerializer(source="own", help_text="Of its queue.")
    shared = GivenSerializer(
        allow_null=True,
        help_text="Of all with which the queue shares quota; null: it shares with nobody.",
    )
    holders = PlaceSerializer(
        many=True, help_text="Who has most of it, up to 5 that the caller may see."
    )
    holders_more = serializers.IntegerField()
    hidden = serializers.IntegerField(help_text="Others that the caller may not see.")
    hidden_amount = serializers.CharField(source="hidden_exact")


class QueueWaitSerializer(serializers.Serializer[Any]):
    """One entry of a gang that waits in a queue."""

    entry = serializers.CharField()
    queue = serializers.CharField(help_text="The queue that would admit it, as in `queues/`.")
    kind = serializers.CharField()
    state = serializers.ChoiceField(QUEUE_STATES, source="face.word", help_text="Of the queue.")
    position = serializers.IntegerField(
        allow_null=True,
        help_text="1 is first, computed by gangboard; null: it stands in no line, or the order cannot be told.",
    )
    in_line = serializers.IntegerField()
    priority = serializers.IntegerField()
    asks = FlavorAmountSerializer(many=True)
    ahead = PlaceSerializer(many=True, help_text="The first 5 of those before it.")
    ahead_more = serializers.IntegerField()
    lacks = LackSerializer(many=True, help_text="What has to become free, as far as it is told.")
    order = serializers.ListField(child=serializers.CharField())
    stale = serializers.BooleanField()


MORE = (
    *("members", "findings", "groups", "jobs", "actions", "fit", "timeline", "waits"),
    *("groups_unseen", "gang_mode", "group_matrix", "facts", "maker", "queue_waits", "queue_page"),
    "gone_at",
)
"""What a single gang has beside, or instead of, what it has in lists."""
_LEFT = "null when only the history of a gang that is gone is left"


class GangDetailSerializer(GangSerializer):
    """A gang with everything that explains its verdict.

    Of one that was deleted: how it was last, for an hour; then, as long as history is kept, what
    was said of it, and null for what nobody knows any more.
    """

    api_version = serializers.CharField(
        allow_null=True, help_text=f"Version without the group, such as `v1`; {_LEFT}."
    )
    generation = serializers.IntegerField(allow_null=True, help_text=f"It is {_LEFT}.")
    labels = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text=f"Labels of the owner: the first 64 by key; {_LEFT}.",
    )
    requests = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text=f"Sum over all desired pods: decimal strings in base units; {_LEFT}.",
    )
    members = MembersWithPodsSerializer(
        source="*", allow_null=True, help_text=f"Pods of the current attempt; {_LEFT}."
    )
    findings = FindingSerializer(many=True, help_text="Ranked, the one of the verdict first.")
    groups = GroupOfGangSerializer(many=True, allow_null=True, help_text=f"They are {_LEFT}.")
    groups_unseen = UnseenGroupsSerializer(
        many=True,
        help_text="Kinds of groups that cannot be looked at in its cluster: there may be more than "
        "in `groups`.",
    )
    gang_mode = GangModeSerializer(
        allow_null=True,
        help_text="Which pods of its Jobs are in one gang; null: it makes no Jobs, or its cluster does not "
        "answer.",
    )
    group_matrix = GroupMatrixSerializer(
        source="matrix",
        allow_null=True,
        help_text="Which Jobs are in which groups; null: each group is for the Jobs of one role.",
    )
    maker = MakerSerializer(
        allow_null=True, help_text="What makes gangs such as this one; null: nothing known does."
    )
    facts = KindFactSerializer(
        many=True,
        allow_null=True,
        help_text=f"What only its kind knows of it, such as a runtime or progress; {_LEFT}.",
    )
    jobs = JobSerializer(many=True, allow_null=True, help_text=f"They are {_LEFT}.")
    actions = OfferSerializer(many=True, help_text="What the caller may do to the owner now.")
    fit = FitSerializer(many=True, help_text="One entry per shape with waiting pods.")
    timeline = TimelineSerializer(many=True, help_text="Newest first.")
    waits = WaitsSerializer(
        source="gang_history.with_wait",
        allow_null=True,
        help_text="Null: it was not seen waiting.",
    )
    queue_waits = QueueWaitSerializer(
        many=True,
        help_text="Where it waits in queues, what is ahead of it, and who has what it waits for.",
    )
    queue_page = WordField(
        help_text="The queue in `queues/` that it is in: where `queue` is an alias, what that leads to."
    )
    gone_at = TimeField(
        allow_null=True,
        help_text="When its object was seen to be deleted; null: it is there. Lists have no gang "
        "that is gone.",
    )

    def to_representation(self, instance: GangDetail) -> dict[str, Any]:
        """Return the Gang as in lists, with more beside it."""
        self._context = {**self._context, "row": instance.row}
        values = {name: self.fields[name].get_attribute(instance) for name in MORE}
        return {
            **GangSerializer().to_representation(instance.row),
            **{
                name: None if value is None else self.fields[name].to_representation(value)
                for name, value in values.items()
            },
        }
