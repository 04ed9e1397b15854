"""Heartbeats of the processes that should be running."""

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
"""A process that was silent for longer counts as dead."""
ALIVE = timedelta(seconds=ALIVE_SECONDS)
FORGET = timedelta(hours=1)


def record_heartbeat(name: str, kind: str, slots: int = 0) -> None:
    """Record a heartbeat now."""
    now = timezone.now()
    values = {"kind": kind, "slots": slots, "beat_at": now}
    going_on = Heartbeat.objects.filter(name=name, beat_at__gte=now - ALIVE)
    if not going_on.update(**values):
        Heartbeat.objects.update_or_create(name=name, defaults={**values, "began_at": now})


def record_task_arrival(queue: str) -> None:
    """Record that a task of beat has reached a worker of this queue."""
    record_heartbeat(f"orders on {queue}", f"{queue}-orders")


def remove_heartbeat(name: str) -> None:
    """Remove the heartbeat of a process that stops on purpose."""
    Heartbeat.objects.filter(name=name).delete()


def delete_dead_heartbeats() -> None:
    """Delete the heartbeats of processes that were silent for an hour."""
    Heartbeat.objects.filter(beat_at__lt=Now() - FORGET).delete()


def has_too_few_slots() -> bool:
    """Return whether there are more clusters than slots of living poll workers, so that workers must rotate."""
    slots = _living_pollers().aggregate(total=Sum("slots"))["total"] or 0
    return Cluster.objects.count() > slots


def alive_poll_workers() -> frozenset[str]:
    """Return the names of the living poll workers."""
    return frozenset(_living_pollers().values_list("name", flat=True))


def _living_pollers() -> QuerySet[Heartbeat]:
    # A heartbeat in the future was written before the clock was set back.
    return Heartbeat.objects.filter(
        kind="poll", beat_at__gte=Now() - ALIVE, beat_at__lte=Now() + ALIVE
    )


class HeartbeatThread(threading.Thread):
    """Writes a heartbeat of this process every few seconds."""

    def __init__(self, name: str, kind: str, slots: int) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._process, self._kind, self._slots = name, kind, slots
        self._ended = threading.Event()

    def run(self) -> None:
        """Write the heartbeat until `stop` is called. If the database is down, try again."""
        while not self._ended.is_set():
            try:
                record_heartbeat(self._process, self._kind, self._slots)
            except (DatabaseError, InterfaceError) as error:
                log.warning("heartbeat not written", why=str(error))
            finally:
                connection.close()
            self._ended.wait(HEARTBEAT_SECONDS)

    def stop(self) -> None:
        """Stop, and remove the heartbeat, because a process that stopped on purpose is not dead."""
        self._ended.set()
        try:
            remove_heartbeat(self._process)
        except (DatabaseError, InterfaceError) as error:
            log.warning("heartbeat not removed", why=str(error))
        finally:
            connection.close()
