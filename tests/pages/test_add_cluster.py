"""Adding, renewing and removing clusters, on the pages and in the API, with trials by a poll worker."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed
import pytest
import yaml
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from gangboard.actions.actor_client import open_client
from gangboard.kube.errors import KubeError
from gangboard.polling import tasks, trial_runs
from gangboard.polling.retention import clean_up
from gangboard.polling.trial_runs import run_trial
from gangboard.store import authentication
from gangboard.store.cluster_trials import (
    MOST_TRIALS,
    TrialResult,
    claim_trial,
    due_trials,
    finish_trial,
)
from gangboard.store.models import AuditEntry, Cluster, ClusterTrial, Grant
from gangboard.store.secrets import unseal
from simulator import Simulator
from tests.ops.kubeconfigs import jwt, write_kubeconfig
from tests.personas import Person, make_operator, make_owner

SECRET = "sesame-0815"
JSON = "application/json"
TRIALS = "/api/v1/clusters/trials/"


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(fleet="west", story=False, hold=False) as started:
        yield started


@pytest.fixture
def west(simulator: Simulator) -> str:
    return simulator.kubeconfig_text(read_only=True)


@pytest.fixture
def dead(tmp_path: Path) -> str:
    return write_kubeconfig(tmp_path / "dead", user={"token": SECRET}).read_text()


def begin(person: Person, kubeconfig: str, name: str = "west", **options: Any) -> str:
    """Begin a trial on the page; return its id."""
    form = {"source": "kubeconfig", "name": name, "kubeconfig": kubeconfig, **options}
    response = person.client.post("/add-cluster/", form)
    assert response.status_code == 303, response.content.decode()
    return str(response["Location"]).split("/")[-2]


def tried(person: Person, kubeconfig: str, name: str = "west", **options: Any) -> dict[str, Any]:
    """Begin a trial, let a worker run it, and return it as the API shows it."""
    trial_id = begin(person, kubeconfig, name, **options)
    assert run_trial(trial_id)
    answer: dict[str, Any] = person.client.get(f"{TRIALS}{trial_id}/").json()
    return answer


def change(person: Person, kubeconfig: str, purpose: str, name: str = "west") -> dict[str, Any]:
    form = {"source": "kubeconfig", "purpose": purpose, "kubeconfig": kubeconfig}
    response = person.client.post(f"/clusters/{name}/credentials/", form)
    assert response.status_code == 303, response.content.decode()
    trial_id = str(response["Location"]).split("/")[-2]
    assert run_trial(trial_id)
    answer: dict[str, Any] = person.client.get(f"{TRIALS}{trial_id}/").json()
    return answer


def save(person: Person, trial: dict[str, Any], **options: str) -> Any:
    return person.client.post(f"/add-cluster/{trial['id']}/save/", options)


# --- add


def test_a_cluster_is_tested_then_saved(owner: Person, west: str) -> None:
    trial_id = begin(owner, west)
    waiting = owner.client.get(f"/add-cluster/{trial_id}/").content.decode()
    assert '<noscript><meta http-equiv="refresh"' in waiting
    assert 'hx-trigger="every 1s"' in waiting
    assert due_trials() == [trial_id]
    assert owner.client.post(f"/add-cluster/{trial_id}/save/").status_code == 409
    assert run_trial(trial_id)
    trial = owner.client.get(f"{TRIALS}{trial_id}/").json()
    match = re.fullmatch(
        r"Cluster west answers, v1\.3\d\.\d, may read (\d+) of (\d+) kinds\.", trial["message"]
    )
    assert match is not None, trial
    assert match[1] == match[2] == str(len(trial["kinds"]))
    assert (trial["state"], trial["code"], trial["may_save"]) == ("answered", None, True)
    page = owner.client.get(f"/add-cluster/{trial_id}/").content.decode()
    assert trial["message"] in page
    assert "http-equiv" not in page
    assert not Cluster.objects.exists()
    saved = save(owner, trial)
    assert (saved.status_code, saved["Location"]) == (303, "/clusters/west/")
    cluster = Cluster.objects.get()
    assert (cluster.server, bool(cluster.system_uid)) == (trial["server"], True)
    entry = AuditEntry.objects.get(event="cluster-added")
    assert (entry.actor_name, entry.source) == ("olga", "127.0.0.1")
    row = ClusterTrial.objects.get()
    assert (row.state, row.source, row.access) == ("saved", None, None)
    assert save(owner, trial).status_code == 303
    assert AuditEntry.objects.filter(event="cluster-added").count() == 1


def test_the_command_and_the_page_report_the_same(owner: Person, west: str, tmp_path: Path) -> None:
    path, out = tmp_path / "kubeconfig", io.StringIO()
    path.write_text(west)
    trial = tried(owner, west)
    call_command("add_cluster", "west", "--kubeconfig", path, stdout=out, no_color=True)
    assert out.getvalue().splitlines()[0] == trial["message"]


def test_htmx_requests_get_only_the_changed_fragment(owner: Person, dead: str) -> None:
    trial_id = begin(owner, dead)
    answer = owner.client.get(f"/add-cluster/{trial_id}/", headers={"HX-Request": "true"})
    assert answer.content.decode().lstrip().startswith('<section id="trial"')
    match = re.search(r'hx-get="([^"]+)"', answer.content.decode())
    assert match is not None
    address = html.unescape(match[1])
    assert owner.client.get(address, headers={"HX-Request": "true"}).status_code == 204
    assert run_trial(trial_id)
    answer = owner.client.get(address, headers={"HX-Request": "true"})
    assert "hx-get" not in answer.content.decode()
    assert "csrfmiddlewaretoken" in answer.content.decode()


def test_a_forbidden_kind_has_a_command(owner: Person, simulator: Simulator, west: str) -> None:
    simulator.faults.forbidden(resource="pods")
    try:
        trial = tried(owner, west)
    finally:
        simulator.faults.clear()
    assert [row["kind"] for row in trial["kinds"] if not row["readable"]] == ["pods"]
    assert trial["commands"] == ["manage.py print_rbac | kubectl apply -f -"]
    assert trial["may_save"] is True


def test_a_dead_server_is_saved_only_on_confirmation(owner: Person, dead: str) -> None:
    trial = tried(owner, dead, "new")
    assert (trial["state"], trial["code"], trial["may_save"]) == ("failed", "unreachable", True)
    assert "127.0.0.1:1 refuses connections" in trial["message"]
    assert trial["commands"] == ["curl --insecure --max-time 5 https://127.0.0.1:1/version"]
    assert save(owner, trial).status_code == 409
    assert not Cluster.objects.exists()
    assert save(owner, trial, anyway="1").status_code == 303
    assert unseal(bytes(Cluster.objects.get().credentials))["token"] == SECRET


def test_a_wrong_token_is_rejected_by_the_server(owner: Person, west: str) -> None:
    document = yaml.safe_load(west)
    document["users"][0]["user"] = {"token": SECRET}
    trial = tried(owner, yaml.safe_dump(document))
    assert (trial["state"], trial["code"]) == ("failed", "unauthorized")
    assert trial["commands"] == ["manage.py print_rbac"]
    assert SECRET not in str(trial)


def test_a_kubeconfig_that_runs_a_program_is_refused_with_commands(
    owner: Person, tmp_path: Path
) -> None:
    text = write_kubeconfig(tmp_path / "k", user={"exec": {"command": "aws"}}).read_text()
    trial = tried(owner, text)
    assert (trial["code"], trial["may_save"]) == ("credentials", False)
    assert trial["commands"][0] == "manage.py print_rbac | kubectl apply -f -"
    assert len(trial["commands"]) > 5
    page = owner.client.get(f"/add-cluster/{trial['id']}/").content.decode()
    assert page.count("data-copy=") == 1
    assert not any("add_cluster" in command for command in trial["commands"])
    assert save(owner, trial, anyway="1").status_code == 409
    assert not Cluster.objects.exists()


@pytest.mark.parametrize(
    "text",
    ["not: a kubeconfig", "{", "\u202e", "apiVersion: v1\nclusters: 3\ncontexts: 4", "[1, 2]"],
)
def test_any_other_text_is_refused(owner: Person, text: str) -> None:
    trial = tried(owner, text)
    assert (trial["state"], trial["code"], trial["may_save"]) == ("failed", "credentials", False)


@pytest.mark.parametrize("key", ["tokenFile", "client-certificate", "client-key"])
def test_no_file_of_the_server_is_read(owner: Person, tmp_path: Path, key: str) -> None:
    user = {key: "/etc/passwd", **({"token": SECRET} if key != "tokenFile" else {})}
    trial = tried(owner, write_kubeconfig(tmp_path / "k", user=user).read_text())
    assert (trial["code"], trial["may_save"]) == ("credentials", False)
    assert "root:" not in str(trial)


def test_another_context_is_tested_without_pasting_again(owner: Person, west: str) -> None:
    document = yaml.safe_load(west)
    (values,) = document["contexts"]
    document["contexts"].append({"name": "wrong", "context": {"cluster": "none", "user": "none"}})
    document["current-context"] = "wrong"
    trial = tried(owner, yaml.safe_dump(document))
    assert (trial["code"], trial["contexts"]) == ("credentials", [values["name"], "wrong"])
    address = f"/add-cluster/{trial['id']}/context/"
    assert owner.client.post(address, {"context": "no such"}).status_code == 409
    moved = owner.client.post(address, {"context": values["name"]})
    following = str(moved["Location"]).split("/")[-2]
    assert run_trial(following)
    answer = owner.client.get(f"{TRIALS}{following}/").json()
    assert (answer["state"], answer["context"]) == ("answered", values["name"])


def test_the_expiry_of_credentials_is_shown(owner: Person, tmp_path: Path) -> None:
    text = write_kubeconfig(tmp_path / "k", user={"token": jwt(1893456000)}).read_text()
    assert tried(owner, text)["credentials_expire_at"] == "2030-01-01T00:00:00Z"


def test_the_own_cluster_is_tested_with_the_pods_account(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'value="in-cluster"' not in owner.client.get("/add-cluster/").content.decode()
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    assert 'value="in-cluster"' in owner.client.get("/add-cluster/").content.decode()
    trial = tried(owner, "", source="in-cluster")
    assert (trial["code"], trial["contexts"], trial["may_save"]) == ("credentials", [], False)
    assert "/var/run/secrets/kubernetes.io/serviceaccount/token" in trial["message"]


# --- one cluster once


def test_a_second_name_for_a_cluster_is_refused(owner: Person, west: str) -> None:
    save(owner, tried(owner, west))
    trial = tried(owner, west, "west2")
    assert (trial["state"], trial["code"], trial["may_save"]) == ("failed", "same-cluster", False)
    assert trial["message"].startswith("Cluster west is this cluster already")
    assert save(owner, trial, anyway="1").status_code == 409


def test_two_concurrent_admins_get_one_cluster_and_one_error(owner: Person, west: str) -> None:
    other_owner = make_owner("otto")
    first, second, same_name = (
        tried(owner, west),
        tried(other_owner, west, "west2"),
        tried(other_owner, west),
    )
    assert save(owner, first).status_code == 303
    late = save(other_owner, second)
    assert late.status_code == 409
    assert "Cluster west is this cluster already" in late.content.decode()
    assert save(other_owner, same_name).status_code == 409
    assert Cluster.objects.count() == 1


def test_a_taken_or_invalid_name_is_reported_at_once(owner: Person, west: str) -> None:
    save(owner, tried(owner, west))
    form = {"source": "kubeconfig", "kubeconfig": west}
    for name in ("west", "trials", "Ä", "-a", "a" * 64):
        response = owner.client.post("/add-cluster/", {**form, "name": name})
        assert response.status_code in (400, 409), name
        assert "client-key-data" not in response.content.decode()
    assert ClusterTrial.objects.count() == 1


def test_an_unknown_identity_is_reported(owner: Person, simulator: Simulator, west: str) -> None:
    simulator.faults.forbidden(resource="namespaces")
    try:
        trial = tried(owner, west)
    finally:
        simulator.faults.clear()
    assert (trial["state"], trial["may_save"]) == ("answered", True)
    assert "cannot tell whether this cluster already has another name" in trial["message"]
    assert trial["commands"] == ["manage.py print_rbac | kubectl apply -f -"]


# --- bad input


def test_a_paste_of_two_megabytes_is_refused(owner: Person) -> None:
    form = {"source": "kubeconfig", "name": "big"}
    large = owner.client.post("/add-cluster/", {**form, "kubeconfig": "x" * 50_000})
    assert large.status_code == 400
    assert "kubectl config view --raw --minify --flatten" in large.content.decode()
    body = {"name": "big", "kubeconfig": "x" * 50_000}
    assert owner.client.post(TRIALS, body, content_type=JSON).status_code == 400
    # The web server refuses it before Django reads it: tests/serving.
    huge = {**form, "kubeconfig": "x" * 2_000_000}
    assert owner.client.post("/add-cluster/", huge).status_code == 400
    assert not ClusterTrial.objects.exists()


def test_nul_is_refused(owner: Person) -> None:
    form = {"source": "kubeconfig", "name": "n", "kubeconfig": "a\x00b"}
    assert owner.client.post("/add-cluster/", form).status_code == 400
    body = {"name": "n", "kubeconfig": "a\x00b"}
    assert owner.client.post(TRIALS, body, content_type=JSON).status_code == 400
    for address in ("/add-cluster/%00/", "/clusters/%00/manage/", f"{TRIALS}%00/"):
        assert owner.client.get(address).status_code == 404
    assert owner.client.delete("/api/v1/clusters/%00/").status_code == 404
    assert not ClusterTrial.objects.exists()


def test_neither_or_both_sources_are_refused(owner: Person, dead: str) -> None:
    for body in ({}, {"kubeconfig": dead, "in_cluster": True}):
        response = owner.client.post(TRIALS, {"name": "n", **body}, content_type=JSON)
        assert response.status_code == 409
    body = {"name": "n", "in_cluster": True, "context": "a"}
    assert owner.client.post(TRIALS, body, content_type=JSON).status_code == 409


def test_a_user_has_a_bounded_number_of_tests(owner: Person, dead: str) -> None:
    for _ in range(MOST_TRIALS):
        begin(owner, dead)
    body = {"name": "n", "kubeconfig": dead}
    assert owner.client.post(TRIALS, body, content_type=JSON).status_code == 409
    assert ClusterTrial.objects.count() == MOST_TRIALS


# --- secrets and time


def test_no_secret_is_stored_in_clear_or_shown(
    owner: Person, dead: str, caplog: pytest.LogCaptureFixture
) -> None:
    trial_id = begin(owner, dead)
    row = ClusterTrial.objects.get()
    stored = b"".join(
        bytes(fragment) for fragment in (row.source, row.access) if fragment is not None
    )
    assert SECRET.encode() not in stored
    assert run_trial(trial_id)
    row.refresh_from_db()
    visible = [str(value) for name, value in vars(row).items() if name not in ("source", "access")]
    for address in (f"/add-cluster/{trial_id}/", f"{TRIALS}{trial_id}/"):
        visible.append(owner.client.get(address).content.decode())
    wrong = {"source": "kubeconfig", "name": "", "kubeconfig": dead}
    visible.append(owner.client.post("/add-cluster/", wrong).content.decode())
    visible.append(str(dict(owner.client.session)))
    visible.append(caplog.text)
    assert SECRET not in "".join(visible)


def test_a_test_expires_after_ten_minutes_and_is_deleted(owner: Person, dead: str) -> None:
    trial = tried(owner, dead)
    row = ClusterTrial.objects.get()
    assert row.expires_at - row.created_at == timedelta(minutes=10)
    ClusterTrial.objects.update(expires_at=timezone.now())
    assert owner.client.get(f"/add-cluster/{trial['id']}/").status_code == 404
    assert save(owner, trial, anyway="1").status_code == 404
    clean_up()
    assert not ClusterTrial.objects.exists()


def test_a_test_runs_once_and_again_after_a_worker_crash(owner: Person, dead: str) -> None:
    trial_id = begin(owner, dead)
    claimed = claim_trial(trial_id)
    assert claimed is not None
    assert (due_trials(), run_trial(trial_id)) == ([], False)
    ClusterTrial.objects.update(claimed_at=timezone.now() - timedelta(seconds=91))
    assert due_trials() == [trial_id]
    assert run_trial(trial_id)
    assert not finish_trial(trial_id, claimed.claimed_at, TrialResult())
    assert ClusterTrial.objects.get().state == "failed"


def test_a_worker_runs_one_test_at_a_time(owner: Person, dead: str) -> None:
    trial_id = begin(owner, dead)
    with trial_runs._trial_slot:
        assert not run_trial(trial_id)
    assert due_trials() == [trial_id]


def test_a_failed_test_is_reported_and_cannot_be_saved(
    owner: Person, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(trial_runs, "try_cluster", fail)
    trial = tried(owner, dead)
    assert (trial["code"], trial["may_save"]) == ("defect", False)


def test_a_lost_key_is_reported(owner: Person, dead: str, settings: Any) -> None:
    first, second = begin(owner, dead), tried(owner, dead, "other")
    settings.ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert not run_trial(first)
    assert ClusterTrial.objects.get(pk=first).code == "credentials"
    assert save(owner, second, anyway="1").status_code == 409


def test_a_test_without_a_worker_is_reported(owner: Person, dead: str) -> None:
    trial_id = begin(owner, dead)
    late = "No poll worker has started the test yet"
    assert late not in owner.client.get(f"/add-cluster/{trial_id}/").content.decode()
    ClusterTrial.objects.update(created_at=timezone.now() - timedelta(seconds=20))
    assert late in owner.client.get(f"/add-cluster/{trial_id}/").content.decode()


def test_a_due_test_is_enqueued_until_a_worker_claims_it(
    owner: Person, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial_id, orders = begin(owner, dead), []
    monkeypatch.setattr(tasks.poll, "apply_async", lambda *_, **__: None)
    monkeypatch.setattr(
        tasks.try_access, "apply_async", lambda args, **options: orders.append((args, options))
    )
    for _ in range(2):
        tasks.seed()
    assert orders == [((trial_id,), {"queue": "poll", "expires": 4.0})] * 2
    tasks.try_access(trial_id)
    tasks.seed()
    assert len(orders) == 2


# --- changes of a cluster


def test_credentials_are_renewed_at_the_same_address_only(
    owner: Person, west: str, dead: str
) -> None:
    save(owner, tried(owner, west))
    before = bytes(Cluster.objects.get().credentials)
    trial = change(owner, west, "renew")
    assert (trial["state"], save(owner, trial).status_code) == ("answered", 303)
    assert bytes(Cluster.objects.get().credentials) != before
    assert AuditEntry.objects.filter(event="cluster-changed", actor_name="olga").count() == 1
    other_change = change(owner, dead, "renew")
    assert (other_change["code"], other_change["may_save"]) == ("other-server", False)


def test_another_cluster_behind_a_name_is_refused(owner: Person, west: str) -> None:
    save(owner, tried(owner, west))
    Cluster.objects.update(system_uid="of-the-one-before")
    trial = change(owner, west, "renew")
    assert (trial["code"], trial["may_save"]) == ("other-cluster", False)


def test_an_actor_is_set(owner: Person, simulator: Simulator, west: str) -> None:
    save(owner, tried(owner, west))
    trial = change(owner, simulator.kubeconfig_text(read_only=False), "actor")
    assert (trial["state"], trial["purpose"]) == ("answered", "actor")
    assert re.fullmatch(
        r"Cluster west answers the actor, v1\.3\d\.\d: it may use (\d) of \1 levers\.",
        trial["message"],
    )
    assert trial["kinds"] == trial["commands"] == []
    assert {lever["lever"] for lever in trial["levers"]} >= {"native", "suspend"}
    assert all(lever["usable"] and not lever["missing"] for lever in trial["levers"])
    assert save(owner, trial).status_code == 303
    assert Cluster.objects.get().actor_credentials is not None
    assert AuditEntry.objects.filter(event="switch", details__switch="actor").count() == 1
    page = owner.client.get("/clusters/west/manage/").content.decode()
    assert "Renew the actor" in page


def test_an_actors_missing_right_is_named(
    owner: Person, simulator: Simulator, west: str, tmp_path: Path
) -> None:
    save(owner, tried(owner, west))
    simulator.faults.forbidden(resource="jobs", verb="patch")
    path, out = tmp_path / "actor", io.StringIO()
    path.write_text(simulator.kubeconfig_text(read_only=False))
    try:
        trial = change(owner, path.read_text(), "actor")
        call_command("set_actor", "west", "--kubeconfig", path, stdout=out, no_color=True)
    finally:
        simulator.faults.clear()
    # The command says the same.
    assert out.getvalue().splitlines()[0] == trial["message"]
    assert "; may not patch jobs.batch." in trial["message"]
    assert (trial["state"], trial["may_save"]) == ("answered", True)
    native = next(lever for lever in trial["levers"] if lever["lever"] == "native")
    assert (native["usable"], native["missing"]) == (False, ["patch jobs.batch"])
    assert trial["commands"] == ["manage.py print_rbac --cluster west | kubectl apply -f -"]
    page = owner.client.get(f"/add-cluster/{trial['id']}/").content.decode()
    assert "Suspend one Job by itself: lacks the right to patch jobs.batch" in page
    assert "Give the account the rights of the actor." in page


# --- where a page may lead


def test_an_address_of_this_machine_is_refused(
    owner: Person, west: str, settings: Settings
) -> None:
    settings.CLUSTER_NETWORKS = ()
    trial = tried(owner, west)
    assert (trial["code"], trial["may_save"]) == ("forbidden-address", False)
    assert (
        "whose address is 127.0.0.1: GANGBOARD_CLUSTER_NETWORKS must allow it." in trial["message"]
    )
    assert save(owner, trial, anyway="1").status_code == 409
    assert not Cluster.objects.exists()
    page = owner.client.get(f"/add-cluster/{trial['id']}/").content.decode()
    assert "gangboard may not connect to this address" in page


def test_a_saved_address_is_checked_at_each_connection(
    owner: Person, simulator: Simulator, west: str, settings: Settings
) -> None:
    settings.CLUSTER_NETWORKS = (ip_network("127.0.0.0/8"),)
    save(owner, tried(owner, west))
    save(owner, change(owner, simulator.kubeconfig_text(read_only=False), "actor"))
    cluster = Cluster.objects.get()
    assert unseal(bytes(cluster.credentials))["origin"] == "page"
    settings.CLUSTER_NETWORKS = (ip_network("10.0.0.0/8"),)
    with pytest.raises(KubeError) as caught:
        open_client(cluster, "a").get("/version")
    assert caught.value.code == "forbidden-address"
    with pytest.raises(CommandError, match="could not read west"):
        call_command("poll", "--once", "--cluster", "west", stdout=io.StringIO())
    cluster.refresh_from_db()
    assert cluster.problem == "forbidden-address"


def test_read_only_is_switched(owner: Person, west: str) -> None:
    save(owner, tried(owner, west))
    assert owner.client.post("/clusters/west/read-only/", {"on": "1"}).status_code == 303
    assert Cluster.objects.get().read_only is True
    assert owner.client.post("/clusters/west/read-only/", {"on": "x"}).status_code == 400
    answer = owner.client.patch("/api/v1/clusters/west/", {"read_only": False}, content_type=JSON)
    assert (answer.status_code, answer.json()["name"]) == (200, "west")
    assert Cluster.objects.get().read_only is False
    assert AuditEntry.objects.filter(event="switch").count() == 2


def test_a_cluster_is_removed_after_typing_its_name(owner: Person, west: str) -> None:
    save(owner, tried(owner, west))
    wrong = owner.client.post("/clusters/west/remove/", {"name": "wset"})
    assert (wrong.status_code, Cluster.objects.count()) == (400, 1)
    assert owner.client.post("/clusters/west/remove/", {"name": "west"}).status_code == 303
    assert not Cluster.objects.exists()
    assert AuditEntry.objects.filter(event="cluster-removed", actor_name="olga").count() == 1
    assert owner.client.get("/clusters/west/manage/").status_code == 404


# --- API


def test_a_test_matches_the_schema(owner: Person, dead: str) -> None:
    document = owner.client.get("/api/v1/schema/").json()
    answers = document["paths"]["/api/v1/clusters/trials/{trial_id}/"]["get"]["responses"]
    schema = {
        **answers["200"]["content"]["application/json"]["schema"],
        "components": document["components"],
    }
    for trial in (
        owner.client.get(f"{TRIALS}{begin(owner, dead)}/").json(),
        tried(owner, dead),
    ):
        jsonschema.validate(trial, schema, jsonschema.Draft202012Validator)
        known = document["components"]["schemas"]["ClusterTrial"]["properties"]
        assert set(trial) == set(known)


def test_the_api_adds_and_removes_a_cluster(owner: Person, west: str) -> None:
    body = {"name": "west", "kubeconfig": west}
    answer = owner.client.post(TRIALS, body, content_type=JSON)
    assert answer.status_code == 201
    trial = answer.json()
    assert (trial["state"], trial["message"]) == ("waiting", None)
    early = owner.client.post("/api/v1/clusters/", {"trial": trial["id"]}, content_type=JSON)
    assert early.status_code == 409
    assert run_trial(trial["id"])
    saved = owner.client.post("/api/v1/clusters/", {"trial": trial["id"]}, content_type=JSON)
    assert (saved.status_code, saved.json()["name"]) == (201, "west")
    assert owner.client.delete("/api/v1/clusters/west/").status_code == 204
    assert owner.client.delete("/api/v1/clusters/west/").status_code == 404
    response = owner.client.post("/api/v1/clusters/", {"trial": "0" * 32}, content_type=JSON)
    assert response.status_code == 409


# --- who may

PAGES = ("/add-cluster/", "/add-cluster/{trial}/", "/clusters/eu-train/manage/")
POSTS = (
    "/add-cluster/",
    "/add-cluster/{trial}/save/",
    "/add-cluster/{trial}/context/",
    "/clusters/eu-train/credentials/",
    "/clusters/eu-train/read-only/",
    "/clusters/eu-train/remove/",
)
CALLS = (
    ("post", TRIALS),
    ("get", f"{TRIALS}{{trial}}/"),
    ("post", "/api/v1/clusters/"),
    ("patch", "/api/v1/clusters/eu-train/"),
    ("delete", "/api/v1/clusters/eu-train/"),
)


def test_only_a_global_admin_changes_clusters(owner: Person, reader: Person, dead: str) -> None:
    trial_id = begin(owner, dead)
    operator = make_operator(Cluster.objects.get(), "")
    admin_of_one = make_operator(Cluster.objects.get(), "", "ada")
    Grant.objects.filter(user=admin_of_one.user).update(role="admin")
    for person in (reader, operator, admin_of_one):
        for address in PAGES:
            assert person.client.get(address.format(trial=trial_id)).status_code == 404
        for address in POSTS:
            form = {"name": "eu-train", "on": "1", "anyway": "1"}
            assert person.client.post(address.format(trial=trial_id), form).status_code == 404
        for method, address in CALLS:
            call = getattr(person.client, method)
            answer = call(address.format(trial=trial_id), content_type=JSON)
            assert answer.status_code == 403, address
        assert "add-cluster" not in person.client.get("/clusters/").content.decode()
        assert "/manage/" not in person.client.get("/clusters/eu-train/").content.decode()
    cluster = Cluster.objects.get()
    assert (cluster.name, cluster.read_only) == ("eu-train", False)
    assert ClusterTrial.objects.count() == 1


def test_admins_cannot_see_the_tests_of_others(owner: Person, dead: str) -> None:
    trial = tried(owner, dead)
    other_owner = make_owner("otto")
    assert other_owner.client.get(f"/add-cluster/{trial['id']}/").status_code == 404
    assert other_owner.client.get(f"{TRIALS}{trial['id']}/").status_code == 404
    assert save(other_owner, trial, anyway="1").status_code == 404
    body = {"trial": trial["id"], "anyway": True}
    assert other_owner.client.post("/api/v1/clusters/", body, content_type=JSON).status_code == 409
    assert not Cluster.objects.exists()


def test_a_token_changes_no_cluster(owner: Person, reader: Person) -> None:
    token = authentication.issue_token(user=owner.user, may_act=True)
    robot = Client(headers={"Authorization": f"Bearer {token}"})
    for method, address in CALLS:
        call = getattr(robot, method)
        assert call(address.format(trial="x"), content_type=JSON).status_code == 403
    assert Cluster.objects.filter(name="eu-train").exists()
    assert robot.get("/api/v1/clusters/").status_code == 200


def test_every_change_needs_the_csrf_token(owner: Person, reader: Person) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner.user)
    for address in POSTS:
        form = {"name": "eu-train", "on": "1"}
        assert strict.post(address.format(trial="x"), form).status_code == 403
    for method, address in CALLS:
        if method != "get":
            call = getattr(strict, method)
            assert call(address.format(trial="x"), content_type=JSON).status_code == 403
    assert Cluster.objects.filter(name="eu-train", read_only=False).exists()


# --- ways here


def test_the_pages_link_to_the_form(owner: Person) -> None:
    assert 'href="/add-cluster/"' in owner.client.get("/").content.decode()
    save(owner, tried(owner, write_text()), anyway="1")
    assert 'href="/add-cluster/"' in owner.client.get("/clusters/").content.decode()
    page = owner.client.get("/clusters/west/").content.decode()
    for fragment in ("actor", "credentials", "read-only", "remove"):
        assert f'href="/clusters/west/manage/#{fragment}"' in page


def write_text() -> str:
    """Return a kubeconfig of a dead server."""
    server = {"server": "https://127.0.0.1:1"}
    return yaml.safe_dump(
        {
            "current-context": "dev",
            "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": server}],
            "users": [{"name": "u", "user": {"token": SECRET}}],
        }
    )
