"""Signs of life of the processes that should be running."""

from __future__ import annotations

import threading
from datetime import timedelta

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone

from gangboard.logs import get_logger
from gangboard.store.models import Cluster, Heartbeat

log = get_logger(__name__)

HEARTBEAT_SECONDS = 3.0
ALIVE_SECONDS = 15.0
"""A process that has been silent for longer is taken for dead."""
ALIVE = timedelta(seconds=ALIVE_SECONDS)
FORGET = timedelta(hours=1)


def record_heartbeat(name: str, kind: str, slots: int = 0) -> None:
    """Record a sign of life of now."""
    now = timezone.now()
    values = {"kind": kind, "slots": slots, "beat_at": now}
    going_on = Heartbeat.objects.filter(name=name, beat_at__gte=now - ALIVE)
    if not going_on.update(**values):
        Heartbeat.objects.update_or_create(name=name, defaults={**values, "began_at": now})


def record_task_arrival(queue: str) -> None:
    """Record that an order of beat has reached a worker that reads this queue."""
    record_heartbeat(f"orders on {queue}", f"{queue}-orders")


def remove_heartbeat(name: str) -> None:
    """Forget a process that ends on purpose."""
    Heartbeat.objects.filter(name=name).delete()


def delete_dead_heartbeats() -> None:
    """Drop processes that have been silent for long."""
    Heartbeat.objects.filter(beat_at__lt=Now() - FORGET).delete()


def has_too_few_slots() -> bool:
    """Whether there are more clusters than slots of living poll workers: then they take turns."""
    slots = _living_pollers().aggregate(total=Sum("slots"))["total"] or 0
    return Cluster.objects.count() > slots


def alive_poll_workers() -> frozenset[str]:
    """Return the names of the poll workers that are alive."""
    return frozenset(_living_pollers().values_list("name", flat=True))


def _living_pollers() -> QuerySet[Heartbeat]:
    # A sign of life in the future was given before the clock was set back.
    return Heartbeat.objects.filter(
        kind="poll", beat_at__gte=Now() - ALIVE, beat_at__lte=Now() + ALIVE
    )


class HeartbeatThread(threading.Thread):
    """Says every few seconds that this process is alive."""

    def __init__(self, name: str, kind: str, slots: int) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._process, self._kind, self._slots = name, kind, slots
        self._ended = threading.Event()

    def run(self) -> None:
        """Write the heartbeat until told to end; a database that is away is tried again."""
        while not self._ended.is_set():
            try:
                record_heartbeat(self._process, self._kind, self._slots)
            except (DatabaseError, InterfaceError) as error:
                log.warning("heartbeat not written", why=str(error))
            finally:
                connection.close()
            self._ended.wait(HEARTBEAT_SECONDS)

    def end(self) -> None:
        """Stop, and take the heartbeat away: a process that stopped on purpose is not dead."""
        self._ended.set()
        try:
            remove_heartbeat(self._process)
        except (DatabaseError, InterfaceError) as error:
            log.warning("heartbeat not removed", why=str(error))
        finally:
            connection.close()
