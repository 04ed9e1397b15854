"""Kueue: so far only that an owner names a queue of it. Its own objects are not read yet."""

from __future__ import annotations

from gangboard.domain.registry import QueueSystem

QUEUE = QueueSystem(label="Kueue", owner_label="kueue.x-k8s.io/queue-name")
