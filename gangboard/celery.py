"""The Celery application and the beat schedule."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_after_setup, celeryd_init, worker_init
from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error, connections

from gangboard import env
from gangboard.env import SettingError, restrict_to_owner
from gangboard.failures import database_sentence, exit_on_known_errors, is_too_old
from gangboard.logs import get_logger

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
log = get_logger(__name__)

SEED_INTERVAL = 2.0
"""Seconds between two searches for clusters that no worker holds."""
SWEEP_INTERVAL = 2.0
"""Seconds between two searches for actions that no worker holds."""
NOTIFY_INTERVAL = 2.0
"""Seconds between two searches for unmatched events and for messages to send."""
WAIT_INTERVAL = 10.0
"""Seconds between two searches for long waits, ending Holds and silent clusters."""
FILE_TRANSPORT = "gangboard.polling.file_broker:Transport"
"""Kombu's transport with fixes; see `file_broker`."""


def _broker() -> dict[str, object]:
    """Return the broker settings: Redis, or a folder without Redis."""
    if settings.REDIS_URL:
        return {"broker_url": settings.CELERY_BROKER_URL, "broker_transport_options": {}}
    return {
        "broker_url": settings.CELERY_BROKER_URL,
        "broker_transport": FILE_TRANSPORT,
        "broker_transport_options": _folder_options(settings.CELERY_BROKER_FOLDER),
    }


def _folder_options(folder: Path) -> dict[str, object]:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("queue", "processed", "control"):
            (folder / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            f"without REDIS_URL tasks are kept in {folder}, which cannot be created: {error.strerror}"
        ) from error
    restrict_to_owner(folder)
    return {
        # One folder for both directions, because every process reads the messages of all
        # processes.
        "data_folder_in": str(folder / "queue"),
        "data_folder_out": str(folder / "queue"),
        "processed_folder": str(folder / "processed"),
        "control_folder": str(folder / "control"),
        "store_processed": False,
        "polling_interval": 0.1,
    }


app = Celery("gangboard")
with exit_on_known_errors():
    _broker_settings = _broker()
app.conf.update(
    **_broker_settings,
    broker_connection_retry_on_startup=True,
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue="poll",
    task_create_missing_queues=True,
    worker_prefetch_multiplier=1,
    # A poll mostly waits for the network. Three threads beyond the slots let seeding,
    # housekeeping, a trial, a check and a reading of use run while every slot is taken.
    worker_pool="threads",
    worker_concurrency=settings.POLL_SLOTS + 3,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    timezone="UTC",
    beat_schedule={
        "seed polls": {
            "task": "gangboard.polling.tasks.seed",
            "schedule": SEED_INTERVAL,
            "options": {"queue": "poll", "expires": SEED_INTERVAL * 2},
        },
        "sweep actions": {
            "task": "gangboard.actions.tasks.sweep",
            "schedule": SWEEP_INTERVAL,
            "options": {"queue": "act", "expires": SWEEP_INTERVAL * 2},
        },
        "notify": {
            "task": "gangboard.notify.tasks.notify",
            "schedule": NOTIFY_INTERVAL,
            "options": {"queue": "notify", "expires": NOTIFY_INTERVAL * 2},
        },
        "look at waits": {
            "task": "gangboard.notify.tasks.look",
            "schedule": WAIT_INTERVAL,
            "options": {"queue": "notify", "expires": WAIT_INTERVAL},
        },
        "housekeeping": {
            "task": "gangboard.polling.tasks.housekeep",
            "schedule": 300.0,
            "options": {"queue": "poll", "expires": 300.0},
        },
    },
)


@celeryd_init.connect
def find_tasks(**_: object) -> None:
    """Load the tasks of a worker. Beat knows them by name from the schedule."""
    app.autodiscover_tasks(
        ["gangboard.polling", "gangboard.actions", "gangboard.notify"], force=True
    )


@celeryd_after_setup.connect
def limit_connections(instance: Any, **_: object) -> None:
    """Give each thread of this worker a connection from a pool.

    Raises SystemExit for a database of a wrong encoding or version, because the worker would fail forever. A
    database that does not answer now may do so later.
    """
    # They import Django's database, which needs the settings.
    from gangboard.database_limits import limit_worker
    from gangboard.store.database_state import check_server

    limit_worker(settings.DATABASES["default"], threads=instance.concurrency)
    try:
        check_server()
    except Error as error:
        if is_too_old(error):
            raise SystemExit(f"gangboard cannot go on: {database_sentence(error)}") from error
        log.warning("database away at start", error=database_sentence(error))
    except CommandError as error:
        raise SystemExit(f"gangboard cannot go on: {error}") from error
    finally:
        connections.close_all()


@worker_init.connect
@beat_init.connect
def warn_of_unknown_settings(**_: object) -> None:
    """Log each variable that looks like a setting and is none. `manage.py up` has logged them for its workers."""
    if not os.environ.get("CELERY_SKIP_CHECKS"):
        for sentence in env.unknown_variable_warnings():
            get_logger(__name__).warning(sentence)


@beat_init.connect
def start_beat_heartbeat(**_: object) -> None:
    """Start beat's heartbeat, because it is the only evidence that beat runs.

    The last heartbeat stays when beat ends: there is one beat, and it should always run.
    """
    # Celery must have set up Django before the models are imported.
    from gangboard.store.heartbeats import HeartbeatThread

    HeartbeatThread("beat", "beat", 0).start()
