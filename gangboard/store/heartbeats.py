"""Signs of life of the processes that should be running."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Sum
from django.db.models.functions import Now
from django.utils import timezone

from gangboard.store.models import Cluster, Heartbeat

ALIVE_SECONDS = 15.0
"""A process that has been silent for longer is taken for dead."""
FORGET = timedelta(hours=1)


def beat(name: str, kind: str, slots: int = 0) -> None:
    """Record that the process is alive now."""
    Heartbeat.objects.update_or_create(
        name=name, defaults={"kind": kind, "slots": slots, "beat_at": timezone.now()}
    )


def stop_beating(name: str) -> None:
    """Forget a process that ends on purpose."""
    Heartbeat.objects.filter(name=name).delete()


def forget_dead() -> None:
    """Drop processes that have been silent for long."""
    Heartbeat.objects.filter(beat_at__lt=Now() - FORGET).delete()


def slots_are_short() -> bool:
    """Whether there are more clusters than slots of living poll workers: then they take turns."""
    living = Heartbeat.objects.filter(
        kind="poll", beat_at__gte=Now() - timedelta(seconds=ALIVE_SECONDS)
    )
    slots = living.aggregate(total=Sum("slots"))["total"] or 0
    return Cluster.objects.count() > slots
