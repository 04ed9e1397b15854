"""Cost of Board and Reasons by number of gangs, with a generated fleet in a separate database."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment, teardown_test_environment
from django.utils import timezone

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import NOT_WHOLE, Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Evidence, Finding, FitReason, FitRow, MemberState
from gangboard.plugins import registry
from gangboard.store.gangs import Detail, gang_id, pack_advice, pack_detail
from gangboard.store.models import Cluster, Gang, Grant, Heartbeat, TrendPoint
from gangboard.store.trends import QUARTER, quarter_of

PAGES = {"Board": "/", "Reasons": "/reasons/"}
GROWTH = 1.5
"""Maximum ratio of the times with the most and the fewest gangs."""
CLUSTERS = 4
GANGS_PER_NAMESPACE = 50
PODS = 16
BATCH = 1000
_STATES: tuple[tuple[Health, Stage, str, int], ...] = (
    (Health.RUNNING, Stage.RUN, "running", 55),
    (Health.SUCCEEDED, Stage.RUN, "succeeded", 12),
    (Health.SUSPENDED, Stage.ADMISSION, "suspended", 5),
    (Health.FAILED, Stage.RUN, "failed", 1),
    (Health.STARTING, Stage.START, "containers-starting", 3),
    (Health.DEGRADED, Stage.RUN, "node-lost", 2),
    (Health.DEGRADED, Stage.PLACEMENT, "partly-placed", 2),
    (Health.BLOCKED, Stage.PLACEMENT, "exceeds-capacity", 3),
    (Health.WAITING, Stage.PLACEMENT, "insufficient-resources", 7),
    (Health.WAITING, Stage.PLACEMENT, "fragmented", 4),
    (Health.WAITING, Stage.ADMISSION, "waiting-for-quota", 6),
)
"""Health, stage, code and percentage of gangs."""


@dataclass(frozen=True, slots=True)
class PageCost:
    """One page at one fleet size. Seconds are CPU time of this process on SQLite, else elapsed time."""

    page: str
    gangs: int
    seconds: float
    """Median."""
    kilobytes: float


@contextmanager
def throwaway_database() -> Iterator[None]:
    """Create an empty database beside the configured one, and drop it after the block."""
    setup_test_environment(debug=False)
    configured = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(configured, verbosity=0)
        teardown_test_environment()


class Bench:
    """Requests pages of a growing fleet as a viewer of all clusters."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  # no secret
        self._now = timezone.now()
        self._kind = registry.owner_kinds()[0].resource
        self._clusters = [self._cluster(number) for number in range(CLUSTERS)]
        self._record_a_day()
        for kind in ("poll", "act", "beat", "poll-orders", "act-orders"):
            Heartbeat.objects.create(name=kind, kind=kind, beat_at=self._now, began_at=self._now)
        user = User.objects.create_user("benchmark")
        Grant.objects.create(user=user, role="admin", cluster=None, namespace="")
        self._client = Client()
        self._client.force_login(user)
        self._gangs = 0

    def _cluster(self, number: int) -> Cluster:
        return Cluster.objects.create(
            name=f"benchmark-{number}",
            server=f"https://benchmark-{number}.example:6443",
            credentials=b"",
            contact_at=self._now,
            listed_at=self._now,
            discovered_at=self._now,
            server_version="v1.37.0",
        )

    def _record_a_day(self) -> None:
        """Write the points of the curves that the pages show."""
        reasons = {
            f"{stage.value}/{code}": [9, 72.0]
            for health, stage, code, _ in _STATES
            if health in NOT_WHOLE
        }
        TrendPoint.objects.bulk_create(
            TrendPoint(
                cluster=cluster,
                at=quarter_of(self._now) - QUARTER * number,
                is_lasting=True,
                gangs={health.value: 40 + number % 7 for health in Health},
                waiting=500.0 + number,
                reasons=reasons,
                used=900.0,
                held=20.0,
                free=100.0 - number % 5,
                away=8.0,
            )
            for cluster in self._clusters
            for number in range(96)
        )

    def grow(self, gangs: int) -> None:
        """Add gangs up to a total number."""
        while self._gangs < gangs:
            many = min(BATCH, gangs - self._gangs)
            Gang.objects.bulk_create(self._gang(self._gangs + offset) for offset in range(many))
            self._gangs += many
        with connection.cursor() as cursor:
            # PostgreSQL does both by itself, a minute later.
            cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")

    def measure(self, times: int) -> list[PageCost]:
        """Request each page `times` times, after a warm-up request."""
        return [self._measure(page, path, times) for page, path in PAGES.items()]

    def _measure(self, page: str, path: str, times: int) -> PageCost:
        clock = time.process_time if connection.vendor == "sqlite" else time.perf_counter
        # A benchmark must keep the clusters fresh, as running pollers do.
        Cluster.objects.update(contact_at=timezone.now())
        Heartbeat.objects.update(beat_at=timezone.now())
        durations = []
        size = 0
        for _ in range(times + 1):
            start = clock()
            answer = self._client.get(path)
            durations.append(clock() - start)
            if answer.status_code != 200:
                raise RuntimeError(f"{path} answered {answer.status_code}")
            size = len(answer.content)
        return PageCost(page, self._gangs, statistics.median(durations[1:]), size / 1000)

    def _gang(self, number: int) -> Gang:
        cluster = self._clusters[number % CLUSTERS]
        health, stage, code, _ = self._random.choices(
            _STATES, weights=[state[3] for state in _STATES]
        )[0]
        namespace = f"team-{number // GANGS_PER_NAMESPACE}"
        uid = f"benchmark-{number}"
        gpus = self._random.choice((1, 2, 4, 8))
        since = self._now - timedelta(seconds=self._random.randrange(1, 500_000))
        message = f"{PODS} pods need {gpus} nvidia.com/gpu each; 5 are free on the eligible nodes."
        text = f"Suspend {namespace}/run-{number - 1}: then all {PODS} pods fit."
        advice = (AdvisedStep(text, AdviceKind.SUSPEND_GANGS),)
        waits = stage is Stage.PLACEMENT
        return Gang(
            id=gang_id(cluster.name, uid),
            cluster=cluster,
            api_group=self._kind.group,
            api_version=self._kind.versions[0],
            kind=self._kind.kind,
            namespace=namespace,
            name=f"run-{number}",
            uid=uid,
            generation=1,
            health=health.value,
            severity=health.severity,
            stage=stage.value,
            code=code,
            title=code.replace("-", " ").capitalize(),
            message=message,
            advice=pack_advice(advice) if waits else [],
            desired=PODS,
            quorum=PODS,
            created=PODS,
            scheduled=0 if waits else PODS,
            ready=PODS if health is Health.RUNNING else 0,
            requests={"cpu": str(PODS * 8), "nvidia.com/gpu": str(PODS * gpus)},
            accelerators=PODS * gpus,
            queue=f"queue-{number // (GANGS_PER_NAMESPACE * 4)}",
            priority="normal",
            priority_value=0,
            created_at=since - timedelta(minutes=1),
            since=since,
            observed_at=self._now,
            first_seen_at=since,
            detail=_detail(number, namespace, health, stage, code, message, advice, gpus),
            memory=b"",
        )


def _detail(
    number: int,
    namespace: str,
    health: Health,
    stage: Stage,
    code: str,
    message: str,
    advice: tuple[AdvisedStep, ...],
    gpus: int,
) -> bytes:
    def ref(index: int) -> ObjectRef:
        return ObjectRef("", "Pod", namespace, f"run-{number}-{index}", f"pod-{number}-{index}")

    waits = stage is Stage.PLACEMENT
    members = tuple(
        MemberState(
            ref(index),
            f"run-{number}",
            "" if waits else f"node-{(number + index) % 5000}",
            health,
            "ready",
        )
        for index in range(PODS)
    )
    evidence = tuple(Evidence(f"Pod {index}", "Pending", ref(index)) for index in range(4))
    finding = Finding(
        code, health, stage, code.capitalize(), message, evidence=evidence, advice=advice
    )
    fit = FitRow(
        f"run-{number}",
        "workers",
        PODS,
        {"cpu": "8", "nvidia.com/gpu": str(gpus)},
        fits_now=3,
        fits_empty=20,
        nodes=5000,
        open_nodes=0,
        saturated=(FitReason(("nvidia.com/gpu", "cpu", "memory")[number % 3], 400),),
        excluded=(FitReason("node selector or required node affinity", 4600),),
    )
    return pack_detail(Detail((finding,), (), members, fit=(fit,) if waits else ()))
