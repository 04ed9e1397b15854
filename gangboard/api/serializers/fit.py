"""The JSON of the node-fit table."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import WordField
from gangboard.readmodels.fit import FitShape


class FitReasonSerializer(serializers.Serializer[Any]):
    """Some nodes without a place, and why."""

    label = serializers.CharField(  # type: ignore[assignment]  # as DRF's own attribute
        help_text="What is used up (a resource, `pods`), or the filter that excludes."
    )
    nodes = serializers.IntegerField()
    detail = WordField(help_text="Which taint, label or resource.")
    examples = serializers.ListField(
        child=serializers.CharField(),
        help_text="Names of up to three nodes; none for who may not see the whole cluster.",
    )


class FitSerializer(serializers.Serializer[Any]):
    """Where the waiting pods of one shape could go, were this shape alone.

    `open_nodes`, `saturated` and `excluded` add up to `nodes`.
    """

    unit = WordField(help_text="The group or Job.")
    shape = serializers.CharField()
    waiting = serializers.IntegerField(help_text="Pods of this shape that wait for a node.")
    requests = serializers.SerializerMethodField(help_text="Of one pod, in base units.")
    fits_now = serializers.IntegerField(allow_null=True, help_text="Null: see `why`.")
    fits_empty = serializers.IntegerField(
        allow_null=True, help_text="How many fit without the pods that can leave."
    )
    nodes = serializers.IntegerField(allow_null=True, help_text="All nodes of the cluster.")
    open_nodes = serializers.IntegerField(
        allow_null=True, help_text="Nodes that can take one more now."
    )
    saturated = FitReasonSerializer(many=True, help_text="Nodes that could host it and are full.")
    excluded = FitReasonSerializer(many=True, help_text="Nodes that never host it as things are.")
    unsupported = serializers.ListField(
        child=serializers.CharField(),
        help_text="What else a pod asks for and was not worked out: the numbers are at most so many.",
    )
    why = WordField(help_text="Why nothing can be told; the numbers are null then.")

    def get_requests(self, shape: FitShape) -> dict[str, str]:
        """Return what one pod asks for."""
        return dict(shape.requests)
