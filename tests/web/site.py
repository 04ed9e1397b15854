"""The pages served as in production, over rows that a test writes: for tests with a real browser.

python -m tests.web.site: fill the database of DATABASE_URL.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import urllib3

from gangboard.serving.web_server import WEB_SERVER
from tests import migrated
from tests.controlplane.supervisor import Supervisor
from tests.services import free_port

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from gangboard.store.models import Cluster

ROOT = Path(__file__).resolve().parent.parent.parent
NAME, PASSWORD = "olga", "correct horse battery staple"
BATCH = "b" * 32
CHECK = "c" * 32
TRIALS = {"answered": "1" * 32, "failed": "2" * 32, "refused": "3" * 32, "actor": "4" * 32}
"""Results of trials of clusters, by what came of them."""
START_SECONDS = 60.0


class Site:
    """A web process of its own on a file database; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "site.sqlite3"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{self.database}",
            "GANGBOARD_STATE": str(folder / "state"),
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            "GANGBOARD_LOGS": "on",
        }
        self._folder = folder
        self._guard: Supervisor | None = None

    def __enter__(self) -> Self:
        migrated.copy_to(self.database)
        self._run("-m", "tests.web.site")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the web process and wait until it answers."""
        self._guard = Supervisor(self._folder)
        self._guard.start(
            "web",
            [
                *(sys.executable, "-m", "granian", *WEB_SERVER),
                *("--host", "127.0.0.1", "--port", str(self.port)),
                *("--workers-kill-timeout", "1"),
            ],
            self.environment,
            self._folder / "web.log",
            cwd=ROOT,
        )
        give_up_at = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up_at:
            try:
                if urllib3.request("GET", f"{self.url}/sign-in/", retries=False).status == 200:
                    return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        message = (self._folder / "web.log").read_text()[-3000:]
        raise AssertionError(f"the pages were not served within {START_SECONDS:g} s: {message}")

    def stop(self) -> None:
        """End the web process."""
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    def _run(self, *arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], cwd=ROOT, env=self.environment, check=True)

    def manage(self, *arguments: str) -> None:
        """Run a management command on its database."""
        self._run("manage.py", *arguments)

    def sign_in_link(self, name: str) -> str:
        """Make a viewer; return the address of a link that signs it in once."""
        created = subprocess.run(
            [sys.executable, "manage.py", "create_user", name, "--role", "viewer"],
            cwd=ROOT,
            env={**self.environment, "GANGBOARD_URL": self.url},
            check=True,
            capture_output=True,
            text=True,
        )
        return created.stdout.splitlines()[-1]

    def write(self, statement: str, *values: object) -> None:
        """Change rows and move the data version with them, in one transaction as the poll does."""
        with sqlite3.connect(self.database, timeout=20) as connection:
            connection.execute(statement, values)
            connection.execute("UPDATE store_cluster SET data_version = data_version + 1")
        connection.close()

    def read(self, query: str, *values: object) -> str:
        """Return one value."""
        with sqlite3.connect(self.database, timeout=20) as connection:
            result = connection.execute(query, values).fetchone()
        connection.close()
        return "" if result is None else str(result[0])

    def action_id(self, state: str) -> str:
        """Return the id of the newest action in a state."""
        query = "SELECT id FROM store_action WHERE state = ? ORDER BY requested_at DESC"
        return self.read(query, state)

    def target(self, gang: str, index: int) -> str:
        """Return one Job of a run as addresses name it."""
        query = (
            "SELECT c.name || '/batch/Job/' || g.namespace || '/' || g.name || '-workers-' || ?1"
            " || '/' || g.uid || '-job-' || ?1 || '/3'"
            " FROM store_gang g JOIN store_cluster c ON c.id = g.cluster_id WHERE g.name = ?2"
        )
        return self.read(query, index, gang)

    def gone_gang_id(self, name: str) -> str:
        """Return the id of a gang of which only the history is left."""
        return self.read("SELECT gang_id FROM store_verdictspan WHERE name = ?", name)

    def row_id(self, table: str, name: str) -> str:
        """Return the id of a row by its name."""
        return self.read(f"SELECT id FROM {table} WHERE name = ?", name)

    def gang_id(self, name: str) -> str:
        """Return the id of a gang."""
        with sqlite3.connect(self.database, timeout=20) as connection:
            result = connection.execute("SELECT id FROM store_gang WHERE name = ?", (name,))
            return str(result.fetchone()[0])


def fill() -> None:
    """Write a fleet that answers for the next ten hours, one cluster that is silent, and a user."""
    from datetime import timedelta

    from django.utils import timezone

    from gangboard.domain.health import Health
    from gangboard.store import people
    from gangboard.store.gangs import Detail
    from tests import factories
    from tests.readmodels import room

    now = timezone.now()
    later = now + timedelta(hours=10)
    cluster = factories.make_cluster("eu-train", now=later)
    lab = factories.make_cluster("lab", now=now, contact_at=now - timedelta(minutes=4))
    factories.make_heartbeats(now=later)
    for resource in ("pods", "jobs.batch"):
        factories.make_resource(cluster, resource)
    factories.make_resource(
        cluster,
        "workloads.kueue.x-k8s.io",
        state="forbidden",
        sentence="The reader may not list it.",
    )
    group = factories.make_podgroup(cluster, "llama-workers-0", now=now)
    jobs = ("llama-workers-0", "llama-workers-1")
    factories.make_gang(
        cluster,
        "llama-sft",
        now=now,
        held=8,
        desired=16,
        labels={"team": "nlp", "a.example/tier": "gold", **{f"step-{n}": "done" for n in range(8)}},
        submitter="kubectl-client-side-apply",
        submitter_source="field-manager",
        detail=Detail(
            findings=(
                factories.make_finding(),
                factories.make_finding("job-suspended", health=Health.SUSPENDED),
            ),
            jobs=(factories.make_job(jobs[0]), factories.make_job(jobs[1], held=True)),
            members=tuple(
                member for health in Health for member in factories.make_members(jobs[0], 2, health)
            ),
            groups=(group.meta.ref,),
            fit=room.make_fleet_fit(),
        ),
    )
    room.make_fleet_nodes(cluster, now=later)
    for health in Health:
        factories.make_gang(
            cluster,
            f"is-{health.value}",
            now=now,
            health=health,
            labels={"team": "vision"},
            submitter="ada@example.com",
            submitter_source="annotation",
        )
    fill_history(cluster, now)
    fill_usage(cluster, now)
    factories.make_gang(lab, "in-the-lab", now=now, health="running")
    fill_acting(later, now)
    user, _ = people.create_user(name=NAME, role="admin")
    user.set_password(PASSWORD)
    user.save()
    fill_trials(user.pk, later)
    fill_check(user.pk, later)
    fill_people(now)
    fill_messages(user, now)


def fill_messages(user: User, now: datetime) -> None:
    """Write a channel for people, a webhook that fails, rules, and messages in each state."""
    from datetime import timedelta

    from gangboard.notify.outbox import LEFT_OUT
    from gangboard.store.models import Channel, Delivery, Gang, Rule
    from gangboard.store.secrets import seal

    sealed = seal({"address": "slack://canary", "secret": ""})
    ops = Channel.objects.create(
        name="ops-room",
        kind="apprise",
        service="Slack",
        address=sealed,
        created_at=now,
        sent_at=now,
    )
    robot = Channel.objects.create(
        name="autoscaler",
        kind="webhook",
        service="https://scaler.example.com",
        address=sealed,
        for_everybody=True,
        error="The receiver answered with 503.",
        failures=4,
        next_at=now + timedelta(seconds=80),
        created_at=now,
    )
    gang = Gang.objects.get(name="llama-sft")
    columns: tuple[dict[str, Any], ...] = (
        {"name": "Large runs wait", "trigger": "waits", "minutes": 10, "accelerators_at_least": 64},
        {"name": "Holds end", "trigger": "hold-ends", "minutes": 30, "namespace": "team-*"},
        {"name": "llama-sft runs", "trigger": "runs", "gang_id": gang.pk},
    )
    for each in columns:
        rule = Rule.objects.create(owner=user, created_at=now, **each)
        rule.channels.set([ops, robot])
    Rule.objects.filter(name="Holds end").update(muted_until=now + timedelta(hours=8))
    messages = (
        (ops, "sent", 1, ""),
        (robot, "failed", 4, "The receiver answered with 503."),
        (robot, "given-up", 0, LEFT_OUT),
    )
    for channel, state, attempts, error in messages:
        Delivery.objects.create(
            rule=rule,
            channel=channel,
            items=[{"type": "more", "count": 3}],
            state=state,
            attempts=attempts,
            error=error,
            next_at=now,
            created_at=now,
            finished_at=None if state == "failed" else now,
        )


def fill_check(user_id: int, later: datetime) -> None:
    """Write a check of one person: two gangs, each with a forecast in two clusters."""
    import zlib
    from dataclasses import replace

    from gangboard.domain.check import CheckedGang, CheckVerdict, ClusterCheck
    from gangboard.domain.forecast import ManifestFault
    from gangboard.domain.objects import ObjectRef
    from gangboard.store.models import CheckRun, Cluster, Gang
    from gangboard.store.objects import pack
    from gangboard.store.secrets import seal_bytes

    stored = Gang.objects.get(name="llama-sft")
    columns = {
        field.attname: getattr(stored, field.attname) for field in Gang._meta.concrete_fields
    }
    gang = CheckedGang(
        1,
        "batch",
        "Job",
        "research",
        "llama-next",
        CheckVerdict.WOULD_WAIT,
        stored.code,
        row=columns,
    )
    behind = ObjectRef("jobset.x-k8s.io", "JobSet", "research", "llama", "uid-llama")
    note = "Job llama-next exists in this cluster. The check assumes that it is deleted first."
    waiting = replace(gang, behind=(behind,), notes=(note,))
    running = replace(
        gang,
        verdict=CheckVerdict.WOULD_RUN,
        code="running",
        message="All 8 pods fit on 2 nodes now.",
        row=None,
    )
    fault = ManifestFault("spec.parallelism", "It is -1, and 0 is the smallest number.")
    faulty = replace(
        gang,
        number=2,
        name="flan",
        verdict=CheckVerdict.WOULD_BLOCK,
        code="manifest-refused",
        message=f"{fault.field}: {fault.sentence}",
        row=None,
        faults=(fault,),
    )
    answers = {"eu-train": (waiting, faulty), "gpu-east": (running, faulty)}
    for name, gangs in answers.items():
        cluster = Cluster.objects.get(name=name)
        notes = ("ConfigMap files is of no kind that makes gangs, so the check ignores it.",)
        answer = ClusterCheck(cluster.pk, name, gangs, notes=notes)
        CheckRun.objects.create(
            id=f"{cluster.pk:032}",
            check_id=CHECK,
            user_id=user_id,
            cluster=cluster,
            state="answered",
            answer=seal_bytes(zlib.compress(pack(answer))),
            created_at=later,
            expires_at=later,
        )


def fill_trials(user_id: int, later: datetime) -> None:
    """Write three trials of clusters of one person."""
    from gangboard.store.models import ClusterTrial

    server = "https://10.1.2.3:6443"
    results: dict[str, dict[str, Any]] = {
        "answered": {
            "sentence": "Cluster prod answers, v1.37.2, may read 1 of 2 kinds; not pods.",
            "readable": ["jobs.batch"],
            "unreadable": ["pods"],
            "server_version": "v1.37.2",
            "access": b"sealed",
        },
        "failed": {
            "code": "unreachable",
            "sentence": "10.1.2.3:6443 refuses connections: nothing listens there.",
            "contexts": ["prod", "test"],
            "access": b"sealed",
        },
        "refused": {
            "code": "credentials",
            "sentence": "The kubeconfig runs a program to log in (exec), which gangboard never does.",
            "commands": ["manage.py print_rbac | kubectl apply -f -", "kubectl config view"],
        },
        "actor": {
            "purpose": "actor",
            "sentence": "Cluster prod answers the actor, v1.37.2: it may use 1 of 3 levers in every namespace; "
            "2 of 3 in research.",
            "levers": [
                {
                    "lever": "suspend",
                    "title": "Suspend a whole gang",
                    "missing": [],
                    "namespaces": [],
                },
                {
                    "lever": "native",
                    "title": "Suspend one Job by itself",
                    "missing": [["patch", "jobs.batch"]],
                    "namespaces": ["research"],
                },
                {
                    "lever": "hold",
                    "title": "Hold one Job",
                    "missing": [["create", "holds.gangboard.dev"], ["patch", "jobs.batch"]],
                    "namespaces": [],
                },
            ],
            "server_version": "v1.37.2",
            "access": b"sealed",
        },
    }
    for name, result in results.items():
        ClusterTrial.objects.create(
            id=TRIALS[name],
            user_id=user_id,
            **{"purpose": "add", **result},
            name="prod",
            state="failed" if "code" in result else "answered",
            server=server,
            created_at=later,
            expires_at=later,
        )


def fill_people(now: datetime) -> None:
    """Write people with and without roles, tokens, and roles of groups."""
    from datetime import timedelta

    from django.contrib.auth.models import User

    from gangboard.store import authentication, group_roles, people
    from gangboard.store.models import Identity

    for number, name in enumerate(("vera", "oskar", "nils", "robot-ci", "maria.lopez@example.org")):
        user, _ = people.create_user(
            name=name, role="viewer", cluster_name="eu-train", namespace="research"
        )
        User.objects.filter(pk=user.pk).update(last_login=now - timedelta(hours=7 * number + 1))
        groups = ["ml-research", "everybody"][: 1 + number % 2]
        Identity.objects.create(user=user, issuer="https://id", subject=name, groups=groups)
        authentication.issue_token(user=user, days=7 * number + 2)
    oskar = people.require_user("oskar")
    people.grant_role(user=oskar, role="operator", cluster_name="gpu-east", namespace="research")
    authentication.issue_token(user=oskar, may_act=True)
    people.disable_user(name="nils")
    group_roles.grant_group(group="ml-research", role="viewer", cluster_name="gpu-east")
    group_roles.grant_group(
        group="platform", role="operator", cluster_name="gpu-west", namespace="vision"
    )
    User.objects.create_user("newcomer")


def fill_history(cluster: Cluster, now: datetime) -> None:
    """Write gangs with a past: one that waits again, five like it that ran, one that is gone."""
    from datetime import timedelta

    from tests import factories

    born = now - timedelta(hours=5)
    verdicts = ("forming", 2), ("room", 55), ("images", 12), ("runs", 150), ("unknown", 9)
    waits = factories.make_gang(cluster, "has-a-past", now=now, created_at=born)
    factories.make_history(waits, born, *verdicts, ("runs", 40), ("failed", 0.2), ("room", 0))
    for minutes in range(5):
        case = factories.make_gang(cluster, f"ran-{minutes}", now=now, created_at=born)
        factories.make_history(case, born, ("room", 30 + minutes), ("runs", 60), gone=True)
        case.delete()
    deleted_gang = factories.make_gang(cluster, "is-gone", now=now, created_at=born, uid="uid-gone")
    factories.make_history(deleted_gang, born, ("quota", 20), ("held", 30), ("room", 40), gone=True)
    deleted_gang.delete()
    goes = factories.make_gang(cluster, "will-go", now=now, created_at=born)
    factories.make_history(goes, born, ("room", 40), ("runs", 60), gone=True)
    flaps = factories.make_gang(cluster, "will-flap", now=now, created_at=born)
    factories.make_history(flaps, born, *(("runs", 20.0), ("below", 3.0)) * 6)


def fill_usage(cluster: Cluster, now: datetime) -> None:
    """Write accelerator time of three weeks with an outage, and a gang that loses its place again and again."""
    from datetime import timedelta

    from gangboard.store.models import Cluster, Gang
    from tests import factories

    Cluster.objects.filter(pk=cluster.pk).update(usage_since=now - timedelta(days=18))
    factories.make_outage(cluster, now - timedelta(hours=30), now - timedelta(hours=26))
    reasons = (
        ("run", "running", {"used": 3.2e6}),
        ("placement", "fragmented", {"held": 2.1e5, "eligible": 9.4e5}),
        ("admission", "waiting-for-quota", {"ineligible": 1.3e6}),
        ("run", "not-observed", {"unobserved": 4.6e4}),
    )
    for days in range(0, 18, 3):
        for number, namespace in enumerate(("research", "vision", "speech")):
            for stage, code, amounts in reasons:
                factories.make_usage(
                    cluster,
                    now=now - timedelta(days=days),
                    namespace=namespace,
                    queue=("gpu-prod", "gpu-batch", "")[number],
                    stage=stage,
                    code=code,
                    **{name: value / (number + 1) for name, value in amounts.items()},
                )
    victim = Gang.objects.get(cluster=cluster, name="will-flap")
    for hours in (0.5, 1.1, 2.2, 27, 50):
        factories.make_eviction(victim, at=now - timedelta(hours=hours))
    other = Gang.objects.get(cluster=cluster, name="has-a-past")
    requeued = {"code": "requeued", "reason": "PodsReadyTimeout", "taker_name": ""}
    factories.make_eviction(other, at=now - timedelta(hours=4), **requeued)


def fill_acting(later: datetime, now: datetime) -> None:
    """Write a cluster with the Hold and one without, a run in each, and actions in some states."""
    from tests.placed_jobs import place_job
    from tests.web import acting

    east = acting.make_acting_cluster("gpu-east", now=later)
    west = acting.make_acting_cluster("gpu-west", now=later, hold=False)
    run = acting.make_run(east, "llama", now=now)
    acting.hold_job(east, run, 0, now=now)
    place_job(east, run, "llama-workers-2", {"gpu-07": 1, "gpu-08": 1}, spare=2, now=now)
    acting.make_run(west, "mixtral", now=now)
    new_record = acting.make_record(east, run, now=now)
    for action in (new_record["held"], new_record["watching"]):
        action.batch = BATCH
        action.save(update_fields=["batch"])
    fill_queues(east)
    fill_trends(east, now)
    fill_plan(east, now)


def fill_plan(cluster: Cluster, now: datetime) -> None:
    """Write a plan with a command, a gang to suspend and pods to move."""
    from gangboard.domain.cluster_plan import (
        ClusterPlan,
        PlanGain,
        PlanStep,
        PlanStepKind,
        UntriedGangs,
    )
    from gangboard.domain.objects import ObjectRef, node_ref
    from gangboard.store.cluster_plans import save_plan
    from gangboard.store.models import Gang

    gangs = [
        ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
        for gang in Gang.objects.filter(cluster=cluster, gone_at=None).order_by("name")[:3]
    ]
    pods = tuple(
        ObjectRef("", "Pod", "web", f"front-{index}", f"uid-front-{index}") for index in range(3)
    )
    gains = (PlanGain(tuple(gangs[:2]), 5, 2, 8),)
    steps = (
        PlanStep(PlanStepKind.UNCORDON, gains, 24, (node_ref("h100-2"), node_ref("h100-7"))),
        PlanStep(PlanStepKind.MOVE_PODS, gains, 16, (node_ref("h100-3"),), pods=pods),
        PlanStep(PlanStepKind.STOP_WHOLE, gains, 16, gangs=tuple(gangs[2:])),
    )
    untried = (UntriedGangs(PlanStepKind.MOVE_PODS, 2, 16),)
    plan = ClusterPlan(steps, gains, 9, 120, 2, is_complete=False, untried=untried)
    save_plan(cluster.pk, plan, at=now)


def fill_queues(cluster: Cluster) -> None:
    """Write a queue that has lent and one that is stopped, and two gangs in line."""
    from gangboard.domain.quota import QueueState
    from tests import stored_queues as queues
    from tests.domain_objects import a_queue, shared_quota

    queues.serve(cluster)
    first, second = queues.waits("first-in-line", priority=5), queues.waits("second-in-line")
    queues.store(
        cluster,
        a_queue("gpu", cohort="all", quotas=(queues.gpus("8", "10", "2"),), pending=2),
        a_queue("idle", cohort="all", quotas=(queues.gpus("4"),), state=QueueState.STOPPED),
        shared_quota("all"),
        queues.has("has-quota", "10"),
        *(first, second),
    )
    for entry in (first, second):
        queues.gang_of(cluster, entry)


def fill_trends(cluster: Cluster, now: datetime) -> None:
    """Write a day of points with a gap of two hours."""
    from datetime import timedelta

    from gangboard.store.models import TrendPoint

    begin = now.replace(minute=0, second=0, microsecond=0)
    for hours in (*range(6), *range(8, 24)):
        index = begin - timedelta(hours=hours)
        reasons = {"placement/insufficient-resources": [2, 16.0 + hours]}
        numbers = {"used": 40.0, "held": 6.0, "free": 12.0, "away": 8.0, "waiting": 16.0 + hours}
        TrendPoint.objects.create(
            cluster=cluster, at=index, is_lasting=True, gangs={}, reasons=reasons, **numbers
        )


if __name__ == "__main__":
    import django

    django.setup()
    fill()
