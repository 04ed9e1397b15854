"""A kind that is as strange as can be, in five files: its pods adopted by a label over a middle owner, stopped by a
POST, called Job as another one, its group named by an annotation, its queue another toy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import reverse

from gangboard.actions import drift_detection, service
from gangboard.actions.permissions.manifests import manifests
from gangboard.domain.action import ActionRequest, ActionTarget, Verb
from gangboard.kube.service_accounts import ACTOR
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.polling import poll
from gangboard.store.models import Action, Gang
from tests.actions.site import Site, at, make_site
from tests.project.toys import PLACE, ToyShop, dropped_in, simulator


@dataclass
class Nursery:
    """A watched cluster of toys."""

    site: Site
    shop: ToyShop

    def gang(self, group: str, name: str) -> Gang:
        return Gang.objects.get(api_group=group, name=name, gone_at=None)

    def ask(self, verb: Verb, name: str) -> str:
        """Ask as a person does, of the toy Job as it is stored; return the id of the action."""
        gang = self.gang("toys.example", name)
        target = ActionTarget(
            self.site.cluster.name, "toys.example", "Job", PLACE, name, gang.uid, None
        )
        request = ActionRequest(verb, target, "bed time", via="api")

        return service.request(
            self.site.viewer, request, now=self.site.clock.now(), clock=self.site.clock
        ).action_id

    def act(self, verb: Verb, name: str) -> Action:
        return self.site.engine().finish(self.ask(verb, name))


@pytest.fixture
def nursery(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nursery]:
    with dropped_in(monkeypatch), simulator() as cluster:
        shop = ToyShop(cluster)
        shop.toy("run", 4)
        late = shop.toy(
            "late", 2, status={"phase": "Waiting"}, labels={"toys.example/line": "slide"}
        )
        shop.ticket(late, "slide")
        shop.namesake("run")
        yield Nursery(make_site(cluster, name="toys"), shop)
        for cluster_id in list(poll._caches):
            poll.drop_cache(cluster_id)


def test_related_objects_form_one_gang_despite_equal_names(
    nursery: Nursery,
) -> None:
    gangs = {
        (gang.api_group, gang.kind, gang.name): gang for gang in Gang.objects.filter(gone_at=None)
    }
    assert set(gangs) == {
        ("toys.example", "Job", "run"),
        ("toys.example", "Job", "late"),
        ("batch", "Job", "run"),
    }
    toy = gangs["toys.example", "Job", "run"]
    assert (toy.code, toy.health) == ("running", "running")
    assert (toy.desired, toy.quorum, toy.created, toy.ready) == (4, 4, 4, 4)
    real = gangs["batch", "Job", "run"]
    assert (real.code, real.desired, real.quorum, real.ready) == ("running", 1, None, 1)


def test_a_queued_toy_waits_for_its_queue(nursery: Nursery) -> None:
    late = nursery.gang("toys.example", "late")
    assert (late.code, late.health) == ("queue-evaluating", "waiting")
    assert late.message.startswith("Queue slide has not admitted it yet")
    refused = nursery.act(Verb.RESUME, "late")
    assert refused.state == "refused"
    assert refused.message == (
        "Job late is in queue slide of Toy lines, which decides when it runs: gangboard knows no way to "
        "stop it there."
    )


def test_a_toy_is_stopped_by_one_command_and_confirmed_by_status(nursery: Nursery) -> None:
    with nursery.shop.at_work():
        action = nursery.act(Verb.SUSPEND, "run")
    assert (action.state, action.lever) == ("verified", "command"), action.message
    assert action.message == "Job run is suspended and stays so."
    sent = nursery.site.wire.changes
    assert [(item.verb, item.resource.plural) for item in sent if item.resource] == [
        ("create", "commands")
    ]
    (command,) = nursery.shop.commands()
    assert command["spec"]["word"] == "Stop"
    assert command["metadata"]["annotations"] == {"gangboard.dev/action": action.pk}
    nursery.site.poll()
    assert nursery.gang("toys.example", "run").health == "suspended"
    assert nursery.gang("batch", "run").health == "running"


def test_an_unconfirmed_stop_is_not_done(nursery: Nursery) -> None:
    action = nursery.act(Verb.SUSPEND, "run")
    assert action.state == "failed"
    assert "its controller does not confirm it" in action.message
    assert len(nursery.shop.commands()) == 1


@pytest.mark.parametrize("arrived", [True, False])
def test_a_command_with_a_lost_answer_is_not_sent_again(nursery: Nursery, arrived: bool) -> None:
    action_id = nursery.ask(Verb.SUSPEND, "run")

    def lose() -> None:
        faults = nursery.site.simulator.faults
        faults.reset(resource="commands", verb="create", count=1, applied=arrived)

    with nursery.shop.at_work():
        engine = nursery.site.engine(checkpoint=at("create:about-to-send", lose))
        action = engine.finish(action_id, seconds=4000)
    assert len(nursery.site.wire.writes("create", "commands")) == 1
    if arrived:
        assert action.state == "verified", action.message
    else:
        assert action.state == "failed", action.message
        assert "Whether Command run-" in action.message
        assert nursery.shop.commands() == []


def test_a_later_restart_is_detected(nursery: Nursery) -> None:
    with nursery.shop.at_work():
        action = nursery.act(Verb.SUSPEND, "run")
    assert action.state == "verified", action.message
    nursery.site.poll()
    assert drift_detection.find_suspicious() == {}
    nursery.shop.set_phase("run", "Running")
    nursery.site.poll()
    assert drift_detection.find_suspicious() == {nursery.site.cluster.pk: [action.pk]}
    drift_detection.inspect_all(nursery.site.cluster.pk, nursery.site.clock)
    action.refresh_from_db()
    assert action.state == "reverted"
    assert action.message == ("It was undone: Job run no longer reports that it is suspended.")


def test_the_actor_may_create_commands_and_not_change_toys(nursery: Nursery) -> None:
    new_manifests = manifests(PermissionOptions())
    role = next(
        item
        for item in new_manifests
        if (item["kind"], item["metadata"]["name"]) == ("ClusterRole", ACTOR)
    )
    rights = {
        plural: set(rule["verbs"])
        for rule in role["rules"]
        if rule["apiGroups"] == ["toys.example"]
        for plural in rule["resources"]
    }
    assert rights == {"jobs": {"get"}, "commands": {"create", "get"}}
    policy = next(
        item
        for item in new_manifests
        if (item["kind"], item["metadata"]["name"])
        == ("ValidatingAdmissionPolicy", f"{ACTOR}-commands.toys.example")
    )
    expressions = [rule["expression"] for rule in policy["spec"]["validations"]]
    assert expressions == ["object.spec.word in ['Stop', 'Go']"]


def test_pages_and_api_show_a_toy_beside_the_other_job(nursery: Nursery) -> None:
    client = Client(HTTP_HOST="localhost")
    client.force_login(nursery.site.user)
    rows = client.get("/api/v1/gangs/?kind=Job&q=run").json()["results"]
    assert sorted(row["api_group"] for row in rows) == ["batch", "toys.example"]
    page = client.get(
        reverse("gang", args=[nursery.gang("toys.example", "run").pk])
    ).content.decode()
    assert "4 of 4" in page
    assert "run-flock" in page
    cluster = client.get("/api/v1/clusters/toys/").json()
    assert ["command", True] in [[lever["lever"], lever["ready"]] for lever in cluster["levers"]]
