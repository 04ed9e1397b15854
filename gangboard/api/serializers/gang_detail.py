"""The JSON of one gang with everything that explains it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import TimeField, WordField
from gangboard.api.serializers.actions import OfferSerializer
from gangboard.api.serializers.findings import FindingSerializer
from gangboard.api.serializers.fit import FitSerializer
from gangboard.api.serializers.gang_jobs import JobSerializer, MakerSerializer
from gangboard.api.serializers.gang_members import MembersWithPodsSerializer
from gangboard.api.serializers.gang_queues import QueueWaitSerializer
from gangboard.api.serializers.gang_timeline import TimelineSerializer, WaitsSerializer
from gangboard.api.serializers.gangs import GangSerializer
from gangboard.api.serializers.groups import GangModeSerializer, GroupMatrixSerializer
from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.gang_page import GangDetail
from gangboard.readmodels.group_visibility import UnseenGroups
from gangboard.readmodels.groups import GroupOfGangRow


class KindFactSerializer(serializers.Serializer[Any]):
    """One thing that only the owner's kind knows of a gang."""

    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    text = serializers.CharField()


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
    groups = serializer_of(GroupOfGangRow)(
        many=True, allow_null=True, help_text=f"They are {_LEFT}."
    )
    groups_unseen = serializer_of(UnseenGroups)(
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
