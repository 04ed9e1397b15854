"""The JSON of buttons and their objects, for the serializers of gangs."""

from __future__ import annotations

from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.action_rows import OfferRow, TargetRow

OfferSerializer = serializer_of(OfferRow)
TargetSerializer = serializer_of(TargetRow)
