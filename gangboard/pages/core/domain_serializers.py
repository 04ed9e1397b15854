"""The JSON of values of `domain`, which do not declare fields for people. Rows of several pages have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from gangboard.api.fields import WordField
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import GangMode, Members


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


class GangModeSerializer(serializers.Serializer[Any]):
    """How the pods of the Jobs of an owner are grouped: as it is, beside what was asked for."""

    mode = serializers.CharField(
        help_text="`whole`, `per-role`, `per-job`, `custom`, `pod-by-pod` or `unknown`."
    )
    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    reason = serializers.CharField()
    asked = WordField(help_text="What its owner asks for; null: nothing.")
    differs = serializers.BooleanField(help_text="It is not what was asked for.")


OF_DOMAIN: Mapping[type, type[serializers.Serializer[Any]]] = {
    GangMode: GangModeSerializer,
    Members: MembersSerializer,
    ObjectRef: ObjectSerializer,
}
