"""The JSON of gangs in lists, field by field: the contract for automation."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import ChoiceOrNullField, PageSerializer, TimeField, WordField
from gangboard.api.parameters import HEALTHS, STAGES
from gangboard.api.serializers.unseen_clusters import UnseenClusterSerializer
from gangboard.domain.advice import Harm


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
