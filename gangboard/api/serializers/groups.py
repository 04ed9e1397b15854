"""The JSON of how the Jobs of a gang are grouped."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import WordField


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
