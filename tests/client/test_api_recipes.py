"""The recipes of docs/api.md work verbatim, in curl and as one line of the client.

The test replaces only the server address and the token. The server is the real application over HTTP.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.utils import timezone

from gangboard.pages.events import api as events_api
from gangboard.store.models import Action, Cluster, Gang, ResourceState, VerdictSpan
from tests.api.conftest import Run as Runs
from tests.api.conftest import token_of
from tests.client.conftest import FakeClock, serving
from tests.client.conftest import Run as RunClient
from tests.client.recipes import BLOCKS, RECIPES, SETUP, Ran, Shell
from tests.factories import make_cluster, make_gangs, make_resource
from tests.pages.test_events import NoWatch, happened
from tests.readmodels.room import make_capacity, make_node
from tests.stored_jobsets import HOLDS, make_hold

pytestmark = pytest.mark.usefixtures("runs")


def test_ten_recipes_have_a_script_and_a_line() -> None:
    assert list(RECIPES) == list(range(1, 11))
    counted = [(len(recipe.scripts), len(recipe.lines)) for recipe in RECIPES.values()]
    assert counted == [(1, 1)] * 10
    assert (len(SETUP), len(BLOCKS)) == (1, 11)


@dataclass
class Kitchen:
    """A shell and a client that ask the same server."""

    shell: Shell
    run_client: RunClient
    steps: list[tuple[str, Callable[[], object]]]
    """Events before the server reads a request: a prefix of `METHOD path` and a function."""

    def curl(self, number: int) -> Ran:
        """Run a recipe."""
        return self.shell.run(RECIPES[number].scripts[0])

    def client(self, number: int) -> Ran:
        """Run the line of the client."""
        result: Ran = self.run_client(*shlex.split(RECIPES[number].lines[0]))
        return result


@pytest.fixture
def kitchen(
    runs: dict[str, Runs],
    tmp_path: Path,
    run: RunClient,
    fake_clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Kitchen]:
    """An admin with an acting token who has run the preparations of the page."""
    steps: list[tuple[str, Callable[[], object]]] = []
    django = WSGIHandler()

    def application(environ: dict[str, Any], start: Any) -> Any:
        requested = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        if steps and requested.startswith(steps[0][0]):
            steps.pop(0)[1]()
        return django(environ, start)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(events_api, "feed_watch", NoWatch())
    no_pause = tmp_path / "sleep"
    no_pause.write_text("#!/bin/sh\n")
    no_pause.chmod(0o755)
    token = token_of("admin", may_act=True)
    with serving(application) as address:
        monkeypatch.setenv("GANGBOARD_SERVER", address)
        monkeypatch.setenv("GANGBOARD_TOKEN", token)
        shell = Shell(address, tmp_path)
        prepared = shell.prepare(token)
        assert (prepared.code, prepared.err) == (0, "")
        assert prepared.out == "admin\nMay see everything, may act and administer.\n"
        assert (tmp_path / ".gangboard-curl").stat().st_mode & 0o777 == 0o600
        yield Kitchen(shell, run, steps)


@pytest.fixture
def gang(runs: dict[str, Runs]) -> Gang:
    """The gang of the recipes."""
    return runs["east/team-a"].gang


def become(gang: Gang, health: str, **columns: Any) -> None:
    Gang.objects.filter(pk=gang.pk).update(health=health, **columns)


def finish(state: str = "verified") -> None:
    Action.objects.update(state=state, message="So it is.", finished_at=timezone.now())


def test_recipe_1_explains_a_gang(kitchen: Kitchen, gang: Gang) -> None:
    become(gang, "blocked", message="It needs 8 GPUs on one node.", advice=["Ask for less."])
    assert kitchen.curl(1) == Ran(
        0, "JobSet run is blocked: It needs 8 GPUs on one node.\nNext: Ask for less.\n", ""
    )
    assert kitchen.client(1).code == 1
    become(gang, "running", advice=[])
    Cluster.objects.update(contact_at=timezone.now() - timedelta(seconds=60))
    assert kitchen.curl(1).out.startswith("JobSet run is running (stale): ")
    assert kitchen.client(1).code == 2


@pytest.mark.parametrize(("ending", "code"), [("running", 0), ("failed", 1)])
def test_recipe_2_waits(
    kitchen: Kitchen, gang: Gang, monkeypatch: pytest.MonkeyPatch, ending: str, code: int
) -> None:
    def happens() -> None:
        VerdictSpan.objects.update(ended_at=timezone.now())
        become(gang, ending)
        happened(gang.cluster, "run", ending, gang_id=gang.pk, namespace="team-a")

    monkeypatch.setattr(events_api, "feed_watch", NoWatch(happens, happens))
    become(gang, "waiting")
    assert kitchen.curl(2) == Ran(code, f"waiting\n{ending}\n", "")
    become(gang, "waiting")
    result = kitchen.client(2)
    assert (result.code, result.out.split(":")[0]) == (code, f"JobSet run is {ending}")


def test_recipe_3_alerts(kitchen: Kitchen, runs: dict[str, Runs]) -> None:
    assert (kitchen.curl(3), kitchen.client(3).code) == (Ran(0, "", ""), 0)
    for place, minutes in (("east/team-a", 11), ("east/team-b", 9)):
        started = timezone.now() - timedelta(minutes=minutes)
        become(runs[place].gang, "blocked", since=started, message="No.")
    assert kitchen.curl(3) == Ran(1, "east/team-a/JobSet/run: No.\n", "")
    result = kitchen.client(3)
    assert (result.code, len(result.out.splitlines())) == (1, 2)
    make_cluster("new", now=timezone.now(), listed_at=None)
    result = kitchen.curl(3)
    assert (result.code, len(result.out.splitlines())) == (2, 2)
    assert kitchen.client(3).code == 2


def test_recipe_4_lists_the_top_reason(kitchen: Kitchen, gang: Gang) -> None:
    become(gang, "blocked", stage="admission", code="exceeds-quota", accelerators=64, severity=1)
    messages = [line.partition(":")[0] for line in kitchen.curl(4).out.splitlines()]
    assert messages == ["64 accelerators, 1 gangs", "24 accelerators, 3 gangs"]
    rows = kitchen.client(4).out.splitlines()[1:]
    assert [row.split()[1:5] for row in rows] == [
        ["exceeds-quota", "1", "6", "64"],
        ["fragmented", "3", "24", "24"],
    ]


def test_recipe_5_follows_events(
    kitchen: Kitchen, gang: Gang, monkeypatch: pytest.MonkeyPatch
) -> None:
    def happens(name: str) -> Callable[[], object]:
        return lambda: happened(gang.cluster, name, message="It waits.", namespace="team-a")

    monkeypatch.setattr(events_api, "feed_watch", NoWatch(happens("b"), happens("d")))
    happens("a")()
    first = kitchen.curl(5)
    assert re.fullmatch(r"\S+Z east/team-a/b verdict: Too little is free\. It waits\.\n", first.out)
    happens("c")()
    assert " east/team-a/c " in kitchen.client(5).out.replace("JobSet/", "")
    assert " east/team-a/d " in kitchen.curl(5).out
    (kitchen.shell.home / "events.cursor").write_text("x")
    assert kitchen.curl(5).code != 0
    assert kitchen.client(5).code == 2


def test_recipe_6_holds_a_job(kitchen: Kitchen, gang: Gang) -> None:
    now = timezone.now()
    for hold in (kitchen.curl, kitchen.client):
        Action.objects.all().delete()
        # The client reads the action twice before it is done.
        kitchen.steps += [("GET /api/v1/actions/", lambda: None), ("GET /api/v1/actions/", finish)]
        result = hold(6)
        assert result.code == 0, result
        assert "So it is." in result.out.splitlines()[-1]
        action = Action.objects.get()
        assert (action.verb, action.kind, action.name) == ("suspend", "Job", "run-workers-0")
        assert (action.uid, action.reason) == (f"{gang.uid}-job-0", "gpu-07 is broken")
        assert action.until is not None
        assert abs(action.until - now - timedelta(hours=4)) < timedelta(minutes=1)


def test_recipe_6_reports_a_failed_hold(kitchen: Kitchen) -> None:
    kitchen.steps.append(("GET /api/v1/actions/", lambda: finish("reverted")))
    assert kitchen.curl(6) == Ran(1, "reverted: So it is.\n", "")
    Action.objects.update(state="sent", finished_at=None)
    result = kitchen.curl(6)
    assert (result.code, result.out.partition(":")[0]) == (1, "not taken")
    assert kitchen.client(6).code == 2
    assert Action.objects.count() == 1


def test_recipe_7_acts_once(kitchen: Kitchen) -> None:
    result = [kitchen.curl(7), kitchen.curl(7), kitchen.client(7)]
    action = Action.objects.get()
    assert result[0] == result[1] == Ran(0, f"action {action.pk} is requested\n", "")
    assert result[2].out == f"Taken, not done yet: action {action.pk} is requested.\n"
    assert (action.kind, action.name) == ("JobSet", "run")


def test_recipe_8_lists_holds_that_end_soon(kitchen: Kitchen, gang: Gang) -> None:
    ResourceState.objects.filter(resource=HOLDS).update(state="ok")
    make_resource(Cluster.objects.get(name="west"), HOLDS, state="not-served")
    now = timezone.now().replace(microsecond=0)
    for job, hours in (("run-workers-0", 3), ("run-workers-1", 1)):
        make_hold(gang.cluster, gang, job, until=now + timedelta(hours=hours))
    make_hold(gang.cluster, gang, "run-workers-2")
    until = f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    line = f"{until} east/team-a/run-workers-1, held by olga: gpu-07 throws ECC errors\n"
    assert kitchen.curl(8) == Ran(0, line, "")
    result = kitchen.client(8)
    assert (result.code, [row.split()[2] for row in result.out.splitlines()[1:]]) == (
        0,
        ["run-workers-1"],
    )


def test_recipe_9_lists_free_accelerators(kitchen: Kitchen, gang: Gang) -> None:
    ResourceState.objects.filter(resource="nodes", cluster=gang.cluster).update(state="ok")
    make_capacity(gang.cluster)
    for name in ("a", "b"):
        make_node(gang.cluster, name)
    lines = kitchen.curl(9).out.splitlines()
    assert lines[0] == "east: 4 of 16 nvidia.com/gpu are free"
    assert lines[1].startswith("west: ")
    assert len(lines) == 2
    result = kitchen.client(9)
    assert result.out.splitlines()[1].split() == [
        "east",
        "nvidia.com/gpu",
        "4",
        "16",
        "12",
        "4",
        "0",
    ]
    assert result.code == 2


def test_recipe_10_reads_all_pages(kitchen: Kitchen) -> None:
    make_gangs(Cluster.objects.get(name="west"), 120, now=timezone.now())
    result = kitchen.curl(10)
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert (result.code, len(rows), len({row["id"] for row in rows})) == (0, 126, 126)
    assert set(rows[0]) == {"id", "cluster", "namespace", "kind", "name", "health"}
    assert len(json.loads(kitchen.client(10).out)["results"]) == 126
