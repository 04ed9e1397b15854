"""The processes that `manage.py up` keeps running on one machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gangboard.actions.tasks import PROVE_THREADS
from gangboard.actions.worker_slots import WORKER_SLOTS
from gangboard.notify.tasks import NOTIFY_THREADS
from gangboard.ops.supervisor import Child, python_module
from gangboard.serving.web_server import WEB_SERVER

ACT_THREADS = WORKER_SLOTS + 2
"""Two more than the simultaneous actions, so that the sweep runs while all of them wait."""

_AS_ROOT = "ignore:You're running the worker with superuser privileges"
"""The beginning of Celery's warning to root, which prints seven lines per worker around the sign-in link. A
worker reads only JSON of this machine, and all other processes of `up` run as root as well."""
_ALONE = ("--without-gossip", "--without-mingle", "--without-heartbeat")
"""No worker listens to another one. The timer of Celery's own heartbeat would delay a shutdown by a second."""
_CELERY = {
    # Otherwise Celery runs all Django checks in each process, as `up` has done already. They
    # import pages and API, which a worker does not need. That is a third of its start time, and
    # memory for its lifetime.
    "CELERY_SKIP_CHECKS": "1",
    "PYTHONWARNINGS": ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), _AS_ROOT))),
}


def web(host: str, port: int, *, folder: Path, env: Mapping[str, str]) -> Child:
    """Return the web server."""
    argv = python_module(
        "granian",
        *WEB_SERVER,
        # A waiting page would delay the shutdown for half a minute.
        *("--workers-kill-timeout", "2", "--host", host, "--port", str(port)),
        *("--log-level", "error"),
    )
    return Child("The web server", argv, env, folder)


def poll_worker(*, folder: Path) -> Child:
    """Return the worker that watches the clusters."""
    argv = python_module(
        "celery",
        *("--quiet", "-A", "gangboard.celery", "worker", "--queues", "poll"),
        *("--loglevel", "WARNING", *_ALONE),
    )
    return Child("The poll worker", argv, _CELERY, folder)


def act_worker(*, folder: Path) -> Child:
    """Return the worker that acts on the clusters."""
    argv = python_module(
        "celery",
        *("--quiet", "-A", "gangboard.celery", "worker", "--queues", "act"),
        *("--concurrency", str(ACT_THREADS), "--hostname", "act@%h"),
        *("--loglevel", "WARNING", *_ALONE),
    )
    return Child("The act worker", argv, _CELERY, folder)


def prove_worker(*, folder: Path) -> Child:
    """Return the worker that checks the clusters after actions.

    It is a separate process, about as large as the act worker, so that a hang here delays no click.
    """
    argv = python_module(
        "celery",
        *("--quiet", "-A", "gangboard.celery", "worker", "--queues", "prove"),
        *("--concurrency", str(PROVE_THREADS), "--hostname", "prove@%h"),
        *("--loglevel", "WARNING", *_ALONE),
    )
    return Child("The prove worker", argv, _CELERY, folder)


def notify_worker(*, folder: Path) -> Child:
    """Return the worker that sends messages. It is separate, so that a hanging receiver delays neither clicks
    nor proofs."""
    argv = python_module(
        "celery",
        *("--quiet", "-A", "gangboard.celery", "worker", "--queues", "notify"),
        *("--concurrency", str(NOTIFY_THREADS), "--hostname", "notify@%h"),
        *("--loglevel", "WARNING", *_ALONE),
    )
    return Child("The notify worker", argv, _CELERY, folder)


def beat(schedule: Path, *, folder: Path) -> Child:
    """Return the beat process, which schedules the periodic tasks.

    It is a separate process, because inside a worker it would survive a killed worker.
    """
    argv = python_module(
        "celery",
        *("--quiet", "-A", "gangboard.celery", "beat", "--schedule", str(schedule)),
        *("--loglevel", "WARNING"),
    )
    return Child("The beat process", argv, _CELERY, folder)


def simulator(
    name: str, *, fleet: str, hold: bool, kubeconfig: Path, reader_kubeconfig: Path, folder: Path
) -> Child:
    """Return a simulated cluster, which writes both kubeconfigs when it listens."""
    argv = python_module(
        "simulator",
        *("--fleet", fleet, "--name", name, "--kubeconfig", str(kubeconfig)),
        *("--reader-kubeconfig", str(reader_kubeconfig)),
        *(() if hold else ("--no-hold",)),
    )
    return Child(f"The simulated cluster {name}", argv, folder=folder)
