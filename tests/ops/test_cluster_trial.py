"""`add_cluster` tries a cluster before it watches it, and knows one that has a name already."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from gangboard.store.models import Cluster
from simulator import Simulator
from tests.ops.kubeconfigs import write_kubeconfig

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(fleet="west", story=False, hold=False) as started:
        yield started


@pytest.fixture
def kubeconfig(simulator: Simulator, tmp_path: Path) -> Path:
    path = tmp_path / "kubeconfig"
    path.write_text(simulator.kubeconfig_text(read_only=True))
    return path


def run(*arguments: Any) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, no_color=True)
    return out.getvalue()


def refused(*arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    return str(caught.value)


def test_a_reachable_cluster_lists_readable_kinds(kubeconfig: Path) -> None:
    message = run("add_cluster", "west", "--kubeconfig", kubeconfig)
    match = re.search(
        r"Cluster west answers, v1\.3\d\.\d, may read (\d+) of (\d+) kinds\.", message
    )
    assert match is not None, message
    assert match[1] == match[2]
    assert Cluster.objects.get().system_uid


def test_a_forbidden_kind_is_named(simulator: Simulator, kubeconfig: Path) -> None:
    simulator.faults.forbidden(resource="pods")
    try:
        message = run("add_cluster", "west", "--kubeconfig", kubeconfig)
    finally:
        simulator.faults.clear()
    match = re.search(r"may read (\d+) of (\d+) kinds; not pods\.", message)
    assert match is not None, message
    assert int(match[1]) == int(match[2]) - 1
    assert "    manage.py print_rbac | kubectl --context sim apply -f -\n" in message


def test_a_dead_server_is_added_with_its_cause(tmp_path: Path) -> None:
    dead = write_kubeconfig(tmp_path / "dead")
    message = run("add_cluster", "new", "--kubeconfig", dead)
    assert "Cluster new cannot be read now: 127.0.0.1:1 refuses connections" in message
    assert "    curl --insecure --max-time 5 https://127.0.0.1:1/version\n" in message
    assert "Cluster new at https://127.0.0.1:1 is watched from now on." in message


def test_a_second_name_for_a_cluster_is_refused(kubeconfig: Path) -> None:
    run("add_cluster", "west", "--kubeconfig", kubeconfig)
    message = refused("add_cluster", "west2", "--kubeconfig", kubeconfig)
    assert message.startswith("cluster west is this cluster already")
    assert Cluster.objects.count() == 1


def test_a_missing_access_review_right_is_reported_and_accepted(
    simulator: Simulator, kubeconfig: Path
) -> None:
    simulator.faults.forbidden(resource="namespaces")
    try:
        run("add_cluster", "west", "--kubeconfig", kubeconfig)
        message = run("add_cluster", "west2", "--kubeconfig", kubeconfig)
    finally:
        simulator.faults.clear()
    assert "The uid of the namespace kube-system could not be read" in message
    assert list(Cluster.objects.values_list("system_uid", flat=True)) == ["", ""]


def test_another_cluster_behind_a_name_is_refused(kubeconfig: Path) -> None:
    run("add_cluster", "west", "--kubeconfig", kubeconfig)
    Cluster.objects.update(system_uid="of-the-one-before")
    assert "another cluster answers" in refused("add_cluster", "west", "--kubeconfig", kubeconfig)
    assert Cluster.objects.get().system_uid == "of-the-one-before"


@pytest.fixture
def actor(simulator: Simulator, tmp_path: Path) -> Path:
    path = tmp_path / "actor"
    path.write_text(simulator.kubeconfig_text(read_only=False))
    return path


def test_an_actor_lists_its_permitted_levers(kubeconfig: Path, actor: Path) -> None:
    run("add_cluster", "west", "--kubeconfig", kubeconfig)
    message = run("set_actor", "west", "--kubeconfig", actor)
    match = re.search(
        r"^Cluster west answers the actor, v1\.3\d\.\d: it may use (\d) of (\d) levers\.$",
        message,
        re.M,
    )
    assert match is not None, message
    assert match[1] == match[2]
    assert message.endswith("gangboard may act on cluster west from now on.\n")


def test_an_actors_missing_right_is_named(
    simulator: Simulator, kubeconfig: Path, actor: Path
) -> None:
    run("add_cluster", "west", "--kubeconfig", kubeconfig)
    simulator.faults.forbidden(resource="jobs", verb="patch")
    try:
        message = run("set_actor", "west", "--kubeconfig", actor)
    finally:
        simulator.faults.clear()
    assert re.search(r"it may use \d of \d levers; may not patch jobs\.batch\.$", message, re.M), (
        message
    )
    assert (
        "Give the account the rights of the actor.\n"
        "    manage.py print_rbac --cluster west | kubectl --context sim apply -f -\n"
    ) in message
    assert "gangboard may act on cluster west from now on." in message


def test_an_account_without_access_reviews_is_not_shown_as_powerless(
    simulator: Simulator, kubeconfig: Path, actor: Path
) -> None:
    run("add_cluster", "west", "--kubeconfig", kubeconfig)
    simulator.faults.forbidden(path="/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    try:
        message = run("set_actor", "west", "--kubeconfig", actor)
    finally:
        simulator.faults.clear()
    assert re.search(
        r"v1\.3\d\.\d, and does not report what the account may do\.$", message, re.M
    ), message
    assert "print_rbac" not in message


def test_both_identities_are_tested_before_saving(kubeconfig: Path, actor: Path) -> None:
    message = run("add_cluster", "west", "--kubeconfig", kubeconfig, "--actor-kubeconfig", actor)
    first, second, third, *_ = message.splitlines()
    assert first.startswith("Cluster west answers, v1.3")
    assert second.startswith("Cluster west answers the actor, v1.3")
    assert third.endswith("is watched from now on.")


def test_the_test_does_not_write_to_the_cluster(
    simulator: Simulator, kubeconfig: Path, actor: Path
) -> None:
    run("add_cluster", "west", "--kubeconfig", kubeconfig)
    # Every request that writes is refused; reviews are none.
    simulator.faults.webhook_down()
    try:
        assert "answers the actor" in run("set_actor", "west", "--kubeconfig", actor)
    finally:
        simulator.faults.clear()


def test_the_context_is_kept_for_commands_to_copy(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "k", context="prod/admin")
    run("add_cluster", "new", "--kubeconfig", path, "--without-trying")
    assert Cluster.objects.get().context == "prod/admin"
