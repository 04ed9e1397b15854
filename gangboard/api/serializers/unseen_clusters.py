"""The JSON of clusters that could not be read."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.readmodels.unseen import Unseen


class UnseenClusterSerializer(serializers.Serializer[Any]):
    """A cluster that could not be looked at, or not fully."""

    cluster = serializers.CharField()
    message = serializers.SerializerMethodField()

    def get_message(self, one: Unseen) -> str:
        """Return what is not known of it, and why."""
        return one.sentence(self.context["now"])
