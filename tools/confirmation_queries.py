"""Database queries of the confirmation of 50 Jobs of one JobSet, the maximum of one click."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gangboard.domain.action import ActionTarget
from gangboard.kube.credentials import read_kubeconfig
from gangboard.pages.core.forms import write_target
from gangboard.polling.poll import poll_once
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Cluster, Grant
from gangboard.store.secrets import seal
from simulator import Simulator
from tools.pages_benchmark import throwaway_database
from tools.watch_event_walk import FLEET, NAMESPACE

PATH = "/actions/confirm/"


def page_queries() -> int:
    """Return the number of queries of the page."""
    return _queries()[0]


def submit_queries() -> int:
    """Return the number of queries of its button."""
    return _queries()[1]


@cache
def _queries() -> tuple[int, int]:
    with throwaway_database(), Simulator(FLEET, story=False) as simulator:
        return count_queries(simulator)


def count_queries(simulator: Simulator) -> tuple[int, int]:
    """Return the queries of the page and of its button for all Jobs of the JobSet, in the connected database."""
    credentials = read_kubeconfig(simulator.kubeconfig_text())
    cluster = add_cluster(
        name="confirmation", document=credentials.to_document(), server=credentials.server
    )
    Cluster.objects.update(actor_credentials=seal(credentials.to_document()))
    poll_once(cluster.name)
    user = User.objects.create_user("operator")
    Grant.objects.create(user=user, role="operator", cluster=cluster, namespace=NAMESPACE)
    client = Client()
    client.force_login(user)
    session = client.session
    session["signed_in_at"] = time.time()  # several targets need a fresh sign-in
    session.save()
    query: dict[str, Any] = {"verb": "suspend", "target": _targets(simulator, cluster)}
    client.get(PATH, query)  # Fills the caches of the process.
    with CaptureQueriesContext(connection) as page_capture:
        _expect(client.get(PATH, query), 200)
    with CaptureQueriesContext(connection) as submit_capture:
        _expect(client.post(PATH, {**query, "reason": "A measure.", "key": "k" * 20}), 303)
    return len(page_capture), len(submit_capture)


def _targets(simulator: Simulator, cluster: Cluster) -> list[str]:
    jobs = [job["metadata"] for job in simulator.objects.list("batch/v1", "Job", NAMESPACE)]
    return [
        write_target(
            ActionTarget(
                *(cluster.name, "batch", "Job", NAMESPACE),
                name=job["name"],
                uid=job["uid"],
                generation=job["generation"],
            )
        )
        for job in jobs
    ]


def _expect(response: HttpResponseBase, status: int) -> None:
    if response.status_code != status:
        raise RuntimeError(f"{PATH} answered {response.status_code}, not {status}")
