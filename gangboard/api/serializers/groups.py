"""The JSON of groups, field by field."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import PageSerializer, TimeField, WordField
from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.group_gangs import GangName


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


class GroupClaimSerializer(serializers.Serializer[Any]):
    """A device claim that all pods of a group share."""

    name = serializers.CharField()
    claim = WordField(help_text="The ResourceClaim; null while none was made of the template.")
    template = WordField(help_text="The ResourceClaimTemplate that it is made of.")


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
    claims = GroupClaimSerializer(many=True, help_text="Device claims that all its pods share.")
    placed = ConditionSerializer(allow_null=True, help_text="What the scheduler said last of it.")
    templates = GroupTemplateSerializer(many=True)
    controller = WordField(help_text="Kind and name of what made it.")
    created_at = TimeField(allow_null=True)
    deleting_since = TimeField(allow_null=True)
    stale = serializers.BooleanField(
        help_text="Its cluster has not answered for 30 seconds, or groups of its kind cannot be "
        "looked at there."
    )


class GroupOfGangSerializer(GroupSerializer):
    """A group as one of its gang."""

    domains = serializers.DictField(
        child=serializers.CharField(),
        help_text="Topology key → the domain that its pods are in, as far as some have a node.",
    )


class GangModeSerializer(serializers.Serializer[Any]):
    """How the pods of the Jobs of an owner are grouped: as it is, beside what was asked for."""

    mode = serializers.CharField(
        help_text="`whole`, `per-role`, `per-job`, `custom`, `pod-by-pod` or `unknown`."
    )
    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    reason = serializers.CharField()
    asked = WordField(help_text="What its owner asks for; null: nothing.")
    differs = serializers.BooleanField(help_text="It is not what was asked for.")


class MatrixCellSerializer(serializers.Serializer[Any]):
    """The pods of one Job, or of all Jobs of a role, in one group."""

    pods = serializers.IntegerField()
    ready = serializers.IntegerField()


class MatrixRowSerializer(serializers.Serializer[Any]):
    """One group."""

    group = WordField(help_text="Its name; null: the pods in no group.")
    cells = MatrixCellSerializer(many=True)


class GroupMatrixSerializer(serializers.Serializer[Any]):
    """Groups in rows, Jobs in columns; roles where there are more than 12 Jobs."""

    of_roles = serializers.BooleanField()
    columns = serializers.ListField(child=serializers.CharField())
    rows = MatrixRowSerializer(many=True)


class GroupWithGangSerializer(GroupSerializer):
    """A group and the gang to which it belongs."""

    gang = serializer_of(GangName)(allow_null=True, help_text="Null when the caller may see none.")


class UnseenGroupsSerializer(serializers.Serializer[Any]):
    """Kinds of groups that cannot be seen in a cluster: that is not the same as none."""

    cluster = serializers.CharField()
    state = serializers.CharField(
        help_text="silent, never, forbidden, failing, unknown-version, listing or not-looked."
    )
    kinds = serializers.ListField(child=serializers.CharField())
    message = serializers.CharField(source="sentence")


class GroupListSerializer(PageSerializer):
    """One page of groups."""

    results = GroupWithGangSerializer(many=True)
    unseen = UnseenGroupsSerializer(many=True)
